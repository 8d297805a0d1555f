"""The state of a run → the files of a `.sparq` folder (`mirror: {sparq: folder}`), kept up to date as it goes.

Fields that others wrote into those files stay. A folder that holds the state of another run is archived first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from onward import clock, files
from onward.errors import StateError
from onward.model import events as ev
from onward.model.nodes import Kind, Node
from onward.model.status import Status
from onward.recovery.hand_offs import hands_on, read_hand_off
from onward.recovery.levels import Level, standing
from onward.state.instance import Instance, Role
from onward.state.run_state import RunState
from onward.store.folder import RunFolder

SHARE_OF_TIME = 20
"""what took one second is done again after twenty at the earliest"""

_TELLING = (
    ev.PhaseStart, ev.PhaseComplete, ev.NodeStart, ev.NodeEnd, ev.GateOpen, ev.GateDecision, ev.WorkflowResume,
    ev.WorkflowPause, ev.WorkflowEnd, ev.Override,
)  # fmt: skip
_LOGGED = (ev.WorkflowStart, ev.PhaseStart, ev.PhaseComplete, ev.WorkflowEnd)


class SparqMirror:
    """Writes below one folder. Every method may raise `StateError`."""

    def __init__(self, folder: Path, run: RunFolder, config: bytes | None, config_hash: str | None) -> None:
        self._folder = folder
        self._run = run
        self._config = config
        self._config_hash = config_hash
        self._due = 0.0
        self._late = False

    def begin(self, state: RunState) -> None:
        """The first time of this driver."""
        kept = _read(self._folder / "state" / "current-task.json")
        if kept and kept.get("runId") != state.facts.run:
            archive(self._folder)
        for name in ("state", "plans/handoffs"):
            files.make_folder(self._folder / name)
        if self._config_hash is not None:
            snapshot = {"configHash": self._config_hash, **_mapping(self._config)}
            self._write("state/config-snapshot.json", snapshot)
        if not kept or kept.get("runId") != state.facts.run:
            start = {"event": "workflow_start", "at": clock.to_iso(clock.now()), **_named(state)}
            self._log([start])
        self._write_state(state)

    def changed(self, state: RunState, events: Sequence[ev.Event]) -> None:
        """After a flush."""
        logged = [_line(state, event) for event in events if isinstance(event, _LOGGED)]
        if logged:
            self._log(logged)
        for event in events:
            if isinstance(event, ev.PhaseComplete):
                self._hand_off(state, event.phase)
        if not (self._late or any(isinstance(event, _TELLING) for event in events)):
            return
        self._late = clock.monotonic() < self._due
        if not self._late:
            self._write_state(state)

    def close(self, state: RunState) -> None:
        """The driver stops in good order."""
        self._write_state(state)

    # --- files --------------------------------------------------------------------------------------------------

    def _write_state(self, state: RunState) -> None:
        begun = clock.monotonic()
        stand = standing(state)
        done = [one for one in _phases(state) if one.ended and one.status.passed]
        last = done[-1].path if done else ""
        self._write(
            "state/current-task.json",
            {
                **_named(state),
                "phaseStatus": stand.point.value,
                "phase": stand.phase or last,
                "completedPhases": [self._completed(one) for one in done],
                "runId": state.facts.run,
                "workflowFile": os.path.relpath(state.plan.file, self._folder.parent),
                "updatedAt": clock.to_iso(clock.now()),
            },
        )
        if stand.level in (Level.PARALLEL, Level.MERGE):
            group = state.get(stand.path)
            if group is not None:
                self._write("state/parallel.json", _group(state, group, stand.phase))
        now = clock.monotonic()
        self._due = now + SHARE_OF_TIME * (now - begun) if len(state.instances) > 1_000 else 0.0

    def _completed(self, phase: Instance) -> dict[str, Any]:
        entry: dict[str, Any] = {"phase": phase.path}
        path = self._folder / "plans" / "handoffs" / f"{phase.path}.json"
        if hands_on(phase) and path.is_file():
            entry["handoffPath"] = os.path.relpath(path, self._folder.parent)
        return entry

    def _hand_off(self, state: RunState, phase: str) -> None:
        instance = state.get(phase)
        if instance is not None and hands_on(instance):
            document = read_hand_off(self._run, phase)
            self._write(f"plans/handoffs/{phase}.json", {"handoff": document}, merge=False)

    def _write(self, name: str, data: dict[str, Any], *, merge: bool = True) -> None:
        path = self._folder / name
        whole = _read(path) | data if merge else data
        files.write_atomic(path, msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n", durable=False)

    def _log(self, lines: list[dict[str, Any]]) -> None:
        path = os.fspath(self._folder / "state" / "journal.jsonl")
        try:
            descriptor = files.open_append(path, new=not os.path.exists(path))
        except OSError as error:
            raise files.trouble(error, "open", path, StateError) from error
        try:
            files.append(descriptor, b"".join(msgspec.json.encode(line) + b"\n" for line in lines), path)
        except OSError as error:
            raise files.trouble(error, "write", path, StateError) from error
        finally:
            os.close(descriptor)


def archive(folder: Path) -> Path:
    """`state` and `plans` go to `plans/archive/<time>/`; nothing is deleted. Raises `StateError`."""
    moment, number = f"{clock.now():%Y%m%d-%H%M%S}", 1
    base = folder / "plans" / "archive"
    while (target := base / (moment if number == 1 else f"{moment}-{number}")).exists():
        number += 1
    try:
        files.make_folder(target / "plans")
        if (folder / "state").exists():
            files.move(folder / "state", target / "state")
        for one in sorted((folder / "plans").iterdir()):
            if one.name != "archive":
                files.move(one, target / "plans" / one.name)
    except OSError as error:
        raise files.trouble(error, "archive", folder, StateError) from error
    return target


# --- data ---------------------------------------------------------------------------------------------------------


def _named(state: RunState) -> dict[str, str]:
    facts = state.facts
    return {"scenario": facts.name, "feature": facts.variables.get("feature") or facts.title or facts.name}


def _phases(state: RunState) -> list[Instance]:
    found = (state.get(node.path) for step in state.plan.root.steps for node in step)
    return [one for one in found if one is not None]


def _group(state: RunState, group: Instance, phase: str) -> dict[str, Any]:
    node = group.node
    members = [one for one in state.instances.values() if one.parent is group and one.role is not Role.SECTION]
    if node is not None and group.role is not Role.LOOP and node.kind is not Kind.PARALLEL:
        members = [group]
    steps = [child for step in node.merge for child in step] if node is not None else []
    return {
        "phase": phase,
        "tasks": [{"id": one.key or one.name, "status": _word(one.status)} for one in members],
        "merge": {"steps": [{"id": child.name, "status": _merge_word(state, group, child)} for child in steps]},
    }


def _merge_word(state: RunState, group: Instance, child: Node) -> str:
    instance = state.get(f"{group.path}/@merge/{child.name}")
    return _word(instance.status) if instance is not None else "pending"


def _word(status: Status) -> str:
    return "completed" if status.passed else status.value


def _line(state: RunState, event: ev.Event) -> dict[str, Any]:
    kind = {ev.PhaseStart: "phase_start", ev.PhaseComplete: "phase_complete", ev.WorkflowEnd: "workflow_end"}
    line: dict[str, Any] = {"event": kind.get(type(event), "workflow_start"), "at": clock.to_iso(event.at)}
    if isinstance(event, ev.PhaseStart | ev.PhaseComplete):
        line["phase"] = event.phase
    if isinstance(event, ev.PhaseComplete | ev.WorkflowEnd):
        line["status"] = event.status.value
    return line | _named(state)


def _mapping(content: bytes | None) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(content) if content is not None else {}
    except msgspec.DecodeError:
        return {}
    return data if isinstance(data, dict) else {}


def _read(path: Path) -> dict[str, Any]:
    try:
        return _mapping(path.read_bytes())
    except OSError:
        return {}


def sparq_mirror_of(run: RunFolder, state: RunState) -> SparqMirror | None:
    """The mirror that a workflow asks for, if it does; its folder is relative to the one that tasks work in."""
    wanted = state.plan.mirror_sparq
    if wanted is None:
        return None
    place = Path(os.path.normpath(Path(state.plan.file).parent / state.plan.directory / wanted))
    digest = next((one for one in state.facts.watch.values() if one is not None), None)
    content = run.values.get(digest) if digest is not None and run.values.holds(digest) else None
    return SparqMirror(place, run, content, digest)
