"""Agent programs: how each is called, and what its output means, as a table of data over a few stream dialects."""
