"""Whatever reference stands wherever text may stand: there is a plan that can be stored, or a mistake in words."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onward.errors import Problems
from onward.plan.codec import decode_plan, encode_plan
from onward.plan.make import make_plan
from onward.spec.load import load
from plan.planning import Instances, Workshop

WORKFLOW: dict[str, Any] = {
    "title": "T",
    "secrets": {"S": {"env": "S"}},
    "variables": {"v": "x", "o": {"description": "d"}},
    "env": {"E": "T"},
    "defaults": {"run": {"env": {"A": "T"}, "stdin": "T"}},
    "task": [
        {
            "a": {
                "run": "T",
                "outputs": {"q": "json"},
                "on-failure": {"task": [{"m": {"prompt": "T"}}], "then": "continue"},
            }
        },
        {
            "g": {
                "parallel": {
                    "p": {"run": ["echo", "T"], "validators": [{"equals": ["T", "T"]}, {"prompt": "T"}]},
                    "q": {"approve": "T", "needs": ["p"], "show": ["T"], "fields": {"f": "text"}},
                },
                "merge": [{"z": {"call": "m:f", "with": {"r": "T", "s": ["T", {"k": "T"}]}}}],
                "outputs": {"x": "T"},
            }
        },
        {
            "l": {
                "loop": {"for-each": ["T", {"k": "T"}], "as": "f", "key": "T"},
                "title": "T",
                "task": [{"w": {"prompt": "T", "artifacts": ["T"], "directory": "T"}}],
                "merge": [{"s": {"run": "T", "env": {"R": "T"}}}],
                "finally": [{"t": {"prompt": "T"}}],
                "hand-off": {"summary": "T", "data": {"k": "T"}},
            }
        },
        {
            "u": {
                "loop": {"until": [{"empty": "T"}, {"matches": ["T", "T"]}], "max": 3},
                "task": [{"k": {"prompt": "T", "skip-if": {"command": "T"}}}],
                "ensure": {"before": {"file-exists": "T"}, "after": {"at-least": [1, 2]}},
            }
        },
        {"i": {"include": "inner.yaml", "with": {"w": "T"}, "env": {"X": "T"}}},
    ],
    "outputs": {"all": "T"},
    "finally": [{"fin": {"prompt": "T"}}],
}
INNER = "variables: {w: x}\ntask: [{t: {prompt: '{{w}}'}}]\noutputs: {done: '{{t.text}}'}\nfinally: [{y: {run: x}}]\n"
NAMES = [
    "v",
    "o",
    "S",
    "E",
    "zz",
    "datetime",
    "attempt",
    "self.text",
    "self.k.text",
    "previous.k.text",
    "previous.status",
    "item",
    "f",
    "f.k",
    "index",
    "a",
    "a.text",
    "a.q.n[0]",
    "a.choice",
    "a.lines",
    "g.p.text",
    "p.text",
    "q.choice",
    "g.results",
    "g.x",
    "g.z.json",
    "l.results",
    'l["a"].w.text',
    'l["a"]',
    "l.hand-off.summary",
    "l.hand-off",
    "l.s.text",
    "u[1].k.text",
    "u.status",
    "k.text",
    "w.text",
    "i.done",
    "i.t.text",
    "i.status",
    "fin.text",
    "t.status",
    "m.text",
    '"{{a}}"',
    "#if",
]
REFERENCES = st.sampled_from(
    [*NAMES, "a.text | json | fence", 'a.text | default "y"', "a.lines | path", "a + 1", " .x "]
)
TEXTS = st.one_of(
    st.just("plain"),
    REFERENCES.map(lambda name: "{{" + name + "}}"),
    st.tuples(REFERENCES, REFERENCES).map(lambda pair: "a {{" + pair[0] + "}} $v {{" + pair[1] + "}} b"),
)


def places(tree: Any) -> int:
    return json.dumps(tree).count('"T"')


def filled(tree: Any, texts: Iterator[str]) -> Any:
    if isinstance(tree, dict):
        return {key: filled(value, texts) for key, value in tree.items()}
    if isinstance(tree, list):
        return [filled(value, texts) for value in tree]
    return next(texts) if tree == "T" else tree


@given(texts=st.lists(TEXTS, min_size=places(WORKFLOW), max_size=places(WORKFLOW)), alone=st.integers(0, 60))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_reference_anywhere_gives_a_plan_or_a_mistake(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], alone: int
) -> None:
    folder = tmp_path_factory.mktemp("w", numbered=True)
    # Half of the time one place alone is filled, so that plans without any mistake come about.
    chosen = [text if alone > 50 or place == alone else "plain" for place, text in enumerate(texts)]
    (folder / "w.yaml").write_text(json.dumps(filled(WORKFLOW, iter(chosen))))
    (folder / "inner.yaml").write_text(INNER)
    try:
        plan, warnings = make_plan(load(folder / "w.yaml", shown="w.yaml"))
    except Problems as problems:
        str(problems)
        return
    assert decode_plan(encode_plan(plan)) == plan
    assert all(warning.warning and str(warning) for warning in warnings)
    instances = Instances(plan)
    for user, ref in instances.uses:
        instances.climb(user, ref.up)


def test_the_workflow_of_this_test_is_fine_when_nothing_is_filled_in(w: Workshop) -> None:
    texts = iter(["plain"] * places(WORKFLOW))
    assert Workshop(w.folder).codes(json.dumps(filled(WORKFLOW, texts)), {"inner.yaml": INNER}) == []
