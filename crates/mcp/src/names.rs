//! What servers and their tools are called.

/// The longest name that every vendor takes for a tool, in characters.
const TOOL_CHARS: usize = 64;
/// The longest name of a server.
const SERVER_CHARS: usize = 24;

/// A server's name in tools and rules: `a`-`z`, `0`-`9` and single underscores. A double one separates server and tool.
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

/// What models call a server's tool: `mcp__SERVER__TOOL`. One that is too long, or that held other characters than names may, ends in a hash
/// of what it was, so that two never become one.
pub fn tool_name(server: &str, tool: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let clean: String = tool.chars().map(plain).collect();
    let name = format!("mcp__{server}__{clean}");
    // One name is not for tools: rules know by it what a server asks of the model.
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
