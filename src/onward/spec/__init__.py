"""YAML text → `Workflow`, with the place of every value. The only reader of YAML."""
