// Subagents as the client shows them: of the real program, which `TILLER` names, with a model that answers on demand.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { EndedError, type Node, type State, type Stats, type Summary, Tiller, cut, initial, isAtWork, line, listed, numbers, plain, rows } from "tiller-native";
import { type Answer, ModelServer, PROMPT } from "./model-server.js";

const tiller = process.env.TILLER ?? "tiller";
const DASHBOARD = new URL("./dashboard.js", import.meta.url).pathname;
const NASTY = "\x1b[31mred\x1b]0;title\x07 \x1b[2J\u202eTask four\x08\n\tend";
/** Milliseconds; longer than anything here takes on a busy machine. */
const PATIENCE = 60_000;

const node = (id: string, status = "running", children: Node[] = [], more: Partial<Node> = {}): Node => {
  const none = { error: null, queueReason: null, lastTool: "grep", lastMessagePreview: null, nextRetryAt: null };
  return { id, type: "explore", task: `look at ${id}`, status, elapsed: 61.5, toolCalls: 1, success: false, children, ...none, ...more };
};

/** Kills the program. Where a recorder of the wire started it, the program is the recorder's child, which would otherwise end in order. */
const kill = (pid: number): void => {
  const file = `/proc/${pid}/task/${pid}/children`;
  const children = existsSync(file) ? readFileSync(file, "utf8").split(" ").filter(Boolean) : [];
  for (const id of [...children.map(Number), pid]) {
    try {
      process.kill(id, "SIGKILL");
    } catch (error) {
      // A recorder whose program has ended may have ended too.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
};

test("what is shown of a text is harmless", () => {
  const texts: [string, string][] = [
    ["a\tb\n c", "a b c"],
    [NASTY, "red Task four end"],
    ["\x9b2Jx\x07y\x00", "xy"],
    ["\x1bPq#0\x1b\\x \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "x link"],
    ["\x1b]0;never ends", ""],
    ["\x1bc\x1b(0x", "0x"],
    ["a\u200bb\u2066c\ud800", "abc"],
    ["日本", "日本"],
  ];
  for (const [text, shown] of texts) assert.equal(plain(text), shown, JSON.stringify(text));
});

test("a cut text has its width", () => {
  const texts: [string, number, string][] = [
    ["abc", 3, "abc"],
    ["abcd", 3, "ab…"],
    ["日本語", 6, "日本語"],
    ["日本語", 5, "日本…"],
    ["e\u0301e\u0301", 2, "e\u0301e\u0301"],
    ["abc", 0, ""],
  ];
  for (const [text, width, shown] of texts) assert.equal(cut(text, width), shown, text);
});

test("rows are the tree from the top", () => {
  const waits = node("c", "queued", [], { elapsed: 0, toolCalls: 0, queueReason: "waiting for b" });
  const more = node("summary-root", "summary", [], { type: "summary", task: "7 more agents (7 done)" });
  const tree = [node("a", "running", [node("b", "retrying", [], { error: "busy" }), waits]), more];
  const stats = { a: { tokensIn: 5, tokensOut: 2, retries: 1 } as Stats };
  assert.deepEqual(rows({ ...initial, tree, stats }, 60).map((row) => line(row, 80)), [
    "◐ a (explore) running, 2m01s, 1 call, 7 tokens, 1 retry (grep): look at a",
    "  ↻ b (explore) retrying, 1m01s, 1 call (busy): look at b",
    "  ○ c (explore) queued (waiting for b): look at c",
    "… 7 more agents (7 done)",
  ]);
});

test("numbers have the cost where it is known", () => {
  assert.equal(numbers(initial), "");
  const hidden = node("summary-root", "summary", [], { type: "summary", hiddenStatuses: { done: 1, queued_global: 2 } });
  const children = [node("b", "queued_global"), node("c", "failed"), node("f", "queued")];
  const tree = [node("a", "running", children), node("d", "interrupted"), node("e", "done"), hidden];
  const summary = { totalTools: 9, tokensIn: 10, tokensOut: 5, cost: 0.5, eta: 90 } as Summary;
  const shown = "9 in all, 2 done, 1 running, 4 queued, 1 failed, 1 interrupted, 9 calls, 15 tokens, $0.5000, about 1m30s left";
  assert.equal(numbers({ ...initial, tree, summary }), shown);
  assert.match(numbers({ ...initial, tree, summary: { ...summary, cost: null, eta: null } }), /15 tokens, cost unknown$/);
});

interface Stage {
  project: string;
  env: NodeJS.ProcessEnv;
  model: ModelServer;
}

async function stage(t: TestContext, agents: object[], answers: Record<string, Answer[]>, concurrency = 10): Promise<Stage> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "tiller-native-")));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  mkdirSync(home);
  mkdirSync(project);
  const model = await ModelServer.start({ ...answers, [PROMPT]: [agents, "All have ended."] });
  t.after(() => model.close());
  writeFileSync(join(home, "config.toml"), "[providers.local]\ndiscover = false\n");
  const provider = `[providers.custom.test]\nbase_url = "${model.url}"\n`;
  appendFileSync(join(home, "config.toml"), `\n[agent]\nsubagent_concurrency = ${concurrency}\n${provider}`);
  return { project, env: { PATH: process.env.PATH, HOME: home, TILLER_HOME: home, TILLER_MODEL: "test/model" }, model };
}

