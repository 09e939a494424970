"""The subagents of a session as rows to show, from its state; and as lines of a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List

from .reducer import AT_WORK, State
from .terminal import cut, plain
from .types import Node

MARKS = {"running": "◐", "retrying": "↻", "done": "●", "failed": "✗", "cancelled": "✗", "interrupted": "‖", "summary": "…"}

#: In the order in which they are counted.
STATUSES = ("done", "running", "retrying", "queued", "waiting", "failed", "cancelled", "interrupted")


@dataclass(frozen=True)
class Row:
    """A subagent. Its texts are the model's; `plain` and `cut` make them safe for a terminal."""

    id: str
    #: `explore`, `plan` or `general`; `summary` for the subagents omitted for lack of room.
    type: str
    task: str
    #: `queued`, `queued_global`, `waiting`, `running`, `retrying`, `done`, `failed`, `cancelled`, `interrupted` or `summary`.
    status: str
    #: How many subagents are above it.
    depth: int
    #: Seconds since it started, or between its start and its end.
    elapsed: float
    calls: int
    #: Tokens that it sent and received; 0 until the first dashboard has come.
    tokens: int
    #: Further attempts after failures.
    retries: int
    #: Why it failed or waits, or what it does.
    detail: str


def rows(state: State, age: float = 0.0) -> List[Row]:
    """All subagents, parents before their children.

    Events come when a status changes, so what runs is `age` seconds older than they say: the time since the state's `tree` was received.
    """
    return [row for node in state.tree for row in _rows(state, node, 0, age)]


def numbers(state: State) -> str:
    """All subagents in numbers, on one line: how many there are in which status, and what they cost. Empty without subagents."""
    counts = _counts(state.tree)
    if not counts:
        return ""
    # The statuses are the tree's, which comes more often than the rest.
    parts = [f"{sum(counts.values())} in all"]
    parts += [f"{counts[status]} {status}" for status in STATUSES if counts.get(status)]
    summary = state.summary
    if summary is not None:
        parts += [_counted(summary["totalTools"], "call"), f"{summary['tokensIn'] + summary['tokensOut']} tokens"]
        parts.append("cost unknown" if summary["cost"] is None else f"${summary['cost']:.4f}")
        parts += [f"about {duration(summary['eta'])} left"] if summary["eta"] and AT_WORK & counts.keys() else []
    return ", ".join(parts)


def line(row: Row, width: int) -> str:
    """A subagent on a line of at most `width` columns, without an escape sequence."""
    begin = f"{'  ' * row.depth}{MARKS.get(row.status, '○')} "
    if row.type == "summary":
        return begin + cut(row.task, max(0, width - len(begin)))
    parts = [row.status if row.status != "queued_global" else "queued"]
    parts += [duration(row.elapsed)] if row.elapsed else []
    parts += [_counted(row.calls, "call")] if row.calls else []
    parts += [f"{row.tokens} tokens"] if row.tokens else []
    parts += [_counted(row.retries, "retry", "retries")] if row.retries else []
    detail = f" ({row.detail})" if row.detail else ""
    return begin + cut(f"{row.id} ({row.type}) {', '.join(parts)}{detail}: {row.task}", max(0, width - len(begin)))


def duration(seconds: float) -> str:
    """A time such as `7s` or `2m05s`."""
    whole = int(seconds)
    return f"{whole}s" if whole < 60 else f"{whole // 60}m{whole % 60:02}s"


def _counts(tree: List[Node]) -> Dict[str, int]:
    """How many subagents have each status, with those that the tree omits."""
    counts: Dict[str, int] = {}
    for node in tree:
        own = (node.get("hiddenStatuses") or {}) if node["type"] == "summary" else {node["status"]: 1}
        for part in (own, _counts(node["children"])):
            for status, count in part.items():
                name = "queued" if status == "queued_global" else status
                counts[name] = counts.get(name, 0) + count
    return counts


def _rows(state: State, node: Node, depth: int, age: float) -> List[Row]:
    stats = state.stats.get(node["id"])
    running = node["status"] == "running"
    own = Row(
        id=node["id"],
        type=node["type"],
        task=node["task"],
        status=node["status"],
        depth=depth,
        elapsed=node["elapsed"] + (age if running else 0.0),
        calls=node["toolCalls"],
        tokens=stats["tokensIn"] + stats["tokensOut"] if stats else 0,
        retries=stats["retries"] if stats else 0,
        detail=plain(node["error"] or node["queueReason"] or (running and node["lastTool"]) or ""),
    )
    return [own] + [row for child in node["children"] for row in _rows(state, child, depth + 1, age)]


def _counted(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"
