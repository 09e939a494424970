// The protocol's lines between a stand-in and the agent, and what every stand-in keeps of them.

import { spawn } from "node:child_process";
import { expect, within } from "../story/stage.mjs";

/** An error that a handler answers with. */
export class Refusal extends Error {
  constructor(code, message, data) {
    super(message);
    this.answer = { code, message, ...(data === undefined ? {} : { data }) };
  }
}

/** A handler's value for "never answer", as editors do with what they do not know. */
export const SILENCE = Symbol("silence");

/** `tiller acp` as a child, with the editor's handlers by method. */
export class Agent {
  calls = new Map();
  said = "";
  plans = [];
  usages = [];
  asked = [];
  #next = 0;
  #waiting = new Map();
  #buffer = "";

  constructor(stage, root, handlers, words = ["--permission-mode", "argus"]) {
    this.handlers = handlers;
    this.child = spawn(stage.tiller, ["acp", ...words], { cwd: root, env: stage.env, stdio: ["pipe", "pipe", "ignore"] });
    this.ended = new Promise((done) => this.child.on("close", done));
    // An answer to a request may come after the agent's end.
    this.child.stdin.on("error", () => {});
    this.child.stdout.setEncoding("utf8");
    this.child.stdout.on("data", (piece) => {
      this.#buffer += piece;
      const lines = this.#buffer.split("\n");
      this.#buffer = lines.pop();
      for (const line of lines) this.#line(JSON.parse(line));
    });
  }

  /** A request's result; an error of the agent is thrown. */
  request(method, params) {
    const id = ++this.#next;
    const answer = new Promise((done, fail) => this.#waiting.set(id, { done, fail }));
    this.send({ id, method, params });
    return within(answer, `the answer to ${method}`);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  send(message) {
    this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  /** Initializes and opens a session, without authenticating. */
  async open(cwd, initialize) {
    this.initialized = await this.request("initialize", { protocolVersion: 1, ...initialize });
    const { sessionId } = await this.request("session/new", { cwd, mcpServers: [] });
    this.session = sessionId;
    return this;
  }

  /** A prompt's stop reason. */
  async prompt(text) {
    const prompt = [{ type: "text", text }];
    return (await this.request("session/prompt", { sessionId: this.session, prompt })).stopReason;
  }

  /** Ends the agent as the editor does, by a signal or by closing its input. */
  async close(signal) {
    if (signal) this.child.kill(signal);
    else this.child.stdin.end();
    await within(this.ended, "the agent's end");
  }

  /** The contents of one type of all calls. */
  contents(type) {
    return [...this.calls.values()].flatMap((call) => call.content ?? []).filter((item) => item.type === type);
  }

  async #line(message) {
    if (message.method === undefined) {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error) waiting?.fail(new Error(`${message.error.code}: ${message.error.message}`));
      else waiting?.done(message.result);
      return;
    }
    if (message.method === "session/update") this.#update(message.params.update);
    const handler = this.handlers[message.method];
    if (message.id === undefined || !handler) return; // unknown methods are never answered
    try {
      const result = await handler.call(this, message.params);
      if (result !== SILENCE) this.send({ id: message.id, result });
    } catch (error) {
      this.send({ id: message.id, error: error.answer ?? { code: -32603, message: String(error) } });
    }
  }

  #update(update) {
    const kind = update.sessionUpdate;
    if (kind === "agent_message_chunk") this.said += update.content.text ?? "";
    if (kind === "plan") this.plans.push(update.entries);
    if (kind === "usage_update") this.usages.push(update.used);
    if (kind?.startsWith("tool_call")) this.calls.set(update.toolCallId, { ...this.calls.get(update.toolCallId), ...update });
  }
}

/** The option of a kind, or nothing. */
export const option = (options, kind) => options.find((option) => option.kind === kind)?.optionId;

/** The tokens told may grow and shrink by compaction, and never vanish: editors show the last number. */
export function checkUsage(agent) {
  expect(agent.usages.length > 0, "no usage was told");
  expect(agent.usages.every((used) => used > 0), `the tokens told fall to nothing: ${agent.usages}`);
}
