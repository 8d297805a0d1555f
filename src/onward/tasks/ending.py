"""A process tree that must end → TERM, time to comply, KILL, and a sweep for what got away.

First the process group, which holds most: one TERM for all of it (a trap must not run twice), KILL when the time is
over. Then the *strays*: descendants seen before they lost their parent, and every process that carries the attempt's
marker (agents put their shell tools into sessions of their own, where no group signal reaches). They get a TERM and a
time of their own, then KILL until none is left.

`Ending` is stepped by whoever ends something: the keeper between other work, a driver in a loop of its own.
"""

from __future__ import annotations

import os
import time

from onward.tasks.light_clock import monotonic
from onward.tasks.processes import Process, Snapshot, send

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    from collections.abc import Collection

STRAY_GRACE_S = 2.0
GIVE_UP_AFTER_S = 10.0  # a process that KILL does not end hangs in the kernel; nobody can help it

_FIRST_LOOK_S = 0.005
_LAST_LOOK_S = 0.05


class Ending:
    """One tree on its way out.

    `root` is whose descendants belong to it (and, being none of them, is itself only ended as a member of `group`);
    `group` is `None` where a group holds others too, and then there are only strays.
    """

    __slots__ = (
        "_deadline", "_group", "_kill_after_s", "_kill_at", "_known", "_markers", "_pause_s", "_root", "_spare",
        "_warned", "survivors",
    )  # fmt: skip

    def __init__(
        self,
        *,
        root: int | None,
        group: int | None,
        markers: Collection[bytes],
        kill_after_s: float,
        now: float,
        spare: Collection[int] = (),
    ) -> None:
        self.survivors = 0
        self._root = root
        self._group = group
        self._markers = markers
        self._spare = {os.getpid(), *spare}
        self._kill_after_s = kill_after_s
        self._kill_at = now + kill_after_s
        self._deadline = self._kill_at + GIVE_UP_AFTER_S
        self._pause_s = _FIRST_LOOK_S
        self._known: dict[int, Process] = {}
        self._warned: set[Process] = set()

    def step(self, now: float, seen: Snapshot) -> float | None:
        """Does what is due; when to step again, or `None` when nothing is left (but for `survivors`)."""
        self._learn(seen)
        if self._group is not None:
            members = seen.group(self._group)
            if members and now < self._deadline:
                self._press_group(members, now)
                return self._next_look(now)
            self._turn_to_strays(now)
        strays = self._strays(seen)
        if strays and now < self._deadline:
            for stray in strays:
                self._press(stray, now)
            return self._next_look(now)
        self.survivors = len(strays)
        return None

    def hasten(self, kill_at: float) -> None:
        """Leaves less time until KILL; never more."""
        if kill_at < self._kill_at:
            self._deadline -= self._kill_at - kill_at
            self._kill_at = kill_at

    def _learn(self, seen: Snapshot) -> None:
        """Remembers who belongs to the tree: a child whose parent ends is nobody's descendant any more."""
        roots = [process.pid for process in seen.now(self._known.values())]
        if self._root is not None:
            roots.append(self._root)
        members = seen.group(self._group) if self._group is not None else []
        roots += [process.pid for process in members]
        for process in (*members, *seen.descendants(roots)):
            self._known[process.pid] = process

    def _press_group(self, members: list[Process], now: float) -> None:
        assert self._group is not None
        if now >= self._kill_at:
            _signal_group(self._group, "SIGKILL")
        elif not self._warned:
            _signal_group(self._group, "SIGTERM", "SIGCONT")
        self._warned.update(members)

    def _turn_to_strays(self, now: float) -> None:
        self._group = None
        self._kill_at = now + min(self._kill_after_s, STRAY_GRACE_S)
        self._deadline = self._kill_at + GIVE_UP_AFTER_S
        self._pause_s = _FIRST_LOOK_S

    def _strays(self, seen: Snapshot) -> list[Process]:
        found = {*seen.now(self._known.values()), *seen.marked(self._markers)}
        return [process for process in found if process.pid not in self._spare]

    def _press(self, stray: Process, now: float) -> None:
        from signal import SIGCONT, SIGKILL, SIGTERM

        if now >= self._kill_at:
            send(stray, SIGKILL)
        elif stray not in self._warned:
            self._warned.add(stray)
            send(stray, SIGTERM, SIGCONT)

    def _next_look(self, now: float) -> float:
        """Soon at first, since most processes comply at once; never past the moment of a KILL."""
        at = now + self._pause_s
        self._pause_s = min(self._pause_s * 2, _LAST_LOOK_S)
        return min(at, self._kill_at) if now < self._kill_at else at


def end_process_tree(process: Process | None, markers: Collection[str], *, kill_after_s: float) -> int:
    """Ends an attempt whose keeper is not ours; blocks for some seconds at most. How many processes are left.

    The process, if it still is that process, is taken with its group and descendants; markers find the rest.
    """
    root = None if process is None or not Snapshot.take().now([process]) else process.pid
    ending = Ending(
        root=root,
        group=root,
        markers={marker.encode() for marker in markers},
        kill_after_s=kill_after_s,
        now=monotonic(),
    )
    while (due := ending.step(monotonic(), Snapshot.take())) is not None:
        time.sleep(max(0.0, due - monotonic()))
    return ending.survivors


def _signal_group(group: int, *names: str) -> None:
    import signal

    for name in names:
        try:
            os.killpg(group, getattr(signal, name))
        except (ProcessLookupError, PermissionError):
            return  # its last member is gone, or has become another user
