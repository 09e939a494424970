// An agent that does what the text of a prompt says: dies, lies, keeps quiet. It is as bad as agents get.
//
//     node fake-agent.mjs [crash | deaf | quiet | stubborn]

import { closeSync, readSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const SESSION = "s1";
const received = [];
const answers = new Map();
const done = { stopReason: "end_turn" };

/** Writes all of it before it returns, so that what was said before a death is said. */
function write(bytes) {
  let rest = Buffer.from(bytes);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}
const send = (message) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const event = (type, fields) => {
  const common = { protocolVersion: 1, sessionId: SESSION, runId: "run_1", timestamp: 1.5, type };
  send({ method: `_tiller/${type}`, params: { ...common, ...fields } });
};
const update = (fields) => send({ method: "session/update", params: { sessionId: SESSION, update: fields } });
const text = (said) => ({ type: "text", text: said });
const call = { tool: "bash", name: "bash", title: "Run", kind: "execute", args: {}, locations: [] };

function lie() {
  write("no JSON at all\n[1, 2]\n\n");
  write([0xff, 0xfe, 10]);
  send({ id: 999, result: {} });
  send({ id: "1", result: {} });
  send({ id: 1, result: { protocolVersion: 7 } });
  send({ method: "no/such_thing", params: null });
  send({ method: 7 });
  send({ method: "_tiller/text_delta", params: { type: "text_delta", sessionId: SESSION } });
  event("text_delta", { delta: 7, text: "x" });
  event("weather", { degrees: 20 });
  event("tool_started", { toolCallId: "t", ...call });
  event("tool_progress", { toolCallId: "t", tool: "x", name: "x", status: "in_progress", message: "half way" });
  event("tool_progress", { toolCallId: "t", tool: "x", name: "x", status: "in_progress" });
  event("subagent_spawned", { entries: [null] });
  send({ method: "session/update", params: 5 });
  update({ sessionUpdate: "tool_call_update", toolCallId: "t", content: [null] });
  update({ sessionUpdate: "weather_update", degrees: 20 });
  event("status_updated", { message: "still here" });
}

const words = {
  die() {
    event("session_update", { status: "started" });
    event("tool_started", { toolCallId: "t1", ...call });
    event("permission_requested", { toolCallId: "t1", ...call, toolCall: {}, options: [] });
    writeSync(2, "the roof is on fire\n");
    process.kill(process.pid, "SIGKILL");
  },
  exit: (_id, rest) => process.exit(Number(rest)),
  never: () => event("status_updated", { message: "not answering" }),
  lie(id) {
    lie();
    send({ id, result: done });
    send({ id, result: { stopReason: "refusal" } });
    send({ id, error: { code: 1, message: "late" } });
  },
  split(id) {
    const message = { jsonrpc: "2.0", id, result: { ...done, _meta: { said: "größer 🦀" } } };
    for (const byte of Buffer.from(`${JSON.stringify(message)}\r\n`)) write([byte]);
  },
  huge: (id, rest) => send({ id, result: { ...done, _meta: { said: "x".repeat(Number(rest)) } } }),
  error: (id) => send({ id, error: { code: -32000, message: "no credentials", data: { code: "auth_required" } } }),
  raw: (id, rest) => write(`${rest.replace("ID", id)}\n`),
  say(id, rest) {
    event("text_delta", { delta: rest, text: rest });
    send({ id, result: done });
  },
  ask(id, rest) {
    send({ id: "ask", ...JSON.parse(rest) });
    answers.set("ask", (answer) => send({ id, result: { ...done, _meta: { answer } } }));
  },
  unask(id, rest) {
    words.ask(id, rest);
    send({ method: "$/cancel_request", params: { requestId: "ask" } });
  },
  late(id) {
    // Answered once it is taken back.
    answers.set(`cancel ${id}`, () => {
      send({ id, result: done });
      event("status_updated", { message: "answered late" });
    });
    event("status_updated", { message: "waiting" });
  },
  received: (id) => send({ id, result: { ...done, _meta: { received } } }),
};

function load(id) {
  update({ sessionUpdate: "user_message_chunk", content: text("look "), messageId: "m1" });
  update({ sessionUpdate: "user_message_chunk", content: { type: "image", mimeType: "image/png", data: "" }, messageId: "m1" });
  update({ sessionUpdate: "user_message_chunk", content: text("and again"), messageId: "m2" });
  update({ sessionUpdate: "agent_thought_chunk", content: text("hm") });
  update({ sessionUpdate: "agent_message_chunk", content: text("I ") });
  update({ sessionUpdate: "agent_message_chunk", content: text("looked") });
  update({ sessionUpdate: "tool_call", toolCallId: "t1", title: "Read a", name: "file_read", rawInput: { path: "a" } });
  const content = [{ type: "content", content: text("hello") }];
  update({ sessionUpdate: "tool_call_update", toolCallId: "t1", status: "completed", content });
  update({ sessionUpdate: "tool_call", toolCallId: "t2", title: "Run b", status: "in_progress" });
  const modes = { currentModeId: "plan", availableModes: [{ id: "plan", name: "Plan" }] };
  const answer = { jsonrpc: "2.0", id, result: { modes } };
  const late = { sessionUpdate: "agent_message_chunk", content: text("no part of the history") };
  const after = { jsonrpc: "2.0", method: "session/update", params: { sessionId: SESSION, update: late } };
  // In one write, so that they are read together.
  write(`${JSON.stringify(answer)}\n${JSON.stringify(after)}\n`);
}

function take(line) {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) {
    const answered = answers.get(id);
    answers.delete(id);
    return answered(error ? { error } : { result });
  }
  received.push(method);
  if (method === "initialize") {
    send({ id, result: { protocolVersion: 1, _meta: { capabilities: params.clientCapabilities } } });
  } else if (method === "session/new") {
    send({ id, result: { sessionId: params.cwd === "/bad" ? 7 : SESSION } });
  } else if (method === "session/load") {
    if (params.sessionId === "gone") send({ id, error: { code: -32002, message: "resource not found: no session gone" } });
    else load(id);
  } else if (method === "session/prompt") {
    const said = params.prompt[0].text;
    const [word] = said.split(" ", 1);
    const rest = said.slice(word.length + 1);
    if (Object.hasOwn(words, word)) words[word](id, rest);
    else send({ id, result: { ...done, _meta: { blocks: params.prompt } } });
  } else if (method === "$/cancel_request") {
    answers.get(`cancel ${params.requestId}`)?.();
  } else if (id !== undefined && !method.startsWith("_tiller/")) {
    send({ id, result: null });
  }
}

/** Takes three messages, and closes its stdin. Nothing else may read it before: a closed descriptor ends Node. */
function deaf() {
  const chunk = Buffer.alloc(1 << 16);
  let text = "";
  while (received.length < 3) {
    try {
      text += chunk.toString("utf8", 0, readSync(0, chunk));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      take(text.slice(0, end));
      text = text.slice(end + 1);
    }
  }
  closeSync(0);
  event("status_updated", { message: "deaf" });
  // Ends by a signal alone.
  setInterval(() => {}, 1 << 30);
}

const [way] = process.argv.slice(2);
if (way === "crash") {
  writeSync(2, "one\ntwo\ncannot read config.toml\n");
  process.exit(3);
}
if (way === "stubborn") {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1 << 30);
}
if (way === "deaf") deaf();
else if (way === "quiet") process.stdin.resume();
else createInterface({ input: process.stdin }).on("line", take);
