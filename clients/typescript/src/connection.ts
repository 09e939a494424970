// One child and JSON-RPC with it: requests, their answers, time limits and the end.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EndedError, type Exit, ProtocolError, RequestError, RequestTimeout, TillerError } from "./errors.js";
import { Lines } from "./lines.js";

/** The longest line that is read, in bytes. A longer one ends the connection: its request could never be answered. */
export const LINE_LIMIT = 64 << 20;
/** How much may wait to be written, in bytes, before new requests are refused. */
export const QUEUE_LIMIT = 64 << 20;
const STDERR_LINES = 50;
const STDERR_LINE = 4096;
/** Milliseconds between the child's end and that of its output, which a grandchild may hold open. */
const DRAIN = 1000;

export type Id = number | string | null;

export interface Message {
  id?: Id;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: unknown;
}

/** What the connection tells. */
export interface Receiver {
  notification(method: string, params: unknown): void;
  request(id: Id, method: string, params: unknown): void;
  stderr(line: string): void;
  error(error: Error): void;
  ended(exit: Exit): void;
}

export interface RequestOptions {
  /** Takes the request back: rejects at once, and tells the agent to drop it. */
  signal?: AbortSignal | undefined;
  /** The time limit in seconds; null for none. */
  timeout?: number | null | undefined;
}

interface Pending {
  method: string;
  settle(error: Error | null, result?: unknown): void;
}

export interface Start {
  command: readonly [string, ...string[]];
  env: NodeJS.ProcessEnv;
  cwd?: string | undefined;
}

export class Connection {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #receiver: Receiver;
  readonly #name: string;
  readonly #pending = new Map<Id, Pending>();
  /** Requests that were given up, whose answers may still come. */
  readonly #givenUp = new Set<Id>();
  readonly #stderr: string[] = [];
  readonly #over: Promise<Exit>;
  #end: (why: string, exit: { code: number | null; signal: NodeJS.Signals | null }, cause?: Error) => void = () => {};
  #exit: Exit | null = null;
  #closing: Promise<Exit> | null = null;
  #failure: EndedError | null = null;
  #last = 0;

