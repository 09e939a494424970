// What the agent sends, held against the JSON schema that the SDK ships.
//
// The SDK checks what the agent asks and tells, forgiving what it can, and hands over what it answers as it came. So every
// raw message is validated here, and what a handler gets is compared with what was sent: nothing may have been dropped.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import Ajv from "ajv/dist/2020.js";

const path = new URL(import.meta.resolve("@agentclientprotocol/sdk/schema/v1/schema.json"));
const schema = JSON.parse(readFileSync(path, "utf8"));
// Not strict: the schema has keywords of its own (`x-…`), and formats such as `uint64` that say nothing more in JSON.
const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true, discriminator: false });
ajv.addSchema(schema, "acp");

/** The definition of what is sent for a method: `suffix` tells requests and notifications from responses. */
function validator(method, suffix) {
  const known = Object.entries(schema.$defs).find(
    ([name, definition]) => definition["x-method"] === method && suffix.test(name),
  );
  return known && ajv.getSchema(`acp#/$defs/${known[0]}`);
}

export class Wire {
  /** A line for each thing that is not as the schema says. */
  problems = [];
  messages = 0;
  #asked = new Map();
  #sent = [];

  /** The same stream, seen from both sides on its way. */
  tap({ readable, writable }) {
    const incoming = new TransformStream({
      transform: (message, controller) => {
        this.#incoming(message);
        controller.enqueue(message);
      },
    });
    const outgoing = new TransformStream({
      transform: (message, controller) => {
        if (message.method && message.id !== undefined) this.#asked.set(message.id, message.method);
        controller.enqueue(message);
      },
    });
    outgoing.readable.pipeTo(writable).catch(() => {});
    return { readable: readable.pipeThrough(incoming), writable: outgoing.writable };
  }

  /** Called by each handler: its params must be those of the oldest message of that method not yet handled. */
  handled(method, params) {
    const index = this.#sent.findIndex((message) => message.method === method);
    const [message] = index < 0 ? [] : this.#sent.splice(index, 1);
    for (const problem of lost(message?.params, params)) this.problems.push(`${method}: ${problem}`);
  }

  /** Messages that the SDK did not hand to a handler. */
  get unhandled() {
    return this.#sent.map((message) => message.method);
  }

  #incoming(message) {
    this.messages += 1;
    if (message.method) {
      this.#sent.push(structuredClone(message));
      this.#validate(message.method, validator(message.method, /(Request|Notification)$/), message.params);
    } else if ("result" in message) {
      const method = this.#asked.get(message.id);
      this.#validate(`answer to ${method}`, validator(method, /Response$/), message.result);
    }
  }

  #validate(name, check, value) {
    if (!check) this.problems.push(`${name}: not a message of the schema`);
    else if (!check(value)) this.problems.push(`${name}: ${ajv.errorsText(check.errors)}: ${JSON.stringify(value)}`);
  }
}

/** The parts of a raw message that are not in what the SDK read from it. */
function lost(raw, held, at = "") {
  if (raw && held && typeof raw === "object" && typeof held === "object") {
    if (Array.isArray(raw) && raw.length !== held.length) return [`${at} lost items`];
    return Object.entries(raw).flatMap(([key, value]) => lost(value, held[key], `${at}.${key}`));
  }
  const same = isDeepStrictEqual(raw ?? null, held ?? null);
  return same ? [] : [`${at} was sent as ${JSON.stringify(raw)} and read as ${JSON.stringify(held)}`];
}
