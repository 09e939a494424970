// `tiller acp` as a child: sessions, the states of all of them, and what the agent asks for.

import { type Asked, type Callbacks, answer, capabilities } from "./callbacks.js";
import { Connection, type Id, type RequestOptions } from "./connection.js";
import { EndedError, type Exit, ProtocolError, RequestError, asError } from "./errors.js";
import { type AnyEvent, type AnyUpdate, eventOf, isObject, updateOf } from "./events.js";
import { type State, brokenOff, initial, isAtWork, listed, opened, reduce, reduceUpdate } from "./reducer.js";
import { Session, type SessionOptions } from "./session.js";
import type * as t from "./types.js";

const PREFIX = "_tiller/";

/** Time limits in seconds, for what needs another than {@link TIMEOUT}. A turn takes its time. */
const TIMEOUTS: Record<string, number | null> = {
  "session/prompt": null,
  "session/load": 300,
  [`${PREFIX}lua/execute`]: 660,
  [`${PREFIX}mcp/call_tool`]: 660,
  [`${PREFIX}integrations/call`]: 660,
};
/** The time limit of every other request, in seconds. */
export const TIMEOUT = 60;

export interface Options extends Callbacks {
  /** The program; `tiller` when it is not said. */
  tiller?: string;
  /** Further arguments of `tiller acp`. */
  args?: string[];
  /** The whole command instead of `tiller` and `args`, such as one that reaches another machine. */
  command?: [string, ...string[]];
  /** The environment; this process's when it is not said. */
  env?: NodeJS.ProcessEnv;
  /** The folder that the program starts in. */
  cwd?: string;
  /** The time limit of a request in seconds, and null for none, where neither the request nor its kind has one of its own. */
  timeout?: number | null;
  /** Seconds that a closed child has to end before SIGTERM, and then again before SIGKILL; 5 when it is not said. */
  closeTimeout?: number;
  /** What the agent is told of this program. */
  clientInfo?: t.Implementation;
  /** Is told what went wrong without belonging to a request: what a listener or a callback threw, and lines that make no sense. */
  onError?: (error: Error) => void;
  /** Is told each line that the program writes to stderr. */
  onStderr?: (line: string) => void;
}

/** What came of a reconnection. */
export interface Reconnected {
  /** Sessions that are open again, their states made anew from what is stored. */
  reopened: Session[];
  /** Sessions that could not be loaded, and why. */
  lost: { session: Session; error: Error }[];
}

type Opening = "session/new" | "session/load" | "session/resume" | "session/fork";

/** A connection. Everything is asked of one child, and ends with it; `reconnect` starts another. */
export class Tiller {
  readonly #options: Options;
  readonly #states = new Map<string, State>();
  readonly #sessions = new Map<string, Session>();
  readonly #events = new Set<(event: AnyEvent) => void>();
  readonly #updates = new Set<(sessionId: string, update: AnyUpdate) => void>();
  readonly #changes = new Set<(sessionId: string, state: State) => void>();
  readonly #ends = new Set<(exit: Exit) => void>();
  #asked = new Map<Id, AbortController>();
  #connection: Connection;
  #initialized: t.InitializeResponse | null = null;
  #reconnecting: Promise<Reconnected> | null = null;

  private constructor(options: Options) {
    this.#options = options;
    this.#connection = this.#connect();
  }

  /** Starts Tiller and opts in to events. Rejects with an `EndedError` when it cannot be started. */
  static async start(options: Options = {}): Promise<Tiller> {
    const tiller = new Tiller(options);
    await tiller.#initialize();
    return tiller;
  }

