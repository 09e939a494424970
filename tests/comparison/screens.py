"""Rows about what is on the screen: scrollback, transcript, streaming, paste, screen reader."""

import base64
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import termios
import time

from server import command, say
from terminal import ticks

WORDS = "alpha bravo charlie delta echo foxtrot golf hotel"
SIZES = [(80, 16), (60, 24), (100, 30), (80, 24), (50, 20), (120, 24), (80, 12), (80, 24)]


def lines(count):
    return [f"begin-{at:04} {WORDS} end-{at:04}" for at in range(1, count + 1)]


def tally(text, count):
    """How often each line is there; words may be wrapped."""
    once = missing = repeated = cut = 0
    spaced = re.sub(r"[│┃|▌▎]", " ", text)
    for at in range(1, count + 1):
        starts = len(re.findall(rf"begin-{at:04}", spaced))
        whole = len(re.findall(r"\s+".join([f"begin-{at:04}", *WORDS.split(), f"end-{at:04}"]), spaced))
        if starts == 1 and whole == 1:
            once += 1
        elif starts == 0:
            missing += 1
        elif starts > 1:
            repeated += 1
        else:
            cut += 1
    return {"once": once, "missing": missing, "repeated": repeated, "cut": cut}


def scrollback(stage, note):
    """300 lines are streamed, each a paragraph, while the window changes its size eight times."""
    return streamed(stage, note, [f"{line}\n\n" for line in lines(300)])


def listed(stage, note):
    """The same as one list of 300 items: a block that is unfinished until its end."""
    return streamed(stage, note, [f"{at}. {line}\n" for at, line in enumerate(lines(300), 1)] + ["\n"])


def streamed(stage, note, blocks, count=300):
    answer = []
    for block in blocks:
        answer += say(block) + [("pause", 0.03)]
    stage.answers = [answer + say("all-of-it-is-said")]
    terminal = stage.open()
    alternate = terminal.value("alternate_on") == "1"
    stage.say("print the lines")
    stage.requests(1)
    for columns, rows in SIZES:
        time.sleep(1)
        terminal.size(columns, rows)
    terminal.wait("all-of-it-is-said")
    terminal.settle()
    note("end", terminal.screen())
    running = tally(terminal.everything(), count)
    left = stage.leave()
    note("everything", terminal.everything())
    return {"alternate screen": alternate, "while it runs": running, "left": left,
            "after it was left": tally(terminal.everything(), count)}


# The key that opens or unfolds the conversation, where it is not ctrl+o.
UNFOLDS = {"codex": "C-t", "codex-inline": "C-t"}


def transcript(stage, note):
    """Three turns, one with a command; then what a key opens, a search in it, the same after reopening."""
    stage.answers = [
        [command("seq 1 200")], say("the-first-answer has a zebrafish in it"), say("the-second-answer"), say("the-third-answer"),
    ]
    terminal = stage.open()
    facts = {}

    def look(name):
        terminal.keys(UNFOLDS.get(stage.agent.name, "C-o"))
        facts[f"{name}: a transcript"] = terminal.shows("(?i)transcript")
        note(f"{name} opened", terminal.settle())
        terminal.keys("/")
        terminal.type("zebrafish")
        note(f"{name} typed", terminal.settle())
        terminal.keys("Enter")
        text = terminal.settle()
        note(f"{name} searched", text)
        facts[f"{name}: counts matches"] = bool(re.search(r"1 ?(of|/) ?1", text))
        terminal.keys("Escape")
        terminal.settle()

    for at, prompt in enumerate(["run the command", "the second prompt", "the third prompt"]):
        stage.say(prompt)
        terminal.wait(["the-first-answer", "the-second-answer", "the-third-answer"][at])
        terminal.settle()
    note("before", terminal.screen())
    look("live")
    stage.terminal.close()
    stage.open(stage.agent.start(stage.mode, resume=True))
    terminal = stage.terminal
    note("reopened", terminal.screen())
    look("reopened")
    return facts


def document(pieces, size=64):
    """About `pieces * size` characters of Markdown, 30 % of it code."""
    parts, at = [], 0
    while sum(map(len, parts)) < pieces * size:
        at += 1
        sentence = "Sentence {0}.{1} has **bold**, `code` and a [link](https://example.org/{1})."
        prose = " ".join(sentence.format(at, each) for each in range(8))
        code = "\n".join(f"    value_{each} = compute({at}, {each})  # a comment" for each in range(6))
        items = "\n".join(f"- item {each} of list {at} with some words in it" for each in range(3))
        parts.append(f"## Part {at}\n\n{prose}\n\n{items}\n\n```python\ndef f{at}():\n{code}\n```\n\n")
    return "".join(parts)[:pieces * size - 40]


