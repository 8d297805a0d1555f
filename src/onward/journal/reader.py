"""Lines of the journal to events, in pieces, with what is wrong on the way.

A piece of about a megabyte is decoded at once and its chain checked. Only a piece in which something does not fit is
gone through line by line:

- A line that is whole (it ends with its newline) and cannot be read, or was altered, is *damage*: it is named, and
  reading goes on after it. So is a whole last line: it may have been acted upon.
- The *torn tail* is what a write that was cut off leaves: a last line without its newline, or zeros where pages of
  the last batch never reached the disk. Nobody was told of those events.
- Lines of an older epoch after a newer one that go on where that epoch ended come from a driver that was taken over:
  they are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from onward import files
from onward.errors import JournalError
from onward.journal import upgrade
from onward.journal.findings import Finding, FindingKind
from onward.journal.lines import CHAIN_DIGITS, CHAIN_SLICE, END_BYTES, EVENTS, START, Position, chain_of, is_linked
from onward.journal.packed import open_reading, size_of
from onward.model.events import AnyEvent

PIECE_BYTES = 1 << 20

_DAMAGE = (FindingKind.DAMAGE, FindingKind.UNREADABLE_HEAD)
_BREAKS = (*_DAMAGE, FindingKind.GAP)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Envelope(msgspec.Struct, frozen=True):
    """The fields that every line has, whatever its type."""

    type: str
    seq: int
    epoch: int = 0
    batch: int = 0
    version: int = upgrade.VERSION


_envelope = msgspec.json.Decoder(Envelope).decode


def read(path: str | os.PathLike[str], *, after: Position = START, check_chain: bool = True) -> Reading:
    """The events after a position, to be iterated once. Raises `JournalError` when there is no such file."""
    return Reading(os.fspath(path), after, check_chain)


def is_anchored(path: str | os.PathLike[str], position: Position) -> bool:
    """Whether the journal has this position: the line before it ends there, and has that chain."""
    if position == START:
        return True
    ending = f'{position.chain}"}}\n'.encode()
    with _opened(path) as file:
        if position.offset < len(ending):
            return False
        file.seek(position.offset - len(ending))
        return file.read(len(ending)) == ending


class Reading:
    """One pass over a journal. `findings` and `position` are complete once the events have been iterated."""

    def __init__(self, path: str, after: Position, check_chain: bool) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self._check_chain = check_chain
        self._offset = after.offset
        self._line = after.line
        self._seq = after.seq
        self._chain = after.chain.encode()
        self._epoch = after.epoch
        self._first_epoch = after.epoch
        self._ends: dict[int, bytes] = {}
        """the chain of the last line of each epoch that a newer one has followed"""
        self._version = after.version
        self._lost = 0
        self._proven: int | None = None
        self._torn = False

    @property
    def position(self) -> Position:
        """The end of the last whole line. Lines that cannot be read keep their numbers."""
        return Position(
            offset=self._offset,
            line=self._line,
            seq=self._seq + self._lost,
            chain=self._chain.decode("ascii", "replace"),
            epoch=self._epoch,
            version=self._version,
        )

    @property
    def proven(self) -> int:
        """The last event up to which nothing is damaged or missing."""
        return self._seq if self._proven is None else self._proven

    @property
    def torn_tail(self) -> Finding | None:
        """The torn tail, if the journal has one."""
        return next((finding for finding in self.findings if finding.kind is FindingKind.TORN_TAIL), None)

    def __iter__(self) -> Iterator[AnyEvent]:
        for piece in self.pieces():
            yield from piece

    def all(self) -> list[AnyEvent]:
        """Every event at once: only for journals that are known to be small."""
        return list(self)

    def finish(self) -> Reading:
        """Read to the end, for the findings and the position alone."""
        for _ in self.pieces():
            continue
        return self

    def pieces(self) -> Iterator[list[AnyEvent]]:
        """The events, many at a time."""
        with _opened(self.path) as file:
            file.seek(self._offset)
            rest = b""
            while not self._torn and (data := _read(file, self.path)):
                whole, newline, rest = (rest + data).rpartition(b"\n")
                if newline:
                    yield from self._piece(whole)
            if rest and not self._torn:
                self._found_torn_tail(len(rest))
        if not self._line:
            self._add(FindingKind.UNREADABLE_HEAD, b"", "the journal holds no whole line", size=0)

    # ------------------------------------------------------------ a piece of whole lines

    def _piece(self, whole: bytes) -> Iterator[list[AnyEvent]]:
        if not self._line:
            head, newline, whole = whole.partition(b"\n")
            yield self._head(head)
            if not newline:
                return
        events = None if self._version < upgrade.VERSION else self._all_good(whole)
        yield self._one_by_one(whole) if events is None else events

    def _all_good(self, whole: bytes) -> list[AnyEvent] | None:
        """All events of a piece, or None when anything about it needs a closer look."""
        try:
            events = EVENTS.decode_lines(whole)
        except _UNREADABLE:
            return None
        lines = whole.split(b"\n")
        if len(events) != len(lines):
            return None
        fits = self._chain_fits(lines) if self._check_chain else self._numbers_fit(events)
        if not fits:
            return None
        if events[-1].epoch != self._epoch:
            self._note_epochs(events, lines)
        self._offset += len(whole) + 1
        self._line += len(lines)
        self._seq = events[-1].seq
        self._chain = chain_of(lines[-1])
        self._lost = 0
        return events

    def _chain_fits(self, lines: list[bytes]) -> bool:
        # `is_linked` for each line, written out: this loop runs for every line of every resume.
        chain = self._chain
        for line in lines:
            chain = sha256(chain + line[:-END_BYTES]).hexdigest()[:CHAIN_DIGITS].encode()
            if line[CHAIN_SLICE] != chain:
                return False
        return True

    def _numbers_fit(self, events: list[AnyEvent]) -> bool:
        seq, epoch = self._seq, self._epoch
        for event in events:
            seq += 1
            if event.seq != seq or event.epoch < epoch:
                return False
            epoch = event.epoch
        return True

    def _note_epochs(self, events: list[AnyEvent], lines: list[bytes]) -> None:
        chain = self._chain
        for event, line in zip(events, lines, strict=True):
            self._note_epoch(event.epoch, chain)
            chain = chain_of(line)

    def _note_epoch(self, epoch: int, chain: bytes) -> None:
        """`chain`: that of the line before the first one of this epoch."""
        if epoch > self._epoch:
            self._ends[self._epoch] = chain
            self._epoch = epoch

    def _one_by_one(self, whole: bytes) -> list[AnyEvent]:
        events = []
        for line in whole.split(b"\n"):
            event = self._step(line)
            if self._torn:
                break
            if event is not None:
                events.append(event)
        return events

    def _head(self, line: bytes) -> list[AnyEvent]:
        """The first line, which says what run this is and the version of the journal."""
        envelope = _envelope_of(line)
        if envelope is not None and envelope.version > upgrade.VERSION:
            text = f"has version {envelope.version} of the journal; this program knows up to {upgrade.VERSION}"
            self._add(FindingKind.NEWER_VERSION, line, text)
        if envelope is not None and (envelope.type != "workflow_start" or envelope.seq != 1):
            self._add(FindingKind.UNREADABLE_HEAD, line, "is not the start of a run")
        self._version = upgrade.VERSION if envelope is None else envelope.version
        event = self._step(line)
        return [] if event is None else [event]

    # ------------------------------------------------------------ one line

    def _step(self, line: bytes) -> AnyEvent | None:
        """The event of the next line, if it is one; what is wrong with it becomes a finding."""
        event, problem = self._decoded(line)
        envelope = event or _envelope_of(line)
        if envelope is None:
            self._unreadable(line, problem)
            return None
        fits = is_linked(line, self._chain) if self._check_chain else envelope.seq == self._seq + 1
        if not fits and envelope.epoch < self._epoch and self._is_stale(line, envelope.epoch):
            self._stale(line)
            return None
        if not fits and not self._may_follow(envelope.seq):
            self._damaged(line, "is altered, or does not belong after the line before it", event)
            return None
        if self._lost or not fits:
            self._missing(line, envelope.seq)
        if event is None:
            self._unknown(line)
        self._accept(line, envelope.seq, envelope.epoch)
        return event

    def _decoded(self, line: bytes) -> tuple[AnyEvent | None, str]:
        try:
            if self._version < upgrade.VERSION:
                return self._upgraded(msgspec.json.decode(line)), ""
            return EVENTS.decode(line), ""
        except _UNREADABLE as error:
            return None, str(error)

    def _upgraded(self, line: Any) -> AnyEvent:
        if not isinstance(line, dict):
            raise msgspec.ValidationError("Expected `object`")
        self._version = line.get("version", self._version)
        event: AnyEvent = msgspec.convert(upgrade.upgrade(line, self._version), AnyEvent)
        return event

    def _may_follow(self, seq: int) -> bool:
        # After damage nothing proves where a line belongs: that it is a later one is all that can be asked.
        return seq > self._seq if self._lost else seq > self._seq + 1

    def _is_stale(self, line: bytes, epoch: int) -> bool:
        """Whether the line goes on where its epoch had ended (before this reading began, that cannot be seen)."""
        if epoch < self._first_epoch or not self._check_chain:
            return True
        fits = epoch in self._ends and is_linked(line, self._ends[epoch])
        if fits:
            self._ends[epoch] = chain_of(line)
        return fits

    def _accept(self, line: bytes, seq: int, epoch: int) -> None:
        self._pass_over(line)
        self._note_epoch(epoch, self._chain)
        self._seq, self._lost = seq, 0
        self._chain = chain_of(line)

    def _pass_over(self, line: bytes) -> None:
        self._offset += len(line) + 1
        self._line += 1

    # ------------------------------------------------------------ findings

    def _unreadable(self, line: bytes, problem: str) -> None:
        if b"\0" in line and self._is_of_last_batch(line):
            self._found_torn_tail(size_of(self.path) - self._offset)
        else:
            self._damaged(line, f"cannot be read: {problem}", None)

    def _is_of_last_batch(self, line: bytes) -> bool:
        """Whether no line that follows was flushed after this one."""
        seq = self._seq + self._lost + 1
        with _opened(self.path) as file:
            file.seek(self._offset + len(line) + 1)
            later = (_envelope_of(following.rstrip(b"\n")) for following in file)
            return not any(envelope is not None and envelope.batch > seq for envelope in later)

    def _found_torn_tail(self, size: int) -> None:
        self._torn = True
        text = "the last write was cut off; nobody was told of what it held"
        self._add(FindingKind.TORN_TAIL, b"", text, size=size)

    def _damaged(self, line: bytes, text: str, event: AnyEvent | None) -> None:
        kind = FindingKind.DAMAGE if self._line else FindingKind.UNREADABLE_HEAD
        self._lost += 1
        lost = (self._seq + 1, self._seq + self._lost)
        if self._reaches_here(kind):
            self._extend(line, lost)
        else:
            self._add(kind, line, text, events=lost, event=event)
        self._pass_over(line)

    def _missing(self, line: bytes, next_seq: int) -> None:
        """Which events are missing is known once a good line follows."""
        missing = (self._seq + 1, next_seq - 1) if next_seq > self._seq + 1 else None
        if self._lost:
            index = max(i for i, finding in enumerate(self.findings) if finding.kind in _DAMAGE)
            self.findings[index] = replace(self.findings[index], events=missing)
        elif missing is not None:
            self._add(FindingKind.GAP, line, "follows lines that were removed", events=missing)

    def _unknown(self, line: bytes) -> None:
        if self.findings and self.findings[-1].kind is FindingKind.UNKNOWN_EVENT:
            self._extend(line, None)
        else:
            self._add(FindingKind.UNKNOWN_EVENT, line, "holds an event that only a newer `onward` knows")

    def _stale(self, line: bytes) -> None:
        if self._reaches_here(FindingKind.STALE_DRIVER):
            self._extend(line, None)
        else:
            text = "was written by a driver that had been taken over, and does not count"
            self._add(FindingKind.STALE_DRIVER, line, text)
        self._pass_over(line)

    def _reaches_here(self, kind: FindingKind) -> bool:
        last = self.findings[-1] if self.findings else None
        return last is not None and last.kind is kind and last.end == self._offset

    def _add(
        self,
        kind: FindingKind,
        line: bytes,
        text: str,
        *,
        size: int | None = None,
        events: tuple[int, int] | None = None,
        event: AnyEvent | None = None,
    ) -> None:
        if self._proven is None and kind in _BREAKS:
            self._proven = self._seq
        end = self._offset + (len(line) + 1 if size is None else size)
        self.findings.append(
            Finding(
                kind=kind,
                line=self._line + 1,
                offset=self._offset,
                end=end,
                text=text,
                events=events,
                event=event,
            )
        )

    def _extend(self, line: bytes, events: tuple[int, int] | None) -> None:
        """The last finding reaches to the end of the present line."""
        last = self.findings[-1]
        end = self._offset + len(line) + 1
        self.findings[-1] = replace(last, lines=self._line + 2 - last.line, end=end, events=events)


def _envelope_of(line: bytes) -> Envelope | None:
    try:
        return _envelope(line)
    except _UNREADABLE:
        return None


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        return open_reading(path)
    except OSError as error:
        raise files.trouble(error, "read the journal", path, JournalError) from error


def _read(file: BinaryIO, path: str) -> bytes:
    try:
        return file.read(PIECE_BYTES)
    except OSError as error:
        raise files.trouble(error, "read the journal", path, JournalError) from error
