"""A client of Tiller's native layer: events, requests and a state to show. Needs nothing but Python 3.11."""

from .client import Request, RequestError, Session, Tiller, reject
from .reducer import Call, Said, State, reduce

__all__ = ["Call", "Request", "RequestError", "Said", "Session", "State", "Tiller", "reduce", "reject"]
