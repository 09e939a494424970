// `tiller acp` as a child: the protocol's few requests that a program needs, the layer's own requests, and its events.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Events, NativeEvent, Requests } from "./types.js";

const PREFIX = "_tiller/";

/** An error that Tiller answered with. */
export class RequestError extends Error {
  constructor(readonly code: number, message: string, readonly data: unknown) {
    super(message);
  }
}

/** What `session/request_permission` asks. */
export interface PermissionAsked {
  sessionId: string;
  toolCall: { toolCallId: string; title?: string; rawInput?: unknown };
  options: { optionId: string; name: string; kind: string }[];
}

export interface Options {
  /** The program; `tiller` when it is not said. */
  tiller?: string;
  /** Further arguments of `tiller acp`. */
  args?: string[];
  /** The environment; this process's when it is not said. */
  env?: NodeJS.ProcessEnv;
  /** Chooses an option's id, or null to dismiss the question. Everything is rejected when it is not said. */
  onPermission?: (asked: PermissionAsked) => string | null | Promise<string | null>;
}

type Params<M extends keyof Requests> = Omit<Requests[M]["params"], "sessionId">;
type Pending = { resolve: (result: unknown) => void; reject: (error: Error) => void };
type Message = { id?: number | string | null; method?: string; params?: any; result?: unknown; error?: any };

/** A connection. Everything is asked of one child, and ends with it. */
export class Tiller {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #options: Options;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<(event: NativeEvent) => void>();
  readonly #ended: Promise<number | null>;
  #last = 0;

  private constructor(options: Options) {
    this.#options = options;
    const env = options.env ?? process.env;
    this.#child = spawn(options.tiller ?? "tiller", ["acp", ...(options.args ?? [])], { env, stdio: "pipe" });
    this.#child.stderr.pipe(process.stderr);
    // A child that is gone says so by its end; a write that is lost with it says nothing more.
    this.#child.stdin.on("error", () => {});
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#take(JSON.parse(line) as Message));
    this.#ended = new Promise((resolve) => {
      const end = (code: number | null, why: string) => {
        for (const { reject } of this.#pending.values()) reject(new Error(why));
        this.#pending.clear();
        resolve(code);
      };
      this.#child.on("error", (error) => end(null, `tiller did not start: ${error.message}`));
      this.#child.on("exit", (code) => end(code, `tiller has ended (${code})`));
    });
  }

  /** Starts Tiller and opts in to events. */
  static async start(options: Options = {}): Promise<Tiller> {
    const tiller = new Tiller(options);
    const clientCapabilities = { _meta: { tiller: { events: true } } };
    await tiller.raw("initialize", { protocolVersion: 1, clientCapabilities });
    return tiller;
  }

  /** Is told every event, of every session; returns what ends that. */
  onEvent(listener: (event: NativeEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The next event of a type. */
  next<T extends keyof Events>(type: T): Promise<Events[T]> {
    return new Promise((resolve) => {
      const stop = this.onEvent((event) => {
        if (event.type !== type) return;
        stop();
        resolve(event as Events[T]);
      });
    });
  }

  /** A new session in a folder, with MCP servers as the protocol describes them. */
  async newSession(cwd: string, mcpServers: unknown[] = []): Promise<Session> {
    const answer = (await this.raw("session/new", { cwd, mcpServers })) as { sessionId: string };
    return new Session(this, answer.sessionId);
  }

  /** Any request of the protocol or of the layer, as it is. `signal` takes it back. */
  raw(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    const id = ++this.#last;
    const answer = new Promise<unknown>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    this.#send({ id, method, params });
    signal?.addEventListener("abort", () => this.notify("$/cancel_request", { requestId: id }));
    return answer;
  }

  notify(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  /** Hangs up and waits for the end; the exit code. */
  async close(): Promise<number | null> {
    this.#child.stdin.end();
    return this.#ended;
  }

  #send(message: Message): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #take(message: Message): void {
    const { id, method, params } = message;
    if (method === undefined) {
      const pending = this.#pending.get(id as number);
      this.#pending.delete(id as number);
      const { error } = message;
      if (error) pending?.reject(new RequestError(error.code, error.message, error.data));
      else pending?.resolve(message.result);
    } else if (id !== undefined) {
      void this.#answer(id, method, params);
    } else if (method.startsWith(PREFIX)) {
      for (const listener of [...this.#listeners]) listener(params as NativeEvent);
    }
  }

  async #answer(id: number | string | null, method: string, params: any): Promise<void> {
    if (method !== "session/request_permission") {
      const error = { code: -32601, message: `Method not found: ${method}` };
      return this.#send({ id, error });
    }
    const asked = params as PermissionAsked;
    const refusal = asked.options.find((option) => option.kind === "reject_once")?.optionId ?? null;
    const choose = this.#options.onPermission ?? (() => refusal);
    const optionId = await Promise.resolve(choose(asked)).catch(() => refusal);
    const outcome = optionId === null ? { outcome: "cancelled" } : { outcome: "selected", optionId };
    this.#send({ id, result: { outcome } });
  }
}

/** A session of a connection. */
export class Session {
  constructor(readonly tiller: Tiller, readonly id: string) {}

  /** Runs a turn; why it stopped. */
  async prompt(text: string): Promise<string> {
    const prompt = [{ type: "text", text }];
    const answer = (await this.tiller.raw("session/prompt", { sessionId: this.id, prompt })) as { stopReason: string };
    return answer.stopReason;
  }

  cancel(): void {
    this.tiller.notify("session/cancel", { sessionId: this.id });
  }

  /** A request of the native layer, for this session. */
  request<M extends keyof Requests>(method: M, params: Params<M>, signal?: AbortSignal): Promise<Requests[M]["result"]> {
    return this.tiller.raw(PREFIX + method, { sessionId: this.id, ...params }, signal) as Promise<Requests[M]["result"]>;
  }
}