  constructor(start: Start, receiver: Receiver) {
    this.#receiver = receiver;
    const [program, ...args] = start.command;
    this.#name = program;
    this.#over = new Promise((resolve) => (this.#end = (...how) => this.#ended(resolve, ...how)));
    try {
      this.#child = spawn(program, args, { env: start.env, cwd: start.cwd, stdio: "pipe", windowsHide: true });
    } catch (error) {
      throw new EndedError(`${program} did not start: ${(error as Error).message}`, { code: null, signal: null, stderr: [] }, { cause: error });
    }
    // It can be asked nothing more, and not even be told to stop. Its end, which says more, may be on its way.
    this.#child.stdin.on("error", () => setTimeout(() => this.#deaf(), DRAIN));
    const lines = new Lines(LINE_LIMIT, (line) => this.#line(line), () => this.#tooLong());
    this.#child.stdout.on("data", (chunk: Buffer) => lines.add(chunk));
    this.#child.stdout.on("end", () => lines.end());
    const said = new Lines(STDERR_LINE, (line) => this.#said(line), () => this.#said("(a line that is too long)"));
    this.#child.stderr.on("data", (chunk: Buffer) => said.add(chunk));
    this.#child.stderr.on("end", () => said.end());
    this.#child.on("error", (error) => {
      if (this.#child.pid === undefined) this.#end(`${program} did not start: ${error.message}`, { code: null, signal: null }, error);
    });
    this.#child.on("exit", (code, signal) => {
      const timer = setTimeout(() => this.#end(`${program} has ended`, { code, signal }), DRAIN);
      this.#child.once("close", () => {
        clearTimeout(timer);
        this.#end(`${program} has ended`, { code, signal });
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** How it ended; null while it runs. */
  get exit(): Exit | null {
    return this.#exit;
  }

  /** Asks, and waits for the answer. `now` is told the result before the next line is read. */
  request(method: string, params: unknown, options: RequestOptions = {}, now?: (result: unknown) => void): Promise<unknown> {
    const { signal, timeout } = options;
    if (signal?.aborted) return Promise.reject(reason(signal));
    if (this.#failure) return Promise.reject(new EndedError(`${this.#failure.message}; ${method} was not sent`, this.#failure.exit));
    if (this.#closing) {
      const exit = { code: null, signal: null, stderr: [...this.#stderr] };
      return Promise.reject(new EndedError(`the connection is closed; ${method} was not sent`, exit));
    }
    if (this.#child.stdin.writableLength > QUEUE_LIMIT) {
      return Promise.reject(new TillerError(`${this.#name} does not read what it is sent; ${method} was not sent`));
    }
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      let text: string;
      try {
        text = encode({ id, method, params });
      } catch (error) {
        return reject(error);
      }
      const abort = () => this.#giveUp(id, reason(signal as AbortSignal));
      const limit = timeout ? setTimeout(() => this.#giveUp(id, new RequestTimeout(method, timeout)), timeout * 1000) : undefined;
      const settle = (error: Error | null, result?: unknown) => {
        this.#pending.delete(id);
        clearTimeout(limit);
        signal?.removeEventListener("abort", abort);
        if (error) return reject(error);
        try {
          now?.(result);
          resolve(result);
        } catch (wrong) {
          reject(wrong);
        }
      };
      signal?.addEventListener("abort", abort);
      this.#pending.set(id, { method, settle });
      this.#child.stdin.write(text);
    });
  }

  notify(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  answer(id: Id, result: unknown): void {
    this.#send({ id, result });
  }

  refuse(id: Id, error: RequestError): void {
    const { code, message, data } = error;
    this.#send({ id, error: { code, message, ...(data === undefined ? {} : { data }) } });
  }

  /** Hangs up, and waits for the end: SIGTERM follows after `grace` seconds, and SIGKILL after as many more. Never rejects. */
  close(grace: number): Promise<Exit> {
    this.#closing ??= this.#close(grace * 1000);
    return this.#closing;
  }

  /** Ends the child at once. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  async #close(grace: number): Promise<Exit> {
    this.#child.stdin.end();
    const timers = [setTimeout(() => this.#child.kill("SIGTERM"), grace), setTimeout(() => this.#child.kill("SIGKILL"), 2 * grace)];
    const exit = await this.#over;
    for (const timer of timers) clearTimeout(timer);
    return exit;
  }

  #send(message: Message): void {
    if (this.#exit || this.#child.stdin.writableEnded) return;
    this.#child.stdin.write(encode(message));
  }

  #giveUp(id: Id, error: Error): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    // Only so many are remembered; a later answer to a forgotten one is reported as one to no request.
    if (this.#givenUp.size >= 10_000) this.#givenUp.delete(this.#givenUp.values().next().value as Id);
    this.#givenUp.add(id);
    this.notify("$/cancel_request", { requestId: id });
    pending.settle(error);
  }

  #line(line: string): void {
    if (line.trim() === "") return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#receiver.error(new ProtocolError("a line on stdout is no JSON", line.slice(0, 200)));
    }
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      return this.#receiver.error(new ProtocolError("a line on stdout is no JSON-RPC message", line.slice(0, 200)));
    }
    const { id, method, params } = message as Message;
    if (method === undefined) this.#answered(message as Message);
    else if (typeof method !== "string") this.#receiver.error(new ProtocolError("a method is no text", message));
    else if (id === undefined) this.#receiver.notification(method, params);
    else this.#receiver.request(id, method, params);
  }

  #answered(message: Message): void {
    const { id = null, result, error } = message;
    const pending = this.#pending.get(id);
    if (!pending) {
      if (!this.#givenUp.delete(id)) this.#receiver.error(new ProtocolError(`an answer to no request: id ${JSON.stringify(id)}`, message));
    } else if (error !== undefined && error !== null) {
      const { code, message: text, data } = error as { code?: unknown; message?: unknown; data?: unknown };
      if (typeof code === "number" && typeof text === "string") pending.settle(new RequestError(code, text, data, pending.method));
      else pending.settle(new ProtocolError(`the error that answers ${pending.method} has no code or no message`, message));
    } else if ("result" in message) {
      pending.settle(null, result);
    } else {
      pending.settle(new ProtocolError(`the answer to ${pending.method} has neither a result nor an error`, message));
    }
  }

  #tooLong(): void {
    this.#end(`${this.#name} sent a line of more than ${LINE_LIMIT} bytes`, { code: null, signal: null });
    this.#child.kill("SIGKILL");
  }

  #deaf(): void {
    if (this.#exit || this.#closing) return;
    this.#end(`${this.#name} has closed its stdin`, { code: null, signal: null });
    this.#child.kill("SIGKILL");
  }

  #said(line: string): void {
    this.#stderr.push(line);
    if (this.#stderr.length > STDERR_LINES) this.#stderr.shift();
    this.#receiver.stderr(line);
  }

  #ended(resolve: (exit: Exit) => void, why: string, how: Pick<Exit, "code" | "signal">, cause?: Error): void {
    if (this.#exit) return;
    this.#exit = { ...how, stderr: [...this.#stderr] };
    const { code, signal } = how;
    const shown = signal ? ` (${signal})` : code === null ? "" : ` (exit code ${code})`;
    this.#failure = new EndedError(`${why}${shown}`, this.#exit, cause ? { cause } : {});
    for (const { method, settle } of [...this.#pending.values()]) {
      settle(new EndedError(`${why}${shown} before it answered ${method}`, this.#exit, cause ? { cause } : {}));
    }
    this.#receiver.ended(this.#exit);
    resolve(this.#exit);
  }
}

function encode(message: Message): string {
  return `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
}

/** Why it was aborted, as an error. */
function reason(signal: AbortSignal): Error {
  const why: unknown = signal.reason;
  return why instanceof Error ? why : new DOMException("This operation was aborted", "AbortError");
}
