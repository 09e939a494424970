// The client against the real program, which `TILLER` names. Runs from the installed package.

import assert from "node:assert/strict";
import { execFileSync, spawnSync, type SpawnSyncReturns } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  type Call,
  EndedError,
  type NativeEvent,
  type Node,
  type Options,
  RequestError,
  type State,
  Tiller,
  initial,
  reduce,
} from "tiller-native";

const tiller = process.env.TILLER ?? "tiller";
const DASHBOARD = new URL("./dashboard.js", import.meta.url).pathname;

interface Folders {
  project: string;
  env: NodeJS.ProcessEnv;
}

function folders(t: TestContext): Folders {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "tiller-native-")));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  mkdirSync(home);
  mkdirSync(project);
  // The pilot is the default where nothing else is found, so nothing of this machine is looked for.
  writeFileSync(join(home, "config.toml"), "[providers.local]\ndiscover = false\n");
  return { project, env: { PATH: process.env.PATH, HOME: home, TILLER_HOME: home } };
}

async function start(t: TestContext, { env }: Folders, options: Options = {}): Promise<Tiller> {
  const client = await Tiller.start({ tiller, env, ...options });
  t.after(() => client.close());
  return client;
}

const calls = (state: State): Call[] => state.transcript.flatMap((item) => (item.kind === "tool" ? [item] : []));
const said = (state: State, kind: string): string =>
  state.transcript.map((item) => (item.kind === kind && item.kind !== "tool" ? item.text : "")).join("");

test("a turn asks for a permission and makes a state", async (t) => {
  const where = folders(t);
  const [asked, errors, types]: [string[], Error[], Set<string>] = [[], [], new Set()];
  const client = await start(t, where, {
    args: ["--permission-mode", "argus"],
    onPermission: ({ toolCall }) => {
      asked.push(toolCall.toolCallId);
      return "allow_once";
    },
    onError: (error) => void errors.push(error),
  });
  assert.equal(client.agent.agentCapabilities?.loadSession, true);
  client.onEvent((event) => void types.add(event.type));
  const session = await client.newSession(where.project);
  const started = client.next("tool_started");
  assert.equal((await session.prompt("create notes.txt with 'hello'")).stopReason, "end_turn");
  assert.equal((await started).toolCallId, "tool_0");
  assert.equal(readFileSync(join(where.project, "notes.txt"), "utf8"), "hello");
  assert.deepEqual(asked, ["tool_1"], "looking is not asked about");
  for (const type of ["session_update", "phase_changed", "permission_requested", "permission_resolved", "tool_completed"]) {
    assert.ok(types.has(type), `${type} was not told`);
  }
  const { state } = session;
  assert.deepEqual(state.transcript[0], { kind: "user", text: "create notes.txt with 'hello'" });
  const done = calls(state).map(({ tool, status }) => [tool, status]);
  assert.deepEqual(done, [["glob", "completed"], ["file_write", "completed"]]);
  assert.deepEqual(calls(state)[1]?.content.map((one) => one.type), ["diff"]);
  assert.deepEqual([state.run, state.phase, state.asking], [null, "idle", null]);
  assert.ok(said(state, "assistant") && state.commands.length > 0 && state.usage && state.title);
  assert.deepEqual([state.mode, state.model], ["edit", "offline/pilot"]);
  assert.equal((await client.close()).code, 0);
  assert.deepEqual(errors, []);
});

test("settings, requests and scripts have values", async (t) => {
  const where = folders(t);
  const client = await start(t, where);
  const session = await client.newSession(where.project);
  await session.request("runtime/set", { mode: "plan" });
  assert.equal(session.state.mode, "plan");
  await session.setMode("ask");
  assert.equal(session.state.mode, "ask");
  await session.setModel("offline/pilot");
  const options = await session.setConfigOption("permission_mode", "argus");
  const option = options.find(({ id }) => id === "permission_mode");
  assert.equal(option?.type === "select" && option.currentValue, "argus");
  assert.deepEqual(await session.request("mcp/list_servers", {}), { servers: [] });
  const came = await session.request("lua/execute", { code: "print('x') return {a = 1, b = {1, 2}}, 'two'" });
  assert.deepEqual([came.values, came.output], [[{ a: 1, b: [1, 2] }, "two"], "x\n"]);
  const wrong = session.request("settings/set", { path: "no.such", value: 1 });
  await assert.rejects(wrong, (error) => error instanceof RequestError && error.code === -32602);
  const controller = new AbortController();
  const endless = session.request("lua/execute", { code: "while true do end" }, { signal: controller.signal });
  controller.abort();
  await assert.rejects(endless, { name: "AbortError" });
  // The interpreter is free again.
  assert.deepEqual((await session.request("lua/execute", { code: "return 1" })).values, [1]);
});

test("sessions are listed, loaded, resumed, forked, closed and deleted", async (t) => {
  const where = folders(t);
  const client = await start(t, where);
  const session = await client.newSession(where.project);
  await session.prompt("help");
  const shown = session.state.transcript;
  await session.close();
  assert.deepEqual([client.sessions, session.state], [[], initial]);
  const [listed] = (await client.listSessions({ cwd: where.project })).sessions;
  assert.deepEqual([listed?.sessionId, listed?.title], [session.id, "help"]);
  assert.deepEqual((await client.listSessions({ cwd: "/no/such/folder" })).sessions, []);
  const loaded = await client.loadSession(session.id, where.project);
  assert.deepEqual(loaded.state.transcript, shown);
  const copy = await loaded.fork();
  assert.notEqual(copy.id, session.id);
  await copy.prompt("show x.txt");
  assert.ok(calls(copy.state).length > 0);
  assert.deepEqual(loaded.state.transcript, shown);
  await client.close();
  const next = await start(t, where);
  const resumed = await next.resumeSession(session.id, where.project);
  assert.deepEqual([resumed.state.transcript, resumed.state.mode], [[], "edit"]);
  await next.deleteSession(copy.id);
  assert.deepEqual((await next.listSessions()).sessions.map((one) => one.sessionId), [session.id]);
});