/** Waits until subagents have these statuses; and what each was, in order. */
function watched(client: Tiller) {
  const history: Record<string, string[]> = {};
  const waiting = new Set<() => void>();
  client.onChange((_, state) => {
    for (const { id, status } of rows(state)) {
      const known = (history[id] ??= []);
      if (known.at(-1) !== status) known.push(status);
    }
    for (const look of [...waiting]) look();
  });
  const until = (wanted: Record<string, string>): Promise<void> =>
    new Promise((done, failed) => {
      const text = () => `${JSON.stringify(wanted)} did not come of ${JSON.stringify(history)}`;
      const timer = setTimeout(() => failed(new Error(text())), PATIENCE);
      const look = () => {
        if (!Object.entries(wanted).every(([id, status]) => history[id]?.at(-1) === status)) return;
        clearTimeout(timer);
        waiting.delete(look);
        done();
      };
      waiting.add(look);
      look();
    });
  return { until, history };
}

test("each status is shown while it lasts", async (t) => {
  const agents = ["one", "two", "three", "four"].map((id) => ({ id, task: `Task ${id}` }));
  // A redirection is an answer that makes no sense: a reason that passes. A refusal of the key does not.
  const answers = { "Task one": ["First."], "Task two": [302, "Second."], "Task three": [403], "Task four": ["Never."] };
  const { project, env, model } = await stage(t, agents, answers, 1);
  const client = await Tiller.start({ tiller, env });
  t.after(() => client.close());
  const { until, history } = watched(client);
  const session = await client.newSession(project);
  const turn = session.prompt(PROMPT);
  await until({ one: "running", two: "queued_global", three: "queued_global", four: "queued_global" });
  model.release("Task one");
  await until({ one: "done", two: "running", three: "queued_global" });
  model.release("Task two");
  await until({ two: "retrying" });
  await until({ two: "running", three: "queued_global" });
  model.release("Task two");
  await until({ two: "done", three: "running" });
  model.release("Task three");
  await until({ three: "failed", four: "running" });
  assert.ok(isAtWork(session.state.tree));
  assert.deepEqual(await session.request("subagents/cancel", { id: "four" }), { cancelled: true });
  await until({ four: "cancelled" });
  assert.deepEqual(await session.request("subagents/cancel", { id: "four" }), { cancelled: false });
  assert.equal((await turn).stopReason, "end_turn");
  assert.deepEqual(history, {
    one: ["queued", "running", "done"],
    two: ["queued", "queued_global", "running", "retrying", "running", "done"],
    three: ["queued", "queued_global", "running", "failed"],
    four: ["queued", "queued_global", "running", "cancelled"],
  });
  const last: State = listed(session.state, await session.request("subagents/list", {}));
  const row = (wanted: string) => rows(last).find(({ id }) => id === wanted);
  assert.deepEqual([row("two")?.retries, row("two")?.tokens], [1, 120]);
  assert.match(row("three")?.detail ?? "", /403/);
  assert.ok(!isAtWork(last.tree));
  assert.equal(numbers(last), "4 in all, 2 done, 1 failed, 1 cancelled, 0 calls, 240 tokens, cost unknown");
});

test("a killed program leaves interrupted subagents that a reconnection lists", async (t) => {
  const agents = [{ id: "one", task: "Task one" }, { id: "two", task: "Task two" }];
  const answers = { "Task one": [[{ id: "below", task: "Task below" }]], "Task below": [], "Task two": ["Second."] };
  const { project, env, model } = await stage(t, agents, answers);
  const client = await Tiller.start({ tiller, env });
  t.after(() => client.close());
  const { until } = watched(client);
  const session = await client.newSession(project);
  const broken = assert.rejects(session.prompt(PROMPT), EndedError);
  model.release("Task one");
  model.release("Task two");
  await until({ two: "done", below: "running" });
  kill(client.pid as number);
  await until({ two: "done", one: "interrupted", below: "interrupted" });
  await broken;
  assert.deepEqual((await client.reconnect()).lost, []);
  const shown = rows(session.state).map(({ depth, id, status }) => `${depth} ${id} ${status}`);
  assert.deepEqual(shown.sort(), ["0 one interrupted", "0 two done", "1 below interrupted"]);
  assert.match(numbers(session.state), /^3 in all, 1 done, 2 interrupted, /);
});

test("the dashboard tells each change and cancels on demand", async (t) => {
  const agents = [{ id: "one", task: "Task one" }, { id: "four", task: NASTY }];
  const { project, env, model } = await stage(t, agents, { "Task one": ["First."], "Task four": ["Never."] });
  const dashboard = spawn(process.execPath, [DASHBOARD, "--tiller", tiller, PROMPT], { cwd: project, env, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<number | null>((done) => dashboard.once("close", done));
  t.after(() => dashboard.kill());
  const told: string[] = [];
  for await (const one of createInterface({ input: dashboard.stdout })) {
    told.push(one);
    if (one.startsWith("◐ four (explore) running")) dashboard.stdin.write("cancel four\n");
    if (one.startsWith("✗ four (explore) cancelled")) model.release("Task one");
  }
  const all = told.join("\n");
  assert.equal(await ended, 0, all);
  assert.match(all, /● one \(explore\) done[^]*\n> Send them out\n/);
  assert.match(all, /\nSubagents: 2 in all, 1 done, 1 cancelled, 0 calls, 120 tokens, cost unknown\n/);
  assert.match(all, /\n✗ four \(explore\) cancelled[^\n]*: red Task four end\n/);
  assert.match(all, /\nend_turn$/);
  assert.ok(!all.includes("\x1b"), all);
});
