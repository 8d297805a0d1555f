"""A request to open a worker → a warm Python process for calls, whose output and death the keeper looks after.

A worker is a task of the keeper like any other, with its folder, lock and record. Its calls come to it from the driver
directly, and it records their ends itself; what it needs the keeper for is what it cannot do from inside: taking
its output to the file of the call in flight, keeping that call's time limit, ending what a failed call left running,
and recording the end of a call in the middle of which it died.
"""

from __future__ import annotations

import _socket
import os

from onward.tasks import exit_record
from onward.tasks.call_slot import NEVER, NO_FILE, Slot
from onward.tasks.ending import Ending
from onward.tasks.keeper_loop import READABLE
from onward.tasks.keeper_task import Task
from onward.tasks.light_clock import monotonic
from onward.tasks.wire import pair
from onward.tasks.worker_talk import ANSWER, LOOK_AT_DEADLINE, SWEEP, TAKE_OUTPUT

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onward.tasks.call_slot import Call
    from onward.tasks.exit_record import Record
    from onward.tasks.keeper_loop import Loop
    from onward.tasks.wire import Message


class Worker(Task):
    """A worker process under the keeper. `driver` is its end of the socket to the driver."""

    def __init__(
        self,
        loop: Loop,
        request: Message,
        lock: int,
        driver: int,
        tell: Callable[[Message], None],
        over: Callable[[Task], None],
    ) -> None:
        super().__init__(loop, request, lock, tell, over)
        self._driver = driver
        self._mine: _socket.socket | None = None
        self._slot = Slot(NO_FILE)
        self._call_number = 0  # whose sinks the streams have; 0 is the worker's own
        self._cleaning: Ending | None = None
        self._cleaning_step_at = NEVER
        self._answer_wanted = False
        self._died_in: tuple[str, Record] | None = None

    def _further_descriptors(self) -> Iterable[int]:
        yield self._driver
        self._mine, theirs = pair()
        yield theirs.detach()
        slot_file = Slot.make()
        self._slot = Slot(slot_file)
        yield slot_file
        self._loop.watch(self._mine.fileno(), self._hear)

    # -- output

    def output_comes(self) -> None:
        super().output_comes()
        self._slot.count_taking()
        call = self._slot.current()
        if call is not None and call.number != self._call_number:
            self._turn_to(call)

    def _turn_to(self, call: Call) -> None:
        """What comes now is this call's: the one before had all its output taken before it ended."""
        for stream in self.streams:
            stream.sink.finish()  # what a thread that an earlier call left has begun to print
        self._call_number = call.number
        for stream, name in zip(self.streams, ("out", "err"), strict=True):
            stream.sink.close()
            stream.sink = self._sink(call.folder, name, make_folder=True)

    def _sizes(self, call: Call) -> tuple[int, int]:
        if call.number != self._call_number:
            return 0, 0
        return self.streams[0].sink.size, self.streams[1].sink.size

    # -- what the worker asks for

    def _hear(self, events: int) -> None:
        assert self._mine is not None
        try:
            said = self._mine.recv(16, _socket.MSG_DONTWAIT) if events & READABLE else b""
        except BlockingIOError:
            return
        except ConnectionResetError:
            said = b""
        if said == LOOK_AT_DEADLINE:
            self._arm()
        elif said == TAKE_OUTPUT:
            self._answer()
        elif said == SWEEP:
            self._clean()
        else:
            self._loop.unwatch(self._mine.fileno())

    def _answer(self, survivors: int = 0) -> None:
        self._answer_wanted = True
        try:
            for stream in self.streams:
                stream.drain()
        except OSError as error:
            self._hold_back(error)
            return
        self._answer_wanted = False
        call = self._slot.current()
        sizes = self._sizes(call) if call is not None else (0, 0)
        assert self._mine is not None
        try:
            self._mine.send(ANSWER.pack(*sizes, survivors), _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL)
        except (BrokenPipeError, ConnectionResetError):
            return  # it died; its exit says so

    def _try_again(self) -> None:
        super()._try_again()
        if self._answer_wanted:
            self._answer()

    def _clean(self) -> None:
        """Its group holds the worker itself: what a call left is found by descent and by the call's marker."""
        self._cleaning = Ending(
            root=self.pid,
            group=None,
            markers=self._call_markers(),
            kill_after_s=self._kill_after_s,
            now=self._loop.now,
            spare={self.pid},
        )
        self._step_cleaning()
        self._arm()

    def _step_cleaning(self) -> None:
        cleaning = self._cleaning
        assert cleaning is not None
        self._cleaning_step_at = cleaning.step(self._loop.now, self._loop.processes()) or NEVER
        if self._cleaning_step_at == NEVER:
            self._cleaning = None
            self._answer(cleaning.survivors)

    # -- its limits

    def _due(self) -> float:
        if self._ending is not None or self._exit is not None:
            return super()._due()
        # First the promise to look at nothing, then the reading: a call that begins in between asks for a look.
        self._slot.keeper_looks_at(NEVER)
        call = self._slot.current()
        deadline = call.deadline if call is not None else NEVER
        self._slot.keeper_looks_at(deadline)
        return min(super()._due(), deadline, self._cleaning_step_at)

    def _on_time(self) -> None:
        if self._ending is None and self._exit is None and self._loop.now < self._retry_at:
            call = self._slot.current()
            if self._cleaning is not None and self._loop.now >= self._cleaning_step_at:
                self._step_cleaning()
            elif call is not None and self._loop.now >= call.deadline:
                self.end("timeout", call.kill_after_s)
        super()._on_time()

    # -- its end

    def _call_markers(self) -> set[bytes]:
        call = self._slot.current()
        return set() if call is None else {os.fsencode(call.id)}

    def _markers(self) -> set[bytes]:
        return {*super()._markers(), *self._call_markers()}

    def _must_be_swept(self) -> bool:
        """Between calls there is nothing to sweep but what successful calls left on purpose."""
        return self._slot.current() is not None

    def _mask_files(self) -> None:
        """A worker masks what its calls leave by itself, unless it died in the middle of one."""
        call = self._slot.current()
        self._out = None if call is None else call.folder
        super()._mask_files()

    def _record(self, record: Record) -> None:
        call = self._slot.current()
        if call is not None and self._died_in is None:
            end = self._end_of(call, record)
            self._append(call.id, end)
            self._died_in = call.id, end
        super()._record(record)

    def _tell_end(self, record: Record) -> None:
        self._tell({"type": "worker_ended", "id": self.id, "record": record, "call": self._died_in})
        if self._mine is not None:
            self._loop.release(self._mine.detach())

    def _end_of(self, call: Call, record: Record) -> Record:
        """The worker's own end is that of the call in flight, and never a success."""
        code, signal, error, ended_by, _, _, usage, _, _, left = record
        if ended_by is None:
            error = f"the worker process ended ({signal or f'exit code {code}'}) before the function returned"
        out, err = self._sizes(call)
        duration_s = monotonic() - call.began
        return 1 if code == 0 else code, signal, error, ended_by, call.started, duration_s, usage, out, err, left

    def _append(self, id: str, record: Record) -> None:
        log = exit_record.CallLog(self.folder)
        try:
            log.append(exit_record.call_as_json(id, record))
        finally:
            log.close()
