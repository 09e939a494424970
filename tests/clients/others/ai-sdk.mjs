// The ACP provider of the AI SDK: an agent as a language model of `streamText`, and the same model with a permission callback.

import { readFileSync, readdirSync } from "node:fs";
import { createACPProvider } from "@mcpc-tech/acp-ai-provider";
import { streamText } from "ai";
import { EXPECTED, PASSED, PROMPT, expect, play, text, there, until } from "../story/stage.mjs";

function provider(stage, root, more = {}) {
  return createACPProvider({
    command: stage.tiller,
    args: ["acp", "--permission-mode", "argus"],
    env: stage.env,
    session: { cwd: root, mcpServers: [] },
    ...more,
  });
}

/** A prompt's text and the names of its tool calls, as the AI SDK tells them. */
async function prompted(agent, prompt, options = {}) {
  let said = "";
  const calls = [];
  const stream = streamText({ model: agent.languageModel(), prompt, tools: agent.tools, onError() {}, ...options });
  for await (const part of stream.fullStream) {
    if (part.type === "text-delta") said += part.text;
    if (part.type === "tool-call") calls.push(part);
    if (part.type === "error") throw part.error;
  }
  return { said, calls };
}

/** It takes the first option of each question, which must be the one that allows once. */
async function allowed(stage) {
  const root = stage.project("project");
  const agent = provider(stage, root);
  const { said, calls } = await prompted(agent, PROMPT);
  expect(text(root) === EXPECTED, `the file is ${JSON.stringify(text(root))}`);
  expect(said.includes(PASSED), `the output is not told: ${said}`);
  expect(calls.length >= 2, `the calls told are ${JSON.stringify(calls)}`);
  agent.cleanup();
}

/** The provider never sends `session/cancel`: a stream that is left ends its agent, and the agent must take the command along. */
async function left(stage) {
  const root = stage.project("project");
  const agent = provider(stage, root);
  const prompt = "run `touch started && sleep 86437`";
  const stream = streamText({ model: agent.languageModel(), prompt, tools: agent.tools, onError() {} });
  for await (const part of stream.fullStream) {
    if (part.type !== "tool-call") continue;
    await until(() => there(root, "started"), "the command to begin");
    break;
  }
  agent.cleanup();
  await until(() => !running("sleep\0" + "86437"), "the command to end with its agent");
}

/** Whether a process with these arguments runs; looks nowhere but on Linux. */
function running(words) {
  if (process.platform !== "linux") return false;
  return readdirSync("/proc").some((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, "utf8").startsWith(words);
    } catch {
      return false; // it ended in between
    }
  });
}

async function loaded(stage) {
  const root = stage.project("project");
  const first = provider(stage, root, { persistSession: true });
  await prompted(first, PROMPT);
  const id = first.getSessionId();
  expect(id, "the provider does not tell the session's id");
  first.cleanup();
  const second = provider(stage, root, { existingSessionId: id });
  const { said } = await prompted(second, "show src/greet.sh");
  expect(said.includes("Hello, $1!"), `the loaded session says: ${said}`);
  second.cleanup();
}

await play("AI SDK provider", { allowed, left, loaded });
