"""A driver's requests → tasks that outlive it: the process between driver and tasks.

One small single-threaded process per driver, started as `python -I -S keeper.py 3`, whose descriptor 3 is a socket to
the driver. It starts programs, takes their output, keeps their time limits and records their ends, with or without a
driver. When the driver has gone it goes on until its last task has ended, and then ends too.

From the driver, each a `wire` message with its descriptors:

    start    id, folder, argv, env, cwd, stdin, timeout_s, idle_s, kill_after_s, marker, masks + the lock of the folder
    worker   the same                                                                          + its lock, its socket
    stop     id, reason, kill_after_s

Where secrets were released to a program, `masks` are their forms: they come this way only, and are kept in memory.

To the driver:

    started       id, pid              only of what runs for a moment
    blocked       id, error            its output or its end cannot be written; it is tried again until it can
    exited        id, record
    worker_ended  id, record, call     the record of the call that was in flight, if any
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import _socket

from onward.tasks import wire
from onward.tasks.keeper_loop import READABLE, WRITABLE, Loop
from onward.tasks.keeper_task import NO_LOCK, Task
from onward.tasks.keeper_worker import Worker
from onward.tasks.spawn import allow_many_descriptors

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    from onward.tasks.wire import Message

DRIVER = 3

_SET_CHILD_SUBREAPER = 36
_LOWEST_FREE = 10


class Keeper:
    """`end` is the keeper's end of the socket to its driver."""

    def __init__(self, end: _socket.socket) -> None:
        self._loop = Loop()
        self._driver: _socket.socket | None = end
        self._unsent: list[Message] = []
        self._tasks: dict[str, Task] = {}
        self._listening_for = READABLE
        self._loop.watch(end.fileno(), self._hear, READABLE)

    def run(self) -> None:
        """Until the driver has gone and nothing is left to look after."""
        while self._driver is not None or self._tasks:
            self._loop.turn()

    # -- the driver

    def _hear(self, events: int) -> None:
        if self._driver is not None and events & WRITABLE:
            self._send_more()
        if self._driver is None or not events & ~WRITABLE:
            return
        try:
            received = wire.receive(self._driver, _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if received is None:
            self._lose_driver()
        else:
            self._obey(*received)

    def _obey(self, message: Message, descriptors: list[int]) -> None:
        match message["type"]:
            case "start":
                (lock,) = descriptors or [NO_LOCK]
                self._add(Task(self._loop, message, lock, self._tell, self._forget), message)
            case "worker":
                lock, driver = descriptors if len(descriptors) == 2 else (NO_LOCK, -1)
                self._add(Worker(self._loop, message, lock, driver, self._tell, self._forget), message)
            case "stop":
                task = self._tasks.get(message["id"])
                if task is not None:
                    task.end(message["reason"], message["kill_after_s"])

    def _add(self, task: Task, request: Message) -> None:
        self._tasks[task.id] = task
        try:
            if task.locked:
                task.start(request)
            else:
                task.fail("it cannot be started: no descriptor was left to receive its lock with")
        except Exception as error:
            task.fail(f"it cannot be started: {type(error).__name__}: {error}")
            raise

    def _forget(self, task: Task) -> None:
        self._tasks.pop(task.id, None)
        self._loop.after_events(self._reap_orphans)

    def _tell(self, message: Message) -> None:
        """Never waits: a driver that was stopped must not stop the keeper."""
        if self._driver is None:
            return
        self._unsent.append(message)
        if len(self._unsent) == 1:
            self._send_more()

    def _send_more(self) -> None:
        assert self._driver is not None
        try:
            while self._unsent:
                wire.send(self._driver, self._unsent[0], flags=_socket.MSG_DONTWAIT)
                del self._unsent[0]
            self._listen_for(READABLE)
        except BlockingIOError:
            self._listen_for(READABLE | WRITABLE)
        except OSError:
            self._lose_driver()

    def _listen_for(self, events: int) -> None:
        if self._driver is not None and events != self._listening_for:
            self._loop.unwatch(self._driver.fileno())
            self._loop.watch(self._driver.fileno(), self._hear, events)
            self._listening_for = events

    def _lose_driver(self) -> None:
        if self._driver is not None:
            self._loop.release(self._driver.detach())
            self._driver = None
            self._unsent.clear()

    def _reap_orphans(self) -> None:
        """Children of tasks become ours when their parent ends: in a container without an init nobody buries them."""
        try:
            while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if any(task.pid == found.si_pid and task.running for task in self._tasks.values()):
                    return  # a task's end is that task's to see
                os.waitpid(found.si_pid, os.WNOHANG)
        except ChildProcessError:
            return


def main() -> None:
    """Serves the driver at descriptor 3. Signals are blocked by whoever starts us (`KeeperLink.launch`)."""
    os.chdir("/")
    _close_all_but(DRIVER)
    os.set_inheritable(DRIVER, False)
    _reserve_low_descriptors()
    allow_many_descriptors()
    _become_subreaper()
    Keeper(_socket.socket(fileno=DRIVER)).run()


def _close_all_but(kept: int) -> None:
    """What the driver inherited from its own caller must not be held open for as long as tasks run."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != kept:
            try:
                os.close(int(name))
            except OSError:  # the descriptor of the listing itself
                continue


def _reserve_low_descriptors() -> None:
    """Programs get their descriptors by number, from 0 up: what is copied there must not stand there already."""
    while os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) < _LOWEST_FREE - 1:
        continue


def _become_subreaper() -> None:
    """So that orphans of tasks stay below this process. A convenience: without it they go to process 1."""
    try:
        from ctypes import CDLL

        CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


if __name__ == "__main__":
    main()
