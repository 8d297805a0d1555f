"""A path or pattern with values in it -> a glob pattern in which a value never is one."""

from __future__ import annotations

import glob

from msgspec import Struct

from onward.model.values import Text
from onward.state.instance import Instance
from onward.tasks.resolve import Resolver


class Pattern(Struct, frozen=True):
    """`path` is the plain text, `text` the pattern; `magic`: whether the author wrote `*`, `?` or `[`."""

    path: str
    text: str
    magic: bool

    @classmethod
    def of(cls, resolver: Resolver, user: Instance, text: Text) -> Pattern:
        """Raises `TaskError` for a path that could lead out of `directory`."""
        path = resolver.path_text(user, text)
        if isinstance(text, str):
            return cls(path, path, glob.has_magic(path))
        parts = [part if isinstance(part, str) else glob.escape(resolver.inserted(user, part)) for part in text.parts]
        return cls(path, "".join(parts), any(isinstance(part, str) and glob.has_magic(part) for part in text.parts))