  /** What the agent said of itself: its version, its capabilities. */
  get agent(): t.InitializeResponse {
    if (!this.#initialized) throw new ProtocolError("the agent is not initialized");
    return this.#initialized;
  }

  /** The child's process id. */
  get pid(): number | undefined {
    return this.#connection.pid;
  }

  /** How the child ended; null while it runs. */
  get exit(): Exit | null {
    return this.#connection.exit;
  }

  /** The sessions that are open. */
  get sessions(): Session[] {
    return [...this.#sessions.values()];
  }

  /** What there is to show of a session. */
  state(sessionId: string): State {
    return this.#states.get(sessionId) ?? initial;
  }

  /** Is told every event, of every session, in order; returns what ends that. */
  onEvent(listener: (event: AnyEvent) => void): () => void {
    return subscribed(this.#events, listener);
  }

  /** Is told every update of the protocol; returns what ends that. */
  onUpdate(listener: (sessionId: string, update: AnyUpdate) => void): () => void {
    return subscribed(this.#updates, listener);
  }

  /** Is told each new state; returns what ends that. */
  onChange(listener: (sessionId: string, state: State) => void): () => void {
    return subscribed(this.#changes, listener);
  }

  /** Is told when the child has ended, for whatever reason; returns what ends that. */
  onEnd(listener: (exit: Exit) => void): () => void {
    return subscribed(this.#ends, listener);
  }

  /** The next event of a type; rejects when the child ends before. */
  next<T extends keyof t.Events>(type: T): Promise<t.Events[T]> {
    return new Promise((resolve, reject) => {
      if (this.exit) return reject(new EndedError(`tiller has ended; no ${type} comes`, this.exit));
      const stops = [
        this.onEvent((event) => {
          if (event.type !== type) return;
          for (const stop of stops) stop();
          resolve(event as t.Events[T]);
        }),
        this.onEnd((exit) => {
          for (const stop of stops) stop();
          reject(new EndedError(`tiller has ended before ${type} came`, exit));
        }),
      ];
    });
  }

  /** A new session in a folder. */
  async newSession(cwd: string, options: SessionOptions = {}, request?: RequestOptions): Promise<Session> {
    return this.#open("session/new", null, cwd, options, request);
  }

  /** Opens a stored session. Its state has what was said and done in it. */
  async loadSession(id: string, cwd: string, options: SessionOptions = {}, request?: RequestOptions): Promise<Session> {
    return this.#open("session/load", id, cwd, options, request);
  }

  /** Opens a stored session without its history; a state that is known of it stays. */
  async resumeSession(id: string, cwd: string, options: SessionOptions = {}, request?: RequestOptions): Promise<Session> {
    return this.#open("session/resume", id, cwd, options, request);
  }

  /** Opens a copy of a session. The copy begins with what is known here of the other. */
  async forkSession(id: string, cwd: string, options: SessionOptions = {}, request?: RequestOptions): Promise<Session> {
    return this.#open("session/fork", id, cwd, options, request);
  }

  /** Stored sessions, a page at a time: `nextCursor` asks for the next. */
  listSessions(params: t.ListSessionsRequest = {}, request?: RequestOptions): Promise<t.ListSessionsResponse> {
    return this.raw("session/list", params, request);
  }

  /** Deletes what is stored of a session. */
  async deleteSession(sessionId: string, request?: RequestOptions): Promise<void> {
    await this.raw("session/delete", { sessionId }, request);
    this.#forget(sessionId);
  }

  /** Closes a session on this connection; it stays stored. */
  async closeSession(sessionId: string, request?: RequestOptions): Promise<void> {
    await this.raw("session/close", { sessionId }, request);
    this.#forget(sessionId);
  }

  /** A request of the protocol, as it is. */
  async raw<M extends keyof t.AgentRequests>(
    method: M,
    params: t.AgentRequests[M]["params"],
    request?: RequestOptions,
  ): Promise<t.AgentRequests[M]["result"]> {
    return this.#object(method, await this.#request(method, params, request)) as t.AgentRequests[M]["result"];
  }

  /** A request of the native layer, as it is; {@link Session.request} fills in the session. */
  async native<M extends keyof t.Requests>(
    method: M,
    params: t.Requests[M]["params"],
    request?: RequestOptions,
  ): Promise<t.Requests[M]["result"]> {
    return this.#object(method, await this.#request(PREFIX + method, params, request)) as t.Requests[M]["result"];
  }

  /** A notification, as it is. */
  notify(method: string, params: Record<string, unknown>): void {
    this.#connection.notify(method, params);
  }

  /** Hangs up and waits for the end, by signals if it must; how the child ended. Never rejects, however often it is called. */
  close(): Promise<Exit> {
    return this.#connection.close(this.#options.closeTimeout ?? 5);
  }

  /**
   * Starts another child, whatever became of the last, and loads all sessions that were open. Sessions and listeners stay valid. A turn
   * that was running is broken off; what was stored of it is in the state.
   */
  reconnect(): Promise<Reconnected> {
    this.#reconnecting ??= this.#reconnect().finally(() => (this.#reconnecting = null));
    return this.#reconnecting;
  }

  async #reconnect(): Promise<Reconnected> {
    await this.close();
    this.#connection = this.#connect();
    await this.#initialize();
    const came: Reconnected = { reopened: [], lost: [] };
    for (const session of this.sessions) {
      try {
        await this.loadSession(session.id, session.cwd, session.options);
        came.reopened.push(session);
      } catch (error) {
        this.#sessions.delete(session.id);
        came.lost.push({ session, error: asError(error) });
      }
    }
    return came;
  }

  #connect(): Connection {
    const { tiller = "tiller", args = [], env = process.env, cwd } = this.#options;
    const command = this.#options.command ?? ([tiller, "acp", ...args] as [string, ...string[]]);
    // Those of the last child, if there was one, have been taken back.
    this.#asked = new Map();
    return new Connection(
      { command, env, cwd },
      {
        notification: (method, params) => this.#told(method, params),
        request: (id, method, params) => void this.#answer(id, method, params),
        stderr: (line) => this.#options.onStderr && this.#guard(this.#options.onStderr, line),
        error: (error) => this.#report(error),
        ended: (exit) => this.#ended(exit),
      },
    );
  }

  async #initialize(): Promise<void> {
    const clientCapabilities = capabilities(this.#options);
    const clientInfo = this.#options.clientInfo ?? { name: "tiller-native", version: "0.1.0" };
    try {
      this.#initialized = await this.raw("initialize", { protocolVersion: 1, clientCapabilities, clientInfo });
    } catch (error) {
      // It would be left behind: nobody has it yet.
      this.#connection.kill();
      await this.close();
      throw error;
    }
  }

  async #open(method: Opening, id: string | null, cwd: string, options: SessionOptions, request?: RequestOptions): Promise<Session> {
    const { mcpServers = [], additionalDirectories } = options;
    const params = { cwd, mcpServers, ...(additionalDirectories ? { additionalDirectories } : {}), ...(id === null ? {} : { sessionId: id }) };
    const before = id === null ? initial : this.state(id);
    const loading = method === "session/load" && id !== null;
    if (loading) this.#states.set(id, { ...initial, loading: true });
    let session: Session | null = null;
    const now = (result: unknown) => {
      const given = this.#object(method, result);
      const own = method === "session/new" || method === "session/fork" ? given.sessionId : id;
      if (typeof own !== "string") throw new ProtocolError(`the answer to ${method} has no sessionId`, result);
      session = this.#sessions.get(own) ?? new Session(this, own, cwd, options);
      this.#sessions.set(own, session);
      const state = method === "session/fork" ? { ...brokenOff(before), ...{ commands: this.state(own).commands } } : this.state(own);
      this.#change(own, opened(state, given));
    };
    try {
      await this.#request(method, params, request, now);
    } catch (error) {
      if (loading) this.#change(id, before);
      throw error;
    }
    const came = session as unknown as Session;
    if (method !== "session/new") await this.#listSubagents(came.id);
    return came;
  }

  /** Shows the subagents of a session that was opened: its history comes without them. */
  async #listSubagents(sessionId: string): Promise<void> {
    const meta = this.#initialized?._meta as { tiller?: { subagentTree?: boolean } } | null | undefined;
    if (!meta?.tiller?.subagentTree) return;
    const method = `${PREFIX}subagents/list`;
    const now = (result: unknown) => {
      const given = this.#object(method, result);
      if (!Array.isArray(given.tree) || !isObject(given.stats)) throw new ProtocolError(`the answer to ${method} has no tree or no stats`, result);
      this.#change(sessionId, listed(this.state(sessionId), given as unknown as t.Subagents));
    };
    try {
      await this.#request(method, { sessionId }, undefined, now);
    } catch (error) {
      if (error instanceof EndedError) throw error;
      // The session is open all the same.
      this.#report(asError(error));
    }
  }

  #request(method: string, params: unknown, request: RequestOptions = {}, now?: (result: unknown) => void): Promise<unknown> {
    const { timeout = TIMEOUT } = this.#options;
    const limit = request.timeout !== undefined ? request.timeout : Object.hasOwn(TIMEOUTS, method) ? TIMEOUTS[method] : timeout;
    return this.#connection.request(method, params, { signal: request.signal, timeout: limit }, now);
  }

  #object(method: string, result: unknown): Record<string, unknown> {
    // Some answers have nothing to say.
    if (result === null) return {};
    if (isObject(result)) return result;
    throw new ProtocolError(`the answer to ${method} is no object`, result);
  }

