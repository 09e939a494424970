//! The names of a server's tools: the server's own, those for models and for scripts, and their
//! lookup.

use super::rows::ToolRow;
use ::mcp::server_name;
use serde_json::json;

/// Adds to each row of a server's tools its name in scripts and its full path.
pub(super) fn add_paths(server: &str, rows: &mut [ToolRow]) {
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let lua_names = lua::lua_names(names.iter().map(String::as_str));
    let server = lua::lua_names([server]).remove(server).unwrap_or_default();
    for (row, name) in rows.iter_mut().zip(&names) {
        row.callable = lua_names[name].clone();
        row.lua_path = format!("app.mcp.{server}.{}", lua_names[name]);
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
pub(super) fn resolve<'a>(rows: impl Iterator<Item = &'a ToolRow> + Clone, function: &str) -> Option<usize> {
    let path = function.strip_prefix("app.mcp.").unwrap_or(function);
    let below = path.split_once('.').map(|(_, tool)| tool);
    let quoted = path.split_once('[').map(|(_, tool)| format!("[{tool}"));
    let is_own = |row: &ToolRow| {
        let name = row.name.as_str();
        below == Some(name)
            || quoted.as_ref().is_some_and(|quoted| *quoted == format!("[{}]", lua::literal(&json!(name))))
    };
    let is_models = |row: &ToolRow| {
        let known = row.function.as_str();
        known == function
            || (known.starts_with("mcp__") && below.is_some() && below == known.splitn(3, "__").nth(2))
    };
    let is_written = |row: &ToolRow| {
        let callable = row.callable.as_str();
        let of_models = function.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        below == Some(callable) || of_models.is_some_and(|(_, tool)| tool == callable || tool == row.name)
    };
    let ways: [&dyn Fn(&ToolRow) -> bool; 3] = [&is_own, &is_models, &is_written];
    ways.into_iter().find_map(|is_meant| rows.clone().position(is_meant))
}

/// Returns the tool with the most similar name, as `SERVER.TOOL`.
pub(super) fn nearest<'a>(rows: impl Iterator<Item = &'a ToolRow> + Clone, function: &str) -> Option<String> {
    let path = function.strip_prefix("app.mcp.").unwrap_or(function);
    let wanted = match path.strip_prefix("mcp__") {
        Some(rest) => rest.split_once("__")?.1,
        None => path.split_once('.')?.1,
    };
    let row = agent::closest(wanted, rows, |row| &row.name)?;
    Some(format!("{}.{}", row.server, row.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_resolves_by_each_of_its_names_with_its_own_first() {
        let mut rows = ["get-sum", "get_sum", "a.b", "end"].map(|name| ToolRow {
            server: "s".to_owned(),
            name: name.to_owned(),
            function: ::mcp::tool_name("s", name),
            ..ToolRow::default()
        });
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
            let found = resolve(rows.iter(), function).map(|at| rows[at].name.as_str());
            assert_eq!(found, Some(name), "{function}");
            assert_eq!(server_of(function).as_deref(), Some("s"), "{function}");
        }
        assert_eq!(resolve(rows.iter(), "s.getSum"), None);
        assert_eq!(nearest(rows.iter(), "s.getSam").as_deref(), Some("s.get-sum"));
        assert_eq!(rows[0].lua_path, "app.mcp.s.get_sum_2");
        // The hash in the model's name is computed from the server's name of the tool.
        let hashed = ::mcp::tool_name("s", "a.b");
        assert_eq!(resolve(rows.iter(), &hashed), Some(2));
    }
}
