"""Whether the Temporal server that settings and variables name answers, and whether anybody works for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from onward.cli.settings import Settings
from onward.cli.temporal_options import TEMPORAL, connection_for
from onward.errors import OnwardError
from onward.views.health import BAD, GOOD, NOTE, Check


def temporal_checks(settings: Settings) -> Iterator[Check]:
    """Nothing where nobody has said a word about Temporal."""
    engine = os.environ.get("ONWARD_ENGINE") or settings.engine
    if engine != TEMPORAL and settings.temporal is None and not os.environ.get("TEMPORAL_ADDRESS"):
        return
    try:
        connection = connection_for({}, settings.temporal or {})
        from onward.engine.temporal.client import workers_of

        found = workers_of(connection)
    except OnwardError as error:
        yield Check(name=TEMPORAL, status=BAD, text=error.message, help=error.help)
        return
    where = f"{connection.namespace} at {connection.address}"
    if found:
        text = f"{where} answers; {found} asking for work on the queue `{connection.queue}`"
        yield Check(name=TEMPORAL, status=GOOD, text=text)
    else:
        text = f"{where} answers, but nobody serves the queue `{connection.queue}`"
        yield Check(name=TEMPORAL, status=NOTE, text=text, help="start a worker: onward worker")
