"""Tasks with `on-resume: always` → done again by every resume, if they lie in what still runs (`format.md` 5.3).

Such a task prepares what later ones need and a restart undoes: a login, a service, a checkout. What is over does not
need it any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from onward.model.events import Override
from onward.model.status import OnResume, Status
from onward.state.instance import Instance
from onward.state.run_state import RunState

REASON = "on-resume: always"


def always_again(state: RunState, chosen: frozenset[str]) -> Iterator[Override]:
    """One override for each, but for those that are chosen already."""
    for instance in list(state.instances.values()):
        node = instance.node
        if node is None or node.on_resume is not OnResume.ALWAYS or not instance.is_leaf or instance.path in chosen:
            continue
        if instance.ended and instance.status is Status.SUCCEEDED and _is_under_way(instance):
            yield Override(path=instance.path, action="rerun", by="workflow", reason=REASON)


def _is_under_way(instance: Instance) -> bool:
    """Whether nothing around it is over: a failed container goes on with the resume."""
    around = instance.parent
    while around is not None:
        if around.ended and around.status is not Status.FAILED:
            return False
        around = around.parent
    return True
