"""What is known of an agent program, as data: how it is called, how it is heard, how its sessions go on."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from onward import clock
from onward.model.nodes import Adapter

MODEL = "{+model}"
PERMISSION = "{+permission}"
"""elements of a row's argv that stand for none or several others"""
OWN = "own"
"""the permission mode that passes nothing: the settings of the program itself hold"""


class SessionId(StrEnum):
    """Who names a session, and when the name is known."""

    CHOSEN = "chosen"
    """we do, before the program starts"""
    NAMED = "named"
    """we do, and its output never repeats the name"""
    STREAM = "stream"
    """the program does, in its first event"""
    NONE = "none"
    """it has none"""


class UsageOf(StrEnum):
    """What the counters in the output are about."""

    RUN = "run"
    """this process"""
    SESSION = "session"
    """the whole session, so that a continued one repeats what was counted before"""


class Permission(Struct, frozen=True, kw_only=True):
    """How a program is told what it may do without asking."""

    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class Agent(Struct, frozen=True, kw_only=True):
    """One row of the table, or an adapter of a workflow file.

    `program` comes before `start` and `resume`. `dialect` names a reader of `dialects`; `places` (of an adapter that a
    file describes by itself) says where things stand instead. `permission` is the mode of a prompt that names none.
    `known` are the beginnings of versions that this row was tried with; `seen` says how its facts are known: `run`
    (the program itself), `help`, `source` or `docs`.
    """

    name: str
    dialect: str
    program: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    fork: tuple[str, ...] = ()
    prompt: str = "stdin"
    model: tuple[str, ...] = ()
    permissions: dict[str, Permission] = {}
    permission: str = OWN
    session: SessionId = SessionId.NONE
    any_directory: bool = False
    usage_of: UsageOf = UsageOf.RUN
    env: dict[str, str] = {}
    own_tmp: bool = False
    version: tuple[str, ...] = ("--version",)
    known: tuple[str, ...] = ()
    seen: str = "docs"
    failures: tuple[str, ...] = ()
    """texts that mean a failure although the program ends with 0"""
    limited_exits: tuple[int, ...] = ()
    """exit codes that mean a rate limit"""
    places: Adapter | None = None

    def new_session(self) -> str | None:
        """A name for a session that is to begin, where we may choose it."""
        if self.session in (SessionId.CHOSEN, SessionId.NAMED):
            import uuid

            return str(uuid.UUID(hex=clock.token_hex(32), version=4))
        return None

    def knows(self, version: str) -> bool:
        """Whether this row was tried with that version."""
        return any(version == known or version.startswith(f"{known}.") for known in self.known)
