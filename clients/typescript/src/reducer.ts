// What there is to show of a session, from its events alone.

import type { NativeEvent, Node, Stats, Summary } from "./types.js";

/** A thing that was said or done, in order. */
export type Item =
  | { kind: "user" | "assistant" | "thought" | "notice" | "error"; text: string }
  | { kind: "tool"; id: string; tool: string; title: string; args: unknown; status: ToolStatus; output: string };

export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";

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
  /** Tokens so far; without the size of the context where that is not known. */
  usage: { model: string; tokensIn: number; tokensOut: number; cost: number | null; maxContext: number | null } | null;
  mode: string | null;
  model: string | null;
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
  mode: null,
  model: null,
};

/** The state after an event. Neither is changed. */
export function reduce(state: State, event: NativeEvent): State {
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
    case "tool_started": {
      const { toolCallId: id, tool, title, args } = event;
      return add(state, { kind: "tool", id, tool, title, args, status: "pending", output: "" });
    }
    case "tool_progress":
      return call(state, event.toolCallId, { status: "in_progress" });
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
      const stats = { ...state.stats };
      for (const entry of event.entries) stats[entry.stats.id] = entry.stats;
      return { ...state, stats, tree: state.tree.map((node) => ended(node, stats)) };
    }
    case "subagent_tree":
      return { ...state, tree: event.tree };
    case "subagent_dashboard":
      return { ...state, tree: event.tree, stats: event.stats, summary: event.summary };
    case "usage_updated": {
      const { model, tokensIn, tokensOut, cost, maxContext } = event;
      return { ...state, usage: { model, tokensIn, tokensOut, cost, maxContext: maxContext ?? null } };
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
    case "subagent_running":
    case "integration_event":
    case "mcp_event":
      return state;
  }
}

function add(state: State, item: Item): State {
  return { ...state, transcript: [...state.transcript, item] };
}

/** Goes on with what is being said, or begins it. */
function say(state: State, kind: "assistant" | "thought", text: string): State {
  const last = state.transcript.at(-1);
  if (last?.kind !== kind) return add(state, { kind, text });
  return { ...state, transcript: [...state.transcript.slice(0, -1), { kind, text: last.text + text }] };
}

function call(state: State, id: string, change: { status: ToolStatus; output?: string }): State {
  const changed = (item: Item): Item => (item.kind === "tool" && item.id === id ? { ...item, ...change } : item);
  return { ...state, transcript: state.transcript.map(changed) };
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
