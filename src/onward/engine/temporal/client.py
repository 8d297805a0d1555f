"""Commands → workflows: start one, ask it for something, see how it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from onward.engine.temporal import messages as ms
from onward.engine.temporal.connection import Connection, connect
from onward.errors import UsageError
from onward.model.events import Event
from onward.model.nodes import Plan
from onward.model.status import RunStatus

ASK_WITHIN = timedelta(seconds=5)


async def begin(client: Client, given: ms.Given, *, plan: Plan) -> None:
    """Start the workflow of a run. Raises `UsageError` when it is there already."""
    try:
        await client.start_workflow(
            ms.WORKFLOW,
            ms.plain(given),
            id=ms.workflow_id(given.run),
            task_queue=given.queue,
            static_summary=(plan.title if isinstance(plan.title, str) and plan.title else plan.name)[:200],
            memo={"run": given.run, "workflow": plan.name, "file": plan.file, "definition": plan.digest},
            search_attributes=_found_by(plan) if given.search else None,
        )
    except WorkflowAlreadyStartedError as error:
        raise UsageError(f"a run `{given.run}` is driven by Temporal already") from error


def _found_by(plan: Plan) -> TypedSearchAttributes:
    workflow, status = (SearchAttributeKey.for_keyword(name) for name in (ms.FIND_WORKFLOW, ms.FIND_STATUS))
    return TypedSearchAttributes(
        [SearchAttributePair(workflow, plan.name[:200]), SearchAttributePair(status, RunStatus.RUNNING.value)]
    )


def taken(run: str, connection: Connection) -> UsageError:
    """The id of a run names its workflow, which other stores may know, too."""
    return UsageError(
        f"a run `{run}` is driven in the namespace `{connection.namespace}` of {connection.address} already",
        help="give another --id, or none",
    )


async def is_open(client: Client, run: str) -> bool:
    """Whether a workflow of the run has not ended."""
    try:
        described = await handle_of(client, run).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return False
        raise
    return described.status is WorkflowExecutionStatus.RUNNING


async def ask(client: Client, run: str, request: ms.Request) -> None:
    """Send a request; the server keeps it until a worker takes it. Raises `UsageError` when no workflow is open."""
    try:
        await handle_of(client, run).signal(ms.REQUEST, ms.plain(request))
    except RPCError as error:
        raise UsageError(
            f"Temporal does not drive run `{run}` now: {error.message}", help=f"go on with: onward resume {run}"
        ) from error


def resumption(first: Sequence[Event]) -> ms.Request:
    """Go on, and record these events before anything else."""
    return ms.Request(kind="resume", first=list(first))  # type: ignore[arg-type]


async def stand(client: Client, run: str) -> dict[str, Any] | None:
    """How the run stands, by its workflow; None when no worker answers."""
    try:
        found: dict[str, Any] = await handle_of(client, run).query(ms.STATUS, rpc_timeout=ASK_WITHIN)
    except RPCError:
        return None
    return found


def handle_of(client: Client, run: str) -> WorkflowHandle[Any, Any]:
    """The newest workflow of a run."""
    return client.get_workflow_handle(ms.workflow_id(run))


def ask_once(connection: Connection, run: str, requests: Sequence[ms.Request], *, end: bool = False) -> None:
    """Send requests from a command. `end`: Temporal is told that the workflow is cancelled, too."""

    async def go() -> None:
        client = await connect(connection)
        for request in requests:
            await ask(client, run, request)
        if end:
            await handle_of(client, run).cancel()

    asyncio.run(go())


def workers_of(connection: Connection) -> int:
    """How many ask for work on the queue. Raises `Unreachable`."""

    async def go() -> int:
        client = await connect(connection)
        asked = DescribeTaskQueueRequest(
            namespace=connection.namespace,
            task_queue=TaskQueue(name=connection.queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
        found = await client.workflow_service.describe_task_queue(asked, timeout=ASK_WITHIN)
        return len(found.pollers)

    return asyncio.run(go())
