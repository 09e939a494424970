//! Conversion of Lua strings, which are bytes, to and from Rust and JSON text.

use mlua::{Lua, LuaString, Value};

/// Converts a Lua string to text; bytes that are not UTF-8 become replacement characters.
pub(crate) fn text(string: &LuaString) -> String {
    String::from_utf8_lossy(&string.as_bytes()).into_owned()
}

/// Creates a Lua string from bytes.
pub(crate) fn string(lua: &Lua, bytes: &[u8]) -> mlua::Result<Value> {
    lua.create_string(bytes).map(Value::String)
}
