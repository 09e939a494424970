"""A client of Tiller's native layer: sessions, events, requests, callbacks, and a state to show. Needs nothing but Python 3.10."""

from .aio import AsyncSession, AsyncTiller, Reconnected
from .callbacks import AsyncTerminals, Terminals
from .errors import EndedError, Exit, ProtocolError, RequestError, RequestTimeout, TillerError
from .events import AnyEvent, AnyUpdate, UnknownEvent, UnknownUpdate
from .reducer import AT_WORK, Call, Said, State, Used, broken_off, is_at_work, listed, opened, reduce, reduce_update, text_of
from .swarm import Row, line, numbers, rows
from .sync import Session, Tiller
from .terminal import cut, plain

__all__ = [
    "AT_WORK",
    "AnyEvent",
    "AnyUpdate",
    "AsyncSession",
    "AsyncTerminals",
    "AsyncTiller",
    "Call",
    "EndedError",
    "Exit",
    "ProtocolError",
    "Reconnected",
    "RequestError",
    "RequestTimeout",
    "Row",
    "Said",
    "Session",
    "State",
    "Terminals",
    "Tiller",
    "TillerError",
    "UnknownEvent",
    "UnknownUpdate",
    "Used",
    "broken_off",
    "cut",
    "is_at_work",
    "line",
    "listed",
    "numbers",
    "opened",
    "plain",
    "reduce",
    "reduce_update",
    "rows",
    "text_of",
]
