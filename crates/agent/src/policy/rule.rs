//! A permission rule of the settings: its syntax and its matching.

use super::{
    names::{self, INTEGRATION, Kind, MCP},
    rules, shape,
};
use crate::text::host;

/// A rule of the form `TOOL` or `TOOL(PATTERN)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// The tool's name; `*` matches any characters.
    pub(super) tool: String,
    pub(super) pattern: Option<Pattern>,
}

/// The pattern that a rule applies to a call's accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// A pattern for each simple command, or for a path; `*` matches any characters, ignoring case.
    Text(String),
    /// `domain:NAME`: this host and its subdomains.
    Domain(String),
}

/// Returns the rest of a function's name after its prefix: the server or integration and the
/// function.
pub(super) fn function(name: &str) -> Option<&str> {
    name.strip_prefix(MCP).or_else(|| name.strip_prefix(INTEGRATION))
}

impl std::str::FromStr for PermissionRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "takes TOOL or TOOL(PATTERN), such as bash(cargo *), web_fetch(domain:docs.rs) or mcp__server__*, not {text:?}"
            )
        };
        let name = |name: &str| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*'))
        };
        match text.split_once('(') {
            None if name(text) => Ok(Self { tool: text.to_owned(), pattern: None }),
            Some((tool, rest)) if name(tool) => {
                let pattern = rest.strip_suffix(')').filter(|pattern| !pattern.is_empty()).ok_or_else(bad)?;
                let pattern = match pattern.strip_prefix("domain:") {
                    None => Pattern::Text(text_pattern(pattern)),
                    Some(domain) => Pattern::Domain(host::name(domain).ok_or_else(|| {
                        format!("takes a host name after domain:, such as docs.rs, not {domain:?}")
                    })?),
                };
                Ok(Self { tool: tool.to_owned(), pattern: Some(pattern) })
            }
            _ => Err(bad()),
        }
    }
}

/// Returns a pattern as it is matched. `cargo:*`, as other agents write it, is `cargo *`.
fn text_pattern(pattern: &str) -> String {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    match pattern.strip_suffix(":*") {
        Some(words) if !words.contains('/') => format!("{words} *"),
        _ => pattern.to_owned(),
    }
}

impl std::fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            Some(Pattern::Text(pattern)) => write!(f, "{}({pattern})", self.tool),
            Some(Pattern::Domain(domain)) => write!(f, "{}(domain:{domain})", self.tool),
        }
    }
}

impl PermissionRule {
    /// Expands a leading `~/` of the pattern to the home directory.
    pub fn at_home(mut self, home: &system::AbsPath) -> Self {
        if let Some(Pattern::Text(pattern)) = &mut self.pattern
            && let Some(rest) = pattern.strip_prefix("~/")
        {
            *pattern = format!("{}/{rest}", home.as_str().trim_end_matches('/'));
        }
        self
    }

    /// Checks that the rule names a known tool.
    ///
    /// # Errors
    ///
    /// Fails for an unknown tool, with the nearest known name.
    pub fn check_tool(&self) -> Result<(), String> {
        super::check_tool_pattern(&self.tool)
    }

    /// Returns whether the rule applies to every call of a tool.
    pub fn is_about_all_of(&self, tool: &str) -> bool {
        self.pattern.is_none() && self.names(tool)
    }

