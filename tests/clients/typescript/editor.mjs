// The editor's side of the protocol: buffers over a project on disk, terminals that really run, somebody who answers.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { RequestError, client, methods } from "@agentclientprotocol/sdk";

/** What the updates of one session tell: the texts, and the tool calls with their latest fields. */
class Told {
  user = "";
  agent = "";
  calls = new Map();

  get summary() {
    return [...this.calls.values()].map(({ toolCallId, title, kind, status }) => ({ toolCallId, title, kind, status }));
  }

  contents(type) {
    return [...this.calls.values()].flatMap((call) => call.content ?? []).filter((item) => item.type === type);
  }
}

/** Answers the agent, and keeps what was asked: `reads`, `writes`, `asked` and `commands`, in order. */
export class Editor {
  buffers = new Map();
  reads = [];
  writes = [];
  asked = [];
  commands = [];
  exits = [];
  terminals = new Map();
  #told = new Map();

  constructor(answer) {
    this.answer = answer;
  }

  told(session) {
    if (!this.#told.has(session)) this.#told.set(session, new Told());
    return this.#told.get(session);
  }

  /** The SDK's client with this editor's handlers; `wire` sees what each is given. */
  app(wire) {
    const { session, fs, terminal } = methods.client;
    const app = client({ name: "typescript-sdk" });
    const seen = (method, handler) => (context) => {
      wire.handled(method, context.params);
      return handler.call(this, context.params);
    };
    app.onNotification(session.update, seen(session.update, this.#update));
    const handlers = new Map([
      [session.requestPermission, this.#permission],
      [fs.readTextFile, this.#read],
      [fs.writeTextFile, this.#write],
      [terminal.create, this.#create],
      [terminal.output, this.#output],
      [terminal.waitForExit, this.#wait],
      [terminal.kill, this.#kill],
      [terminal.release, this.#release],
    ]);
    for (const [method, handler] of handlers) app.onRequest(method, seen(method, handler));
    return app;
  }

  #update({ sessionId, update }) {
    const told = this.told(sessionId);
    if (update.sessionUpdate === "user_message_chunk") told.user += update.content.text;
    if (update.sessionUpdate === "agent_message_chunk") told.agent += update.content.text;
    if (update.sessionUpdate.startsWith("tool_call")) {
      told.calls.set(update.toolCallId, { ...told.calls.get(update.toolCallId), ...update });
    }
  }

  #permission({ sessionId, toolCall, options }) {
    const known = this.told(sessionId).calls.get(toolCall.toolCallId);
    if (!known) throw RequestError.invalidParams(undefined, "permission for a tool call that was never shown");
    this.asked.push(toolCall.kind ?? known.kind);
    const chosen = options.find((option) => option.kind === this.answer);
    if (!chosen) throw RequestError.invalidParams(undefined, `no option of the kind ${this.answer}`);
    return { outcome: { outcome: "selected", optionId: chosen.optionId } };
  }

  #read({ path, line, limit }) {
    this.reads.push(path);
    if (!this.buffers.has(path) && !existsSync(path)) throw RequestError.resourceNotFound(path);
    const text = this.buffers.get(path) ?? readFileSync(path, "utf8");
    if (line == null && limit == null) return { content: text };
    const start = (line ?? 1) - 1;
    const lines = text.split(/(?<=\n)/);
    return { content: lines.slice(start, limit == null ? undefined : start + limit).join("") };
  }

  /** Into the buffer, and saved, as editors do with what an agent writes. */
  #write({ path, content }) {
    this.writes.push(path);
    this.buffers.set(path, content);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return {};
  }

  #create({ command, args = [], env = [], cwd }) {
    const variables = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
    const child = spawn(command, args ?? [], { cwd, env: { ...process.env, ...variables }, stdio: ["ignore", "pipe", "pipe"] });
    this.commands.push([command, ...(args ?? [])].join(" "));
    const terminalId = `terminal-${this.commands.length}`;
    const terminal = { child, output: "", status: undefined };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (terminal.output += chunk));
    terminal.end = new Promise((resolve) => {
      const end = (exitCode, signal) => resolve((terminal.status = { exitCode, signal }));
      child.on("close", end);
      child.on("error", () => end(127, null));
    });
    this.terminals.set(terminalId, terminal);
    return { terminalId };
  }

  #output({ terminalId }) {
    const { output, status } = this.#terminal(terminalId);
    return { output, truncated: false, ...(status && { exitStatus: status }) };
  }

  async #wait({ terminalId }) {
    const status = await this.#terminal(terminalId).end;
    this.exits.push(status.exitCode);
    return status;
  }

  #kill({ terminalId }) {
    this.#terminal(terminalId).child.kill("SIGKILL");
    return {};
  }

  #release({ terminalId }) {
    this.#kill({ terminalId });
    this.terminals.delete(terminalId);
    return {};
  }

  #terminal(id) {
    const terminal = this.terminals.get(id);
    if (!terminal) throw RequestError.resourceNotFound(id);
    return terminal;
  }
}
