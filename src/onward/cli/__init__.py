"""The command line: one file per command, loaded when it is called."""
