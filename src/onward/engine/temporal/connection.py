"""Settings → a connection to a Temporal server. Keys and certificates are read here and written nowhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct
from temporalio.client import Client
from temporalio.service import RPCError, TLSConfig

from onward.errors import UsageError

CONNECT_WITHIN_S = 10.0
DEFAULT_ADDRESS = "localhost:7233"
DEFAULT_NAMESPACE = "default"
DEFAULT_QUEUE = "onward"


class Unreachable(UsageError):
    """No Temporal server answers."""

    code = "temporal"


class Connection(Struct, frozen=True, kw_only=True):
    """How the server is found. `tls_*` are files."""

    address: str = DEFAULT_ADDRESS
    namespace: str = DEFAULT_NAMESPACE
    queue: str = DEFAULT_QUEUE
    api_key: str | None = None
    tls: bool = False
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_name: str | None = None

    @property
    def encrypted(self) -> bool:
        """Whether TLS is used: asked for, or needed for a key or certificate."""
        return self.tls or any((self.api_key, self.tls_ca, self.tls_cert, self.tls_name))


_VARIABLES = {
    "address": "TEMPORAL_ADDRESS",
    "namespace": "TEMPORAL_NAMESPACE",
    "api_key": "TEMPORAL_API_KEY",
    "tls_ca": "TEMPORAL_TLS_SERVER_CA_CERT_PATH",
    "tls_cert": "TEMPORAL_TLS_CLIENT_CERT_PATH",
    "tls_key": "TEMPORAL_TLS_CLIENT_KEY_PATH",
    "tls_name": "TEMPORAL_TLS_SERVER_NAME",
}


def connection_of(
    flags: Mapping[str, Any], settings: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> Connection:
    """Flags are stronger than Temporal's variables, then `[temporal]` of `onward.toml`."""
    found: dict[str, Any] = {name: value for name, value in settings.items() if name in Connection.__struct_fields__}
    found |= {name: environment[variable] for name, variable in _VARIABLES.items() if environment.get(variable)}
    if environment.get("TEMPORAL_TLS", "").lower() in ("1", "true"):
        found["tls"] = True
    found |= {name: value for name, value in flags.items() if value not in (None, False)}
    return Connection(**found)


async def connect(connection: Connection) -> Client:
    """A connection. Raises `Unreachable`."""
    tls: TLSConfig | bool = connection.encrypted
    if tls:
        tls = TLSConfig(
            server_root_ca_cert=_read(connection.tls_ca),
            client_cert=_read(connection.tls_cert),
            client_private_key=_read(connection.tls_key),
            domain=connection.tls_name,
        )
    try:
        return await asyncio.wait_for(
            Client.connect(
                connection.address,
                namespace=connection.namespace,
                api_key=connection.api_key,
                tls=tls,
                connect_timeout=timedelta(seconds=CONNECT_WITHIN_S),
            ),
            CONNECT_WITHIN_S + 1,
        )
    except (RuntimeError, RPCError, TimeoutError, ValueError) as error:
        raise Unreachable(
            f"no Temporal server answers at {connection.address}: {error}",
            help="say where it is with --address, TEMPORAL_ADDRESS, or `address` under [temporal] in onward.toml",
        ) from error


def _read(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
