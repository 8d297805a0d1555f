"""Descriptors and deadlines → calls of handlers, one at a time. Sleeps while nothing is due."""

from __future__ import annotations

import os
import select
import sys
from heapq import heapify, heappop, heappush

from onward.tasks.light_clock import monotonic
from onward.tasks.processes import Snapshot

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    from collections.abc import Callable

READABLE = select.EPOLLIN
WRITABLE = select.EPOLLOUT
HUNG_UP = select.EPOLLHUP

_SNAPSHOT_GOOD_FOR_S = 0.004  # many endings at once share one reading of /proc
_CANCELLED_AT_MOST = 256


class Timer:
    """A call that is due at a moment, and can be cancelled."""

    __slots__ = ("handler", "moment")

    def __init__(self, moment: float, handler: Callable[[], None]) -> None:
        self.moment = moment
        self.handler: Callable[[], None] | None = handler

    def __lt__(self, other: Timer) -> bool:
        return self.moment < other.moment


class Loop:
    """`now` is the monotonic time of the present turn."""

    __slots__ = ("_cancelled", "_epoll", "_handlers", "_later", "_seen", "_seen_at", "_timers", "_unused", "now")

    def __init__(self) -> None:
        self.now = monotonic()
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._timers: list[Timer] = []
        self._cancelled = 0
        self._later: list[Callable[[], None]] = []
        self._unused: list[int] = []
        self._seen = Snapshot({})
        self._seen_at = float("-inf")

    def watch(self, descriptor: int, handler: Callable[[int], None], events: int = READABLE) -> None:
        """Calls the handler with the events whenever there are any; hang-ups are always among them."""
        self._epoll.register(descriptor, events)
        self._handlers[descriptor] = handler

    def unwatch(self, descriptor: int) -> None:
        if self._handlers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    def release(self, descriptor: int) -> None:
        """Unwatches and closes; the number is not used again before the end of this turn, whose events name it."""
        self.unwatch(descriptor)
        self._unused.append(descriptor)

    def at(self, moment: float, handler: Callable[[], None]) -> Timer:
        timer = Timer(moment, handler)
        heappush(self._timers, timer)
        return timer

    def cancel(self, timer: Timer) -> None:
        """Lets go of the handler at once; ten thousand tasks with a time limit must not pile up behind it."""
        if timer.handler is not None:
            timer.handler = None
            self._cancelled += 1
        if self._cancelled > _CANCELLED_AT_MOST:
            self._timers = [timer for timer in self._timers if timer.handler is not None]
            heapify(self._timers)
            self._cancelled = 0

    def after_events(self, handler: Callable[[], None]) -> None:
        """Calls the handler when all descriptors of this turn have been seen to."""
        self._later.append(handler)

    def processes(self) -> Snapshot:
        """The process table, read a moment ago at most."""
        now = monotonic()
        if now - self._seen_at > _SNAPSHOT_GOOD_FOR_S:
            self._seen, self._seen_at = Snapshot.take(), now
        return self._seen

    def turn(self) -> None:
        """Waits for the next event or deadline and handles all that are due."""
        events = self._epoll.poll(self._patience())
        self.now = monotonic()
        for descriptor, what in events:
            handler = self._handlers.get(descriptor)
            if handler is not None:
                _call(handler, what)
        while self._later:
            _call(self._later.pop(0))
        self._call_what_is_due()
        while self._unused:
            os.close(self._unused.pop())

    def _call_what_is_due(self) -> None:
        while self._timers and self._timers[0].moment <= self.now:
            timer = heappop(self._timers)
            handler, timer.handler = timer.handler, None
            if handler is None:
                self._cancelled -= 1
            else:
                _call(handler)

    def _patience(self) -> float | None:
        """Seconds to the next timer; a cancelled one wakes us for nothing, once."""
        if not self._timers:
            return None
        return max(0.0, self._timers[0].moment - monotonic())


def _call(handler: Callable[..., None], *arguments: int) -> None:
    """One task's misfortune must not end the keeper of all others: it goes to the keeper's log."""
    try:
        handler(*arguments)
    except Exception:  # noqa: BLE001 - see above
        sys.excepthook(*sys.exc_info())
