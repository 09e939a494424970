// acpx, a client for the command line: what it does to files and what it prints, in each of its ways to answer questions.

import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXPECTED, LONG, PASSED, PROMPT, SAVED, expect, play, shown, text, there, until } from "../story/stage.mjs";

const packages = join(dirname(fileURLToPath(import.meta.url)), "node_modules");

/** The Node that runs acpx: this one, or the one of the packages where this one is older than acpx needs. */
function node() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 13)) return process.execPath;
  const arch = join(packages, `node-${process.platform}-${process.arch}`, "bin", "node");
  expect(existsSync(arch), "acpx needs Node 22.13, and there is no package of it for this machine");
  return arch;
}

/** The words of an acpx command in a project; `agent` are further arguments of \`tiller acp\`. */
function words(stage, root, agent, rest) {
  const command = [stage.tiller, "acp", ...agent].map((word) => `'${word}'`).join(" ");
  return [join(packages, "acpx", "dist", "cli.js"), "--agent", command, "--cwd", root, ...rest];
}

/** Runs acpx to its end: its exit code and all that it printed. */
function acpx(stage, root, agent, ...rest) {
  return new Promise((done) => {
    const options = { cwd: root, env: stage.env, timeout: 60_000 };
    execFile(node(), words(stage, root, agent, rest), options, (error, stdout, stderr) => {
      done({ code: error ? (error.code ?? 1) : 0, stdout, stderr, all: stdout + stderr });
    });
  });
}

const ASK = ["--permission-mode", "argus"];
const ASK_NOTHING = ["--yolo"];

async function allowed(stage) {
  const root = stage.project("project");
  const run = await acpx(stage, root, ASK, "--approve-all", "exec", PROMPT);
  expect(run.code === 0, `ended with ${run.code}: ${run.all}`);
  expect(text(root) === EXPECTED, `the file is ${JSON.stringify(text(root))}`);
  expect(run.stdout.includes(PASSED), `the command's output is not printed: ${run.stdout}`);
  expect(run.stdout.includes("[done] end_turn"), `the turn's end is not printed: ${run.stdout}`);
  expect(/^ *diff .*greet\.sh/m.test(run.stdout), `no diff is printed: ${run.stdout}`);
  shown("diff");
}

async function refused(stage) {
  const root = stage.project("project");
  const run = await acpx(stage, root, ASK, "--deny-all", "exec", PROMPT);
  expect(text(root) === SAVED, "refused, yet the file has changed");
  expect(!run.stdout.includes(PASSED), "refused, yet the command ran");
}

/** Nothing is asked by the agent here, so it is acpx that refuses the terminal: then nothing may run anywhere else either. */
async function refusedTerminal(stage) {
  const root = stage.project("project");
  const run = await acpx(stage, root, ASK_NOTHING, "--deny-all", "exec", "run `touch ran`");
  expect(!there(root, "ran"), "acpx refused the terminal, and the command ran here all the same");
  expect(/denied/i.test(run.stdout), `the client's reason is not told: ${run.stdout}`);
  shown("reason");
}

/** The same for a write that acpx refuses. */
async function refusedWrite(stage) {
  const root = stage.project("project");
  const run = await acpx(stage, root, ASK_NOTHING, "--deny-all", "exec", 'replace "Helo" with "Hello" in src/greet.sh');
  expect(text(root) === SAVED, "acpx refused the write, and the file has changed all the same");
  expect(/denied/i.test(run.stdout), `the client's reason is not told: ${run.stdout}`);
}

async function local(stage) {
  const root = stage.project("project");
  const run = await acpx(stage, root, ASK, "--approve-all", "--no-fs", "--no-terminal", "exec", PROMPT);
  expect(text(root) === EXPECTED && run.stdout.includes(PASSED), `without fs and terminal: ${run.all}`);
}

async function planned(stage) {
  const root = stage.project("project");
  const run = await acpx(stage, root, ASK, "--approve-all", "exec", "with a plan: show src/greet.sh then show test.sh");
  expect(run.code === 0, `ended with ${run.code}: ${run.all}`);
  expect(/^\[plan\]/m.test(run.stdout), `no plan is printed: ${run.stdout}`);
  shown("plan");
}

/** A session is listed, and loaded by a second process once the first has ended. */
async function loaded(stage) {
  const root = stage.project("project");
  const made = await acpx(stage, root, ASK, "--ttl", "1", "sessions", "new");
  expect(made.code === 0, `sessions new ended with ${made.code}: ${made.all}`);
  const first = await acpx(stage, root, ASK, "--ttl", "1", "--approve-all", "prompt", PROMPT);
  expect(first.code === 0 && text(root) === EXPECTED, `the first prompt: ${first.all}`);
  const listed = await acpx(stage, root, ASK, "sessions", "list");
  expect(listed.stdout.includes("src/greet.sh"), `the session is not listed by its title: ${listed.all}`);
  const gone = async () => /status: (dead|no-session|idle|closed|not)/.test((await acpx(stage, root, ASK, "status")).stdout);
  while (!(await gone()));
  const second = await acpx(stage, root, ASK, "--ttl", "1", "--approve-all", "prompt", "show src/greet.sh");
  expect(second.stdout.includes("Hello, $1!"), `the second prompt: ${second.all}`);
}

async function cancelled(stage) {
  const root = stage.project("project");
  expect((await acpx(stage, root, ASK, "--ttl", "1", "sessions", "new")).code === 0, "no session");
  const rest = ["--ttl", "1", "--approve-all", "prompt", LONG];
  const turn = spawn(node(), words(stage, root, ASK, rest), { cwd: root, env: stage.env, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  turn.stdout.on("data", (piece) => (printed += piece));
  const ended = new Promise((done) => turn.on("close", done));
  await until(() => there(root, "started"), "the command to begin");
  const asked = await acpx(stage, root, ASK, "cancel");
  expect(asked.code === 0, `cancel ended with ${asked.code}: ${asked.all}`);
  await ended;
  expect(/cancel/i.test(printed), `the end is not told as cancelled: ${printed}`);
}

await play("acpx", { allowed, refused, refusedTerminal, refusedWrite, local, planned, loaded, cancelled });
