// Plays vscode-acp 0.2.0: a terminal's words are joined without quotes and given to a shell whose input stays open; questions show
// their title only; killing reaches the shell alone.

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { EXPECTED, LONG, PASSED, PROMPT, SAVED, expect, play, text, there, until } from "../story/stage.mjs";
import { Agent, Refusal, option } from "./wire.mjs";

const INITIALIZE = {
  clientInfo: { name: "vscode-acp-client", version: "0.2.0" },
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
};

function editor(kind) {
  const terminals = new Map();
  const terminal = (id) => {
    if (!terminals.has(id)) throw new Refusal(-32603, `Terminal not found: ${id}`);
    return terminals.get(id);
  };
  return {
    "fs/read_text_file"({ path, line, limit }) {
      const all = readFileSync(path, "utf8");
      if (line == null && limit == null) return { content: all };
      const start = (line ?? 1) - 1;
      return { content: all.split("\n").slice(start, limit ? start + limit : undefined).join("\n") };
    },
    "fs/write_text_file"({ path, content }) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return {};
    },
    "session/request_permission"({ toolCall, options }) {
      this.asked.push(toolCall.title || "Permission Request");
      return { outcome: kind ? { outcome: "selected", optionId: option(options, kind) } : { outcome: "cancelled" } };
    },
    "terminal/create"({ command, args, env, cwd }) {
      const variables = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
      const options = { cwd, env: { ...process.env, ...variables }, shell: true, stdio: ["pipe", "pipe", "pipe"] };
      const child = spawn(command, args ?? [], options);
      const made = { child, output: "", told: "", exit: undefined };
      this.terminals = [...(this.terminals ?? []), [command, ...(args ?? [])].join(" ")];
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (made.output += piece));
      const polling = setInterval(() => (made.told = made.output), 100);
      made.end = new Promise((done) =>
        child.on("close", (exitCode, signal) => {
          clearInterval(polling);
          made.told = made.output;
          done((made.exit = { exitCode, signal }));
        }),
      );
      const terminalId = `term_${terminals.size + 1}`;
      terminals.set(terminalId, made);
      return { terminalId };
    },
    "terminal/output"({ terminalId }) {
      const { told, exit } = terminal(terminalId);
      return { output: told, truncated: false, ...(exit && { exitStatus: exit }) };
    },
    async "terminal/wait_for_exit"({ terminalId }) {
      return await terminal(terminalId).end;
    },
    "terminal/kill"({ terminalId }) {
      terminal(terminalId).child.kill("SIGTERM");
      return {};
    },
    "terminal/release"({ terminalId }) {
      const made = terminal(terminalId);
      if (!made.exit) made.child.kill("SIGTERM");
      terminals.delete(terminalId);
      return {};
    },
  };
}

const open = (stage, root, kind) => new Agent(stage, root, editor(kind)).open(root, INITIALIZE);

async function allowed(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  const end = await agent.prompt(PROMPT);
  expect(end === "end_turn" && text(root) === EXPECTED, `${end}: the file is ${JSON.stringify(text(root))}`);
  expect(agent.said.includes(PASSED), `the output is not told: ${agent.said}`);
  expect(agent.asked[1].includes("sh test.sh"), `the title, which is all that it shows, is ${agent.asked[1]}`);
  await agent.close("SIGTERM");
}

/** The command that is shown is the command that runs: here, words that a shell takes apart when they are joined. */
async function sameCommand(stage) {
  const root = stage.project("project");
  mkdirSync(join(root, "sub"));
  const agent = await open(stage, root, "allow_once");
  await agent.prompt("run `cd sub && touch 'a file' && echo \"two  blanks\"; exit 3`");
  expect(there(root, "sub/a file"), "the file was not made in the folder that the command went to");
  expect(!there(root, "a") && !there(root, "file") && !there(root, "sub/a"), "the words of the command were taken apart");
  expect(agent.said.includes("two  blanks"), `the output is ${agent.said}`);
  expect(/exit code 3|code: 3/.test(agent.said), `the exit code is not told: ${agent.said}`);
  await agent.close("SIGTERM");
}

/** The shell's input is never closed: a command that reads it must find it at its end. */
async function input(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  await agent.prompt("run `cat && echo read to the end`");
  expect(agent.said.includes("read to the end"), `the command did not end: ${agent.said}`);
  await agent.close("SIGTERM");
}

/** The same where commands are not confined, and so are not started by the agent's own launcher. */
const unconfined = (story) => (stage) => {
  stage.configure('[sandbox]\nlevel = "off"\n');
  return story(stage);
};

async function refused(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "reject_once");
  await agent.prompt(PROMPT);
  expect(text(root) === SAVED && !agent.terminals, "refused, yet something was done");
  await agent.close("SIGTERM");
}

async function cancelled(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  const turn = agent.prompt(LONG);
  await until(() => there(root, "started"), "the command to begin");
  agent.notify("session/cancel", { sessionId: agent.session });
  expect((await turn) === "cancelled", "the turn did not end as cancelled");
  await agent.close("SIGTERM");
}

await play("vscode-acp", {
  allowed,
  sameCommand,
  input,
  refused,
  cancelled,
  allowedUnconfined: unconfined(allowed),
  sameCommandUnconfined: unconfined(sameCommand),
  inputUnconfined: unconfined(input),
  cancelledUnconfined: unconfined(cancelled),
});
