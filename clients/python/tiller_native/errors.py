"""What can go wrong, each with what a program needs to decide what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Tuple


class TillerError(Exception):
    """Any error of this package."""


class RequestError(TillerError):
    """Tiller answered with an error. A callback may raise one to answer the agent with it.

    `code` and `data` are those of JSON-RPC; `method` is what was asked, where it is known.
    """

    def __init__(self, code: int, message: str, data: Any = None, method: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.method = code, message, data, method


@dataclass(frozen=True)
class Exit:
    """How the program ended."""

    #: The exit code; None after a signal, and where it never started.
    code: int | None
    #: The number of the signal that ended it.
    signal: int | None
    #: The last lines on its stderr, at most 50.
    stderr: Tuple[str, ...]


class EndedError(TillerError):
    """The program ended, could not be started, or was closed before it answered."""

    def __init__(self, why: str, exit: Exit) -> None:
        said = f"; it wrote last: {' | '.join(exit.stderr[-3:])}" if exit.stderr else ""
        super().__init__(why + said)
        self.exit = exit


class RequestTimeout(TillerError, TimeoutError):
    """No answer came within the time limit, `seconds`. The agent was asked to drop the request."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"{method} was not answered within {seconds:g} s")
        self.method, self.seconds = method, seconds


class ProtocolError(TillerError):
    """What the agent sent does not follow the protocol. `data` is what was sent, cut where it is a long line."""

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.data = data
