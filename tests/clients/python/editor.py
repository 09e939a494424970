"""The editor's side of the protocol: buffers over a project on disk, terminals that really run, somebody who answers."""

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

from acp import Client, RequestError, schema


@dataclass
class Terminal:
    """A command that runs, and what it has printed."""

    command: str
    process: asyncio.subprocess.Process
    output: bytes = b""
    reader: asyncio.Task | None = None

    async def read(self) -> None:
        while chunk := await self.process.stdout.read(4096):
            self.output += chunk


@dataclass
class Told:
    """What the updates of one session tell: the texts, and the tool calls with their latest fields."""

    user: str = ""
    agent: str = ""
    calls: dict[str, dict] = field(default_factory=dict)

    def summary(self) -> list[tuple]:
        return [(id, call.get("title"), call.get("kind"), call.get("status")) for id, call in self.calls.items()]

    def contents(self, kind: str) -> list:
        return [item for call in self.calls.values() for item in call.get("content") or [] if item.type == kind]


class Editor(Client):
    """Answers the agent, and keeps what was asked: `reads`, `writes`, `asked` and `commands`, in order."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.buffers: dict[str, str] = {}
        self.told: dict[str, Told] = {}
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.asked: list[str] = []
        self.commands: list[str] = []
        self.exits: list[int | None] = []
        self.terminals: dict[str, Terminal] = {}

    async def session_update(self, session_id, update, **_) -> None:
        told = self.told.setdefault(session_id, Told())
        match update:
            case schema.UserMessageChunk(content=schema.TextContentBlock(text=text)):
                told.user += text
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                told.agent += text
            case schema.ToolCallStart() | schema.ToolCallProgress():
                fields = {name: getattr(update, name) for name in update.model_fields_set}
                told.calls.setdefault(update.tool_call_id, {}).update(fields)

    async def request_permission(self, session_id, tool_call, options, **_) -> schema.RequestPermissionResponse:
        known = self.told.get(session_id, Told()).calls.get(tool_call.tool_call_id)
        if known is None:
            raise RequestError.invalid_params({"reason": "permission for a tool call that was never shown"})
        self.asked.append(tool_call.kind or known.get("kind"))
        chosen = next((option for option in options if option.kind == self.answer), None)
        if chosen is None:
            raise RequestError.invalid_params({"reason": f"no option of the kind {self.answer}"})
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        )

    async def read_text_file(self, session_id, path, line=None, limit=None, **_) -> schema.ReadTextFileResponse:
        self.reads.append(path)
        text = self.buffers.get(path)
        if text is None:
            if not Path(path).is_file():
                raise RequestError.resource_not_found(path)
            text = Path(path).read_text()
        if line is not None or limit is not None:
            start = (line or 1) - 1
            text = "".join(text.splitlines(keepends=True)[start : None if limit is None else start + limit])
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(self, session_id, path, content, **_) -> schema.WriteTextFileResponse:
        """Into the buffer, and saved, as editors do with what an agent writes."""
        self.writes.append(path)
        self.buffers[path] = content
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content)
        return schema.WriteTextFileResponse()

    async def create_terminal(
        self, session_id, command, args=None, env=None, cwd=None, output_byte_limit=None, **_
    ) -> schema.CreateTerminalResponse:
        process = await asyncio.create_subprocess_exec(
            command,
            *(args or []),
            cwd=cwd,
            env=os.environ | {variable.name: variable.value for variable in env or []},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        id = f"terminal-{len(self.commands) + 1}"
        self.commands.append(" ".join([command, *(args or [])]))
        self.terminals[id] = terminal = Terminal(self.commands[-1], process)
        terminal.reader = asyncio.create_task(terminal.read())
        return schema.CreateTerminalResponse(terminal_id=id)

    async def terminal_output(self, session_id, terminal_id, **_) -> schema.TerminalOutputResponse:
        terminal = self._terminal(terminal_id)
        code = terminal.process.returncode
        status = None if code is None else schema.TerminalExitStatus(exit_code=code)
        return schema.TerminalOutputResponse(
            output=terminal.output.decode(errors="replace"), truncated=False, exit_status=status
        )

    async def wait_for_terminal_exit(self, session_id, terminal_id, **_) -> schema.WaitForTerminalExitResponse:
        terminal = self._terminal(terminal_id)
        await terminal.reader
        self.exits.append(await terminal.process.wait())
        return schema.WaitForTerminalExitResponse(exit_code=self.exits[-1])

    async def kill_terminal(self, session_id, terminal_id, **_) -> schema.KillTerminalResponse:
        terminal = self._terminal(terminal_id)
        if terminal.process.returncode is None:
            terminal.process.kill()
        return schema.KillTerminalResponse()

    async def release_terminal(self, session_id, terminal_id, **_) -> schema.ReleaseTerminalResponse:
        await self.kill_terminal(session_id, terminal_id)
        del self.terminals[terminal_id]
        return schema.ReleaseTerminalResponse()

    def _terminal(self, id: str) -> Terminal:
        if id not in self.terminals:
            raise RequestError.resource_not_found(id)
        return self.terminals[id]
