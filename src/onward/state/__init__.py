"""Events become a state (`fold`), and a state tells what comes next (`decide`). Pure: no clock, no files."""
