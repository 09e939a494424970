"""What the agent asks of the program: permissions, answers of a person, files and terminals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Protocol, TypeVar, Union

from . import types as t
from .errors import RequestError

T = TypeVar("T")
#: A value, or what is awaited for it.
Later = Union[T, Awaitable[T]]


class Terminals(Protocol):
    """Terminals in which the agent runs its commands. Each method is called on a thread of its own."""

    def create(self, params: t.CreateTerminalRequest) -> t.CreateTerminalResponse: ...

    def output(self, params: t.TerminalOutputRequest) -> t.TerminalOutputResponse: ...

    def wait_for_exit(self, params: t.WaitForTerminalExitRequest) -> t.WaitForTerminalExitResponse: ...

    def kill(self, params: t.KillTerminalRequest) -> None: ...

    def release(self, params: t.ReleaseTerminalRequest) -> None: ...


class AsyncTerminals(Protocol):
    """Terminals in which the agent runs its commands. A method is cancelled when the agent takes its request back."""

    def create(self, params: t.CreateTerminalRequest) -> Later[t.CreateTerminalResponse]: ...

    def output(self, params: t.TerminalOutputRequest) -> Later[t.TerminalOutputResponse]: ...

    def wait_for_exit(self, params: t.WaitForTerminalExitRequest) -> Later[t.WaitForTerminalExitResponse]: ...

    def kill(self, params: t.KillTerminalRequest) -> Later[None]: ...

    def release(self, params: t.ReleaseTerminalRequest) -> Later[None]: ...


#: Chooses an option by its `optionId` or its `kind`; None dismisses the question.
OnPermission = Callable[[t.RequestPermissionRequest], Union[str, None]]
OnElicitation = Callable[[t.CreateElicitationRequest], t.CreateElicitationResponse]
OnReadTextFile = Callable[[t.ReadTextFileRequest], t.ReadTextFileResponse]
OnWriteTextFile = Callable[[t.WriteTextFileRequest], None]

AsyncOnPermission = Callable[[t.RequestPermissionRequest], Later[Union[str, None]]]
AsyncOnElicitation = Callable[[t.CreateElicitationRequest], Later[t.CreateElicitationResponse]]
AsyncOnReadTextFile = Callable[[t.ReadTextFileRequest], Later[t.ReadTextFileResponse]]
AsyncOnWriteTextFile = Callable[[t.WriteTextFileRequest], Later[None]]

#: Calls what the program gave, and awaits what comes of it.
Call = Callable[[Callable[[Any], Any], Any], Awaitable[Any]]


@dataclass(frozen=True)
class Callbacks:
    """What the program answers. The capabilities that the agent is told follow from what is there."""

    on_permission: Callable[[Any], Any] | None
    on_elicitation: Callable[[Any], Any] | None
    on_read_text_file: Callable[[Any], Any] | None
    on_write_text_file: Callable[[Any], Any] | None
    terminal: Any
    call: Call
    report: Callable[[BaseException], None]

    def capabilities(self) -> t.ClientCapabilities:
        """What the agent is told that it may ask for."""
        told: t.ClientCapabilities = {
            "fs": {
                "readTextFile": self.on_read_text_file is not None,
                "writeTextFile": self.on_write_text_file is not None,
            },
            "terminal": self.terminal is not None,
            "_meta": {"tiller": {"events": True}},
        }
        if self.on_elicitation:
            told["elicitation"] = {"form": {}, "url": {}}
        return told

    async def answer(self, method: str, params: Any) -> Any:
        """The answer to a request of the agent; raises RequestError for one that is refused."""
        if method == "session/request_permission":
            return await self._permission(params)
        callback = self._callback(method)
        if callback is None:
            raise RequestError(-32601, f"Method not found: {method}")
        if not isinstance(params, dict):
            raise RequestError(-32602, f"{method} has no parameters")
        answer = await self.call(callback, params)
        return {} if answer is None else answer

    def _callback(self, method: str) -> Callable[[Any], Any] | None:
        if method.startswith("terminal/"):
            name = method[len("terminal/") :]
            known = name in ("create", "output", "wait_for_exit", "kill", "release")
            return getattr(self.terminal, name) if known and self.terminal is not None else None
        return {
            "elicitation/create": self.on_elicitation,
            "fs/read_text_file": self.on_read_text_file,
            "fs/write_text_file": self.on_write_text_file,
        }.get(method)

    async def _permission(self, params: Any) -> t.RequestPermissionResponse:
        options = params.get("options") if isinstance(params, dict) else None
        if not isinstance(options, list) or not all(isinstance(one, dict) for one in options):
            raise RequestError(-32602, "session/request_permission has no options")
        chosen: Any = "reject_once"
        try:
            if self.on_permission:
                chosen = await self.call(self.on_permission, params)
        except Exception as error:
            self.report(error)
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}

        def by(key: str, value: Any) -> Any:
            return next((one for one in options if one.get(key) == value), None)

        option = by("optionId", chosen) or by("kind", chosen)
        if option is None and chosen != "reject_once":
            self.report(TypeError(f"on_permission chose {chosen!r}, which is no option"))
        option = option or by("kind", "reject_once")
        if option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
