//! Finds syntax that shells read differently.

use tree_sitter::Node;

/// The tokens of POSIX shells. Shells invoked as `sh` differ about any other token.
const TOKENS: &[&str] = &[
    "\"", "$", ";", "&", "&&", "||", "|", "\n", "(", ")", "{", "}", "<", ">", ">>", ">|", "<&", ">&", "!",
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "in", "case", "esac", ";;",
    "=", "$(", "`", "${", "<<", "<<-",
];

/// Words that some shells reserve at the beginning of a command.
const RESERVED: &[&str] = &[
    "function",
    "select",
    "coproc",
    "time",
    "[[",
    "]]",
    "alias",
    "let",
    "shopt",
    "noglob",
    "nocorrect",
    "repeat",
];

/// Nodes that are skipped: quoted text, and nodes that the reader marks as unknown anyway.
const TEXT: &[&str] = &[
    "raw_string",
    "string_content",
    "comment",
    "heredoc_body",
    "heredoc_content",
    "heredoc_start",
    "heredoc_end",
];

/// Nodes for syntax that POSIX does not define.
const OTHER: &[&str] = &[
    "ansi_c_string",
    "translated_string",
    "array",
    "brace_expression",
    "extglob_pattern",
    "herestring_redirect",
    "process_substitution",
    "test_command",
    "c_style_for_statement",
    "declaration_command",
    "subscript",
    "regex",
];

/// The maximum depth that is searched; the reader marks deeper trees as unknown.
const DEPTH: usize = 200;

/// Returns why another shell could read a line differently, if it could.
pub(super) fn differs(root: Node<'_>, source: &str) -> Option<&'static str> {
    const WHY: &str = "shells do not agree on what it means";
    let mut nodes = vec![(root, 0)];
    while let Some((node, depth)) = nodes.pop() {
        let kind = node.kind();
        let text = &source[node.byte_range()];
        let differs = match kind {
            kind if TEXT.contains(&kind) => continue,
            // `[` is a command everywhere; `[[` is syntax in some shells.
            "test_command" if text.starts_with("[ ") => continue,
            kind if OTHER.contains(&kind) => true,
            "word" => text.contains(['{', '}']) || extended(text),
            "command_name" => RESERVED.contains(&text) || text.starts_with(['~', '=']),
            // `>&word` names a file in one shell and is an error in another.
            "file_redirect" => !redirects(node, source),
            _ if !node.is_named() => !TOKENS.contains(&kind),
            _ => false,
        };
        if differs {
            return Some(WHY);
        }
        if depth < DEPTH {
            nodes.extend(node.children(&mut node.walk()).map(|child| (child, depth + 1)));
        }
    }
    None
}

/// Whether a word contains an extended pattern: `!(a)`, `@(a|b)`.
fn extended(text: &str) -> bool {
    ["!(", "@(", "+(", "?(", "*("].iter().any(|start| text.contains(start))
}

fn redirects(node: Node<'_>, source: &str) -> bool {
    let duplicates = node.children(&mut node.walk()).any(|child| matches!(child.kind(), "<&" | ">&"));
    let target = node.child_by_field_name("destination").map_or("", |target| &source[target.byte_range()]);
    !duplicates || target == "-" || (!target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit()))
}
