// Plays agent-shell 0.48.1 with acp.el 0.14.2: files by Emacs' buffers, no terminals, older methods, the file at point in the prompt.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXPECTED, LONG, PASSED, PROMPT, SAVED, expect, play, shown, text, there, until } from "../story/stage.mjs";
import { Agent, Refusal, checkUsage, option } from "./wire.mjs";

const INITIALIZE = {
  clientInfo: { name: "agent-shell", title: "Emacs Agent Shell", version: "0.48.1" },
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
};

function editor(kind, buffers = new Map()) {
  return {
    "fs/read_text_file"({ path, line, limit }) {
      if (!buffers.has(path) && !existsSync(path)) throw new Refusal(-32002, "Resource not found", { path });
      const lines = (buffers.get(path) ?? readFileSync(path, "utf8")).split(/(?<=\n)/);
      const start = (line ?? 1) - 1;
      return { content: lines.slice(start, limit ? start + limit : undefined).join("") };
    },
    "fs/write_text_file"({ path, content }) {
      buffers.set(path, content);
      writeFileSync(path, content);
      return null;
    },
    "session/request_permission"({ toolCall, options }) {
      // The diff may stand anywhere.
      this.asked.push({ ...toolCall, diff: toolCall.content?.find((item) => item.type === "diff") });
      return { outcome: kind ? { outcome: "selected", optionId: option(options, kind) } : { outcome: "cancelled" } };
    },
  };
}

const open = (stage, root, kind, buffers) => new Agent(stage, root, editor(kind, buffers)).open(root, INITIALIZE);

async function allowed(stage) {
  const root = stage.project("project");
  const path = join(root, "src/greet.sh");
  const buffers = new Map([[path, "# not saved yet\n" + SAVED]]);
  const agent = await open(stage, root, "allow_once", buffers);
  await agent.prompt(PROMPT);
  expect(text(root) === "# not saved yet\n" + EXPECTED, `the file is ${JSON.stringify(text(root))}`);
  expect(agent.said.includes(PASSED), `the output is not told: ${agent.said}`);
  expect(agent.asked[0]?.diff, "the question about the edit has no diff");
  shown("diff");
  checkUsage(agent);
  await agent.close();
}

async function refused(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "reject_once");
  await agent.prompt(PROMPT);
  expect(text(root) === SAVED, "refused, yet the file has changed");
  await agent.close();
}

async function planned(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  await agent.prompt("with a plan: show src/greet.sh then show test.sh");
  expect(agent.plans.at(-1)?.length === 2, `the plan told is ${JSON.stringify(agent.plans.at(-1))}`);
  shown("plan");
  await agent.close();
}

async function cancelled(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  const turn = agent.prompt(LONG);
  await until(() => there(root, "started"), "the command to begin");
  agent.notify("session/cancel", { sessionId: agent.session, reason: "User cancelled" });
  expect((await turn) === "cancelled", "the turn did not end as cancelled");
  await agent.close();
}

async function olderMethods(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  await agent.request("session/set_model", { sessionId: agent.session, modelId: "offline/pilot" });
  await agent.request("session/set_mode", { sessionId: agent.session, modeId: "edit" });
  await agent.close();
}

async function resumed(stage) {
  const root = stage.project("project");
  const first = await open(stage, root, "allow_once");
  await first.prompt(PROMPT);
  await first.close();
  const second = new Agent(stage, root, editor("allow_once"));
  await second.request("initialize", { protocolVersion: 1, ...INITIALIZE });
  const { sessions } = await second.request("session/list", { cwd: root });
  expect(sessions.length === 1, `listed: ${JSON.stringify(sessions)}`);
  second.session = sessions[0].sessionId;
  await second.request("session/resume", { cwd: root, mcpServers: [], sessionId: second.session });
  await second.prompt("show src/greet.sh");
  expect(second.said.includes("Hello, $1!"), `the resumed session says: ${second.said}`);
  await second.close();
}

await play("agent-shell", { allowed, refused, planned, cancelled, olderMethods, resumed });
