"""Checks of scalars, lists and mappings of names: text, paths, choices, durations, numbers, names, regexes, data."""

from __future__ import annotations

import difflib
import re
import warnings
from functools import lru_cache

from onward.spec import names, scalars
from onward.spec.document import Entry, Mapping, Scalar, Sequence, Tree
from onward.spec.excerpts import quoted
from onward.spec.forms import (
    Braces,
    Choice,
    Data,
    Duration,
    Each,
    Either,
    Flag,
    Form,
    Name,
    Names,
    NodeName,
    Number,
    Path,
    Pattern,
    Reference,
    Regex,
    Text,
    Whole,
)
from onward.spec.names import Rule
from onward.spec.scene import At, Scene, checks, got, own_keys, visit
from onward.spec.units import duration_help, flag_help


@checks(Text)
def check_text(scene: Scene, form: Text, tree: Tree, at: At) -> None:
    if not isinstance(tree, Scalar):
        scene.must_be(form.words, tree, at)
    elif not tree.text.strip() and not form.blank:
        scene.must_be(form.words, Scalar(text="", place=tree.place), at)
    elif form.line and "\n" in tree.text.strip("\n"):
        scene.report("bad-value", f"{at.key} must be one line", tree.place, at)
    elif form.longest is not None and len(tree.text) > form.longest:
        message = f"{at.key} has {len(tree.text)} characters; {form.longest} are allowed"
        scene.report("bad-value", message, tree.place, at)
    elif form.braces is Braces.REFUSED:
        refuse_reference(scene, tree, at)


@checks(Path)
def check_path(scene: Scene, form: Path, tree: Tree, at: At) -> None:
    if not isinstance(tree, Scalar) or not tree.text.strip():
        scene.must_be(form.words, tree, at)
    elif "\n" in tree.text.strip("\n"):
        scene.report("bad-value", f"{at.key} must be one line", tree.place, at)
    elif form.braces is Braces.REFUSED:
        refuse_reference(scene, tree, at)


def refuse_reference(scene: Scene, scalar: Scalar, at: At) -> bool:
    """Report a `{{reference}}` where the value must be known before the run."""
    if not scalars.has_reference(scalar.text):
        return False
    message = f"{at.key} takes no {{{{reference}}}}: it must be known before the run"
    scene.report("no-template", message, scalar.place, at, help="write the value itself")
    return True


def _plain_text(scene: Scene, form: Form, tree: Tree, at: At) -> str | None:
    """The text of a scalar that is not empty and holds no reference, else None after a report."""
    if not isinstance(tree, Scalar) or not tree.text:
        scene.must_be(form.words, tree, at)
        return None
    return None if refuse_reference(scene, tree, at) else tree.text


@checks(Choice)
def check_choice(scene: Scene, form: Choice, tree: Tree, at: At) -> None:
    text = _plain_text(scene, form, tree, at)
    if text is None:
        return
    if text not in form.options:
        near = difflib.get_close_matches(text.lower(), form.options, n=1)
        scene.must_be(form.words, tree, at, help=f"did you mean {quoted(near[0])}?" if near else "")
    feature = dict(form.features).get(text)
    if feature is not None:
        scene.use(feature, f"{at.key}: {text}", tree.place, at)


@checks(Flag)
def check_flag(scene: Scene, form: Flag, tree: Tree, at: At) -> None:
    text = _plain_text(scene, form, tree, at)
    if text is not None and text not in ("true", "false"):
        scene.must_be(form.words, tree, at, code="boolean", help=flag_help(text))


@checks(Duration)
def check_duration(scene: Scene, form: Duration, tree: Tree, at: At) -> None:
    text = _plain_text(scene, form, tree, at)
    if text is None:
        return
    try:
        seconds = scalars.duration_s(text)
    except ValueError:
        message, help = duration_help(text)
        scene.report("duration", message, tree.place, at, help=help)
        return
    if not seconds and not form.zero:
        help = f"leave out {quoted(at.key)} for no limit"
        scene.report("duration", f"{at.key} must be longer than {text}", tree.place, at, help=help)


@checks(Whole)
def check_whole(scene: Scene, form: Whole, tree: Tree, at: At) -> None:
    text = _plain_text(scene, form, tree, at)
    if text is None:
        return
    try:
        fits = form.least <= scalars.whole(text) <= form.most
    except ValueError:
        fits = False
    if not fits:
        scene.must_be(form.words, tree, at)


@checks(Number)
def check_number(scene: Scene, form: Number, tree: Tree, at: At) -> None:
    text = _plain_text(scene, form, tree, at)
    if text is None:
        return
    try:
        fits = scalars.number(text) >= form.least
    except ValueError:
        fits = False
    if not fits:
        scene.must_be(form.words, tree, at)


@lru_cache(maxsize=64)
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex)


@checks(Pattern)
def check_pattern(scene: Scene, form: Pattern, tree: Tree, at: At) -> None:
    text = _plain_text(scene, form, tree, at)
    if text is not None and _compiled(form.regex).fullmatch(text) is None:
        scene.must_be(form.words, tree, at)


@checks(Name)
def check_name(scene: Scene, form: Name, tree: Tree, at: At) -> None:
    if _plain_text(scene, form, tree, at) is not None and isinstance(tree, Scalar):
        name_is_good(scene, form.rule, tree, at)


