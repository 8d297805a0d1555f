"""A message with descriptors ↔ one packet of a socket pair: how driver, keeper and workers talk.

Messages are marshalled: every end runs the same interpreter, nothing need be imported, and it costs a third of JSON.
A message too large for a packet travels in an anonymous file, whose descriptor is then the packet's last.
"""

from __future__ import annotations

import _socket
import array
import marshal
import os
import struct

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Message = dict[str, Any]  # between driver and keeper; a call and its reply are tuples

INLINE_BYTES = 60_000
MOST_DESCRIPTORS = 8

_IN_A_FILE = b"@"  # no marshalled mapping begins with it
_ANCILLARY_BYTES = _socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)


def pair() -> tuple[_socket.socket, _socket.socket]:
    """Two connected ends that keep packets apart; neither is inherited by a program."""
    return _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)


def limit_sending(end: _socket.socket, seconds: int) -> None:
    """Makes `send` raise `BlockingIOError` when the other end takes nothing for so long."""
    end.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, struct.pack("ll", seconds, 0))


def send(end: _socket.socket, message: Any, descriptors: Sequence[int] = (), flags: int = 0) -> None:
    """Sends copies of the descriptors along; the caller's stay open. Raises `OSError`."""
    body = marshal.dumps(message)
    if len(body) <= INLINE_BYTES:
        _send(end, body, descriptors, flags)
        return
    file = _anonymous_file(body)
    try:
        _send(end, _IN_A_FILE, (*descriptors, file), flags)
    finally:
        os.close(file)


def receive(end: _socket.socket, flags: int = 0) -> tuple[Any, list[int]] | None:
    """The next message and its descriptors, which no program inherits; `None` when the other end is gone.

    Raises `BlockingIOError` when nothing is there and `flags` has `MSG_DONTWAIT`.
    """
    try:
        body, ancillary, _, _ = end.recvmsg(
            INLINE_BYTES + 1024, _ANCILLARY_BYTES, flags | _socket.MSG_CMSG_CLOEXEC
        )
    except ConnectionResetError:
        return None
    if not body:
        return None
    descriptors = _descriptors(ancillary)
    if body == _IN_A_FILE:
        if not descriptors:
            raise OSError(24, "no descriptor is left to receive a large message with")
        body = _read_and_close(descriptors.pop())
    return marshal.loads(body), descriptors


def into_a_file(message: Any) -> int:
    """An anonymous file with the message, for a program that takes this one's place."""
    return _anonymous_file(marshal.dumps(message))


def out_of_a_file(file: int) -> Any:
    """What `into_a_file` put there; closes the file."""
    return marshal.loads(_read_and_close(file))


def _send(end: _socket.socket, body: bytes, descriptors: Sequence[int], flags: int) -> None:
    if descriptors:
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", descriptors))
        end.sendmsg([body], [rights], flags | _socket.MSG_NOSIGNAL)
    else:
        end.send(body, flags | _socket.MSG_NOSIGNAL)


def _descriptors(ancillary: Sequence[tuple[int, int, bytes]]) -> list[int]:
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return found.tolist()


def _anonymous_file(body: bytes) -> int:
    file = os.memfd_create("message", os.MFD_CLOEXEC)
    rest = memoryview(body)
    while rest:
        rest = rest[os.write(file, rest) :]
    return file


def _read_and_close(file: int) -> bytes:
    size = os.fstat(file).st_size
    parts: list[bytes] = []
    while (have := sum(map(len, parts))) < size:
        parts.append(os.pread(file, size - have, have))
    os.close(file)
    return b"".join(parts)
