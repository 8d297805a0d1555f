"""How an attempt ended, and what lies in its folder → its `AttemptEnd`: outcome, text, outputs, metrics.

Only what is small or used by somebody is read into memory. Values are put into the store, which flushes them before
the event that names them.
"""

from __future__ import annotations

import math
import os
import signal
from dataclasses import dataclass, field
from typing import Any

import msgspec

from onward.errors import TaskError
from onward.model.events import AttemptEnd
from onward.model.nodes import Adapter, Kind, LeafOutput, Node
from onward.model.status import Outcome
from onward.model.values import Value
from onward.state.instance import Instance
from onward.store.values import INLINE_BYTES, Values
from onward.tasks.attempt_folder import Exit, read_result
from onward.tasks.failures import Failure, in_words
from onward.tasks.json_text import from_json, from_reply
from onward.tasks.prepare import OUT_FOLDER
from onward.tasks.replies import reply_of

MOST_BYTES = 64 * 1024 * 1024
STOPPED = "stop"


@dataclass(slots=True)
class _Result:
    """What an attempt leaves. `problem`: why it does not fit."""

    outputs: dict[str, Value] = field(default_factory=dict)
    session: str | None = None
    usage: dict[str, float] = field(default_factory=dict)
    problem: str | None = None


def collect(
    instance: Instance,
    attempt: int,
    folder: str,
    exit: Exit,
    values: Values,
    *,
    adapter: Adapter | None = None,
    stopped: str | None = None,
) -> AttemptEnd:
    """`stopped` is the reason for which the run itself ended the attempt: then it is interrupted, not failed."""
    node = instance.node
    assert node is not None
    outcome, error = _outcome(exit, node, stopped)
    result = _Result()
    if outcome is not Outcome.INTERRUPTED:
        _gather(result, node, folder, exit, values, adapter, worked=outcome is Outcome.OK)
    if outcome is Outcome.OK and result.problem is not None:
        outcome, error = Outcome.INVALID, result.problem
    return AttemptEnd(
        path=instance.path,
        attempt=attempt,
        outcome=outcome,
        exit=exit.code,
        signal=exit.signal,
        error=error,
        final=exit.code is None and exit.signal is None and exit.error is not None and exit.ended_by is None,
        duration_s=round(exit.duration_s, 6),
        usage=result.usage,
        session=result.session,
        stdout={"bytes": exit.out} if exit.out else None,
        outputs=result.outputs,
        metrics=_metrics(folder),
    )


# --- outcome ----------------------------------------------------------------------------------------------------


def _outcome(exit: Exit, node: Node, stopped: str | None) -> tuple[Outcome, str | None]:
    if exit.ended_by == STOPPED or (stopped is not None and exit.ended_by is not None):
        return Outcome.INTERRUPTED, stopped or "stopped"
    if exit.ended_by == "timeout":
        return Outcome.TIMEOUT, f"timed out after {node.timeout_s:g} s" if node.timeout_s else "timed out"
    if exit.ended_by == "idle":
        return Outcome.TIMEOUT, f"no output for {node.idle_s:g} s" if node.idle_s else "no output for too long"
    if exit.signal is not None:
        return Outcome.ERROR, f"killed by {exit.signal} ({_shell_code(exit.signal)})"
    if exit.error is not None:
        return Outcome.ERROR, exit.error
    if exit.code:
        return Outcome.ERROR, f"exit code {exit.code}"
    return Outcome.OK, None


def _shell_code(name: str) -> str:
    try:
        return str(128 + signal.Signals[name])
    except KeyError:
        return "a signal"


# --- results ----------------------------------------------------------------------------------------------------


def _gather(
    result: _Result, node: Node, folder: str, exit: Exit, values: Values, adapter: Adapter | None, *, worked: bool
) -> None:
    """Text or JSON, then the declared outputs; of a failed attempt whatever can be had."""
    try:
        if node.kind is Kind.CALL:
            if worked:
                _gather_call(result, node, folder, exit, values)
            return
        text = _text(node, folder, exit, needed=worked)
        if text is not None and adapter is not None:
            reply = reply_of(adapter, text)
            result.session, result.usage = reply.session, reply.usage
            text = reply.text
        if text is not None:
            result.outputs["text"] = values.to_value("text", text)
        if worked:
            _gather_outputs(result, node, folder, text, values)
    except TaskError as error:
        result.problem = in_words(error)


