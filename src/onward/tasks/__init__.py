"""Action → outcome: the keeper, commands, agents, Python calls, artifacts. The only starter of processes."""
