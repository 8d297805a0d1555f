"""A run → what it has made so far: files that are there, hand-offs, results; for somebody who wants to look first."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from onward.recovery.hand_offs import hands_on, place_of, read_hand_off
from onward.state.run_state import RunState
from onward.store.folder import RunFolder


class Made(Struct, frozen=True, kw_only=True):
    """One thing: the absolute path, the node that made it, how large it is (None: it is gone)."""

    path: str
    by: str
    form: str
    """`file` of the work, or `summary` that a phase handed on"""
    bytes: int | None
    summary: str = ""


def made_so_far(folder: RunFolder, state: RunState, directory: Path) -> list[Made]:
    """Everything that finished nodes made, in the order in which they ended."""
    ended = sorted((one for one in state.instances.values() if one.ended), key=lambda one: one.ended_seq)
    found = []
    for instance in ended:
        found += [_made(os.fspath(directory / one.path), instance.path, "file") for one in instance.artifacts]
        if hands_on(instance):
            place, summary = place_of(folder, instance.path), read_hand_off(folder, instance.path).get("summary", "")
            found.append(_made(os.fspath(place), instance.path, "summary", str(summary)))
    return list({one.path: one for one in found}.values())


def _made(path: str, by: str, form: str, summary: str = "") -> Made:
    try:
        size: int | None = os.stat(path).st_size
    except OSError:
        size = None
    return Made(path=path, by=by, form=form, bytes=size, summary=summary)
