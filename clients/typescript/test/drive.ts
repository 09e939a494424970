// Holds the client against the real program, and ends with 1 and a message at the first wrong thing.
//
//     node dist/test/drive.js path/to/tiller

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type NativeEvent, type Node, RequestError, type State, Tiller, initial, reduce } from "../src/index.js";

const tiller = resolve(process.argv[2] ?? "tiller");
const folder = realpathSync(mkdtempSync(join(tmpdir(), "tiller-native-")));
const [home, project] = [join(folder, "home"), join(folder, "project")];
mkdirSync(home);
mkdirSync(project);
// The pilot is the default where nothing else is found, so nothing of this machine is looked for.
writeFileSync(join(home, "config.toml"), "[providers.local]\ndiscover = false\n");
const env = { PATH: process.env.PATH, HOME: home, TILLER_HOME: home };

/** Against the program: a turn with a permission, what it makes of the state, requests, and taking one back. */
async function conversation(): Promise<void> {
  const asked: string[] = [];
  const onPermission = (question: { toolCall: { toolCallId: string } }) => {
    asked.push(question.toolCall.toolCallId);
    return "allow_once";
  };
  const client = await Tiller.start({ tiller, env, args: ["--permission-mode", "argus"], onPermission });
  let state: State = initial;
  const types = new Set<string>();
  client.onEvent((event) => {
    types.add(event.type);
    state = reduce(state, event);
  });
  const session = await client.newSession(project);
  const started = client.next("tool_started");
  assert.equal(await session.prompt("create notes.txt with 'hello'"), "end_turn");
  assert.equal((await started).toolCallId, "tool_0");
  assert.equal(readFileSync(join(project, "notes.txt"), "utf8"), "hello");
  assert.deepEqual(asked, ["tool_1"], "looking is not asked about");
  for (const type of ["session_update", "phase_changed", "permission_requested", "permission_resolved", "tool_completed"]) {
    assert.ok(types.has(type), `${type} was not told`);
  }
  const [user] = state.transcript;
  assert.deepEqual(user, { kind: "user", text: "create notes.txt with 'hello'" });
  const calls = state.transcript.filter((item) => item.kind === "tool");
  assert.deepEqual(calls.map(({ tool, status }) => [tool, status]), [["glob", "completed"], ["file_write", "completed"]]);
  assert.ok(state.transcript.some((item) => item.kind === "assistant" && item.text.length > 0));
  assert.deepEqual([state.run, state.phase, state.asking], [null, "idle", null]);

  const runtime = await session.request("runtime/set", { mode: "plan" });
  assert.equal((runtime.modes as { currentModeId: string }).currentModeId, "plan");
  assert.equal(state.mode, "plan");
  const { servers } = await session.request("mcp/list_servers", {});
  assert.deepEqual(servers, []);
  const sum = await session.request("lua/execute", { code: "return 6 * 7" });
  assert.deepEqual([sum.success, sum.result], [true, "42"]);
  await assert.rejects(session.request("settings/set", { path: "no.such", value: 1 }), RequestError);
  const abort = new AbortController();
  const endless = session.request("lua/execute", { code: "while true do end" }, abort.signal);
  abort.abort();
  await assert.rejects(endless, (error: RequestError) => error.code === -32800);
  assert.equal(await client.close(), 0);
  await assert.rejects(Tiller.start({ tiller: join(folder, "no-such-program") }), /did not start/);
}

/** A swarm, which nothing sends yet. */
function swarm(): void {
  const common = { protocolVersion: 1, sessionId: "s", runId: "run_1", timestamp: 1 };
  const node = (id: string, status: string, children: Node[] = []): Node => {
    const none = { error: null, queueReason: null, lastTool: null, lastMessagePreview: null, nextRetryAt: null };
    return { id, type: "explore", task: id, status, elapsed: 1, toolCalls: 0, success: false, children, ...none };
  };
  const told = [
    { type: "subagent_spawned", entries: [{ id: "tool_1", args: { id: "a", type: "explore", task: "look" } }, { id: "tool_2", args: {} }] },
    { type: "subagent_tree", tree: [node("a", "running", [node("b", "queued")])] },
    { type: "subagent_completed", entries: [{ args: {}, result: "", success: true, stats: { id: "b", status: "done", elapsed: 2, toolCalls: 3, error: null } }] },
  ].map((event) => ({ ...common, ...event }) as unknown as NativeEvent);
  const states = told.reduce<State[]>((all, event) => [...all, reduce(all.at(-1) ?? initial, event)], []);
  assert.deepEqual(states[0]?.tree.map(({ id, status, task }) => [id, status, task]), [["a", "queued", "look"], ["tool_2", "queued", ""]]);
  assert.equal(states[1]?.tree[0]?.children[0]?.status, "queued");
  const child = states[2]?.tree[0]?.children[0];
  assert.deepEqual([child?.status, child?.toolCalls, child?.success], ["done", 3, true]);
  assert.equal(states[1]?.tree[0]?.children[0]?.status, "queued", "a state is never changed");
}

/** The example, as a program. */
function dashboard(): void {
  const script = join(dirname(fileURLToPath(import.meta.url)), "../examples/dashboard.js");
  const args = [script, "--tiller", tiller, "--yes", "create more.txt with 'x' then show more.txt"];
  const shown = execFileSync(process.execPath, args, { cwd: project, env, encoding: "utf8", timeout: 60_000 });
  assert.match(shown, /^> create more.txt/);
  assert.match(shown, /● Write more.txt\n/);
  assert.match(shown, /end_turn\n$/);
}

try {
  swarm();
  await conversation();
  dashboard();
  console.log("native typescript client: a turn, requests, a swarm and the dashboard are right");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
