"""A `call` → its result: a warm process that imports the user's modules once and calls their functions one by one.

Started by the keeper as `python -P worker.py <own folder> <workflow folder> -`, with descriptor 3 to the driver, 4 to
the keeper, 5 a `call_slot`. What a call may rely on: its own environment and working folder, its output in its own
files however it was printed, nothing running that an earlier call left behind, and modules of the workflow's folder as
they are now. What it shares with earlier calls: imported modules and what they hold.

The end of a call is one line of `calls.jsonl` in the worker's folder, for a driver that comes later: a folder and a
file for each call would cost more than all the rest. The worker's lock, held by the keeper, says whether a call that
has no line there may still be in flight.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import _socket
import json
import signal
from traceback import print_exception  # now: the workflow's folder, which comes first later, may have one of its own

from onward.tasks import call_ground, exit_record, wire
from onward.tasks.call_ground import Code, Environment, Output, Usage
from onward.tasks.call_slot import NEVER, Slot
from onward.tasks.light_clock import monotonic, wall
from onward.tasks.processes import Snapshot
from onward.tasks.worker_talk import ANSWER, LOOK_AT_DEADLINE, SWEEP, TAKE_OUTPUT

TYPE_CHECKING = False  # importing `typing` would lengthen the start of a worker
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from onward.tasks.masking import Forms

    # id, folder, target, arguments, env, unset, cwd, timeout_s, kill_after_s, masks: a tuple, as there are many of them
    Request = tuple[
        str, str, str, dict[str, Any], dict[str, str], Sequence[str], str, float | None, float, Forms | None
    ]

DRIVER, KEEPER, SLOT = 3, 4, 5
INLINE_RESULT_CHARACTERS = 16 * 1024
MOST_ERROR_CHARACTERS = 2_000
LEAVE_WITHIN_S = 5

_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36


class Worker:
    """Serves calls until the driver has gone, or until a call leaves it unfit for another."""

    def __init__(self, folder: str, path: str) -> None:
        self._pid = os.getpid()
        self._driver = _socket.socket(fileno=DRIVER)
        self._keeper = Keeper()
        self._log = exit_record.CallLog(folder)
        self._environment = Environment()
        self._code = Code(path)
        self._output = Output()
        self._usage = Usage()

    def serve(self, request: Request | None) -> None:
        """`request`: one that came before this process began anew."""
        fit = True
        while fit:
            request = request or self._next_request()
            if request is None:
                return
            fit = self._serve(request)
            request = None
        self._driver.shutdown(_socket.SHUT_RDWR)  # what the call left behind may hold copies of it

    def _next_request(self) -> Request | None:
        received = wire.receive(self._driver)
        if received is None:
            return None
        request: Request = received[0]
        if self._code.changed():
            self._begin_anew(request)
        return request

    def _serve(self, request: Request) -> bool:
        """One call, from its publication to the reply; whether the worker can take another."""
        id, folder, target, arguments, env, unset, cwd, timeout_s, kill_after_s, masks = request
        started, began = wall(), monotonic()
        self._keeper.publish(id, folder, started, began, timeout_s, kill_after_s)
        outcome = self._call(target, arguments, env, unset, cwd)
        self._output.flush()
        if os.getpid() != self._pid:  # the function forked, and this is the child coming out of it
            os._exit(outcome.code)
        left = self._keeper.clean_up(outcome.code != 0)
        out, err = self._keeper.take_output(self._output)
        if masks is not None:
            _mask(outcome, masks, env.get("ONWARD_OUT"))
        outcome.shorten()
        result, result_file = self._keep(folder, outcome)
        usage = self._usage.since_the_last()
        duration_s = monotonic() - began
        record = outcome.code, None, outcome.error, None, started, duration_s, usage, out, err, left
        # Told first, so that the driver writes its journal at the same time. Should both die before the record is
        # there, the call was interrupted: nobody has said that it ended.
        self._keeper.clear()
        self._reply((id, record, result, result_file, left > 0))
        self._record(exit_record.call_as_json(id, record, result, result_file))
        self._output.restore()
        return left == 0

    def _call(
        self, target: str, arguments: dict[str, Any], env: dict[str, str], unset: Sequence[str], cwd: str
    ) -> Outcome:
        try:
            self._environment.become(env, unset)
            os.chdir(cwd)
            function = self._code.find(target)
            return Outcome(result=as_json(function(**arguments)))
        except SystemExit as error:
            return _as_exit(error)
        except BaseException as error:  # noqa: BLE001 - whatever a call raises is that call's failure
            return _failure(error)

    def _keep(self, folder: str, outcome: Outcome) -> tuple[str | None, bool]:
        """The result, if it is small; else it is put into a file of the attempt."""
        result = outcome.result
        if result is None or len(result) <= INLINE_RESULT_CHARACTERS:
            return result, False
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
            exit_record.write(folder, exit_record.RESULT_FILE, result)
            return None, True
        except OSError as error:
            outcome.code, outcome.error = 1, f"its result cannot be written: {error.strerror}"
            return None, False

    def _record(self, line: str) -> None:
        try:
            self._log.append(line)
        except OSError as error:
            # A driver that lives has been told; the next one finds the call interrupted.
            print(f"the end of a call is not recorded: {error.strerror}", file=sys.stderr)  # noqa: T201

    def _reply(self, message: tuple[object, ...]) -> None:
        try:
            wire.send(self._driver, message)
        except (BrokenPipeError, ConnectionResetError):
            return  # the driver has gone: the next one finds the record

    def _begin_anew(self, request: Request) -> NoReturn:
        """Replaces this process by a fresh one that serves the request: code it has imported was edited since."""
        file = wire.into_a_file(request)
        for descriptor in (DRIVER, KEEPER, SLOT, file):
            os.set_inheritable(descriptor, True)
        os.execve(sys.executable, [*sys.orig_argv[:-1], str(file)], self._environment.at_the_start())


class Outcome:
    """What a function did: its result as JSON, or its error."""

    __slots__ = ("code", "error", "result")

    def __init__(self, code: int = 0, error: str | None = None, result: str | None = None) -> None:
        self.code = code
        self.error = error
        self.result = result

    def shorten(self) -> None:
        """After it was masked: half a secret is none that is known."""
        if self.error is not None:
            self.error = self.error[:MOST_ERROR_CHARACTERS]


class Keeper:
    """The keeper as the worker knows it: a page it reads by itself, and a socket for what cannot wait."""

    def __init__(self) -> None:
        self._socket = _socket.socket(fileno=KEEPER)
        self._pid = os.getppid()
        self._slot = Slot(SLOT)
        self._number = self._slot.last_number
        self._takings = 0

    def publish(
        self, id: str, folder: str, started: float, began: float, timeout_s: float | None, kill_after_s: float
    ) -> None:
        self._number += 1
        self._takings = self._slot.takings
        deadline = NEVER if timeout_s is None else began + timeout_s
        self._slot.publish(self._number, id, folder, deadline, started, began, kill_after_s)
        if timeout_s is not None and deadline < self._slot.next_look:
            self._socket.send(LOOK_AT_DEADLINE)

    def clear(self) -> None:
        self._slot.clear()

    def clean_up(self, failed: bool) -> int:
        """What the call started and did not end is ended if it failed, left alone if not; how many are left."""
        if not _has_children():
            return 0
        seen = Snapshot.take()
        left = len(seen.descendants([os.getpid()]))
        return self._ask(SWEEP)[2] if failed and left else left

    def take_output(self, output: Output) -> tuple[int, int]:
        """When all the call has printed is in its files: how much that is, of each stream."""
        if self._slot.takings == self._takings and not output.waits():
            return 0, 0
        out, err, _ = self._ask(TAKE_OUTPUT)
        return out, err

    def _ask(self, what: bytes) -> tuple[int, int, int]:
        self._socket.send(what)
        answer = self._socket.recv(ANSWER.size)
        if len(answer) != ANSWER.size:  # the keeper has died: nobody records this call any more
            os._exit(1)
        out, err, survivors = ANSWER.unpack(answer)
        return out, err, survivors


def as_json(value: object) -> str:
    """Raises `TypeError` with the type that JSON does not have."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the return value is not JSON: {error}") from None


