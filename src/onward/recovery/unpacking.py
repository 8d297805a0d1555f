"""A portable file of a run → that run in this store, ready to be resumed; everything verified before it can be seen.

Verified are the digests of the manifest, the chain of the journal, stored results, and artifacts against what the
journal recorded. Files of the workflow and artifacts are put where the run looks for them; a file that is there and
differs is left alone, and told.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import msgspec
from msgspec import Struct

from onward import files
from onward.errors import OnwardError, StoreError
from onward.journal.lines import Position
from onward.journal.reader import read
from onward.journal.verify import verify
from onward.journal.writer import Journal
from onward.mirrors.snapshot_seal import unseal
from onward.model.events import Event
from onward.model.nodes import Plan
from onward.model.values import Artifact
from onward.recovery.carrying import ARTIFACTS, KIND, MANIFEST, RUN, VERSION, CannotCarry, Manifest
from onward.store.folder import RunFolder
from onward.store.runs import Store, check_run_id

MANIFEST_LIMIT = 256 << 20


class Unpacked(Struct, kw_only=True):
    """A run under a name that nobody looks at yet."""

    manifest: Manifest
    folder: RunFolder
    plan: Plan
    artifacts: dict[str, bytes]


class Placed(Struct, kw_only=True):
    """What became of the files outside the run's folder."""

    written: list[str]
    kept: list[str]
    """there already, the same"""
    different: list[str]
    """there already, and not the same: left alone"""
    missing: list[str]
    """not in the archive"""


def unpack(source: Path, store: Store, *, key: bytes | None = None) -> Unpacked:
    """Write the run beside the others, unseen, and verify it. Raises `CannotCarry`, `SnapshotSealed`."""
    try:
        data = source.read_bytes()
    except OSError as error:
        raise CannotCarry(f"cannot read {source}: {os.strerror(error.errno or 0)}") from error
    content = unseal(data, key=key, where=os.fspath(source))
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            return _unpack(archive, source, store)
    except tarfile.TarError as error:
        raise CannotCarry(f"{source} is no exported run, or is damaged: {error}") from error


def _unpack(archive: tarfile.TarFile, source: Path, store: Store) -> Unpacked:
    manifest = _manifest(archive, source)
    if os.path.lexists(store.runs_folder / manifest.run):
        raise CannotCarry(
            f"there is a run `{manifest.run}` in {store.root} already", help="name another store with --store"
        )
    contents = _contents(archive, manifest, source)
    store.make()
    root = store.runs_folder / f".new-{manifest.run}-{os.getpid()}"
    try:
        if root.exists():
            files.remove_tree(root)
        _write_all(root, {name: data for name, data in contents.items() if name.startswith(RUN)})
        folder = RunFolder(root)
        _check_journal(folder, manifest, source)
        plan = _plan(folder, source)
    except BaseException:
        discard(root)
        raise
    artifacts = {name.removeprefix(ARTIFACTS): data for name, data in contents.items() if name.startswith(ARTIFACTS)}
    return Unpacked(manifest=manifest, folder=folder, plan=plan, artifacts=artifacts)


def publish(unpacked: Unpacked, store: Store, event: Event) -> RunFolder:
    """Add `event` to its journal and show the run to everybody."""
    draft, target = unpacked.folder, RunFolder(store.runs_folder / unpacked.manifest.run)
    try:
        reading = _position(draft)
        with Journal.open(draft.journal, reading, epoch=reading.epoch + 1) as journal:
            journal.add(event)
            journal.flush()
        files.move(draft.root, target.root)
        files.flush_folder(store.runs_folder)
    except OSError as error:
        discard(draft.root)
        raise CannotCarry(f"cannot make {target.root}: {os.strerror(error.errno or 0)}") from error
    except BaseException:
        discard(draft.root)
        raise
    return target


def discard(root: Path) -> None:
    """Remove what was unpacked."""
    if root.exists():
        files.remove_tree(root)


# ---------------------------------------------------------------- the archive


