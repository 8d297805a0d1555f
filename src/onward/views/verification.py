"""What a run keeps on disk, checked: the journal's chain, stored results, artifacts of finished nodes.

The chain proves that no event before the last was altered or removed. That the last lines were not cut off it proves
only where a head of the chain was noted elsewhere, here in the state cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from onward.journal.verify import Verification, verify
from onward.model.values import Value
from onward.state.run_state import RunState
from onward.tasks.artifacts import Found, check
from onward.views.source import Source


class Fault(Struct, frozen=True, kw_only=True):
    """Something that is not as it was recorded. `kind`: journal, value or artifact."""

    kind: str
    path: str | None
    text: str


class JournalPart(Struct, frozen=True, kw_only=True):
    """The journal. `proven` is the last event up to which nothing was altered or removed."""

    file: str
    lines: int
    last: int
    proven: int
    head: str
    whole: bool
    tail: str


class Count(Struct, frozen=True, kw_only=True):
    """How many there are, and how many are as they were recorded."""

    total: int
    intact: int


class Verified(Struct, frozen=True, kw_only=True):
    """The whole."""

    schema: int = 1
    run: str
    ok: bool
    journal: JournalPart
    values: Count
    artifacts: Count
    faults: list[Fault]

    @property
    def state_is_whole(self) -> bool:
        """Whether what `onward` itself keeps is whole; artifacts belong to the user."""
        return all(fault.kind == "artifact" for fault in self.faults)


def verified(source: Source) -> Verified:
    """Check everything of a run; reads every stored result and every artifact."""
    journal = _journal(source)
    faults = [
        Fault(kind="journal", path=None, text=f"{finding.where}: {finding.text}") for finding in journal.findings
    ]
    if journal.complete is False:
        faults.append(Fault(kind="journal", path=None, text=journal.tail))
    values, broken = _values(source)
    artifacts, changed = _artifacts(source)
    faults += broken + changed
    return Verified(
        run=source.run_id,
        ok=not faults and journal.whole,
        journal=JournalPart(
            file=str(source.folder.journal),
            lines=journal.lines,
            last=journal.last,
            proven=journal.proven,
            head=journal.chain,
            whole=journal.whole,
            tail=journal.tail,
        ),
        values=Count(total=values, intact=values - len(broken)),
        artifacts=Count(total=artifacts, intact=artifacts - len(changed)),
        faults=faults,
    )


def _journal(source: Source) -> Verification:
    loaded = source.folder.load_cache()
    if loaded.cache is None:
        return verify(source.folder.journal)
    noted = loaded.cache.position
    return verify(source.folder.journal, seq=noted.seq, chain=noted.chain)


def _values(source: Source) -> tuple[int, list[Fault]]:
    kept, faults, total = source.folder.values, [], 0
    for path, name, value in _stored(source.state):
        total += 1
        if value.sha256 is not None and not kept.holds(value.sha256):
            text = f"the stored result `{name}` is gone or was altered ({kept.path(value.sha256)})"
            faults.append(Fault(kind="value", path=path, text=text))
    return total, faults


def _stored(state: RunState) -> Iterator[tuple[str, str, Value]]:
    """Results that lie in files of their own."""
    for path, instance in state.instances.items():
        for name, value in (instance.outputs or {}).items():
            if value.sha256 is not None:
                yield path, name, value
        for key, item in instance.items or ():
            if item is not None and item.sha256 is not None:
                yield path, f"item {key}", item


def _artifacts(source: Source) -> tuple[int, list[Fault]]:
    directory = source.place(source.state.facts.directory)
    faults, total = [], 0
    for path, instance in source.state.instances.items():
        if not instance.ended:
            continue
        for artifact in instance.artifacts:
            total += 1
            found = check(artifact, directory)
            if found is not Found.INTACT:
                word = "is missing" if found is Found.MISSING else "is not what was recorded"
                faults.append(Fault(kind="artifact", path=path, text=f"the artifact {artifact.path} {word}"))
    return total, faults
