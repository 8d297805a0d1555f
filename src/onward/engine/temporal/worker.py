"""`onward worker`: serves a queue until it is told to stop; what runs then goes on under its keeper."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta

from msgspec import Struct
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import Worker, WorkerDeploymentConfig
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from onward.engine.temporal import messages as ms
from onward.engine.temporal.activities import Activities
from onward.engine.temporal.connection import Connection, connect
from onward.engine.temporal.workflow import OnwardRun

STICKY = timedelta(seconds=1)
"""how long a turn of a workflow waits for the worker that did the one before"""
THROTTLE = timedelta(seconds=0.2)
"""a task that is to be stopped hears of it with a heartbeat"""


class WorkerOptions(Struct, frozen=True, kw_only=True):
    """What `onward worker` was asked for. `slots`: most tasks at once."""

    connection: Connection
    store: str | None = None
    slots: int = 100
    workflows: bool = True
    deployment: str | None = None
    build_id: str | None = None


def serve(options: WorkerOptions, tell: Callable[[str], None]) -> None:
    """Until SIGTERM or SIGINT. Raises `Unreachable`."""
    asyncio.run(_serve(options, tell))


async def _serve(options: WorkerOptions, tell: Callable[[str], None]) -> None:
    client = await connect(options.connection)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    queue, host = options.connection.queue, os.uname().nodename
    activities = Activities(client, options.store)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_worker(client, queue, options, activities))
        await stack.enter_async_context(_host_worker(client, ms.host_queue(queue, host), options, activities))
        tell(f"serving the queue `{queue}` of {options.connection.address} on {host}; Ctrl-C stops it, tasks go on")
        await stop.wait()
        tell("stopping; what runs goes on and is found again by a worker on this host")
    activities.close()


def _worker(client: Client, queue: str, options: WorkerOptions, activities: Activities) -> Worker:
    return Worker(
        client,
        task_queue=queue,
        workflows=[OnwardRun] if options.workflows else [],
        activities=activities.all,
        workflow_runner=runner(),
        max_concurrent_activities=options.slots,
        sticky_queue_schedule_to_start_timeout=STICKY,
        max_heartbeat_throttle_interval=THROTTLE,
        default_heartbeat_throttle_interval=THROTTLE,
        deployment_config=_deployment(options),
    )


def _deployment(options: WorkerOptions) -> WorkerDeploymentConfig | None:
    """Runs stay with the release that began them, where releases are told apart."""
    if options.deployment is None or options.build_id is None:
        return None
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(deployment_name=options.deployment, build_id=options.build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


def _host_worker(client: Client, queue: str, options: WorkerOptions, activities: Activities) -> Worker:
    """Tasks that have to be done on this host: where they began, or where their files are."""
    return Worker(
        client,
        task_queue=queue,
        activities=activities.all,
        max_concurrent_activities=options.slots,
        max_heartbeat_throttle_interval=THROTTLE,
        default_heartbeat_throttle_interval=THROTTLE,
    )


def runner() -> SandboxedWorkflowRunner:
    """The sandbox, with what the workflow shares with everything else passed through."""
    restrictions = SandboxRestrictions.default.with_passthrough_modules("onward", "msgspec")
    return SandboxedWorkflowRunner(restrictions=restrictions)
