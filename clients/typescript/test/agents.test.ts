// The client against an agent that dies, lies, is slow, or says nothing. Runs from the installed package.

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  type AnyEvent,
  EndedError,
  type Item,
  type Options,
  ProtocolError,
  RequestError,
  RequestTimeout,
  type Session,
  Tiller,
  initial,
} from "tiller-native";

const FAKE = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..", "fake-agent.mjs");
const OPTIONS = { options: [{ optionId: "y", kind: "allow_once" }, { optionId: "n", kind: "reject_once" }] };

interface Stage {
  tiller: Tiller;
  session: Session;
  errors: Error[];
}

async function stage(t: TestContext, options: Options = {}, way: string[] = []): Promise<Stage> {
  const errors: Error[] = [];
  const command: [string, ...string[]] = [process.execPath, FAKE, ...way];
  const tiller = await Tiller.start({ command, onError: (error) => void errors.push(error), closeTimeout: 0.2, ...options });
  t.after(() => tiller.close());
  return { tiller, session: await tiller.newSession("/"), errors };
}

/** What a promise is rejected with. */
async function thrown<E extends Error>(kind: new (...args: never[]) => E, work: Promise<unknown>): Promise<E> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof kind, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: `nothing was thrown where ${kind.name} was due` });
}

function message(tiller: Tiller, wanted: string): Promise<void> {
  return new Promise((resolve) => {
    tiller.onEvent((event) => void (event.type === "status_updated" && event.message === wanted && resolve()));
  });
}

const calls = (items: Item[]) => items.flatMap((item) => (item.kind === "tool" ? [item] : []));

test("a program that is not there is an error that names it", async () => {
  const error = await thrown(EndedError, Tiller.start({ tiller: "/no/such/tiller" }));
  assert.match(error.message, /\/no\/such\/tiller did not start/);
  assert.equal(error.exit.code, null);
});

test("a crash at the start has the code and the last lines", async (t) => {
  const error = await thrown(EndedError, stage(t, {}, ["crash"]));
  assert.deepEqual(error.exit, { code: 3, signal: null, stderr: ["one", "two", "cannot read config.toml"] });
  assert.match(error.message, /\(exit code 3\) before it answered initialize; .*cannot read config\.toml/);
});

test("a killed agent settles every request, and close does not reject", async (t) => {
  const { tiller, session } = await stage(t);
  const ends: unknown[] = [];
  tiller.onEnd((exit) => ends.push(exit));
  const waiting = [session.request("mcp/list_servers", {}), session.prompt("never"), tiller.next("text_delta")];
  const [error] = await Promise.all([thrown(EndedError, session.prompt("die")), ...waiting.map((one) => thrown(EndedError, one))]);
  assert.deepEqual(error.exit, { code: null, signal: "SIGKILL", stderr: ["the roof is on fire"] });
  assert.deepEqual(ends, [error.exit]);
  const { run, asking, phase, transcript } = session.state;
  assert.deepEqual([run, asking, phase], [null, null, "idle"], "nothing runs or waits any more");
  assert.deepEqual(calls(transcript).map((one) => one.status), ["failed"]);
  assert.deepEqual([await tiller.close(), await tiller.close()], [error.exit, error.exit]);
  await thrown(EndedError, session.prompt("more"));
  session.cancel();
});

test("an agent that ends by itself has its code", async (t) => {
  const { session } = await stage(t);
  assert.equal((await thrown(EndedError, session.prompt("exit 7"))).exit.code, 7);
});

test("a connection made anew has the history of its sessions", async (t) => {
  const { tiller, session } = await stage(t);
  const gone = await tiller.resumeSession("gone", "/");
  await thrown(EndedError, session.prompt("die"));
  const before = tiller.pid;
  const [came, again] = await Promise.all([tiller.reconnect(), tiller.reconnect()]);
  assert.equal(came, again);
  assert.notEqual(tiller.pid, before);
  assert.deepEqual(came.reopened, [session]);
  assert.deepEqual(came.lost.map((one) => [one.session, (one.error as RequestError).code]), [[gone, -32002]]);
  assert.deepEqual(session.state.transcript[0], { kind: "user", text: "look [image image/png]" });
  assert.equal((await session.prompt("hello")).stopReason, "end_turn");
  assert.deepEqual(tiller.sessions, [session]);
});

