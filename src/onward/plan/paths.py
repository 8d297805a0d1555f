"""Paths that the work touches: a value may not lead out of `directory` (`format.md` 3.2)."""

from __future__ import annotations

from onward.model.values import Template, Text
from onward.plan.report import Where
from onward.plan.resolver import Resolver
from onward.plan.scope import View
from onward.spec.document import Scalar

_VALUE = "\x00"


def path(scalar: Scalar, view: View, resolver: Resolver) -> Text:
    """A path with its references; the parts around them are checked here, their values before the work begins."""
    text = resolver.text(scalar, view)
    if isinstance(text, Template):
        wrong = _leads_out(text)
        if wrong is not None:
            resolver.report.error(
                "outside-directory",
                f"the path `{scalar.text}` holds a value and {wrong}, so it could lead anywhere",
                Where(view.file.document, scalar, view.site),
                "a path with a value in it is relative and has no `..`; set `directory` for another folder",
            )
    return text


def _leads_out(template: Template) -> str | None:
    joined = "".join(part if isinstance(part, str) else _VALUE for part in template.parts)
    if joined.startswith(("/", "~")):
        return "begins at the root" if joined[0] == "/" else "begins with `~`"
    return "goes up with `..`" if ".." in joined.split("/") else None
