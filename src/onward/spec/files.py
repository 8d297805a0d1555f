"""A path → the bytes of the file, or the reason in the words of a message."""

from __future__ import annotations

import difflib
import errno
import os
import stat
from typing import NoReturn

from onward.spec.excerpts import quoted
from onward.spec.forms import either
from onward.spec.read import LARGEST_FILE


class NoFile(Exception):
    """A file cannot be read, with the reason in the words of a message."""

    def __init__(self, code: str, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help


_REASONS = {
    errno.ENOENT: ("no-file", "there is no file {}"),
    errno.ENOTDIR: ("no-file", "there is no file {}: part of its path is not a folder"),
    errno.ENAMETOOLONG: ("no-file", "there is no file {}: the path is too long"),
    errno.ELOOP: ("no-file", "there is no file {}: its links lead in a circle"),
    errno.EACCES: ("unreadable", "the file {} may not be read by this user"),
    errno.EPERM: ("unreadable", "the file {} may not be read by this user"),
}


def content_of(path: str, shown: str) -> bytes:
    """The bytes of a file, at most one more than is allowed."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise NoFile("is-directory", f"{quoted(shown, longest=200)} is a folder, not a file")
        if not stat.S_ISREG(mode):
            message = f"{quoted(shown, longest=200)} is not a regular file"
            raise NoFile("unreadable", message, "a resume reads the file again, so it must stay: save it as a file")
        with open(path, "rb") as file:
            return file.read(LARGEST_FILE + 1)
    except OSError as error:
        _no_file(path, shown, error)
    except ValueError:
        raise NoFile("no-file", "a path cannot hold U+0000") from None


def _no_file(path: str, shown: str, error: OSError) -> NoReturn:
    code, message = _REASONS.get(error.errno or 0, ("unreadable", "the file {} cannot be read: " + str(error.strerror)))
    help = _neighbours(path) if error.errno == errno.ENOENT else None
    raise NoFile(code, message.format(quoted(shown, longest=200)), help) from None


def _neighbours(path: str) -> str | None:
    """Names in the same folder that look alike."""
    try:
        names = os.listdir(os.path.dirname(path) or ".")
    except OSError:
        return "the folder does not exist either"
    near = difflib.get_close_matches(os.path.basename(path), names, n=2)
    return f"did you mean {either([quoted(name) for name in near])}?" if near else None
