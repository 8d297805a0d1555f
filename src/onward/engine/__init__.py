"""Drives a plan: performs what `state.decide` asks for and reports outcomes. Embedded and Temporal."""
