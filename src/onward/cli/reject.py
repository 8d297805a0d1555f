"""`onward reject`: see `onward.cli.approve`."""

from __future__ import annotations

from onward.cli.approve import reject as command

__all__ = ["command"]
