"""One child and JSON-RPC with it: requests, their answers, time limits and the end."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict, deque
from typing import Any, Callable, Deque, Dict, List, Mapping, Protocol, Sequence, Tuple, Union, cast

from .errors import EndedError, Exit, ProtocolError, RequestError, RequestTimeout, TillerError

#: The longest line that is read, in bytes. A longer one ends the connection: its request could never be answered.
LINE_LIMIT = 64 << 20
#: How much may wait to be written, in bytes, before new requests wait too.
QUEUE_LIMIT = 1 << 20
#: How much may wait to be written before notifications and requests are refused.
QUEUE_MAX = 64 << 20
STDERR_LINES = 50
STDERR_LINE = 4096
#: Seconds between the child's end and that of its output, which a grandchild may hold open.
DRAIN = 1.0

Id = Union[int, str, None]


class Receiver(Protocol):
    """What the connection tells."""

    def told(self, method: str, params: Any) -> None: ...

    def asked(self, id: Id, method: str, params: Any) -> None: ...

    def wrote(self, line: str) -> None: ...

    def report(self, error: BaseException) -> None: ...

    def ended(self, exit: Exit) -> None: ...


class Lines:
    """Collects chunks, split anywhere, and tells each line without its end."""

    def __init__(self, limit: int, line: Callable[[bytes], None], too_long: Callable[[], None]) -> None:
        self._limit, self._line, self._too_long = limit, line, too_long
        self._parts: List[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._keep(part)
            self.end()
        self._keep(rest)

    def end(self) -> None:
        """A line, or the stream, has ended."""
        parts, size = self._parts, self._size
        self._parts, self._size = [], 0
        if 0 < size <= self._limit:
            self._line(b"".join(parts))

    def _keep(self, part: bytes) -> None:
        if not part:
            return
        fitted = self._size <= self._limit
        self._size += len(part)
        if self._size <= self._limit:
            self._parts.append(part)
        else:
            self._parts = []
            if fitted:
                self._too_long()


class Connection(asyncio.SubprocessProtocol):
    """A child that is asked. Everything happens on the event loop that started it."""

    def __init__(self, name: str, receiver: Receiver) -> None:
        self._name, self._receiver = name, receiver
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.SubprocessTransport | None = None
        self._pending: Dict[Id, Tuple[str, "asyncio.Future[Any]", Callable[[Any], None] | None]] = {}
        #: Requests that were given up, whose answers may still come.
        self._given_up: "OrderedDict[Id, None]" = OrderedDict()
        self._stderr: Deque[str] = deque(maxlen=STDERR_LINES)
        self._over: "asyncio.Future[Exit]" = self._loop.create_future()
        self._gone: "asyncio.Future[None]" = self._loop.create_future()
        self._writable = asyncio.Event()
        self._writable.set()
        self._closed = False
        self._failure: str | None = None
        self._last = 0
        self._open_pipes = {1, 2}
        self._out = Lines(LINE_LIMIT, self._take, self._too_long)
        self._err = Lines(STDERR_LINE, self._said, lambda: self._said(b"(a line that is too long)"))
        self.exit: Exit | None = None

    @classmethod
    async def start(
        cls, command: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, receiver: Receiver
    ) -> Connection:
        """Starts the child. Raises EndedError when it cannot be started."""
        loop = asyncio.get_running_loop()
        connection = cls(command[0], receiver)
        try:
            await loop.subprocess_exec(lambda: connection, *command, env=env, cwd=cwd)
        except (OSError, ValueError) as error:
            raise EndedError(f"{command[0]} did not start: {error}", Exit(None, None, ())) from error
        return connection

    @property
    def pid(self) -> int | None:
        return self._transport.get_pid() if self._transport else None

    async def request(
        self,
        method: str,
        params: Any,
        timeout: float | None,
        now: Callable[[Any], None] | None = None,
    ) -> Any:
        """Asks, and waits for the answer; `now` is told the result before the next line is read."""
        await self._usable(method)
        self._last += 1
        id = self._last
        text = encode({"id": id, "method": method, "params": params})
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._pending[id] = (method, answer, now)
        limit = self._loop.call_later(timeout, self._too_late, id, timeout) if timeout else None
        try:
            self._write(text)
            await self._drained(answer)
            return await answer
        except asyncio.CancelledError:
            self._give_up(id)
            raise
        finally:
            self._pending.pop(id, None)
            if limit:
                limit.cancel()

    async def _drained(self, answer: "asyncio.Future[Any]") -> None:
        """Waits until the child has read enough to be sent more, or the request is settled."""
        if self._writable.is_set():
            return
        writable = asyncio.ensure_future(self._writable.wait())
        try:
            await asyncio.wait((writable, answer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            writable.cancel()

    def notify(self, method: str, params: Any) -> None:
        self._write(encode({"method": method, "params": params}))

    def answer(self, id: Id, result: Any) -> None:
        self._write(encode({"id": id, "result": result}))

    def refuse(self, id: Id, error: RequestError) -> None:
        told = {"code": error.code, "message": error.message}
        if error.data is not None:
            told["data"] = error.data
        self._write(encode({"id": id, "error": told}))

    async def close(self, grace: float) -> Exit:
        """Hangs up, and waits for the end: SIGTERM follows after `grace` seconds, and SIGKILL after as many more. Never raises."""
        self._closed = True
        if self.exit and self._gone.done():
            # Perhaps on another loop, which is no more.
            return self.exit
        stdin = self._stdin()
        if stdin:
            stdin.close()
        for end in ("terminate", "kill"):
            done, _ = await asyncio.wait((self._gone,), timeout=grace)
            if not done and self._transport:
                self._signal(getattr(self._transport, end))
        await asyncio.shield(self._gone)
        return await asyncio.shield(self._over)

    def kill(self) -> None:
        """Ends the child at once."""
        if self._transport:
            self._signal(self._transport.kill)

    @staticmethod
    def _signal(end: Callable[[], None]) -> None:
        try:
            end()
        except ProcessLookupError:
            pass

    async def _usable(self, method: str) -> None:
        stdin = self._stdin()
        if self.exit is None and not self._closed and (stdin is None or stdin.is_closing()):
            # Its end, which says more, is on its way.
            await asyncio.wait((self._over,))
        if self.exit:
            raise EndedError(f"{self._failure}; {method} was not sent", self.exit)
        if self._closed or stdin is None:
            exit = Exit(None, None, tuple(self._stderr))
            raise EndedError(f"the connection is closed; {method} was not sent", exit)
        if stdin.get_write_buffer_size() > QUEUE_MAX:
            raise TillerError(f"{self._name} does not read what it is sent; {method} was not sent")

    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        return cast("asyncio.WriteTransport | None", pipe)

    def _write(self, text: bytes) -> None:
        stdin = self._stdin()
        # What a write loses with the child, the child's end tells.
        if stdin and not stdin.is_closing() and self.exit is None:
            stdin.write(text)

    def _too_late(self, id: Id, seconds: float) -> None:
        if id in self._pending:
            method, answer, _ = self._pending[id]
            self._give_up(id)
            if not answer.done():
                answer.set_exception(RequestTimeout(method, seconds))

    def _give_up(self, id: Id) -> None:
        if self._pending.pop(id, None) is None:
            return
        # Only so many are remembered; a later answer to a forgotten one is reported as one to no request.
        self._given_up[id] = None
        if len(self._given_up) > 10_000:
            self._given_up.popitem(last=False)
        self.notify("$/cancel_request", {"requestId": id})

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        stdin = self._stdin()
        if stdin:
            stdin.set_write_buffer_limits(high=QUEUE_LIMIT)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self.exit is None:
            (self._out if fd == 1 else self._err).add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd in (1, 2):
            (self._out if fd == 1 else self._err).end()
            self._open_pipes.discard(fd)
            self._ended_if_drained()
        elif not self._closed:
            # It can be asked nothing more, and not even be told to stop. Its end, which says more, may be on its way.
            self._loop.call_later(DRAIN, self._deaf)

    def _deaf(self) -> None:
        if self.exit is None:
            self._end(f"{self._name} has closed its stdin")
            self.kill()

    def process_exited(self) -> None:
        self._gone.set_result(None)
        if self.exit and self._transport:
            self._transport.close()
        self._loop.call_later(DRAIN, self._end, f"{self._name} has ended")
        self._ended_if_drained()

    def _ended_if_drained(self) -> None:
        if not self._open_pipes and self._transport and self._transport.get_returncode() is not None:
            self._end(f"{self._name} has ended")

    def _end(self, why: str) -> None:
        if self.exit:
            return
        code = self._transport.get_returncode() if self._transport else None
        signal = -code if code is not None and code < 0 else None
        self.exit = Exit(None if signal else code, signal, tuple(self._stderr))
        shown = f" (signal {signal})" if signal else f" (exit code {code})" if code is not None else ""
        self._failure = why + shown
        for method, answer, _ in list(self._pending.values()):
            if not answer.done():
                answer.set_exception(EndedError(f"{why}{shown} before it answered {method}", self.exit))
        self._pending.clear()
        self._writable.set()
        self._receiver.ended(self.exit)
        if not self._over.done():
            self._over.set_result(self.exit)
        if self._transport and self._gone.done():
            self._transport.close()

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        # A line may be nested deeper than the parser goes.
        except (ValueError, RecursionError):
            return self._receiver.report(ProtocolError("a line on stdout is no JSON", shown(line)))
        if not isinstance(message, dict):
            return self._receiver.report(ProtocolError("a line on stdout is no JSON-RPC message", shown(line)))
        method = message.get("method")
        if "method" not in message:
            self._answered(message)
        elif not isinstance(method, str):
            self._receiver.report(ProtocolError("a method is no text", message))
        elif "id" not in message:
            self._receiver.told(method, message.get("params"))
        elif isinstance(message["id"], (int, str, type(None))):
            self._receiver.asked(message["id"], method, message.get("params"))
        else:
            self._receiver.report(ProtocolError("an id is neither a number nor text", message))

    def _answered(self, message: Dict[str, Any]) -> None:
        id, error = message.get("id"), message.get("error")
        # True is 1 in a dictionary.
        known = not isinstance(id, bool) and isinstance(id, (int, str))
        found = self._pending.pop(id, None) if known else None
        if found is None:
            if known and id in self._given_up:
                del self._given_up[id]
            else:
                self._receiver.report(ProtocolError(f"an answer to no request: id {json.dumps(id)}", message))
            return
        method, answer, now = found
        try:
            result = result_of(method, message, error)
            if now:
                now(result)
        except Exception as wrong:
            if not answer.done():
                answer.set_exception(wrong)
            return
        if not answer.done():
            answer.set_result(result)

    def _too_long(self) -> None:
        self._end(f"{self._name} sent a line of more than {LINE_LIMIT} bytes")
        self.kill()

    def _said(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        self._stderr.append(text)
        self._receiver.wrote(text)


def result_of(method: str, message: Dict[str, Any], error: Any) -> Any:
    """The result of an answer; raises what it has instead."""
    if error is not None:
        code, text = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
        if isinstance(code, int) and isinstance(text, str):
            raise RequestError(code, text, error.get("data"), method)
        raise ProtocolError(f"the error that answers {method} has no code or no message", message)
    if "result" not in message:
        raise ProtocolError(f"the answer to {method} has neither a result nor an error", message)
    return message["result"]


def encode(message: Dict[str, Any]) -> bytes:
    return (json.dumps({"jsonrpc": "2.0", **message}, allow_nan=False) + "\n").encode()


def shown(line: bytes) -> str:
    return line[:200].decode("utf-8", "replace")
