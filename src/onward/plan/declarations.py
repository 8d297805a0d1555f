"""What a workflow file declares at its top: variables, secrets, adapters, defaults."""

from __future__ import annotations

import posixpath
import re

from msgspec import Struct, field

from onward.model.nodes import Adapter, Kind, Secret, Variable
from onward.plan.report import Report, Where
from onward.plan.scope import TAKEN
from onward.plan.site import Workflow
from onward.plan.suggest import nearest
from onward.plan.template import scan
from onward.plan.trees import entries, scalar_text, scalars
from onward.spec.document import Document, Entry, Mapping, Scalar, Tree
from onward.spec.records import AGENTS
from onward.spec.scalars import boolean

_SAID_BY_LIKE = ("prompt", "reply", "session", "continue", "model", "usage", "cost", "limit")


class Declarations(Struct):
    """Reads the declarations of every file of a plan. Secrets are shared by all of them, adapters are not."""

    report: Report
    secrets: dict[str, Secret] = field(default_factory=dict)
    adapters: dict[str, Adapter] = field(default_factory=dict)

    def workflow(
        self,
        document: Document,
        *,
        shown: str = "",
        given: frozenset[str] = frozenset(),
        typed: frozenset[str] = frozenset(),
        outer: Workflow | None = None,
    ) -> Workflow:
        """The declarations of one file; `outer` is the file that includes it."""
        root = document.root
        file = Workflow(document=document, shown=shown, given=given, typed=typed, included=outer is not None)
        file.variables = {name: self._variable(name, entry, file) for name, entry in entries(root.get("variables"))}
        file.optional = frozenset(
            each.name for each in file.variables.values() if each.default is None and not each.required
        ).difference(given)
        file.secrets = dict(outer.secrets) if outer is not None else {}
        for name, entry in entries(root.get("secrets")):
            file.secrets[name] = self._secret(name, entry, file)
        for name, entry in entries(root.get("adapters")):
            file.adapters[name] = self._adapter(name, entry.value, file)
        for kind, entry in entries(root.get("defaults")):
            if isinstance(entry.value, Mapping):
                file.defaults[Kind(kind)] = entry.value
        return file

    def _variable(self, name: str, entry: Entry, file: Workflow) -> Variable:
        if name in TAKEN:
            self._clash(file, entry.key, f"`{name}` is a word of the format, so no variable can be called that")
        value = entry.value
        if not isinstance(value, Mapping):
            self._tell_of_references(value, file)
            return Variable(name=name, default=scalar_text(value))
        default, required, matches = value.get("default"), value.get("required"), value.get("matches")
        self._tell_of_references(default, file)
        variable = Variable(
            name=name,
            default=scalar_text(default) if isinstance(default, Scalar) else None,
            required=required is not None and boolean(scalar_text(required)),
            matches=scalar_text(matches) if matches is not None else None,
            description=scalar_text(value.get("description")),
        )
        self._check_default(variable, default, file)
        return variable

    def _check_default(self, variable: Variable, default: Tree | None, file: Workflow) -> None:
        if variable.default is None or variable.matches is None or default is None:
            return
        if re.search(variable.matches, variable.default) is None:
            message = f"the default of `{variable.name}` does not match `{variable.matches}`"
            self.report.error("bad-value", message, Where(file.document, default), "change the one or the other")

    def _tell_of_references(self, value: Tree | None, file: Workflow) -> None:
        if isinstance(value, Scalar) and "{{" in value.text:
            for reference in scan(value.text).references:
                message = f"`{{{{{reference.source}}}}}` is not filled in here: values of variables are never scanned"
                help = "put the parts together where the variable is used"
                self.report.warn("no-template", message, Where(file.document, value, at=reference.at), help)

    def _secret(self, name: str, entry: Entry, file: Workflow) -> Secret:
        source = entry.value
        assert isinstance(source, Mapping)
        env, path = source.get("env"), source.get("file")
        secret = Secret(
            name=name,
            env=scalar_text(env) if env is not None else None,
            file=_beside(file, scalar_text(path)) if path is not None else None,
            command=tuple(each.text for each in scalars(source.get("command"))),
        )
        if name in file.variables:
            self._clash(file, entry.key, f"`{name}` is both a secret and a variable; both would be in the environment")
        known = self.secrets.setdefault(name, secret)
        if known != secret:
            self._clash(file, entry.key, f"another file of this workflow takes the secret `{name}` from elsewhere")
        return known

    def _adapter(self, name: str, tree: Tree, file: Workflow) -> str:
        """Register an adapter; the name it has in the plan, where two files may mean different ones by one name."""
        assert isinstance(tree, Mapping)
        self._check_likeness(name, tree, file)
        for full_name in (name, f"{name}@{file.shown}"):
            adapter = _adapter(full_name, tree)
            if self.adapters.setdefault(full_name, adapter) == adapter:
                return full_name
        return full_name

    def _check_likeness(self, name: str, tree: Mapping, file: Workflow) -> None:
        """What a built-in adapter brings along is not said again."""
        beside = _SAID_BY_LIKE if tree.get("like") is not None else ("permission",)
        for key in beside:
            value = tree.get(key)
            if value is not None and tree.get("like") is not None:
                message, help = f"`{key}` of `{name}` is that of the adapter it is `like`", f"leave out `{key}`"
                self.report.error("bad-value", message, Where(file.document, value), help)
            elif value is not None:
                message, help = f"`{key}` of `{name}` means nothing without `like`", "put the flags into `command`"
                self.report.error("bad-value", message, Where(file.document, value), help)

    def adapter(self, scalar: Scalar, file: Workflow) -> str:
        """The name in the plan of the adapter that a file names; a name that nothing has is reported."""
        name = scalar.text
        if name in file.adapters:
            return file.adapters[name]
        if name not in AGENTS:
            known = (*file.adapters, *AGENTS)
            near = nearest(name, known)
            help = f"did you mean `{near}`?" if near else f"declare it under `adapters`, or use {', '.join(known)}"
            message = f"there is no adapter called `{name}`"
            self.report.error("bad-value", message, Where(file.document, scalar), help)
        return name

    def _clash(self, file: Workflow, key: Scalar, message: str) -> None:
        self.report.error("name-clash", message, Where(file.document, key), "rename one of them")


def _adapter(name: str, tree: Mapping) -> Adapter:
    def text(key: str) -> str | None:
        value = tree.get(key)
        return value.text if isinstance(value, Scalar) else None

    def argv(key: str) -> tuple[str, ...]:
        return tuple(each.text for each in scalars(tree.get(key)))

    return Adapter(
        name=name,
        command=argv("command"),
        prompt=text("prompt") or "stdin",
        reply=text("reply") or "text",
        session=text("session"),
        resume=argv("continue"),
        model=argv("model"),
        usage=text("usage"),
        cost=text("cost"),
        limit=text("limit"),
        like=text("like"),
        permission=text("permission"),
    )


def _beside(file: Workflow, path: str) -> str:
    """A path that a file names, as seen from the folder of the main file."""
    if path.startswith("~/") or not posixpath.dirname(file.shown):
        return path
    return posixpath.normpath(posixpath.join(posixpath.dirname(file.shown), path))
