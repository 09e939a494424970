export { RequestError, Session, Tiller, type Options, type PermissionAsked } from "./client.js";
export { initial, reduce, type Item, type State, type ToolStatus } from "./reducer.js";
export type * from "./types.js";
