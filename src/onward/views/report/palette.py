"""The colours of the drawing of a graph → rules that give it those of a dark page: its own are for white paper."""

from __future__ import annotations

from onward.model.status import RunStatus, Status
from onward.views.graph_text import COLOURS, PLAIN

_DARK: dict[str, tuple[str, str]] = {
    Status.PENDING: ("#1c2129", "#6b7683"),
    Status.RUNNING: ("#122d4a", "#58a6ff"),
    Status.WAITING: ("#2d1f4a", "#b487f8"),
    Status.SUCCEEDED: ("#12331f", "#3fb950"),
    Status.FAILED: ("#451a1d", "#f47067"),
    Status.SKIPPED: ("#1c2129", "#6b7683"),
    Status.CANCELLED: ("#252b34", "#8b96a3"),
    RunStatus.INTERRUPTED: ("#3a2d0c", "#d4a72c"),
}
_DARK_PLAIN = ("#161b22", "#8b96a3")
_PAPER, _INK, _FRAME = "#ffffff", "#1f2328", "#afb8c1"


def graph_colours() -> str:
    """Rules for the page's style."""
    pairs = {(PLAIN, _DARK_PLAIN)} | {(light, _DARK[status]) for status, light in COLOURS.items() if status in _DARK}
    fills = {light[0]: dark[0] for light, dark in pairs} | {_PAPER: "transparent", _INK: "#e6edf3"}
    lines = {light[1]: dark[1] for light, dark in pairs} | {_FRAME: "#4a535e"}
    rules = [f'.graph [fill="{light}"]{{fill:{dark}}}' for light, dark in sorted(fills.items())]
    rules += [f'.graph [stroke="{light}"]{{stroke:{dark}}}' for light, dark in sorted(lines.items())]
    rules.append(f'.graph path[fill="{PLAIN[1]}"]{{fill:{_DARK_PLAIN[1]}}}')
    return "@media screen and (prefers-color-scheme:dark){" + "".join(rules) + "}\n"
