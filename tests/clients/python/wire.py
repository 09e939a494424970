"""What the agent sends, held against the SDK's own models.

The SDK forgives much: an optional field that it cannot read becomes its default, an item that it cannot read is dropped,
a field that it does not know is ignored. An editor forgives the same, and shows less than the agent meant. So every raw
message is read with the SDK's model, and whatever the model does not hold afterwards was not the protocol's.
"""

import re

from acp import schema
from acp.connection import StreamDirection, StreamEvent

RESULTS = {
    "initialize": schema.InitializeResponse,
    "authenticate": schema.AuthenticateResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/prompt": schema.PromptResponse,
}
PARAMS = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
    "fs/write_text_file": schema.WriteTextFileRequest,
    "terminal/create": schema.CreateTerminalRequest,
    "terminal/output": schema.TerminalOutputRequest,
    "terminal/wait_for_exit": schema.WaitForTerminalExitRequest,
    "terminal/kill": schema.KillTerminalRequest,
    "terminal/release": schema.ReleaseTerminalRequest,
}

# What the protocol's schema has and this version of the SDK does not hold. Remove a line when the SDK has caught up.
SDK_LACKS = (
    # The tool's own name beside its title, stable in version 1.15 of the schema.
    re.compile(r"\.(update|toolCall)\.name is not in the schema"),
    # Capabilities of methods that are unstable in version 1.15 of the schema; a client that does not know one passes over it.
    re.compile(r"\.agentCapabilities\.(sessionCapabilities\.(archive|status|title)|auth\.status) is not in the schema"),
    # Unstable there as well: whether a listed session was put away.
    re.compile(r"\.sessions\[\d+\]\.archived is not in the schema"),
    # The registry of agents requires the type of every authentication method; the schema knows the default one by having none.
    re.compile(r"\.authMethods\[\d+\]\.type is not in the schema: 'agent'$"),
    # Categories that begin with `_` are free for agents; the SDK takes only those that the schema lists.
    re.compile(r"\.configOptions\[\d+\]\.category was sent as '_\w+' and read as None"),
)

# What the agent adds beside the protocol, for clients of its native layer; others pass over it.
ADDED = re.compile(r"^\.kosmokratorCapabilities is not in the schema")


class Wire:
    """An observer of a connection. `problems` has a line for each thing that is not as the schema says."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.messages = 0
        self._asked: dict[int, str] = {}

    def __call__(self, event: StreamEvent) -> None:
        message = event.message
        if event.direction == StreamDirection.OUTGOING:
            if "method" in message and "id" in message:
                self._asked[message["id"]] = message["method"]
            return
        self.messages += 1
        method = message.get("method")
        if method is not None:
            self._check(method, PARAMS.get(method), message.get("params"))
        elif "result" in message:
            method = self._asked.get(message.get("id"), "nothing")
            self._check(f"answer to {method}", RESULTS.get(method), message["result"])

    def _check(self, name: str, model, raw) -> None:
        if model is None:
            self.problems.append(f"{name}: not a message that this client can be sent")
            return
        try:
            held = model.model_validate(raw).model_dump(mode="json", by_alias=True)
        except ValueError as error:
            self.problems.append(f"{name}: {error}")
            return
        for problem in lost(raw, held):
            if not any(gap.search(problem) for gap in (*SDK_LACKS, ADDED)):
                self.problems.append(f"{name}: {problem}")


def lost(raw, held, path="") -> list[str]:
    """The parts of a raw message that are not in what was read from it."""
    if isinstance(raw, dict) and isinstance(held, dict):
        problems = []
        for key, value in raw.items():
            if key in held:
                problems += lost(value, held[key], f"{path}.{key}")
            elif value is not None:
                problems.append(f"{path}.{key} is not in the schema: {value!r:.200}")
        return problems
    if isinstance(raw, list) and isinstance(held, list) and len(raw) == len(held):
        return [problem for index, pair in enumerate(zip(raw, held)) for problem in lost(*pair, f"{path}[{index}]")]
    return [] if raw == held else [f"{path} was sent as {raw!r:.200} and read as {held!r:.200}"]
