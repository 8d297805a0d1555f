"""A request to a run from another process → a file in the inbox of its driver; or, when nobody drives, events.

Without a driver the caller takes the run's lock for a moment, appends the events, and leaves (`settled.md` 102).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field

from onward.engine.embedded.opening import Opened, open_run
from onward.errors import RunBusy, UsageError
from onward.model import events as ev
from onward.state.fold import fold
from onward.state.fold_run import PERSON
from onward.state.gate_rules import refusal
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.tasks.artifacts import Found, check


class Decision(Struct, frozen=True, kw_only=True):
    """An answer to an open gate."""

    path: str
    choice: str
    by: str
    note: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    def event(self) -> ev.GateDecision:
        """The answer as the journal keeps it."""
        return ev.GateDecision(path=self.path, choice=self.choice, note=self.note, fields=self.fields, by=self.by)


def check_decision(state: RunState, directory: Path, decision: Decision) -> None:
    """Raise `UsageError` when the gate is not open, the answer does not fit, or a shown file has changed since."""
    gate = state.gates.get(decision.path)
    if gate is None:
        open_now = ", ".join(f"`{path}`" for path in state.gates) or "none"
        raise UsageError(f"no question is open at `{decision.path}`", help=f"open questions: {open_now}")
    problem = refusal(gate, decision.choice, decision.fields)
    if problem is not None:
        raise UsageError(f"`{decision.path}`: {problem}")
    changed = [shown.path for shown in gate.show if check(shown, str(directory)) is not Found.INTACT]
    if changed:
        raise UsageError(
            f"`{decision.path}`: changed since it was shown: {', '.join(changed)}",
            help="look at it again: `onward resume` opens the question anew with the files as they are",
        )


def decide(folder: RunFolder, decision: Decision, tell: Callable[[str, str], None]) -> bool:
    """Answer a gate; True when a driver will go on with it, False when the run has to be resumed."""
    payload: dict[str, object] = {
        "path": decision.path,
        "choice": decision.choice,
        "note": decision.note,
        "fields": decision.fields,
        "by": decision.by,
    }

    def make(opened: Opened) -> Sequence[ev.Event]:
        check_decision(opened.state, directory_of(opened), decision)
        return (decision.event(),)

    return _send(folder, "decide", payload, make, tell)


def pause(folder: RunFolder, reason: str, by: str, grace_s: float, tell: Callable[[str, str], None]) -> bool:
    """Ask a run to pause; True when a driver will do it, False when nobody drove it and it is paused now."""

    def make(opened: Opened) -> Sequence[ev.Event]:
        state = opened.state
        if state.facts.end is not None:
            raise UsageError(f"run `{folder.run_id}` has ended already: {state.facts.end.value}")
        asked = ev.PauseRequest(reason=reason, by=by, grace_s=0)
        if state.pausing is None or not state.pausing.complete:
            return (asked, ev.WorkflowPause())
        return () if state.pausing.cause == PERSON else (asked,)

    payload: dict[str, object] = {"reason": reason, "by": by, "grace_s": grace_s}
    return _send(folder, "pause", payload, make, tell)


def directory_of(opened: Opened) -> Path:
    """The folder in which the tasks of the run work."""
    return Path(opened.plan.file).parent / opened.plan.directory


def _send(
    folder: RunFolder,
    kind: str,
    payload: dict[str, object],
    make: Callable[[Opened], Sequence[ev.Event]],
    tell: Callable[[str, str], None],
) -> bool:
    if folder.driver() is None:
        try:
            opened = open_run(folder, tell)
        except RunBusy:
            pass  # somebody began to drive it this moment
        else:
            _append(opened, make)
            return False
    folder.inbox.drop(kind, payload)
    return True


def _append(opened: Opened, make: Callable[[Opened], Sequence[ev.Event]]) -> None:
    try:
        for event in [*opened.notes, *make(opened)]:
            fold(opened.state, opened.journal.add(event))
        opened.journal.flush()
    finally:
        opened.journal.close()
        opened.lock.release()