test("a loaded session shows its history", async (t) => {
  const { tiller } = await stage(t);
  const session = await tiller.loadSession("s1", "/");
  await session.setMode("plan");
  const said = session.state.transcript.flatMap((item) => (item.kind === "tool" ? [] : [[item.kind, item.text]]));
  const told = [["user", "look [image image/png]"], ["user", "and again"], ["thought", "hm"], ["assistant", "I looked"]];
  assert.deepEqual(said, told, "what comes after the answer belongs to it no more");
  const [first, second] = calls(session.state.transcript);
  assert.deepEqual([first?.tool, first?.title, first?.status, first?.output], ["file_read", "Read a", "completed", "hello"]);
  assert.deepEqual([second?.status, session.state.mode, session.state.loading], ["failed", "plan", false]);
  await thrown(RequestError, tiller.loadSession("gone", "/"));
  assert.deepEqual(tiller.state("gone"), initial);
});

test("lies are reported and end nothing", async (t) => {
  const { tiller, session, errors } = await stage(t);
  const [events, updates]: [AnyEvent[], string[]] = [[], []];
  tiller.onEvent((event) => void events.push(event));
  session.onUpdate((update) => void updates.push(update.sessionUpdate === "unknown" ? update.kind : update.sessionUpdate));
  assert.equal((await session.prompt("lie")).stopReason, "end_turn");
  assert.equal((await session.prompt("hello")).stopReason, "end_turn");
  const told = errors.map((error) => error.message);
  for (const part of [
    "a line on stdout is no JSON",
    "a line on stdout is no JSON-RPC message",
    "an answer to no request: id 999",
    'an answer to no request: id "1"',
    "an answer to no request: id 1",
    "an answer to no request: id 3",
    "a method is no text",
    "the event text_delta has nothing as delta",
    "the event text_delta has number as delta where string is due",
    "session/update has no sessionId",
  ]) {
    assert.ok(told.some((one) => one.includes(part)), `${part}: ${told.join("\n")}`);
  }
  assert.ok(events.some((event) => event.type === "unknown" && event.kind === "weather"));
  assert.ok(updates.includes("weather_update"));
  assert.deepEqual(session.state.transcript.at(-1), { kind: "notice", text: "still here" });
  const [call] = calls(session.state.transcript);
  assert.deepEqual([call?.status, call?.progress], ["in_progress", "half way"]);
});

test("answers of the wrong shape are errors of their request", async (t) => {
  const { tiller, session } = await stage(t);
  for (const answer of ['"result": "text"', '"result": 5', '"error": "no"', '"error": {"code": "x"}', '"nothing": 1']) {
    await thrown(ProtocolError, session.prompt(`raw {"jsonrpc": "2.0", "id": ID, ${answer}}`));
  }
  await thrown(ProtocolError, tiller.newSession("/bad"));
});

test("an error has its code and its data", async (t) => {
  const { session } = await stage(t);
  const error = await thrown(RequestError, session.prompt("error"));
  assert.deepEqual([error.code, error.data, error.method], [-32000, { code: "auth_required" }, "session/prompt"]);
});

test("lines come in pieces and may be long", async (t) => {
  const { session } = await stage(t);
  assert.deepEqual((await session.prompt("split"))._meta, { said: "größer 🦀" });
  assert.equal(((await session.prompt("huge 5000000"))._meta as { said: string }).said.length, 5_000_000);
});

test("a line past the limit ends the connection and says so", async (t) => {
  const { session } = await stage(t);
  const error = await thrown(EndedError, session.prompt(`huge ${65 << 20}`));
  assert.match(error.message, /sent a line of more than/);
});

