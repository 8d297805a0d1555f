"""`onward doctor`: whether this machine, its store and what is installed are fit for runs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from onward import __version__
from onward.cli.common import Common, common_options
from onward.cli.drawing import draw
from onward.cli.settings import BadSettings, Settings, settings_here
from onward.cli.target import print_json
from onward.cli.temporal_health import temporal_checks
from onward.errors import OnwardError
from onward.store.locate import VARIABLE, store_here
from onward.store.runs import Store
from onward.views import words
from onward.views.health import BAD, GOOD, NOTE, Check, examine
from onward.views.table import Line

STYLES = {GOOD: "succeeded", NOTE: "warning", BAD: "failed"}


@click.command("doctor")
@common_options(json=True)
def command(common: Common) -> int:
    """Look at the shell, agent programs and their versions, the store, the disk, settings and extras.

    Ends with 1 when something has to be mended before runs can work here, else with 0.
    """
    settings, check = _settings()
    adapter = os.environ.get("ONWARD_ADAPTER") or settings.adapter
    checks = [_version(), check, *examine(_store(common, settings), adapter), *temporal_checks(settings)]
    healthy = all(check.status != BAD for check in checks)
    if common.json:
        print_json({"schema": 1, "ok": healthy, "checks": checks})
    else:
        draw(_lines(checks, quiet=common.quiet), common)
    return 0 if healthy else 1


def _version() -> Check:
    return Check(name="onward", status=GOOD, text=__version__)


def _settings() -> tuple[Settings, Check]:
    try:
        settings = settings_here()
    except BadSettings as error:
        return Settings(), Check(name="settings", status=BAD, text=error.message, help=error.help)
    text = "no onward.toml here or above" if settings.file is None else f"from {settings.file}"
    return settings, Check(name="settings", status=GOOD, text=text)


def _store(common: Common, settings: Settings) -> Store | OnwardError:
    try:
        return store_here(common.store or os.environ.get(VARIABLE) or settings.store)
    except OnwardError as error:
        return error


def _lines(checks: list[Check], *, quiet: bool) -> Iterator[Line]:
    width = max(len(check.name) for check in checks)
    for check in checks:
        if quiet and check.status == GOOD:
            continue
        yield Line(f"{check.status:4}  {check.name:{width}}  {words.one_line(check.text)}", STYLES[check.status])
        if check.help:
            yield Line(f"{'':{width + 6}}  → {words.one_line(check.help)}", "dim")
    if not quiet:
        bad = sum(check.status == BAD for check in checks)
        verdict = f"{words.amount(bad, 'thing')} to mend" if bad else "runs can work here"
        yield Line(verdict, STYLES[BAD if bad else GOOD])
