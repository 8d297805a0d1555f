"""Scripts and argv lists: values never become code (`format.md` 4.4).

A script takes no reference at all: its text is passed on byte for byte, and a name that is known in it is an error.
Names that only become known later (a variable that another field uses undeclared) are judged at the end, by `settle`.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from onward.model.conditions import Command
from onward.model.nodes import Kind
from onward.model.values import Template, Text
from onward.plan.explain import nearest_task
from onward.plan.interpreters import Code, Element, code_in
from onward.plan.report import Where
from onward.plan.resolver import Resolver
from onward.plan.scope import RESERVED, LoopRung, View, rungs
from onward.plan.shell_text import unquoted_variables
from onward.plan.site import Shape
from onward.plan.suggest import nearest
from onward.plan.template import Reference, scan
from onward.plan.trees import items, scalar_text, scalars
from onward.spec.document import Scalar, Sequence, Tree

BASH = ("bash", "-euo", "pipefail", "-c")
SH = ("sh", "-eu", "-c")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
_ENVIRONMENT = {"datetime": "ONWARD_DATETIME", "run_id": "ONWARD_RUN_ID", "attempt": "ONWARD_ATTEMPT"}


def shell_of(tree: Tree | None) -> tuple[str, ...]:
    """The argv in front of a script."""
    if isinstance(tree, Sequence):
        return tuple(each.text for each in scalars(tree))
    return SH if scalar_text(tree) == "sh" else BASH


def is_shell(argv: tuple[str, ...]) -> bool:
    """Whether the script is read by a shell, in which `"$x"` means the variable."""
    return any(word.rpartition("/")[2] in _SHELLS for word in argv)


class Programs(Struct):
    """Reads scripts and argv lists."""

    resolver: Resolver
    _strange: list[tuple[Reference, View, Scalar, str]] = field(default_factory=list)

    def command(self, tree: Tree, view: View) -> Command:
        """`command` of a condition or a loop; a script is run by the shell of the node, else of `defaults`."""
        if isinstance(tree, Sequence):
            return Command(argv=self.argv(tree, view))
        shell = _command_shell(view)
        assert isinstance(tree, Scalar)
        return Command(script=self.script(tree, view, shell, "command"), shell=shell)

    def script(self, scalar: Scalar, view: View, shell: tuple[str, ...], key: str = "run") -> str:
        """A script, unchanged."""
        text = scalar.text
        if "{{" in text:
            for reference in scan(text).references:
                if self.resolver.knows(reference.head, view):
                    self._refuse(reference, view, scalar, key)
                else:
                    self._strange.append((reference, view, scalar, key))
        if "$" in text and is_shell(shell):
            self._tell_of_bare_variables(scalar, view)
        return text

    def argv(self, tree: Sequence, view: View) -> tuple[Text, ...]:
        """A program and its arguments."""
        scalar_items = list(scalars(tree))
        argv = tuple(self.resolver.text(each, view) for each in scalar_items)
        if all(isinstance(each, str) for each in argv):
            return argv
        if argv and isinstance(argv[0], Template):
            message = f"`{scalar_items[0].text}` would let a value choose the program that runs"
            help = "write the program's name; where there is a choice, make two tasks with `skip-if`"
            self._report("template-in-program", message, view, scalar_items[0], None, help)
        for code in code_in([_element(each) for each in argv]):
            if isinstance(argv[code.at], Template):
                self._refuse_code(code, scalar_items[code.at], view)
        return argv

    def settle(self) -> None:
        """Judge the references in scripts whose names were not known when the script was read."""
        told: dict[tuple[int, str], str | None] = {}
        for reference, view, scalar, key in self._strange:
            file, head = view.file, reference.head
            if head in file.undeclared or (reference.steps and file.called(head)):
                self._refuse(reference, view, scalar, key)
                continue
            near = _nearest_word(told, view, head) or (nearest_task(file, head) if reference.steps else None)
            if near is not None:
                message = f"`{{{{{reference.source}}}}}` is passed to the script as it is: nothing has that name"
                help = f'did you mean `{near}`? In a script write "${near}"'
                where = Where(file.document, scalar, view.site, reference.at)
                self.resolver.report.warn("template-in-script", message, where, help)

    def _refuse(self, reference: Reference, view: View, scalar: Scalar, key: str) -> None:
        head = reference.head
        if head in view.file.secrets:
            message = f"the secret `{head}` cannot be put into text"
            help = f'release it with `secrets: [{head}]` and write "${head}"'
            self._report("secret-in-text", message, view, scalar, reference.at, help)
            return
        message = f"`{{{{{reference.source}}}}}` in a shell script would turn data into code"
        name = self._environment_name(reference, view)
        if name is not None:
            help = f'write "${name}": every variable is in the environment; or use the list form of `{key}`'
        else:
            name = re.sub(r"\W+", "_", reference.source.partition("|")[0].strip()).strip("_").upper()
            help = f'add `env: {{{name}: "{{{{{reference.source}}}}}"}}` and write "${name}"'
        self._report("template-in-script", message, view, scalar, reference.at, help)

    def _environment_name(self, reference: Reference, view: View) -> str | None:
        """The variable that already holds the value in the environment of the task."""
        head = reference.head
        if reference.steps or reference.filters:
            return None
        if head in _ENVIRONMENT:
            return _ENVIRONMENT[head]
        file = view.file
        if head in file.variables or head in file.given or head in file.undeclared:
            return head
        loops = (rung.site for rung in rungs(view) if isinstance(rung, LoopRung))
        return head if any(site.item == head and site.item_shape is Shape.TEXT for site in loops) else None

    def _refuse_code(self, code: Code, scalar: Scalar, view: View) -> None:
        at = scan(scalar.text).references[0].at
        message = f"a value in the code for `{code.program}` would turn data into code"
        help = "give it as a further argument or in `env:`, and read it there"
        if code.program == "ssh":
            help = "`ssh` joins its arguments into a script; send the value through `stdin:`"
        self._report("interpreter-template", message, view, scalar, at, help)

    def _tell_of_bare_variables(self, scalar: Scalar, view: View) -> None:
        file = view.file
        for at, name in unquoted_variables(scalar.text):
            if name in file.variables or name in file.given or _is_loop_variable(name, view):
                message = f"`${name}` stands without quotes, so the shell splits its value and expands `*` in it"
                where = Where(file.document, scalar, view.site, at)
                self.resolver.report.warn("unquoted", message, where, f'write "${name}"')

    def _report(self, code: str, message: str, view: View, scalar: Scalar, at: int | None, help: str) -> None:
        self.resolver.report.error(code, message, Where(view.file.document, scalar, view.site, at), help)


def _is_loop_variable(name: str, view: View) -> bool:
    return any(isinstance(rung, LoopRung) and rung.site.item == name for rung in rungs(view))


def _nearest_word(told: dict[tuple[int, str], str | None], view: View, head: str) -> str | None:
    """The variable, or loop variable around the script, that is meant."""
    file = view.file
    if (id(file), head) not in told:
        told[id(file), head] = nearest(head, (*file.variables, *file.undeclared, *RESERVED))
    items = (rung.site.item for rung in rungs(view) if isinstance(rung, LoopRung) and rung.site.item)
    return told[id(file), head] or nearest(head, items)


def _element(text: Text) -> Element:
    if isinstance(text, str):
        return Element(text)
    first = text.parts[0]
    return Element(first if isinstance(first, str) else "", filled=True)


def _command_shell(view: View) -> tuple[str, ...]:
    own = view.site.get("shell") if view.site.kind is Kind.RUN else None
    if own is None:
        defaults = view.file.defaults.get(Kind.RUN)
        own = None if defaults is None else defaults.get("shell")
    return BASH if own is None or items(own) != (own,) else shell_of(own)
