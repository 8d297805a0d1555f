"""Trees -> conditions (`format.md` 3.6)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from onward.model import conditions as model
from onward.model.conditions import Condition
from onward.model.nodes import Kind
from onward.model.values import Text
from onward.plan.declarations import Declarations
from onward.plan.paths import path
from onward.plan.programs import Programs
from onward.plan.report import Where
from onward.plan.resolver import Resolver
from onward.plan.scope import View
from onward.plan.trees import items, scalar_text, scalars
from onward.spec.document import Mapping, Scalar, Tree
from onward.spec.scalars import has_reference


class Conditions(Struct):
    """Reads conditions; every one is a mapping of one key."""

    resolver: Resolver
    programs: Programs
    declarations: Declarations

    def all_of(self, tree: Tree | None, view: View) -> tuple[Condition, ...]:
        """A condition, or a list of which all must hold."""
        return tuple(self._one(each, view) for each in items(tree) if isinstance(each, Mapping) and each.entries)

    def _one(self, tree: Mapping, view: View) -> Condition:
        if "prompt" in tree.entries:
            return self._judge(tree, view)
        key, entry = next(iter(tree.entries.items()))
        return _READERS[key](self, entry.value, view)

    def _judge(self, tree: Mapping, view: View) -> Condition:
        question, model_name = tree.get("prompt"), tree.get("model")
        assert isinstance(question, Scalar)
        adapter = tree.get("adapter") or _agent_around(view)
        if has_reference(scalar_text(model_name)):
            assert isinstance(model_name, Scalar)
            where = Where(view.file.document, model_name, view.site)
            message = "`model` of a judge takes no {{reference}}: it must be known before the run"
            self.resolver.report.error("no-template", message, where, "write the value itself")
        return model.Judge(
            prompt=self.resolver.text(question, view),
            adapter=self.declarations.adapter(adapter, view.file) if isinstance(adapter, Scalar) else None,
            model=scalar_text(model_name) or None,
        )

    def _paths(self, tree: Tree | None, view: View) -> tuple[Text, ...]:
        return tuple(path(each, view, self.resolver) for each in scalars(tree))

    def _file_exists(self, tree: Tree, view: View) -> Condition:
        return model.FileExists(paths=self._paths(tree, view))

    def _file_missing(self, tree: Tree, view: View) -> Condition:
        return model.FileMissing(paths=self._paths(tree, view))

    def _file_contains(self, tree: Tree, view: View) -> Condition:
        assert isinstance(tree, Mapping)
        text, matches = tree.get("text"), tree.get("matches")
        return model.FileContains(
            path=self._paths(tree.get("path"), view)[0],
            text=self.resolver.text(text, view) if isinstance(text, Scalar) else None,
            matches=scalar_text(matches) if matches is not None else None,
        )

    def _newer(self, tree: Tree, view: View) -> Condition:
        assert isinstance(tree, Mapping)
        return model.Newer(file=self._paths(tree.get("file"), view)[0], than=self._paths(tree.get("than"), view))

    def _command(self, tree: Tree, view: View) -> Condition:
        return self.programs.command(tree, view)

    def _equals(self, tree: Tree, view: View) -> Condition:
        left, right = items(tree)
        return model.Equals(left=self.resolver.data(left, view), right=self.resolver.data(right, view))

    def _matches(self, tree: Tree, view: View) -> Condition:
        text, regex = scalars(tree)
        return model.Matches(text=self.resolver.text(text, view), regex=self.resolver.text(regex, view))

    def _empty(self, tree: Tree, view: View) -> Condition:
        return model.Empty(value=self.resolver.data(tree, view, lenient=True))

    def _at_least(self, tree: Tree, view: View) -> Condition:
        left, right = items(tree)
        return model.AtLeast(left=self.resolver.data(left, view), right=self.resolver.data(right, view))

    def _at_most(self, tree: Tree, view: View) -> Condition:
        left, right = items(tree)
        return model.AtMost(left=self.resolver.data(left, view), right=self.resolver.data(right, view))

    def _succeeded(self, tree: Tree, view: View) -> Condition:
        assert isinstance(tree, Scalar)
        return model.Succeeded(node=self.resolver.node(tree, view))

    def _failed(self, tree: Tree, view: View) -> Condition:
        assert isinstance(tree, Scalar)
        return model.Failed(node=self.resolver.node(tree, view))

    def _all(self, tree: Tree, view: View) -> Condition:
        return model.All(conditions=self.all_of(tree, view))

    def _any(self, tree: Tree, view: View) -> Condition:
        return model.Any(conditions=self.all_of(tree, view))

    def _not(self, tree: Tree, view: View) -> Condition:
        inner = self.all_of(tree, view)
        return model.Not(condition=inner[0] if len(inner) == 1 else model.All(conditions=inner))


def _agent_around(view: View) -> Tree | None:
    """A judge is asked through the adapter of the prompt it judges, else the one that prompts use by default."""
    if view.site.kind is Kind.PROMPT:
        return view.site.get("adapter")
    defaults = view.file.defaults.get(Kind.PROMPT)
    return None if defaults is None else defaults.get("adapter")


_READERS: dict[str, Callable[[Conditions, Tree, View], Condition]] = {
    "file-exists": Conditions._file_exists,
    "file-missing": Conditions._file_missing,
    "file-contains": Conditions._file_contains,
    "newer": Conditions._newer,
    "command": Conditions._command,
    "equals": Conditions._equals,
    "matches": Conditions._matches,
    "empty": Conditions._empty,
    "at-least": Conditions._at_least,
    "at-most": Conditions._at_most,
    "succeeded": Conditions._succeeded,
    "failed": Conditions._failed,
    "all": Conditions._all,
    "any": Conditions._any,
    "not": Conditions._not,
}
