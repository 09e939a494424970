// Plays avante.nvim at a933431 (22 August 2026): no name, no terminals, reads without the last line end and with a line too many.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXPECTED, LONG, PASSED, PROMPT, SAVED, expect, play, shown, text, there, until } from "../story/stage.mjs";
import { Agent, Refusal, option } from "./wire.mjs";

const INITIALIZE = { clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } } };

/** `fail` is what a write fails with: the text comes as the result, not as an error. */
function editor(kind, fail) {
  return {
    "fs/read_text_file"({ path, line, limit }) {
      if (!existsSync(path)) throw new Refusal(-32002, `ENOENT: no such file or directory: ${path}`);
      const lines = readFileSync(path, "utf8").replace(/\n$/, "").split("\n");
      // Both ends are included, and one of the two alone is not looked at.
      const some = line != null && limit != null ? lines.slice(line - 1, line + limit) : lines;
      return { content: some.join("\n") };
    },
    "fs/write_text_file"({ path, content }) {
      if (fail) return fail;
      writeFileSync(path, content.replace(/\n?$/, "\n"));
      return null;
    },
    "session/request_permission"({ toolCall, options }) {
      this.asked.push(toolCall);
      return { outcome: { outcome: "selected", optionId: option(options, kind) } };
    },
  };
}

const open = (stage, root, kind, fail) => new Agent(stage, root, editor(kind, fail)).open(root, INITIALIZE);

async function allowed(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  await agent.prompt(PROMPT);
  expect(text(root) === EXPECTED, `the file is ${JSON.stringify(text(root))}`);
  expect(agent.said.includes(PASSED), `the output is not told: ${agent.said}`);
  const diffs = agent.contents("diff");
  expect(diffs.length > 0, "no call holds a diff");
  shown("diff");
  await agent.close("SIGTERM");
}

/** A line that was not asked for must not be shown under a wrong number, nor the end of the file be lost. */
async function ranges(stage) {
  const root = stage.project("project");
  writeFileSync(join(root, "long.txt"), Array.from({ length: 40 }, (_, at) => `line ${at + 1} of many\n`).join(""));
  const agent = await open(stage, root, "allow_once");
  await agent.prompt("show long.txt lines 10-12");
  expect(/10\s+line 10 of many/.test(agent.said), `line 10 is not shown under its number: ${agent.said}`);
  expect(!/\d+\s+line 13 of many/.test(agent.said), `a line more than asked for is shown: ${agent.said}`);
  await agent.close("SIGTERM");
}

async function failedWrite(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once", "E212: Can't open file for writing");
  await agent.prompt('replace "Helo" with "Hello" in src/greet.sh');
  expect(text(root) === SAVED, "the editor did not write, yet the file has changed");
  const edit = [...agent.calls.values()].find((call) => call.kind === "edit");
  expect(edit?.status === "failed", `a write that failed is told as ${edit?.status}`);
  await agent.close("SIGTERM");
}

async function refused(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "reject_once");
  await agent.prompt(PROMPT);
  expect(text(root) === SAVED, "refused, yet the file has changed");
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

async function chosen(stage) {
  const root = stage.project("project");
  const agent = await open(stage, root, "allow_once");
  await agent.request("session/set_config_option", { sessionId: agent.session, configId: "mode", value: "ask" });
  await agent.prompt(PROMPT);
  expect(text(root) === SAVED, "a mode that only looks has changed the file");
  await agent.close("SIGTERM");
}

await play("avante.nvim", { allowed, ranges, failedWrite, refused, cancelled, chosen });
