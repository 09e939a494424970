"""What there is to show of a session, from its events; and of one that was loaded, from what is played back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Literal, Mapping, Tuple, Union, cast

from . import types as t
from .events import AnyEvent, AnyUpdate
from .types import Json, Node, Stats, Subagents, Summary

ToolStatus = Literal["pending", "in_progress", "completed", "failed"]


@dataclass(frozen=True)
class Said:
    """Something that was said."""

    kind: Literal["user", "assistant", "thought", "notice", "error"]
    text: str


@dataclass(frozen=True)
class Call:
    """A tool call."""

    id: str
    tool: str = ""
    title: str = ""
    args: Json = None
    status: ToolStatus = "pending"
    output: str = ""
    #: What it said of itself last, while it ran: how far it is, the end of its log.
    progress: str = ""
    #: What the protocol has to show of it: text, diffs, terminals.
    content: Tuple[t.ToolCallContent, ...] = ()


@dataclass(frozen=True)
class Used:
    """What a session has used."""

    model: str
    tokensIn: int
    tokensOut: int
    #: None where it is not known.
    cost: Union[float, None]
    #: The size of the model's context in tokens; None where it is not known.
    maxContext: Union[int, None]


@dataclass(frozen=True)
class State:
    """What there is to show of a session."""

    #: The running turn.
    run: str | None = None
    phase: str = "idle"
    #: What was said and done, in order.
    transcript: Tuple[Union[Said, Call], ...] = ()
    #: The call that waits for a permission.
    asking: str | None = None
    #: All subagents.
    tree: List[Node] = field(default_factory=list)
    #: Subagents in numbers, by id.
    stats: Dict[str, Stats] = field(default_factory=dict)
    summary: Summary | None = None
    usage: Used | None = None
    #: How full the model's context is: tokens used, and its size.
    context: Tuple[int, int] | None = None
    mode: str | None = None
    model: str | None = None
    title: str | None = None
    modes: t.SessionModeState | None = None
    config_options: Tuple[t.SessionConfigOption, ...] = ()
    #: The slash commands that a prompt may begin with.
    commands: Tuple[t.AvailableCommand, ...] = ()
    plan: Tuple[t.PlanEntry, ...] = ()
    #: Whether the session is being loaded: its history is played back.
    loading: bool = False
    #: The message of the user that is being played back.
    message: str | None = None


#: The statuses of subagents that have not ended.
AT_WORK = frozenset(("queued", "queued_global", "waiting", "running", "retrying"))

#: The events that tell what is said.
SAID = ("session_update", "text_delta", "thinking_delta")


def reduce(state: State, event: AnyEvent) -> State:
    """The state after an event. Neither is changed."""
    given: Any = event
    if state.loading and given["type"] in SAID:
        return state
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
            return _call(state, given["toolCallId"], tool=given["tool"], title=given["title"], args=given["args"])
        case "tool_progress":
            said = {"progress": given["message"]} if given.get("message") else {}
            return _call(state, given["toolCallId"], status="in_progress", **said)
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
            # Of the others, the tree may know more than the statistics, which come less often.
            ended = {entry["stats"]["id"]: entry["stats"] for entry in given["entries"]}
            return replace(state, stats=state.stats | ended, tree=[_ended(node, ended) for node in state.tree])
        case "subagent_tree":
            return replace(state, tree=given["tree"])
        case "subagent_dashboard":
            return replace(state, tree=given["tree"], stats=given["stats"], summary=given["summary"])
        case "usage_updated":
            keys = ("model", "tokensIn", "tokensOut", "cost", "maxContext")
            return replace(state, usage=Used(*(given.get(key) for key in keys)))
        case "runtime_changed":
            known_model = given.get("model") and given.get("provider")
            model = f"{given['provider']}/{given['model']}" if known_model else state.model
            return replace(state, mode=given.get("mode") or state.mode, model=model)
        case "status_updated":
            return _add(state, Said("notice", given["message"]))
        case "error":
            return _add(state, Said("error", given["message"]))
        case _:
            # What a program asked for, it is answered.
            return state


def reduce_update(state: State, update: AnyUpdate) -> State:
    """The state after an update of the protocol.

    What is said is taken from the events, which come as it is said; of the history of a session that is being loaded, from the updates,
    which have all of it.
    """
    given: Any = update
    match given["sessionUpdate"]:
        case "user_message_chunk":
            return _play_back(state, text_of(given["content"]), given.get("messageId")) if state.loading else state
        case "agent_message_chunk":
            return _say(state, "assistant", text_of(given["content"])) if state.loading else state
        case "agent_thought_chunk":
            return _say(state, "thought", text_of(given["content"])) if state.loading else state
        case "notice":
            text = ": ".join(one for one in (given["title"], given.get("description")) if one)
            return _add(state, Said("notice", text)) if state.loading else state
        case "tool_call" | "tool_call_update":
            return _called(state, given)
        case "plan":
            return replace(state, plan=tuple(given["entries"]))
        case "available_commands_update":
            return replace(state, commands=tuple(given["availableCommands"]))
        case "current_mode_update":
            return replace(state, mode=given["currentModeId"])
        case "config_option_update":
            return _configured(state, given["configOptions"])
        case "session_info_update":
            return replace(state, title=given.get("title", state.title))
        case "usage_update":
            return replace(state, context=(given["used"], given["size"]))
        case _:
            return state


def opened(state: State, answer: Mapping[str, Any]) -> State:
    """The state once a session is open, by the answer that opened it. Calls of a turn that was broken off have failed."""
    modes, options = answer.get("modes"), answer.get("configOptions")
    if modes:
        state = replace(state, modes=modes, mode=modes["currentModeId"])
    if options:
        state = _configured(state, options)
    return replace(broken_off(state), loading=False, message=None) if state.loading else state


def listed(state: State, answer: Subagents) -> State:
    """The state with what the request `subagents/list` answered."""
    return replace(state, tree=answer["tree"], stats=answer["stats"], summary=answer["summary"])


def broken_off(state: State) -> State:
    """The state once the agent is gone: no turn runs, what had begun has failed, and subagents that had not ended are interrupted."""

    def failed(item: Union[Said, Call]) -> Union[Said, Call]:
        running = isinstance(item, Call) and item.status in ("pending", "in_progress")
        return replace(item, status="failed") if running and isinstance(item, Call) else item

    def interrupted(node: Node) -> Node:
        if not is_at_work([node]):
            return node
        changed: Any = {**node, "children": [interrupted(child) for child in node.get("children", ())]}
        return cast(Node, changed | {"status": "interrupted"} if node["status"] in AT_WORK else changed)

    tree = [interrupted(node) for node in state.tree]
    return replace(state, run=None, phase="idle", asking=None, transcript=tuple(map(failed, state.transcript)), tree=tree)


def is_at_work(tree: List[Node]) -> bool:
    """Whether a subagent of the tree has not ended."""
    # This must not fail on what an agent sent that is not ours: it is asked when the agent is gone.
    return any(node.get("status") in AT_WORK or is_at_work(node.get("children", [])) for node in tree)


def text_of(block: t.ContentBlock) -> str:
    """A block of content as text; what is none is named."""
    given: Any = block
    match given["type"]:
        case "text":
            return str(given["text"])
        case "image" | "audio":
            return f"[{given['type']} {given['mimeType']}]"
        case "resource_link":
            return f"[{given['name']}]({given['uri']})"
        case "resource":
            inner = given["resource"]
            return str(inner["text"]) if "text" in inner else f"[{inner['uri']}]"
        case _:
            return ""


def _configured(state: State, options: List[t.SessionConfigOption]) -> State:
    values: Dict[Any, Any] = {one.get("category"): one["currentValue"] for one in options if one["type"] == "select"}
    mode, model = values.get("mode", state.mode), values.get("model", state.model)
    return replace(state, config_options=tuple(options), mode=mode, model=model)


def _called(state: State, update: Mapping[str, Any]) -> State:
    fields = {"title": "title", "name": "tool", "rawInput": "args", "status": "status"}
    change = {own: update[key] for key, own in fields.items() if update.get(key) is not None}
    content = update.get("content")
    if content is not None:
        change["content"] = tuple(content)
        text = "".join(text_of(one["content"]) for one in content if one["type"] == "content")
        if text and state.loading:
            change["output"] = text
    return _call(state, update["toolCallId"], **change)


def _add(state: State, item: Union[Said, Call]) -> State:
    return replace(state, transcript=(*state.transcript, item))


def _say(state: State, kind: Literal["user", "assistant", "thought"], text: str) -> State:
    """Goes on with what is being said, or begins it."""
    last = state.transcript[-1] if state.transcript else None
    if not isinstance(last, Said) or last.kind != kind:
        return _add(state, Said(kind, text))
    return replace(state, transcript=(*state.transcript[:-1], Said(kind, last.text + text)))


def _play_back(state: State, text: str, message: str | None) -> State:
    """A piece of what the user said, played back. Messages are told apart by their ids."""
    goes_on = message is not None and message == state.message
    state = replace(state, message=message)
    return _say(state, "user", text) if goes_on else _add(state, Said("user", text))


def _call(state: State, id: str, **change: Any) -> State:
    """Changes a call, or begins it."""
    items = state.transcript
    for at in range(len(items) - 1, -1, -1):
        item = items[at]
        if isinstance(item, Call) and item.id == id:
            return replace(state, transcript=(*items[:at], replace(item, **change), *items[at + 1 :]))
    return _add(state, replace(Call(id), **change))


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
        changed |= {key: own[key] for key in ("status", "elapsed", "toolCalls", "error")}
        changed["success"] = own["status"] == "done"
    return cast(Node, changed)
