"""Holds the client against the real program, and ends with 1 and a message at the first wrong thing.

    python3 -B clients/python/tests/drive.py path/to/tiller
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CLIENTS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CLIENTS / "python"))

from tiller_native import Call, RequestError, Said, State, Tiller, reduce  # noqa: E402
from tiller_native.types import REQUESTS  # noqa: E402


def expect(got, wanted) -> None:
    if got != wanted:
        raise SystemExit(f"{got!r} where {wanted!r} was due")


def refused(code: int, what) -> None:
    try:
        what()
    except RequestError as error:
        return expect(error.code, code)
    raise SystemExit("a request that is wrong was answered")


def conversation(tiller: str, environment: dict[str, str], project: Path) -> None:
    """A turn with a permission, what it makes of the state, requests, and taking one back."""
    asked, types, state = [], set(), State()

    def tell(event) -> None:
        nonlocal state
        types.add(event["type"])
        state = reduce(state, event)

    def allow(question) -> str:
        asked.append(question["toolCall"]["toolCallId"])
        return "allow_once"

    with Tiller(tiller, ["--permission-mode", "argus"], environment, allow) as client:
        client.on_event(tell)
        session = client.new_session(str(project))
        expect(session.prompt("create notes.txt with 'hello'"), "end_turn")
        expect((project / "notes.txt").read_text(), "hello")
        # Looking is not asked about.
        expect(asked, ["tool_1"])
        expect({"session_update", "permission_requested", "permission_resolved", "tool_completed"} - types, set())
        expect(state.transcript[0], Said("user", "create notes.txt with 'hello'"))
        calls = [item for item in state.transcript if isinstance(item, Call)]
        expect([(call.tool, call.status) for call in calls], [("glob", "completed"), ("file_write", "completed")])
        expect(any(isinstance(item, Said) and item.kind == "assistant" for item in state.transcript), True)
        expect((state.run, state.phase, state.asking), (None, "idle", None))
        expect(session.request("runtime/set", mode="plan")["modes"]["currentModeId"], "plan")
        expect(state.mode, "plan")
        expect(session.request("mcp/list_servers"), {"servers": []})
        expect(session.request("lua/execute", code="return 6 * 7")["result"], "42")
        refused(-32602, lambda: session.request("settings/set", path="no.such", value=1))
        endless = session.start("lua/execute", code="while true do end")
        endless.take_back()
        refused(-32800, lambda: endless.result(timeout=60))
        expect(client.close(), 0)
    expect(len(REQUESTS) > 20, True)


def swarm() -> None:
    """A swarm, which nothing sends yet."""
    none = {"error": None, "queueReason": None, "lastTool": None, "lastMessagePreview": None, "nextRetryAt": None}

    def node(id, status, children=()):
        return {"id": id, "type": "explore", "task": id, "status": status, "elapsed": 1, "toolCalls": 0, "success": False, "children": list(children), **none}

    spawned = [{"id": "tool_1", "args": {"id": "a", "task": "look"}}, {"id": "tool_2", "args": {}}]
    first = reduce(State(), {"type": "subagent_spawned", "entries": spawned})
    expect([(one["id"], one["status"], one["task"]) for one in first.tree], [("a", "queued", "look"), ("tool_2", "queued", "")])
    second = reduce(first, {"type": "subagent_tree", "tree": [node("a", "running", [node("b", "queued")])]})
    stats = {"id": "b", "status": "done", "elapsed": 2, "toolCalls": 3, "error": None}
    third = reduce(second, {"type": "subagent_completed", "entries": [{"stats": stats}]})
    child = third.tree[0]["children"][0]
    expect((child["status"], child["toolCalls"], child["success"]), ("done", 3, True))
    expect(second.tree[0]["children"][0]["status"], "queued")


def dashboard(tiller: str, environment: dict[str, str], project: Path) -> None:
    """The example, as a program."""
    script = CLIENTS / "python/examples/dashboard.py"
    command = [sys.executable, "-B", str(script), "--tiller", tiller, "--yes", "create more.txt with 'x' then show more.txt"]
    environment = {**environment, "PYTHONPATH": str(CLIENTS / "python")}
    shown = subprocess.run(command, cwd=project, env=environment, capture_output=True, encoding="utf-8", timeout=60)
    expect(shown.returncode, 0)
    expect(shown.stdout.startswith("> create more.txt"), True)
    expect("● Write more.txt\n" in shown.stdout and shown.stdout.endswith("end_turn\n"), True)


def main() -> None:
    tiller = os.path.abspath(sys.argv[1])
    subprocess.run([sys.executable, "-B", str(CLIENTS / "generate.py"), "--check"], check=True)
    swarm()
    with tempfile.TemporaryDirectory(prefix="tiller-native-") as folder:
        home, project = Path(folder).resolve() / "home", Path(folder).resolve() / "project"
        home.mkdir()
        project.mkdir()
        # The pilot is the default where nothing else is found, so nothing of this machine is looked for.
        (home / "config.toml").write_text("[providers.local]\ndiscover = false\n")
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TILLER_HOME": str(home)}
        conversation(tiller, environment, project)
        dashboard(tiller, environment, project)
    print("native python client: a turn, requests, a swarm and the dashboard are right")


if __name__ == "__main__":
    main()
