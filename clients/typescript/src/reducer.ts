// What there is to show of a session, from its events; and of one that was loaded, from what is played back.

import type { AnyEvent, AnyUpdate } from "./events.js";
import type * as t from "./types.js";
import type { Node, Stats, Summary } from "./types.js";

/** A thing that was said or done, in order. */
export type Item =
  | { kind: "user" | "assistant" | "thought" | "notice" | "error"; text: string }
  | Call;

/** A tool call. */
export interface Call {
  kind: "tool";
  id: string;
  tool: string;
  title: string;
  args: unknown;
  status: ToolStatus;
  output: string;
  /** What it said of itself last, while it ran: how far it is, the end of its log. */
  progress: string;
  /** What the protocol has to show of it: text, diffs, terminals. */
  content: t.ToolCallContent[];
}

export type ToolStatus = t.ToolCallStatus;

export interface State {
  /** The running turn. */
  run: string | null;
  phase: "thinking" | "tools" | "idle";
  transcript: Item[];
  /** The call that waits for a permission. */
  asking: { id: string; tool: string } | null;
  /** All subagents. */
  tree: Node[];
  /** Subagents in numbers, by id. */
  stats: Record<string, Stats>;
  summary: Summary | null;
  usage: { model: string; tokensIn: number; tokensOut: number; cost: number | null; maxContext: number | null } | null;
  /** How full the model's context is, in tokens. */
  context: { used: number; size: number } | null;
  mode: string | null;
  model: string | null;
  title: string | null;
  modes: t.SessionModeState | null;
  configOptions: t.SessionConfigOption[];
  /** The slash commands that a prompt may begin with. */
  commands: t.AvailableCommand[];
  plan: t.PlanEntry[];
  /** Whether the session is being loaded: its history is played back. */
  loading: boolean;
  /** The message of the user that is being played back. */
  message: string | null;
}

/** Before the first event. */
export const initial: State = {
  run: null,
  phase: "idle",
  transcript: [],
  asking: null,
  tree: [],
  stats: {},
  summary: null,
  usage: null,
  context: null,
  mode: null,
  model: null,
  title: null,
  modes: null,
  configOptions: [],
  commands: [],
  plan: [],
  loading: false,
  message: null,
};

/** The statuses of subagents that have not ended. */
export const AT_WORK: ReadonlySet<string> = new Set(["queued", "queued_global", "waiting", "running", "retrying"]);

/** The events that tell what is said. */
const SAID = ["session_update", "text_delta", "thinking_delta"];

/** The state after an event. Neither is changed. */
export function reduce(state: State, event: AnyEvent): State {
  if (state.loading && SAID.includes(event.type)) return state;
  switch (event.type) {
    case "session_update":
      if (event.status === "started") return { ...state, run: event.runId };
      if (event.status) return { ...state, run: null, asking: null };
      return add(state, { kind: "user", text: event.text ?? "" });
    case "phase_changed":
      return { ...state, phase: event.phase };
    case "text_delta":
      return say(state, "assistant", event.delta);
    case "thinking_delta":
      return say(state, "thought", event.delta);
    case "tool_started":
      return call(state, event.toolCallId, { tool: event.tool, title: event.title, args: event.args });
    case "tool_progress":
      return call(state, event.toolCallId, { status: "in_progress", ...(event.message ? { progress: event.message } : {}) });
    case "tool_completed":
      return call(state, event.toolCallId, { status: event.status, output: event.output });
    case "permission_requested":
      return { ...state, asking: { id: event.toolCallId, tool: event.tool } };
    case "permission_resolved":
      return { ...state, asking: null };
    case "subagent_spawned": {
      const known = new Set(ids(state.tree));
      const fresh = event.entries.map((entry) => queued(entry.id, entry.args)).filter((node) => !known.has(node.id));
      return { ...state, tree: [...state.tree, ...fresh] };
    }
    case "subagent_completed": {
      // Of the others, the tree may know more than the statistics, which come less often.
      const own = Object.fromEntries(event.entries.map((entry) => [entry.stats.id, entry.stats]));
      return { ...state, stats: { ...state.stats, ...own }, tree: state.tree.map((node) => ended(node, own)) };
    }
    case "subagent_tree":
      return { ...state, tree: event.tree };
    case "subagent_dashboard":
      return { ...state, tree: event.tree, stats: event.stats, summary: event.summary };
    case "usage_updated": {
      const { model, tokensIn, tokensOut, cost = null, maxContext = null } = event;
      return { ...state, usage: { model, tokensIn, tokensOut, cost, maxContext } };
    }
    case "runtime_changed": {
      const model = event.model && event.provider ? `${event.provider}/${event.model}` : state.model;
      return { ...state, mode: event.mode ?? state.mode, model };
    }
    case "status_updated":
      return add(state, { kind: "notice", text: event.message });
    case "error":
      return add(state, { kind: "error", text: event.message });
    // What a program asked for, it is answered.
    default:
      return state;
  }
}

/**
 * The state after an update of the protocol. What is said is taken from the events, which come as it is said; of the history of a
 * session that is being loaded, from the updates, which have all of it.
 */
