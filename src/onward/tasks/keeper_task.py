"""A request to run a program → its output in files, its limits kept, the record of its end.

The life of a task: `start` → output and deadlines → `_exited` → (`Ending`, unless it succeeded) → `_settle`, where its
end is recorded and the driver told.

The lock of the attempt is held from before the start until after the record, so that whoever finds it free and no
record knows that nothing runs and that no end was recorded.
"""

from __future__ import annotations

import os

from onward.tasks import exit_record
from onward.tasks.ending import Ending
from onward.tasks.light_clock import monotonic, wall
from onward.tasks.processes import start_time, this_boot
from onward.tasks.spawn import CannotStart, open_input, spawn
from onward.tasks.streams import FileSink, Stream

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from resource import struct_rusage

    from onward.tasks.exit_record import Record
    from onward.tasks.keeper_loop import Loop, Timer
    from onward.tasks.masking import Forms
    from onward.tasks.streams import Sink
    from onward.tasks.wire import Message

# A task that ends sooner needs no record of its process id: it is gone before anybody could use it.
NOTED_AFTER_S = 0.05
RETRY_AFTER_S = 1.0
NEVER = float("inf")
NO_LOCK = -1
OUT = "ONWARD_OUT"


class Task:
    """One program under the keeper.

    `lock` is the descriptor of its folder; `tell` takes a message to the driver; `over` is called when there is nothing
    more to do for it.
    """

    def __init__(
        self, loop: Loop, request: Message, lock: int, tell: Callable[[Message], None], over: Callable[[Task], None]
    ) -> None:
        self.id: str = request["id"]
        self.folder: str = request["folder"]
        self.pid = 0
        self.streams: list[Stream] = []
        self._masks: Forms | None = request.get("masks")
        self._out: str | None = request["env"].get(OUT)
        self._loop = loop
        self._lock = lock
        self._tell = tell
        self._over = over
        self._marker = os.fsencode(request["marker"])
        self._kill_after_s: float = request["kill_after_s"]
        self._started = self._began = self._last_output = 0.0
        self._timeout_at = self._note_at = self._idle_s = NEVER
        self._timer: Timer | None = None
        self._pidfd = -1
        self._ended_by: str | None = None
        self._error: str | None = None
        self._exit: tuple[int, struct_rusage] | None = None  # wait status, usage
        self._duration_s = 0.0
        self._ending: Ending | None = None
        self._ending_step_at = NEVER
        self._retry_at = NEVER
        self._last: Record | None = None  # the record of its end, even while it cannot be written
        self._settling = False
        self._settled = False
        self._said_blocked = False

    @property
    def locked(self) -> bool:
        return self._lock != NO_LOCK

    @property
    def running(self) -> bool:
        return self._exit is None

    # -- its start

    def start(self, request: Message) -> None:
        self._started, self._began = wall(), monotonic()
        try:
            self.pid = self._launch(request)
        except CannotStart as error:
            self._error = str(error)
            self._settle()
            return
        self._pidfd = os.pidfd_open(self.pid)
        self._loop.watch(self._pidfd, self._exited)
        self._set_limits(request["timeout_s"], request["idle_s"])
        self._arm()

    def fail(self, error: str) -> None:
        """Ends it where nothing foreseen did, so that it is told and its lock let go."""
        self._error = error
        if self.pid == 0:
            self._settle()
            return
        os.killpg(self.pid, 9)
        _, status, usage = os.wait4(self.pid, 0)
        self._exit = status, usage
        self._after_exit()

    def _launch(self, request: Message) -> int:
        """Starts the program; its descriptors 0, 1, 2… are those of the list, and it has no others."""
        for_it: list[int] = []
        try:
            for_it.append(open_input(request["stdin"]))
            for_it.append(self._open_stream("out"))
            for_it.append(self._open_stream("err"))
            for_it.extend(self._further_descriptors())
            return spawn(request["argv"], request["env"], request["cwd"], for_it)
        except OSError as error:
            raise CannotStart(f"it cannot be started: {error.strerror}") from None
        finally:
            for descriptor in for_it:
                os.close(descriptor)

    def _set_limits(self, timeout_s: float | None, idle_s: float | None) -> None:
        self._last_output = self._began
        self._note_at = self._began + NOTED_AFTER_S
        self._timeout_at = NEVER if timeout_s is None else self._began + timeout_s
        self._idle_s = NEVER if idle_s is None else idle_s

    def _open_stream(self, name: str) -> int:
        """The end of a new pipe that is for the program."""
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        if self._masks is not None:
            os.set_blocking(ours, False)  # the task's end of the pipe stays an ordinary, waiting one
        self.streams.append(Stream(self._loop, self, ours, self._sink(self.folder, name)))
        return theirs

    def _sink(self, folder: str, name: str, *, make_folder: bool = False) -> Sink:
        if self._masks is None:
            return FileSink(folder, name, make_folder=make_folder)
        from onward.tasks.masked_output import MaskingSink
        from onward.tasks.masking import finder_of

        return MaskingSink(folder, name, finder_of(self._masks), make_folder=make_folder)

    def _further_descriptors(self) -> Iterable[int]:
        return ()

    # -- while it runs

    def output_comes(self) -> None:
        self._last_output = self._loop.now

    def output_is_stuck(self, error: OSError) -> None:
        if self._settled:  # the end is recorded, and what a process that was left behind says is nobody's
            self._close_streams()
        else:
            self._hold_back(error)

    def output_ends(self) -> None:
        if self._settled and not any(stream.open for stream in self.streams):
            self._over(self)

    def end(self, by: str, kill_after_s: float) -> None:
        """Ends it with all that belongs to it; a second call can only shorten the time it has left."""
        if self._ending is not None:
            self._ending.hasten(self._loop.now + kill_after_s)
        elif self._exit is None:
            self._ended_by = by
            self._begin_ending(kill_after_s)

    def _begin_ending(self, kill_after_s: float) -> None:
        self._ending = Ending(
            root=self.pid if self._exit is None else None,
            group=self.pid,
            markers=self._markers(),
            kill_after_s=kill_after_s,
            now=self._loop.now,
        )
        self._step_ending()
        self._arm()

    def _markers(self) -> set[bytes]:
        return {self._marker}

    def _step_ending(self) -> None:
        assert self._ending is not None
        due = self._ending.step(self._loop.now, self._loop.processes())
        self._ending_step_at = NEVER if due is None else due
        if due is None and self._exit is not None:
            self._settle()

    def _arm(self) -> None:
        """Sets the one timer of this task to whatever is due next."""
        due = self._due()
        if self._timer is not None:
            if self._timer.handler is not None and self._timer.moment == due:
                return
            self._loop.cancel(self._timer)
        self._timer = self._loop.at(due, self._on_time) if due != NEVER else None

    def _due(self) -> float:
        if self._retry_at != NEVER or self._ending is not None or self._exit is not None:
            return min(self._retry_at, self._ending_step_at)
        return min(self._note_at, self._timeout_at, self._last_output + self._idle_s)

    def _on_time(self) -> None:
        now = self._loop.now
        if now >= self._retry_at:
            self._try_again()
        elif self._ending is not None:
            self._step_ending()
        elif self._exit is None:
            self._note(now)
            if now >= self._timeout_at:
                self.end("timeout", self._kill_after_s)
            elif now >= self._last_output + self._idle_s:
                self.end("idle", self._kill_after_s)
        self._arm()

    def _note(self, now: float) -> None:
        """Writes down which process it is, for a later driver that wants to signal it."""
        if now < self._note_at:
            return
        self._note_at = NEVER
        self._tell({"type": "started", "id": self.id, "pid": self.pid})
        marker = exit_record.quoted(os.fsdecode(self._marker))
        facts = (
            f'{{"pid": {self.pid}, "start_time": {start_time(self.pid)}, '
            f'"boot_id": "{this_boot()}", "marker": {marker}}}'
        )
        try:
            exit_record.write(self.folder, exit_record.PROCESS_FILE, facts)
        except FileNotFoundError:
            return  # the run was removed
        except OSError as error:
            self._note_at = now + RETRY_AFTER_S
            self._say_blocked(error)

    # -- its end

    def _exited(self, _: int) -> None:
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid == 0:
            return
        self._duration_s = monotonic() - self._began
        self._exit = status, usage
        self._loop.release(self._pidfd)
        self._loop.after_events(self._after_exit)  # what was in its pipes is seen to first

    def _after_exit(self) -> None:
        if self._ending is None and self._must_be_swept():
            self._begin_ending(self._kill_after_s)
        elif self._ending_step_at == NEVER:
            self._settle()

    def _must_be_swept(self) -> bool:
        """What a task leaves running is left alone when it succeeded."""
        return self._exit is not None and self._exit[0] != 0

    def _settle(self) -> None:
        """Keeps the rest of the output, records the end, lets go of the lock, and tells: in this order."""
        self._settling = True
        self._retry_at = NEVER
        try:
            for stream in self.streams:
                stream.drain()
            self._mask_files()
            if self._last is None:
                self._last = self._ended()
            self._record(self._last)
        except FileNotFoundError:
            pass  # the run was removed: nobody will look for a record
        except OSError as error:
            self._hold_back(error)
            return
        self._settled = True
        if self.locked:
            os.close(self._lock)
        if self._timer is not None:
            self._loop.cancel(self._timer)
        self._tell_end(self._last or self._ended())
        self._part()

    def _mask_files(self) -> None:
        """What it was asked to write into our folders is read by the driver next."""
        if self._masks is not None:
            from onward.tasks.masked_output import mask_files
            from onward.tasks.masking import finder_of

            for folder in {self.folder, self._out or self.folder}:
                mask_files(folder, finder_of(self._masks))

    def _record(self, record: Record) -> None:
        exit_record.write(self.folder, exit_record.FILE, exit_record.as_json(record))

    def _tell_end(self, record: Record) -> None:
        self._tell({"type": "exited", "id": self.id, "record": record})

    def _part(self) -> None:
        """Closes the pipes; those that a successful task left in somebody's hands are read on, or writing kills it."""
        if self._exit is None or self._ending is not None:
            self._close_streams()
        for stream in self.streams:
            stream.resume()
        if not any(stream.open for stream in self.streams):
            self._over(self)

    def _ended(self) -> Record:
        code, signal = _meaning(self._exit[0]) if self._exit is not None else (None, None)
        usage = _usage(self._exit[1]) if self._exit is not None else (0.0, 0.0, 0)
        out = self.streams[0].sink.size if self.streams else 0
        err = self.streams[1].sink.size if len(self.streams) > 1 else 0
        left = self._left_behind()
        return code, signal, self._error, self._ended_by, self._started, self._duration_s, usage, out, err, left

    def _left_behind(self) -> int:
        """How many processes outlive it; looks closely only where something points to some."""
        if self._ending is not None:
            return self._ending.survivors
        held = any(stream.open for stream in self.streams)
        if self._exit is None or not (held or _group_exists(self.pid)):
            return 0
        seen = self._loop.processes()
        return max(len({*seen.group(self.pid), *seen.marked(self._markers())}), int(held))

    # -- a full disk

    def _hold_back(self, error: OSError) -> None:
        """Nothing is lost and nobody is told of an end that is not recorded: it is tried again until there is room."""
        self._retry_at = self._loop.now + RETRY_AFTER_S
        self._say_blocked(error)
        self._arm()

    def _say_blocked(self, error: OSError) -> None:
        """Once: the driver stops then, and hears no more of it."""
        if not self._said_blocked:
            self._said_blocked = True
            self._tell({"type": "blocked", "id": self.id, "error": error.strerror or str(error)})

    def _try_again(self) -> None:
        self._retry_at = NEVER
        if self._settling:
            self._settle()
        else:
            for stream in self.streams:
                stream.resume()

    def _close_streams(self) -> None:
        for stream in self.streams:
            stream.close()


def _meaning(status: int) -> tuple[int | None, str | None]:
    """A wait status as exit code or name of a signal."""
    code = os.waitstatus_to_exitcode(status)
    return (code, None) if code >= 0 else (None, signal_name(-code))


def signal_name(number: int) -> str:
    from signal import Signals

    try:
        return Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _usage(usage: struct_rusage) -> tuple[float, float, int]:
    return usage.ru_utime, usage.ru_stime, usage.ru_maxrss


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