def name_is_good(scene: Scene, rule: Rule, key: Scalar, at: At) -> bool:
    """Report a name that breaks its rule."""
    fault = names.fault(rule, key.text)
    if fault is None:
        return True
    near = names.suggestion(rule, key.text)
    help = f"did you mean {quoted(near)}?" if near else None
    scene.report("bad-name", f"the name {quoted(key.text)} {fault}", key.place, at, help=help)
    return False


@checks(NodeName)
def check_node_name(scene: Scene, form: NodeName, tree: Tree, at: At) -> None:
    if not isinstance(tree, Scalar) or not tree.text:
        scene.must_be(form.words, tree, at)
    elif scalars.has_reference(tree.text):
        help = f"write {quoted(tree.text.strip('{} '))}, without braces"
        scene.must_be(form.words, tree, at, help=help)
    elif not scalars.is_node_name(tree.text):
        scene.must_be(form.words, tree, at, help='a name with a dot or a space in it is written ["T1.3"]')


@checks(Regex)
def check_regex(scene: Scene, form: Regex, tree: Tree, at: At) -> None:
    if not isinstance(tree, Scalar):
        scene.must_be(form.words, tree, at)
        return
    if form.braces is Braces.FILLED and "{{" in tree.text and _filled(tree.text):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(tree.text)
    except (re.error, OverflowError, RecursionError) as error:
        message = f"{quoted(tree.text)} is no regular expression: {error}"
        scene.report("bad-regex", message, tree.place, at, help="the rules are those of Python's `re`")


def _filled(text: str) -> bool:
    return scalars.has_reference(text) or '{{"' in text.replace(" ", "")


@checks(Reference)
def check_reference(scene: Scene, _form: Reference, tree: Tree, at: At) -> None:
    if not isinstance(tree, Scalar) or not scalars.is_reference(tree.text):
        scene.must_be("a list, or exactly one {{reference}} to a list", tree, at)


_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@checks(Data)
def check_data(scene: Scene, form: Data, tree: Tree, at: At) -> None:
    if not form.numeric:
        return
    if isinstance(tree, Scalar) and (scalars.has_reference(tree.text) or _NUMBER.fullmatch(tree.text)):
        return
    scene.must_be(form.words, tree, at)


@checks(Each)
def check_each(scene: Scene, form: Each, tree: Tree, at: At) -> None:
    if not isinstance(tree, Sequence):
        if form.single:
            visit(scene, form.form, tree, at)
        else:
            scene.must_be("a list", tree, at, help=_as_list(tree, at))
        return
    count = len(tree.items)
    if count < form.least or (form.most is not None and count > form.most):
        wanted = f"exactly {form.least}" if form.least == form.most else f"at least {form.least}"
        scene.report("bad-value", f"{at.key} takes {wanted} values, not {count}", tree.place, at)
        return
    for item in tree.items:
        visit(scene, form.form, item, At(key=at.key, place=item.place, trail=at.trail, example=at.example))
    if form.distinct:
        _check_distinct(scene, tree, at)


def _as_list(tree: Tree, at: At) -> str | None:
    if isinstance(tree, Scalar) and tree.text and len(tree.text) < 60 and tree.text.isprintable():
        return f"write `{at.key}: [{tree.text}]`"
    return None


def _check_distinct(scene: Scene, tree: Sequence, at: At) -> None:
    seen: set[str] = set()
    for item in tree.items:
        if not isinstance(item, Scalar):
            continue
        if item.text in seen:
            scene.report("bad-value", f"{quoted(item.text)} stands twice in {at.key}", item.place, at)
        seen.add(item.text)


@checks(Either)
def check_either(scene: Scene, form: Either, tree: Tree, at: At) -> None:
    match tree:
        case Scalar():
            chosen = form.scalar
        case Sequence():
            chosen = form.sequence
        case Mapping():
            chosen = form.mapping
    if chosen is None:
        scene.must_be(form.words, tree, at)
    else:
        visit(scene, chosen, tree, at)


@checks(Names)
def check_names(scene: Scene, form: Names, tree: Tree, at: At) -> None:
    if not isinstance(tree, Mapping):
        help = f"leave out {quoted(at.key)}, or write `{at.key}: {{}}`" if got(tree) == "nothing" else None
        scene.must_be("a mapping", tree, at, help=help)
        return
    if form.ignores_x:
        own_keys(tree)
    for entry in tree.entries.values():
        _check_named(scene, form, entry, at)


def _check_named(scene: Scene, form: Names, entry: Entry, at: At) -> None:
    good = form.keys is None or name_is_good(scene, form.keys, entry.key, at)
    if good and form.keys is Rule.ENV:
        _check_env(scene, form, entry, at)
    visit(scene, form.form, entry.value, At(key=entry.key.text, place=entry.key.place, trail=at.trail))


def _check_env(scene: Scene, form: Names, entry: Entry, at: At) -> None:
    name = entry.key.text
    if names.belongs_to_onward(name):
        message = f"{quoted(name)} is set by onward itself"
        help = "choose a name that does not begin with ONWARD_"
        scene.report("env-reserved", message, entry.key.place, at, help=help)
        return
    value = entry.value
    if form.env and isinstance(value, Scalar) and names.steers_programs(name) and scalars.has_reference(value.text):
        message = f"a reference may not feed {quoted(name)}: it decides which programs run, or how"
        help = "write the value itself here, or give it to the task under another name"
        scene.report("env-reserved", message, value.place, at, help=help)
