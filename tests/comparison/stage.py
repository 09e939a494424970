"""An agent in an empty home directory and a small project, with a server of its own."""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from server import Server, say
from terminal import Terminal


class Stage:
    def __init__(self, agent, base, mode="auto"):
        self.agent, self.mode, self.server, self.terminal = agent, mode, Server(), None
        self.base = pathlib.Path(tempfile.mkdtemp(prefix=agent.name + "-", dir=base))
        self.home, self.project = self.base / "home", self.base / "shop"
        self.home.mkdir()
        (self.project / "src").mkdir(parents=True)
        (self.project / "src/page.py").write_text("def pages(total, size):\n    return total // size\n")
        subprocess.run(["git", "init", "-q", "."], cwd=self.project, check=True)
        self.variables = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self.variables.update(agent.home(self.home, self.project, self.server, mode))
        self.answers = []
        self.server.play = lambda request: self.answers.pop(0) if self.answers else say("Ready.")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.terminal:
            self.terminal.close()
        self.server.close()
        self.end_detached()
        shutil.rmtree(self.base, ignore_errors=True)

    def end_detached(self):
        """Ends what the agent has left running, such as codex's server, whose program is a copy in the home directory."""
        for directory in pathlib.Path("/proc").iterdir():
            try:
                if directory.name.isdigit() and f"HOME={self.home}".encode() in (directory / "environ").read_bytes().split(b"\0"):
                    os.kill(int(directory.name), signal.SIGKILL)
            except OSError:
                continue

    def open(self, line=None, columns=80, rows=24):
        """A terminal with the agent in it, ready for a prompt."""
        self.terminal = Terminal(self.base / "tmux", self.project, self.variables, columns, rows)
        self.launch(line)
        return self.terminal

    def launch(self, line=None):
        self.terminal.shell("clear; " + shlex.join(line or self.agent.start(self.mode)))
        self.agent.onboard(self.terminal)
        self.terminal.settle()

    def say(self, text, first=True):
        """Types a message and sends it; the first of a turn again if it was not taken, as a person would."""
        count = len(self.server.main_requests())
        self.terminal.type(text)
        time.sleep(1)
        self.terminal.keys("Enter")
        if first and len(self.requests(count + 1, 6)) == count:
            self.terminal.keys("Enter")

    def leave(self):
        """Quits as a person does; returns whether the shell is back."""
        for _ in range(3):
            for key in self.agent.leave:
                self.terminal.keys(key)
                time.sleep(0.4)
            for _ in range(20):
                if not self.terminal.processes():
                    self.terminal.settle()
                    return True
                time.sleep(0.1)
        return False

    def requests(self, count, patience=60):
        """The conversation's requests, as soon as there are so many."""
        end = time.monotonic() + patience
        while len(self.server.main_requests()) < count and time.monotonic() < end:
            time.sleep(0.05)
        return self.server.main_requests()

    def headless(self, line, patience=120, data=None):
        """Runs a command to its end: exit code (None if it had to be stopped), stdout, stderr."""
        process = subprocess.Popen(
            line, cwd=self.project, env=self.variables, stdin=subprocess.PIPE if data else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )
        try:
            out, errors = process.communicate(data, timeout=patience)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, errors = process.communicate()
            code = None
        return code, out.decode(errors="replace"), errors.decode(errors="replace")
