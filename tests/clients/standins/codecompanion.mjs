// Plays CodeCompanion.nvim 19.22.0: files, no terminals; it approves by what the first content of a question is.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { EXPECTED, LONG, PASSED, PROMPT, SAVED, expect, play, shown, text, there, until } from "../story/stage.mjs";
import { Agent, Refusal, SILENCE, checkUsage, option } from "./wire.mjs";

const INITIALIZE = {
  clientInfo: { name: "CodeCompanion.nvim", version: "1.0.0" },
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
};

/** `buffers` are unsaved texts by path; `kind` is the option that its user presses, nothing the key for cancelling. */
function editor(kind, buffers = new Map()) {
  const own = (agent, sessionId) => {
    if (sessionId !== agent.session) throw new Refusal(-32602, "invalid sessionId");
  };
  return {
    "fs/read_text_file"({ sessionId, path, line, limit }) {
      own(this, sessionId);
      if (!buffers.has(path) && !existsSync(path)) return { content: "" };
      const all = (buffers.get(path) ?? readFileSync(path, "utf8")).split("\n");
      const start = (line ?? 1) - 1;
      return { content: line || limit ? all.slice(start, limit ? start + limit : undefined).join("\n") : all.join("\n") };
    },
    "fs/write_text_file"({ sessionId, path, content }) {
      own(this, sessionId);
      buffers.set(path, content);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return null;
    },
    "session/request_permission"({ sessionId, toolCall, options }) {
      own(this, sessionId);
      if (!this.prompting) return SILENCE;
      const first = toolCall.content?.[0];
      const diff = first?.type === "diff" && Boolean(first.oldText || first.newText) ? first : undefined;
      this.asked.push({ kind: toolCall.kind, title: toolCall.title, diff, path: toolCall.locations?.[0]?.path ?? first?.path });
      const optionId = option(options, kind);
      return { outcome: kind ? { outcome: "selected", optionId } : { outcome: "cancelled" } };
    },
  };
}

async function open(stage, root, kind, buffers) {
  const agent = await new Agent(stage, root, editor(kind, buffers)).open(root, INITIALIZE);
  agent.prompting = true;
  return agent;
}

async function allowed(stage) {
  const root = stage.project("project");
  const path = join(root, "src/greet.sh");
  const unsaved = "# not saved yet\n" + SAVED;
  const agent = await open(stage, root, "allow_once", new Map([[path, unsaved]]));
  const end = await agent.prompt(PROMPT);
  expect(end === "end_turn", `the turn ended with ${end}`);
  expect(text(root) === "# not saved yet\n" + EXPECTED, `the file is ${JSON.stringify(text(root))}`);
  expect(agent.said.includes(PASSED), `the output is not told: ${agent.said}`);
  const [edit, command] = agent.asked;
  expect(agent.asked.length === 2, `asked for ${JSON.stringify(agent.asked)}`);
  expect(edit.diff, "the question about the edit does not begin with its diff: it is approved blind");
  expect(edit.diff.oldText.includes("Helo") && edit.diff.newText.includes("Hello"), `the diff is ${JSON.stringify(edit.diff)}`);
  expect(edit.path === path, `the question is about ${edit.path}`);
  expect(!edit.title.includes(root), `the title has an absolute path: ${edit.title}`);
  expect(command.title.includes("sh test.sh"), `the question about the command shows: ${command.title}`);
  shown("diff");
  checkUsage(agent);
  await agent.close("SIGTERM");
}

async function created(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  await agent.prompt("create notes/today.md with 'bread'");
  expect(readFileSync(join(root, "notes/today.md"), "utf8").trim() === "bread", "the new file does not hold its text");
  await agent.close("SIGTERM");
}

async function refused(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "reject_once");
  await agent.prompt(PROMPT);
  expect(text(root) === SAVED && agent.asked.length === 1, `refused, yet asked for ${JSON.stringify(agent.asked)}`);
  await agent.close("SIGTERM");
}

async function closedQuestion(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, undefined);
  const end = await agent.prompt(PROMPT);
  expect(text(root) === SAVED, "the question was closed, yet the file has changed");
  expect(end === "cancelled" || end === "end_turn", `the turn ended with ${end}`);
  await agent.close("SIGTERM");
}

async function cancelled(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  const turn = agent.prompt(LONG);
  await until(() => there(root, "started"), "the command to begin");
  agent.notify("session/cancel", { sessionId: agent.session });
  expect((await turn) === "cancelled", "the turn did not end as cancelled");
  checkUsage(agent);
  await agent.close("SIGTERM");
}

async function loaded(stage) {
  const root = stage.project("project");
  const first = await open(stage, root, "allow_once");
  await first.prompt(PROMPT);
  await first.close("SIGTERM");
  const second = new Agent(stage, root, editor("allow_once"));
  await second.request("initialize", { protocolVersion: 1, ...INITIALIZE });
  const { sessions } = await second.request("session/list", { cwd: root });
  expect(sessions.some((session) => session.sessionId === first.session), `listed: ${JSON.stringify(sessions)}`);
  second.session = first.session;
  await second.request("session/load", { cwd: root, mcpServers: [], sessionId: first.session });
  expect(second.said === first.said, `the answer is told again as ${JSON.stringify(second.said)}`);
  await second.close("SIGTERM");
}

await play("CodeCompanion.nvim", { allowed, created, refused, closedQuestion, cancelled, loaded });