  #told(method: string, params: unknown): void {
    if (method === "session/update") return this.#updated(params);
    if (method === "$/cancel_request") return this.#takenBack(params);
    if (!method.startsWith(PREFIX)) return;
    const [event, wrong] = eventOf(method.slice(PREFIX.length), params);
    if (wrong) this.#report(new ProtocolError(wrong, params));
    const { sessionId } = event;
    if (sessionId !== null) this.#guard(() => this.#change(sessionId, reduce(this.state(sessionId), event)));
    for (const listener of [...this.#events]) this.#guard(listener, event);
  }

  #updated(params: unknown): void {
    if (!isObject(params) || typeof params.sessionId !== "string" || !isObject(params.update)) {
      return this.#report(new ProtocolError("session/update has no sessionId or no update", params));
    }
    const { sessionId } = params;
    const update = updateOf(params.update);
    this.#guard(() => this.#change(sessionId, reduceUpdate(this.state(sessionId), update)));
    for (const listener of [...this.#updates]) this.#guard(listener, sessionId, update);
  }

  #takenBack(params: unknown): void {
    if (isObject(params)) this.#asked.get(params.requestId as Id)?.abort();
  }

  async #answer(id: Id, method: string, params: unknown): Promise<void> {
    const [connection, open, controller] = [this.#connection, this.#asked, new AbortController()];
    open.set(id, controller);
    const asked: Asked = { signal: controller.signal };
    try {
      connection.answer(id, await answer(this.#options, method, params, asked, (error) => this.#report(error)));
    } catch (error) {
      if (!(error instanceof RequestError)) this.#report(asError(error));
      connection.refuse(id, error instanceof RequestError ? error : new RequestError(-32603, asError(error).message));
    } finally {
      open.delete(id);
    }
  }

  #ended(exit: Exit): void {
    for (const controller of this.#asked.values()) controller.abort();
    for (const [id, state] of this.#states) {
      if (state.run !== null || state.phase !== "idle" || state.asking || isAtWork(state.tree)) this.#change(id, brokenOff(state));
    }
    for (const listener of [...this.#ends]) this.#guard(listener, exit);
  }

  #forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#states.delete(sessionId);
  }

  #change(sessionId: string, state: State): void {
    if (this.#states.get(sessionId) === state) return;
    this.#states.set(sessionId, state);
    for (const listener of [...this.#changes]) this.#guard(listener, sessionId, state);
  }

  /** Calls what the program gave. What it throws, now or later, is reported, and ends nothing. */
  #guard<A extends unknown[]>(given: (...args: A) => unknown, ...args: A): void {
    try {
      const later = given(...args);
      if (later instanceof Promise) later.catch((error: unknown) => this.#report(asError(error)));
    } catch (error) {
      this.#report(asError(error));
    }
  }

  #report(error: Error): void {
    const warn = () => process.emitWarning(error);
    if (!this.#options.onError) return warn();
    try {
      this.#options.onError(error);
    } catch {
      warn();
    }
  }
}

function subscribed<T>(all: Set<T>, listener: T): () => void {
  all.add(listener);
  return () => void all.delete(listener);
}