test("a prompt has images, links and files", async (t) => {
  const where = folders(t);
  const linked = join(where.project, "linked.txt");
  writeFileSync(linked, "from the link");
  const client = await start(t, where);
  const session = await client.newSession(where.project);
  const answer = await session.prompt([
    { type: "text", text: "help" },
    { type: "image", mimeType: "image/png", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==" },
    { type: "resource_link", name: "linked.txt", uri: pathToFileURL(linked).href },
    { type: "resource", resource: { uri: "file:///x.txt", text: "embedded" } },
  ]);
  assert.equal(answer.stopReason, "end_turn");
  await session.close();
  const user = said((await client.loadSession(session.id, where.project)).state, "user");
  for (const part of ["help", "[image image/png]", "from the link", "embedded"]) assert.ok(user.includes(part), `${part}: ${user}`);
});

test("files and terminals are the program's", async (t) => {
  const where = folders(t);
  const files: Record<string, string> = { "a.txt": "what the editor has" };
  const ran: string[] = [];
  let ended: SpawnSyncReturns<string> | undefined;
  writeFileSync(join(where.project, "a.txt"), "what the disk has");
  const client = await start(t, where, {
    args: ["--permission-mode", "argus"],
    onPermission: () => "allow_once",
    onReadTextFile: ({ path }) => ({ content: files[basename(path)] ?? "" }),
    onWriteTextFile: ({ path, content }) => void (files[basename(path)] = content),
    terminal: {
      create: ({ command, args = [], env = [], cwd }) => {
        ran.push("create");
        const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
        const options = { cwd: cwd ?? where.project, env: { ...process.env, ...variables }, encoding: "utf8" } as const;
        ended = spawnSync(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
        return { terminalId: "t1" };
      },
      output: () => ({ output: `from the terminal\n${ended?.stdout}`, truncated: false, exitStatus: { exitCode: ended?.status ?? null } }),
      waitForExit: () => ({ exitCode: ended?.status ?? null }),
      kill: () => void ran.push("kill"),
      release: () => void ran.push("release"),
    },
  });
  const session = await client.newSession(where.project);
  await session.prompt("show a.txt");
  assert.match(calls(session.state).at(-1)?.output ?? "", /what the editor has/);
  await session.prompt("overwrite a.txt with 'new'");
  assert.equal(files["a.txt"], "new");
  await session.prompt("run `echo hi`");
  assert.match(calls(session.state).at(-1)?.output ?? "", /from the terminal\nhi/);
  const counted = (what: string) => ran.filter((one) => one === what).length;
  assert.deepEqual([ran.at(-1), counted("release")], ["release", counted("create")]);
});

test("a program killed in a turn leaves a session that goes on", async (t) => {
  const where = folders(t);
  const onPermission = () => {
    process.kill(client.pid as number, "SIGKILL");
    return "allow_once";
  };
  const client: Tiller = await start(t, where, { args: ["--permission-mode", "argus"], onPermission });
  const session = await client.newSession(where.project);
  await session.prompt("help");
  const broken = session.prompt("create notes.txt with 'hello'");
  await assert.rejects(broken, (error) => error instanceof EndedError && error.exit.signal === "SIGKILL");
  assert.deepEqual([session.state.run, session.state.asking], [null, null]);
  const { reopened, lost } = await client.reconnect();
  assert.deepEqual([reopened, lost], [[session], []]);
  assert.match(said(session.state, "user"), /create notes\.txt/);
  for (const { status } of calls(session.state)) assert.match(status, /completed|failed/);
  assert.equal((await session.prompt("help")).stopReason, "end_turn");
  assert.deepEqual([session.state.run, session.state.phase], [null, "idle"]);
});

test("a swarm is a tree with numbers", () => {
  const none = { error: null, queueReason: null, lastTool: null, lastMessagePreview: null, nextRetryAt: null };
  const node = (id: string, status: string, children: Node[] = []): Node => {
    return { id, type: "explore", task: id, status, elapsed: 1, toolCalls: 0, success: false, children, ...none };
  };
  const after = (state: State, event: object) => reduce(state, event as NativeEvent);
  const entries = [{ id: "tool_1", args: { id: "a", task: "look" } }, { id: "tool_2", args: {} }];
  const first = after(initial, { type: "subagent_spawned", entries });
  assert.deepEqual(first.tree.map((one) => [one.id, one.status, one.task]), [["a", "queued", "look"], ["tool_2", "queued", ""]]);
  const second = after(first, { type: "subagent_tree", tree: [node("a", "running", [node("b", "queued")])] });
  const stats = { id: "b", status: "done", elapsed: 2, toolCalls: 3, error: null };
  const third = after(second, { type: "subagent_completed", entries: [{ stats }] });
  const child = third.tree[0]?.children[0];
  assert.deepEqual([child?.status, child?.toolCalls, child?.success], ["done", 3, true]);
  assert.equal(second.tree[0]?.children[0]?.status, "queued", "a state is never changed");
});

test("the dashboard shows a turn", (t) => {
  const { project, env } = folders(t);
  const args = [DASHBOARD, "--tiller", tiller, "--yes", "create more.txt with 'x' then show more.txt"];
  const shown = execFileSync(process.execPath, args, { cwd: project, env, encoding: "utf8", timeout: 60_000 });
  assert.match(shown, /^> create more.txt/);
  assert.match(shown, /● Write more.txt\n/);
  assert.match(shown, /end_turn\n$/);
});
