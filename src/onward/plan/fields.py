"""The modifiers of a node (`format.md` 3.7) -> fields of `Node`. Only what is written in the file is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from onward.model.nodes import ArtifactRule, Budget, ContainerOutput, HandOff, Kind, LeafOutput, Retry
from onward.model.status import OnResume, Outcome, Then
from onward.model.values import Text
from onward.plan.conditions import Conditions
from onward.plan.leaves import refuse_output_name
from onward.plan.loops import Loops
from onward.plan.names import check_output_name
from onward.plan.paths import path
from onward.plan.report import Where
from onward.plan.resolver import Resolver
from onward.plan.results import MAIN
from onward.plan.scope import View
from onward.plan.site import Site, Workflow
from onward.plan.suggest import nearest
from onward.plan.trees import entries, items, keys, scalar_text, scalars
from onward.spec.document import Mapping, Scalar, Tree
from onward.spec.scalars import boolean, data, duration_s, number, whole

Found = dict[str, Any]


class Fields(Struct):
    """Reads the fields of nodes; every reader takes a site, the value and the fields found so far."""

    resolver: Resolver
    conditions: Conditions
    loops: Loops

    def read(self, site: Site) -> Found:
        """All modifiers of a node. The loop comes first: the others may use its variable."""
        found: Found = {}
        loop = site.fields.get("loop")
        if loop is not None and isinstance(loop.value, Mapping):
            found["loop"] = self.loops.loop(site, loop.value)
        for key, entry in site.fields.items():
            reader = _READERS.get(key)
            if reader is not None:
                reader(self, site, entry.value, found)
        return found

    def environment(self, tree: Tree | None, view: View) -> dict[str, Text]:
        """`env`: names and texts."""
        return {
            name: self.resolver.text(entry.value, view)
            for name, entry in entries(tree)
            if isinstance(entry.value, Scalar)
        }

    def values(self, tree: Tree | None, view: View) -> tuple[ContainerOutput, ...]:
        """The outputs of a container or workflow."""
        return tuple(
            ContainerOutput(name=name, value=self.resolver.data(entry.value, view)) for name, entry in entries(tree)
        )

    # --- one key each -------------------------------------------------------------------------------------

    def _title(self, site: Site, value: Tree, found: Found) -> None:
        if isinstance(value, Scalar):
            found["title"] = self.resolver.text(value, View(site, site.file, iteration=False))

    def _skip_if(self, site: Site, value: Tree, found: Found) -> None:
        found["skip_if"] = self.conditions.all_of(value, View(site, site.file))

    def _ensure(self, site: Site, value: Tree, found: Found) -> None:
        assert isinstance(value, Mapping)
        found["before"] = self.conditions.all_of(value.get("before"), View(site, site.file))
        found["after"] = self.conditions.all_of(value.get("after"), View(site, site.file, inside=True, own=True))

    def _validators(self, site: Site, value: Tree, found: Found) -> None:
        found["validators"] = self.conditions.all_of(value, View(site, site.file, own=True))

    def _retry(self, _site: Site, value: Tree, found: Found) -> None:
        found["retry"] = _retry(value)

    def _schema(self, site: Site, value: Tree, found: Found) -> None:
        file = value.get("file") if isinstance(value, Mapping) else None
        if isinstance(value, Mapping) and len(value.entries) == 1 and isinstance(file, Scalar):
            found["schema"] = site.file.document.files[file.text].data
        else:
            found["schema"] = data(value)

    def _timeout(self, _site: Site, value: Tree, found: Found) -> None:
        found["timeout_s"] = duration_s(scalar_text(value))

    def _idle(self, _site: Site, value: Tree, found: Found) -> None:
        found["idle_s"] = duration_s(scalar_text(value))

    def _directory(self, site: Site, value: Tree, found: Found) -> None:
        if isinstance(value, Scalar):
            found["directory"] = path(value, View(site, site.file), self.resolver)

    def _env(self, site: Site, value: Tree, found: Found) -> None:
        found["env"] = self.environment(value, View(site, site.file))

    def _secrets(self, site: Site, value: Tree, found: Found) -> None:
        for each in scalars(value):
            if each.text not in site.file.secrets:
                near = nearest(each.text, site.file.secrets)
                help = f"did you mean `{near}`?" if near else f"declare it at the top: `secrets: {{{each.text}: …}}`"
                message = f"no secret called `{each.text}` is declared"
                where = Where(site.file.document, each, site)
                self.resolver.report.error("unknown-name", message, where, help)
        found["secrets"] = tuple(each.text for each in scalars(value))

    def _outputs(self, site: Site, value: Tree, found: Found) -> None:
        if site.kind is Kind.INCLUDE:
            message = f"the outputs of `{site.name}` are those of the file that it includes"
            help = "add them to `outputs` of that file, or put the include into a `task` with `outputs`"
            self.resolver.report.error("unknown-key", message, Where(site.file.document, value, site), help)
            return
        for name, entry in entries(value):
            if name in MAIN:
                refuse_output_name(self.resolver, name, entry, site)
            check_output_name(self.resolver.report, name, entry, site)
        if site.kind.leaf:
            found["outputs"] = tuple(
                LeafOutput(name=name, form=scalar_text(entry.value)) for name, entry in entries(value)
            )
        else:
            found["values"] = self.values(value, View(site, site.file, inside=True, own=True))

    def _artifacts(self, site: Site, value: Tree, found: Found) -> None:
        view = View(site, site.file)
        found["artifacts"] = tuple(self._artifact(each, view) for each in items(value))

    def _artifact(self, value: Tree, view: View) -> ArtifactRule:
        optional = value.get("optional") if isinstance(value, Mapping) else None
        named = value.get("path") if isinstance(value, Mapping) else value
        assert isinstance(named, Scalar)
        return ArtifactRule(
            path=path(named, view, self.resolver), optional=optional is not None and boolean(scalar_text(optional))
        )

    def _hand_off(self, site: Site, value: Tree, found: Found) -> None:
        assert isinstance(value, Mapping)
        view = View(site, site.file, iteration=False, inside=True, own=True)
        summary, details = value.get("summary"), value.get("data")
        found["hand_off"] = HandOff(
            summary=self.resolver.text(summary, view) if isinstance(summary, Scalar) else "",
            data=self.resolver.data(details, view) if details is not None else None,
        )

    def _on_resume(self, _site: Site, value: Tree, found: Found) -> None:
        found["on_resume"] = OnResume(scalar_text(value))

    def _on_failure(self, _site: Site, value: Tree, found: Found) -> None:
        word = value.get("then") if isinstance(value, Mapping) else value
        found["on_failure"] = Then.STOP if word is None else Then(scalar_text(word))

    def _limit(self, _site: Site, value: Tree, found: Found) -> None:
        found["limit"] = whole(scalar_text(value))

    def _fail_fast(self, _site: Site, value: Tree, found: Found) -> None:
        found["fail_fast"] = boolean(scalar_text(value))

    def _was(self, _site: Site, value: Tree, found: Found) -> None:
        found["was"] = scalar_text(value)

    def _needs(self, site: Site, _value: Tree, found: Found) -> None:
        found["needs"] = site.needs

    def _queue(self, _site: Site, value: Tree, found: Found) -> None:
        found["queue"] = scalar_text(value)

    def _worktree(self, _site: Site, value: Tree, found: Found) -> None:
        found["worktree"] = boolean(scalar_text(value))

    def _budget(self, _site: Site, value: Tree, found: Found) -> None:
        assert isinstance(value, Mapping)
        usd, tokens = value.get("usd"), value.get("tokens")
        found["budget"] = Budget(
            usd=number(scalar_text(usd)) if usd is not None else None,
            tokens=whole(scalar_text(tokens)) if tokens is not None else None,
        )

    def given(self, site: Site, inner: Workflow, found: Found) -> None:
        """`with` of an `include`, checked against what the included file declares."""
        tree = site.get("with")
        view = View(site, site.file)
        found["with_"] = {name: self.resolver.data(entry.value, view) for name, entry in entries(tree)}
        missing = [v.name for v in inner.variables.values() if v.required and v.default is None]
        lacking = [name for name in missing if name not in found["with_"]]
        if lacking:
            named = ", ".join(f"`{name}`" for name in lacking)
            message = f"{inner.document.shown} needs a value for {named}"
            help = f"add `with: {{{', '.join(f'{name}: …' for name in lacking)}}}`"
            where = Where(site.file.document, site.fields["include"].value, site)
            self.resolver.report.error("missing-variable", message, where, help)
        self._check_given(site, inner)

    def _check_given(self, site: Site, inner: Workflow) -> None:
        """An undeclared name in `with` is fine (scripts find it in their environment) unless it looks like a slip."""
        tree = site.get("with")
        for name, entry in entries(tree):
            if name not in inner.variables:
                near = nearest(name, (other for other in inner.variables if other not in keys(tree)))
                if near is not None:
                    message = f"{inner.document.shown} has no variable `{name}`"
                    where = Where(site.file.document, entry.key, site)
                    self.resolver.report.error("unknown-name", message, where, f"did you mean `{near}`?")


def _retry(tree: Tree) -> Retry:
    found: Found = {}
    for key, entry in entries(tree):
        text = scalar_text(entry.value)
        match key:
            case "attempts":
                found["attempts"] = whole(text)
            case "delay":
                found["delay_s"] = duration_s(text)
            case "backoff":
                found["backoff"] = number(text)
            case "max-delay":
                found["max_delay_s"] = duration_s(text)
            case "on":
                found["on"] = tuple(Outcome(each.text) for each in scalars(entry.value))
    return Retry(**found)


_READERS: dict[str, Callable[[Fields, Site, Tree, Found], None]] = {
    "title": Fields._title,
    "skip-if": Fields._skip_if,
    "ensure": Fields._ensure,
    "validators": Fields._validators,
    "retry": Fields._retry,
    "schema": Fields._schema,
    "timeout": Fields._timeout,
    "idle": Fields._idle,
    "directory": Fields._directory,
    "env": Fields._env,
    "secrets": Fields._secrets,
    "outputs": Fields._outputs,
    "artifacts": Fields._artifacts,
    "hand-off": Fields._hand_off,
    "on-resume": Fields._on_resume,
    "on-failure": Fields._on_failure,
    "limit": Fields._limit,
    "fail-fast": Fields._fail_fast,
    "was": Fields._was,
    "needs": Fields._needs,
    "queue": Fields._queue,
    "worktree": Fields._worktree,
    "budget": Fields._budget,
}
