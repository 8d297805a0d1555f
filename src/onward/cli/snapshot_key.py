"""The options that name a key and ask for compression or encryption, and the key that they mean."""

from __future__ import annotations

import os

import click

from onward.errors import UsageError
from onward.mirrors.snapshot_seal import KEY_FILE_VARIABLE, KEY_VARIABLE, find_key

key_option = click.option(
    "--key-file",
    metavar="F",
    type=click.Path(dir_okay=False),
    help=f"The key for encryption: 32 bytes, as hex or Base64 (or {KEY_FILE_VARIABLE}, or {KEY_VARIABLE} itself).",
)
compress_option = click.option("--compress", is_flag=True, help="Compress it (zstd).")
encrypt_option = click.option(
    "--encrypt", is_flag=True, help="Encrypt it with the key of the environment; --key-file implies it."
)


def wanted_key(file: str | None, *, encrypt: bool) -> bytes | None:
    """The key to encrypt with; None where that was not asked for."""
    if file is None and not encrypt:
        return None
    key = find_key(file, os.environ)
    if key is None:
        raise UsageError("there is no key to encrypt with", help=f"--key-file, {KEY_FILE_VARIABLE} or {KEY_VARIABLE}")
    return key
