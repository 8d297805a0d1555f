"""The YAML language server that editors use, spoken to over its standard streams."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, Self

WAIT_S = 60.0


def found() -> list[str] | None:
    """How the server is started here, or None where it is not installed.

    `ONWARD_YAML_LANGUAGE_SERVER` names its program where it is not on the PATH.
    """
    program = shutil.which(os.environ.get("ONWARD_YAML_LANGUAGE_SERVER") or "yaml-language-server")
    return [program, "--stdio"] if program is not None and shutil.which("node") is not None else None


class LanguageServer:
    """One server; open a text, ask about places in it. Lines and characters count from 0, as in the protocol."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._heard: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._number = 0
        self.uri = ""

    def __enter__(self) -> Self:
        self.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": {}})
        self.tell("initialized", {})
        # Without this it would look for a catalogue of schemas in the network.
        yaml = {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False, "url": ""}}
        self.tell("workspace/didChangeConfiguration", {"settings": {"yaml": yaml}})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(timeout=WAIT_S)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def open(self, path: Path, text: str) -> list[dict[str, Any]]:
        """Open a text under that name; what the server finds wrong with it."""
        self.uri = path.as_uri()
        item = {"uri": self.uri, "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        while True:
            said = self._heard.get(timeout=WAIT_S)
            about = said.get("params", {})
            if said.get("method") == "textDocument/publishDiagnostics" and about["uri"] == self.uri:
                return list(about["diagnostics"])

    def complete(self, line: int, character: int) -> set[str]:
        """The words that are offered at a place."""
        found = self._at("completion", line, character)
        items = found["items"] if isinstance(found, dict) else found or []
        return {item["label"] for item in items}

    def hover(self, line: int, character: int) -> str:
        """The words that are shown about a place."""
        found = self._at("hover", line, character)
        return str(found["contents"]["value"]) if found else ""

    def _at(self, what: str, line: int, character: int) -> Any:
        place = {"textDocument": {"uri": self.uri}, "position": {"line": line, "character": character}}
        return self.ask(f"textDocument/{what}", place)

    # ------------------------------------------------------------ the protocol

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """A request and its answer."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            said = self._heard.get(timeout=WAIT_S)
            if said.get("id") == self._number and "method" not in said:
                assert "error" not in said, said
                return said["result"]

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """A notification."""
        self._send({"method": method, "params": params})

    def _send(self, what: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0"} | what).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self._process.stdin.flush()

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            while head := stream.readline():
                length = int(head.partition(b":")[2])
                while stream.readline().strip():
                    pass
                said = json.loads(stream.read(length))
                if "id" in said and "method" in said:  # it asks the editor something: there is nothing to tell
                    self._send({"id": said["id"], "result": None})
                self._heard.put(said)
        except (OSError, ValueError):
            return  # it was ended
