"""`tiller acp` as a child, for asyncio: sessions, the states of all of them, and what the agent asks for."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Awaitable, Callable, Dict, Generator, Generic, List, Mapping, Sequence, Set, Tuple, Type, TypeVar, Union, cast

from . import types as t
from .callbacks import (
    AsyncOnElicitation,
    AsyncOnPermission,
    AsyncOnReadTextFile,
    AsyncOnWriteTextFile,
    AsyncTerminals,
    Callbacks,
)
from .connection import Connection, Id
from .errors import EndedError, Exit, ProtocolError, RequestError, RequestTimeout
from .events import AnyEvent, AnyUpdate, event_of, update_of
from .reducer import State, broken_off, is_at_work, listed, opened, reduce, reduce_update
from .requests import DEFAULT, AsyncRaw, AsyncRequests

PREFIX = "_tiller/"
#: The time limit of a request in seconds, where its kind has no other.
TIMEOUT = 60.0
#: Time limits in seconds, for what needs another. A turn takes its time.
TIMEOUTS: Dict[str, Union[float, None]] = {
    "session/prompt": None,
    "session/load": 300,
    f"{PREFIX}lua/execute": 660,
    f"{PREFIX}mcp/call_tool": 660,
    f"{PREFIX}integrations/call": 660,
}
LOG = logging.getLogger("tiller_native")

S = TypeVar("S")


@dataclass(frozen=True)
class Reconnected(Generic[S]):
    """What came of a reconnection."""

    #: Sessions that are open again, their states made anew from what is stored.
    reopened: List[S]
    #: Sessions that could not be loaded, and why.
    lost: List[Tuple[S, Exception]]


class AsyncTiller(AsyncRaw):
    """A connection. Everything is asked of one child, and ends with it; `reconnect` starts another.

    `tiller = await AsyncTiller(…)`, or `async with AsyncTiller(…) as tiller`: starts it and opts in to events, and raises EndedError when
    it cannot be started. Listeners are plain functions, and are called in order while nothing else is read: a slow one holds the agent
    back.
    """

    def __init__(
        self,
        tiller: str = "tiller",
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        on_permission: AsyncOnPermission | None = None,
        *,
        command: Sequence[str] | None = None,
        cwd: str | None = None,
        timeout: float | None = TIMEOUT,
        close_timeout: float = 5.0,
        client_info: t.Implementation | None = None,
        on_elicitation: AsyncOnElicitation | None = None,
        on_read_text_file: AsyncOnReadTextFile | None = None,
        on_write_text_file: AsyncOnWriteTextFile | None = None,
        terminal: AsyncTerminals | None = None,
        on_error: Callable[[BaseException], None] | None = None,
        on_stderr: Callable[[str], None] | None = None,
    ) -> None:
        """Nothing is started yet.

        `command` is the whole command instead of `tiller` and `args`, such as one that reaches another machine; `cwd` is the folder that
        it starts in, and `env` its environment, this process's when it is None. `timeout` is the time limit of a request in seconds, and
        None for none, where neither the request nor its kind has one of its own; `close_timeout` is how long a closed child has to end
        before SIGTERM, and then again before SIGKILL. Without `on_permission` everything is rejected. What
        there is to answer decides what the agent is told that it may ask for. `on_error` is told what went wrong without belonging to a
        request: what a listener or a callback raised, and lines that make no sense; without it they are logged.
        """
        self._command = list(command) if command is not None else [tiller, "acp", *args]
        self._env, self._cwd, self._timeout, self._close_timeout = env, cwd, timeout, close_timeout
        self._client_info: t.Implementation = client_info or {"name": "tiller-native", "version": "0.1.0"}
        self._callbacks = Callbacks(
            on_permission,
            on_elicitation,
            on_read_text_file,
            on_write_text_file,
            terminal,
            self._call,
            self._report,
        )
        self._on_error, self._on_stderr = on_error, on_stderr
        self._states: Dict[str, State] = {}
        self._sessions: Dict[str, AsyncSession] = {}
        self._events: List[Callable[[AnyEvent], object]] = []
        self._updates: List[Callable[[str, AnyUpdate], object]] = []
        self._changes: List[Callable[[str, State], object]] = []
        self._ends: List[Callable[[Exit], object]] = []
        self._answering: Dict[Id, asyncio.Task[None]] = {}
        self._tasks: Set[asyncio.Task[Any]] = set()
        self._connection: Connection | None = None
        self._agent: t.InitializeResponse | None = None
        self._reconnecting: asyncio.Task[Reconnected[AsyncSession]] | None = None

    def __await__(self) -> Generator[Any, None, AsyncTiller]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> AsyncTiller:
        if self._connection is None:
            await self._connect()
        return self

    async def __aexit__(
        self, kind: Type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def agent(self) -> t.InitializeResponse:
        """What the agent said of itself: its version, its capabilities."""
        if self._agent is None:
            raise ProtocolError("the agent is not initialized")
        return self._agent

    @property
    def pid(self) -> int | None:
        """The child's process id."""
        return self._connection.pid if self._connection else None

    @property
    def exit(self) -> Exit | None:
        """How the child ended; None while it runs."""
        return self._connection.exit if self._connection else None

    @property
    def sessions(self) -> List[AsyncSession]:
        """The sessions that are open."""
        return list(self._sessions.values())

    def state(self, session_id: str) -> State:
        """What there is to show of a session."""
        return self._states.get(session_id) or State()

    def on_event(self, listener: Callable[[AnyEvent], object]) -> Callable[[], None]:
        """Is told every event, of every session, in order; returns what ends that."""
        return _subscribed(self._events, listener)

    def on_update(self, listener: Callable[[str, AnyUpdate], object]) -> Callable[[], None]:
        """Is told every update of the protocol, with its session's id; returns what ends that."""
        return _subscribed(self._updates, listener)

    def on_change(self, listener: Callable[[str, State], object]) -> Callable[[], None]:
        """Is told each new state, with its session's id; returns what ends that."""
        return _subscribed(self._changes, listener)

    def on_end(self, listener: Callable[[Exit], object]) -> Callable[[], None]:
        """Is told when the child has ended, for whatever reason; returns what ends that."""
        return _subscribed(self._ends, listener)

    async def new_session(
        self,
        cwd: str,
        mcp_servers: Sequence[t.McpServer] = (),
        *,
        additional_directories: Sequence[str] = (),
        timeout: float | None = DEFAULT,
    ) -> AsyncSession:
        """A new session in a folder."""
        return await self._open("session/new", None, cwd, mcp_servers, additional_directories, timeout)

    async def load_session(
        self,
        id: str,
        cwd: str,
        mcp_servers: Sequence[t.McpServer] = (),
        *,
        additional_directories: Sequence[str] = (),
        timeout: float | None = DEFAULT,
    ) -> AsyncSession:
        """Opens a stored session. Its state has what was said and done in it."""
        return await self._open("session/load", id, cwd, mcp_servers, additional_directories, timeout)

    async def resume_session(
        self,
        id: str,
        cwd: str,
        mcp_servers: Sequence[t.McpServer] = (),
        *,
        additional_directories: Sequence[str] = (),
        timeout: float | None = DEFAULT,
    ) -> AsyncSession:
        """Opens a stored session without its history; a state that is known of it stays."""
        return await self._open("session/resume", id, cwd, mcp_servers, additional_directories, timeout)

    async def fork_session(
        self,
        id: str,
        cwd: str,
        mcp_servers: Sequence[t.McpServer] = (),
        *,
        additional_directories: Sequence[str] = (),
        timeout: float | None = DEFAULT,
    ) -> AsyncSession:
        """Opens a copy of a session. The copy begins with what is known here of the other."""
        return await self._open("session/fork", id, cwd, mcp_servers, additional_directories, timeout)

    async def list_sessions(
        self, *, cwd: str | None = None, cursor: str | None = None, timeout: float | None = DEFAULT
    ) -> t.ListSessionsResponse:
        """Stored sessions, a page at a time: `nextCursor` asks for the next."""
        params: t.ListSessionsRequest = {}
        if cwd is not None:
            params["cwd"] = cwd
        if cursor is not None:
            params["cursor"] = cursor
        return await self.raw("session/list", params, timeout=timeout)

    async def delete_session(self, session_id: str, *, timeout: float | None = DEFAULT) -> None:
        """Deletes what is stored of a session."""
        await self.raw("session/delete", {"sessionId": session_id}, timeout=timeout)
        self._forget(session_id)

    async def close_session(self, session_id: str, *, timeout: float | None = DEFAULT) -> None:
        """Closes a session on this connection; it stays stored."""
        await self.raw("session/close", {"sessionId": session_id}, timeout=timeout)
        self._forget(session_id)

    def notify(self, method: str, params: Mapping[str, t.Json]) -> None:
        """A notification, as it is."""
        if self._connection:
            self._connection.notify(method, params)

    async def close(self) -> Exit:
        """Hangs up and waits for the end, by signals if it must; how the child ended. Never raises, however often it is called."""
        return await self._connection.close(self._close_timeout) if self._connection else Exit(None, None, ())

    async def reconnect(self) -> Reconnected[AsyncSession]:
        """Starts another child, whatever became of the last, and loads all sessions that were open.

        Sessions and listeners stay valid. A turn that was running is broken off; what was stored of it is in the state.
        """
        if self._reconnecting is None:
            self._reconnecting = asyncio.ensure_future(self._reconnect())
            self._reconnecting.add_done_callback(lambda _: setattr(self, "_reconnecting", None))
        return await asyncio.shield(self._reconnecting)

    async def _reconnect(self) -> Reconnected[AsyncSession]:
        await self.close()
        await self._connect()
        came: Reconnected[AsyncSession] = Reconnected([], [])
        for session in self.sessions:
            try:
                await self._open("session/load", session.id, *session._options, DEFAULT)
                came.reopened.append(session)
            except Exception as error:
                self._sessions.pop(session.id, None)
                came.lost.append((session, error))
        return came

    async def _connect(self) -> None:
        # Those of the last child, if there was one, have been taken back.
        self._answering = {}
        receiver = _Receiver(self)
        self._connection = await Connection.start(self._command, self._env_given(), self._cwd, receiver)
        params: t.InitializeRequest = {
            "protocolVersion": 1,
            "clientCapabilities": self._callbacks.capabilities(),
            "clientInfo": self._client_info,
        }
        try:
            self._agent = await self.raw("initialize", params)
        except BaseException:
            # It would be left behind: nobody has it yet.
            self._connection.kill()
            await self.close()
            raise

    def _env_given(self) -> Mapping[str, str]:
        return os.environ if self._env is None else self._env

    async def _open(
        self,
        method: str,
        id: str | None,
        cwd: str,
        mcp_servers: Sequence[t.McpServer],
        directories: Sequence[str],
        timeout: float | None,
    ) -> AsyncSession:
        params: Dict[str, Any] = {"cwd": cwd, "mcpServers": list(mcp_servers)}
        if directories:
            params["additionalDirectories"] = list(directories)
        if id is not None:
            params["sessionId"] = id
        before = State() if id is None else self.state(id)
        loading = method == "session/load"
        if loading and id is not None:
            self._states[id] = State(loading=True)
        came: List[AsyncSession] = []

        def now(result: Any) -> None:
            given = _object(method, result)
            own = given.get("sessionId") if method in ("session/new", "session/fork") else id
            if not isinstance(own, str):
                raise ProtocolError(f"the answer to {method} has no sessionId", result)
            known = self._sessions.get(own)
            session = known or AsyncSession(self, own, (cwd, tuple(mcp_servers), tuple(directories)))
            self._sessions[own] = session
            came.append(session)
            state = self.state(own)
            if method == "session/fork":
                state = replace(broken_off(before), commands=state.commands)
            self._change(own, opened(state, given))

        try:
            await self._request(method, params, timeout, now)
        except BaseException:
            if loading and id is not None:
                self._change(id, before)
            raise
        if method != "session/new":
            await self._list_subagents(came[0].id)
        return came[0]

    async def _list_subagents(self, id: str) -> None:
        """Shows the subagents of a session that was opened: its history comes without them."""
        given: Any = self._agent or {}
        meta = given.get("_meta") or {}
        if not (isinstance(meta.get("tiller"), dict) and meta["tiller"].get("subagentTree")):
            return
        method = f"{PREFIX}subagents/list"

        def now(result: Any) -> None:
            given = _object(method, result)
            if not (isinstance(given.get("tree"), list) and isinstance(given.get("stats"), dict)):
                raise ProtocolError(f"the answer to {method} has no tree or no stats", result)
            self._change(id, listed(self.state(id), cast(t.Subagents, given)))

        try:
            await self._request(method, {"sessionId": id}, DEFAULT, now)
        except (RequestError, RequestTimeout, ProtocolError) as error:
            # The session is open all the same.
            self._report(error)

    async def _raw(self, method: str, params: Any, timeout: float | None) -> Any:
        return _object(method, await self._request(method, params, timeout))

    async def _request(
        self, method: str, params: Any, timeout: float | None, now: Callable[[Any], None] | None = None
    ) -> Any:
        if self._connection is None:
            raise EndedError(f"tiller is not started; {method} was not sent", Exit(None, None, ()))
        limit = timeout if timeout != DEFAULT else TIMEOUTS.get(method, self._timeout)
        return await self._connection.request(method, params, limit, now)

    # What the agent tells and asks.

    def _told(self, method: str, params: Any) -> None:
        if method == "session/update":
            self._updated(params)
        elif method == "$/cancel_request":
            task = self._answering.get(params.get("requestId")) if isinstance(params, dict) else None
            if task:
                task.cancel()
        elif method.startswith(PREFIX):
            event, wrong = event_of(method[len(PREFIX) :], params)
            if wrong:
                self._report(ProtocolError(wrong, params))
            session_id = event["sessionId"]
            if session_id is not None:
                self._reduced(session_id, reduce, event)
            for listener in list(self._events):
                self._guard(listener, event)

    def _updated(self, params: Any) -> None:
        given = params if isinstance(params, dict) else {}
        session_id = given.get("sessionId")
        if not isinstance(session_id, str) or not isinstance(given.get("update"), dict):
            return self._report(ProtocolError("session/update has no sessionId or no update", params))
        update = update_of(given["update"])
        self._reduced(session_id, reduce_update, update)
        for listener in list(self._updates):
            self._guard(listener, session_id, update)

    def _reduced(self, session_id: str, reducer: Callable[[State, Any], State], told: Any) -> None:
        try:
            state = reducer(self.state(session_id), told)
        except Exception as error:
            return self._report(error)
        self._change(session_id, state)

    def _asked(self, id: Id, method: str, params: Any) -> None:
        connection, answering = cast(Connection, self._connection), self._answering
        task = asyncio.ensure_future(self._answer(connection, id, method, params))
        answering[id] = task

        def done(task: asyncio.Task[None]) -> None:
            answering.pop(id, None)
            # Told here, since a task may be cancelled before its first step.
            if task.cancelled():
                connection.refuse(id, RequestError(-32800, "the request was taken back"))

        task.add_done_callback(done)

    async def _answer(self, connection: Connection, id: Id, method: str, params: Any) -> None:
        try:
            connection.answer(id, await self._callbacks.answer(method, params))
        except RequestError as error:
            connection.refuse(id, error)
        except Exception as error:
            self._report(error)
            connection.refuse(id, RequestError(-32603, str(error)))

    def _ended(self, exit: Exit) -> None:
        for task in list(self._answering.values()):
            task.cancel()
        for session_id, state in list(self._states.items()):
            if state.run is not None or state.phase != "idle" or state.asking or is_at_work(state.tree):
                self._change(session_id, broken_off(state))
        for listener in list(self._ends):
            self._guard(listener, exit)

    def _wrote(self, line: str) -> None:
        if self._on_stderr:
            self._guard(self._on_stderr, line)

    def _forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)
        self._states.pop(session_id, None)

    def _change(self, session_id: str, state: State) -> None:
        if self._states.get(session_id) is state:
            return
        self._states[session_id] = state
        for listener in list(self._changes):
            self._guard(listener, session_id, state)

    async def _call(self, given: Callable[[Any], Any], params: Any) -> Any:
        """Calls a callback; the client without asyncio has another way."""
        came = given(params)
        return await came if inspect.isawaitable(came) else came

    def _guard(self, given: Callable[..., object], *args: Any) -> None:
        """Calls what the program gave. What it raises, now or later, is reported, and ends nothing."""
        try:
            came = given(*args)
            if inspect.isawaitable(came):
                self._begin(self._later(came))
        except Exception as error:
            self._report(error)

    async def _later(self, came: Awaitable[object]) -> None:
        try:
            await came
        except Exception as error:
            self._report(error)

    def _report(self, error: BaseException) -> None:
        try:
            if self._on_error:
                return self._on_error(error)
        except Exception:
            LOG.exception("on_error failed")
        LOG.warning("%s", error, exc_info=error)

    def _begin(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        # The loop itself keeps no task alive.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class _Receiver:
    """What one child tells. The word of a former one counts no more."""

    def __init__(self, tiller: AsyncTiller) -> None:
        self.told, self.asked, self.wrote = tiller._told, tiller._asked, tiller._wrote
        self.report, self.ended = tiller._report, tiller._ended


class AsyncSession(AsyncRequests):
    """A session of a connection. It stays valid when the connection is made anew."""

    def __init__(self, tiller: AsyncTiller, id: str, options: Tuple[str, Sequence[t.McpServer], Sequence[str]]) -> None:
        self.tiller, self.id = tiller, id
        self._options = options

    @property
    def cwd(self) -> str:
        """Its folder."""
        return self._options[0]

    @property
    def state(self) -> State:
        """What there is to show of it now."""
        return self.tiller.state(self.id)

    async def prompt(
        self, content: Union[str, Sequence[t.ContentBlock]], *, timeout: float | None = None
    ) -> t.PromptResponse:
        """Runs a turn with a text, or with blocks: text, images, links, embedded files.

        There is no time limit unless one is given. Cancelling the task cancels the turn.
        """
        blocks: List[t.ContentBlock] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        try:
            return await self.tiller.raw("session/prompt", {"sessionId": self.id, "prompt": blocks}, timeout=timeout)
        except asyncio.CancelledError:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Ends the running turn, whose `prompt` then returns with `cancelled`."""
        self.tiller.notify("session/cancel", {"sessionId": self.id})

    async def set_mode(self, mode_id: str, *, timeout: float | None = DEFAULT) -> None:
        """Changes the mode: `edit`, `plan`, `ask`."""
        await self.tiller.raw("session/set_mode", {"sessionId": self.id, "modeId": mode_id}, timeout=timeout)

    async def set_model(self, model_id: str, *, timeout: float | None = DEFAULT) -> None:
        """Changes the model, `PROVIDER/MODEL`."""
        await self.set_config_option("model", model_id, timeout=timeout)

    async def set_config_option(
        self, config_id: str, value: Union[str, bool], *, timeout: float | None = DEFAULT
    ) -> List[t.SessionConfigOption]:
        """Sets one of `state.config_options`; all of them afterwards."""
        params: t.SetSessionConfigOptionRequest
        if isinstance(value, bool):
            params = {"sessionId": self.id, "configId": config_id, "type": "boolean", "value": value}
        else:
            params = {"sessionId": self.id, "configId": config_id, "value": value}
        answer = await self.tiller.raw("session/set_config_option", params, timeout=timeout)
        return answer["configOptions"]

    async def fork(self, *, timeout: float | None = DEFAULT) -> AsyncSession:
        """A copy of it, to go on from here in another way."""
        return await self.tiller._open("session/fork", self.id, *self._options, timeout)

    async def close(self, *, timeout: float | None = DEFAULT) -> None:
        """Closes it on this connection; it stays stored, and can be loaded again."""
        await self.tiller.close_session(self.id, timeout=timeout)

    def on_event(self, listener: Callable[[AnyEvent], object]) -> Callable[[], None]:
        """Is told every event of this session; returns what ends that."""
        return self.tiller.on_event(lambda event: event["sessionId"] == self.id and listener(event))

    def on_update(self, listener: Callable[[AnyUpdate], object]) -> Callable[[], None]:
        """Is told every update of the protocol for this session; returns what ends that."""
        return self.tiller.on_update(lambda id, update: id == self.id and listener(update))

    def on_change(self, listener: Callable[[State], object]) -> Callable[[], None]:
        """Is told the state after each change; returns what ends that."""
        return self.tiller.on_change(lambda id, state: id == self.id and listener(state))

    async def _request(self, method: str, params: Dict[str, Any], timeout: float | None) -> Any:
        return await self.tiller._raw(PREFIX + method, {"sessionId": self.id, **params}, timeout)

    def _start(self, method: str, params: Dict[str, Any], timeout: float | None) -> Any:
        return self.tiller._begin(self._request(method, params, timeout))


def _subscribed(listeners: List[Any], listener: Any) -> Callable[[], None]:
    listeners.append(listener)

    def stop() -> None:
        if listener in listeners:
            listeners.remove(listener)

    return stop


def _object(method: str, result: Any) -> Dict[str, Any]:
    # Some answers have nothing to say.
    if result is None:
        return {}
    if isinstance(result, dict):
        return result
    raise ProtocolError(f"the answer to {method} is no object", result)
