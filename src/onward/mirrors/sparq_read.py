"""A `.sparq` folder (requirement 3) → what its files say of an interrupted workflow; nothing is changed but by `.bak`.

`state/current-task.json` first; where that is broken it is kept as `.bak` and the last lines of `state/journal.jsonl`
are used; where there is neither, the legacy plan `plans/execution-plan.md`, which knows whole phases only. Keys that
the requirement does not give are read in the spellings that are likely (`settled.md` 76).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from onward import files
from onward.errors import OnwardError, StateError

LAST_LINES = 50
REBUILT = "State file corrupted. Reconstructed from journal. Verify before resuming."
NOTHING = "no interrupted workflow found"


class NoSparq(OnwardError):
    """The folder holds nothing that could go on."""

    code = "no-sparq-state"


class Source(StrEnum):
    """Where the state comes from."""

    STATE = "state"
    JOURNAL = "journal"
    LEGACY = "legacy"


class Phase(Struct, frozen=True, kw_only=True):
    """A phase that is done, and what it handed on (empty where that file is gone); `missing` are artifacts."""

    name: str
    hand_off: dict[str, Any] = {}
    hand_off_path: str | None = None
    hand_off_gone: bool = False
    artifacts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Part(Struct, frozen=True, kw_only=True):
    """A task of a parallel phase, or a step of a merge. `intact`: its hand-off and artifacts are there."""

    name: str
    status: str
    intact: bool = True


class SparqState(Struct, kw_only=True):
    """Everything that was found. `status` is the `phaseStatus`; empty: not known, so whole phases only."""

    folder: str
    source: Source
    scenario: str = ""
    feature: str = ""
    status: str = ""
    phase: str = ""
    completed: list[Phase] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    merge: list[Part] = field(default_factory=list)
    config_hash: str | None = None
    config: dict[str, Any] | None = None
    framework: str | None = None
    workflow_file: str | None = None
    at: float | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """The project that the folder belongs to."""
        return Path(self.folder).parent

    @property
    def artifacts(self) -> tuple[int, int]:
        """How many artifacts of done phases are on disk, and how many there should be."""
        total = sum(len(phase.artifacts) for phase in self.completed)
        return total - sum(len(phase.missing) for phase in self.completed), total


def find_sparq(path: Path) -> Path:
    """The `.sparq` folder that is meant by itself, its `state` folder, or the project around it."""
    path = path.absolute()
    for place in (path, path / ".sparq", path.parent):
        if (place / "state").is_dir() or (place / "plans").is_dir():
            return place
    raise NoSparq(f"{NOTHING}: {path} has neither `state` nor `plans`", help="name the `.sparq` folder")


def read_sparq(path: Path) -> SparqState:
    """Read it. Raises `NoSparq` when nothing in it could go on."""
    folder = find_sparq(path)
    current = folder / "state" / "current-task.json"
    found: SparqState | None = None
    try:
        data = msgspec.json.decode(current.read_bytes())
        if not isinstance(data, dict):
            raise msgspec.DecodeError("it is no mapping")
        found = _from_state(folder, data)
    except FileNotFoundError:
        found = _from_legacy(folder)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        kept = _keep(current)
        found = _from_journal(folder)
        if found is not None:
            found.warnings.append(f"{REBUILT} The broken file is kept as {kept.name}.")
    if found is None:
        help = "Use /sparq:analyze or another skill to start, or `onward run FILE`"
        raise NoSparq(f"{NOTHING} in {folder}", help=help)
    _add_snapshot(found)
    _add_parallel(found)
    found.at = found.at or _newest(folder)
    return found


# --- the three sources --------------------------------------------------------------------------------------------


def _from_state(folder: Path, data: dict[str, Any]) -> SparqState:
    found = SparqState(
        folder=os.fspath(folder),
        source=Source.STATE,
        scenario=_text(data, "scenario", "workflow", "scenarioName"),
        feature=_text(data, "feature", "featureName"),
        status=_text(data, "phaseStatus", "phase_status", "status"),
        phase=_text(data, "phase", "currentPhase", "current_phase"),
        workflow_file=_text(data, "workflowFile", "workflow_file") or None,
    )
    listed = _first(data, "completedPhases", "completed_phases")
    found.completed = [_phase(folder, one) for one in listed if isinstance(listed, list)] if listed else []
    return found


def _from_journal(folder: Path) -> SparqState | None:
    """The newest `phase_complete` or `workflow_start` of the last lines gives scenario, feature and last phase."""
    events = list(_events(folder / "state" / "journal.jsonl"))
    done = [_text(event, "phase") for event in events if _kind(event) == "phase_complete"]
    start = next((one for one in reversed(events) if _kind(one) in ("phase_complete", "workflow_start")), None)
    if start is None:
        return None
    named = next((one for one in reversed(events) if _text(one, "feature", "scenario")), start)
    return SparqState(
        folder=os.fspath(folder),
        source=Source.JOURNAL,
        scenario=_text(named, "scenario", "workflow", "name"),
        feature=_text(named, "feature", "title"),
        status="completed" if done else "starting",
        phase=done[-1] if done else "",
        completed=[_phase(folder, {"phase": name}) for name in dict.fromkeys(done) if name],
    )


def _events(journal: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = journal.read_bytes().splitlines()[-LAST_LINES:]
    except OSError:
        return
    for line in lines:
        try:
            event = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # a torn or broken line is what this is there to get around
        if isinstance(event, dict):
            yield event


def _kind(event: dict[str, Any]) -> str:
    return _text(event, "event", "type")


_STATUS = re.compile(r"^\W*status\W*[:|]\W*(in progress|aborted)\b", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"^#+\s*.*resume\s*state.*$", re.IGNORECASE | re.MULTILINE)
_BLOCK = re.compile(r"```(?:json|ya?ml)?\s*\n(.*?)```", re.DOTALL)


def _from_legacy(folder: Path) -> SparqState | None:
    try:
        text = (folder / "plans" / "execution-plan.md").read_text("utf-8", "replace")
    except OSError:
        return None
    if _STATUS.search(text) is None:
        return None
    data = _resume_state(text)
    found = _from_state(folder, data)
    found.source, found.status = Source.LEGACY, ""
    known = {phase.name for phase in found.completed}
    for path in sorted((folder / "plans" / "handoffs").glob("*.json")):
        document = _read_json(path)
        name = _text(document, "phase") or path.stem
        if name not in known and not found.completed:
            found.completed.append(_phase(folder, {"phase": name, "handoffPath": os.fspath(path)}))
            known.add(name)
    found.warnings.append("only whole phases are known of a workflow of this age")
    return found


def _resume_state(text: str) -> dict[str, Any]:
    """The first block of JSON or YAML below the heading; else of the whole text."""
    heading = _HEADING.search(text)
    block = _BLOCK.search(text, heading.end() if heading is not None else 0)
    if block is None:
        return {}
    from onward.spec.data import NotData, yaml_data

    try:
        data = yaml_data(block[1])
    except NotData:
        return {}
    if isinstance(data, dict) and isinstance(data.get("resumeState"), dict):
        data = data["resumeState"]
    return data if isinstance(data, dict) else {}


# --- phases and their parts ---------------------------------------------------------------------------------------


def _phase(folder: Path, entry: Any) -> Phase:
    """An entry of `completedPhases`: a name, or a mapping with the path of its hand-off."""
    data = entry if isinstance(entry, dict) else {"phase": str(entry)}
    name = _text(data, "phase", "name", "id")
    path = _text(data, "handoffPath", "handoff_path", "handoff") or _usual_place(folder, name)
    document = _read_json(_place(folder, path)) if path else {}
    artifacts = tuple(_artifacts(document))
    missing = tuple(one for one in artifacts if not _place(folder, one).exists())
    gone = bool(path) and not document
    return Phase(
        name=name, hand_off=document, hand_off_path=path, hand_off_gone=gone, artifacts=artifacts, missing=missing
    )


def _usual_place(folder: Path, name: str) -> str | None:
    place = folder / "plans" / "handoffs" / f"{name}.json"
    return os.fspath(place) if name and place.is_file() else None


def _artifacts(document: dict[str, Any]) -> Iterator[str]:
    """`report.artifacts`, of texts or of mappings with a path."""
    inner = document.get("handoff", document)
    report = inner.get("report", {}) if isinstance(inner, dict) else {}
    listed = report.get("artifacts", []) if isinstance(report, dict) else []
    for one in listed if isinstance(listed, list) else []:
        path = _text(one, "path", "file") if isinstance(one, dict) else one
        if isinstance(path, str) and path:
            yield path


def _add_parallel(found: SparqState) -> None:
    data = _read_json(Path(found.folder) / "state" / "parallel.json")
    listed = _first(data, "tasks", "members")
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict):
            found.parts.append(_part(Path(found.folder), one))
    merge = data.get("merge")
    steps = merge.get("steps") if isinstance(merge, dict) else None
    for step in steps if isinstance(steps, list) else []:
        if isinstance(step, dict):
            found.merge.append(Part(name=_text(step, "id", "name", "step"), status=_text(step, "status")))


def _part(folder: Path, one: dict[str, Any]) -> Part:
    path = _text(one, "handoffPath", "handoff_path", "handoff")
    document = _read_json(_place(folder, path)) if path else {}
    intact = not path or (bool(document) and all(_place(folder, name).exists() for name in _artifacts(document)))
    return Part(name=_text(one, "id", "name", "task"), status=_text(one, "status"), intact=intact)


def _add_snapshot(found: SparqState) -> None:
    data = _read_json(Path(found.folder) / "state" / "config-snapshot.json")
    found.config_hash = _text(data, "configHash", "config_hash") or None
    rest = {name: value for name, value in data.items() if name not in ("configHash", "config_hash")}
    whole = next((rest[name] for name in ("config", "content", "original") if isinstance(rest.get(name), dict)), rest)
    found.config = whole or None
    e2e = whole.get("e2e")
    found.framework = (_text(e2e, "framework") if isinstance(e2e, dict) else "") or None


# --- files --------------------------------------------------------------------------------------------------------


def _place(folder: Path, path: str) -> Path:
    """Relative to the project, then to `.sparq`."""
    near = folder.parent / path
    return near if near.exists() else (folder / path if (folder / path).exists() else near)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(path.read_bytes())
    except (OSError, ValueError, msgspec.DecodeError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _keep(path: Path) -> Path:
    """Move a broken file aside, under a name that is free."""
    number, kept = 1, path.with_name(f"{path.name}.bak")
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.bak-{number}")
    try:
        files.move(path, kept)
    except OSError as error:
        raise files.trouble(error, "set aside", path, StateError) from error
    return kept


def _newest(folder: Path) -> float | None:
    times = [one.stat().st_mtime for one in (folder / "state").glob("*.json*")]
    plan = folder / "plans" / "execution-plan.md"
    times += [plan.stat().st_mtime] if plan.is_file() else []
    return max(times, default=None)


def _first(data: dict[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if name in data), None)


def _text(data: Any, *names: str) -> str:
    if not isinstance(data, dict):
        return ""
    found = _first(data, *names)
    if isinstance(found, dict):
        return _text(found, "name", "id", "phase")
    return found if isinstance(found, str) else "" if found is None else str(found)
