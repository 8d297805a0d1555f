"""How one change moves the rest: children are reached, and containers end.

Everything here follows from recorded events alone, so a journal that is read again leads to the same place.
"""

from __future__ import annotations

from onward.model.nodes import Kind, Loop, Node
from onward.model.status import Status, Then
from onward.state.instance import Asked, Instance, Role, Stage
from onward.state.places import admit, hold, release
from onward.state.run_state import RunState, steps_of
from onward.state.timers import watch_timer

# --- reaching -------------------------------------------------------------------------------------------------


def reach(state: RunState, instance: Instance, parent: Instance) -> None:
    """`instance` is next: it joins the open children of `parent`, and moves unless its end is known."""
    if parent.open is None:
        parent.open = {}
    parent.open[instance] = None
    if instance.stage is Stage.NEW:
        instance.stage = Stage.REACHED
        if parent.ending is not None:
            instance.ending = parent.ending
    progress(state, instance)


def progress(state: RunState, instance: Instance) -> None:
    """Take every step that needs no answer from outside; what needs one joins the frontier."""
    while True:
        match instance.stage:
            case Stage.NEW:
                return
            case Stage.RUNNING if instance.is_leaf:
                hold(state, instance)
                return
            case Stage.RUNNING:
                enter_body(state, instance)
                return
            case Stage.GATE | Stage.WAITING:
                release(state, instance)
                watch_timer(state, instance)
                return
            case Stage.WORKED | Stage.VALID | Stage.SURE if not instance.is_leaf:
                if _container_waits(instance):
                    state.frontier[instance.path] = instance
                    return
            case Stage.BROKEN | Stage.HANDLING:
                release(state, instance)
                if _enter_section(state, instance, "@on-failure", Stage.HANDLING):
                    return
                instance.stage = Stage.HANDLED
            case Stage.HANDLED:
                if _asks_about_failure(instance):
                    state.frontier[instance.path] = instance
                    return
                instance.stage = Stage.CLOSING
            case Stage.CLOSING:
                if _enter_section(state, instance, "@finally", Stage.CLOSING):
                    return
                instance.stage = Stage.CLOSED
            case Stage.CLOSED:
                state.frontier[instance.path] = instance
                return
            case Stage.ENDED:
                _leave(state, instance)
                return
            case _:
                admit(state, instance)
                return


def _container_waits(instance: Instance) -> bool:
    """Move a container whose body is done; True when a question must be answered first."""
    node = instance.node
    assert node is not None
    if instance.role is not Role.LOOP and instance.stage in (Stage.WORKED, Stage.VALID):
        if node.after:
            return True
        instance.stage = Stage.SURE
    if instance.role is not Role.LOOP and node.artifacts and not instance.asked & Asked.ARTIFACTS:
        return True
    instance.result = Status.SUCCEEDED
    instance.stage = Stage.CLOSING
    return False


def _asks_about_failure(instance: Instance) -> bool:
    node = instance.node
    return (
        node is not None
        and node.on_failure is Then.ASK
        and instance.role in (Role.NODE, Role.ITERATION)
        and instance.result is Status.FAILED
        and not instance.asked & Asked.GATE
        and instance.ending is None
    )


def _enter_section(state: RunState, owner: Instance, name: str, stage: Stage) -> bool:
    """Go on in a section of `owner`; False when it has none, or all of it is done.

    A section whose last step is done moves its owner on by itself (`_section_done`).
    """
    node = owner.node
    if node is None:
        return False
    if name == "@on-failure":
        wanted = bool(node.on_failure_steps) and owner.role in (Role.NODE, Role.ITERATION)
        wanted = wanted and owner.result is Status.FAILED
    else:
        wanted = bool(node.finally_steps) and owner.role in (Role.NODE, Role.LOOP)
    if not wanted:
        return False
    section = state.section(owner, name)
    if section.stage is Stage.ENDED:
        return False
    owner.stage = stage
    section.stage = Stage.RUNNING
    enter_body(state, section)
    return True


# --- bodies ---------------------------------------------------------------------------------------------------


