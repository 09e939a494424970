#!/usr/bin/env python3
"""Draws the pictures of docs/terminal.md: drives `tiller` in tmux, with a scripted model server, and draws its screens.

    cargo build --release && python3 docs/demo/interface.py [target/release/tiller] [NAME…]

Every character comes from a screen of the program (`tmux capture-pane -e`); only times are masked, so that a picture changes only
when the interface does. Needs Python 3 and tmux, and a system whose sandbox confines commands.
"""

import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import screen

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 20
PAGE = "pub fn pages(total: usize, size: usize) -> usize {\n    let last = total / size;\n    last\n}\n"
TASKS = {
    "Find every caller of pages": 2,
    "Which tests cover pages?": 1,
    "Check the changelog": 0,
}


class Model:
    """A model server whose answers the script gives, one request after the other."""

    def __init__(self):
        self.answers = []
        self.hold = threading.Event()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                body = json.dumps({"object": "list", "data": [{"id": "large"}]}).encode()
                self.send_response(200 if self.path.endswith("/models") else 404)
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for part in model.answer(request):
                    if part is None:  # the screen is captured meanwhile
                        model.hold.wait(PATIENCE)
                        continue
                    delta, reason = part
                    event = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
                    self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                    self.wfile.flush()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request):
        """The parts of the answer to a request; a subagent's by its task."""
        users = [str(message["content"]) for message in request["messages"] if message["role"] == "user"]
        task = next((task for task in TASKS if any(user.strip("'[]{}").find(task) >= 0 for user in users)), None)
        if task and not any("subagents" in user for user in users):
            results = sum(message["role"] == "tool" for message in request["messages"])
            if results < TASKS[task]:
                return called("grep", pattern=["pages", "fn pages"][results], path=".")
            return [None, *said("Nothing calls it.")] if TASKS[task] else said("There is none.")
        return self.answers.pop(0)


def said(text):
    return [({"content": word}, None) for word in re.findall(r"\S*\s*", text) if word] + [({}, "stop")]


def called(name, text="", **arguments):
    call = {"index": 0, "id": f"call-{time.monotonic_ns()}", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [({"content": text}, None), ({"tool_calls": [call]}, None), ({}, "tool_calls")]


class Stage:
    """A window of tmux with a shell in a project."""

    def __init__(self, program, model, columns=92, rows=24):
        self.directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        base = pathlib.Path(self.directory.name)
        self.home, self.project, self.socket = base / "home", base / "shop", str(base / "tmux")
        (self.home / ".config/tiller").mkdir(parents=True)
        (self.project / "src").mkdir(parents=True)
        (self.project / "src/page.rs").write_text(PAGE)
        settings = f"""agent.default_model = 'lab/large'
[providers]
local.discover = false
custom.lab.base_url = 'http://127.0.0.1:{model.port}/v1'
[ui]
animation = false
"""
        (self.home / ".config/tiller/config.toml").write_text(settings)
        variables = {
            "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(self.home), "TERM": "xterm-256color",
            "LANG": "C.UTF-8", "PS1": "$ ", "SHELL": "/bin/sh",
        }
        subprocess.run(
            ["tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-s", "t", "exec sh"],
            cwd=self.project, env=variables, check=True,
        )
        self.run("set", "-g", "status", "off")
        self.run("set", "-g", "window-size", "manual")
        self.run("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))
        self.wait("$")

    def run(self, *arguments):
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], check=True, capture_output=True)
        return done.stdout.decode()

    def text(self):
        return self.run("capture-pane", "-p", "-t", "t")

    def wait(self, *texts, without=()):
        end = time.monotonic() + PATIENCE
        while not (all(text in self.text() for text in texts) and not any(text in self.text() for text in without)):
            if time.monotonic() > end:
                sys.exit(f"{texts} did not appear:\n{self.text()}")
            time.sleep(0.05)

    def keys(self, *keys):
        self.run("send-keys", "-t", "t", *keys)

    def start(self, arguments="", ready="guardian ·"):
        self.run("send-keys", "-t", "t", "-l", f"clear; tiller {arguments}")
        self.keys("Enter")
        self.wait(ready, without=["$ clear"])

    def say(self, text):
        self.run("send-keys", "-t", "t", "-l", text)
        self.wait(text)
        self.keys("Enter")

    def capture(self):
        """The screen with its styles, times masked, without the rows below the last one."""
        text, before = self.styled(), None
        while text != before:  # until nothing moves
            time.sleep(0.3)
            text, before = self.styled(), text
        return text.split("\n")

    def styled(self):
        text = self.run("capture-pane", "-e", "-p", "-t", "t").rstrip("\n").replace(str(self.project), "~/shop")
        text = re.sub(r"(?<![0-9.])\d+ (s|min)\b", r"3 \1", text)
        return re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}", "01a20c3e-7d41-7c52-9f0e-5b1d2a6e8f93", text)

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False)
        self.directory.cleanup()


