"""Rows about a turn that runs: permission, steering, kill -9."""

import os
import re
import threading
import time

from server import asks, command, say
from terminal import memory

LONG = "touch ran.txt && printf '%s\\n' " + " ".join(f"argument-number-{at}" for at in range(1, 26)) + " END-OF-COMMAND"


# Each message, and how much of it is typed before the request appears. All but the first begin as the request is shown, by a
# person who has not seen it yet.
TYPED = {"typed while it appears": ("yes please do", 3), "begun as it appeared": ("yes please do", 0),
         "another message, begun as it appeared": ("this is my folder", 0), "one word, begun as it appeared": ("yes", 0)}


def permissions(make, note):
    """A message is typed at the moment when a request appears; does the command run? Then a long command's request."""
    facts = {}
    for name, (message, ahead) in TYPED.items():
        with make("ask") as stage:
            go = threading.Event()
            stage.answers = [[("wait", go), asks("touch ran.txt")], say("after-the-command"), say("a later answer")]
            terminal = stage.open()
            stage.say("do the work")
            stage.requests(1)
            time.sleep(1)
            typed(terminal, message[:ahead])
            go.set()
            if not ahead:
                terminal.wait("touch ran.txt")
            typed(terminal, message[ahead:])
            note(f"{name}: before enter", terminal.screen())
            terminal.keys("Enter")
            time.sleep(4)
            note(f"{name}: after enter", terminal.settle())
            facts[name] = "runs" if (stage.project / "ran.txt").exists() else "does not run"
            facts[f"{name}: message sent"] = any(message in request.everything() for request in stage.server.main_requests())
            sent = [f"{request.last}: {request.users[-1:]} {request.results[-1:]}" for request in stage.server.main_requests()]
            note(f"{name}: requests", "\n".join(sent))
    with make("ask") as stage:
        stage.answers = [[asks(LONG)], say("after-the-command")]
        terminal = stage.open(columns=80, rows=40)
        stage.say("do the work")
        terminal.wait("argument-number-1")
        text = terminal.settle(1.5)
        note("a long command", text)
        joined = re.sub(r"\s*\n[\s│┃▌|]*", " ", text)
        facts["whole command shown"] = "END-OF-COMMAND" in text and len(set(re.findall(r"argument-number-\d+", joined))) == 25
    return facts


def typed(terminal, text):
    for character in text:
        terminal.run("send-keys", "-t", "t", "-l", character)
        time.sleep(0.07)


def steer(stage, note):
    """A message while a command runs, then the same with a cancelled turn."""
    waits = "while [ ! -e go ]; do sleep 0.1; done; echo it-went"
    stage.answers = [[command(waits)], say("answer-one"), say("answer-two"), say("answer-three")]
    terminal = stage.open()
    stage.say("do the work")
    stage.requests(1)
    time.sleep(2)
    note("running", terminal.screen())
    stage.say("also the changelog", first=False)
    time.sleep(2)
    note("waiting", terminal.screen())
    sent = len(stage.server.main_requests())
    (stage.project / "go").touch()
    requests = stage.requests(sent + 1)
    time.sleep(4)
    terminal.settle()
    requests = stage.server.main_requests()
    facts = {"requests before the command ended": sent}
    holds = ["also the changelog" in request.everything() for request in requests]
    if True in holds:
        first = requests[holds.index(True)]
        after = holds.index(True) + 1 - sent
        facts["reaches the model"] = "in the turn's next request" if after == 1 else f"in request {after} after it"
        facts["with the command's output"] = any("it-went" in result for result in first.results)
        facts["the turn had ended"] = "answer-one" in "".join(first.assistants)
    note("answered", terminal.screen())
    return facts


def cancel(stage, note):
    """A message waits while a command runs, and the turn is cancelled."""
    stage.answers = [[command("sleep 60")], say("answer-one"), say("answer-two")]
    terminal = stage.open()
    stage.say("do the work")
    stage.requests(1)
    time.sleep(2)
    stage.say("also the changelog", first=False)
    time.sleep(2)
    count = len(stage.server.main_requests())
    for _ in range(3):
        terminal.keys("Escape")
        time.sleep(1.5)
        if not re.search(stage.agent.busy, terminal.screen()):
            break
    note("cancelled", terminal.settle())
    text = terminal.screen()
    sent = any("also the changelog" in request.everything() for request in stage.server.main_requests()[count:])
    return {"sent at once": sent, "still on screen": "also the changelog" in text}


def interface(terminal, processes):
    """The largest of the processes that read from the terminal."""
    tty = terminal.value("pane_tty")

    def reads(pid):
        try:
            return os.readlink(f"/proc/{pid}/fd/0") == tty
        except OSError:
            return False

    return max(filter(reads, processes), key=lambda pid: memory([pid]))


def crash(stage, note):
    """The interface's process is killed in the middle of a turn, as by the kernel when memory ends."""
    never = threading.Event()
    stage.answers = [say("first-answer"), say("half-of-the-second-answer and ") + [("wait", never)]]
    terminal = stage.open()
    stage.say("the first prompt")
    terminal.wait("first-answer")
    terminal.settle()
    stage.say("the second prompt")
    stage.requests(2)
    time.sleep(3)
    note("before", terminal.screen())
    before = terminal.modes()
    processes = terminal.processes()
    os.kill(interface(terminal, processes), 9)
    time.sleep(2)
    facts = {"processes": len(processes), "processes left": len(terminal.processes()), "modes before": before,
             "modes after": terminal.modes()}
    note("after", terminal.screen())
    stage.answers = [say("the-session-goes-on")]
    never.set()
    if terminal.processes():
        facts["restarts itself"] = terminal.shows(stage.agent.ready, 8)
        note("left", terminal.screen())
        for pid in terminal.processes():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        time.sleep(1)
    terminal.run("send-keys", "-t", "t", "-l", f"stty -a > {stage.base}/stty")
    terminal.keys("C-j")
    time.sleep(1)
    terminal.run("send-keys", "-t", "t", "-l", f"cat -v > {stage.base}/pasted")
    terminal.keys("C-j")
    time.sleep(1)
    terminal.paste(b"hello")
    time.sleep(0.5)
    terminal.keys("C-j")
    time.sleep(0.5)
    settings = (stage.base / "stty").read_text() if (stage.base / "stty").exists() else ""
    words = set(re.findall(r"-?[a-z]+[a-z0-9]*", settings))
    off = sorted(words & {"-icanon", "-echo", "-isig", "-icrnl"})
    facts["stty"] = "sane" if {"icanon", "echo", "isig", "icrnl"} <= words else " ".join(["raw:", *off])
    pasted = (stage.base / "pasted").read_text() if (stage.base / "pasted").exists() else ""
    facts["bracketed paste"] = "still on" if "200~" in pasted else "off" if "hello" in pasted else f"unknown: {pasted!r}"
    terminal.close()
    count = len(stage.server.main_requests())
    stage.open(stage.agent.start(stage.mode, resume=True))
    stage.terminal.settle(1)
    note("continued", stage.terminal.screen())
    stage.say("and now go on")
    requests = stage.requests(count + 1, 60)
    last = requests[-1].everything() if len(requests) > count else ""
    texts = ["the first prompt", "first-answer", "the second prompt", "half-of-the-second-answer", "and now go on"]
    facts["continued"] = {text: text in last for text in texts}
    note("went on", stage.terminal.settle())
    return facts


ROWS = {"steer": steer, "cancel": cancel, "crash": crash}
SEVERAL = {"permission": permissions}