def streaming(stage, note):
    """5,000 pieces of 64 characters at full speed; the processor time of the agent's processes."""
    answer = say(document(5000) + "\n```\n\nall-of-it-is-said", 64)
    stage.answers = [say("a warm turn"), answer]
    terminal = stage.open()
    stage.say("a first prompt")
    terminal.wait("a warm turn")
    terminal.settle(2)
    before = ticks(terminal.processes())
    stage.say("write the document")
    stage.requests(2)
    began = time.monotonic()
    terminal.wait("all-of-it-is-said", patience=300)
    seconds = time.monotonic() - began
    terminal.settle(1.5)
    return {"processor seconds": round(ticks(terminal.processes()) - before, 2), "seconds": round(seconds, 2),
            "pieces": len(answer), "characters": sum(len(value) for _, value in answer)}


PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAGklEQVR4nGP8z0AaYCJR/aiGUQ1DSAMAQC4BH2bjKEoAAAAASUVORK5CYII=")


def paste(stage, note):
    """5,000 lines with tabs and CRLF, in brackets."""
    data = "".join(f"row\t{at:04}\tvalue {at * 7}  \r\n" for at in range(1, 5001))
    terminal = stage.open()
    terminal.paste(data.encode())
    time.sleep(1)
    screen = terminal.settle(2, 60)
    note("pasted", screen)
    facts = {"rows of it on screen": len(re.findall(r"row\s+\d{4}\s+value", screen))}
    terminal.keys("Enter")
    requests = stage.requests(1)
    terminal.settle(1, 30)
    note("sent", terminal.screen())
    facts.update(compare(data, requests[0] if requests else None))
    return facts


def image(stage, note):
    """The path of a picture is pasted, then a question is typed."""
    (stage.project / "shot.png").write_bytes(PICTURE)
    terminal = stage.open()
    terminal.paste(str(stage.project / "shot.png").encode())
    time.sleep(1)
    note("pasted", terminal.settle())
    terminal.keys("Space")
    stage.say("what is in the picture?")
    requests = stage.requests(1, 60)
    terminal.settle()
    note("sent", terminal.screen())
    return {"image sent": any("iVBORw0KGgo" in request.everything() for request in requests)}


def compare(data, request):
    """How the pasted text arrived."""
    if request is None:
        return {"arrived": "no request"}
    text = request.everything()
    unix = data.replace("\r\n", "\n")
    for name, form in [
        ("byte for byte", data), ("without the last line end", data.rstrip("\r\n")), ("trimmed at its end", data.rstrip()),
        ("CRLF as LF", unix), ("CRLF as LF, trimmed at its end", unix.rstrip()),
        ("CRLF as LF, tabs as 4 spaces", unix.rstrip().replace("\t", "    ")),
        ("CRLF as two line ends", data.replace("\r\n", "\n\n").rstrip()), ("CR and LF as LF LF", data.replace("\r", "\n").rstrip()),
        ("CR as line end, LF lost", data.replace("\r\n", "\r").rstrip()),
    ]:
        if form in text:
            return {"arrived": name}
    found = len(re.findall(r"row\s+\d{4}\s+value \d+", text))
    at = text.find("0001")
    return {"arrived": f"otherwise, {found} of 5000 lines, begins {text[max(0, at - 20):at + 60]!r}"}


def reader(stage, note):
    """A conversation in the mode for screen readers, on a pseudo-terminal; the control sequences in its output."""
    line = stage.agent.reader()
    if line is None:
        return {"mode": None}
    stage.answers = [say("The answer is ready-to-read.\n\n- one\n- two\n"), [command("echo from-a-command")], say("second-answer")]
    if stage.mode == "auto":
        line = [*line, *[word for word in stage.agent.start() if word not in stage.agent.program()]]
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.chdir(stage.project)
        os.execvpe(line[0], line, stage.variables)
    output = bytearray()

    def read(until, patience=40):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    output.extend(os.read(terminal, 65536))
                except OSError:
                    return False
            if until and until in output:
                return True
        return until is None

    def send(text):
        for each in text:
            os.write(terminal, each.encode())
            time.sleep(0.02)
        read(None, 0.5)
        os.write(terminal, b"\r")

    read(None, 8)
    send("say something")
    first = read(b"ready-to-read")
    read(None, 2)
    send("run the command")
    second = read(b"second-answer")
    read(None, 2)
    os.kill(pid, signal.SIGTERM)
    read(None, 1)
    os.kill(pid, signal.SIGKILL) if os.waitpid(pid, os.WNOHANG)[0] == 0 else None
    note("output", output.decode(errors="replace"))
    sequences = re.findall(rb"\x1b(?:\[[0-9;?<>=]*[a-zA-Z]|\][^\x07\x1b]*|.)", bytes(output))
    moves = [each for each in sequences if re.match(rb"\x1b\[[0-9;]*[ABCDEFGHJKf]", each)]
    return {"mode": shlex.join(stage.agent.reader()[len(stage.agent.program()):]), "answers": first and second,
            "bytes": len(output), "escape bytes": output.count(0x1B), "cursor moves and erasures": len(moves)}


ROWS = {"scrollback": scrollback, "list": listed, "transcript": transcript, "streaming": streaming, "paste": paste,
        "image": image, "reader": reader}