def edit_of(**more):
    return called("file_edit", path="src/page.rs", old_string="total / size", new_string="total.div_ceil(size)", **more)


def turn(model, stage):
    model.answers = [
        called("file_read", "The last page is lost when the total does not divide evenly. I look at it.", path="src/page.rs"),
        edit_of(),
        called("bash", command="grep -c div_ceil src/page.rs"),
        said("Fixed: `pages` rounds **up** now, so that the last page is counted."),
    ]
    stage.start()
    stage.say("fix the off-by-one in src/page.rs")
    stage.wait("is counted.", without=["esc: stop"])
    return stage.capture()


def permission(model, stage):
    model.answers = [edit_of(text="The division drops the remainder."), said("Good.")]
    stage.start("--permission-mode argus", ready="argus ·")
    stage.say("fix the off-by-one in src/page.rs")
    stage.wait("y once", without=["in a moment", "tab: answer"])
    shown = stage.capture()
    stage.keys("y")
    stage.wait("Good.")
    return shown


def sessions(model, stage):
    prompts = ["the login loops when the cookie is old", "refactor the pager", "why is the build slow?"]
    for prompt in prompts:
        model.answers = [said("Done.")]
        stage.start()
        stage.say(prompt)
        stage.wait("Done.", without=["esc: stop"])
        stage.keys("C-d")
        stage.wait("to continue:")
    stage.start("--resume", ready="1 of 3")
    return stage.capture()


def transcript(model, stage):
    turn(model, stage)
    stage.keys("C-o")
    stage.wait("transcript")
    stage.keys("/")
    stage.run("send-keys", "-t", "t", "-l", "div_ceil")
    stage.keys("Enter")
    stage.wait("1 of ")
    return stage.capture()


def agents(model, stage):
    tasks = [{"subject": "read the pager", "description": "d"}, {"subject": "find its callers", "description": "d"}, {"subject": "fix the last page", "description": "d"}]
    model.answers = [
        called("task_create", tasks=json.dumps(tasks)),
        called("subagent", agents=[
            {"id": "callers", "task": "Find every caller of pages"},
            {"id": "tests", "task": "Which tests cover pages?"},
            {"id": "log", "task": "Check the changelog"},
            {"id": "review", "task": "Review all of it", "depends_on": ["callers", "tests"]},
        ]),
        said("Nothing calls it yet."),
    ]
    stage.start()
    stage.say("who uses pages? ask subagents")
    stage.wait("agents 3")
    stage.keys("C-t")
    stage.wait("2 calls", "1 call ", "done")
    shown = stage.capture()
    model.hold.set()
    return shown


def plain(model, stage):
    """Plain mode has no styles; it is shown as text."""
    model.answers = [called("bash", "I try to publish it.", command="git push"), said("Then not.")]
    stage.start("--screen plain", ready="/help lists commands.\n>")
    stage.say("publish it")
    stage.wait("permission required:", "git push")
    stage.say("because it is not reviewed")
    stage.wait("Then not.\n>")
    return [screen.CODE.sub("", line) for line in stage.capture()]


PICTURES = {
    "turn": (turn, "A turn: a file is read and edited, and a command runs in the sandbox"),
    "permission": (permission, "A permission request with the change of a file"),
    "sessions": (sessions, "The list of sessions, with a preview of the selected one"),
    "transcript": (transcript, "The transcript, with a search"),
    "plain": (plain, ""),
    "agents": (agents, "Plan and agents while subagents work"),
}


SIZES = {"permission": (92, 34), "plain": (118, 24)}


def document(text):
    """Puts the screen of plain mode into the page."""
    page = ROOT / "docs/terminal.md"
    begin, end = "<!-- plain: begin -->\n", "<!-- plain: end -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    after = rest.split(end, 1)[1]
    page.write_text(f"{before}{begin}\n```\n{text}\n```\n\n{end}{after}", encoding="utf-8")


def main():
    arguments = sys.argv[1:]
    program = pathlib.Path(arguments[0] if arguments else ROOT / "target/release/tiller").resolve()
    (ROOT / "docs/terminal").mkdir(exist_ok=True)
    for name in arguments[1:] or PICTURES:
        play, title = PICTURES[name]
        model = Model()
        stage = Stage(program, model, *SIZES.get(name, ()))
        try:
            lines = play(model, stage)
        finally:
            model.hold.set()
            stage.close()
        if name == "plain":
            document("\n".join(line.rstrip() for line in lines).rstrip())
            continue
        (ROOT / f"docs/terminal/{name}.svg").write_text(screen.draw(lines, title), encoding="utf-8")
        print(f"docs/terminal/{name}.svg")


if __name__ == "__main__":
    main()
