//! The rules that would have allowed a call, for a run without a user who could approve it.

use super::{
    PermissionRule, host,
    rule::function,
    shell::{self, Dialect, Shell},
};
use serde_json::Value;

/// Returns the rules that together allow a call of this tool with these arguments: one for each
/// simple command, or one for the host or the function. `exactly` is for a command that asks in
/// every mode, which only a rule for the whole line allows. Empty if no rule can allow it: rules
/// never reach beyond the project's boundary.
pub fn rules_that_allow(tool: &str, input: &Value, exactly: bool) -> Vec<PermissionRule> {
    let text = |field: &str| input.get(field).and_then(Value::as_str);
    let rule = |pattern: &str| format!("{tool}({pattern})").parse().ok();
    if function(tool).is_some() {
        return tool.parse().into_iter().collect();
    }
    match (tool, text("command"), text("url")) {
        ("bash" | "shell" | "shell_start", Some(line), _) if exactly => {
            rule(line.trim()).into_iter().collect()
        }
        ("bash" | "shell" | "shell_start", Some(line), _) => match shell::parse(line, Dialect::Bash) {
            Shell::Commands(commands) => {
                let rules: Vec<_> = commands.iter().map(|command| rule(&command.line())).collect();
                rules.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default()
            }
            Shell::Unknown { .. } => rule(line.trim()).into_iter().collect(),
        },
        ("web_fetch", _, Some(url)) => {
            let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
            let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
            let name = authority.rsplit('@').next().unwrap_or_default();
            let name = name.split(':').next().unwrap_or_default();
            host::name(name).and_then(|name| rule(&format!("domain:{name}"))).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_allowed_by_a_rule_for_each_of_its_parts() {
        for (tool, input, exactly, expected) in [
            ("bash", json!({ "command": "git push" }), false, &["bash(git push)"][..]),
            (
                "bash",
                json!({ "command": "make && git push -q" }),
                false,
                &["bash(make)", "bash(git push -q)"],
            ),
            ("bash", json!({ "command": "rm -rf build && ls" }), true, &["bash(rm -rf build && ls)"]),
            (
                "web_fetch",
                json!({ "url": "https://me@docs.rs:443/serde?x" }),
                false,
                &["web_fetch(domain:docs.rs)"],
            ),
            ("mcp__files__read", json!({}), false, &["mcp__files__read"]),
            ("file_write", json!({ "path": "/etc/hosts" }), false, &[]),
        ] {
            let rules: Vec<_> =
                rules_that_allow(tool, &input, exactly).iter().map(ToString::to_string).collect();
            assert_eq!(rules, expected, "{tool} {input}");
        }
    }
}
