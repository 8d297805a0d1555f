"""What every part of the work asks of: values, environments and folders of one run."""

from __future__ import annotations

from onward.state.run_state import RunState
from onward.tasks.context import RunContext
from onward.tasks.directory import Directories
from onward.tasks.environment import Environments
from onward.tasks.resolve import Resolver


class Surroundings:
    """One per driver: it remembers what is the same for many tasks."""

    def __init__(self, state: RunState, context: RunContext) -> None:
        self.state = state
        self.context = context
        self.resolver = Resolver(state, context)
        self.environments = Environments(self.resolver)
        self.directories = Directories(self.resolver)
