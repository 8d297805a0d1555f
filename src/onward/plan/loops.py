"""`loop` (`format.md` 3.5) -> `Loop`."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from onward.model.nodes import Glob, Loop
from onward.model.values import Ref, Template
from onward.plan.conditions import Conditions
from onward.plan.paths import path
from onward.plan.programs import Programs
from onward.plan.report import Where
from onward.plan.resolver import Resolver
from onward.plan.scope import View
from onward.plan.site import Shape, Site
from onward.spec.document import Mapping, Scalar, Sequence, Tree
from onward.spec.scalars import boolean, duration_s, free_value, whole


class Loops(Struct):
    """Reads loops, and notes on the site what is known of the items."""

    resolver: Resolver
    programs: Programs
    conditions: Conditions

    def loop(self, site: Site, tree: Mapping) -> Loop:
        """The loop of a node."""
        fields: dict[str, Any] = {}
        whole_loop = View(site, site.file, iteration=False)
        each = View(site, site.file)
        round_over = View(site, site.file, inside=True, own=True)
        for key in ("for-each", *(key for key in tree.entries if key != "for-each")):
            value = tree.get(key)
            match key, value:
                case _, None:
                    pass
                case "for-each", _:
                    fields |= self._source(site, value, whole_loop)
                case "until", _:
                    fields["until"] = self.conditions.all_of(value, round_over)
                case "while", _:
                    fields["while_"] = self.conditions.all_of(value, round_over)
                case "key", Scalar():
                    fields["key"] = self.resolver.text(value, each)
                case _, Scalar():
                    fields |= _number(key, value.text)
        return Loop(**fields)

    def _source(self, site: Site, value: Tree | None, view: View) -> dict[str, Any]:
        if isinstance(value, Mapping):
            site.item_shape = Shape.TEXT
            return self._header(value, view)
        assert value is not None
        if isinstance(value, Sequence):
            site.item_shape = _shape_of_items(value)
        elif isinstance(value, Scalar):
            self._check_is_list(site, value, view)
        return {"items": self.resolver.data(value, view)}

    def _header(self, value: Mapping, view: View) -> dict[str, Any]:
        pattern, folder, command = value.get("glob"), value.get("in"), value.get("command")
        if isinstance(pattern, Scalar):
            named = path(pattern, view, self.resolver)
            if isinstance(folder, Scalar):
                return {"glob": Glob(pattern=named, folder=path(folder, view, self.resolver))}
            return {"glob": Glob(pattern=named)}
        assert command is not None
        return {"command": self.programs.command(command, view)}

    def _check_is_list(self, site: Site, value: Scalar, view: View) -> None:
        filled, shape = self.resolver.typed(value, view)
        first = filled.parts[0] if isinstance(filled, Template) else None
        if isinstance(first, Ref) and first.field == "lines":
            site.item_shape = Shape.TEXT
        if shape in (Shape.TEXT, Shape.MAPPING):
            message = f"`for-each` needs a list, and `{value.text}` is {shape}"
            help = "use `.lines` or `.json` of a result, a list in place, `{glob: …}` or `{command: …}`"
            self.resolver.report.error("bad-value", message, Where(view.file.document, value, site), help)


def _shape_of_items(value: Sequence) -> Shape:
    texts = [isinstance(item, Scalar) and "{{" not in item.text for item in value.items]
    if all(texts):
        numbers = any(not isinstance(free_value(item), str) for item in value.items if isinstance(item, Scalar))
        return Shape.ANY if numbers else Shape.TEXT
    return Shape.MAPPING if all(isinstance(item, Mapping) for item in value.items) else Shape.ANY


def _number(key: str, text: str) -> dict[str, Any]:
    """The fields that are words, numbers and times."""
    match key:
        case "max":
            return {"max": whole(text)}
        case "limit":
            return {"limit": whole(text)}
        case "as":
            return {"item": text}
        case "delay":
            return {"delay_s": duration_s(text)}
        case "on-empty":
            return {"on_empty_fail": text == "fail"}
        case "on-max":
            return {"on_max_fail": text == "fail"}
        case "refresh":
            return {"refresh": boolean(text)}
        case "fail-fast":
            return {"fail_fast": boolean(text)}
        case _:
            return {}