def enter_body(state: RunState, container: Instance) -> None:
    """Reach the children that are due now."""
    node = container.node
    assert node is not None
    if container.role is Role.LOOP:
        _enter_loop(state, container)
    elif container.role is Role.SECTION or node.kind in (Kind.TASK, Kind.INCLUDE):
        _enter_step(state, container)
    else:
        _enter_group(state, container)


def _enter_step(state: RunState, sequence: Instance) -> None:
    """Go to the first step that is not done. Position is no identity: children that ended are passed over."""
    steps = steps_of(sequence)
    cut = bool(sequence.asked & Asked.CUT)
    while sequence.cursor < len(steps):
        if sequence.stopped is not None or sequence.ending is not None or cut:
            body_done(state, sequence)
            return
        waiting = []
        for node in steps[sequence.cursor]:
            child = state.child(sequence, node)
            if child.stage is Stage.ENDED:
                _note_end(sequence, child)
            else:
                waiting.append(child)
        if sequence.stopped is None:
            _reach_all(state, sequence, waiting)
            if waiting:
                return
        sequence.cursor += 1
    body_done(state, sequence)


def _reach_all(state: RunState, parent: Instance, children: list[Instance]) -> None:
    if parent.open is None:
        parent.open = {}
    parent.open.update(dict.fromkeys(children))
    for child in children:
        reach(state, child, parent)


def _enter_group(state: RunState, group: Instance) -> None:
    assert group.node is not None
    due: list[Instance] = []
    for node in group.node.members if not group.asked & Asked.CUT else ():
        child = state.child(group, node)
        if child.stage is Stage.ENDED:
            _note_end(group, child)
        elif _needs_met(state, group, node, child):
            due.append(child)
    _reach_all(state, group, due)
    if not group.open and group.stage is Stage.RUNNING:
        _merge_or_done(state, group)


def _needs_met(state: RunState, group: Instance, node: Node, child: Instance) -> bool:
    """Whether the members that `node` names have ended; a failed one marks `child` to be cancelled."""
    for name in node.needs:
        needed = state.instances.get(f"{group.path}/{name}" if group.path else name)
        if needed is None or needed.stage is not Stage.ENDED:
            return False
        if not needed.status.passed:
            child.ending = f"`{name}` {needed.status}"
    return True


def _enter_loop(state: RunState, loop: Instance) -> None:
    assert loop.node is not None
    assert loop.node.loop is not None
    if loop.node.loop.counted:
        _enter_counted(state, loop)
    else:
        _enter_items(state, loop)


def _enter_items(state: RunState, loop: Instance) -> None:
    """Keep as many iterations going as `limit` allows, in the order of the items."""
    assert loop.node is not None
    assert loop.node.loop is not None
    rules, items = loop.node.loop, loop.items or []
    if loop.open is None:
        loop.open = {}
    if loop.asked & Asked.REFRESH and not loop.asked & Asked.CUT and loop.stopped is None:
        if not loop.issued:
            state.frontier[loop.path] = loop
        return
    while loop.cursor < len(items) and len(loop.open) < rules.limit:
        if loop.stopped is not None or loop.asked & Asked.CUT:
            break
        child = state.iteration(loop, items[loop.cursor][0])
        child.position = loop.cursor
        if child.stage is Stage.ENDED:
            _note_end(loop, child)
        elif _delay_due(loop, child):
            state.frontier[loop.path] = loop
            return
        else:
            loop.cursor += 1
            reach(state, child, loop)
            continue
        loop.cursor += 1
    if not loop.open and loop.stage is Stage.RUNNING:
        _merge_or_done(state, loop)


def _delay_due(loop: Instance, child: Instance) -> bool:
    """Whether the delay before this iteration has still to be recorded (or runs: then the timer wakes the loop)."""
    assert loop.node is not None
    assert loop.node.loop is not None
    return (
        bool(loop.node.loop.delay_s)
        and loop.cursor > 0
        and child.stage is Stage.NEW
        and not child.asked & Asked.DELAY
        and child.attempt == 0
        and loop.until is None
    )