def _manifest(archive: tarfile.TarFile, source: Path) -> Manifest:
    try:
        member = archive.getmember(MANIFEST)
        file = archive.extractfile(member) if member.size <= MANIFEST_LIMIT else None
        manifest = msgspec.json.decode(file.read() if file is not None else b"", type=Manifest)
    except KeyError:
        raise CannotCarry(f"{source} is no exported run: it has no {MANIFEST}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CannotCarry(f"{source} is no exported run: its {MANIFEST} cannot be read: {error}") from error
    if manifest.kind != KIND or manifest.version > VERSION:
        raise CannotCarry(
            f"{source} is of version {manifest.version}; this onward reads {VERSION}", help="use a newer onward"
        )
    check_run_id(manifest.run)
    return manifest


def _contents(archive: tarfile.TarFile, manifest: Manifest, source: Path) -> dict[str, bytes]:
    """Every file that the manifest lists, as listed; anything else in the archive is refused."""
    listed = {entry.name: entry for entry in manifest.files}
    found: dict[str, bytes] = {}
    for member in archive:
        if member.name == MANIFEST:
            continue
        entry = listed.get(member.name)
        if entry is None or not member.isreg() or not _is_safe(member.name) or member.size != entry.bytes:
            raise CannotCarry(f"{source} holds `{member.name}`, which its {MANIFEST} does not list so")
        file = archive.extractfile(member)
        data = file.read() if file is not None else b""
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            raise CannotCarry(f"{source}: `{member.name}` is not what was exported", help="use another copy")
        found[member.name] = data
    missing = sorted(listed.keys() - found.keys())
    if missing:
        raise CannotCarry(f"{source} is not whole: {len(missing)} files are missing, the first is `{missing[0]}`")
    return found


def _is_safe(name: str) -> bool:
    rest = next((name.removeprefix(root) for root in (RUN, ARTIFACTS) if name.startswith(root)), "")
    parts = rest.split("/")
    return bool(rest) and "\0" not in name and all(part not in ("", ".", "..") for part in parts)


def _write_all(root: Path, contents: dict[str, bytes]) -> None:
    folders = {root}
    files.make_folder(root)
    for name, data in contents.items():
        path = root / name.removeprefix(RUN)
        if path.parent not in folders:
            files.make_folder(path.parent)
            folders.add(path.parent)
        files.create(path, data)
    for folder in sorted(folders, reverse=True):
        files.flush_folder(folder)


# ---------------------------------------------------------------- what the run itself proves


def _check_journal(folder: RunFolder, manifest: Manifest, source: Path) -> None:
    found = verify(folder.journal, seq=manifest.seq, chain=manifest.chain)
    if not found.whole or found.complete is False:
        raise CannotCarry(f"{source}: the journal in it is not the one that was exported", help="use another copy")


def _position(folder: RunFolder) -> Position:
    return read(folder.journal).finish().position


def _plan(folder: RunFolder, source: Path) -> Plan:
    try:
        return msgspec.json.decode(folder.read_plan() or b"", type=Plan)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CannotCarry(f"{source}: the definition in it cannot be read: {error}") from error


def check_artifacts(unpacked: Unpacked, recorded: dict[str, Artifact]) -> None:
    """Artifacts are what the journal says. Raises `CannotCarry`."""
    for name, data in unpacked.artifacts.items():
        known = recorded.get(name)
        if known is None or hashlib.sha256(data).hexdigest() != known.sha256:
            raise CannotCarry(f"the artifact `{name}` is not what the journal recorded", help="use another copy")


# ---------------------------------------------------------------- files outside the run


def settle_workflow(unpacked: Unpacked, base: Path) -> Path:
    """The workflow's folder here. One from outside its store's folder is looked for, else put beside ours."""
    plan = unpacked.plan
    if not os.path.isabs(plan.file):
        return (base / plan.file).parent
    if os.path.exists(plan.file):
        return Path(plan.file).parent
    name = os.path.basename(plan.file)
    files.write_atomic(unpacked.folder.plan, msgspec.json.encode(msgspec.structs.replace(plan, file=name)))
    unpacked.plan = msgspec.structs.replace(plan, file=name)
    return base


def place(unpacked: Unpacked, base: Path, folder: Path, directory: Path, recorded: dict[str, Artifact]) -> Placed:
    """Put the workflow's files into `folder`, artifacts into `directory`; nothing is written outside `base`."""
    placed = Placed(written=[], kept=[], different=[], missing=[])
    for file in unpacked.plan.files:
        data = unpacked.folder.read_definition(file.path)
        if data is None:
            placed.missing.append(file.path)
        else:
            _place(base, folder, file.path, data, placed)
    for name, data in unpacked.artifacts.items():
        _place(base, directory, name, data, placed)
    placed.missing += sorted(recorded.keys() - unpacked.artifacts.keys())
    return placed


def _place(base: Path, root: Path, name: str, data: bytes, placed: Placed) -> None:
    path = root / name
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        if _stays_inside(base, path):
            _write_new(path, data)
            placed.written.append(name)
        else:
            placed.missing.append(name)
    except OSError:
        placed.different.append(name)
    else:
        (placed.kept if found == data else placed.different).append(name)


def _stays_inside(base: Path, path: Path) -> bool:
    """Whether writing there stays below the folder, links and all."""
    return path.resolve().is_relative_to(base.resolve())


def _write_new(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomic(path, data, mode=0o644)
    except (OSError, StoreError) as error:
        text = error.message if isinstance(error, OnwardError) else f"{path}: {error}"
        raise CannotCarry(f"a file of the run cannot be put in its place: {text}") from error
