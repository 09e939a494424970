// The subagents of a session as rows to show, from its state; and as lines of a terminal.

import { AT_WORK, type State } from "./reducer.js";
import { cut, plain } from "./terminal.js";
import type { Node } from "./types.js";

const MARKS: Record<string, string> = {
  running: "◐",
  retrying: "↻",
  done: "●",
  failed: "✗",
  cancelled: "✗",
  interrupted: "‖",
  summary: "…",
};
/** In the order in which they are counted. */
const STATUSES = ["done", "running", "retrying", "queued", "waiting", "failed", "cancelled", "interrupted"];

/** A subagent. Its texts are the model's; `plain` and `cut` make them safe for a terminal. */
export interface Row {
  id: string;
  /** `explore`, `plan` or `general`; `summary` for the subagents omitted for lack of room. */
  type: string;
  task: string;
  /** `queued`, `queued_global`, `waiting`, `running`, `retrying`, `done`, `failed`, `cancelled`, `interrupted` or `summary`. */
  status: string;
  /** How many subagents are above it. */
  depth: number;
  /** Seconds since it started, or between its start and its end. */
  elapsed: number;
  calls: number;
  /** Tokens that it sent and received; 0 until the first dashboard has come. */
  tokens: number;
  /** Further attempts after failures. */
  retries: number;
  /** Why it failed or waits, or what it does. */
  detail: string;
}

/**
 * All subagents, parents before their children. Events come when a status changes, so what runs is `age` seconds older than they say:
 * the time since the state's `tree` was received.
 */
export function rows(state: State, age = 0): Row[] {
  return state.tree.flatMap((node) => below(state, node, 0, age));
}

/** All subagents in numbers, on one line: how many there are in which status, and what they cost. Empty without subagents. */
export function numbers({ tree, summary }: State): string {
  const found = counts(tree);
  if (found.size === 0) return "";
  // The statuses are the tree's, which comes more often than the rest.
  const parts = [`${[...found.values()].reduce((sum, count) => sum + count, 0)} in all`];
  for (const status of STATUSES) if (found.has(status)) parts.push(`${found.get(status)} ${status}`);
  if (summary) {
    parts.push(counted(summary.totalTools, "call"), `${summary.tokensIn + summary.tokensOut} tokens`);
    parts.push(summary.cost == null ? "cost unknown" : `$${summary.cost.toFixed(4)}`);
    if (summary.eta && [...found.keys()].some((status) => AT_WORK.has(status))) parts.push(`about ${duration(summary.eta)} left`);
  }
  return parts.join(", ");
}

/** A subagent on a line of at most `width` columns, without an escape sequence. */
export function line(row: Row, width: number): string {
  const begin = `${"  ".repeat(row.depth)}${MARKS[row.status] ?? "○"} `;
  const room = Math.max(0, width - begin.length);
  if (row.type === "summary") return begin + cut(row.task, room);
  const parts = [row.status === "queued_global" ? "queued" : row.status];
  if (row.elapsed) parts.push(duration(row.elapsed));
  if (row.calls) parts.push(counted(row.calls, "call"));
  if (row.tokens) parts.push(`${row.tokens} tokens`);
  if (row.retries) parts.push(counted(row.retries, "retry", "retries"));
  const detail = row.detail ? ` (${row.detail})` : "";
  return begin + cut(`${row.id} (${row.type}) ${parts.join(", ")}${detail}: ${row.task}`, room);
}

function below(state: State, node: Node, depth: number, age: number): Row[] {
  const stats = Object.hasOwn(state.stats, node.id) ? state.stats[node.id] : undefined;
  const running = node.status === "running";
  const { id, type, task, status, toolCalls: calls } = node;
  const own: Row = {
    ...{ id, type, task, status, depth, calls },
    elapsed: node.elapsed + (running ? age : 0),
    tokens: stats ? stats.tokensIn + stats.tokensOut : 0,
    retries: stats?.retries ?? 0,
    detail: plain(node.error || node.queueReason || (running && node.lastTool) || ""),
  };
  return [own, ...node.children.flatMap((child) => below(state, child, depth + 1, age))];
}

/** How many subagents have each status, with those that the tree omits. */
function counts(tree: Node[], found = new Map<string, number>()): Map<string, number> {
  for (const node of tree) {
    const own = node.type === "summary" ? (node.hiddenStatuses ?? {}) : { [node.status]: 1 };
    for (const [status, count] of Object.entries(own)) {
      const name = status === "queued_global" ? "queued" : status;
      found.set(name, (found.get(name) ?? 0) + count);
    }
    counts(node.children, found);
  }
  return found;
}

function counted(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}

/** A time such as `7s` or `2m05s`. */
function duration(seconds: number): string {
  const whole = Math.trunc(seconds);
  return whole < 60 ? `${whole}s` : `${Math.trunc(whole / 60)}m${String(whole % 60).padStart(2, "0")}s`;
}
