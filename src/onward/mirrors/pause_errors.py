"""What can go wrong with snapshots and pauses of the library `onward.pause`, as one tree of errors.

```
PauseError                   the family
├── BadWorkflowId            (also a ValueError) an id that cannot name a file
├── BadSignal                (also a ValueError) no signal, or one with fields that make no sense
├── NotPaused                a resume of what is not paused
├── WorkflowPaused           an activity would begin while its workflow is paused
└── SnapshotError            a snapshot cannot be read or written
    ├── SnapshotNotFound     there is none
    └── SnapshotSealed       a key or a library is needed to read or write it
```
"""

from __future__ import annotations

from onward.errors import OnwardError


class PauseError(OnwardError):
    """Pausing, resuming or keeping a snapshot did not work."""

    code = "pause"


class BadWorkflowId(PauseError, ValueError):
    """An id that cannot name a file."""

    code = "workflow-id"


class BadSignal(PauseError, ValueError):
    """No signal, or one with fields that make no sense."""

    code = "signal"


class NotPaused(PauseError):
    """A resume of what is not paused."""

    code = "not-paused"


class WorkflowPaused(PauseError):
    """An activity would begin while its workflow is paused."""

    code = "paused"


class SnapshotError(PauseError):
    """A snapshot cannot be read or written."""

    code = "snapshot"


class SnapshotNotFound(SnapshotError):
    """There is no such snapshot."""

    code = "no-such-snapshot"


class SnapshotSealed(SnapshotError):
    """A key or a library is needed to read or write it."""

    code = "snapshot-sealed"
