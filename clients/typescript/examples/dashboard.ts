// A dashboard for the terminal: what is said, what runs, who works, what it costs. Asks for permissions with y and n.
//
//     node dashboard.js [--tiller PROGRAM] [--yes] PROMPT

import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { type Item, type Node, type RequestPermissionRequest, type State, Tiller } from "tiller-native";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tiller: { type: "string", default: "tiller" }, yes: { type: "boolean", default: false } },
});
const prompt = positionals.join(" ");
if (!prompt) {
  console.error("usage: dashboard [--tiller PROGRAM] [--yes] PROMPT");
  process.exit(2);
}

const live = process.stdout.isTTY;
const width = process.stdout.columns || 100;
const paint = (code: number, text: string): string => (live ? `\x1b[${code}m${text}\x1b[0m` : text);
const cut = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length < width - 4 ? line : `${line.slice(0, width - 5)}…`;
};

const MARKS: Record<string, string> = {
  pending: "○",
  in_progress: "◐",
  running: "◐",
  retrying: "↻",
  queued: "○",
  completed: "●",
  done: "●",
  failed: "✗",
  cancelled: "✗",
};

function item(one: Item): string {
  switch (one.kind) {
    case "tool":
      return `${MARKS[one.status] ?? "?"} ${cut(one.status === "in_progress" ? `${one.title} ${one.progress}` : one.title)}`;
    case "user":
      return paint(1, `> ${cut(one.text)}`);
    case "assistant":
      return `  ${cut(one.text)}`;
    case "error":
      return paint(31, `! ${cut(one.text)}`);
    default:
      return paint(2, `· ${cut(one.text)}`);
  }
}

function branch(node: Node, depth: number): string[] {
  const doing = node.lastTool ? ` (${node.lastTool})` : "";
  const line = `${"  ".repeat(depth)}${MARKS[node.status] ?? "·"} ${node.type} ${node.id}: ${node.task}${doing} ${node.elapsed}s`;
  return [cut(line).padStart(line.length - line.trimStart().length), ...node.children.flatMap((child) => branch(child, depth + 1))];
}

function frame(state: State): string {
  const rows = live ? Math.max(5, (process.stdout.rows || 24) - 6 - state.tree.length) : Infinity;
  const lines = state.transcript.slice(-rows).map(item);
  if (state.tree.length > 0) {
    const { summary } = state;
    const sum = summary ? `${summary.done}/${summary.total} done, ${summary.running} running, ${summary.failed} failed` : "";
    lines.push("", paint(1, `Subagents ${sum}`), ...state.tree.flatMap((node) => branch(node, 1)));
  }
  const { usage } = state;
  const used = usage ? `${usage.tokensIn} in, ${usage.tokensOut} out, of ${usage.maxContext ?? "?"}` : "no tokens yet";
  lines.push("", paint(7, ` ${state.run ?? "idle"} · ${state.phase} · ${usage?.model ?? "?"} · ${used} `));
  return lines.join("\n");
}

async function permission(asked: RequestPermissionRequest): Promise<string> {
  if (values.yes) return "allow_once";
  if (!process.stdin.isTTY) return "reject_once";
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`\n${asked.toolCall.title ?? asked.toolCall.toolCallId}? [y/N] `);
  terminal.close();
  return answer.trim().toLowerCase() === "y" ? "allow_once" : "reject_once";
}

const tiller = await Tiller.start({ tiller: values.tiller, onPermission: permission });
const session = await tiller.newSession(process.cwd());
session.onChange((state) => {
  // The whole frame, from the top: a terminal that shows it is faster than a model that makes it.
  if (live && !state.asking) process.stdout.write(`\x1b[H\x1b[2J${frame(state)}`);
});
process.once("SIGINT", () => session.cancel());
const { stopReason } = await session.prompt(prompt);
process.stdout.write(`${live ? "\x1b[H\x1b[2J" : ""}${frame(session.state)}\n${stopReason}\n`);
process.exitCode = (await tiller.close()).code ?? 1;
