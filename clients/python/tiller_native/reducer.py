"""What there is to show of a session, from its events alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Iterator, Literal

from .types import NativeEvent, Node, Stats, Summary


@dataclass(frozen=True)
class Said:
    """Something that was said."""

    kind: Literal["user", "assistant", "thought", "notice", "error"]
    text: str


@dataclass(frozen=True)
class Call:
    """A tool call."""

    id: str
    tool: str
    title: str
    args: Any
    status: Literal["pending", "in_progress", "completed", "failed"] = "pending"
    output: str = ""


@dataclass(frozen=True)
class State:
    #: The running turn.
    run: str | None = None
    phase: str = "idle"
    #: What was said and done, in order.
    transcript: tuple[Said | Call, ...] = ()
    #: The call that waits for a permission.
    asking: str | None = None
    #: All subagents.
    tree: list[Node] = field(default_factory=list)
    #: Subagents in numbers, by id.
    stats: dict[str, Stats] = field(default_factory=dict)
    summary: Summary | None = None
    usage: dict[str, Any] | None = None
    mode: str | None = None
    model: str | None = None


def reduce(state: State, event: NativeEvent) -> State:
    """The state after an event. Neither is changed."""
    given: Any = event
    match given["type"]:
        case "session_update":
            if given.get("status") == "started":
                return replace(state, run=given["runId"])
            if given.get("status"):
                return replace(state, run=None, asking=None)
            return _add(state, Said("user", given.get("text") or ""))
        case "phase_changed":
            return replace(state, phase=given["phase"])
        case "text_delta":
            return _say(state, "assistant", given["delta"])
        case "thinking_delta":
            return _say(state, "thought", given["delta"])
        case "tool_started":
            return _add(state, Call(given["toolCallId"], given["tool"], given["title"], given["args"]))
        case "tool_progress":
            return _call(state, given["toolCallId"], status="in_progress")
        case "tool_completed":
            return _call(state, given["toolCallId"], status=given["status"], output=given["output"])
        case "permission_requested":
            return replace(state, asking=given["toolCallId"])
        case "permission_resolved":
            return replace(state, asking=None)
        case "subagent_spawned":
            known = set(_ids(state.tree))
            nodes = [_queued(entry) for entry in given["entries"]]
            return replace(state, tree=state.tree + [node for node in nodes if node["id"] not in known])
        case "subagent_completed":
            stats = state.stats | {entry["stats"]["id"]: entry["stats"] for entry in given["entries"]}
            return replace(state, stats=stats, tree=[_ended(node, stats) for node in state.tree])
        case "subagent_tree":
            return replace(state, tree=given["tree"])
        case "subagent_dashboard":
            return replace(state, tree=given["tree"], stats=given["stats"], summary=given["summary"])
        case "usage_updated":
            keys = ("model", "tokensIn", "tokensOut", "cost", "maxContext")
            return replace(state, usage={key: given.get(key) for key in keys})
        case "runtime_changed":
            model = f"{given['provider']}/{given['model']}" if given.get("model") else state.model
            return replace(state, mode=given.get("mode") or state.mode, model=model)
        case "status_updated":
            return _add(state, Said("notice", given["message"]))
        case "error":
            return _add(state, Said("error", given["message"]))
        case _:
            # What a program asked for, it is answered.
            return state


def _add(state: State, item: Said | Call) -> State:
    return replace(state, transcript=(*state.transcript, item))


def _say(state: State, kind: Any, text: str) -> State:
    """Goes on with what is being said, or begins it."""
    last = state.transcript[-1] if state.transcript else None
    if not isinstance(last, Said) or last.kind != kind:
        return _add(state, Said(kind, text))
    return replace(state, transcript=(*state.transcript[:-1], Said(kind, last.text + text)))


def _call(state: State, id: str, **change: Any) -> State:
    def changed(item: Said | Call) -> Said | Call:
        return replace(item, **change) if isinstance(item, Call) and item.id == id else item

    return replace(state, transcript=tuple(map(changed, state.transcript)))


def _ids(tree: list[Node]) -> Iterator[str]:
    for node in tree:
        yield node["id"]
        yield from _ids(node["children"])


def _queued(entry: Any) -> Node:
    """A subagent of which nothing is known yet but what was asked for."""
    given = entry["args"] if isinstance(entry["args"], dict) else {}
    return {
        "id": given.get("id", entry["id"]),
        "type": given.get("type", ""),
        "task": given.get("task", ""),
        "status": "queued",
        "elapsed": 0,
        "toolCalls": 0,
        "success": False,
        "error": None,
        "queueReason": None,
        "lastTool": None,
        "lastMessagePreview": None,
        "nextRetryAt": None,
        "children": [],
    }


def _ended(node: Node, stats: dict[str, Stats]) -> Node:
    changed: Any = {**node, "children": [_ended(child, stats) for child in node["children"]]}
    own = stats.get(node["id"])
    if own:
        changed |= {key: own[key] for key in ("status", "elapsed", "toolCalls", "error")}  # type: ignore[literal-required]
        changed["success"] = own["status"] == "done"
    return changed
