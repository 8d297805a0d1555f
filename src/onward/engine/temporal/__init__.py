"""Drives a plan with Temporal: the workflow asks `decide`, activities do the work and write the journal."""
