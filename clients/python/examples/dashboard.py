"""A dashboard for the terminal: what is said, what runs, who works, what it costs. Asks for permissions with y and n.

    python3 dashboard.py [--tiller PROGRAM] [--yes] PROMPT
"""

import argparse
import os
import shutil
import sys

from tiller_native import Call, Said, State, Tiller
from tiller_native.types import Node, RequestPermissionRequest

MARKS = {"pending": "○", "queued": "○", "in_progress": "◐", "running": "◐", "retrying": "↻", "completed": "●", "done": "●"}
MARKS |= {"failed": "✗", "cancelled": "✗"}
LIVE = sys.stdout.isatty()


def paint(code: int, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if LIVE else text


def cut(text: str) -> str:
    width = shutil.get_terminal_size((100, 24)).columns - 4
    line = " ".join(text.split())
    return line if len(line) < width else line[: width - 1] + "…"


def item(one: Said | Call) -> str:
    if isinstance(one, Call):
        doing = f" {one.progress}" if one.status == "in_progress" else ""
        return f"{MARKS.get(one.status, '?')} {cut(one.title + doing)}"
    match one.kind:
        case "user":
            return paint(1, f"> {cut(one.text)}")
        case "assistant":
            return f"  {cut(one.text)}"
        case "error":
            return paint(31, f"! {cut(one.text)}")
        case _:
            return paint(2, f"· {cut(one.text)}")


def branch(node: Node, depth: int) -> list[str]:
    doing = f" ({node['lastTool']})" if node["lastTool"] else ""
    text = f"{MARKS.get(node['status'], '·')} {node['type']} {node['id']}: {node['task']}{doing} {node['elapsed']}s"
    return ["  " * depth + cut(text)] + [line for child in node["children"] for line in branch(child, depth + 1)]


def frame(state: State) -> str:
    rows = max(5, shutil.get_terminal_size().lines - 6 - len(state.tree)) if LIVE else len(state.transcript)
    lines = [item(one) for one in state.transcript[-rows:]] if rows else []
    if state.tree:
        numbers = state.summary
        done = f"{numbers['done']}/{numbers['total']} done, {numbers['running']} running" if numbers else ""
        lines += ["", paint(1, f"Subagents {done}")] + [line for node in state.tree for line in branch(node, 1)]
    used = "no tokens yet"
    if state.usage:
        used = f"{state.usage.tokensIn} in, {state.usage.tokensOut} out, of {state.usage.maxContext or '?'}"
    model = state.usage.model if state.usage else "?"
    return "\n".join([*lines, "", paint(7, f" {state.run or 'idle'} · {state.phase} · {model} · {used} ")])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiller", default="tiller")
    parser.add_argument("--yes", action="store_true", help="allow whatever is asked for")
    parser.add_argument("prompt", nargs="+")
    given = parser.parse_args()

    def show(_: str, state: State) -> None:
        if LIVE and not state.asking:
            print("\x1b[H\x1b[2J" + frame(state), end="", flush=True)

    def permission(asked: RequestPermissionRequest) -> str:
        answer = "y" if given.yes else "n"
        if not given.yes and sys.stdin.isatty():
            answer = input(f"\n{asked['toolCall'].get('title')}? [y/N] ").strip().lower()
        return "allow_once" if answer == "y" else "reject_once"

    with Tiller(given.tiller, on_permission=permission) as tiller:
        tiller.on_change(show)
        session = tiller.new_session(os.getcwd())
        reason = session.prompt(" ".join(given.prompt))["stopReason"]
        print(("\x1b[H\x1b[2J" if LIVE else "") + frame(session.state), reason, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
