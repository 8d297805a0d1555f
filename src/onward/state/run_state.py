"""The state of a run: its instances by path, what can move, what waits, and the facts of the run itself."""

from __future__ import annotations

from msgspec import Struct, field

from onward.model.events import GateOpen, Owner
from onward.model.nodes import Node, Plan
from onward.model.status import RunStatus, Status
from onward.state.instance import NO_OUTPUTS, Instance, Role, Stage

SECTIONS = ("@merge", "@on-failure", "@finally")


class Pausing(Struct):
    """A pause that was asked for; `complete` once everything is quiet. Times: seconds since the epoch."""

    reason: str
    by: str
    cause: str
    grace_s: float
    requested_at: float
    complete: bool = False
    active: list[str] = field(default_factory=list)
    until: float | None = None


class RunFacts(Struct):
    """What the events say about the run as a whole."""

    run: str = ""
    name: str = ""
    title: str = ""
    workflow_file: str = ""
    file: str = ""
    directory: str = ""
    definition_sha256: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    datetime: str = ""
    adapter: str | None = None
    limit: int | None = None
    watch: dict[str, str | None] = field(default_factory=dict)
    revision: str | None = None
    owner: Owner | None = None
    started_at: float = 0.0
    ended_at: float | None = None
    end: Status | None = None
    end_reason: str = ""
    resumed_count: int = 0
    resumed_at: float | None = None
    paused_at: float | None = None
    seq: int = 0
    epoch: int = 0
    last_at: float = 0.0
    previous_at: float = 0.0
    active_s: float = 0.0
    """seconds of active time before the present span"""
    span_at: float | None = None
    """when the present span of active time began; None while no driver works"""
    variables_changed: dict[str, int] = field(default_factory=dict)
    """variable -> the event that gave it another value"""
    budgets: dict[str, dict[str, float]] = field(default_factory=dict)
    """path -> what of its budget was raised, and to how much"""


