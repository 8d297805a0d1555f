"""The runs of a folder: create, find, list, values, inbox, clean."""
