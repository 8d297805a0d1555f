"""The tree of errors: what happened, where, what to do next.

```
OnwardError                 exit 2   the family; `code` is a stable slug, `help` says what to do next
├── Problems                exit 2   everything that is wrong with a workflow file, each with its place
├── UsageError              exit 2   the command or its arguments do not fit
│   └── RunNotFound         exit 2   no run of that name in the store
├── RunBusy                 exit 2   another driver lives
├── StateError              exit 4   onward cannot read or write its own files
│   ├── StoreError          exit 4   a folder or file of the store (with the system's reason)
│   └── JournalError        exit 4   the journal of a run
├── TaskError               exit 1   one task cannot be started or its result cannot be used
│   └── ValueMissing        exit 1   a reference has no value
└── WorkflowCheckpointError exit 2   a state file (requirement 1) cannot be used
```
"""

from __future__ import annotations

from typing import NamedTuple


class OnwardError(Exception):
    """Something that the person who runs `onward` can act upon."""

    code = "error"
    exit_code = 2

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return self.message if self.help is None else f"{self.message}\nhelp: {self.help}"


class Place(NamedTuple):
    """A place in a file; `line` and `column` count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(NamedTuple):
    """One mistake in a workflow file (`format.md` section 7 has the form in which it is shown).

    `trail` names the nodes around it, outermost first; `source` is the line of the file.
    """

    code: str
    message: str
    place: Place
    help: str | None = None
    trail: tuple[str, ...] = ()
    source: str | None = None
    warning: bool = False

    def __str__(self) -> str:
        word = "warning" if self.warning else "error"
        lines = [f"{self.place}: {word}[{self.code}]: {self.message}"]
        if self.source is not None:
            lines.append(f"{self.place.line:5} | {self.source}")
            lines.append(" " * 8 + " " * (self.place.column - 1) + "^")
        if self.trail:
            lines.append(f"    in task {' > '.join(self.trail)}")
        if self.help:
            lines.append(f"    help: {self.help}")
        return "\n".join(lines)


class Problems(OnwardError):
    """The workflow file cannot be used; every mistake that was found is listed."""

    code = "bad-workflow"

    def __init__(self, problems: list[Problem]) -> None:
        self.document: object = None
        """what could be read all the same (`onward.spec.document.Document`), for whoever looks for more mistakes"""
        self.problems = sorted(problems, key=lambda p: (p.place.file, p.place.line, p.place.column))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(OnwardError):
    """The command or its arguments do not fit."""

    code = "usage"


class RunNotFound(UsageError):
    """No run of that name is in the store."""

    code = "no-such-run"


class RunBusy(OnwardError):
    """Another driver lives; the message says who, since when, and how to take over."""

    code = "run-busy"


class StateError(OnwardError):
    """`onward` cannot read or write its own files; nothing new is started."""

    code = "state"
    exit_code = 4


class StoreError(StateError):
    """A folder or file of the store cannot be used."""

    code = "store"


class JournalError(StateError):
    """The journal of a run cannot be read or written."""

    code = "journal"


class TaskError(OnwardError):
    """A task cannot be started, or what it made cannot be used. The run goes on by its own rules."""

    code = "task"
    exit_code = 1


class ValueMissing(TaskError):
    """A reference has no value and no `default`."""

    code = "value-missing"


class WorkflowCheckpointError(OnwardError):
    """The state file of `checkpoint:` cannot be read, or does not have the fields of version 1.0."""

    code = "checkpoint"


class Collector:
    """Gathers problems, so that all mistakes of a file are reported together."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, problem: Problem) -> None:
        self.problems.append(problem)

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if not problem.warning]

    @property
    def warnings(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.warning]

    def raise_if_any(self) -> None:
        """Raise `Problems` when at least one error (not warning) was found."""
        if self.errors:
            raise Problems(self.errors)
