"""`tiller acp` as a child: the protocol's few requests that a program needs, the layer's own requests, and its events."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
from concurrent.futures import Future
from typing import Any, Callable, Mapping, Sequence

from .types import NativeEvent

PREFIX = "_tiller/"

#: Is asked for a permission (the parameters of `session/request_permission`), and returns an option's id, or None to dismiss it.
Chooser = Callable[[dict[str, Any]], "str | None"]


class RequestError(Exception):
    """An error that Tiller answered with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


class Request(Future):
    """A request on its way: `result()` waits for its answer, `take_back()` asks Tiller to drop it."""

    def __init__(self, tiller: Tiller, id: int) -> None:
        super().__init__()
        self._tiller, self._id = tiller, id

    def take_back(self) -> None:
        self._tiller.notify("$/cancel_request", {"requestId": self._id})


def reject(asked: dict[str, Any]) -> str | None:
    """Rejects whatever is asked for, this once."""
    return next((one["optionId"] for one in asked["options"] if one["kind"] == "reject_once"), None)


class Tiller:
    """A connection. Everything is asked of one child, and ends with it. Listeners and the chooser run on a thread of their own each."""

    def __init__(
        self,
        tiller: str = "tiller",
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        on_permission: Chooser = reject,
    ) -> None:
        """Starts Tiller and opts in to events."""
        command = [tiller, "acp", *args]
        env = os.environ if env is None else env
        self._child = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        self._on_permission = on_permission
        self._ids = itertools.count(1)
        self._pending: dict[int, Request] = {}
        self._listeners: list[Callable[[NativeEvent], None]] = []
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        capabilities = {"_meta": {"tiller": {"events": True}}}
        self.raw("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities}).result()

    def __enter__(self) -> Tiller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def on_event(self, listener: Callable[[NativeEvent], None]) -> None:
        """Is told every event, of every session, in order."""
        self._listeners.append(listener)

    def new_session(self, cwd: str, mcp_servers: Sequence[Any] = ()) -> Session:
        """A new session in a folder, with MCP servers as the protocol describes them."""
        answer = self.raw("session/new", {"cwd": cwd, "mcpServers": list(mcp_servers)}).result()
        return Session(self, answer["sessionId"])

    def raw(self, method: str, params: Any) -> Request:
        """Any request of the protocol or of the layer, as it is."""
        with self._lock:
            request = Request(self, next(self._ids))
            self._pending[request._id] = request
        self._send({"id": request._id, "method": method, "params": params})
        return request

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def close(self) -> int:
        """Hangs up and waits for the end; the exit code."""
        if self._child.stdin and not self._child.stdin.closed:
            self._child.stdin.close()
        code = self._child.wait()
        self._reader.join()
        if self._child.stdout:
            self._child.stdout.close()
        return code

    def _send(self, message: dict[str, Any]) -> None:
        assert self._child.stdin
        with self._lock:
            self._child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            self._child.stdin.flush()

    def _read(self) -> None:
        assert self._child.stdout
        for line in self._child.stdout:
            self._take(json.loads(line))
        with self._lock:
            left, self._pending = list(self._pending.values()), {}
        for request in left:
            request.set_exception(EOFError("tiller has ended"))

    def _take(self, message: dict[str, Any]) -> None:
        method, id = message.get("method"), message.get("id")
        if method is None:
            with self._lock:
                request = self._pending.pop(id, None)  # type: ignore[arg-type]
            error = message.get("error")
            if request and error:
                request.set_exception(RequestError(error["code"], error["message"], error.get("data")))
            elif request:
                request.set_result(message.get("result"))
        elif id is not None:
            # A person takes their time, and what else comes is read meanwhile.
            threading.Thread(target=self._answer, args=(id, method, message["params"]), daemon=True).start()
        elif method.startswith(PREFIX):
            for listener in self._listeners:
                listener(message["params"])

    def _answer(self, id: Any, method: str, params: dict[str, Any]) -> None:
        if method != "session/request_permission":
            return self._send({"id": id, "error": {"code": -32601, "message": f"Method not found: {method}"}})
        try:
            option = self._on_permission(params)
        except Exception:
            option = reject(params)
            raise
        finally:
            outcome = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
            self._send({"id": id, "result": {"outcome": outcome}})


class Session:
    """A session of a connection."""

    def __init__(self, tiller: Tiller, id: str) -> None:
        self.tiller, self.id = tiller, id

    def prompt(self, text: str) -> str:
        """Runs a turn; why it stopped."""
        prompt = [{"type": "text", "text": text}]
        return self.tiller.raw("session/prompt", {"sessionId": self.id, "prompt": prompt}).result()["stopReason"]

    def cancel(self) -> None:
        self.tiller.notify("session/cancel", {"sessionId": self.id})

    def request(self, method: str, **params: Any) -> Any:
        """A request of the native layer, for this session; `types.REQUESTS` says what each takes and gives."""
        return self.start(method, **params).result()

    def start(self, method: str, **params: Any) -> Request:
        """The same without waiting."""
        return self.tiller.raw(PREFIX + method, {"sessionId": self.id, **params})
