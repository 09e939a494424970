"""Subagents as the client shows them: of the real program, which `TILLER` names, with a model that answers on demand."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import unittest
from dataclasses import replace
from pathlib import Path

from model_server import PROMPT, ModelServer
from test_tiller import TILLER, Folders

from tiller_native import Row, State, Tiller, cut, is_at_work, line, listed, numbers, plain, rows

#: Seconds; longer than anything here takes on a busy machine.
PATIENCE = 60
DASHBOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dashboard.py")
NASTY = "\x1b[31mred\x1b]0;title\x07 \x1b[2J\u202eTask four\x08\n\tend"


def node(id, status="running", children=(), **more):
    plain = {"id": id, "type": "explore", "task": f"look at {id}", "status": status, "elapsed": 61.5, "toolCalls": 1, "success": False}
    none = {"error": None, "queueReason": None, "lastTool": "grep", "lastMessagePreview": None, "nextRetryAt": None}
    return {**plain, **none, "children": list(children), **more}


class Text(unittest.TestCase):
    def test_what_is_shown_of_a_text_is_harmless(self):
        for text, shown in {
            "a\tb\n c": "a b c",
            NASTY: "red Task four end",
            "\x9b2Jx\x07y\x00": "xy",
            "\x1bPq#0\x1b\\x \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "x link",
            "\x1b]0;never ends": "",
            "\x1bc\x1b(0x": "0x",
            "a\u200bb\u2066c\ud800": "abc",
            "日本": "日本",
        }.items():
            self.assertEqual(plain(text), shown, repr(text))

    def test_a_cut_text_has_its_width(self):
        for text, width, shown in [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("e\u0301e\u0301", 2, "e\u0301e\u0301"), ("abc", 0, "")]:
            self.assertEqual(cut(text, width), shown, text)


class Shown(unittest.TestCase):
    def test_rows_are_the_tree_from_the_top(self):
        tree = [node("a", children=[node("b", "retrying", error="busy"), node("c", "queued", elapsed=0, toolCalls=0, queueReason="waiting for b")])]
        tree.append(node("summary-root", "summary", type="summary", task="7 more agents (7 done)"))
        state = State(tree=tree, stats={"a": {"tokensIn": 5, "tokensOut": 2, "retries": 1}})
        lines = [line(row, 80) for row in rows(state, age=60.0)]
        expected = [
            "◐ a (explore) running, 2m01s, 1 call, 7 tokens, 1 retry (grep): look at a",
            "  ↻ b (explore) retrying, 1m01s, 1 call (busy): look at b",
            "  ○ c (explore) queued (waiting for b): look at c",
            "… 7 more agents (7 done)",
        ]
        self.assertEqual(lines, expected)

    def test_a_line_of_a_model_stays_one_line(self):
        row = Row("a", "explore", NASTY, "running", 1, 3.0, 0, 0, 0, "")
        self.assertEqual(line(row, 80), "  ◐ a (explore) running, 3s: red Task four end")
        self.assertEqual(len(line(row, 20)), 20)

    def test_numbers_have_the_cost_where_it_is_known(self):
        self.assertEqual(numbers(State()), "")
        hidden = node("summary-root", "summary", type="summary", task="…", hiddenStatuses={"done": 1, "queued_global": 2})
        tree = [node("a", children=[node("b", "queued_global"), node("c", "failed"), node("f", "queued")]), node("d", "interrupted"), node("e", "done"), hidden]
        summary = {"totalTools": 9, "tokensIn": 10, "tokensOut": 5, "cost": 0.5, "eta": 90.0}
        state = State(tree=tree, summary=summary)
        shown = "9 in all, 2 done, 1 running, 4 queued, 1 failed, 1 interrupted, 9 calls, 15 tokens, $0.5000, about 1m30s left"
        self.assertEqual(numbers(state), shown)
        unknown = replace(state, summary={**summary, "cost": None, "eta": None})
        self.assertTrue(numbers(unknown).endswith("15 tokens, cost unknown"))


def kill(pid):
    """Kills the program. Where a recorder of the wire started it, the program is the recorder's child, which would otherwise end in order."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    for child in children.read_text().split() if children.exists() else []:
        os.kill(int(child), signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Program(Folders):
    def model(self, agents, answers, concurrency=10) -> ModelServer:
        server = ModelServer({**answers, PROMPT: [agents, "All have ended."]})
        self.addCleanup(server.close)
        settings = f"\n[agent]\nsubagent_concurrency = {concurrency}\n[providers.custom.test]\nbase_url = \"{server.url}\"\n"
        with open(f"{self.env['TILLER_HOME']}/config.toml", "a") as config:
            config.write(settings)
        self.env["TILLER_MODEL"] = "test/model"
        return server

    def watched(self, tiller: Tiller):
        """Waits until subagents have these statuses; and what each was, in order."""
        seen, changed, history = {}, threading.Condition(), {}

        def look(_, state: State) -> None:
            with changed:
                for row in rows(state):
                    seen[row.id] = row.status
                    known = history.setdefault(row.id, [])
                    if known[-1:] != [row.status]:
                        known.append(row.status)
                changed.notify_all()

        def until(**wanted) -> None:
            with changed:
                came = changed.wait_for(lambda: wanted.items() <= seen.items(), PATIENCE)
            self.assertTrue(came, f"{wanted} did not come of {history}")

        tiller.on_change(look)
        return until, history

    def test_each_status_is_shown_while_it_lasts(self):
        names = ("one", "two", "three", "four")
        agents = [{"id": name, "task": f"Task {name}"} for name in names]
        # A redirection is an answer that makes no sense: a reason that passes. A refusal of the key does not.
        answers = {"Task one": ["First."], "Task two": [302, "Second."], "Task three": [403], "Task four": ["Never."]}
        model = self.model(agents, answers, concurrency=1)
        with self.tiller() as tiller:
            until, history = self.watched(tiller)
            session = tiller.new_session(str(self.project))
            turn: dict = {}
            prompting = threading.Thread(target=lambda: turn.update(session.prompt(PROMPT)))
            prompting.start()
            until(one="running", two="queued_global", three="queued_global", four="queued_global")
            model.release("Task one")
            until(one="done", two="running", three="queued_global")
            model.release("Task two")
            until(two="retrying")
            until(two="running", three="queued_global")
            model.release("Task two")
            until(two="done", three="running")
            model.release("Task three")
            until(three="failed", four="running")
            self.assertTrue(is_at_work(session.state.tree))
            self.assertEqual(session.request("subagents/cancel", id="four"), {"cancelled": True})
            until(four="cancelled")
            self.assertEqual(session.request("subagents/cancel", id="four"), {"cancelled": False})
            prompting.join(PATIENCE)
            self.assertEqual(turn["stopReason"], "end_turn")
            last = listed(session.state, session.request("subagents/list"))
        expected = {
            "one": ["queued", "running", "done"],
            "two": ["queued", "queued_global", "running", "retrying", "running", "done"],
            "three": ["queued", "queued_global", "running", "failed"],
            "four": ["queued", "queued_global", "running", "cancelled"],
        }
        self.assertEqual(history, expected)
        by_id = {row.id: row for row in rows(last)}
        self.assertEqual((by_id["two"].retries, by_id["two"].tokens), (1, 120))
        self.assertIn("403", by_id["three"].detail)
        self.assertFalse(is_at_work(last.tree))
        self.assertRegex(numbers(last), r"^4 in all, 2 done, 1 failed, 1 cancelled, 0 calls, 240 tokens, cost unknown$")

    def test_a_killed_program_leaves_interrupted_subagents_that_a_reconnection_lists(self):
        agents = [{"id": "one", "task": "Task one"}, {"id": "two", "task": "Task two"}]
        model = self.model(agents, {"Task one": [[{"id": "below", "task": "Task below"}]], "Task below": [], "Task two": ["Second."]})
        with self.tiller(on_error=lambda _: None) as tiller:
            until, _ = self.watched(tiller)
            session = tiller.new_session(str(self.project))
            started = threading.Thread(target=lambda: self.assertRaises(Exception, session.prompt, PROMPT))
            started.start()
            model.release("Task one")
            model.release("Task two")
            until(two="done", below="running")
            kill(tiller.pid)
            until(two="done", one="interrupted", below="interrupted")
            started.join(PATIENCE)
            self.assertEqual(tiller.reconnect().lost, [])
            shown = [(row.depth, row.id, row.status) for row in rows(session.state)]
            self.assertEqual(sorted(shown), [(0, "one", "interrupted"), (0, "two", "done"), (1, "below", "interrupted")])
            self.assertRegex(numbers(session.state), "^3 in all, 1 done, 2 interrupted, ")

    def test_the_dashboard_tells_each_change_and_cancels_on_demand(self):
        agents = [{"id": "one", "task": "Task one"}, {"id": "four", "task": NASTY}]
        model = self.model(agents, {"Task one": ["First."], "Task four": ["Never."]})
        command = [sys.executable, "-B", DASHBOARD, "--tiller", TILLER, PROMPT]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, cwd=self.project, env=self.env, text=True, **pipes) as dashboard:
            told = []

            def until(begin: str) -> None:
                for one in dashboard.stdout:
                    told.append(one.rstrip("\n"))
                    if one.startswith(begin):
                        return
                self.fail(f"{begin} was not told: {told}")

            until("◐ four (explore) running")
            dashboard.stdin.write("cancel four\n")
            dashboard.stdin.flush()
            until("✗ four (explore) cancelled")
            model.release("Task one")
            until("● one (explore) done")
            rest = dashboard.stdout.read()
        self.assertEqual(dashboard.returncode, 0, rest)
        self.assertRegex(rest, r"Subagents: 2 in all, 1 done, 1 cancelled, 0 calls, 120 tokens, cost unknown\n")
        self.assertRegex(rest, r"\n✗ four \(explore\) cancelled[^\n]*: red Task four end\n")
        self.assertTrue(rest.endswith("\nend_turn\n"), rest)
        self.assertNotIn("\x1b", "\n".join(told) + rest)

    def test_on_a_terminal_the_dashboard_is_drawn_in_place_and_obeys_what_is_typed(self):
        self.model([{"id": "four", "task": NASTY}], {"Task four": ["Never."]})
        ours, theirs = pty.openpty()
        environment = {**self.env, "TERM": "xterm", "COLUMNS": "100", "LINES": "20"}
        command = [sys.executable, "-B", DASHBOARD, "--tiller", TILLER, PROMPT]
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        with subprocess.Popen(command, cwd=self.project, env=environment, **streams) as dashboard:
            os.close(theirs)
            written = b""

            def until(text: str) -> None:
                nonlocal written
                while text.encode() not in written:
                    self.assertTrue(select.select([ours], [], [], PATIENCE)[0], f"{text!r} was not drawn: {written!r}")
                    try:
                        written += os.read(ours, 65536)
                    except OSError:
                        self.fail(f"{text!r} was not drawn: {written!r}")

            until("◐ four (explore) running")
            os.write(ours, b"cancel nobody\n")
            until("no subagent nobody is at work")
            os.write(ours, b"cancel four\n")
            until("✗ four (explore) cancelled")
            until("end_turn")
        os.close(ours)
        self.assertEqual(dashboard.returncode, 0)
        # One frame after the other from the top, and nothing of what the model wrote to the terminal.
        self.assertGreater(written.count(b"\x1b7\x1b[H"), 1)
        for forbidden in (b"\x1b[31m", b"\x1b]0;", b"\x08", "\u202e".encode()):
            self.assertNotIn(forbidden, written)


if __name__ == "__main__":
    unittest.main()
