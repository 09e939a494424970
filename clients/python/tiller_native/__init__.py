"""A client of Tiller's native layer: sessions, events, requests, callbacks, and a state to show. Needs nothing but Python 3.10."""

from .aio import AsyncSession, AsyncTiller, Reconnected
from .callbacks import AsyncTerminals, Terminals
from .errors import EndedError, Exit, ProtocolError, RequestError, RequestTimeout, TillerError
from .events import AnyEvent, AnyUpdate, UnknownEvent, UnknownUpdate
from .reducer import Call, Said, State, Used, broken_off, opened, reduce, reduce_update, text_of
from .sync import Session, Tiller

__all__ = [
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
    "opened",
    "reduce",
    "reduce_update",
    "text_of",
]
