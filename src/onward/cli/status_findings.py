"""A status that is printed as data → the same with the findings of the diagnosis, where a resume could go on.

So a program reads of an interrupted run what the wizard shows of it. A look that fails leaves the status as it is.
"""

from __future__ import annotations

import msgspec

from onward.errors import OnwardError
from onward.model.status import RunStatus
from onward.store.folder import RunFolder
from onward.views.status import StatusView

_GOES_ON = (RunStatus.INTERRUPTED, RunStatus.PAUSED, RunStatus.FAILED, RunStatus.WAITING)
_ONLY_THERE = ("note", "definition")
"""kinds that the status alone knows"""


def with_findings(view: StatusView, folder: RunFolder, at: str) -> StatusView:
    """The view, with everything that `onward resume --plan` would find."""
    if view.status not in _GOES_ON or view.driver is not None or view.engine != "embedded":
        return view
    from onward.engine.embedded.launch import ResumeOptions
    from onward.engine.embedded.looking import look_ahead
    from onward.views.recovery_data import finding_views

    try:
        found = look_ahead(ResumeOptions(run=folder), git=False).diagnosis
    except OnwardError:
        return view
    findings = [*finding_views(found.findings, folder.run_id, at)]
    kinds = {one.kind for one in findings}
    findings += [one for one in view.findings if one.kind in _ONLY_THERE and one.kind not in kinds]
    return msgspec.structs.replace(view, findings=findings)
