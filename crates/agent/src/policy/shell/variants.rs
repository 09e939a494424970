//! Alternative readings of a line that is not fully understood, for the deny rules: a line that is
//! denied in any reading is never run.

use super::Dialect;

/// The maximum number of variables of a line that are expanded.
const VARIABLES: usize = 16;
/// The maximum growth of a line by expansion, as a factor.
const GROWTH: usize = 4;

/// Returns other readings as lines: without here-documents, with expansions, and with operators
/// split where another shell splits them.
pub(super) fn of(line: &str, dialect: Dialect) -> Vec<String> {
    let mut variants = Vec::new();
    let spelled_out = braces(&variables(line));
    if spelled_out != line {
        variants.push(spelled_out.clone());
    }
    if dialect == Dialect::Unknown {
        let apart = split_operators(&spelled_out);
        if apart != spelled_out {
            variants.push(apart);
        }
    }
    let lines = || spelled_out.split('\n').map(|line| line.trim_start().trim_start_matches('\\'));
    if spelled_out.contains('\n') {
        // Lines that begin with a backslash as lines of their own.
        variants.push(lines().collect::<Vec<_>>().join("\n"));
    }
    if line.contains("alias ") {
        variants.push(aliases(&spelled_out));
    }
    if line.contains("<<") {
        variants.push(without_documents(line));
    }
    variants
}

/// Splits operators as a shell with a smaller grammar than bash does.
fn split_operators(line: &str) -> String {
    const APART: [(&str, &str); 8] = [
        ("&>", "& >"),
        ("|&", "| "),
        ("((", "( ("),
        ("))", ") )"),
        ("[[ ", "true "),
        ("$'", "'"),
        ("<(", "; ("),
        (">(", "; ("),
    ];
    let line = APART.iter().fold(line.to_owned(), |line, (token, parts)| line.replace(token, parts));
    line.replace("coproc ", "; ").replace("function ", "; true ")
}

/// Expands `{rm,-rf,x}` to its words and `$IFS` to a space.
fn braces(line: &str) -> String {
    let line = line.replace("${IFS}", " ").replace("$IFS", " ");
    if !(line.contains('{') && line.contains(',')) {
        return line;
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let list = after.split_once('}').filter(|(list, _)| list.contains(',') && !before.ends_with('$'));
        out.push_str(before);
        match list {
            Some((list, behind)) => {
                out.push_str(&list.replace(',', " "));
                rest = behind;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out + rest
}

/// Replaces the line's own variables by their values: `X=rm; $X -rf y`.
fn variables(line: &str) -> String {
    let mut out = line.to_owned();
    for (name, value) in assignments(line) {
        if value.contains(&format!("${name}")) || out.len() > line.len() * GROWTH + 256 {
            continue;
        }
        out = out.replace(&format!("${{{name}}}"), value);
        // `$name` must not match the beginning of `$names`.
        let mut replaced = String::with_capacity(out.len());
        let token = format!("${name}");
        let mut rest = out.as_str();
        while let Some((before, after)) = rest.split_once(&token) {
            replaced.push_str(before);
            let longer = after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            replaced.push_str(if longer { &token } else { value });
            rest = after;
        }
        replaced.push_str(rest);
        out = replaced;
    }
    out
}

/// Replaces the line's own aliases where a command may begin.
fn aliases(line: &str) -> String {
    let mut out = format!("\n{line}");
    for (name, value) in assignments(line) {
        for before in ["\n", ";", "; ", "&& ", "|| ", "| ", "( ", "{ "] {
            out = out.replace(&format!("{before}{name} "), &format!("{before}{value} "));
        }
    }
    out
}

/// Returns the variables that a line sets to a literal text.
fn assignments(line: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices('=').take(VARIABLES) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let start = line[..at].rfind(|c| !is_name(c)).map_or(0, |before| before + 1);
        let name = line.get(start..at).unwrap_or_default();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let rest = &line[at + 1..];
        let value = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => rest[1..].split_once(quote).map(|(value, _)| value),
            _ => rest.split([' ', ';', '\n', '&', '|', '\t', ')']).next(),
        };
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            found.push((name, value));
        }
    }
    found
}

/// Removes here-documents, because a grammar could mistake a document's end for another line.
fn without_documents(line: &str) -> String {
    let mut out = String::new();
    let mut ends: Vec<String> = Vec::new();
    for text in line.lines() {
        if let Some(end) = ends.first() {
            if text.trim_start_matches('\t') == end {
                ends.remove(0);
            }
            continue;
        }
        out.push_str(text);
        out.push('\n');
        for (at, _) in text.match_indices("<<") {
            let rest = text[at + 2..].trim_start_matches('-');
            if rest.starts_with('<') || text[..at].ends_with('<') {
                continue;
            }
            let end: String = rest
                .trim_start()
                .chars()
                .take_while(|c| !c.is_whitespace() && !matches!(c, ';' | '|' | '&' | '<' | '>' | ')'))
                .filter(|c| !matches!(c, '\'' | '"' | '\\'))
                .collect();
            if !end.is_empty() {
                ends.push(end);
            }
        }
    }
    // The remaining operators would start documents without an end.
    out.replace("<<-", "< ").replace("<<", "< ")
}
