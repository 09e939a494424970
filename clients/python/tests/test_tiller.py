"""The client against the real program, which `TILLER` names. Runs from the installed package."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import tiller_native
from tiller_native import AsyncTiller, Call, RequestError, Said, State, Tiller, reduce
from tiller_native.types import REQUESTS

TILLER = os.path.abspath(os.environ["TILLER"])
CLIENTS = Path(os.environ.get("CLIENTS", Path(__file__).resolve().parents[2]))
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Folders(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="tiller-native-")
        self.addCleanup(folder.cleanup)
        home, self.project = Path(folder.name).resolve() / "home", Path(folder.name).resolve() / "project"
        home.mkdir()
        self.project.mkdir()
        # The pilot is the default where nothing else is found, so nothing of this machine is looked for.
        (home / "config.toml").write_text("[providers.local]\ndiscover = false\n")
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "TILLER_HOME": str(home)}

    def tiller(self, *args: str, **options) -> Tiller:
        return Tiller(TILLER, args, self.env, **options)


def calls(state: State) -> list:
    return [item for item in state.transcript if isinstance(item, Call)]


def said(state: State, kind: str) -> str:
    return "".join(item.text for item in state.transcript if isinstance(item, Said) and item.kind == kind)


class Program(Folders):
    def test_a_turn_asks_for_a_permission_and_makes_a_state(self):
        asked, types, errors = [], set(), []

        def allow(question) -> str:
            asked.append(question["toolCall"]["toolCallId"])
            return "allow_once"

        with self.tiller("--permission-mode", "argus", on_permission=allow, on_error=errors.append) as tiller:
            self.assertTrue(tiller.agent["agentCapabilities"]["loadSession"])
            tiller.on_event(lambda event: types.add(event["type"]))
            session = tiller.new_session(str(self.project))
            answer = session.prompt("create notes.txt with 'hello'")
            self.assertEqual(answer["stopReason"], "end_turn")
            self.assertEqual((self.project / "notes.txt").read_text(), "hello")
            # Looking is not asked about.
            self.assertEqual(asked, ["tool_1"])
            self.assertLessEqual({"session_update", "permission_requested", "permission_resolved"}, types)
            state = session.state
            self.assertEqual(state.transcript[0], Said("user", "create notes.txt with 'hello'"))
            self.assertEqual([(one.tool, one.status) for one in calls(state)], [("glob", "completed"), ("file_write", "completed")])
            self.assertEqual([one["type"] for one in calls(state)[1].content], ["diff"])
            self.assertEqual((state.run, state.phase, state.asking), (None, "idle", None))
            self.assertTrue(said(state, "assistant") and state.commands and state.usage and state.title)
            self.assertEqual((state.mode, state.model), ("edit", "offline/pilot"))
        self.assertEqual(errors, [])
        self.assertEqual(tiller.exit.code, 0)

    def test_settings_requests_and_scripts_have_values(self):
        with self.tiller() as tiller:
            session = tiller.new_session(str(self.project))
            self.assertEqual(session.request("runtime/set", mode="plan")["modes"]["currentModeId"], "plan")
            self.assertEqual(session.state.mode, "plan")
            session.set_mode("ask")
            self.assertEqual(session.state.mode, "ask")
            session.set_model("offline/pilot")
            options = session.set_config_option("permission_mode", "argus")
            self.assertEqual([one["currentValue"] for one in options if one["id"] == "permission_mode"], ["argus"])
            self.assertEqual(session.request("mcp/list_servers"), {"servers": []})
            came = session.request("lua/execute", code="print('x') return {a = 1, b = {1, 2}}, 'two'")
            self.assertEqual((came["values"], came["output"]), ([{"a": 1, "b": [1, 2]}, "two"], "x\n"))
            self.assertEqual(session.request("lua/execute", code="return nil")["values"], [None])
            with self.assertRaises(RequestError) as caught:
                session.request("settings/set", path="no.such", value=1)
            self.assertEqual(caught.exception.code, -32602)
            endless = session.start("lua/execute", code="while true do end")
            self.assertTrue(endless.cancel())
            self.assertEqual(len(tiller.raw("session/list", {})["sessions"]), 1)
        self.assertGreater(len(REQUESTS), 20)

    def test_sessions_are_listed_loaded_resumed_forked_closed_and_deleted(self):
        with self.tiller() as tiller:
            session = tiller.new_session(str(self.project))
            session.prompt("help")
            shown = session.state.transcript
            session.close()
            self.assertEqual((tiller.sessions, session.state), ([], State()))
            (listed,) = tiller.list_sessions(cwd=str(self.project))["sessions"]
            self.assertEqual((listed["sessionId"], listed["title"]), (session.id, "help"))
            self.assertEqual(tiller.list_sessions(cwd="/no/such/folder")["sessions"], [])
            loaded = tiller.load_session(session.id, str(self.project))
            self.assertEqual(loaded.state.transcript, shown)
            copy = loaded.fork()
            self.assertNotEqual(copy.id, session.id)
            copy.prompt("show x.txt")
            self.assertEqual((len(calls(copy.state)) > 0, loaded.state.transcript), (True, shown))
        with self.tiller() as tiller:
            resumed = tiller.resume_session(session.id, str(self.project))
            self.assertEqual((resumed.state.transcript, resumed.state.mode), ((), "edit"))
            tiller.delete_session(copy.id)
            self.assertEqual([one["sessionId"] for one in tiller.list_sessions()["sessions"]], [session.id])

    def test_a_prompt_has_images_links_and_files(self):
        (self.project / "linked.txt").write_text("from the link")
        with self.tiller() as tiller:
            session = tiller.new_session(str(self.project))
            link = (self.project / "linked.txt").as_uri()
            answer = session.prompt(
                [
                    {"type": "text", "text": "help"},
                    {"type": "image", "mimeType": "image/png", "data": PIXEL},
                    {"type": "resource_link", "name": "linked.txt", "uri": link},
                    {"type": "resource", "resource": {"uri": "file:///x.txt", "text": "embedded"}},
                ]
            )
            self.assertEqual(answer["stopReason"], "end_turn")
            # What is kept of it is what a loaded session shows.
            session.close()
            user = said(tiller.load_session(session.id, str(self.project)).state, "user")
            for part in ("help", "[image image/png]", "from the link", "embedded"):
                self.assertIn(part, user)

    def test_files_and_terminals_are_the_programs(self):
        files, ran = {"a.txt": "what the editor has"}, []

        class Terminal:
            def create(self, params):
                ran.append("create")
                words = [params["command"], *params.get("args", [])]
                env = os.environ | {one["name"]: one["value"] for one in params.get("env", [])}
                self.ended = subprocess.run(
                    words, cwd=params.get("cwd"), env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
                )
                return {"terminalId": "t1"}

            def output(self, params):
                text = "from the terminal\n" + self.ended.stdout
                return {"output": text, "truncated": False, "exitStatus": self.wait_for_exit(params)}

            def wait_for_exit(self, params):
                return {"exitCode": self.ended.returncode}

            def kill(self, params):
                ran.append("kill")

            def release(self, params):
                ran.append("release")

        def write(params) -> None:
            files[Path(params["path"]).name] = params["content"]

        options = {
            "on_permission": lambda _: "allow_once",
            "on_read_text_file": lambda params: {"content": files[Path(params["path"]).name]},
            "on_write_text_file": write,
            "terminal": Terminal(),
        }
        (self.project / "a.txt").write_text("what the disk has")
        with self.tiller("--permission-mode", "argus", **options) as tiller:
            session = tiller.new_session(str(self.project))
            session.prompt("show a.txt")
            self.assertIn("what the editor has", calls(session.state)[-1].output)
            session.prompt("overwrite a.txt with 'new'")
            self.assertEqual(files["a.txt"], "new")
            session.prompt("run `echo hi`")
            self.assertIn("from the terminal\nhi", calls(session.state)[-1].output)
            self.assertEqual((ran[-1], ran.count("release")), ("release", ran.count("create")), ran)

    def test_a_program_killed_in_a_turn_leaves_a_session_that_goes_on(self):
        def die(_) -> str:
            os.kill(tiller.pid, signal.SIGKILL)
            return "allow_once"

        with self.tiller("--permission-mode", "argus", on_permission=die, on_error=lambda _: None) as tiller:
            session = tiller.new_session(str(self.project))
            session.prompt("help")
            with self.assertRaises(tiller_native.EndedError) as caught:
                session.prompt("create notes.txt with 'hello'")
            self.assertEqual(caught.exception.exit.signal, signal.SIGKILL)
            self.assertEqual((session.state.run, session.state.asking), (None, None))
            came = tiller.reconnect()
            self.assertEqual((came.reopened, came.lost), ([session], []))
            self.assertIn("create notes.txt", said(session.state, "user"))
            statuses = {one.status for one in calls(session.state)}
            self.assertLessEqual(statuses, {"completed", "failed"})
            self.assertEqual(session.prompt("help")["stopReason"], "end_turn")
            self.assertEqual((session.state.run, session.state.phase), (None, "idle"))

    def test_the_dashboard_shows_a_turn(self):
        script = CLIENTS / "python/examples/dashboard.py"
        prompt = "create more.txt with 'x' then show more.txt"
        command = [sys.executable, "-B", str(script), "--tiller", TILLER, "--yes", prompt]
        shown = subprocess.run(command, cwd=self.project, env=self.env, capture_output=True, encoding="utf-8", timeout=60)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertTrue(shown.stdout.startswith("> create more.txt"), shown.stdout)
        self.assertIn("● Write more.txt\n", shown.stdout)
        self.assertTrue(shown.stdout.endswith("end_turn\n"), shown.stdout)

    def test_the_types_are_those_of_the_schemas(self):
        subprocess.run([sys.executable, "-B", str(CLIENTS / "generate.py"), "--check"], check=True)

    def test_what_is_sent_follows_the_schema_of_the_protocol(self):
        schema = json.loads((CLIENTS / "schema/protocol.json").read_text())
        wrong, seen = [], set()

        def updated(_, update) -> None:
            seen.add(update["sessionUpdate"])
            wrong.extend(misfits(update, {"$ref": "#/$defs/SessionUpdate"}, schema["$defs"], "update"))

        def asked(question) -> str:
            wrong.extend(misfits(question, schema["client"]["session/request_permission"]["params"], schema["$defs"], "asked"))
            return "allow_once"

        with self.tiller("--permission-mode", "argus", on_permission=asked) as tiller:
            tiller.on_update(updated)
            wrong += misfits(tiller.agent, schema["agent"]["initialize"]["result"], schema["$defs"], "initialize")
            session = tiller.new_session(str(self.project))
            came = session.prompt("create a.txt with 'x' then show a.txt")
            wrong += misfits(came, schema["agent"]["session/prompt"]["result"], schema["$defs"], "prompt")
            listed = tiller.list_sessions()
            wrong += misfits(listed, schema["agent"]["session/list"]["result"], schema["$defs"], "list")
            session.set_mode("plan")
            opened = tiller.raw("session/load", {"sessionId": session.id, "cwd": str(self.project), "mcpServers": []})
            wrong += misfits(opened, schema["agent"]["session/load"]["result"], schema["$defs"], "load")
        self.assertEqual(wrong, [])
        self.assertLessEqual({"tool_call", "tool_call_update", "agent_message_chunk", "user_message_chunk"}, seen)
        self.assertTrue(misfits({"sessionUpdate": "plan"}, {"$ref": "#/$defs/SessionUpdate"}, schema["$defs"], ""))


def misfits(value, schema, defs, at) -> list:
    """Where a value does not fit a schema, by the few words of JSON Schema that ours has."""
    if not isinstance(schema, dict):
        return []
    found = []
    if "$ref" in schema:
        found += misfits(value, defs[schema["$ref"].removeprefix("#/$defs/")], defs, at)
    for key in ("oneOf", "anyOf"):
        if key in schema and all(misfits(value, one, defs, at) for one in schema[key]):
            found.append(f"{at}: fits none of {key}: {str(value)[:200]}")
    if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is not {schema.get('const', schema.get('enum'))}")
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}
    kinds["number"] = (int, float)
    wanted = schema.get("type")
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and not any(isinstance(value, kinds[one]) for one in wanted):
        return [*found, f"{at}: {str(value)[:200]} is no {wanted}"]
    if isinstance(value, dict):
        found += [f"{at}: lacks {key}" for key in schema.get("required", []) if key not in value]
        for key, inner in schema.get("properties", {}).items():
            found += misfits(value[key], inner, defs, f"{at}.{key}") if key in value else []
    if isinstance(value, list) and "items" in schema:
        found += [one for inner in value for one in misfits(inner, schema["items"], defs, f"{at}[]")]
    return found


class Asyncio(Folders):
    def test_the_same_conversation_with_asyncio(self):
        asyncio.run(self.conversation())

    async def conversation(self) -> None:
        async with AsyncTiller(TILLER, ["--permission-mode", "argus"], self.env, lambda _: "allow_once") as tiller:
            states: dict = {}
            tiller.on_event(lambda event: states.update(x=reduce(states.get("x", State()), event)))
            session = await tiller.new_session(str(self.project))
            self.assertEqual((await session.prompt("create a.txt with 'x'"))["stopReason"], "end_turn")
            # The reducer makes the same of the events alone.
            self.assertEqual(said(states["x"], "assistant"), said(session.state, "assistant"))
            turn = asyncio.ensure_future(session.prompt("create b.txt with 'y'"))
            started = asyncio.Event()
            session.on_event(lambda event: event["type"] == "tool_started" and started.set())
            await started.wait()
            session.cancel()
            self.assertIn((await turn)["stopReason"], ("cancelled", "end_turn"))
            endless = session.start("lua/execute", code="while true do end")
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(endless, 0.2)
            self.assertEqual((await session.request("lua/execute", code="return 1"))["success"], True)


class Swarm(unittest.TestCase):
    def test_a_swarm_is_a_tree_with_numbers(self):
        none = {"error": None, "queueReason": None, "lastTool": None, "lastMessagePreview": None, "nextRetryAt": None}

        def node(id, status, children=()):
            plain = {"id": id, "type": "explore", "task": id, "status": status, "elapsed": 1, "toolCalls": 0, "success": False}
            return {**plain, "children": list(children), **none}

        spawned = [{"id": "tool_1", "args": {"id": "a", "task": "look"}}, {"id": "tool_2", "args": {}}]
        first = reduce(State(), {"type": "subagent_spawned", "entries": spawned})
        self.assertEqual([(one["id"], one["status"], one["task"]) for one in first.tree], [("a", "queued", "look"), ("tool_2", "queued", "")])
        second = reduce(first, {"type": "subagent_tree", "tree": [node("a", "running", [node("b", "queued")])]})
        stats = {"id": "b", "status": "done", "elapsed": 2, "toolCalls": 3, "error": None}
        third = reduce(second, {"type": "subagent_completed", "entries": [{"stats": stats}]})
        child = third.tree[0]["children"][0]
        self.assertEqual((child["status"], child["toolCalls"], child["success"]), ("done", 3, True))
        self.assertEqual(second.tree[0]["children"][0]["status"], "queued")


if __name__ == "__main__":
    unittest.main()
