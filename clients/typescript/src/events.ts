// What the agent tells: the layer's events and the protocol's updates, and what this version does not know of either.

import { EVENT_FIELDS, type NativeEvent, type SessionUpdate } from "./types.js";

/** An event that this version does not know, or whose fields are not those of its type. */
export interface UnknownEvent {
  type: "unknown";
  /** The type that was sent. */
  kind: string;
  sessionId: string | null;
  /** All that was sent. */
  params: unknown;
}

/** An update of the protocol that this version does not know. */
export interface UnknownUpdate {
  sessionUpdate: "unknown";
  /** What it is called. */
  kind: string;
  /** All that was sent. */
  update: unknown;
}

export type AnyEvent = NativeEvent | UnknownEvent;
export type AnyUpdate = SessionUpdate | UnknownUpdate;

const UPDATES = new Set<string>([
  "user_message_chunk",
  "agent_message_chunk",
  "agent_thought_chunk",
  "tool_call",
  "tool_call_update",
  "plan",
  "available_commands_update",
  "current_mode_update",
  "config_option_update",
  "session_info_update",
  "usage_update",
  "notice",
  "compaction_update",
  "compaction_summary_chunk",
] satisfies SessionUpdate["sessionUpdate"][]);

type Fields = Record<string, unknown>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An event by its type, or as unknown; and what is wrong with it, if anything. */
export function eventOf(name: string, params: unknown): [AnyEvent, string | null] {
  const given = isObject(params) ? params : {};
  const kind = typeof given.type === "string" ? given.type : name;
  const sessionId = typeof given.sessionId === "string" ? given.sessionId : null;
  const unknown: UnknownEvent = { type: "unknown", kind, sessionId, params };
  const fields = Object.hasOwn(EVENT_FIELDS, kind) ? EVENT_FIELDS[kind as keyof typeof EVENT_FIELDS] : null;
  if (!fields) return [unknown, null];
  for (const [field, wanted] of Object.entries(fields)) {
    const is = kindOf(given[field]);
    if (is !== wanted) return [unknown, `the event ${kind} has ${is} as ${field} where ${wanted} is due`];
  }
  return [given as unknown as NativeEvent, null];
}

/** An update by its name, or as unknown. */
export function updateOf(update: unknown): AnyUpdate {
  const given = isObject(update) ? update : {};
  const kind = typeof given.sessionUpdate === "string" ? given.sessionUpdate : "";
  return UPDATES.has(kind) ? (given as unknown as SessionUpdate) : { sessionUpdate: "unknown", kind, update };
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
