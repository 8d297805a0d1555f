"""The engine without a server: one process drives a run, a keeper beside it holds its tasks."""
