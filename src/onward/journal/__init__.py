"""Events ↔ `journal.jsonl`: append, group commit, verify, torn tails, upgrades."""