def _gather_call(result: _Result, node: Node, folder: str, exit: Exit, values: Values) -> None:
    text = _result_text(folder) if exit.result_file else exit.result or "null"
    returned = from_json(text, "the returned value")
    result.outputs["json"] = values.to_value("json", returned)
    for output in node.outputs:
        result.outputs[output.name] = _from_reply(output, returned, values)


def _result_text(folder: str) -> str:
    try:
        return read_result(folder)
    except OSError as error:
        raise Failure("output-missing", f"the returned value cannot be read: {error.strerror}") from error


def _text(node: Node, folder: str, exit: Exit, *, needed: bool) -> str | None:
    """Standard output without its last newline, if somebody uses it or it is small; None when it is no value."""
    used = needed and (node.referenced or node.wants_json or node.kind is Kind.PROMPT)
    if not used and exit.out > INLINE_BYTES:
        return None
    if exit.out > MOST_BYTES:
        raise Failure(
            "too-big",
            f"the output has {exit.out:,} bytes; a value holds at most {MOST_BYTES:,}",
            help="write it to a file and name that under `artifacts`",
        )
    data = _read(f"{folder}/out") if exit.out else b""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if used:
            raise Failure(
                "not-text",
                f"the output is not UTF-8 text (byte {error.start}), so it cannot be used as a value",
                help="write it to a file and name that under `artifacts`",
            ) from error
        return None
    if used and "\0" in text:
        raise Failure("not-text", "the output holds a NUL character, so it cannot be used as a value")
    return text[:-1] if text.endswith("\n") else text


def _gather_outputs(result: _Result, node: Node, folder: str, text: str | None, values: Values) -> None:
    parsed: Any = None
    if node.wants_json or (node.kind is Kind.PROMPT and node.outputs):
        parse = from_reply if node.kind is Kind.PROMPT else from_json
        parsed = parse(text or "", "the reply" if node.kind is Kind.PROMPT else "the output")
    for output in node.outputs:
        if node.kind is Kind.PROMPT:
            result.outputs[output.name] = _from_reply(output, parsed, values)
        else:
            result.outputs[output.name] = _from_file(output, folder, values)


def _from_reply(output: LeafOutput, reply: Any, values: Values) -> Value:
    if not isinstance(reply, dict) or output.name not in reply:
        raise Failure("output-missing", f"the reply has no field `{output.name}`")
    found = reply[output.name]
    match output.form:
        case "json":
            return values.to_value("json", found)
        case "text" if isinstance(found, str):
            return values.to_value("text", found)
        case "lines" if isinstance(found, list) and all(isinstance(line, str) for line in found):
            return values.to_value("lines", found)
        case form:
            raise Failure("bad-output", f"the field `{output.name}` of the reply is no {form}")


def _from_file(output: LeafOutput, folder: str, values: Values) -> Value:
    path = f"{folder}/{OUT_FOLDER}/{output.name}"
    what = f"the output `{output.name}`"
    try:
        size = os.stat(path).st_size
    except OSError as error:
        raise Failure(
            "output-missing", f"{what} was not written", help=f'write it to "$ONWARD_OUT/{output.name}"'
        ) from error
    if size > MOST_BYTES:
        raise Failure("too-big", f"{what} has {size:,} bytes; a value holds at most {MOST_BYTES:,}")
    data = _read(path)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Failure("not-text", f"{what} is not UTF-8 text (byte {error.start})") from error
    if output.form == "json":
        return values.to_value("json", from_json(text, what))
    if "\0" in text:
        raise Failure("not-text", f"{what} holds a NUL character")
    if output.form == "lines":
        return values.to_value("lines", [line for line in text.splitlines() if line.strip()])
    return values.to_value("text", text[:-1] if text.endswith("\n") else text)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Failure("output-missing", f"{path} cannot be read: {error.strerror}") from error


# --- metrics ----------------------------------------------------------------------------------------------------


def _metrics(folder: str) -> dict[str, float]:
    """What the task wrote as JSON numbers to `$ONWARD_OUT/metrics`; what is no number is left out."""
    try:
        with open(f"{folder}/{OUT_FOLDER}/metrics", "rb") as file:
            written = msgspec.json.decode(file.read(INLINE_BYTES * 4))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    if not isinstance(written, dict):
        return {}
    return {
        str(name): float(value)
        for name, value in written.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
