"""State → files that others keep (state file, snapshot, `.sparq`), and those files → state."""
