"""Drives the real `tiller acp` with the official Python SDK, and ends with 1 and a message at the first wrong thing.

    python3 drive.py path/to/tiller [--permission allow_once|allow_always|reject_once|reject_always ...]
"""

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

from acp import PROTOCOL_VERSION, schema, spawn_agent_process, text_block
from editor import Editor
from wire import Wire

FILE = "src/greet.sh"
PROMPT = 'replace "Helo" with "Hello" in src/greet.sh then run sh test.sh'
SAVED = 'greet() {\n    echo "Helo, $1!"\n}\n'
UNSAVED = "# typed a minute ago, not saved yet\n" + SAVED
EXPECTED = UNSAVED.replace("Helo", "Hello")
TEST = '. ./src/greet.sh\ntest "$(greet editor)" = "Hello, editor!" && echo passed\n'
# Longer than anything here takes on a busy machine; a hang is a failure with a message, too.
PATIENCE = 60


class Wrong(Exception):
    """The first thing that is not as it should be."""


def expect(holds, message: str) -> None:
    if not holds:
        raise Wrong(message)


class Stage:
    """A temporary folder with the agent's home and two equal projects, one for the editor and one for `tiller -p`."""

    def __init__(self, tiller: str, folder: Path) -> None:
        self.tiller = str(Path(tiller).resolve())
        self.home = folder / "home"
        self.home.mkdir()
        # The pilot is the default where nothing else is found, so nothing of this machine is looked for.
        (self.home / "config.toml").write_text("[providers.local]\ndiscover = false\n")
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TILLER_HOME": str(self.home)}
        self.edited = self._project(folder / "edited", SAVED)
        self.headless = self._project(folder / "headless", UNSAVED)

    def _project(self, root: Path, text: str) -> Path:
        (root / "src").mkdir(parents=True)
        (root / FILE).write_text(text)
        (root / "test.sh").write_text(TEST)
        return root

    def run(self, cwd: Path, *args: str) -> str:
        """Runs `tiller` to its end and returns what it printed."""
        done = subprocess.run(
            [self.tiller, *args], cwd=cwd, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=PATIENCE,
        )
        expect(done.returncode == 0, f"tiller {' '.join(args)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    @asynccontextmanager
    async def connect(self, editor: Editor, *args: str):
        """A fresh `tiller acp`, initialized and authenticated; afterwards its wire and its end are checked."""
        wire = Wire()
        command = [self.tiller, "acp", *args]
        # The SDK's own default of 64 KiB a line is less than a long replay may need.
        options = {"limit": 16 << 20}
        async with spawn_agent_process(
            editor, *command, env=self.environment, cwd=self.home, transport_kwargs=options, observers=[wire]
        ) as (agent, process):
            answer = await agent.initialize(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=schema.ClientCapabilities(
                    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
                ),
                client_info=schema.Implementation(name="python-sdk", version="1"),
            )
            expect(answer.protocol_version == PROTOCOL_VERSION, f"the agent speaks version {answer.protocol_version}")
            capabilities = answer.agent_capabilities
            expect(capabilities.load_session, "the agent does not say that it loads sessions")
            expect(capabilities.session_capabilities.list is not None, "the agent does not say that it lists sessions")
            expect(answer.auth_methods, "the agent offers no way to authenticate")
            await agent.authenticate(method_id=answer.auth_methods[0].id)
            yield agent
            process.stdin.close()
            code = await process.wait()
            expect(code == 0, f"the agent ended with {code}")
        expect(not editor.terminals, f"terminals were not released: {list(editor.terminals)}")
        expect(not wire.problems, "the wire is not as the SDK's schema says:\n  " + "\n  ".join(wire.problems))
        expect(wire.messages, "the observer saw nothing")


async def edit(stage: Stage, answer: str) -> tuple[str, Editor]:
    """The conversation in the editor; returns the session's id and the editor."""
    editor = Editor(answer)
    path = str(stage.edited / FILE)
    editor.buffers[path] = UNSAVED
    async with stage.connect(editor, "--permission-mode", "argus") as agent:
        session = await agent.new_session(cwd=str(stage.edited), mcp_servers=[])
        model = [option.current_value for option in session.config_options or [] if option.id == "model"]
        expect(model == ["offline/pilot"], f"the session's model is {model}")
        turn = await agent.prompt(session_id=session.session_id, prompt=[text_block(PROMPT)])
    expect(turn.stop_reason == "end_turn", f"the turn ended with {turn.stop_reason}")
    expect(path in editor.reads, f"the file was not read through the editor: {editor.reads}")
    if answer.startswith("reject"):
        expect(editor.asked == ["edit"], f"asked for {editor.asked}, not only for the edit")
        expect(not editor.writes and not editor.commands, f"refused, yet: {editor.writes} {editor.commands}")
        expect((stage.edited / FILE).read_text() == SAVED, "refused, yet the file has changed")
        return session.session_id, editor
    expect(editor.asked == ["edit", "execute"], f"asked for {editor.asked}, not for the edit and the command")
    expect(editor.writes == [path], f"written through the editor: {editor.writes}")
    expect(editor.buffers[path] == EXPECTED, f"the buffer holds {editor.buffers[path]!r}")
    # A command that nothing confines comes after one by which the agent finds out how terminals take commands.
    expect(editor.exits in ([0], [7, 0]), f"the commands {editor.commands} ended with {editor.exits}")
    told = editor.told[session.session_id]
    expect(told.contents("terminal"), "no tool call shows the terminal")
    diffs = told.contents("diff")
    expect([diff.path for diff in diffs] == [path], f"the diffs shown are {diffs}")
    if notes := os.environ.get("TILLER_SHOWN"):
        Path(notes).write_text("diff\n")
    statuses = [call["status"] for call in told.calls.values()]
    expect(set(statuses) == {"completed"}, f"the calls ended as {statuses}")
    return session.session_id, editor


async def look_back(stage: Stage, id: str, first: Editor) -> None:
    """A fresh process lists the session and tells it as it was."""
    editor = Editor("reject_once")
    async with stage.connect(editor) as agent:
        listed = await agent.list_sessions(cwd=str(stage.edited))
        ids = [session.session_id for session in listed.sessions]
        expect(ids == [id], f"listed are {ids}, not {id}")
        await agent.load_session(cwd=str(stage.edited), session_id=id, mcp_servers=[])
    then, now = first.told[id], editor.told.get(id)
    expect(now is not None, "nothing was replayed")
    expect(now.user == PROMPT, f"the prompt is told as {now.user!r}")
    expect(now.agent == then.agent, f"the answer was {then.agent!r} and is told as {now.agent!r}")
    expect(now.summary() == then.summary(), f"the calls were {then.summary()} and are told as {now.summary()}")
    expect(not editor.reads and not editor.commands, "a replay acted on the project")


async def headless(stage: Stage, id: str) -> None:
    """`tiller -p` does the same, and each goes on with the other's session."""
    run = json.loads(stage.run(stage.headless, "-m", "offline/pilot", "-p", PROMPT, "--yolo", "-o", "json"))
    texts = [(root / FILE).read_text() for root in (stage.edited, stage.headless)]
    expect(texts == [EXPECTED, EXPECTED], f"the editor's and the headless run's change differ: {texts}")

    more = json.loads(stage.run(stage.edited, "-m", "offline/pilot", "--session", id, "-p", f"show {FILE}", "-o", "json"))
    expect(more["session_id"] == id, f"--session {id} went on with {more['session_id']}")
    expect("Hello, $1!" in more["text"], f"the headless turn does not see the file: {more['text']!r}")
    shown = stage.run(stage.edited, "sessions", "show", id)
    expect(PROMPT in shown and f"show {FILE}" in shown, f"`sessions show` does not tell both turns: {shown}")

    editor = Editor("reject_once")
    async with stage.connect(editor) as agent:
        theirs = run["session_id"]
        await agent.load_session(cwd=str(stage.headless), session_id=theirs, mcp_servers=[])
        told = editor.told[theirs]
        expect(told.user == PROMPT, f"the headless prompt is told as {told.user!r}")
        expect([call["kind"] for call in told.calls.values()][-2:] == ["edit", "execute"], f"told: {told.summary()}")
        turn = await agent.prompt(session_id=theirs, prompt=[text_block(f"show {FILE}")])
        expect(turn.stop_reason == "end_turn", f"the turn ended with {turn.stop_reason}")
        await agent.load_session(cwd=str(stage.edited), session_id=id, mcp_servers=[])
        expect(editor.told[id].user.endswith(f"show {FILE}"), "the turn of `tiller -p` is not told in the editor")
    # Once more for a line of it, where the agent finds out whether ranges are honoured.
    expect(set(editor.reads) == {str(stage.headless / FILE)}, f"the loaded session read {editor.reads} in the editor")


class Complaints(logging.Handler):
    """The SDK logs what a handler could not take, and goes on; here it is a failure."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else ""
        self.lines.append(f"{record.getMessage()}: {error}")


async def play(stage: Stage, answer: str) -> None:
    id, editor = await edit(stage, answer)
    if answer.startswith("allow"):
        await look_back(stage, id, editor)
        await headless(stage, id)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("tiller", help="the binary")
    kinds = ["allow_once", "allow_always", "reject_once", "reject_always"]
    arguments.add_argument("--permission", choices=kinds, nargs="+", default=["allow_once", "reject_once"],
                           help="the answer to each question; a whole story for each")
    options = arguments.parse_args()
    complaints = Complaints()
    logging.basicConfig(handlers=[complaints])
    for answer in options.permission:
        with tempfile.TemporaryDirectory() as folder:
            stage = Stage(options.tiller, Path(folder).resolve())
            try:
                asyncio.run(asyncio.wait_for(play(stage, answer), PATIENCE))
                expect(not complaints.lines, "the SDK complained:\n  " + "\n  ".join(complaints.lines))
            except Exception as error:
                print(f"python client: {answer}: {type(error).__name__}: {error}", file=sys.stderr)
                print(*complaints.lines, sep="\n", file=sys.stderr)
                return 1
        print(f"python client: {answer}: all as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