test("a listener that throws is reported, and the rest goes on", async (t) => {
  const { tiller, session, errors } = await stage(t);
  const texts: string[] = [];
  session.onEvent(() => {
    throw new Error("my own mistake");
  });
  session.onChange(async () => {
    throw new Error("my later mistake");
  });
  tiller.onEvent((event) => void (event.type === "text_delta" && texts.push(event.text)));
  await session.prompt("say one");
  await session.prompt("say two");
  assert.deepEqual(texts, ["one", "two"]);
  const told = new Set(errors.map((error) => error.message));
  assert.deepEqual(told, new Set(["my own mistake", "my later mistake"]));
});

test("a slow agent is told to drop the request", async (t) => {
  const { session } = await stage(t);
  const error = await thrown(RequestTimeout, session.request("mcp/list_servers", {}, { timeout: 0.05 }));
  assert.deepEqual([error.method, error.seconds], ["_tiller/mcp/list_servers", 0.05]);
  await thrown(RequestTimeout, session.prompt("never", { timeout: 0.01 }));
  const { received } = (await session.prompt("received"))._meta as { received: string[] };
  assert.equal(received.filter((method) => method === "$/cancel_request").length, 2);
});

test("an agent that never speaks does not start", async (t) => {
  await thrown(RequestTimeout, stage(t, { timeout: 0.05 }, ["quiet"]));
});

test("a signal that is aborted already sends nothing", async (t) => {
  const { session } = await stage(t);
  const error = await thrown(DOMException as never, session.prompt("hello", { signal: AbortSignal.abort() }));
  assert.equal((error as Error).name, "AbortError");
  await thrown(DOMException as never, session.request("mcp/list_servers", {}, { signal: AbortSignal.abort() }));
  const { received } = (await session.prompt("received"))._meta as { received: string[] };
  assert.deepEqual(received, ["initialize", "session/new", "session/prompt"]);
});

test("an aborted request is taken back, and a late answer is no error", async (t) => {
  const { tiller, session, errors } = await stage(t);
  const [waits, late] = [message(tiller, "waiting"), message(tiller, "answered late")];
  const controller = new AbortController();
  const prompt = session.prompt("late", { signal: controller.signal });
  await waits;
  controller.abort(new Error("the person went home"));
  assert.equal((await thrown(Error, prompt)).message, "the person went home");
  await late;
  const { received } = (await session.prompt("received"))._meta as { received: string[] };
  assert.ok(received.includes("$/cancel_request") && received.includes("session/cancel"));
  assert.deepEqual(errors, []);
});

test("a child that closed its ears loses no request for ever", async (t) => {
  const { tiller, session } = await stage(t, {}, ["deaf"]);
  const deaf = message(tiller, "deaf");
  const prompt = thrown(EndedError, session.prompt("never"));
  await deaf;
  const lost = [session.prompt("x".repeat(4 << 20)), session.prompt("y")];
  const errors = await Promise.all(lost.map((one) => thrown(EndedError, one)));
  for (const error of errors) assert.match(error.message, /has closed its stdin/, "a turn has no time limit");
  await tiller.close();
  await prompt;
});

test("closing does not wait for an agent that ignores it", async (t) => {
  const { tiller } = await stage(t, {}, ["stubborn"]);
  assert.equal((await tiller.close()).signal, "SIGKILL");
});

test("states of sessions are their own", async (t) => {
  const { tiller, session } = await stage(t);
  const other = await tiller.resumeSession("s2", "/");
  await session.prompt("say hello");
  assert.deepEqual(session.state.transcript, [{ kind: "assistant", text: "hello" }]);
  assert.deepEqual(other.state.transcript, []);
  await session.close();
  assert.deepEqual(tiller.state("s1"), initial);
  assert.deepEqual(tiller.sessions, [other]);
});

async function ask(t: TestContext, method: string, params: unknown, options: Options = {}): Promise<[any, Error[]]> {
  const { session, errors } = await stage(t, options);
  const answer = await session.prompt(`ask ${JSON.stringify({ method, params })}`);
  return [(answer._meta as { answer: unknown }).answer, errors];
}

