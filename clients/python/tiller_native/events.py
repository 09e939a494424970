"""What the agent tells: the layer's events and the protocol's updates, and what this version does not know of either."""

from __future__ import annotations

from typing import Any, Literal, Tuple, TypedDict, Union, cast

from .types import EVENT_FIELDS, Json, NativeEvent, SessionUpdate


class UnknownEvent(TypedDict):
    """An event that this version does not know, or whose fields are not those of its type."""

    type: Literal["unknown"]
    #: The type that was sent.
    kind: str
    sessionId: Union[str, None]
    #: All that was sent.
    params: Json


class UnknownUpdate(TypedDict):
    """An update of the protocol that this version does not know."""

    sessionUpdate: Literal["unknown"]
    #: What it is called.
    kind: str
    #: All that was sent.
    update: Json


AnyEvent = Union[NativeEvent, UnknownEvent]
AnyUpdate = Union[SessionUpdate, UnknownUpdate]

UPDATES = frozenset(
    (
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
    )
)


def event_of(name: str, params: Any) -> Tuple[AnyEvent, Union[str, None]]:
    """An event by its type, or as unknown; and what is wrong with it, if anything."""
    given = params if isinstance(params, dict) else {}
    kind = given["type"] if isinstance(given.get("type"), str) else name
    session = given["sessionId"] if isinstance(given.get("sessionId"), str) else None
    unknown: UnknownEvent = {"type": "unknown", "kind": kind, "sessionId": session, "params": params}
    fields = EVENT_FIELDS.get(kind)
    if fields is None:
        return unknown, None
    for field, wanted in fields.items():
        found = kind_of(given[field]) if field in given else "nothing"
        if found != wanted:
            return unknown, f"the event {kind} has {found} as {field} where {wanted} is due"
    return cast(NativeEvent, given), None


def update_of(update: Any) -> AnyUpdate:
    """An update by its name, or as unknown."""
    given = update if isinstance(update, dict) else {}
    kind = given.get("sessionUpdate")
    if isinstance(kind, str) and kind in UPDATES:
        return cast(SessionUpdate, given)
    return {"sessionUpdate": "unknown", "kind": kind if isinstance(kind, str) else "", "update": update}


def kind_of(value: Any) -> str:
    """The kind of a JSON value."""
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")