    /// Returns why the rule must not allow anything, if it must not.
    ///
    /// A name with a star could match tools that do not exist yet; only a star for the functions of
    /// one named server is accepted.
    pub fn too_wide_to_allow(&self) -> Option<&'static str> {
        let named = |rest: &str| rest.split_once("__").is_some_and(|(server, _)| !server.contains('*'));
        let wide = self.tool.contains('*') && !function(&self.tool).is_some_and(named);
        wide.then_some("an allow rule names its tool; a star may stand for functions of one MCP server or integration only: mcp__server__*")
    }

    /// Whether the rule names a tool, by its name or by the server of a function.
    pub(super) fn names(&self, tool: &str) -> bool {
        if self.tool.contains('*') {
            return rules::matches(&self.tool, tool);
        }
        let of_server = || {
            let server = function(&self.tool).filter(|server| !server.contains("__"));
            server.is_some() && tool.strip_prefix(&self.tool).is_some_and(|rest| rest.starts_with("__"))
        };
        self.tool == tool || of_server()
    }

    /// Returns the kind of access that the rule applies to, whatever tool has it. A rule for a tool
    /// that reads is about that tool alone if it has no pattern: `grep` does not mean `file_read`.
    pub(super) fn kind(&self) -> Option<Kind> {
        names::kind(&self.tool).filter(|kind| *kind != Kind::Read || self.pattern.is_some())
    }

    /// Whether the pattern equals this text and contains no wildcard.
    pub(super) fn is_exactly(&self, text: &str) -> bool {
        matches!(&self.pattern, Some(Pattern::Text(pattern)) if pattern == text && !pattern.contains(['*', '?', '[']))
    }

    /// Whether the pattern matches a command, a path or a URL. A rule without a pattern matches
    /// everything.
    pub(super) fn fits(&self, text: &str) -> bool {
        match &self.pattern {
            None => true,
            // `cargo *` matches `cargo` too, and `private/*` matches the directory itself.
            Some(Pattern::Text(pattern)) => {
                let ends = [" ", "/"].iter().any(|end| rules::matches(pattern, &format!("{text}{end}")));
                rules::matches(pattern, text) || ends
            }
            Some(Pattern::Domain(domain)) => host::of(text).is_some_and(|host| host::is_below(&host, domain)),
        }
    }

    /// Whether the pattern may match a command of which parts are open.
    pub(super) fn may_fit(&self, open: &str) -> bool {
        matches!(&self.pattern, Some(Pattern::Text(pattern)) if shape::may_match(pattern, open))
    }

    /// Whether the rule has a domain pattern and the text is a URL whose host cannot be determined.
    pub(super) fn is_puzzled_by(&self, text: &str) -> bool {
        matches!(self.pattern, Some(Pattern::Domain(_))) && host::of(text).is_none()
    }

    /// Returns the path that this rule keeps from being written with all that is below it, if it is
    /// a rule for one path: empty for the directories of the session.
    pub(super) fn unwritten(&self) -> Option<&str> {
        if names::kind(&self.tool) != Some(Kind::Write) {
            return None;
        }
        let Some(pattern) = &self.pattern else { return Some("") };
        let Pattern::Text(pattern) = pattern else { return None };
        let path = pattern.strip_suffix("**").or_else(|| pattern.strip_suffix('*')).unwrap_or(pattern);
        let whole = path.is_empty() || path.ends_with('/') || path.len() == pattern.len();
        (whole && !path.contains('*')).then(|| path.trim_end_matches('/'))
    }

    /// Returns the pattern of the paths that this rule excludes from reading, if it is such a rule.
    pub(super) fn unread(&self) -> Option<&str> {
        match (&self.pattern, self.kind()) {
            (Some(Pattern::Text(pattern)), Some(Kind::Read)) => Some(pattern),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_shown_the_same() {
        for text in ["bash", "bash(cargo *)", "mcp__git-hub__*", "web_fetch(domain:docs.rs)", "mcp__a"] {
            assert_eq!(text.parse::<PermissionRule>().unwrap().to_string(), text);
        }
        for bad in
            ["", "bash(", "bash()", "a b", "(x)", "bash(x", "web_fetch(domain:)", "web_fetch(domain:a b)"]
        {
            assert!(bad.parse::<PermissionRule>().is_err(), "{bad}");
        }
        let home = system::AbsPath::new("/home/me").unwrap();
        let rule: PermissionRule = "file_read(~/private/*)".parse().unwrap();
        assert_eq!(rule.at_home(&home).to_string(), "file_read(/home/me/private/*)");
    }

    #[test]
    fn a_star_allows_one_servers_functions_at_most() {
        for (text, wide) in [
            ("*", true),
            ("mcp__*", true),
            ("mcp__a*__x", true),
            ("file_*", true),
            ("mcp__a__*", false),
            ("integration__*", true),
            ("integration__a__*", false),
            ("mcp__a", false),
            ("bash(*)", false),
        ] {
            assert_eq!(text.parse::<PermissionRule>().unwrap().too_wide_to_allow().is_some(), wide, "{text}");
        }
    }
}
