"""The source of `onward` → every code of an error in it, with the places where it is made.

A code is whatever is given for a parameter or field that is called `code`: in calls of functions and classes that have
one, and in the bodies of classes of errors. What cannot be followed to a literal is reported, not passed over.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "onward"


class Use(NamedTuple):
    """`callee` was given this code; for the body of a class it is `class`. `code` None: no literal was found."""

    code: str | None
    callee: str
    place: str


class _File(NamedTuple):
    name: str
    tree: ast.Module
    takers: tuple[tuple[str, int | None], ...]


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Takers = dict[str, set[int | None]]


def uses() -> list[Use]:
    """Every use, in the order of the files."""
    files = [_read(path) for path in sorted(SOURCE.rglob("*.py"))]
    return [use for file in files for use in _uses(file, _known_in(file, files))]


def _read(path: Path) -> _File:
    tree = ast.parse(path.read_text("utf-8"))
    return _File(path.relative_to(SOURCE.parents[1]).as_posix(), tree, tuple(_takers(tree)))


def _known_in(file: _File, files: list[_File]) -> _Takers:
    """What takes a code, as seen from a file, and at which positions.

    Classes of any file; functions (whose names are common) of the same package, those of the file itself first.
    """
    known: _Takers = {}
    for other in files:
        for name, at in other.takers:
            if name[:1].isupper() or other.name.split("/")[:3] == file.name.split("/")[:3]:
                known.setdefault(name, set()).add(at)
    own: _Takers = {}
    for name, at in file.takers:
        own.setdefault(name, set()).add(at)
    return known | own


def _takers(tree: ast.Module) -> Iterator[tuple[str, int | None]]:
    """What takes a code, and at which position (None: only by its name)."""
    for node in ast.walk(tree):
        if isinstance(node, _Function) and node.name != "__init__":
            names = [arg.arg for arg in node.args.args]
            if "code" in [arg.arg for arg in node.args.kwonlyargs] and _is_text(node, "code"):
                yield node.name, None
            elif "code" in names and _is_text(node, "code"):
                yield node.name, names.index("code") - (names[0] in ("self", "cls"))
        if isinstance(node, ast.ClassDef):
            yield from _as_taker(node)


def _as_taker(node: ast.ClassDef) -> Iterator[tuple[str, int | None]]:
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
    names = [each.target.id for each in fields if isinstance(each.target, ast.Name)]
    if "code" in names and ast.unparse(fields[names.index("code")].annotation) == "str":
        yield node.name, names.index("code")
    for each in node.body:
        if isinstance(each, _Function) and each.name == "__init__":
            arguments = [arg.arg for arg in each.args.args]
            if "code" in arguments and _is_text(each, "code"):
                yield node.name, arguments.index("code") - 1


def _is_text(node: _Function, name: str) -> bool:
    arguments = [*node.args.args, *node.args.kwonlyargs]
    [found] = [arg for arg in arguments if arg.arg == name]
    return found.annotation is None or "str" in ast.unparse(found.annotation)


def _uses(file: _File, takers: _Takers) -> Iterator[Use]:
    for scope in ast.walk(file.tree):
        if isinstance(scope, ast.ClassDef):
            yield from _of_class(file, scope)
        if isinstance(scope, _Function):
            yield from _of_function(file, scope, takers)


def _of_class(file: _File, scope: ast.ClassDef) -> Iterator[Use]:
    for each in scope.body:
        if isinstance(each, ast.Assign) and [ast.unparse(target) for target in each.targets] == ["code"]:
            for code in _literals(each.value):
                yield Use(code, "class", f"{file.name}:{each.lineno}")


def _of_function(file: _File, scope: _Function, takers: _Takers) -> Iterator[Use]:
    handed_on = {arg.arg for arg in [*scope.args.args, *scope.args.kwonlyargs]}
    for call in ast.walk(scope):
        if isinstance(call, ast.Call):
            callee = ast.unparse(call.func).rpartition(".")[2]
            all_given = _given(call, takers.get(callee, set()))
            found = {code for given in all_given for code in _codes(scope, given, handed_on)}
            for code in (found - {None}) or found:
                yield Use(code, callee, f"{file.name}:{call.lineno}")


def _codes(scope: _Function, given: ast.expr, handed_on: set[str]) -> Iterator[str | None]:
    if isinstance(given, ast.Name):
        if given.id not in handed_on:
            yield from list(_assigned(scope, given.id)) or [None]
    elif not (isinstance(given, ast.Attribute) and given.attr == "code"):  # which was made elsewhere and is handed on
        yield from _literals(given)


def _given(call: ast.Call, positions: set[int | None]) -> Iterator[ast.expr]:
    for keyword in call.keywords:
        if keyword.arg == "code":
            yield keyword.value
    for at in positions:
        if at is not None and at < len(call.args):
            yield call.args[at]


def _assigned(scope: _Function, name: str) -> Iterator[str | None]:
    for each in ast.walk(scope):
        if isinstance(each, ast.Assign):
            for target in each.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield from _literals(each.value)
                elif isinstance(target, ast.Tuple) and name in [ast.unparse(one) for one in target.elts]:
                    at = [ast.unparse(one) for one in target.elts].index(name)
                    yield from _picked(each.value, at)


def _picked(value: ast.expr, at: int) -> Iterator[str | None]:
    if isinstance(value, ast.IfExp):
        yield from _picked(value.body, at)
        yield from _picked(value.orelse, at)
    elif isinstance(value, ast.Tuple):
        yield from _literals(value.elts[at])
    else:
        yield None


def _literals(value: ast.expr) -> Iterator[str | None]:
    if isinstance(value, ast.IfExp):
        yield from _literals(value.body)
        yield from _literals(value.orelse)
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif not ((isinstance(value, ast.Constant) and value.value is None) or _is_number(value)):
        yield None


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, int)
