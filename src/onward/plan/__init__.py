"""`Workflow` + inputs → `Plan`: paths, definition digests, references checked."""
