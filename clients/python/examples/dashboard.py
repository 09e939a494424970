"""A dashboard for the terminal: what is said, what runs, who works, what it costs; drawn anew as it changes.

    python3 dashboard.py [--tiller PROGRAM] [--yes] [--load SESSION] PROMPT

Lines that are typed meanwhile: `cancel ID` cancels a subagent and those below it, `cancel all` all of them, `stop` the turn; `y` or `n`
answers a request for permission. Without a terminal, each change of a subagent is a line of the output.
"""

import argparse
import os
import queue
import shutil
import sys
import threading
import time
from typing import Dict, Iterator, List

from tiller_native import Call, EndedError, Said, Session, State, Tiller, TillerError, cut, line, listed, numbers, plain, rows
from tiller_native.types import RequestPermissionRequest

MARKS = {"pending": "○", "in_progress": "◐", "completed": "●", "failed": "✗"}
LIVE = sys.stdout.isatty()
HINT = "cancel ID, cancel all, stop"


def paint(code: int, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if LIVE else text


def item(one: Said | Call, width: int) -> str:
    if isinstance(one, Call):
        doing = f" {one.progress}" if one.status == "in_progress" else ""
        return f"{MARKS[one.status]} {cut(one.title + doing, width - 2)}"
    begin, code = {"user": ("> ", 1), "assistant": ("  ", 0), "error": ("! ", 31)}.get(one.kind, ("· ", 2))
    return paint(code, begin + cut(one.text, width - 2))


def frame(state: State, age: float, width: int, height: int | None) -> List[str]:
    """What there is to show, on at most `height` lines of at most `width` columns."""
    agents = [line(row, width) for row in rows(state, age)]
    if agents:
        agents = ["", paint(1, cut(f"Subagents: {numbers(state)}", width)), *agents]
    used = "no tokens yet"
    if state.usage:
        used = f"{state.usage.tokensIn} in, {state.usage.tokensOut} out, of {state.usage.maxContext or '?'}"
        used += "" if state.usage.cost is None else f" · ${state.usage.cost:.4f}"
    model = state.usage.model if state.usage else "?"
    status = cut(f"{state.run or 'idle'} · {state.phase} · {model} · {used}", width - 2)
    said = [item(one, width) for one in state.transcript]
    if height is not None:
        room = max(1, height - 5)
        if len(agents) > room:
            agents = [*agents[: room - 1], f"… {len(agents) - room + 1} more"]
        said = said[max(0, len(said) - (height - 2 - len(agents))) :]
    return [*said, *agents, "", paint(7, f" {status} ")]


class Screen:
    """The dashboard of a session. A thread draws it, so that times go on while nothing else happens."""

    def __init__(self) -> None:
        self.state, self.at = State(), time.monotonic()
        self.changed, self.ended = threading.Event(), threading.Event()
        self.shown: Dict[str, str] = {}
        self.hint = HINT
        self.thread = threading.Thread(target=self.draw, daemon=True)
        self.thread.start()

    def show(self, _: str, state: State) -> None:
        if state.tree is not self.state.tree:
            self.at = time.monotonic()
        self.state = state
        if LIVE:
            self.changed.set()
        else:
            self.tell(state)

    def tell(self, state: State) -> None:
        """A line for each subagent whose status has changed."""
        for row in rows(state):
            if self.shown.get(row.id) != row.status:
                self.shown[row.id] = row.status
                print(line(row, 1000), flush=True)

    def draw(self) -> None:
        while LIVE and not self.ended.is_set():
            self.changed.wait(1)
            self.changed.clear()
            size = shutil.get_terminal_size()
            lines = frame(self.state, time.monotonic() - self.at, size.columns - 1, size.lines - 2)
            lines += [""] * (size.lines - 2 - len(lines))
            lines.append(paint(2, cut(self.hint, size.columns - 1)))
            # The last line is the user's: what is typed there stays, and the cursor returns to it.
            print("\x1b7\x1b[H" + "".join(f"{one}\x1b[K\n" for one in lines) + "\x1b8", end="", flush=True)
            # At most ten times a second.
            self.ended.wait(0.1)

    def say(self, hint: str = HINT) -> None:
        self.hint = hint
        self.changed.set()

    def close(self) -> None:
        self.ended.set()
        self.changed.set()
        self.thread.join()
        width = shutil.get_terminal_size().columns - 1 if LIVE else 1000
        print(("\x1b[H\x1b[2J" if LIVE else "") + "\n".join(frame(self.state, 0, width, None)), flush=True)


def typed() -> Iterator[str]:
    """The lines of the standard input. Read below Python's buffer, which a thread that waits would lock at the end of the program."""
    rest = b""
    while True:
        try:
            came = os.read(0, 4096)
        except OSError:
            return
        if not came:
            return
        *lines, rest = (rest + came).split(b"\n")
        yield from (one.decode(errors="replace").strip() for one in lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiller", default="tiller")
    parser.add_argument("--yes", action="store_true", help="allow whatever is asked for")
    parser.add_argument("--load", metavar="SESSION", help="go on with a stored session")
    parser.add_argument("prompt", nargs="+")
    given = parser.parse_args()
    screen, answers = Screen(), queue.Queue[str]()
    one_at_a_time, asking = threading.Lock(), threading.Event()

    def permission(asked: RequestPermissionRequest) -> str:
        if given.yes or not (LIVE and sys.stdin.isatty()):
            return "allow_once" if given.yes else "reject_once"
        with one_at_a_time:
            screen.say(f"{plain(asked['toolCall'].get('title') or '')}? y or n")
            asking.set()
            answer = answers.get()
            screen.say()
        return "allow_once" if answer == "y" else "reject_once"

    def obey(session: Session, words: str) -> None:
        if asking.is_set() and words in ("y", "n"):
            asking.clear()
            answers.put(words)
        elif words == "stop":
            session.cancel()
        elif words == "cancel all":
            session.request("subagents/cancel")
        elif words.startswith("cancel "):
            found = session.request("subagents/cancel", id=words[7:].strip())["cancelled"]
            screen.say(HINT if found else f"no subagent {words[7:]} is at work")

    def read(session: Session) -> None:
        for words in typed():
            try:
                obey(session, words)
            except TillerError as error:
                screen.say(str(error))
            if LIVE:
                print("\x1b[2K\r", end="", flush=True)

    with Tiller(given.tiller, on_permission=permission) as tiller:
        tiller.on_change(screen.show)
        session = tiller.load_session(given.load, os.getcwd()) if given.load else tiller.new_session(os.getcwd())
        threading.Thread(target=read, args=(session,), daemon=True).start()
        if LIVE:
            print(f"\x1b[2J\x1b[{shutil.get_terminal_size().lines};1H", end="", flush=True)
        try:
            reason, code = str(session.prompt(" ".join(given.prompt))["stopReason"]), 0
            # The last numbers: events have them only once a second.
            screen.state = listed(session.state, session.request("subagents/list"))
        except EndedError as error:
            # What was stored is shown: subagents that had ended, and those that were interrupted.
            tiller.reconnect()
            reason, code = plain(str(error)), 1
        screen.close()
        print(reason)
    return code


if __name__ == "__main__":
    sys.exit(main())
