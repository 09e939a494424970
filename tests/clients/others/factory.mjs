// acp-factory, a library that spawns agents for programs: its session's updates, its permission modes, its handlers of files.

import { readFileSync, writeFileSync } from "node:fs";
import { AgentFactory } from "acp-factory";
import { EXPECTED, FILE, LONG, PASSED, PROMPT, SAVED, expect, play, shown, text, there, until, within } from "../story/stage.mjs";

/** An agent with handlers that keep which files came through them. */
async function agent(stage, options) {
  const files = { read: [], written: [] };
  AgentFactory.register("tiller", { command: stage.tiller, args: ["acp", "--permission-mode", "argus"], env: stage.env });
  const handle = await AgentFactory.spawn("tiller", {
    onFileRead: async (path) => {
      files.read.push(path);
      return readFileSync(path, "utf8");
    },
    onFileWrite: async (path, content) => {
      files.written.push(path);
      writeFileSync(path, content);
    },
    ...options,
  });
  return { handle, files };
}

/** All updates of a prompt; `each` sees every one as it comes. */
async function prompted(session, words, each = () => {}) {
  const updates = [];
  for await (const update of session.prompt(words)) {
    updates.push(update);
    await each(update);
  }
  return updates;
}

const said = (updates) =>
  updates.filter((update) => update.sessionUpdate === "agent_message_chunk").map((update) => update.content.text).join("");

async function allowed(stage) {
  const root = stage.project("project");
  const { handle, files } = await agent(stage, { permissionMode: "auto-approve" });
  const session = await handle.createSession(root);
  const updates = await prompted(session, PROMPT);
  expect(text(root) === EXPECTED, `the file is ${JSON.stringify(text(root))}`);
  expect(said(updates).includes(PASSED), `the output is not told: ${said(updates)}`);
  expect(files.read.some((path) => path.endsWith(FILE)), `read through the client: ${files.read}`);
  expect(files.written.length === 1 && files.written[0].endsWith(FILE), `written through the client: ${files.written}`);
  const diffs = updates.flatMap((update) => update.content ?? []).filter((item) => item.type === "diff");
  expect(diffs.length > 0, "no update holds a diff");
  shown("diff");
  await handle.close();
}

async function refused(stage) {
  const root = stage.project("project");
  const { handle, files } = await agent(stage, { permissionMode: "auto-deny" });
  const session = await handle.createSession(root);
  await prompted(session, PROMPT);
  expect(text(root) === SAVED && files.written.length === 0, `refused, yet written: ${files.written}`);
  await handle.close();
}

/** Questions come as updates of the session, and are answered there. */
async function interactive(stage) {
  const root = stage.project("project");
  const { handle } = await agent(stage, { permissionMode: "interactive" });
  const session = await handle.createSession(root);
  let asked = 0;
  await prompted(session, PROMPT, (update) => {
    if (update.sessionUpdate !== "permission_request") return;
    asked += 1;
    session.respondToPermission(update.requestId, update.options.find((option) => option.kind === "allow_once").optionId);
  });
  expect(asked === 2, `asked ${asked} times, not for the edit and the command`);
  expect(text(root) === EXPECTED, `the file is ${JSON.stringify(text(root))}`);
  await handle.close();
}

async function planned(stage) {
  const root = stage.project("project");
  const { handle } = await agent(stage, { permissionMode: "auto-approve" });
  const session = await handle.createSession(root);
  const updates = await prompted(session, "with a plan: show src/greet.sh then show test.sh");
  expect(updates.some((update) => update.sessionUpdate === "plan" && update.entries.length === 2), "no plan of two steps");
  shown("plan");
  await handle.close();
}

async function cancelled(stage) {
  const root = stage.project("project");
  const { handle } = await agent(stage, { permissionMode: "auto-approve" });
  const session = await handle.createSession(root);
  const turn = prompted(session, LONG);
  await until(() => there(root, "started"), "the command to begin");
  await session.cancel();
  await within(turn, "the cancelled turn's end");
  // The library ends the next stream early now and then, so what the next prompt did is looked at, and not what it said.
  const again = await handle.createSession(root);
  await prompted(again, "create after.txt with 'x'");
  await until(() => there(root, "after.txt"), "the prompt after it");
  await handle.close();
}

async function loaded(stage) {
  const root = stage.project("project");
  const first = await agent(stage, { permissionMode: "auto-approve" });
  const session = await first.handle.createSession(root);
  await prompted(session, PROMPT);
  await first.handle.close();
  const second = await agent(stage, { permissionMode: "auto-approve" });
  const again = await second.handle.loadSession(session.id, root);
  // As above: the library may lose what is said.
  await prompted(again, "create loaded.txt with 'x'");
  await until(() => there(root, "loaded.txt"), "the prompt of the loaded session");
  await second.handle.close();
}

await play("acp-factory", { allowed, refused, interactive, planned, cancelled, loaded });
