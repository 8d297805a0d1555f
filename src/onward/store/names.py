"""Names of files and folders for paths of nodes and of definition files, which may hold anything.

Different paths never share a folder: what is not plain gets a hash of the whole part, behind a `~` that no plain
name has. A plain name of digits only gets one, too, so that an attempt's folder is never that of a child.
"""

from __future__ import annotations

import re
from hashlib import sha256

_PLAIN = re.compile(r"(?!\d+$)(?!\.{1,2}$)[A-Za-z0-9._-]{1,60}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_PART = re.compile(r"(?:\[[^\]]*\]|[^/\[]|\[)+")
_STEM_CHARACTERS = 40
_HASH_DIGITS = 16


def folder_of(path: str) -> str:
    """The relative folder for a node's path: `per-test[a/b]/write` -> `per-test-a-b~1f0e…/write`."""
    return "/".join(_name_of(part) for part in parts_of(path)) or "~"


def parts_of(path: str) -> list[str]:
    """The parts of a path; a `/` inside the brackets of an iteration's key divides nothing."""
    return _PART.findall(path)


def file_of(name: str) -> str:
    """The relative file for a definition file, which may lie outside the workflow's folder (`../shared/x.yaml`)."""
    parts = name.split("/")
    if all(part not in ("", ".", "..") for part in parts):
        return name
    return f"~outside/{_hashed(name)}"


def _name_of(part: str) -> str:
    return part if _PLAIN.fullmatch(part) else _hashed(part)


def _hashed(part: str) -> str:
    stem = _UNSAFE.sub("-", part).strip("-.")[:_STEM_CHARACTERS]
    digest = sha256(part.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem}~{digest[:_HASH_DIGITS]}"
