"""The client against an agent that dies, lies, is slow, or says nothing. Runs from the installed package."""

import asyncio
import json
import os
import signal
import sys
import threading
import unittest
from pathlib import Path

from tiller_native import (
    AsyncTiller,
    Call,
    EndedError,
    ProtocolError,
    RequestError,
    RequestTimeout,
    Said,
    State,
    Tiller,
)

FAKE = [sys.executable, "-B", str(Path(__file__).with_name("fake_agent.py"))]


def nothing(_) -> None:
    """Keeps what is reported out of the log of the tests."""


class Agents(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.errors: list = []

    async def started(self, *ways: str, **options) -> AsyncTiller:
        tiller = await AsyncTiller(command=[*FAKE, *ways], on_error=self.errors.append, close_timeout=0.2, **options)
        self.addAsyncCleanup(tiller.close)
        return tiller

    async def session(self, **options):
        return await (await self.started(**options)).new_session("/")

    async def event(self, tiller, type, **fields):
        """The next event of a type."""
        came = asyncio.get_running_loop().create_future()

        def tell(event) -> None:
            if event["type"] == type and not came.done() and fields.items() <= event.items():
                came.set_result(event)

        tiller.on_event(tell)
        return await came

    async def test_a_program_that_is_not_there_is_an_error_that_names_it(self):
        with self.assertRaises(EndedError) as caught:
            await AsyncTiller("/no/such/tiller")
        self.assertIn("/no/such/tiller did not start", str(caught.exception))
        self.assertEqual(caught.exception.exit.code, None)

    async def test_a_crash_at_the_start_has_the_code_and_the_last_lines(self):
        with self.assertRaises(EndedError) as caught:
            await self.started("crash")
        exit = caught.exception.exit
        self.assertEqual((exit.code, exit.signal, exit.stderr), (3, None, ("one", "two", "cannot read config.toml")))
        self.assertIn("(exit code 3) before it answered initialize", str(caught.exception))
        self.assertIn("cannot read config.toml", str(caught.exception))

    async def test_a_killed_agent_settles_every_request_and_close_does_not_raise(self):
        session = await self.session()
        ends = []
        session.tiller.on_end(ends.append)
        waiting = [session.start("mcp/list_servers"), asyncio.ensure_future(session.prompt("never"))]
        with self.assertRaises(EndedError) as caught:
            await session.prompt("die")
        for one in await asyncio.gather(*waiting, return_exceptions=True):
            self.assertIsInstance(one, EndedError)
        exit = caught.exception.exit
        self.assertEqual((exit.code, exit.signal, exit.stderr), (None, signal.SIGKILL, ("the roof is on fire",)))
        self.assertEqual(ends, [exit])
        # Nothing runs or waits any more.
        state = session.state
        self.assertEqual((state.run, state.asking, state.phase), (None, None, "idle"))
        self.assertEqual([item.status for item in state.transcript if isinstance(item, Call)], ["failed"])
        self.assertEqual(await session.tiller.close(), exit)
        self.assertEqual(await session.tiller.close(), exit)
        with self.assertRaises(EndedError):
            await session.prompt("more")
        session.cancel()

    async def test_an_agent_that_ends_by_itself_has_its_code(self):
        session = await self.session()
        with self.assertRaises(EndedError) as caught:
            await session.prompt("exit 7")
        self.assertEqual(caught.exception.exit.code, 7)

    async def test_a_connection_made_anew_has_the_history_of_its_sessions(self):
        session = await self.session()
        lost = await session.tiller.resume_session("gone", "/")
        with self.assertRaises(EndedError):
            await session.prompt("die")
        before = session.tiller.pid
        came = await session.tiller.reconnect()
        self.assertNotEqual(session.tiller.pid, before)
        self.assertEqual([one.id for one in came.reopened], ["s1"])
        self.assertEqual([(one, error.code) for one, error in came.lost], [(lost, -32002)])
        self.assertEqual(session.state.transcript[0], Said("user", "look [image image/png]"))
        self.assertEqual((await session.prompt("hello"))["stopReason"], "end_turn")
        self.assertEqual(session.tiller.sessions, [session])

    async def test_a_loaded_session_shows_its_history(self):
        tiller = await self.started()
        session = await tiller.load_session("s1", "/")
        # What comes after the answer belongs to it no more.
        await session.set_mode("plan")
        said = [(item.kind, item.text) for item in session.state.transcript if isinstance(item, Said)]
        told = [("user", "look [image image/png]"), ("user", "and again"), ("thought", "hm"), ("assistant", "I looked")]
        self.assertEqual(said, told)
        first, second = [item for item in session.state.transcript if isinstance(item, Call)]
        self.assertEqual((first.tool, first.title, first.status, first.output), ("file_read", "Read a", "completed", "hello"))
        # Nothing runs in a session that was just loaded.
        self.assertEqual((second.status, session.state.mode, session.state.loading), ("failed", "plan", False))
        with self.assertRaises(RequestError):
            await tiller.load_session("gone", "/")
        self.assertEqual(tiller.state("gone"), State())

    async def test_lies_are_reported_and_end_nothing(self):
        session = await self.session()
        events, updates = [], []
        session.tiller.on_event(events.append)
        session.on_update(updates.append)
        self.assertEqual((await session.prompt("lie"))["stopReason"], "end_turn")
        self.assertEqual((await session.prompt("hello"))["stopReason"], "end_turn")
        told = [str(error) for error in self.errors]
        for part in (
            "a line on stdout is no JSON",
            "a line on stdout is no JSON-RPC message",
            "an answer to no request: id 999",
            'an answer to no request: id "1"',
            "an answer to no request: id true",
            "an answer to no request: id 1",
            "an answer to no request: id 3",
            "a method is no text",
            "the event text_delta has nothing as delta",
            "the event text_delta has number as delta where string is due",
            "session/update has no sessionId",
        ):
            self.assertTrue(any(part in one for one in told), f"{part}: {told}")
        kinds = [(event["type"], event.get("kind")) for event in events]
        self.assertIn(("unknown", "weather"), kinds)
        self.assertEqual(kinds[-1], ("status_updated", None))
        self.assertIn(("unknown", "weather_update"), [(one["sessionUpdate"], one.get("kind")) for one in updates])
        self.assertEqual(session.state.transcript[-1], Said("notice", "still here"))
        (call,) = (item for item in session.state.transcript if isinstance(item, Call))
        self.assertEqual((call.status, call.progress), ("in_progress", "half way"))

    async def test_answers_of_the_wrong_shape_are_errors_of_their_request(self):
        tiller = await self.started()
        session = await tiller.new_session("/")
        for answer in ('"result": "text"', '"result": 5', '"error": "no"', '"error": {"code": "x"}', '"nothing": 1'):
            with self.assertRaises(ProtocolError):
                await session.prompt(f'raw {{"jsonrpc": "2.0", "id": ID, {answer}}}')
        with self.assertRaises(ProtocolError):
            await tiller.new_session("/bad")

    async def test_an_error_has_its_code_and_its_data(self):
        session = await self.session()
        with self.assertRaises(RequestError) as caught:
            await session.prompt("error")
        error = caught.exception
        self.assertEqual((error.code, error.data, error.method), (-32000, {"code": "auth_required"}, "session/prompt"))

    async def test_lines_come_in_pieces_and_may_be_long(self):
        session = await self.session()
        self.assertEqual((await session.prompt("split"))["_meta"], {"said": "größer 🦀"})
        self.assertEqual(len((await session.prompt("huge 5000000"))["_meta"]["said"]), 5_000_000)

    async def test_a_line_past_the_limit_ends_the_connection_and_says_so(self):
        session = await self.session()
        with self.assertRaises(EndedError) as caught:
            await session.prompt(f"huge {65 << 20}")
        self.assertIn("sent a line of more than", str(caught.exception))
        await session.tiller.close()

    async def test_a_listener_that_raises_is_reported_and_the_rest_goes_on(self):
        session = await self.session()
        texts = []

        def broken(event) -> None:
            raise ValueError("my own mistake")

        async def broken_later(state) -> None:
            raise ValueError("my later mistake")

        for listen in (session.on_event, session.on_change, session.on_update):
            listen(broken)
        session.on_change(broken_later)
        session.on_event(lambda event: texts.append(event["text"]) if event["type"] == "text_delta" else None)
        await session.prompt("say one")
        await session.prompt("say two")
        self.assertEqual(texts, ["one", "two"])
        self.assertEqual({str(error) for error in self.errors}, {"my own mistake", "my later mistake"})

    async def test_a_slow_agent_is_told_to_drop_the_request(self):
        session = await self.session()
        with self.assertRaises(RequestTimeout) as caught:
            await session.request("mcp/list_servers", timeout=0.05)
        self.assertEqual((caught.exception.method, caught.exception.seconds), ("_tiller/mcp/list_servers", 0.05))
        self.assertIsInstance(caught.exception, TimeoutError)
        with self.assertRaises(RequestTimeout):
            await session.prompt("never", timeout=0.01)
        received = (await session.prompt("received"))["_meta"]["received"]
        self.assertEqual(received.count("$/cancel_request"), 2)

    async def test_an_agent_that_never_speaks_does_not_start(self):
        with self.assertRaises(RequestTimeout):
            await self.started("quiet", timeout=0.05)

    async def test_a_cancelled_task_takes_its_request_back_and_a_late_answer_is_no_error(self):
        session = await self.session()
        waits = asyncio.ensure_future(self.event(session.tiller, "status_updated", message="waiting"))
        late = asyncio.ensure_future(self.event(session.tiller, "status_updated", message="answered late"))
        prompt = asyncio.ensure_future(session.prompt("late"))
        await waits
        prompt.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await prompt
        await late
        received = (await session.prompt("received"))["_meta"]["received"]
        self.assertIn("$/cancel_request", received)
        self.assertIn("session/cancel", received)
        self.assertEqual(self.errors, [])

    async def test_a_child_that_closed_its_ears_loses_no_request_for_ever(self):
        session = await self.session()
        deaf = asyncio.ensure_future(self.event(session.tiller, "status_updated", message="deaf"))
        prompt = asyncio.ensure_future(session.prompt("deaf"))
        await deaf
        # A turn has no time limit, and yet each of these ends.
        for _ in range(2):
            with self.assertRaisesRegex(EndedError, "has closed its stdin"):
                await session.prompt("x" * (4 << 20))
        await session.tiller.close()
        with self.assertRaises(EndedError):
            await prompt

    async def test_closing_does_not_wait_for_an_agent_that_ignores_it(self):
        tiller = await self.started("stubborn")
        exit = await tiller.close()
        self.assertEqual(exit.signal, signal.SIGKILL)

    async def test_states_of_sessions_are_their_own(self):
        tiller = await self.started()
        session, other = await tiller.new_session("/"), await tiller.load_session("s2", "/")
        await session.prompt("say hello")
        self.assertIn(Said("assistant", "hello"), session.state.transcript)
        self.assertEqual(other.state.transcript, ())
        await session.close()
        self.assertEqual(tiller.state("s1"), State())
        self.assertEqual([one.id for one in tiller.sessions], ["s2"])


class Questions(unittest.IsolatedAsyncioTestCase):
    """What the agent asks the program."""

    async def ask(self, method, params, **callbacks):
        errors: list = []
        async with AsyncTiller(command=FAKE, on_error=errors.append, **callbacks) as tiller:
            session = await tiller.new_session("/")
            asked = json.dumps({"method": method, "params": params})
            answer = await session.prompt(f"ask {asked}")
            return answer["_meta"]["answer"], errors

    OPTIONS = {"options": [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]}

    async def test_permissions_are_answered_by_id_or_kind_and_rejected_otherwise(self):
        def raises(_) -> str:
            raise ValueError("no")

        async def later(_) -> str:
            return "y"

        for chooser, option, reported in (
            (lambda _: "y", "y", 0),
            (later, "y", 0),
            (lambda _: "allow_once", "y", 0),
            (lambda _: "allow_always", "n", 1),
            (raises, "n", 1),
            (None, "n", 0),
        ):
            answer, errors = await self.ask("session/request_permission", self.OPTIONS, on_permission=chooser)
            self.assertEqual(answer["result"]["outcome"], {"outcome": "selected", "optionId": option})
            self.assertEqual(len(errors), reported)
        answer, _ = await self.ask("session/request_permission", self.OPTIONS, on_permission=nothing)
        self.assertEqual(answer["result"]["outcome"], {"outcome": "cancelled"})
        answer, _ = await self.ask("session/request_permission", 5)
        self.assertEqual(answer["error"]["code"], -32602)

    async def test_files_terminals_and_forms_are_answered_with_what_the_program_gives(self):
        class Terminal:
            def create(self, params):
                return {"terminalId": params["command"]}

            async def output(self, params):
                return {"output": "x", "truncated": False}

            async def wait_for_exit(self, params):
                return {"exitCode": 0}

            def kill(self, params):
                pass

            def release(self, params):
                raise RequestError(-32002, "no such terminal", {"id": params["terminalId"]})

        given = {
            "on_read_text_file": lambda params: {"content": params["path"]},
            "on_write_text_file": nothing,
            "on_elicitation": lambda _: {"action": "accept", "content": {"a": 1}},
            "terminal": Terminal(),
        }
        for method, params, result in (
            ("fs/read_text_file", {"path": "/a"}, {"content": "/a"}),
            ("fs/write_text_file", {"path": "/a", "content": ""}, {}),
            ("elicitation/create", {"message": "?"}, {"action": "accept", "content": {"a": 1}}),
            ("terminal/create", {"command": "ls"}, {"terminalId": "ls"}),
            ("terminal/output", {"terminalId": "ls"}, {"output": "x", "truncated": False}),
            ("terminal/wait_for_exit", {"terminalId": "ls"}, {"exitCode": 0}),
            ("terminal/kill", {"terminalId": "ls"}, {}),
        ):
            answer, _ = await self.ask(method, params, **given)
            self.assertEqual(answer, {"result": result}, method)
        answer, errors = await self.ask("terminal/release", {"terminalId": "t"}, **given)
        self.assertEqual(answer["error"], {"code": -32002, "message": "no such terminal", "data": {"id": "t"}})
        self.assertEqual(errors, [])

    async def test_what_nobody_answers_is_no_method_and_what_fails_is_an_error(self):
        for method in ("fs/read_text_file", "terminal/create", "elicitation/create", "no/such"):
            answer, _ = await self.ask(method, {})
            self.assertEqual(answer["error"]["code"], -32601, method)
        answer, errors = await self.ask("fs/read_text_file", {}, on_read_text_file=lambda params: {"content": params["path"]})
        self.assertEqual((answer["error"]["code"], len(errors)), (-32603, 1))

    async def test_capabilities_follow_from_the_callbacks(self):
        for callbacks, told in (
            ({}, {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}),
            ({"on_write_text_file": nothing}, {"fs": {"readTextFile": False, "writeTextFile": True}, "terminal": False}),
            ({"on_elicitation": nothing, "terminal": object()}, {"terminal": True, "elicitation": {"form": {}, "url": {}}}),
        ):
            async with AsyncTiller(command=FAKE, **callbacks) as tiller:
                self.assertLessEqual(told.items(), tiller.agent["_meta"]["capabilities"].items())

    async def test_a_question_that_is_taken_back_is_cancelled(self):
        cancelled = asyncio.Event()

        async def wait(_) -> str:
            tiller.notify("unask", {})
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return "y"

        async with AsyncTiller(command=FAKE, on_permission=wait) as tiller:
            session = await tiller.new_session("/")
            asked = json.dumps({"method": "session/request_permission", "params": self.OPTIONS})
            answer = await session.prompt(f"unask-later {asked}")
            self.assertEqual(answer["_meta"]["answer"]["error"]["code"], -32800)
            self.assertTrue(cancelled.is_set())
            # At once, before the callback has begun.
            answer = await session.prompt(f"unask {asked}")
            self.assertEqual(answer["_meta"]["answer"]["error"]["code"], -32800)


class Blocking(unittest.TestCase):
    """What is different without asyncio."""

    def test_a_killed_agent_settles_what_other_threads_wait_for(self):
        tiller = Tiller(command=FAKE, on_error=nothing)
        session = tiller.new_session("/")
        caught = []
        told = threading.Event()
        tiller.on_event(lambda event: event["type"] == "status_updated" and told.set())

        def wait() -> None:
            try:
                session.prompt("never")
            except EndedError as error:
                caught.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        told.wait()
        os.kill(tiller.pid, signal.SIGKILL)
        thread.join()
        self.assertEqual(caught[0].exit.signal, signal.SIGKILL)
        self.assertEqual(tiller.close().signal, signal.SIGKILL)
        self.assertEqual(tiller.close().signal, signal.SIGKILL)
        with self.assertRaises(EndedError):
            session.prompt("hello")
        session.cancel()
        came = tiller.reconnect()
        self.assertEqual(came.reopened, [session])
        self.assertEqual(session.prompt("hello")["stopReason"], "end_turn")
        self.assertEqual(tiller.close().code, 0)

    def test_requests_are_started_and_taken_back(self):
        with Tiller(command=FAKE, on_error=nothing) as tiller:
            session = tiller.new_session("/")
            started = session.start("mcp/list_servers")
            self.assertTrue(started.cancel())
            session.prompt("hello")
            self.assertIn("$/cancel_request", session.prompt("received")["_meta"]["received"])
            with self.assertRaises(RequestTimeout):
                session.request("mcp/list_servers", timeout=0.05)

    def test_a_listener_cannot_wait_and_is_told_so(self):
        errors: list = []
        with Tiller(command=FAKE, on_error=errors.append) as tiller:
            session = tiller.new_session("/")
            session.on_event(lambda _: session.prompt("again"))
            self.assertEqual(session.prompt("say x")["stopReason"], "end_turn")
        self.assertIn("a listener cannot wait for an answer", str(errors[0]))

    def test_callbacks_may_ask_in_their_turn(self):
        with Tiller(command=FAKE, on_permission=lambda _: tiller.list_sessions() and "n" or "y") as tiller:
            session = tiller.new_session("/")
            asked = json.dumps({"method": "session/request_permission", "params": Questions.OPTIONS})
            answer = session.prompt(f"ask {asked}")["_meta"]["answer"]
            self.assertEqual(answer["result"]["outcome"]["optionId"], "y")

    def test_a_program_that_is_not_there_leaves_no_thread(self):
        with self.assertRaises(EndedError):
            Tiller("/no/such/tiller")
        self.assertNotIn("tiller-native", [thread.name for thread in threading.enumerate()])


if __name__ == "__main__":
    unittest.main()
