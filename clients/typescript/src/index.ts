export type { Asked, Callbacks, Terminals } from "./callbacks.js";
export { type Options, type Reconnected, TIMEOUT, Tiller } from "./client.js";
export type { RequestOptions } from "./connection.js";
export { EndedError, type Exit, ProtocolError, RequestError, RequestTimeout, TillerError } from "./errors.js";
export type { AnyEvent, AnyUpdate, UnknownEvent, UnknownUpdate } from "./events.js";
export {
  AT_WORK,
  type Call,
  type Item,
  type State,
  type ToolStatus,
  brokenOff,
  initial,
  isAtWork,
  listed,
  opened,
  reduce,
  reduceUpdate,
  textOf,
} from "./reducer.js";
export { type Params, Session, type SessionOptions } from "./session.js";
export { type Row, line, numbers, rows } from "./swarm.js";
export { cut, plain } from "./terminal.js";
export type * from "./types.js";