export function reduceUpdate(state: State, update: AnyUpdate): State {
  switch (update.sessionUpdate) {
    case "user_message_chunk":
      return state.loading ? playBack(state, textOf(update.content), update.messageId ?? null) : state;
    case "agent_message_chunk":
      return state.loading ? say(state, "assistant", textOf(update.content)) : state;
    case "agent_thought_chunk":
      return state.loading ? say(state, "thought", textOf(update.content)) : state;
    case "notice":
      return state.loading ? add(state, { kind: "notice", text: [update.title, update.description].filter(Boolean).join(": ") }) : state;
    case "tool_call":
    case "tool_call_update":
      return called(state, update);
    case "plan":
      return { ...state, plan: update.entries };
    case "available_commands_update":
      return { ...state, commands: update.availableCommands };
    case "current_mode_update":
      return { ...state, mode: update.currentModeId };
    case "config_option_update":
      return configured(state, update.configOptions);
    case "session_info_update":
      return { ...state, title: update.title === undefined ? state.title : update.title };
    case "usage_update":
      return { ...state, context: { used: update.used, size: update.size } };
    default:
      return state;
  }
}

/** The state once a session is open, by the answer that opened it. Calls of a turn that was broken off have failed. */
export function opened(state: State, answer: { modes?: t.SessionModeState | null; configOptions?: t.SessionConfigOption[] | null }): State {
  const { modes, configOptions } = answer;
  const known = modes ? { ...state, modes, mode: modes.currentModeId } : state;
  const set = configOptions ? configured(known, configOptions) : known;
  return state.loading ? { ...brokenOff(set), loading: false, message: null } : set;
}

/** The state with what the request `subagents/list` answered. */
export function listed(state: State, { tree, stats, summary }: t.Subagents): State {
  return { ...state, tree, stats, summary };
}

/** Whether a subagent of the tree has not ended. */
export function isAtWork(tree: Node[]): boolean {
  // This must not fail on what an agent sent that is not ours: it is asked when the agent is gone.
  return tree.some((node) => AT_WORK.has(node.status) || isAtWork(node.children ?? []));
}

/** The state once the agent is gone: no turn runs, what had begun has failed, and subagents that had not ended are interrupted. */
export function brokenOff(state: State): State {
  const failed = (item: Item): Item =>
    item.kind === "tool" && (item.status === "pending" || item.status === "in_progress") ? { ...item, status: "failed" } : item;
  const interrupted = (node: Node): Node => {
    if (!isAtWork([node])) return node;
    const status = AT_WORK.has(node.status) ? "interrupted" : node.status;
    return { ...node, status, children: (node.children ?? []).map(interrupted) };
  };
  const [transcript, tree] = [state.transcript.map(failed), state.tree.map(interrupted)];
  return { ...state, run: null, phase: "idle", asking: null, transcript, tree };
}

/** A block of content as text; what is none is named. */
export function textOf(block: t.ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}]`;
    case "resource_link":
      return `[${block.name}](${block.uri})`;
    case "resource":
      return "text" in block.resource ? block.resource.text : `[${block.resource.uri}]`;
    default:
      return "";
  }
}

function configured(state: State, configOptions: t.SessionConfigOption[]): State {
  const value = (category: string): string | null => {
    const option = configOptions.find((one) => one.category === category && one.type === "select");
    return option?.type === "select" ? option.currentValue : null;
  };
  return { ...state, configOptions, mode: value("mode") ?? state.mode, model: value("model") ?? state.model };
}

function called(state: State, update: t.ToolCall | t.ToolCallUpdate): State {
  const change: Partial<Call> = {};
  if (update.title != null) change.title = update.title;
  if ("name" in update && update.name != null) change.tool = update.name;
  if (update.rawInput !== undefined) change.args = update.rawInput;
  if (update.status != null) change.status = update.status;
  if (update.content != null) {
    change.content = update.content;
    const text = update.content.map((one) => (one.type === "content" ? textOf(one.content) : "")).join("");
    if (text && state.loading) change.output = text;
  }
  return call(state, update.toolCallId, change);
}

function add(state: State, item: Item): State {
  return { ...state, transcript: [...state.transcript, item] };
}

/** Goes on with what is being said, or begins it. */
function say(state: State, kind: "user" | "assistant" | "thought", text: string): State {
  const last = state.transcript.at(-1);
  if (last?.kind !== kind) return add(state, { kind, text });
  return { ...state, transcript: [...state.transcript.slice(0, -1), { kind, text: last.text + text }] };
}

/** A piece of what the user said, played back. Messages are told apart by their ids. */
function playBack(state: State, text: string, message: string | null): State {
  const next = { ...state, message };
  return message !== null && message === state.message ? say(next, "user", text) : add(next, { kind: "user", text });
}

function call(state: State, id: string, change: Partial<Call>): State {
  const at = state.transcript.findLastIndex((item) => item.kind === "tool" && item.id === id);
  const fresh: Call = { kind: "tool", id, tool: "", title: "", args: null, status: "pending", output: "", progress: "", content: [] };
  if (at < 0) return add(state, { ...fresh, ...change });
  const transcript = [...state.transcript];
  transcript[at] = { ...(transcript[at] as Call), ...change };
  return { ...state, transcript };
}

function ids(tree: Node[]): string[] {
  return tree.flatMap((node) => [node.id, ...ids(node.children)]);
}

/** A subagent of which nothing is known yet but what was asked for. */
function queued(call: string, args: unknown): Node {
  const given = (args ?? {}) as { id?: string; type?: string; task?: string };
  const unknown = { error: null, queueReason: null, lastTool: null, lastMessagePreview: null, nextRetryAt: null };
  const { id = call, type = "", task = "" } = given;
  return { id, type, task, status: "queued", elapsed: 0, toolCalls: 0, success: false, children: [], ...unknown };
}

function ended(node: Node, stats: Record<string, Stats>): Node {
  const own = stats[node.id];
  const children = node.children.map((child) => ended(child, stats));
  if (!own) return { ...node, children };
  const { status, elapsed, toolCalls, error } = own;
  return { ...node, status, elapsed, toolCalls, error, success: status === "done", children };
}
