// What can go wrong, each with what a program needs to decide what to do next.

/** Any error of this package. */
export class TillerError extends Error {
  override name = "TillerError";
}

/** Tiller answered with an error. A callback may throw one to answer the agent with it. */
export class RequestError extends TillerError {
  override name = "RequestError";

  /** `code` and `data` are those of JSON-RPC; `method` is what was asked, where it is known. */
  constructor(readonly code: number, message: string, readonly data?: unknown, readonly method?: string) {
    super(message);
  }
}

/** The program ended, could not be started, or was closed before it answered. */
export class EndedError extends TillerError {
  override name = "EndedError";

  constructor(why: string, readonly exit: Exit, options?: ErrorOptions) {
    const said = exit.stderr.length > 0 ? `; it wrote last: ${exit.stderr.slice(-3).join(" | ")}` : "";
    super(`${why}${said}`, options);
  }
}

/** How the program ended. */
export interface Exit {
  /** The exit code; null after a signal, and where it never started. */
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The last lines on its stderr, at most 50. */
  stderr: string[];
}

/** No answer came within the time limit. The agent was asked to drop the request. */
export class RequestTimeout extends TillerError {
  override name = "RequestTimeout";

  /** `seconds` is the limit. */
  constructor(readonly method: string, readonly seconds: number) {
    super(`${method} was not answered within ${seconds} s`);
  }
}

/** What the agent sent does not follow the protocol. */
export class ProtocolError extends TillerError {
  override name = "ProtocolError";

  /** `data` is what was sent, cut where it is a long line. */
  constructor(message: string, readonly data?: unknown) {
    super(message);
  }
}

/** As an error, whatever was thrown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
