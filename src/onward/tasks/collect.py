"""How a process ended, and the files it left -> the end of its attempt as an event (`AttemptEnd`).

Values larger than the journal takes are handed to the store here, which has them on the disk before the event is.
An attempt that went wrong leaves words for the next one in its folder.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from onward.errors import TaskError
from onward.model.events import AttemptEnd, AttemptStart
from onward.model.nodes import Kind, Node
from onward.model.status import Outcome
from onward.model.values import Value
from onward.store.values import INLINE_BYTES, Values
from onward.tasks import endings
from onward.tasks.attempt_folder import Exit
from onward.tasks.exit_record import RESULT_FILE
from onward.tasks.failures import Failure, in_words
from onward.tasks.feedback import write_feedback
from onward.tasks.insertion import lines_of
from onward.tasks.json_text import from_json, from_reply, to_json
from onward.tasks.output_files import check_text, read_text_bytes, read_whole, tail
from onward.tasks.schema import check_schema
from onward.tasks.surroundings import Surroundings

if TYPE_CHECKING:
    from onward.tasks.agents.agent import Agent
    from onward.tasks.agents.hearing import Heard

METRICS = "metrics"
UNUSED_TEXT_BYTES = 1024
"""most bytes that are kept of a text that nothing refers to; its log has the rest"""

_NO_TEXT = {"text": Value(type="text", bytes=0, value="")}
_NULL = {"json": Value(type="json", bytes=4, value=None)}
_decode = msgspec.json.Decoder().decode


class Attempt(Protocol):
    """What must be known of an attempt that ended."""

    @property
    def event(self) -> AttemptStart: ...
    @property
    def node(self) -> Node: ...
    @property
    def folder(self) -> str: ...
    @property
    def out(self) -> str: ...
    @property
    def agent(self) -> Agent | None: ...


def collect(around: Surroundings, attempt: Attempt, exit: Exit, stopped: str | None = None) -> AttemptEnd:
    """The end of the attempt. Raises `StateError` when a result cannot be kept."""
    return _Collection(around, attempt, exit, stopped).end()


class _Collection:
    """One ended attempt."""

    def __init__(self, around: Surroundings, attempt: Attempt, exit: Exit, stopped: str | None) -> None:
        self._around = around
        self._values: Values = around.context.values
        self._attempt = attempt
        self._node = attempt.node
        self._exit = exit
        self._stopped = stopped
        self._outputs: dict[str, Value] = {}
        self._heard: Heard | None = None
        self._sha256: str | None = None

    def end(self) -> AttemptEnd:
        """What happened, then what is left of it."""
        ending = endings.of(self._exit, self._node, self._stopped)
        if self._node.kind is Kind.PROMPT:
            ending = self._hear_agent(ending)
        if ending.outcome is Outcome.OK:
            ending = self._take_results()
        elif self._node.kind is Kind.RUN and ending.started:
            self._keep_text(wanted=False)
        if ending.error is not None:
            ending = msgspec.structs.replace(ending, error=self._around.context.secrets.masked(ending.error))
        return self._event(ending)

    # --- results ------------------------------------------------------------------------------------------

    def _take_results(self) -> endings.Ending:
        try:
            match self._node.kind:
                case Kind.CALL:
                    self._take_returned()
                case Kind.PROMPT:
                    self._take_reply()
                case _:
                    self._take_printed()
        except TaskError as error:
            return endings.Ending(Outcome.INVALID, in_words(error))
        return endings.OK

    def _take_printed(self) -> None:
        node = self._node
        text = self._keep_text(wanted=node.referenced or node.wants_json or node.schema is not None)
        if node.wants_json or node.schema is not None:
            self._check(from_json(text or b"", "its output"))
        for output in node.outputs:
            self._take_output_file(output.name, output.form)

    def _take_output_file(self, name: str, form: str) -> None:
        what = f"the output `{name}`"
        data = read_whole(f"{self._attempt.out}/{name}", what)
        if data is None:
            raise Failure("output-missing", f"{what} is missing", help=f'write it to "$ONWARD_OUT/{name}"')
        check_text(data, what)
        self._keep_output(name, form, from_json(data, what) if form == "json" else data.decode().removesuffix("\n"))

    def _take_returned(self) -> None:
        text = self._returned_text()
        if text == "null" and self._node.schema is None and not self._node.outputs:
            self._outputs = _NULL
            return
        value = from_json(text, "the return value")
        self._outputs["json"] = self._values.to_value("json", value)
        self._check(value)
        self._take_fields(value, "the return value")

    def _returned_text(self) -> str | bytes:
        if not self._exit.result_file:
            return self._exit.result or "null"
        found = read_whole(f"{self._attempt.folder}/{RESULT_FILE}", "the return value")
        if found is None:
            raise Failure("no-result", "the file that holds the return value is gone")
        return found

    def _take_reply(self) -> None:
        text = self._heard.text if self._heard is not None else None
        assert text is not None
        self._outputs["text"] = self._values.to_value("text", text)
        node = self._node
        if not (node.wants_json or node.schema is not None or node.outputs):
            return
        value = from_reply(text, "the reply")
        self._check(value)
        self._take_fields(value, "the reply")

    def _take_fields(self, value: Any, what: str) -> None:
        """Declared outputs of a prompt or call are fields of its JSON."""
        for output in self._node.outputs:
            if not isinstance(value, dict) or output.name not in value:
                message = f"the output `{output.name}` is missing in {what}"
                raise Failure("output-missing", message, help=f"{what} must be JSON with that field")
            self._keep_output(output.name, output.form, value[output.name])

    def _keep_output(self, name: str, form: str, value: Any) -> None:
        what = f"the output `{name}`"
        match form, value:
            case "json", _:
                pass
            case "text", bool() | int() | float():
                value = to_json(value)
            case "lines", str():
                value = lines_of(value)
            case "lines", list() if all(isinstance(each, str) for each in value):
                pass
            case "text", str():
                pass
            case _:
                raise Failure("bad-output", f"{what} is declared as {form} and is {_kind_of(value)}")
        self._outputs[name] = self._values.to_value(form, value)

    def _check(self, value: Any) -> None:
        if self._node.schema is not None:
            check_schema(self._node.schema, value)

    # --- text ---------------------------------------------------------------------------------------------

    def _keep_text(self, *, wanted: bool) -> bytes | None:
        """Keep what was printed as `text`. Where nothing refers to it, only what is short and is text."""
        size = self._exit.out
        if size == 0:
            if wanted or self._node.referenced:
                self._outputs = dict(_NO_TEXT) if self._node.outputs else _NO_TEXT
            return b""
        if not wanted and size > UNUSED_TEXT_BYTES + 1 and not self._node.referenced:
            return None
        try:
            data = read_text_bytes(f"{self._attempt.folder}/out", size, "its output")
        except Failure:
            if wanted:
                raise
            return None
        self._outputs["text"] = self._text_value(data)
        return data

    def _text_value(self, data: bytes) -> Value:
        if len(data) <= INLINE_BYTES:
            self._sha256 = sha256(data if len(data) == self._exit.out else data + b"\n").hexdigest()
            return Value(type="text", bytes=len(data), value=data.decode())
        return Value(type="text", bytes=len(data), sha256=self._values.put(data))

    # --- agents -------------------------------------------------------------------------------------------

    def _hear_agent(self, ending: endings.Ending) -> endings.Ending:
        """An exit code alone says little: what the agent said decides, and a limit is no failure."""
        from onward.tasks.agents.hearing import Asked, hear

        agent, start = self._attempt.agent, self._attempt.event
        if not ending.started:
            return ending
        if agent is None:
            return endings.Ending(Outcome.ERROR, "nobody knows its adapter any more, so its reply cannot be read")
        leaf = self._around.state.instances.get(start.path)
        before = leaf.conversation if leaf is not None else None
        asked = Asked(
            agent=agent,
            folder=self._attempt.folder,
            session=start.session,
            continued=start.continued,
            counters=before.usage if before is not None else {},
            tz=self._around.context.environment.get("TZ"),
        )
        self._heard = heard = hear(asked, self._exit, ending, self._stopped)
        if heard.ending.outcome is not Outcome.OK and heard.text:
            self._outputs["text"] = self._values.to_value("text", heard.text)
        return heard.ending

    # --- the event ----------------------------------------------------------------------------------------

    def _event(self, ending: endings.Ending) -> AttemptEnd:
        exit, start, heard = self._exit, self._attempt.event, self._heard
        bad = ending.outcome in (Outcome.ERROR, Outcome.TIMEOUT, Outcome.INVALID)
        return AttemptEnd(
            path=start.path,
            attempt=start.attempt,
            outcome=ending.outcome,
            exit=exit.code,
            signal=exit.signal,
            error=ending.error,
            final=ending.final,
            reset_at=heard.reset_at if heard is not None else None,
            duration_s=round(exit.duration_s, 3),
            usage=heard.usage if heard is not None else {},
            session=heard.session if heard is not None else None,
            session_usage=heard.session_usage if heard is not None else {},
            session_lost=heard is not None and heard.session_lost,
            stdout=self._stdout(),
            outputs=self._outputs,
            metrics=self._metrics() if ending.started else {},
            feedback_sha256=self._leave_feedback(ending) if bad else None,
        )

    def _stdout(self) -> dict[str, Any] | None:
        if not self._exit.out:
            return None
        return {"bytes": self._exit.out} | ({"sha256": self._sha256} if self._sha256 is not None else {})

    def _metrics(self) -> dict[str, float]:
        """Numbers only; what else the file holds is no reason to fail a task."""
        try:
            data = read_whole(f"{self._attempt.out}/{METRICS}", "the metrics")
            found = from_json(data, "the metrics") if data is not None else None
        except Failure:
            return {}
        if not isinstance(found, dict):
            return {}
        return {n: v for n, v in found.items() if isinstance(v, int | float) and not isinstance(v, bool)}

    def _leave_feedback(self, ending: endings.Ending) -> str:
        """What is wrong, and the end of what was printed."""
        printed = tail(f"{self._attempt.folder}/err") if self._exit.err else ""
        if not printed and self._exit.out and self._node.kind is Kind.RUN:
            printed = tail(f"{self._attempt.folder}/out")
        text = ending.error or ending.outcome.value
        said = write_feedback(self._attempt.folder, f"{text}\n\n{printed}" if printed else text)
        return sha256(said.encode()).hexdigest()


def _kind_of(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
