"""A lock on a folder for threads and processes alike: who changes a file there reads and writes it in one piece."""

from __future__ import annotations

import fcntl
import os
import threading
from types import TracebackType
from typing import Self

from onward import files
from onward.errors import StoreError
from onward.mirrors.pause_errors import PauseError

NAME = ".lock"


class FolderLock:
    """Held by one thread of one process at a time; the same thread may take it again."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._threads = threading.RLock()
        self._depth = 0
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._threads.acquire()
        try:
            if self._depth == 0:
                self._descriptor = self._take()
            self._depth += 1
        except BaseException:
            self._threads.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            os.close(self._descriptor)  # which lets go of the lock
        self._threads.release()

    def _take(self) -> int:
        path = os.path.join(self._folder, NAME)
        try:
            files.make_folder(self._folder)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, files.FILE_MODE)
        except StoreError as error:
            raise PauseError(error.message, help=error.help) from error
        except OSError as error:
            raise PauseError(f"cannot open the lock {path}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            os.close(descriptor)
            raise PauseError(f"cannot lock {path}: {error.strerror}", help="use a file system with locks") from error
        return descriptor
