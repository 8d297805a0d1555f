"""State → status, timeline, graph, report and plain words."""
