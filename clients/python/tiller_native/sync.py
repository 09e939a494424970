"""The same without asyncio: what waits there blocks here. The connection lives on a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from types import TracebackType
from typing import Any, Callable, Coroutine, Dict, List, Mapping, Sequence, Type, TypeVar, Union

from . import types as t
from .aio import TIMEOUT, AsyncSession, AsyncTiller, Reconnected
from .callbacks import OnElicitation, OnPermission, OnReadTextFile, OnWriteTextFile, Terminals
from .errors import EndedError, Exit, TillerError
from .events import AnyEvent, AnyUpdate
from .reducer import State
from .requests import DEFAULT, SyncRaw, SyncRequests

T = TypeVar("T")


class _Loop:
    """An event loop on a thread, which lasts as long as the connection, and is made anew for the next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="tiller-native", daemon=True)
                self._thread.start()

    def begin(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        with self._lock:
            loop = self._loop
            if loop is not None:
                return asyncio.run_coroutine_threadsafe(work, loop)
        work.close()
        raise EndedError("the connection is closed; nothing was sent", Exit(None, None, ()))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self.is_here():
            work.close()
            raise TillerError("a listener cannot wait for an answer, which is read after it; use `start`, or a thread")
        future = self.begin(work)
        try:
            return future.result()
        except BaseException:
            # An interrupted wait takes its request back.
            future.cancel()
            raise

    def soon(self, what: Callable[..., object], *args: Any) -> None:
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(what, *args)

    def is_here(self) -> bool:
        return threading.current_thread() is self._thread

    def close(self) -> None:
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop and thread:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.run_until_complete(_settled(loop))
            loop.close()


async def _settled(loop: asyncio.AbstractEventLoop) -> None:
    """Ends what is left on a loop, so that no wait for it goes on for ever."""
    tasks = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()


class _Threaded(AsyncTiller):
    """Calls callbacks on a thread each: a person takes their time, and what else comes is read meanwhile."""

    async def _call(self, given: Callable[[Any], Any], params: Any) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def settle(error: Exception | None, value: Any) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(value)
            else:
                answer.set_exception(error)

        def work() -> None:
            error, value = None, None
            try:
                value = given(params)
            except Exception as raised:
                error = raised
            try:
                loop.call_soon_threadsafe(settle, error, value)
            except RuntimeError:
                # The connection was closed before the program had answered.
                pass

        threading.Thread(target=work, name="tiller-native callback", daemon=True).start()
        return await answer


class Tiller(SyncRaw):
    """A connection. Everything is asked of one child, and ends with it; `reconnect` starts another.

    May be used by several threads. Listeners are called in order on the connection's thread, and must not wait for an answer there.
    Callbacks run on a thread each.
    """

    def __init__(
        self,
        tiller: str = "tiller",
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        on_permission: OnPermission | None = None,
        *,
        command: Sequence[str] | None = None,
        cwd: str | None = None,
        timeout: float | None = TIMEOUT,
        close_timeout: float = 5.0,
        client_info: t.Implementation | None = None,
        on_elicitation: OnElicitation | None = None,
        on_read_text_file: OnReadTextFile | None = None,
        on_write_text_file: OnWriteTextFile | None = None,
        terminal: Terminals | None = None,
        on_error: Callable[[BaseException], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
    ) -> None:
        """Starts Tiller and opts in to events. Raises EndedError when it cannot be started. What the arguments are for, AsyncTiller says."""
        self._sessions: Dict[str, Session] = {}
        self._loop = _Loop()
        self._inner = _Threaded(
            tiller,
            args,
            env,
            on_permission,
            command=command,
            cwd=cwd,
            timeout=timeout,
            close_timeout=close_timeout,
            client_info=client_info,
            on_elicitation=on_elicitation,
            on_read_text_file=on_read_text_file,
            on_write_text_file=on_write_text_file,
            terminal=terminal,
            on_error=on_error,
            on_stderr=on_stderr,
        )
        self._loop.open()
        try:
            self._loop.run(self._inner._connect())
        except BaseException:
            self._loop.run(self._inner.close())
            self._loop.close()
            raise

    def __enter__(self) -> Tiller:
        return self

    def __exit__(
        self, kind: Type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def agent(self) -> t.InitializeResponse:
        """What the agent said of itself: its version, its capabilities."""
        return self._inner.agent

    @property
    def pid(self) -> int | None:
        """The child's process id."""
        return self._inner.pid

    @property
    def exit(self) -> Exit | None:
        """How the child ended; None while it runs."""
        return self._inner.exit

    @property
    def sessions(self) -> List[Session]:
        """The sessions that are open."""
        return [self._session(one) for one in self._inner.sessions]

    def state(self, session_id: str) -> State:
        """What there is to show of a session."""
        return self._inner.state(session_id)

    def on_event(self, listener: Callable[[AnyEvent], object]) -> Callable[[], None]:
        """Is told every event, of every session, in order; returns what ends that."""
        return self._inner.on_event(listener)

    def on_update(self, listener: Callable[[str, AnyUpdate], object]) -> Callable[[], None]:
        """Is told every update of the protocol, with its session's id; returns what ends that."""
        return self._inner.on_update(listener)

    def on_change(self, listener: Callable[[str, State], object]) -> Callable[[], None]:
        """Is told each new state, with its session's id; returns what ends that."""
        return self._inner.on_change(listener)

    def on_end(self, listener: Callable[[Exit], object]) -> Callable[[], None]:
        """Is told when the child has ended, for whatever reason; returns what ends that."""
        return self._inner.on_end(listener)

    def new_session(
        self,
        cwd: str,
        mcp_servers: Sequence[t.McpServer] = (),
        *,
        additional_directories: Sequence[str] = (),
        timeout: float | None = DEFAULT,
    ) -> Session:
        """A new session in a folder."""
        return self._opened("session/new", None, cwd, mcp_servers, additional_directories, timeout)

    def load_session(
        self,
        id: str,
        cwd: str,
        mcp_servers: Sequence[t.McpServer] = (),
        *,
        additional_directories: Sequence[str] = (),
        timeout: float | None = DEFAULT,
    ) -> Session:
        """Opens a stored session. Its state has what was said and done in it."""
        return self._opened("session/load", id, cwd, mcp_servers, additional_directories, timeout)

    def resume_session(
        self,
        id: str,
        cwd: str,
        mcp_servers: Sequence[t.McpServer] = (),
        *,
        additional_directories: Sequence[str] = (),
        timeout: float | None = DEFAULT,
    ) -> Session:
        """Opens a stored session without its history; a state that is known of it stays."""
        return self._opened("session/resume", id, cwd, mcp_servers, additional_directories, timeout)

    def fork_session(
        self,
        id: str,
        cwd: str,
        mcp_servers: Sequence[t.McpServer] = (),
        *,
        additional_directories: Sequence[str] = (),
        timeout: float | None = DEFAULT,
    ) -> Session:
        """Opens a copy of a session. The copy begins with what is known here of the other."""
        return self._opened("session/fork", id, cwd, mcp_servers, additional_directories, timeout)

    def list_sessions(
        self, *, cwd: str | None = None, cursor: str | None = None, timeout: float | None = DEFAULT
    ) -> t.ListSessionsResponse:
        """Stored sessions, a page at a time: `nextCursor` asks for the next."""
        return self._loop.run(self._inner.list_sessions(cwd=cwd, cursor=cursor, timeout=timeout))

    def delete_session(self, session_id: str, *, timeout: float | None = DEFAULT) -> None:
        """Deletes what is stored of a session."""
        self._loop.run(self._inner.delete_session(session_id, timeout=timeout))

    def close_session(self, session_id: str, *, timeout: float | None = DEFAULT) -> None:
        """Closes a session on this connection; it stays stored."""
        self._loop.run(self._inner.close_session(session_id, timeout=timeout))

    def notify(self, method: str, params: Mapping[str, t.Json]) -> None:
        """A notification, as it is."""
        self._loop.soon(self._inner.notify, method, params)

    def close(self) -> Exit:
        """Hangs up and waits for the end, by signals if it must; how the child ended. Never raises, however often it is called.

        A listener cannot wait for it: there it only begins, and what is returned may have no code yet.
        """
        try:
            if self._loop.is_here():
                self._loop.begin(self._inner.close())
            else:
                self._loop.run(self._inner.close())
                self._loop.close()
        except EndedError:
            # It was closed before.
            pass
        return self.exit or Exit(None, None, ())

    def reconnect(self) -> Reconnected[Session]:
        """Starts another child, whatever became of the last, and loads all sessions that were open.

        Sessions and listeners stay valid. A turn that was running is broken off; what was stored of it is in the state.
        """
        self._loop.open()
        came = self._loop.run(self._inner.reconnect())
        lost = [(self._session(session), error) for session, error in came.lost]
        return Reconnected([self._session(one) for one in came.reopened], lost)

    def _opened(self, *opening: Any) -> Session:
        return self._session(self._loop.run(self._inner._open(*opening)))

    def _session(self, inner: AsyncSession) -> Session:
        known = self._sessions.get(inner.id)
        if known is None or known._inner is not inner:
            known = self._sessions[inner.id] = Session(self, inner)
        return known

    def _raw(self, method: str, params: Any, timeout: float | None) -> Any:
        return self._loop.run(self._inner._raw(method, params, timeout))


class Session(SyncRequests):
    """A session of a connection. It stays valid when the connection is made anew."""

    def __init__(self, tiller: Tiller, inner: AsyncSession) -> None:
        self.tiller, self.id, self._inner = tiller, inner.id, inner

    @property
    def cwd(self) -> str:
        """Its folder."""
        return self._inner.cwd

    @property
    def state(self) -> State:
        """What there is to show of it now."""
        return self._inner.state

    def prompt(self, content: Union[str, Sequence[t.ContentBlock]], *, timeout: float | None = None) -> t.PromptResponse:
        """Runs a turn with a text, or with blocks: text, images, links, embedded files.

        There is no time limit unless one is given. An interrupted wait cancels the turn.
        """
        return self._run(self._inner.prompt(content, timeout=timeout))

    def cancel(self) -> None:
        """Ends the running turn, whose `prompt` then returns with `cancelled`."""
        self.tiller._loop.soon(self._inner.cancel)

    def set_mode(self, mode_id: str, *, timeout: float | None = DEFAULT) -> None:
        """Changes the mode: `edit`, `plan`, `ask`."""
        self._run(self._inner.set_mode(mode_id, timeout=timeout))

    def set_model(self, model_id: str, *, timeout: float | None = DEFAULT) -> None:
        """Changes the model, `PROVIDER/MODEL`."""
        self._run(self._inner.set_model(model_id, timeout=timeout))

    def set_config_option(
        self, config_id: str, value: Union[str, bool], *, timeout: float | None = DEFAULT
    ) -> List[t.SessionConfigOption]:
        """Sets one of `state.config_options`; all of them afterwards."""
        return self._run(self._inner.set_config_option(config_id, value, timeout=timeout))

    def fork(self, *, timeout: float | None = DEFAULT) -> Session:
        """A copy of it, to go on from here in another way."""
        return self.tiller._session(self._run(self._inner.fork(timeout=timeout)))

    def close(self, *, timeout: float | None = DEFAULT) -> None:
        """Closes it on this connection; it stays stored, and can be loaded again."""
        self._run(self._inner.close(timeout=timeout))

    def on_event(self, listener: Callable[[AnyEvent], object]) -> Callable[[], None]:
        """Is told every event of this session; returns what ends that."""
        return self._inner.on_event(listener)

    def on_update(self, listener: Callable[[AnyUpdate], object]) -> Callable[[], None]:
        """Is told every update of the protocol for this session; returns what ends that."""
        return self._inner.on_update(listener)

    def on_change(self, listener: Callable[[State], object]) -> Callable[[], None]:
        """Is told the state after each change; returns what ends that."""
        return self._inner.on_change(listener)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.tiller._loop.run(work)

    def _request(self, method: str, params: Dict[str, Any], timeout: float | None) -> Any:
        return self._run(self._inner._request(method, params, timeout))

    def _start(self, method: str, params: Dict[str, Any], timeout: float | None) -> Any:
        return self.tiller._loop.begin(self._inner._request(method, params, timeout))
