"""Journal, mirrors, definition, files and processes → findings → offered choices."""
