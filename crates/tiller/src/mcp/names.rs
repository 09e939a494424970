//! The names of a server's tools: the server's own, those for models and for scripts, and their
//! lookup.

use ::mcp::server_name;
use serde_json::{Value, json};

/// Adds to each row of a server's tools its name in scripts and its full path.
pub(super) fn add_paths(server: &str, rows: &mut [Value]) {
    let names: Vec<String> = rows.iter().map(|row| text(row, "name").to_owned()).collect();
    let lua_names = lua::lua_names(names.iter().map(String::as_str));
    let server = lua::lua_names([server]).remove(server).unwrap_or_default();
    for (row, name) in rows.iter_mut().zip(&names) {
        row["callable"] = json!(lua_names[name]);
        row["lua_path"] = json!(format!("app.mcp.{server}.{}", lua_names[name]));
    }
}

/// Returns the server of a tool's name: `SERVER.TOOL`, or `mcp__SERVER__TOOL`.
pub(super) fn server_of(function: &str) -> Option<String> {
    let function = function.strip_prefix("app.mcp.").unwrap_or(function);
    let server = match function.strip_prefix("mcp__") {
        Some(rest) => rest.split("__").next(),
        None => function.split_once(['.', '[']).map(|(server, _)| server),
    };
    server.map(server_name)
}

/// Returns the index of the tool that a name refers to. The server's own name takes precedence over
/// the name for models, and that over the name in scripts.
pub(super) fn resolve<'a>(rows: impl Iterator<Item = &'a Value> + Clone, function: &str) -> Option<usize> {
    let path = function.strip_prefix("app.mcp.").unwrap_or(function);
    let below = path.split_once('.').map(|(_, tool)| tool);
    let quoted = path.split_once('[').map(|(_, tool)| format!("[{tool}"));
    let is_own = |row: &Value| {
        let name = text(row, "name");
        below == Some(name)
            || quoted.as_ref().is_some_and(|quoted| *quoted == format!("[{}]", lua::literal(&json!(name))))
    };
    let is_models = |row: &Value| {
        let known = text(row, "function");
        known == function
            || (known.starts_with("mcp__") && below.is_some() && below == known.splitn(3, "__").nth(2))
    };
    let is_written = |row: &Value| {
        let callable = text(row, "callable");
        let of_models = function.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        below == Some(callable)
            || of_models.is_some_and(|(_, tool)| tool == callable || tool == text(row, "name"))
    };
    let ways: [&dyn Fn(&Value) -> bool; 3] = [&is_own, &is_models, &is_written];
    ways.into_iter().find_map(|is_meant| rows.clone().position(is_meant))
}

/// Returns the tool with the most similar name, as `SERVER.TOOL`.
pub(super) fn nearest<'a>(rows: impl Iterator<Item = &'a Value> + Clone, function: &str) -> Option<String> {
    let path = function.strip_prefix("app.mcp.").unwrap_or(function);
    let wanted = match path.strip_prefix("mcp__") {
        Some(rest) => rest.split_once("__")?.1,
        None => path.split_once('.')?.1,
    };
    let folded = |name: &str| name.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    let wanted = folded(wanted);
    let likeness = |row: &&Value| strsim::jaro_winkler(&folded(text(row, "name")), &wanted);
    let row = rows.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&row) > 0.9).then(|| format!("{}.{}", text(row, "server"), text(row, "name")))
}

fn text<'a>(row: &'a Value, member: &str) -> &'a str {
    row[member].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_resolves_by_each_of_its_names_with_its_own_first() {
        let mut rows: Vec<Value> = ["get-sum", "get_sum", "a.b", "end"]
            .map(|name| json!({ "server": "s", "name": name, "function": ::mcp::tool_name("s", name) }))
            .into();
        add_paths("s", &mut rows);
        for (function, name) in [
            ("s.get-sum", "get-sum"),
            ("s.get_sum", "get_sum"),
            ("s.get_sum_2", "get-sum"),
            ("mcp__s__get-sum", "get-sum"),
            ("mcp__s__get_sum", "get_sum"),
            ("mcp__s__get_sum_2", "get-sum"),
            ("s.a.b", "a.b"),
            ("s.a_b", "a.b"),
            ("mcp__s__a.b", "a.b"),
            ("app.mcp.s.a_b", "a.b"),
            ("app.mcp.s[\"get-sum\"]", "get-sum"),
            ("s.end_", "end"),
            ("s.end", "end"),
        ] {
            let found = resolve(rows.iter(), function).map(|at| text(&rows[at], "name"));
            assert_eq!(found, Some(name), "{function}");
            assert_eq!(server_of(function).as_deref(), Some("s"), "{function}");
        }
        assert_eq!(resolve(rows.iter(), "s.getSum"), None);
        assert_eq!(nearest(rows.iter(), "s.getSam").as_deref(), Some("s.get_sum"));
        assert_eq!(rows[0]["lua_path"], "app.mcp.s.get_sum_2");
        // The hash in the model's name is computed from the server's name of the tool.
        let hashed = ::mcp::tool_name("s", "a.b");
        assert_eq!(resolve(rows.iter(), &hashed), Some(2));
    }
}
