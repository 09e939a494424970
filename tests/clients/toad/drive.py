"""Drives the real `tiller acp` with Toad, a program for terminals: on a pseudo-terminal, by its keys, and by what it draws.

    python3.14 drive.py path/to/tiller

Ends with 1 and a message at the first wrong thing.
"""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

FILE = "src/greet.sh"
PROMPT = 'replace "Helo" with "Hello" in src/greet.sh then run sh test.sh'
SAVED = 'greet() {\n    echo "Helo, $1!"\n}\n'
PASSED = "passed in the project"
ROWS, COLUMNS = 50, 160
# Seconds for one wait; longer than anything takes on a busy machine, shorter than the command that is cancelled.
PATIENCE = 45
ESCAPES = re.compile(rb"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>78])")


class Wrong(Exception):
    """The first thing that is not as it should be."""


class Toad:
    """Toad on a pseudo-terminal, with a project and a home in a temporary folder."""

    def __init__(self, tiller: str, folder: Path) -> None:
        self.root, home = folder / "project", folder / "home"
        home.mkdir()
        (home / "config.toml").write_text("[providers.local]\ndiscover = false\n")
        (self.root / "src").mkdir(parents=True)
        (self.root / FILE).write_text(SAVED)
        test = f'. ./src/greet.sh\ntest "$(greet editor)" = "Hello, editor!" && echo {PASSED}\n'
        (self.root / "test.sh").write_text(test)
        agent = f"'{Path(tiller).resolve()}' acp --permission-mode argus"
        command = [str(Path(sys.executable).parent / "toad"), "acp", agent, str(self.root), "--title", "Tiller"]
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "TILLER_HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
        }
        self.drawn = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.root)
            os.execve(command[0], command, environment)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def wait(self, holds, what: str) -> None:
        """Reads what is drawn until something holds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                raise Wrong(f"waited {PATIENCE} s for {what}; drawn at last: {self.text()[-1500:]!r}")
            if select.select([self.terminal], [], [], 0.05)[0]:
                try:
                    self.drawn += os.read(self.terminal, 65536)
                except OSError:
                    raise Wrong(f"Toad ended before {what}; it drew {self.text()[-1500:]!r}") from None

    def text(self) -> str:
        return ESCAPES.sub(b"", self.drawn).decode("utf-8", "replace")

    def draws(self, words: str, after: str = "") -> None:
        """Waits for words on the screen; `after` must have been drawn before them."""
        self.wait(lambda: words in self.text()[max(self.text().find(after), 0) :] and after in self.text(), f"{words!r} on the screen")

    def press(self, keys: str) -> None:
        """Sends keys, and forgets what was drawn before."""
        self.drawn = b""
        os.write(self.terminal, keys.encode())

    def prompt(self, words: str) -> None:
        # The agent's mode is drawn once there is a session; before, a prompt is not sent.
        self.draws("Edit")
        self.press(words)
        self.draws(words[-6:])
        self.press("\r")

    def end(self) -> None:
        os.close(self.terminal)
        os.kill(self.pid, 15)
        os.waitpid(self.pid, 0)

    def file(self) -> str:
        return (self.root / FILE).read_text()


def allowed(toad: Toad) -> None:
    toad.prompt(PROMPT)
    toad.draws("Approval request")
    toad.draws("(+1")
    shown("diff")
    toad.press("a")
    toad.wait(lambda: "Hello" in toad.file(), "the edit")
    toad.draws("Always", after="Step 2 of 2")
    toad.press("a")
    toad.draws(PASSED)
    # The turn's last words.
    toad.draws("1 replacement")


def refused(toad: Toad) -> None:
    toad.prompt(PROMPT)
    toad.draws("Approval request")
    toad.press("r")
    toad.draws("refused")
    if toad.file() != SAVED:
        raise Wrong("refused, yet the file has changed")


def cancelled(toad: Toad) -> None:
    toad.prompt("run `touch started && sleep 60`")
    toad.draws("Always")
    toad.press("a")
    toad.wait((toad.root / "started").exists, "the command to begin")
    # Twice: the first asks for the second.
    toad.press("\x1b")
    toad.draws("again to cancel")
    toad.press("\x1b")
    toad.draws("Turn cancelled")
    # A further prompt is answered once the turn has ended.
    toad.press("show test.sh")
    toad.draws("test.sh")
    toad.press("\r")
    toad.draws(PASSED)


def shown(*what: str) -> None:
    if path := os.environ.get("TILLER_SHOWN"):
        with open(path, "a") as file:
            file.write("\n".join(what) + "\n")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for story in [allowed, refused, cancelled]:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            toad = Toad(sys.argv[1], Path(folder).resolve())
            try:
                story(toad)
            except Exception as error:
                print(f"Toad: {story.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
                return 1
            finally:
                toad.end()
        print(f"Toad: {story.__name__}: all as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