def _enter_counted(state: RunState, loop: Instance) -> None:
    """Go through the rounds of a `while`/`until` loop; `cursor` is the number of rounds that are over."""
    assert loop.node is not None
    assert loop.node.loop is not None
    rules = loop.node.loop
    while True:
        child = state.iteration(loop, str(loop.cursor + 1))
        if child.stage is Stage.ENDED:
            _note_end(loop, child)
        if loop.stopped is not None or loop.asked & Asked.CUT:
            _merge_or_done(state, loop)
            return
        if child.stage is not Stage.ENDED:
            _begin_round(state, loop, child)
            return
        if rules.until and not child.asked & (Asked.UNTIL_TRUE | Asked.UNTIL_FALSE):
            state.frontier[loop.path] = loop
            return
        if child.asked & Asked.UNTIL_TRUE:
            _merge_or_done(state, loop)
            return
        loop.cursor += 1
        if loop.cursor >= rules.max:
            _end_at_max(state, loop, rules)
            return


def _end_at_max(state: RunState, loop: Instance, rules: Loop) -> None:
    """All rounds are used up."""
    if rules.on_max_fail:
        word = "`until` did not come true" if rules.until else "`while` still held"
        loop.stopped = f"{word} after {rules.max} rounds"
    _merge_or_done(state, loop)


def _begin_round(state: RunState, loop: Instance, child: Instance) -> None:
    assert loop.node is not None
    assert loop.node.loop is not None
    if child.asked & Asked.WHILE_FALSE:
        _merge_or_done(state, loop)
    elif (loop.node.loop.while_ and not child.asked & Asked.WHILE) or _delay_due(loop, child):
        state.frontier[loop.path] = loop
    else:
        reach(state, child, loop)


def _merge_or_done(state: RunState, container: Instance) -> None:
    """All members or iterations have ended: merge when none stopped, then the body is done."""
    node = container.node
    assert node is not None
    if node.merge and container.stopped is None and not container.asked & Asked.CUT:
        section = state.section(container, "@merge")
        if section.stage is not Stage.ENDED:
            section.stage = Stage.RUNNING
            enter_body(state, section)
            return
        if section.stopped is not None:
            container.stopped = section.stopped
    body_done(state, container)


def body_done(state: RunState, container: Instance) -> None:
    """The children of a container are done: it worked, or it is broken. A section reports to its owner."""
    if container.open:
        return
    if container.role is Role.SECTION:
        _section_done(state, container)
        return
    if container.ending is not None:
        container.result, container.reason = Status.CANCELLED, container.ending
        container.stage = Stage.CLOSING
    elif container.stopped is not None:
        container.result, container.reason = Status.FAILED, container.stopped
        container.stage = Stage.BROKEN
    else:
        container.stage = Stage.WORKED
    progress(state, container)


def _section_done(state: RunState, section: Instance) -> None:
    owner = section.parent
    assert owner is not None
    section.stage = Stage.ENDED
    match section.path.rpartition("/")[2]:
        case "@merge":
            if section.stopped is not None:
                owner.stopped = section.stopped
            body_done(state, owner)
            return
        case "@on-failure":
            owner.stage = Stage.HANDLED
        case _:
            if section.stopped is not None and owner.result is not Status.FAILED:
                owner.result, owner.reason = Status.FAILED, section.stopped
            owner.stage = Stage.CLOSED
    progress(state, owner)


# --- ends -----------------------------------------------------------------------------------------------------


def _leave(state: RunState, instance: Instance) -> None:
    """An end is recorded: its place is free, and its parent goes on."""
    release(state, instance)
    parent = instance.parent
    if instance.node is not None and not instance.node.referenced:
        instance.outputs = {}
    if parent is None or parent.open is None or instance not in parent.open:
        return
    del parent.open[instance]
    if parent.stage in (Stage.NEW, Stage.ENDED):
        return
    _note_end(parent, instance)
    if parent.role is Role.LOOP:
        _after_iteration(state, parent)
    elif parent.role is Role.NODE or parent.role is Role.ITERATION:
        if parent.node is not None and parent.node.kind is Kind.PARALLEL:
            _after_member(state, parent, instance)
        else:
            _after_step(state, parent)
    else:
        _after_step(state, parent)


