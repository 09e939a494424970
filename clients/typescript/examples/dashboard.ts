// A dashboard for the terminal: what is said, what runs, who works, what it costs; drawn anew as it changes.
//
//     node dashboard.js [--tiller PROGRAM] [--yes] [--load SESSION] PROMPT
//
// Lines that are typed meanwhile: `cancel ID` cancels a subagent and those below it, `cancel all` all of them, `stop` the turn; `y` or
// `n` answers a request for permission. Without a terminal, each change of a subagent is a line of the output.

import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import {
  EndedError,
  type Item,
  type RequestPermissionRequest,
  type State,
  Tiller,
  cut,
  initial,
  line,
  listed,
  numbers,
  plain,
  rows,
} from "tiller-native";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tiller: { type: "string", default: "tiller" },
    yes: { type: "boolean", default: false },
    load: { type: "string" },
  },
});
const prompt = positionals.join(" ");
if (!prompt) {
  console.error("usage: dashboard [--tiller PROGRAM] [--yes] [--load SESSION] PROMPT");
  process.exit(2);
}

const live = process.stdout.isTTY;
const HINT = "cancel ID, cancel all, stop";
const MARKS = { pending: "○", in_progress: "◐", completed: "●", failed: "✗" };
const BEGINS: Record<string, [string, number]> = { user: ["> ", 1], assistant: ["  ", 0], error: ["! ", 31] };
const paint = (code: number, text: string): string => (live ? `\x1b[${code}m${text}\x1b[0m` : text);

function item(one: Item, width: number): string {
  if (one.kind === "tool") {
    return `${MARKS[one.status]} ${cut(one.status === "in_progress" ? `${one.title} ${one.progress}` : one.title, width - 2)}`;
  }
  const [begin, code] = BEGINS[one.kind] ?? ["· ", 2];
  return paint(code, begin + cut(one.text, width - 2));
}

/** What there is to show, on at most `height` lines of at most `width` columns. */
function frame(state: State, age: number, width: number, height = Infinity): string[] {
  let agents = rows(state, age).map((row) => line(row, width));
  if (agents.length > 0) agents = ["", paint(1, cut(`Subagents: ${numbers(state)}`, width)), ...agents];
  const room = Math.max(1, height - 5);
  if (agents.length > room) agents = [...agents.slice(0, room - 1), `… ${agents.length - room + 1} more`];
  const said = state.transcript.map((one) => item(one, width)).slice(-Math.max(1, height - 2 - agents.length));
  const { usage } = state;
  const cost = usage?.cost == null ? "" : ` · $${usage.cost.toFixed(4)}`;
  const used = usage ? `${usage.tokensIn} in, ${usage.tokensOut} out, of ${usage.maxContext ?? "?"}${cost}` : "no tokens yet";
  const status = cut(`${state.run ?? "idle"} · ${state.phase} · ${usage?.model ?? "?"} · ${used}`, width - 2);
  return [...said, ...agents, "", paint(7, ` ${status} `)];
}

let [state, at, hint]: [State, number, string] = [initial, performance.now(), HINT];
const shown = new Map<string, string>();

function draw(): void {
  const [width, height] = [(process.stdout.columns || 80) - 1, process.stdout.rows || 24];
  const lines = frame(state, (performance.now() - at) / 1000, width, height - 2);
  while (lines.length < height - 2) lines.push("");
  lines.push(paint(2, cut(hint, width)));
  // The last line is the user's: what is typed there stays, and the cursor returns to it.
  process.stdout.write(`\x1b7\x1b[H${lines.map((one) => `${one}\x1b[K\n`).join("")}\x1b8`);
}

let drawing: NodeJS.Timeout | undefined;
/** Draws soon, so that many changes are one frame; at most ten times a second. */
function changed(): void {
  if (live) drawing ??= setTimeout(() => ((drawing = undefined), draw()), 100);
}

function show(next: State): void {
  if (next.tree !== state.tree) at = performance.now();
  state = next;
  if (live) return changed();
  for (const row of rows(state)) {
    if (shown.get(row.id) === row.status) continue;
    shown.set(row.id, row.status);
    console.log(line(row, 1000));
  }
}

function say(text = HINT): void {
  hint = text;
  changed();
}

/** Those who wait for an answer, the first first. */
const waiting: { title: string; answer: (words: string) => void }[] = [];

async function permission({ toolCall }: RequestPermissionRequest): Promise<string> {
  if (values.yes) return "allow_once";
  if (!live || !process.stdin.isTTY) return "reject_once";
  const title = `${plain(toolCall.title ?? toolCall.toolCallId)}? y or n`;
  const words = await new Promise<string>((answer) => {
    waiting.push({ title, answer });
    say(waiting[0]?.title);
  });
  return words === "y" ? "allow_once" : "reject_once";
}

async function obey(words: string): Promise<void> {
  if (waiting.length > 0 && (words === "y" || words === "n")) {
    waiting.shift()?.answer(words);
    say(waiting[0]?.title);
  } else if (words === "stop") {
    session.cancel();
  } else if (words === "cancel all") {
    await session.request("subagents/cancel", {});
  } else if (words.startsWith("cancel ")) {
    const id = words.slice("cancel ".length).trim();
    const { cancelled } = await session.request("subagents/cancel", { id });
    say(cancelled ? HINT : `no subagent ${id} is at work`);
  }
}

const tiller = await Tiller.start({ tiller: values.tiller, onPermission: permission });
tiller.onChange((_, next) => show(next));
const session = values.load ? await tiller.loadSession(values.load, process.cwd()) : await tiller.newSession(process.cwd());
process.once("SIGINT", () => session.cancel());
const typed = createInterface({ input: process.stdin });
typed.on("line", (words) => {
  if (live) process.stdout.write("\x1b[2K\r");
  obey(words.trim()).catch((error: Error) => say(error.message));
});
if (live) process.stdout.write(`\x1b[2J\x1b[${process.stdout.rows};1H`);
// Times go on while nothing else happens.
const clock = setInterval(changed, 1000);
let reason: string;
try {
  ({ stopReason: reason } = await session.prompt(prompt));
  // The last numbers: events have them only once a second.
  state = listed(session.state, await session.request("subagents/list", {}));
} catch (error) {
  if (!(error instanceof EndedError)) throw error;
  // What was stored is shown: subagents that had ended, and those that were interrupted.
  await tiller.reconnect();
  reason = plain(error.message);
  process.exitCode = 1;
}
clearInterval(clock);
clearTimeout(drawing);
typed.close();
const width = live ? (process.stdout.columns || 80) - 1 : 1000;
process.stdout.write(`${live ? "\x1b[H\x1b[2J" : ""}${frame(state, 0, width).join("\n")}\n${reason}\n`);
process.exitCode ??= (await tiller.close()).code ?? 1;
await tiller.close();