class RunState:
    """Everything that `decide` looks at. Changed by `fold`, `wake` and `issue` alone.

    `frontier` holds what can move and was not issued to the engine yet; `deadlines` the due times of containers
    (in active seconds) and gates. `live` is False while a journal is read: then events only record facts, and
    `settle` works out afterwards what can move.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.facts = RunFacts()
        self.index: dict[str, Node] = {node.path: node for node in plan.root.walk()}
        self.root = Instance("", node=plan.root)
        self.instances: dict[str, Instance] = {"": self.root}
        self.frontier: dict[str, Instance] = {}
        self.timers: list[tuple[float, int, str]] = []
        self.deadlines: list[tuple[float, int, str]] = []
        self.stops: dict[str, str] = {}
        self.gates: dict[str, GateOpen] = {}
        self.charged: dict[str, Instance] = {}
        self.pausing: Pausing | None = None
        self.cancelling: str | None = None
        self.running = 0
        self.issued = 0
        self.done_leaves = 0
        self.ticket = 0
        self.live = False
        self._dependents: dict[str, dict[str, list[Node]]] = {}
        self.notes: list[str] = []

    # --- places in the tree -------------------------------------------------------------------------------

    def get(self, path: str) -> Instance | None:
        """The instance of that path, if it was ever reached or recorded."""
        return self.instances.get(path)

    def ensure(self, path: str) -> Instance:
        """The instance of that path, made with its parents where it is new. Unknown names get no node."""
        found = self.instances.get(path)
        return found if found is not None else self._materialize(path)

    def child(self, parent: Instance, node: Node) -> Instance:
        """The instance of a node that stands directly below `parent`."""
        path = f"{parent.path}/{node.name}" if parent.path else node.name
        found = self.instances.get(path)
        if found is None:
            found = self._add(Instance(path, node=node, parent=parent, role=Role.LOOP if node.loop else Role.NODE))
        return found

    def iteration(self, loop: Instance, key: str) -> Instance:
        """The iteration of that key."""
        path = f"{loop.path}[{key}]"
        found = self.instances.get(path)
        if found is None:
            found = self._add(Instance(path, node=loop.node, parent=loop, role=Role.ITERATION))
        return found

    def section(self, owner: Instance, name: str) -> Instance:
        """The section `name` of `owner`: the sequence of its `@merge`, `@on-failure` or `@finally` steps."""
        path = f"{owner.path}/{name}" if owner.path else name
        found = self.instances.get(path)
        if found is None:
            found = self._add(Instance(path, node=owner.node, parent=owner, role=Role.SECTION))
        return found

    def existing_section(self, owner: Instance, name: str) -> Instance | None:
        """The section, if anything in it was ever reached."""
        return self.instances.get(f"{owner.path}/{name}" if owner.path else name)

    def _add(self, instance: Instance) -> Instance:
        instance.outputs = NO_OUTPUTS
        self.instances[instance.path] = instance
        return instance

    def _materialize(self, path: str) -> Instance:
        instance = Instance(path)
        self.place(instance)
        return self._add(instance)

    def place(self, instance: Instance) -> None:
        """Give an instance that has only its path its parent, node and role."""
        path = instance.path
        if path.endswith("]"):
            instance.parent = self.ensure(path[: path.rfind("[")])
            instance.node, instance.role = instance.parent.node, Role.ITERATION
            return
        parent_path, _, name = path.rpartition("/")
        instance.parent = parent = self.ensure(parent_path)
        if name in SECTIONS:
            instance.node, instance.role = parent.node, Role.SECTION
        elif parent.node is not None:
            instance.node = self.index.get(static_child(parent, name))
            if instance.node is not None and instance.node.loop is not None:
                instance.role = Role.LOOP

    def dependents(self, group: Node) -> dict[str, list[Node]]:
        """For a `parallel`: name of a member -> the members that need it."""
        found = self._dependents.get(group.path)
        if found is None:
            found = self._dependents[group.path] = {}
            for member in group.members:
                for name in member.needs:
                    found.setdefault(name, []).append(member)
        return found

    def scope(self, instance: Instance) -> Instance:
        """The instance that holds the variables visible at `instance`: an `include` node, or the root."""
        place: Instance | None = instance.parent
        while place is not None:
            if place.variables is not None:
                return place
            place = place.parent
        return self.root

    # --- what a reader asks -------------------------------------------------------------------------------

    @property
    def status(self) -> RunStatus:
        """The status as far as the journal knows: a reader turns `running` into `interrupted` if nobody drives."""
        facts = self.facts
        if facts.end is not None:
            return RunStatus(facts.end.value)
        if self.pausing is not None and self.pausing.complete:
            return RunStatus.PAUSED
        if self.gates and not self.running and not self.issued and not self.frontier:
            return RunStatus.WAITING
        return RunStatus.RUNNING

    @property
    def limit(self) -> int:
        """Most leaves running at once in the whole run."""
        return self.facts.limit or self.plan.limit

    def active_s(self, now: float) -> float:
        """Seconds of active time up to `now`."""
        facts = self.facts
        return facts.active_s + (max(0.0, now - facts.span_at) if facts.span_at is not None else 0.0)

    def running_leaves(self) -> list[Instance]:
        """Leaves whose attempt is recorded as begun and not as ended, in the order of the journal."""
        return [i for i in self.instances.values() if i.stage is Stage.RUNNING and i.is_leaf]


def static_child(parent: Instance, name: str) -> str:
    """The static path of the node `name` directly below `parent`."""
    assert parent.node is not None
    base = parent.node.path
    if parent.role is Role.SECTION:
        section = parent.path.rpartition("/")[2]
        base = f"{base}/{section}" if base else section
    return f"{base}/{name}" if base else name


def steps_of(instance: Instance) -> tuple[tuple[Node, ...], ...]:
    """The steps that a sequence goes through."""
    node = instance.node
    if node is None:
        return ()
    if instance.role is not Role.SECTION:
        return node.steps
    match instance.path.rpartition("/")[2]:
        case "@merge":
            return node.merge
        case "@on-failure":
            return node.on_failure_steps
        case _:
            return node.finally_steps
