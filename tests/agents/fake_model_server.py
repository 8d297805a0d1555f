"""A model that follows fixed rules, for agent programs: the small part of OpenAI's `responses` API that they use.

It listens on the loopback interface alone and calls nobody. The last prompt with a MARK-… or MODEL-… word in it
decides the answer, which names every MARK-… that was ever sent: a session that goes on proves itself by the marks of
prompts which only an earlier process sent.

    (nothing)       the answer
    MODEL-WAIT      half of the answer, then nothing until the file that was named at the start is there
    MODEL-LIMIT     the first time: a usage limit; later: the answer
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LONGEST_S = 60.0


class FakeModel:
    """`served` counts requests; `go` is the file that an answer in two halves waits for."""

    def __init__(self, go: Path, reset_in_s: float = 2.0) -> None:
        self.go = go
        self.reset_in_s = reset_in_s
        self.prompts: list[list[str]] = []
        self.half_sent = threading.Event()
        self._limited = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> FakeModel:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def limit_now(self) -> bool:
        limited, self._limited = self._limited, True
        return not limited

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(_Handler):
            fake = model

        return Handler


class _Handler(BaseHTTPRequestHandler):
    fake: FakeModel
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        prompts = list(prompts_of(body))
        self.fake.prompts.append(prompts)
        asked = next((text for text in reversed(prompts) if re.search("MARK-|MODEL-", text)), "")
        if "MODEL-LIMIT" in asked and self.fake.limit_now():
            reset = int(time.time() + self.fake.reset_in_s)
            self._send(429, {"error": {"type": "usage_limit_reached", "message": "reached", "resets_at": reset}})
            return
        marks = list(dict.fromkeys(re.findall(r"MARK-\w+", "\n".join(prompts))))
        try:
            self._stream(f"the model has seen {' '.join(marks)}", "MODEL-WAIT" in asked and prompts[-1] == asked)
        except ConnectionError:  # the program was killed
            return

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, text: str, waits: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        number = len(self.fake.prompts)
        item = {"type": "message", "id": f"m{number}", "role": "assistant", "status": "in_progress", "content": []}
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        self._event("response.created", response={"id": f"r{number}", "status": "in_progress", "output": []})
        self._event("response.output_item.added", output_index=0, item=item)
        self._event("response.output_text.delta", **place, delta=text[:10])
        if waits:
            self.fake.half_sent.set()
            until(self.fake.go.exists)
        self._event("response.output_text.delta", **place, delta=text[10:])
        whole = item | {"status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}
        self._event("response.output_item.done", output_index=0, item=whole)
        usage = {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120,
        }  # fmt: skip
        done = {"id": f"r{number}", "status": "completed", "output": [whole], "usage": usage}
        self._event("response.completed", response=done)

    def _event(self, type: str, **fields: Any) -> None:
        self.wfile.write(f"event: {type}\ndata: {json.dumps({'type': type, **fields})}\n\n".encode())
        self.wfile.flush()


def prompts_of(body: dict[str, Any]) -> Iterator[str]:
    """What users have said, oldest first."""
    for item in body.get("input", []):
        if item.get("role") == "user":
            content = item.get("content")
            yield content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or [])


def until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_S
    while not ready() and time.monotonic() < end:
        time.sleep(0.02)
