// What the agent asks of the program: permissions, answers of a person, files and terminals.

import { RequestError, asError } from "./errors.js";
import type * as t from "./types.js";

/** Where a callback's request stands: `signal` aborts when the agent takes it back, or ends. */
export interface Asked {
  signal: AbortSignal;
}

type Callback<M extends keyof t.ClientRequests> = (
  params: t.ClientRequests[M]["params"],
  asked: Asked,
) => Result<t.ClientRequests[M]["result"]>;
type Result<T> = T | Promise<T>;

/** Terminals in which the agent runs its commands. */
export interface Terminals {
  create: Callback<"terminal/create">;
  output: Callback<"terminal/output">;
  waitForExit: Callback<"terminal/wait_for_exit">;
  kill: (params: t.KillTerminalRequest, asked: Asked) => Result<void>;
  release: (params: t.ReleaseTerminalRequest, asked: Asked) => Result<void>;
}

/** What the program answers. The capabilities that the agent is told follow from what is there. */
export interface Callbacks {
  /**
   * Chooses an option by its `optionId` or its `kind`; null dismisses the question. Without it everything is rejected, as when
   * it throws, or chooses what is not there.
   */
  onPermission?: (asked: t.RequestPermissionRequest, about: Asked) => Result<string | null>;
  /** Answers a form, or has a page opened. Without it the agent asks no such questions. */
  onElicitation?: Callback<"elicitation/create">;
  /** Reads a file as the program has it, with what is not saved. Without it the agent reads the disk. */
  onReadTextFile?: Callback<"fs/read_text_file">;
  /** Writes a file. Without it the agent writes the disk. */
  onWriteTextFile?: (params: t.WriteTextFileRequest, asked: Asked) => Result<void>;
  /** Without it the agent runs its commands itself. */
  terminal?: Terminals;
}

/** The capabilities that follow from the callbacks. */
export function capabilities(callbacks: Callbacks): t.ClientCapabilities {
  const told: t.ClientCapabilities = {
    fs: { readTextFile: !!callbacks.onReadTextFile, writeTextFile: !!callbacks.onWriteTextFile },
    terminal: !!callbacks.terminal,
    _meta: { tiller: { events: true } },
  };
  if (callbacks.onElicitation) told.elicitation = { form: {}, url: {} };
  return told;
}

/** The answer to a request of the agent; throws a `RequestError` for one that is refused. */
export async function answer(
  callbacks: Callbacks,
  method: string,
  params: unknown,
  asked: Asked,
  report: (error: Error) => void,
): Promise<unknown> {
  const callback = called(callbacks, method as keyof t.ClientRequests, report);
  if (!callback) throw new RequestError(-32601, `Method not found: ${method}`);
  if (typeof params !== "object" || params === null) throw new RequestError(-32602, `${method} has no parameters`);
  return (await callback(params as never, asked)) ?? {};
}

function called(callbacks: Callbacks, method: keyof t.ClientRequests, report: (error: Error) => void) {
  const { terminal } = callbacks;
  switch (method) {
    case "session/request_permission":
      return (params: t.RequestPermissionRequest, asked: Asked) => permission(callbacks, params, asked, report);
    case "elicitation/create":
      return callbacks.onElicitation?.bind(callbacks);
    case "fs/read_text_file":
      return callbacks.onReadTextFile?.bind(callbacks);
    case "fs/write_text_file":
      return callbacks.onWriteTextFile?.bind(callbacks);
    case "terminal/create":
      return terminal?.create.bind(terminal);
    case "terminal/output":
      return terminal?.output.bind(terminal);
    case "terminal/wait_for_exit":
      return terminal?.waitForExit.bind(terminal);
    case "terminal/kill":
      return terminal?.kill.bind(terminal);
    case "terminal/release":
      return terminal?.release.bind(terminal);
    default:
      return undefined;
  }
}

async function permission(
  callbacks: Callbacks,
  params: t.RequestPermissionRequest,
  asked: Asked,
  report: (error: Error) => void,
): Promise<t.RequestPermissionResponse> {
  if (!Array.isArray(params.options)) throw new RequestError(-32602, "session/request_permission has no options");
  let chosen: string | null = "reject_once";
  try {
    if (callbacks.onPermission) chosen = await callbacks.onPermission(params, asked);
  } catch (error) {
    report(asError(error));
  }
  if (chosen === null) return { outcome: { outcome: "cancelled" } };
  const by = (key: "optionId" | "kind", value: string | null) => params.options.find((option) => option[key] === value);
  let option = by("optionId", chosen) ?? by("kind", chosen);
  if (!option && chosen !== "reject_once") report(new TypeError(`onPermission chose ${JSON.stringify(chosen)}, which is no option`));
  option ??= by("kind", "reject_once");
  return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
}
