"""A run that nobody drives → one portable file, with definition, results and artifacts; each with its SHA-256.

The file is a tar archive: `run/…` is the run's folder, `artifacts/…` what finished tasks made (relative to the folder
that tasks work in), and `manifest.json`, last, lists every file with its digest. It may be compressed and encrypted.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from onward import clock, files
from onward.errors import OnwardError, StoreError
from onward.mirrors.snapshot_seal import seal
from onward.model.values import Artifact
from onward.state.run_state import RunState
from onward.store.folder import RunFolder

KIND = "onward-run"
VERSION = 1
MANIFEST = "manifest.json"
RUN, ARTIFACTS = "run/", "artifacts/"
SEALED_LIMIT = 1 << 30

_LEFT_OUT = {"lock", "driver", "state.json", "spare", "inbox"}
"""who drives it, what can be made again, and signals that nobody took"""


class CannotCarry(OnwardError):
    """A run cannot be exported or imported; nothing was changed."""

    code = "cannot-carry"


class Entry(Struct, frozen=True, kw_only=True):
    """A file of the archive."""

    name: str
    bytes: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """What the archive holds. `seq` and `chain` are those of the last event."""

    kind: str
    version: int
    run: str
    workflow: str
    exported_at: datetime
    host: str
    by: str
    seq: int
    chain: str
    snapshot: str
    files: list[Entry]
    left: list[str]
    """artifacts that are not in it: gone, changed, or outside the folder that tasks work in"""


class Origin(Struct, frozen=True, kw_only=True):
    """Who exports, and up to which event."""

    host: str
    by: str
    seq: int
    chain: str
    snapshot: str


def export(
    folder: RunFolder,
    state: RunState,
    directory: Path,
    target: Path,
    origin: Origin,
    *,
    compress: bool = False,
    key: bytes | None = None,
) -> Manifest:
    """Write the archive; whole, or not at all. The caller holds the lock of the run. Raises `CannotCarry`."""
    draft = target.with_name(f".{target.name}.{os.getpid()}-0.onward-tmp")
    try:
        with open(draft, "xb") as file:
            os.chmod(draft, files.FILE_MODE)
            manifest = _write(file, folder, state, directory, origin)
        data = _sealed(draft, compress=compress, key=key)
        if data is not None:
            draft.write_bytes(data)
        _keep(draft, target)
    except OSError as error:
        raise CannotCarry(f"cannot write {target}: {os.strerror(error.errno or 0)}") from error
    finally:
        draft.unlink(missing_ok=True)
    return manifest


def _keep(draft: Path, target: Path) -> None:
    with open(draft, "rb") as file:
        os.fsync(file.fileno())
    files.move(draft, target)
    try:
        files.flush_folder(target.parent)
    except StoreError as error:
        raise CannotCarry(error.message, help=error.help) from error


def _sealed(draft: Path, *, compress: bool, key: bytes | None) -> bytes | None:
    if not compress and key is None:
        return None
    size = draft.stat().st_size
    if size > SEALED_LIMIT:
        raise CannotCarry(
            f"the run is {size:,} bytes large; compressed or encrypted files are made of {SEALED_LIMIT:,} at most",
            help="export it as it is, and seal the file with a program of your own",
        )
    return seal(draft.read_bytes(), compress=compress, key=key)


def _write(file: io.BufferedWriter, folder: RunFolder, state: RunState, directory: Path, origin: Origin) -> Manifest:
    entries: list[Entry] = []
    left: list[str] = []
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        root = folder.root
        entries += [_add(archive, path, RUN + path.relative_to(root).as_posix()) for path in _files_of(root)]
        for artifact in artifacts_of(state):
            path = _inside(directory, artifact.path)
            entry = _add_artifact(archive, path, artifact) if path is not None else None
            entries.append(entry) if entry is not None else left.append(artifact.path)
        manifest = Manifest(
            kind=KIND,
            version=VERSION,
            run=folder.run_id,
            workflow=state.facts.file,
            exported_at=clock.now(),
            host=origin.host,
            by=origin.by,
            seq=origin.seq,
            chain=origin.chain,
            snapshot=origin.snapshot,
            files=entries,
            left=left,
        )
        _add_bytes(archive, msgspec.json.format(msgspec.json.encode(manifest), indent=2), MANIFEST)
    return manifest


def _files_of(root: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        at_top = place == os.fspath(root)
        folders[:] = sorted(name for name in folders if not (at_top and name in _LEFT_OUT))
        for name in sorted(names):
            path = Path(place, name)
            is_left_out = (at_top and name in _LEFT_OUT) or name.endswith(".onward-tmp")
            if not is_left_out and path.is_file() and not path.is_symlink():
                yield path


def artifacts_of(state: RunState) -> list[Artifact]:
    """The artifacts of nodes that have ended, by path."""
    found = {
        artifact.path: artifact
        for instance in state.instances.values()
        if instance.ended
        for artifact in instance.artifacts
    }
    return [found[path] for path in sorted(found)]


def _inside(directory: Path, name: str) -> Path | None:
    """Where an artifact lies, if that is a plain name below the folder."""
    parts = Path(name).parts
    return directory / name if parts and ".." not in parts and not os.path.isabs(name) else None


def _add_artifact(archive: tarfile.TarFile, path: Path, artifact: Artifact) -> Entry | None:
    try:
        data = path.read_bytes() if not artifact.path.endswith("/") else None
    except OSError:
        data = None
    if data is None or hashlib.sha256(data).hexdigest() != artifact.sha256:
        return None
    return _add_bytes(archive, data, ARTIFACTS + artifact.path)


def _add(archive: tarfile.TarFile, path: Path, name: str) -> Entry:
    return _add_bytes(archive, path.read_bytes(), name)


def _add_bytes(archive: tarfile.TarFile, data: bytes, name: str) -> Entry:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), files.FILE_MODE
    member.mtime = int(clock.now().timestamp())
    archive.addfile(member, io.BytesIO(data))
    return Entry(name=name, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