def _refuse(value: object) -> NoReturn:
    kind = type(value)
    raise TypeError(f"it holds a {kind.__module__}.{kind.__qualname__}".replace(" builtins.", " "))


_ENCODER = json.JSONEncoder(allow_nan=False, default=_refuse)


def _as_exit(error: SystemExit) -> Outcome:
    """What the interpreter makes of `sys.exit(…)`."""
    if error.code is None or error.code == 0:
        return Outcome(result="null")
    if isinstance(error.code, int):
        code = error.code & 0xFF
        return Outcome(code=code, error=f"sys.exit({error.code})") if code else Outcome(result="null")
    print(error.code, file=sys.stderr)  # noqa: T201 - this is what sys.exit(text) does
    return Outcome(code=1, error=str(error.code))


def _failure(error: BaseException) -> Outcome:
    _show(error)
    return Outcome(code=1, error=_in_words(error))


def _in_words(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot even say what it is
        return name
    return f"{name}: {text}" if text else name


def _mask(outcome: Outcome, masks: Forms, out: str | None) -> None:
    """Takes the secrets out of what a call returns or raises, and out of the files that it was asked for."""
    from onward.tasks.masked_output import mask_files
    from onward.tasks.masking import finder_of, masked_json, masked_text

    finder = finder_of(masks)

    def mask(text: str) -> str:
        return masked_text(finder, text)

    if outcome.error is not None:
        outcome.error = mask(outcome.error)
    if outcome.result is not None and mask(outcome.result) is not outcome.result:
        result = as_json(masked_json(json.loads(outcome.result), mask))
        outcome.result = result if mask(result) is result else '"***"'
    if out is not None:
        try:
            mask_files(out, finder, spare=())
        except OSError as error:
            outcome.code, outcome.error = 1, f"its files cannot be masked: {error.strerror}"


def _show(error: BaseException) -> None:
    """The traceback, from the user's code on, where the call's other errors go."""
    ours = (__file__, *call_ground.FILES)
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in ours:
        trace = trace.tb_next
    try:
        print_exception(type(error), error, trace)
    except (OSError, ValueError):  # the call closed its standard error
        return


def _has_children() -> bool:
    """Also grandchildren whose parents are gone: they become ours (`_settle_in`)."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _settle_in() -> None:
    """Orphans of calls become children of this process, which itself never outlives its keeper."""
    for descriptor in (DRIVER, KEEPER, SLOT):
        os.set_inheritable(descriptor, False)
    try:
        from ctypes import CDLL

        control = CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return
    control(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    control(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def main() -> None:
    folder, path, request = sys.argv[1:]
    del sys.path[0]
    sys.argv[1:] = []
    # Python takes a module for unchanged if it has the same size and second; an agent edits faster than that.
    sys.dont_write_bytecode = True
    _settle_in()
    Worker(folder, path).serve(None if request == "-" else wire.out_of_a_file(int(request)))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LEAVE_WITHIN_S)  # threads and exit handlers of calls get that long


if __name__ == "__main__":
    main()
