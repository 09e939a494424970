"""A terminal to drive: a tmux server of its own with one window, whose shell has only the variables it is given."""

import pathlib
import re
import subprocess
import time

PATIENCE = 60
NO_SHELL = "[exited]"


class Missing(Exception):
    """A text did not appear."""


class Terminal:
    count = 0

    def __init__(self, socket, directory, variables, columns=80, rows=24, history=50000):
        Terminal.count += 1  # a server that is still ending would take the next one's clients
        self.socket, self.directory = f"{socket}{Terminal.count}", directory
        variables = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PS1": "$ ", "SHELL": "/bin/sh", **variables}
        subprocess.run(
            ["tmux", "-S", self.socket, "-f", "/dev/null", "start-server", ";", "set", "-g", "history-limit", str(history), ";",
             "set", "-g", "default-terminal", "tmux-256color", ";", "set", "-g", "status", "off", ";",
             "new-session", "-d", "-x", str(columns), "-y", str(rows), "-s", "t", "exec sh"],
            cwd=directory, env=variables, check=True,
        )
        self.run("set", "-g", "window-size", "manual")
        self.size(columns, rows)
        self.wait(r"\$")

    def run(self, *arguments, check=True):
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], check=check, capture_output=True)
        return done.stdout.decode(errors="replace")

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, capture_output=True)

    # What is shown

    def screen(self):
        return self.run("capture-pane", "-p", "-t", "t")

    def everything(self, joined=True):
        """Scrollback and screen; `joined` makes one line of the rows that the terminal itself has wrapped."""
        return self.run("capture-pane", "-p", *(["-J"] if joined else []), "-S", "-", "-E", "-", "-t", "t")

    def value(self, name):
        return self.run("display-message", "-p", "-t", "t", "#{%s}" % name).strip()

    def modes(self):
        """The modes that a program may leave behind."""
        names = ["alternate_on", "mouse_any_flag", "cursor_flag", "keypad_flag", "keypad_cursor_flag"]
        return {name: self.value(name) for name in names}

    def wait(self, *patterns, without=(), patience=PATIENCE, everywhere=False):
        end = time.monotonic() + patience
        while True:
            text = self.everything() if everywhere else self.screen()
            found = all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)
            if found and not any(re.search(pattern, text, re.MULTILINE) for pattern in without):
                return text
            if time.monotonic() > end:
                raise Missing(f"{patterns} without {without} did not appear:\n{text.rstrip()}")
            time.sleep(0.05)

    def shows(self, pattern, patience=3):
        try:
            self.wait(pattern, patience=patience)
            return True
        except Missing:
            return False

    def settle(self, quiet=0.6, patience=15):
        """Waits until the screen has not changed for a while."""
        end, before, since = time.monotonic() + patience, None, time.monotonic()
        while time.monotonic() < end:
            text = self.screen()
            if text != before:
                before, since = text, time.monotonic()
            elif time.monotonic() - since > quiet:
                break
            time.sleep(0.1)
        return before

    # What is done

    def keys(self, *keys):
        self.run("send-keys", "-t", "t", *keys)

    def type(self, text):
        """Key by key, as a person types, so that no program takes it for a paste."""
        for character in text:
            self.run("send-keys", "-t", "t", "-l", character)
            time.sleep(0.02)

    def shell(self, line):
        self.run("send-keys", "-t", "t", "-l", line)
        self.keys("Enter")

    def paste(self, data):
        """Pastes bytes as they are, in brackets if the program has asked for them."""
        subprocess.run(["tmux", "-S", self.socket, "load-buffer", "-"], input=data, check=True)
        self.run("paste-buffer", "-p", "-r", "-t", "t")

    def size(self, columns, rows):
        self.run("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))

    # Processes

    def processes(self):
        """The processes below the window's shell, not the shell itself."""
        return descendants(int(self.value("pane_pid")))[1:]


def table():
    """pid → (parent, name, ticks of itself, ticks of its ended children, resident KiB by pages)"""
    found = {}
    for directory in pathlib.Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            stat = (directory / "stat").read_text()
        except OSError:
            continue
        name, rest = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()
        found[int(directory.name)] = (int(rest[1]), name, int(rest[11]) + int(rest[12]), int(rest[13]) + int(rest[14]))
    return found


def descendants(pid):
    processes, found = table(), [pid]
    for each in found:
        found += [child for child, value in processes.items() if value[0] == each]
    return found


def ticks(pids):
    """Processor time of these processes and of those that they have waited for, in seconds."""
    processes = table()
    return sum(processes[pid][2] + processes[pid][3] for pid in pids if pid in processes) / 100


def memory(pids):
    """Proportional set size, in MiB: pages that several processes share are divided among them."""
    total = 0
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return total / 1024
