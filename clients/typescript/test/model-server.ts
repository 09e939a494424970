// A model server on loopback for tests of subagents. It speaks chat completions, and answers as it was told for each agent, when it is
// told. Which agent asks is seen by its first message: the session's is PROMPT, an agent's its task.

import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export const PROMPT = "Send them out";

/** A text, a list of subagents to request, or a status of HTTP. */
export type Answer = string | object[] | number;

/**
 * Has a list of answers by the text of an agent's first message. Each waits until its agent was released once more. The session's own
 * need no release. An agent without an answer waits for ever.
 */
export class ModelServer {
  readonly #answers: Record<string, Answer[]>;
  readonly #released: Record<string, number> = {};
  readonly #waiting: Record<string, (() => void)[]> = {};
  readonly #http: Server;

  private constructor(answers: Record<string, Answer[]>) {
    this.#answers = answers;
    this.#http = createServer((request, response) => {
      if (request.method !== "POST") return void response.writeHead(404).end("{}");
      let body = "";
      request.on("data", (piece) => (body += piece));
      request.on("end", async () => {
        const answer = await this.#answer(JSON.parse(body));
        if (typeof answer === "number") {
          response.writeHead(answer, { "content-type": "application/json" }).end('{"error":{"message":"no such luck","code":"test"}}');
        } else {
          response.writeHead(200, { "content-type": "text/event-stream" }).end(stream(answer));
        }
      });
    });
  }

  static async start(answers: Record<string, Answer[]>): Promise<ModelServer> {
    const server = new ModelServer(answers);
    await new Promise<void>((done) => server.#http.listen(0, "127.0.0.1", done));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/v1`;
  }

  /** Sends the next answer of an agent, now or when it asks. */
  release(first: string): void {
    const waiting = this.#waiting[first]?.shift();
    if (waiting) return waiting();
    this.#released[first] = (this.#released[first] ?? 0) + 1;
  }

  close(): void {
    this.#http.close();
    this.#http.closeAllConnections();
  }

  async #answer(asked: { messages: { role: string; content: unknown }[] }): Promise<Answer> {
    const texts = asked.messages.filter(({ role }) => role === "user").map(({ content }) => JSON.stringify(content));
    const first = Object.keys(this.#answers).find((one) => texts.some((text) => text.includes(one)));
    if (first === undefined) return 400;
    if (first !== PROMPT) {
      if (this.#released[first]) this.#released[first] -= 1;
      else await new Promise<void>((released) => (this.#waiting[first] ??= []).push(released));
    }
    return this.#answers[first]?.shift() ?? 400;
  }
}

/** An answer as server-sent events. */
function stream(answer: string | object[]): string {
  const calls = typeof answer !== "string";
  const call = { index: 0, id: "call_1", type: "function", function: { name: "subagent", arguments: JSON.stringify({ agents: answer }) } };
  const chunks = [
    { choices: [{ index: 0, delta: { role: "assistant", ...(calls ? { tool_calls: [call] } : { content: answer }) }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: calls ? "tool_calls" : "stop" }] },
    { choices: [], usage: { prompt_tokens: 100, completion_tokens: 20 } },
  ];
  const lines = chunks.map((chunk) => JSON.stringify({ id: "c", object: "chat.completion.chunk", ...chunk }));
  return [...lines, "[DONE]"].map((one) => `data: ${one}\n\n`).join("");
}
