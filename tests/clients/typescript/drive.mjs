// Drives the real `tiller acp` with the official TypeScript SDK, and ends with 1 and a message at the first wrong thing.
//
//     node drive.mjs path/to/tiller [--permission allow_once|allow_always|reject_once|reject_always]...

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { PROTOCOL_VERSION, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { Editor } from "./editor.mjs";
import { Wire } from "./wire.mjs";

const FILE = "src/greet.sh";
const PROMPT = 'replace "Helo" with "Hello" in src/greet.sh then run sh test.sh';
const SAVED = 'greet() {\n    echo "Helo, $1!"\n}\n';
const UNSAVED = "# typed a minute ago, not saved yet\n" + SAVED;
const EXPECTED = UNSAVED.replace("Helo", "Hello");
const TEST = '. ./src/greet.sh\ntest "$(greet editor)" = "Hello, editor!" && echo passed\n';
// Longer than anything here takes on a busy machine; a hang is a failure with a message, too.
const PATIENCE = 60_000;

function expect(holds, message) {
  if (!holds) throw new Error(message);
}

const same = (left, right) => isDeepStrictEqual(left, right);
const shown = (value) => JSON.stringify(value);

/** A temporary folder with the agent's home and two equal projects, one for the editor and one for `tiller -p`. */
class Stage {
  constructor(tiller, folder) {
    this.tiller = resolve(tiller);
    this.home = join(folder, "home");
    mkdirSync(this.home);
    // The pilot is the default where nothing else is found, so nothing of this machine is looked for.
    writeFileSync(join(this.home, "config.toml"), "[providers.local]\ndiscover = false\n");
    this.environment = { PATH: process.env.PATH, HOME: this.home, TILLER_HOME: this.home };
    this.edited = this.#project(join(folder, "edited"), SAVED);
    this.headless = this.#project(join(folder, "headless"), UNSAVED);
  }

  #project(root, text) {
    mkdirSync(join(root, "src"), { recursive: true });
    writeFileSync(join(root, FILE), text);
    writeFileSync(join(root, "test.sh"), TEST);
    return root;
  }

  /** Runs `tiller` to its end and returns what it printed; throws when it fails. */
  run(cwd, ...args) {
    const options = { cwd, env: this.environment, encoding: "utf8", timeout: PATIENCE, stdio: ["ignore", "pipe", "pipe"] };
    return execFileSync(this.tiller, args, options);
  }

  /** A fresh `tiller acp`, initialized and authenticated, for `talk`; afterwards its wire and its end are checked. */
  async connect(editor, args, talk) {
    const child = spawn(this.tiller, ["acp", ...args], {
      cwd: this.home,
      env: this.environment,
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal)));
    const wire = new Wire();
    const stream = wire.tap(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
    try {
      await editor.app(wire).connectWith(stream, async (agent) => {
        await this.#greet(agent);
        await talk(agent);
      });
      child.stdin.end();
      const code = await ended;
      expect(code === 0, `the agent ended with ${code}`);
    } finally {
      child.kill();
    }
    expect(editor.terminals.size === 0, `terminals were not released: ${[...editor.terminals.keys()]}`);
    expect(wire.problems.length === 0, `the wire is not as the schema says:\n  ${wire.problems.join("\n  ")}`);
    expect(wire.unhandled.length === 0, `the SDK did not hand over: ${wire.unhandled}`);
    expect(wire.messages > 0, "the tap saw nothing");
  }

  async #greet(agent) {
    const answer = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
      clientInfo: { name: "typescript-sdk", version: "1" },
    });
    expect(answer.protocolVersion === PROTOCOL_VERSION, `the agent speaks version ${answer.protocolVersion}`);
    expect(answer.agentCapabilities?.loadSession, "the agent does not say that it loads sessions");
    expect(answer.agentCapabilities.sessionCapabilities?.list, "the agent does not say that it lists sessions");
    expect(answer.authMethods?.length, "the agent offers no way to authenticate");
    await agent.request(methods.agent.authenticate, { methodId: answer.authMethods[0].id });
  }
}

const text = (prompt) => [{ type: "text", text: prompt }];

/** The conversation in the editor; returns the session's id and the editor. */
async function edit(stage, answer) {
  const editor = new Editor(answer);
  const path = join(stage.edited, FILE);
  editor.buffers.set(path, UNSAVED);
  let id, turn;
  await stage.connect(editor, ["--permission-mode", "argus"], async (agent) => {
    const session = await agent.request(methods.agent.session.new, { cwd: stage.edited, mcpServers: [] });
    id = session.sessionId;
    const model = session.configOptions?.find((option) => option.id === "model")?.currentValue;
    expect(model === "offline/pilot", `the session's model is ${model}`);
    turn = await agent.request(methods.agent.session.prompt, { sessionId: id, prompt: text(PROMPT) });
  });
  expect(turn.stopReason === "end_turn", `the turn ended with ${turn.stopReason}`);
  expect(editor.reads.includes(path), `the file was not read through the editor: ${editor.reads}`);
  if (answer.startsWith("reject")) {
    expect(same(editor.asked, ["edit"]), `asked for ${editor.asked}, not only for the edit`);
    expect(!editor.writes.length && !editor.commands.length, `refused, yet: ${editor.writes} ${editor.commands}`);
    expect(readFileSync(path, "utf8") === SAVED, "refused, yet the file has changed");
    return { id, editor };
  }
  expect(same(editor.asked, ["edit", "execute"]), `asked for ${editor.asked}, not for the edit and the command`);
  expect(same(editor.writes, [path]), `written through the editor: ${editor.writes}`);
  expect(editor.buffers.get(path) === EXPECTED, `the buffer holds ${shown(editor.buffers.get(path))}`);
  // A command that nothing confines comes after one by which the agent finds out how terminals take commands.
  expect(same(editor.exits, [0]) || same(editor.exits, [7, 0]), `the commands ${shown(editor.commands)} ended with ${editor.exits}`);
  const told = editor.told(id);
  expect(told.contents("terminal").length, "no tool call shows the terminal");
  const diffs = told.contents("diff").map((diff) => diff.path);
  expect(same(diffs, [path]), `the diffs shown are of ${diffs}`);
  if (process.env.TILLER_SHOWN) writeFileSync(process.env.TILLER_SHOWN, "diff\n");
  expect(told.summary.every((call) => call.status === "completed"), `the calls ended as ${shown(told.summary)}`);
  return { id, editor };
}

