//! What every shell reads alike, and what not.

use tree_sitter::Node;

/// The tokens that POSIX has. Whatever else stands in a line is read differently by shells that go by `sh`.
const TOKENS: &[&str] = &[
    "\"", "$", ";", "&", "&&", "||", "|", "\n", "(", ")", "{", "}", "<", ">", ">>", ">|", "<&", ">&", "!",
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "in", "case", "esac", ";;",
    "=", "$(", "`", "${", "<<", "<<-",
];

/// Words that some shells take for part of the grammar, where a command could begin.
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

/// What is not looked into: text in quotes, and what the reader does not take for known anyway.
const TEXT: &[&str] = &[
    "raw_string",
    "string_content",
    "comment",
    "heredoc_body",
    "heredoc_content",
    "heredoc_start",
    "heredoc_end",
];

/// Nodes that POSIX has no word for.
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

/// Deeper trees are unknown for another reason.
const DEPTH: usize = 200;

/// Why a line could be read otherwise by another shell, if it could.
pub(super) fn differs(root: Node<'_>, source: &str) -> Option<&'static str> {
    const WHY: &str = "shells do not agree on what it means";
    let mut nodes = vec![(root, 0)];
    while let Some((node, depth)) = nodes.pop() {
        let kind = node.kind();
        let text = &source[node.byte_range()];
        let differs = match kind {
            kind if TEXT.contains(&kind) => continue,
            // `[` is a command; `[[` is not, to some.
            "test_command" if text.starts_with("[ ") => continue,
            kind if OTHER.contains(&kind) => true,
            "word" => text.contains(['{', '}']) || extended(text),
            "command_name" => RESERVED.contains(&text) || text.starts_with(['~', '=']),
            // `>&word` is a file to one shell and an error to another.
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

/// Whether a word holds an extended pattern: `!(a)`, `@(a|b)`.
fn extended(text: &str) -> bool {
    ["!(", "@(", "+(", "?(", "*("].iter().any(|start| text.contains(start))
}

fn redirects(node: Node<'_>, source: &str) -> bool {
    let duplicates = node.children(&mut node.walk()).any(|child| matches!(child.kind(), "<&" | ">&"));
    let target = node.child_by_field_name("destination").map_or("", |target| &source[target.byte_range()]);
    !duplicates || target == "-" || (!target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit()))
}