def _note_end(parent: Instance, child: Instance) -> None:
    """Whether the end of `child` stops `parent`."""
    if parent.stopped is None and child.status is Status.FAILED and stops(child):
        parent.stopped = f"`{child.name}` failed" + (f": {child.reason}" if child.reason and child.is_leaf else "")


def stops(child: Instance) -> bool:
    """Whether the failure of `child` stops its parent."""
    if child.node is None or child.role is Role.LOOP:
        return child.node is not None
    return child.node.on_failure is not Then.CONTINUE


def _after_step(state: RunState, sequence: Instance) -> None:
    if sequence.open:
        return
    if sequence.stopped is not None or sequence.ending is not None:
        body_done(state, sequence)
        return
    sequence.cursor += 1
    _enter_step(state, sequence)


def _after_member(state: RunState, group: Instance, child: Instance) -> None:
    node = group.node
    assert node is not None
    if group.stopped is not None and node.fail_fast and not group.asked & Asked.CUT:
        cut(state, group, f"stopped: {group.stopped}")
        return
    if child.node is not None and not group.asked & Asked.CUT:
        for dependent in state.dependents(node).get(child.node.name, ()):
            other = state.child(group, dependent)
            if other.stage is Stage.NEW and _needs_met(state, group, dependent, other):
                reach(state, other, group)
    if not group.open and group.stage is Stage.RUNNING:
        _merge_or_done(state, group)


def _after_iteration(state: RunState, loop: Instance) -> None:
    assert loop.node is not None
    assert loop.node.loop is not None
    rules = loop.node.loop
    if loop.stopped is not None:
        fast = rules.fail_fast if rules.fail_fast is not None else False
        if fast and not loop.asked & Asked.CUT:
            cut(state, loop, f"stopped: {loop.stopped}")
            return
        if not fast and rules.limit > 1 and not loop.asked & Asked.CUT:
            _go_on_despite_failure(state, loop)
            return
        if not loop.open and loop.stage is Stage.RUNNING:
            _merge_or_done(state, loop)
        return
    _enter_loop(state, loop)


def _go_on_despite_failure(state: RunState, loop: Instance) -> None:
    """With `limit` over 1 the other iterations still run; the failure is remembered."""
    stopped, loop.stopped = loop.stopped, None
    stage = loop.stage
    loop.stage = Stage.READY  # so that an empty rest does not end the loop before the failure is put back
    _enter_loop(state, loop)
    loop.stage = stage
    loop.stopped = stopped
    if not loop.open and loop.path not in state.frontier:
        _merge_or_done(state, loop)


def cut(state: RunState, container: Instance, reason: str) -> None:
    """End the body of a container: nothing more is reached, what is open is ended."""
    container.asked |= Asked.CUT
    section = state.existing_section(container, "@merge")
    if section is not None and section.stage is Stage.RUNNING:
        section.ending = reason
        end_below(state, section, reason)
    end_below(state, container, reason)
    if not container.open and container.stage is Stage.RUNNING and (section is None or not section.open):
        body_done(state, container)


def end_below(state: RunState, container: Instance, reason: str) -> None:
    """End everything open below `container`: running attempts are stopped, the rest is cancelled."""
    for child in list(container.open or ()):
        end_one(state, child, reason)


def end_one(state: RunState, instance: Instance, reason: str) -> None:
    """End one open instance and everything open below it."""
    if instance.ended or instance.ending is not None:
        return
    instance.ending = reason
    if instance.stage is Stage.RUNNING and instance.is_leaf:
        state.stops[instance.path] = reason
    elif instance.stage is Stage.RUNNING:
        cut(state, instance, reason)
    elif instance.stage in (Stage.CLOSING, Stage.CLOSED, Stage.HANDLING):
        return
    else:
        release(state, instance)
        state.gates.pop(instance.path, None)
        instance.result, instance.reason = Status.CANCELLED, reason
        instance.stage = Stage.CLOSED
        progress(state, instance)
