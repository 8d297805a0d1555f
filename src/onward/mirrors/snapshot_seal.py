"""Bytes ↔ bytes that are compressed (zstd) or encrypted (AES-256-GCM); a reader sees by their beginning what they are.

An encrypted file begins with a mark and a fingerprint of its key, so that a wrong key is told from damage. Both need
an optional library, which is imported when it is used.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from onward import clock
from onward.mirrors.pause_errors import SnapshotSealed

KEY_VARIABLE = "ONWARD_SNAPSHOT_KEY"
"""holds a key"""
KEY_FILE_VARIABLE = "ONWARD_SNAPSHOT_KEY_FILE"
"""names a file that does"""

KEY_BYTES = 32
MAKE_A_KEY = "`openssl rand -hex 32 > key` makes one"

_ZSTD = b"\x28\xb5\x2f\xfd"
_ENCRYPTED = b"onward-aes256gcm-1\n"
_PRINT_BYTES = 8
_NONCE_BYTES = 12
_HEAD_BYTES = len(_ENCRYPTED) + _PRINT_BYTES + _NONCE_BYTES
_HEX = re.compile(rb"[0-9A-Fa-f]{64}")


def seal(data: bytes, *, compress: bool = False, key: bytes | None = None) -> bytes:
    """Compress, then encrypt, as asked. Raises `SnapshotSealed` where the library for that is not there."""
    if compress:
        data = _zstd().compress(data)
    return data if key is None else _encrypt(data, key)


def unseal(data: bytes, *, key: bytes | None = None, where: str = "the snapshot") -> bytes:
    """What was sealed. Raises `SnapshotSealed` for a missing or wrong key and for altered bytes."""
    if is_encrypted(data):
        data = _decrypt(data, key, where)
    if is_compressed(data):
        zstd = _zstd()
        try:
            data = zstd.decompress(data)
        except zstd.ZstdError as error:
            raise SnapshotSealed(f"{where} is damaged: {error}", help="use another copy") from error
    return data


def is_compressed(data: bytes) -> bool:
    """Whether these bytes are the beginning of a compressed file."""
    return data.startswith(_ZSTD)


def is_encrypted(data: bytes) -> bool:
    """Whether these bytes are the beginning of an encrypted file."""
    return data.startswith(_ENCRYPTED)


# ---------------------------------------------------------------- keys


def find_key(file: str | os.PathLike[str] | None, environment: Mapping[str, str]) -> bytes | None:
    """The key in a file, else the one that the environment holds or names; None where there is none."""
    if file is None and KEY_VARIABLE in environment:
        return parse_key(environment[KEY_VARIABLE].encode(), KEY_VARIABLE)
    named = file if file is not None else environment.get(KEY_FILE_VARIABLE)
    return None if named is None else read_key(named)


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file: 32 bytes, or 64 hexadecimal digits, or Base64. Raises `SnapshotSealed`."""
    try:
        with open(path, "rb") as file:
            data = file.read(1024)
    except OSError as error:
        raise SnapshotSealed(f"cannot read the key {os.fspath(path)}: {error.strerror}", help=MAKE_A_KEY) from error
    return parse_key(data, os.fspath(path))


def parse_key(data: bytes, where: str) -> bytes:
    """The key that these bytes are or write down."""
    if len(data) == KEY_BYTES:
        return data
    text = data.strip()
    if _HEX.fullmatch(text):
        return bytes.fromhex(text.decode())
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != KEY_BYTES:
        raise SnapshotSealed(f"{where} holds no key: it is {KEY_BYTES} bytes, as hex or Base64", help=MAKE_A_KEY)
    return key


# ---------------------------------------------------------------- libraries


def _encrypt(data: bytes, key: bytes) -> bytes:
    nonce = bytes.fromhex(clock.token_hex(2 * _NONCE_BYTES))
    head = _ENCRYPTED + _print_of(key) + nonce
    sealed: bytes = _cipher(key).encrypt(nonce, data, head)
    return head + sealed


def _decrypt(data: bytes, key: bytes | None, where: str) -> bytes:
    if key is None:
        raise SnapshotSealed(
            f"{where} is encrypted, and no key was given",
            help=f"name the key with --key-file, {KEY_FILE_VARIABLE} or {KEY_VARIABLE}",
        )
    head = data[:_HEAD_BYTES]
    if head[len(_ENCRYPTED) : -_NONCE_BYTES] != _print_of(key):
        raise SnapshotSealed(f"{where} was encrypted with another key", help="name the key that it was made with")
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        found: bytes = cipher.decrypt(head[-_NONCE_BYTES:], data[_HEAD_BYTES:], head)
    except InvalidTag as error:
        raise SnapshotSealed(f"{where} was altered or is damaged", help="use another copy") from error
    return found


def _print_of(key: bytes) -> bytes:
    return sha256(b"onward snapshot key\0" + key).digest()[:_PRINT_BYTES]


def _cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise SnapshotSealed(
            "encryption needs the library `cryptography`", help="install it with: pip install 'onward[crypto]'"
        ) from error
    return AESGCM(key)


def _zstd() -> Any:
    from importlib import import_module

    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise SnapshotSealed(
        "compression needs Python 3.14, or the library `backports.zstd`",
        help="install it with: pip install 'onward[zstd]'",
    )