/** A fresh process lists the session and tells it as it was. */
async function lookBack(stage, id, first) {
  const editor = new Editor("reject_once");
  await stage.connect(editor, [], async (agent) => {
    const { sessions } = await agent.request(methods.agent.session.list, { cwd: stage.edited });
    const ids = sessions.map((session) => session.sessionId);
    expect(same(ids, [id]), `listed are ${ids}, not ${id}`);
    await agent.request(methods.agent.session.load, { cwd: stage.edited, sessionId: id, mcpServers: [] });
  });
  const [before, now] = [first.told(id), editor.told(id)];
  expect(now.user === PROMPT, `the prompt is told as ${shown(now.user)}`);
  expect(now.agent === before.agent, `the answer was ${shown(before.agent)} and is told as ${shown(now.agent)}`);
  expect(same(now.summary, before.summary), `the calls were ${shown(before.summary)}, told are ${shown(now.summary)}`);
  expect(!editor.reads.length && !editor.commands.length, "a replay acted on the project");
}

/** `tiller -p` does the same, and each goes on with the other's session. */
async function headless(stage, id) {
  const run = JSON.parse(stage.run(stage.headless, "-m", "offline/pilot", "-p", PROMPT, "--yolo", "-o", "json"));
  const texts = [stage.edited, stage.headless].map((root) => readFileSync(join(root, FILE), "utf8"));
  expect(same(texts, [EXPECTED, EXPECTED]), `the editor's and the headless run's change differ: ${shown(texts)}`);

  const more = JSON.parse(stage.run(stage.edited, "-m", "offline/pilot", "--session", id, "-p", `show ${FILE}`, "-o", "json"));
  expect(more.session_id === id, `--session ${id} went on with ${more.session_id}`);
  expect(more.text.includes("Hello, $1!"), `the headless turn does not see the file: ${shown(more.text)}`);
  const story = stage.run(stage.edited, "sessions", "show", id);
  expect(story.includes(PROMPT) && story.includes(`show ${FILE}`), `\`sessions show\` does not tell both turns: ${story}`);

  const editor = new Editor("reject_once");
  const theirs = run.session_id;
  await stage.connect(editor, [], async (agent) => {
    await agent.request(methods.agent.session.load, { cwd: stage.headless, sessionId: theirs, mcpServers: [] });
    const told = editor.told(theirs);
    expect(told.user === PROMPT, `the headless prompt is told as ${shown(told.user)}`);
    const kinds = told.summary.map((call) => call.kind).slice(-2);
    expect(same(kinds, ["edit", "execute"]), `the headless calls are told as ${shown(told.summary)}`);
    const turn = await agent.request(methods.agent.session.prompt, { sessionId: theirs, prompt: text(`show ${FILE}`) });
    expect(turn.stopReason === "end_turn", `the turn ended with ${turn.stopReason}`);
    await agent.request(methods.agent.session.load, { cwd: stage.edited, sessionId: id, mcpServers: [] });
    expect(editor.told(id).user.endsWith(`show ${FILE}`), "the turn of `tiller -p` is not told in the editor");
  });
  // Once more for a line of it, where the agent finds out whether ranges are honoured.
  expect(same([...new Set(editor.reads)], [join(stage.headless, FILE)]), `the loaded session read ${editor.reads} in the editor`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { permission: { type: "string", multiple: true, default: ["allow_once", "reject_once"] } },
});
// The SDK prints what a handler could not take, and goes on; here it is a failure.
const complaints = [];
console.error = (...words) => complaints.push(words.map((word) => (typeof word === "string" ? word : shown(word))).join(" "));
const folder = realpathSync(mkdtempSync(join(tmpdir(), "tiller-typescript-")));
const fail = (error) => {
  process.stderr.write(`typescript client: ${error.message ?? error}\n${complaints.join("\n")}\n`);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  process.exit(1);
};
const watch = setTimeout(() => fail(`nothing ended within ${PATIENCE / 1000} s`), PATIENCE);
try {
  expect(positionals.length === 1, "usage: node drive.mjs path/to/tiller [--permission KIND]...");
  for (const answer of values.permission) {
    const place = join(folder, answer);
    mkdirSync(place);
    const stage = new Stage(positionals[0], place);
    const { id, editor } = await edit(stage, answer);
    if (answer.startsWith("allow")) {
      await lookBack(stage, id, editor);
      await headless(stage, id);
    }
    expect(complaints.length === 0, `the SDK complained: ${complaints.join("; ")}`);
    console.log(`typescript client: ${answer}: all as it should be`);
  }
} catch (error) {
  fail(error);
}
clearTimeout(watch);
rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
