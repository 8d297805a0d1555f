"""Whatever happens at whichever change of a file: what somebody was told of is there, and the run goes on."""

import errno
import os
import random
from pathlib import Path

import pytest

from crash import faults, story
from onward.errors import StateError
from onward.model.events import AnyEvent

ALL = bool(os.environ.get("ONWARD_CRASH_ALL"))
"""many ways in which power can go, not only a few"""


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """The changes that the story makes."""
    with faults.counted() as calls:
        story.tell(tmp_path_factory.mktemp("changes"), lambda seq: None)
    return calls


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[AnyEvent]:
    """The events of the story."""
    return story.whole_story(tmp_path_factory.mktemp("events"))


def in_places(place: Path, numbers: list[int]) -> list[tuple[int, Path]]:
    """A folder for each number."""
    places = [(number, place / str(number)) for number in numbers]
    for _, folder in places:
        folder.mkdir()
    return places


def told_by_a_child(place: Path, fault: object) -> tuple[int, int]:
    """Tell the story in a child process under a fault: its exit status, and the last event that it told of."""
    reader, writer = os.pipe()

    def work() -> None:
        with fault:
            story.tell(place, lambda seq: os.write(writer, bytes([seq])) and None)

    status = faults.in_a_child(work)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    return status, max(told, default=0)


@pytest.mark.crash
def test_a_process_that_ends_before_any_change_loses_nothing(place: Path, changes: list, events: list) -> None:
    for number, folder in in_places(place, list(range(1, len(changes) + 1))):
        status, told = told_by_a_child(folder, faults.stopping(number))
        assert status == faults.STOPPED
        story.check_and_go_on(folder, told, events)


@pytest.mark.crash
def test_a_process_that_ends_in_the_middle_of_any_write_loses_nothing(
    place: Path, changes: list, events: list
) -> None:
    writes = [number for number in range(1, len(changes)) if changes[number - 1][0] == "write"]
    assert len(writes) > 10
    for number, folder in in_places(place, writes):
        status, told = told_by_a_child(folder, faults.tearing(number, faults.stop))
        assert status == faults.STOPPED
        story.check_and_go_on(folder, told, events)


@pytest.mark.crash
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS], ids=["full", "input-output", "read-only"])
def test_any_change_that_fails_stops_the_run_with_a_reason_and_loses_nothing(
    error: int, place: Path, changes: list, events: list
) -> None:
    for number, folder in in_places(place, list(range(1, len(changes) + 1))):
        told = [0]
        with faults.failing(number, error), pytest.raises(StateError) as caught:
            story.tell(folder, told.append)
        assert os.strerror(error) in caught.value.message
        assert str(folder) in caught.value.message
        assert caught.value.help
        assert caught.value.exit_code == 4
        story.check_and_go_on(folder, told[-1], events)


@pytest.mark.crash
def test_a_write_that_meets_a_full_disk_in_its_middle_loses_nothing(place: Path, changes: list, events: list) -> None:
    writes = [number for number in range(1, len(changes)) if changes[number - 1][0] == "write"]
    for number, folder in in_places(place, writes):
        told = [0]
        with faults.tearing(number, faults.disk_full), pytest.raises(StateError):
            story.tell(folder, told.append)
        story.check_and_go_on(folder, told[-1], events)


@pytest.mark.crash
def test_power_that_goes_before_any_change_loses_nothing(place: Path, changes: list, events: list) -> None:
    luck = random.Random(4)
    for number, folder in in_places(place, list(range(1, len(changes) + 1))):
        for attempt in range(40 if ALL else 2):
            told = [0]
            before, after = folder / f"before-{attempt}", folder / f"after-{attempt}"
            before.mkdir()
            disk = faults.Disk(before)
            with pytest.raises(faults.PowerCut), disk.power_goes(number):
                story.tell(before, told.append)
            disk.restore(after, luck)
            story.check_and_go_on(after, told[-1], events)
