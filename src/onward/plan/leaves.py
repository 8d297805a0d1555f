"""The work of leaves: `prompt`, `run`, `call`, `approve` (`format.md` 3.4)."""

from __future__ import annotations

from msgspec import Struct

from onward.model.nodes import Approve, Call, Kind, Prompt, Run, Work
from onward.model.values import Text
from onward.plan.declarations import Declarations
from onward.plan.paths import path
from onward.plan.programs import Programs, shell_of
from onward.plan.report import Where
from onward.plan.resolver import Resolver
from onward.plan.results import MAIN
from onward.plan.scope import View
from onward.plan.site import Site
from onward.plan.trees import entries, scalar_text, scalars
from onward.spec.document import Entry, Mapping, Scalar, Sequence, Tree

_CHOICES = ("approve", "reject")


class Leaves(Struct):
    """Reads what a leaf does."""

    resolver: Resolver
    programs: Programs
    declarations: Declarations

    def work(self, site: Site, view: View) -> Work | None:
        """What the node does, None for a container."""
        match site.kind:
            case Kind.PROMPT:
                return self._prompt(site, view)
            case Kind.RUN:
                return self._run(site, view)
            case Kind.CALL:
                return self._call(site, view)
            case Kind.APPROVE:
                return self._approve(site, view)
            case _:
                return None

    def _prompt(self, site: Site, view: View) -> Prompt:
        adapter = site.get("adapter")
        return Prompt(
            text=self._prompt_text(site.fields["prompt"].value, view),
            adapter=self.declarations.adapter(adapter, site.file) if isinstance(adapter, Scalar) else None,
            model=self._text(site.get("model"), view),
            keep_session=scalar_text(site.get("session")) == "keep",
            permission=scalar_text(site.get("permission")) or None,
        )

    def _prompt_text(self, value: Tree, view: View) -> Text:
        if isinstance(value, Mapping):
            file = view.file.document.files[scalar_text(value.get("file"))]
            return self.resolver.text(file, view)
        return self._text(value, view) or ""

    def _run(self, site: Site, view: View) -> Run:
        value = site.fields["run"].value
        stdin = self._text(site.get("stdin"), view)
        if isinstance(value, Sequence):
            return Run(argv=self.programs.argv(value, view), stdin=stdin)
        assert isinstance(value, Scalar)
        shell = shell_of(site.get("shell"))
        return Run(script=self.programs.script(value, view, shell), shell=shell, stdin=stdin)

    def _call(self, site: Site, view: View) -> Call:
        target = scalar_text(site.get("call"))
        arguments = site.get("with")
        if arguments is None:
            return Call(target=target)
        return Call(target=target, arguments=self.resolver.data(arguments, view))

    def _approve(self, site: Site, view: View) -> Approve:
        choices = tuple(each.text for each in scalars(site.get("choices")))
        return Approve(
            question=self._text(site.get("approve"), view) or "",
            show=tuple(path(each, view, self.resolver) for each in scalars(site.get("show"))),
            choices=choices or _CHOICES,
            fields={name: self._answers(name, entry, site) for name, entry in entries(site.get("fields"))},
            on_timeout=scalar_text(site.get("on-timeout")) or "pause",
        )

    def _answers(self, name: str, entry: Entry, site: Site) -> tuple[str, ...] | None:
        """The allowed answers of a field of a question, None for free text."""
        if name in MAIN:
            refuse_output_name(self.resolver, name, entry, site)
        if isinstance(entry.value, Sequence):
            return tuple(each.text for each in scalars(entry.value))
        return None

    def _text(self, value: Tree | None, view: View) -> Text | None:
        return self.resolver.text(value, view) if isinstance(value, Scalar) else None


def refuse_output_name(resolver: Resolver, name: str, entry: Entry, site: Site) -> None:
    """Report an output or field that would hide a part of every result."""
    message = f"`{name}` is a part of every result, so no output can be called that"
    resolver.report.error("name-clash", message, Where(site.file.document, entry.key, site), "choose another name")
