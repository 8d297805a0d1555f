"""Process 1 of a container → a small init in front of the command: it hands on signals and takes in dead orphans.

The kernel gives process 1 two duties that no other program has. Orphans become its children, and stay as zombies unless
it waits for them; and a signal that it does not handle does not end it. So as process 1 the command runs in a child,
and this process does nothing else but those two. When the command ends, so does the container, with its exit code.
"""

from __future__ import annotations

import os
import signal

_HANDED_ON = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)
_HEARD = {*_HANDED_ON, signal.SIGCHLD, signal.SIGTTOU}


def be_first_process() -> None:
    """Returns in a child, where the command goes on. In process 1 it never returns."""
    # Blocked before there is a child: a signal that comes in between waits, instead of being lost.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    child = os.fork()
    if not child:
        _stand_alone()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    os._exit(_look_after(child))


def _stand_alone() -> None:
    """A group of its own, in front of the terminal if there is one: Ctrl-C then comes once, from there."""
    os.setpgid(0, 0)
    try:
        os.tcsetpgrp(0, os.getpid())
    except OSError:
        return  # no terminal


def _look_after(child: int) -> int:
    """Until the command has ended; returns its exit code (128 + number of the signal that killed it)."""
    while True:
        heard = signal.sigwaitinfo(_HEARD)
        if heard.si_signo == signal.SIGCHLD:
            status = _take_in_the_dead(child)
            if status is not None:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
        elif heard.si_signo in _HANDED_ON:
            os.kill(child, heard.si_signo)  # it is not reaped yet, so the number is still its own


def _take_in_the_dead(child: int) -> int | None:
    """Everyone who has died; the status of the command if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if not pid:
            return found
        if pid == child:
            found = status
