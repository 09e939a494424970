//! The names of servers and of their tools.

/// The longest tool name that every vendor accepts, in characters.
const TOOL_CHARS: usize = 64;
/// The longest name of a server, in characters.
const SERVER_CHARS: usize = 24;

/// Converts a name to the form used in tools and rules: `a`-`z`, `0`-`9` and single underscores. A
/// double underscore separates server and tool.
pub fn server_name(given: &str) -> String {
    let mut name = String::new();
    for c in given.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            _ if name.is_empty() || name.ends_with('_') => {}
            _ => name.push('_'),
        }
        if name.len() == SERVER_CHARS {
            break;
        }
    }
    let name = name.trim_end_matches('_');
    if name.is_empty() { "server".to_owned() } else { name.to_owned() }
}

/// Returns a tool's name for models: `mcp__SERVER__TOOL`. A name that is too long, or had to be
/// altered, ends in a hash of the original, so that two tools never share a name.
pub fn tool_name(server: &str, tool: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let clean: String = tool.chars().map(plain).collect();
    let name = format!("mcp__{server}__{clean}");
    // Reserved: rules use this name for a server's sampling requests.
    if name.len() <= TOOL_CHARS && clean == tool && !clean.is_empty() && tool != agent::SAMPLING {
        return name;
    }
    let hash = &blake3::hash(tool.as_bytes()).to_hex()[..8];
    let kept: String = name.chars().take(TOOL_CHARS - 9).collect();
    format!("{kept}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_name_has_no_double_underscore() {
        for (given, name) in [
            ("github", "github"),
            ("My Server!", "my_server"),
            ("a__b", "a_b"),
            ("@scope/name.x", "scope_name_x"),
            ("___", "server"),
            ("ÄÖ", "server"),
            ("a-very-long-name-of-a-server-that-goes-on", "a_very_long_name_of_a_se"),
        ] {
            assert_eq!(server_name(given), name, "{given}");
        }
    }

    #[test]
    fn two_tools_never_get_one_name() {
        assert_eq!(tool_name("git", "log"), "mcp__git__log");
        let (dot, space) = (tool_name("git", "a.b"), tool_name("git", "a b"));
        assert!(dot.starts_with("mcp__git__a_b_") && dot != space, "{dot} {space}");
        assert_ne!(tool_name("git", agent::SAMPLING), format!("mcp__git__{}", agent::SAMPLING));
        let long = tool_name("git", &"x".repeat(200));
        assert_eq!(long.len(), 64);
        assert_ne!(long, tool_name("git", &"x".repeat(201)));
    }
}
