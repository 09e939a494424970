// A session: its turns, its settings, and its own requests of the layer.

import type { Tiller } from "./client.js";
import type { RequestOptions } from "./connection.js";
import type { AnyEvent, AnyUpdate } from "./events.js";
import type { State } from "./reducer.js";
import type * as t from "./types.js";

/** What a session is opened with, beside its folder. */
export interface SessionOptions {
  mcpServers?: t.McpServer[];
  additionalDirectories?: string[];
}

export type Params<M extends keyof t.Requests> = Omit<t.Requests[M]["params"], "sessionId">;

/** A session of a connection. It stays valid when the connection is made anew. */
export class Session {
  constructor(readonly tiller: Tiller, readonly id: string, readonly cwd: string, readonly options: SessionOptions) {}

  /** What there is to show of it now. */
  get state(): State {
    return this.tiller.state(this.id);
  }

  /**
   * Runs a turn with a text, or with blocks: text, images, links, embedded files. There is no time limit unless one is given. Aborting
   * cancels the turn.
   */
  async prompt(content: string | t.ContentBlock[], options: RequestOptions = {}): Promise<t.PromptResponse> {
    const prompt: t.ContentBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const { signal } = options;
    const cancel = () => this.cancel();
    // Before the request is taken back, so that the turn ends as one that was cancelled.
    if (!signal?.aborted) signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await this.tiller.raw("session/prompt", { sessionId: this.id, prompt }, options);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** Ends the running turn, whose `prompt` then resolves with `cancelled`. */
  cancel(): void {
    this.tiller.notify("session/cancel", { sessionId: this.id });
  }

  async setMode(modeId: string, options?: RequestOptions): Promise<void> {
    await this.tiller.raw("session/set_mode", { sessionId: this.id, modeId }, options);
  }

  /** Changes the model, `PROVIDER/MODEL`. */
  async setModel(modelId: string, options?: RequestOptions): Promise<void> {
    await this.setConfigOption("model", modelId, options);
  }

  /** Sets one of `state.configOptions`; all of them afterwards. */
  async setConfigOption(configId: string, value: string | boolean, options?: RequestOptions): Promise<t.SessionConfigOption[]> {
    const given = { sessionId: this.id, configId };
    const params = typeof value === "boolean" ? { ...given, type: "boolean" as const, value } : { ...given, value };
    return (await this.tiller.raw("session/set_config_option", params, options)).configOptions;
  }

  /** A request of the native layer, for this session. */
  request<M extends keyof t.Requests>(method: M, params: Params<M>, options?: RequestOptions): Promise<t.Requests[M]["result"]> {
    return this.tiller.native(method, { sessionId: this.id, ...params } as t.Requests[M]["params"], options);
  }

  /** A copy of it, to go on from here in another way. */
  fork(options?: RequestOptions): Promise<Session> {
    return this.tiller.forkSession(this.id, this.cwd, this.options, options);
  }

  /** Closes it on this connection; it stays stored, and can be loaded again. */
  close(options?: RequestOptions): Promise<void> {
    return this.tiller.closeSession(this.id, options);
  }

  /** Is told every event of this session; returns what ends that. */
  onEvent(listener: (event: AnyEvent) => void): () => void {
    return this.tiller.onEvent((event) => (event.sessionId === this.id ? listener(event) : undefined));
  }

  /** Is told every update of the protocol for this session; returns what ends that. */
  onUpdate(listener: (update: AnyUpdate) => void): () => void {
    return this.tiller.onUpdate((id, update) => (id === this.id ? listener(update) : undefined));
  }

  /** Is told the state after each change; returns what ends that. */
  onChange(listener: (state: State) => void): () => void {
    return this.tiller.onChange((id, state) => (id === this.id ? listener(state) : undefined));
  }
}
