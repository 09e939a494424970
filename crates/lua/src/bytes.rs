//! Strings of Lua are bytes; those of Rust and JSON are text.

use mlua::{Lua, LuaString, Value};

/// The text of a string; bytes that are no UTF-8 become replacement characters.
pub(crate) fn text(string: &LuaString) -> String {
    String::from_utf8_lossy(&string.as_bytes()).into_owned()
}

/// A Lua string of these bytes.
pub(crate) fn string(lua: &Lua, bytes: &[u8]) -> mlua::Result<Value> {
    lua.create_string(bytes).map(Value::String)
}