test("permissions are answered by id or kind, and rejected otherwise", async (t) => {
  const fails = () => {
    throw new Error("no");
  };
  const cases: [Options["onPermission"], string, number][] = [
    [() => "y", "y", 0],
    [async () => "allow_once", "y", 0],
    [() => "allow_always", "n", 1],
    [fails, "n", 1],
    [undefined, "n", 0],
  ];
  for (const [onPermission, optionId, reported] of cases) {
    const [answer, errors] = await ask(t, "session/request_permission", OPTIONS, onPermission ? { onPermission } : {});
    assert.deepEqual(answer.result, { outcome: { outcome: "selected", optionId } });
    assert.equal(errors.length, reported);
  }
  const [answer] = await ask(t, "session/request_permission", OPTIONS, { onPermission: () => null });
  assert.deepEqual(answer.result, { outcome: { outcome: "cancelled" } });
  const [wrong] = await ask(t, "session/request_permission", 5);
  assert.equal(wrong.error.code, -32602);
});

test("files, terminals and forms are answered with what the program gives", async (t) => {
  const options: Options = {
    onReadTextFile: ({ path }) => ({ content: path }),
    onWriteTextFile: () => {},
    onElicitation: () => ({ action: "accept", content: { a: 1 } }),
    terminal: {
      create: ({ command }) => ({ terminalId: command }),
      output: async () => ({ output: "x", truncated: false }),
      waitForExit: () => ({ exitCode: 0 }),
      kill: () => {},
      release: ({ terminalId }) => {
        throw new RequestError(-32002, "no such terminal", { terminalId });
      },
    },
  };
  const cases: [string, unknown, unknown][] = [
    ["fs/read_text_file", { path: "/a" }, { content: "/a" }],
    ["fs/write_text_file", { path: "/a", content: "" }, {}],
    ["elicitation/create", { message: "?" }, { action: "accept", content: { a: 1 } }],
    ["terminal/create", { command: "ls" }, { terminalId: "ls" }],
    ["terminal/output", { terminalId: "ls" }, { output: "x", truncated: false }],
    ["terminal/wait_for_exit", { terminalId: "ls" }, { exitCode: 0 }],
    ["terminal/kill", { terminalId: "ls" }, {}],
  ];
  for (const [method, params, result] of cases) {
    assert.deepEqual((await ask(t, method, params, options))[0], { result }, method);
  }
  const [answer, errors] = await ask(t, "terminal/release", { terminalId: "t" }, options);
  assert.deepEqual(answer.error, { code: -32002, message: "no such terminal", data: { terminalId: "t" } });
  assert.deepEqual(errors, []);
});

test("what nobody answers is no method, and what fails is an error", async (t) => {
  for (const method of ["fs/read_text_file", "terminal/create", "elicitation/create", "no/such"]) {
    assert.equal((await ask(t, method, {}))[0].error.code, -32601, method);
  }
  const onReadTextFile = () => Promise.reject(new Error("no such file"));
  const [answer, errors] = await ask(t, "fs/read_text_file", {}, { onReadTextFile });
  assert.deepEqual([answer.error, errors.length], [{ code: -32603, message: "no such file" }, 1]);
});

test("capabilities follow from the callbacks", async (t) => {
  const told = async (options: Options) => (await stage(t, options)).tiller.agent._meta?.["capabilities"];
  const _meta = { tiller: { events: true } };
  assert.deepEqual(await told({}), { fs: { readTextFile: false, writeTextFile: false }, terminal: false, _meta });
  const onElicitation = () => ({ action: "cancel" as const });
  assert.deepEqual(await told({ onWriteTextFile: () => {}, onElicitation }), {
    fs: { readTextFile: false, writeTextFile: true },
    terminal: false,
    elicitation: { form: {}, url: {} },
    _meta,
  });
});

test("a question that is taken back is told to its callback", async (t) => {
  const onPermission: Options["onPermission"] = (_, { signal }) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve("n")));
  const { session } = await stage(t, { onPermission });
  const asked = JSON.stringify({ method: "session/request_permission", params: OPTIONS });
  const { answer } = (await session.prompt(`unask ${asked}`))._meta as { answer: any };
  assert.equal(answer.result.outcome.optionId, "n");
});
