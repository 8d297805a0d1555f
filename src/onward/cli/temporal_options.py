"""Where the Temporal server is: flags, Temporal's own variables, `[temporal]` of `onward.toml` → one connection.

Nothing of Temporal is imported before a command needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from onward.errors import UsageError

if TYPE_CHECKING:
    from onward.engine.temporal.connection import Connection
    from onward.engine.temporal.launch import Timing
    from onward.store.engine_file import EngineFile

TEMPORAL = "temporal"

_FLAGS = ("address", "namespace", "queue", "api_key", "tls", "tls_ca", "tls_cert", "tls_key", "tls_name")


class ExtraMissing(UsageError):
    """The extra with Temporal's library is not installed."""

    code = "extra-missing"


def temporal_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The flags of a connection, given to the command as one mapping `temporal`."""

    @wraps(function)
    def command(**given: Any) -> Any:
        return function(temporal={name: given.pop(name) for name in _FLAGS}, **given)

    for option in reversed(_OPTIONS):
        option(command)
    return command


def connection_for(
    flags: Mapping[str, Any], settings: Mapping[str, Any], known: EngineFile | None = None
) -> Connection:
    """The connection that is meant. Flags are stronger than what the run says, and that than everything else."""
    if find_spec("temporalio") is None:
        raise ExtraMissing("the Temporal engine needs the temporal extra", help="pip install 'onward[temporal]'")
    from onward.engine.temporal.connection import connection_of

    given = {name: value for name, value in flags.items() if value not in (None, False)}
    if known is not None:
        run = {"address": known.address, "namespace": known.namespace, "queue": known.queue, "tls": known.tls}
        given = run | given
    return connection_of(given, settings)


def timing_of(settings: Mapping[str, Any]) -> Timing:
    """The numbers of `[temporal]`."""
    from onward.engine.temporal.launch import Timing

    names = {"heartbeat": "heartbeat_s", "reattach": "reattach_s"}
    found: dict[str, Any] = {names[key]: float(settings[key]) for key in names if key in settings}
    counts = {"history-soft": "soft_events", "history-hard": "hard_events"}
    found |= {counts[key]: int(settings[key]) for key in counts if key in settings}
    switches = {"same-host": "same_host", "search-attributes": "search"}
    found |= {switches[key]: bool(settings[key]) for key in switches if key in settings}
    return Timing(**found)


_OPTIONS = (
    click.option("--address", metavar="HOST:PORT", help="Temporal: where the server is (or TEMPORAL_ADDRESS)."),
    click.option("--namespace", metavar="NAME", help="Temporal: the namespace (or TEMPORAL_NAMESPACE)."),
    click.option("--queue", metavar="NAME", help="Temporal: the task queue; by default `onward`."),
    click.option("--api-key", metavar="KEY", help="Temporal: better given as TEMPORAL_API_KEY."),
    click.option("--tls", is_flag=True, help="Temporal: encrypt the connection."),
    click.option("--tls-ca", metavar="FILE", help="Temporal: the certificate of the server's authority."),
    click.option("--tls-cert", metavar="FILE", help="Temporal: our certificate."),
    click.option("--tls-key", metavar="FILE", help="Temporal: the key of our certificate."),
    click.option("--tls-name", metavar="NAME", help="Temporal: the server's name, if its certificate has another."),
)
