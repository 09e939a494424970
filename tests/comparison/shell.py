"""Rows about the command line: scripts, doctor, sessions, installation and start."""

import json
import os
import re
import shlex
import statistics
import subprocess
import time

from server import say
from terminal import Terminal, memory

NOBODY = "00000000-0000-4000-8000-000000000000"


def objects(text):
    """What stdout is: one JSON object, several, or text."""
    try:
        return "one object" if isinstance(json.loads(text), dict) else "other JSON"
    except ValueError:
        pass
    found = 0
    for line in text.splitlines():
        try:
            found += isinstance(json.loads(line), dict)
        except ValueError:
            if line.strip():
                return "text"
    return f"{found} lines of JSON" if found else "nothing"


def scripts(stage, note):
    """A headless run that works, one with a server that refuses, one with a session that does not exist."""
    facts = {}
    session = "ses_nobody0000000000000000000" if stage.agent.name == "opencode" else NOBODY
    cases = [("works", None, None), ("server refuses", "the model is out of order", None), ("unknown session", None, session)]
    for name, fail, which in cases:
        stage.server.fail = fail
        for form in [False, True]:
            code, out, errors = stage.headless(stage.agent.headless("say it", form, which))
            note(f"{name}{', JSON' if form else ''}", f"exit {code}\n--- stdout\n{out}\n--- stderr\n{errors}")
            facts[f"{name}{', JSON' if form else ''}"] = {"exit": code, "stdout": objects(out), "stderr": len(errors)}
    return facts


def doctor(stage, note):
    """A command that checks the setup, with sound and with broken settings; where a setting comes from."""
    agent, facts = stage.agent, {}
    if agent.doctor:
        for name in ["sound", "broken"]:
            if name == "broken":
                path = stage.home / agent.broken
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("this is [not = a {setting\n")
            code, out, errors = stage.headless([*agent.program(), *agent.doctor])
            note(name, f"exit {code}\n--- stdout\n{out}\n--- stderr\n{errors}")
            facts[name] = {"exit": code, "stdout": objects(out)}
            if name == "sound" and agent.origins:
                code, out, errors = stage.headless([*agent.program(), *agent.origins])
                note("origins", f"exit {code}\n{out}\n{errors}")
    facts["command"] = shlex.join(agent.doctor) if agent.doctor else None
    return facts


def sessions(stage, note):
    """Three sessions; a word that only an answer holds is typed into the list of them."""
    made = [("the login loops", "It is the old cookie."), ("refactor the pager", "There is a zebrafish here."),
            ("why is the build slow?", "It is the linker.")]
    for prompt, answer in made:
        stage.answers = [say(answer)]
        terminal = stage.open()
        stage.say(prompt)
        terminal.wait(re.escape(answer))
        time.sleep(2)
        stage.leave()
        terminal.close()
    terminal = stage.terminal = Terminal(stage.base / "tmux", stage.project, stage.variables)
    if not stage.agent.picker(terminal, stage):
        return {"list": None}
    time.sleep(6)
    text = terminal.settle(1.5, 30)
    if "Trust this folder" in text:
        terminal.keys("Enter")
        time.sleep(2)
        text = terminal.settle(1.5, 30)
    note("list", text)
    facts = {"listed": [word for word in ["login loops", "refactor the pager", "build slow"] if word in text]}
    terminal.type("zebrafish")
    time.sleep(2)
    text = terminal.settle(1.5)
    note("searched", text)
    facts["found by its answer's text"] = [word for word in ["login loops", "refactor the pager", "build slow"] if word in text]
    return facts


def install(stage, note):
    """Size, files, time to a prompt that shows a typed character, memory after a turn."""
    agent, facts = stage.agent, {}
    if agent.name == "tiller":
        facts["MiB"], facts["files"] = round(os.path.getsize(agent.tiller) / 2**20, 1), 1
    else:
        size = subprocess.run(["du", "-sk", str(agent.folder / "node_modules")], capture_output=True, text=True).stdout.split()[0]
        facts["MiB"], facts["files"] = round(int(size) / 1024, 1), sum(len(files) for _, _, files in os.walk(agent.folder / "node_modules"))
    stage.open()
    stage.say("hello there")
    stage.requests(1)
    stage.terminal.wait("Ready\\.")
    stage.terminal.settle(2)
    pids = stage.terminal.processes()
    facts["processes"], facts["MiB of memory"] = len(pids), round(memory(pids), 1)
    size = subprocess.run(["du", "-sk", str(stage.home)], capture_output=True, text=True).stdout.split()[0]
    facts["MiB in the home directory"] = round(int(size) / 1024, 1)
    stage.leave()
    stage.terminal.close()
    times = [started(stage) for _ in range(5)]
    note("times", str(times))
    facts["start, ms"] = round(statistics.median(times))
    facts["start, ms, range"] = [round(min(times)), round(max(times))]
    return facts


def started(stage):
    """Milliseconds from Enter in the shell until a typed character is shown in the prompt."""
    real_time(True)
    terminal = stage.terminal = Terminal(stage.base / "tmux", stage.project, stage.variables)
    try:
        terminal.run("send-keys", "-t", "t", "-l", "clear; " + shlex.join(stage.agent.start()))
        began = time.monotonic()
        terminal.keys("Enter")
        while not re.search(stage.agent.ready, terminal.screen(), re.MULTILINE):
            time.sleep(0.002)
        last = 0
        while "Q" not in terminal.screen().replace("Quit", ""):
            if time.monotonic() - last > 0.5:
                terminal.keys("Q")
                last = time.monotonic()
            time.sleep(0.002)
            if time.monotonic() - began > 90:
                break
        return (time.monotonic() - began) * 1000
    finally:
        terminal.close()
        real_time(False)
        time.sleep(0.5)


def real_time(on):
    """Puts this thread, and so the terminal that it starts, before all other work of the machine, where that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR if on else os.SCHED_OTHER, os.sched_param(10 if on else 0))
    except PermissionError:
        pass


ROWS = {"scripts": scripts, "doctor": doctor, "sessions": sessions, "install": install}
