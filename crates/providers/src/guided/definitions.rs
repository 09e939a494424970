//! Keeps the definitions of a file that a model rewrites without being asked to change them.
//!
//! Small models that are asked for a whole file often write only the definition that changes, or
//! change definitions that the request does not speak of. What was not asked for stays as it was.

use super::words::{is_part, occurrences};

/// A rewritten file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reconciled {
    pub(super) text: String,
    /// The definitions that the new text left out or changed without need, and that were kept.
    pub(super) kept: Vec<String>,
}

/// Consecutive lines without indentation at their beginning: a paragraph or a definition.
#[derive(Debug, Clone)]
struct Part {
    text: String,
    /// The definitions in it, at its outer level.
    names: Vec<String>,
    /// Whether it was put back into a text that leaves it out.
    is_restored: bool,
}

/// Words before the keyword or the type of a definition.
const MODIFIERS: [&str; 19] = [
    "pub",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "final",
    "abstract",
    "sealed",
    "override",
    "unsafe",
    "extern",
    "inline",
    "open",
    "declare",
    "local",
];
/// Words after which the name of a definition stands.
const KEYWORDS: [&str; 22] = [
    "def",
    "fn",
    "func",
    "fun",
    "function",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "namespace",
    "module",
    "mod",
    "record",
    "union",
    "object",
    "const",
    "let",
    "var",
    "val",
    "sub",
];
/// Words that begin a statement that looks like a definition in C.
const STATEMENTS: [&str; 10] =
    ["if", "for", "while", "switch", "return", "else", "with", "print", "assert", "catch"];
/// Words of prompts that ask to take something away.
const REMOVALS: [&str; 13] = [
    "remove",
    "delete",
    "drop",
    "unused",
    "dead code",
    "simplif",
    "shorten",
    "clean up",
    "entfern",
    "lösch",
    "supprim",
    "elimin",
    "borra",
];
/// Names of definitions that prompts mention without meaning to do away with them.
const GENERAL: [&str; 4] = ["main", "test", "tests", "Main"];
/// Extensions of languages in which functions stand inside classes only.
const CLASSES_ONLY: [&str; 3] = [".java", ".cs", ".kt"];

/// Combines the old text of a file with the new one that a model wrote for a prompt:
///
/// - Definitions that the new text leaves out are put back where they stood, unless the prompt
///   names them or asks to remove something.
/// - If the prompt names a definition that changed, others keep their text, unless it mentions
///   what changed or is new.
///
/// `None` if the new text is a fragment whose place is unknown.
pub(super) fn reconciled(file: &str, old: &str, new: &str, prompt: &str) -> Option<Reconciled> {
    let is_markdown = file.ends_with(".md") || file.ends_with(".markdown");
    let end = &old[old.trim_end_matches('\n').len()..];
    let (old, mut new) = (parts(old, is_markdown), parts(new, is_markdown));
    let mut kept = Vec::new();
    let lower = prompt.to_lowercase();
    if !REMOVALS.iter().any(|word| lower.contains(word)) {
        let names: Vec<String> = new.iter().flat_map(|part| part.names.clone()).collect();
        let is_lost = |part: &&Part| {
            let is_named = |name: &String| !GENERAL.contains(&name.as_str()) && mentions(prompt, name);
            let is_free = |name: &String| !names.contains(name) && !is_named(name);
            !part.names.is_empty() && part.names.iter().all(is_free)
        };
        let lost: Vec<&Part> = old.iter().filter(is_lost).collect();
        if !lost.is_empty() {
            if is_inside(file, &lost, &new) {
                return None;
            }
            kept.extend(lost.iter().flat_map(|part| part.names.clone()));
            new = restored(&old, new, &kept);
        }
    }
    if !is_markdown {
        kept.extend(keep_unnamed(&old, &mut new, prompt));
    }
    Some(Reconciled { text: joined(&new, end), kept })
}

/// Returns whether a fragment belongs inside one of the definitions that it leaves out.
fn is_inside(file: &str, lost: &[&Part], fragment: &[Part]) -> bool {
    let is_class = |part: &Part| {
        part.text.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().take(4).collect();
            !line.starts_with(char::is_whitespace) && words.contains(&"class")
        })
    };
    let classes: Vec<&&Part> = lost.iter().filter(|part| is_class(part)).collect();
    let takes_self = |part: &Part| part.text.lines().next().is_some_and(|line| line.contains("self"));
    let has_member = |name: &String| {
        let lines = classes.iter().flat_map(|part| part.text.lines());
        lines
            .filter(|line| line.starts_with(char::is_whitespace))
            .any(|line| defined(line.trim_start()).as_ref() == Some(name))
    };
    let is_member = |part: &Part| takes_self(part) || part.names.iter().any(has_member);
    !classes.is_empty()
        && (CLASSES_ONLY.iter().any(|extension| file.ends_with(extension)) || fragment.iter().any(is_member))
}

/// Puts parts of the old text back that the new one leaves out: those that define one of `lost`,
/// and those without a definition of which no line is left.
fn restored(old: &[Part], mut new: Vec<Part>, lost: &[String]) -> Vec<Part> {
    let mut at = 0;
    for part in old {
        let place = new.iter().position(|other| is_same(part, other));
        match place {
            Some(place) => {
                with_space_of(&mut new[place], part);
                at = place + 1;
            }
            None if part.names.is_empty() || part.names.iter().any(|name| lost.contains(name)) => {
                new.insert(at, Part { is_restored: true, ..part.clone() });
                at += 1;
            }
            // The prompt names it.
            None => {}
        }
    }
    new
}

/// Returns whether a part of the new text stands for one of the old text.
fn is_same(old: &Part, new: &Part) -> bool {
    if !old.names.is_empty() {
        return old.names.iter().any(|name| new.names.contains(name));
    }
    let lines = |part: &Part| -> Vec<String> {
        part.text.lines().map(|line| line.trim().to_owned()).filter(|line| line.len() > 1).collect()
    };
    let known = lines(new);
    lines(old).iter().any(|line| known.contains(line))
}

/// Gives definitions their old text that changed although the prompt names another one that
/// changed, and returns their names.
fn keep_unnamed(old: &[Part], new: &mut [Part], prompt: &str) -> Vec<String> {
    let before = |part: &Part| old.iter().find(|other| !part.names.is_empty() && other.names == part.names);
    let is_changed = |part: &Part| before(part).is_none_or(|other| other.text.trim() != part.text.trim());
    let changed = |part: &&Part| !part.names.is_empty() && is_changed(part);
    if !new.iter().filter(changed).any(|part| part.names.iter().any(|name| is_marked(prompt, name))) {
        return Vec::new();
    }
    let header = |part: &Part| part.text.lines().find(|line| defined(line).is_some()).map(str::to_owned);
    // What others may have to change for: definitions that are new or are used differently.
    let causes: Vec<String> = new
        .iter()
        .filter(|part| match before(part) {
            Some(other) => {
                header(other) != header(part) || part.names.iter().any(|name| mentions(prompt, name))
            }
            None => true,
        })
        .flat_map(|part| part.names.clone())
        .collect();
    let mut kept = Vec::new();
    for part in new.iter_mut() {
        let Some(other) = before(part).filter(|other| other.text.trim() != part.text.trim()) else {
            continue;
        };
        let is_free = part.names.iter().all(|name| !causes.contains(name) && !mentions(prompt, name));
        let has_cause = |line: &str| causes.iter().any(|name| mentions(line, name));
        let added =
            part.text.lines().filter(|line| !other.text.lines().any(|known| known.trim() == line.trim()));
        if is_free && !added.into_iter().any(has_cause) {
            part.text.clone_from(&other.text);
            kept.extend(part.names.clone());
        }
    }
    kept
}

/// Splits a text. A part begins at a line without indentation that follows an empty line or begins
/// a definition of its own, in Markdown at a heading.
fn parts(text: &str, is_markdown: bool) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut follows_blank, mut in_block, mut is_complete) = (true, false, false);
    for line in text.lines() {
        let is_outer = line.starts_with(|c: char| !c.is_whitespace());
        let name = match is_markdown {
            true if line.trim_start().starts_with("```") => {
                in_block = !in_block;
                None
            }
            true => (!in_block).then(|| heading(line)).flatten(),
            false if is_outer => defined(line),
            false => None,
        };
        let is_closing = line.starts_with(['}', ')', ']'])
            || ["end", "fi", "done", "esac", "else", "elif", "except", "finally", "catch"]
                .iter()
                .any(|word| line.split(|c: char| !c.is_alphanumeric()).next() == Some(word));
        // A comment or an attribute belongs to the definition below it.
        let begins = match is_markdown {
            true => name.is_some(),
            false => is_outer && !is_closing && (follows_blank || (name.is_some() && is_complete)),
        };
        if begins || parts.is_empty() {
            parts.push(Part { text: String::new(), names: Vec::new(), is_restored: false });
        }
        is_complete = name.is_some() || (is_complete && !begins);
        if let Some(part) = parts.last_mut() {
            part.text.push_str(line);
            part.text.push('\n');
            part.names.extend(name);
        }
        follows_blank = line.trim().is_empty();
    }
    parts
}

/// Gives a part at least as many empty lines at its end as another one has.
fn with_space_of(part: &mut Part, other: &Part) {
    let space = |part: &Part| part.text.len() - part.text.trim_end_matches('\n').len();
    let missing = space(other).saturating_sub(space(part));
    part.text.extend(std::iter::repeat_n('\n', missing));
}

/// Joins parts, with an empty line between a restored one and its neighbours unless both are single
/// lines, and with the line feeds of `end` at the end.
fn joined(parts: &[Part], end: &str) -> String {
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        let is_line = |part: &Part| part.text.trim().lines().count() == 1;
        text.push_str(&part.text);
        if let Some(next) = parts.get(at + 1)
            && (part.is_restored || next.is_restored)
            && !part.text.ends_with("\n\n")
            && !(is_line(part) && is_line(next))
        {
            text.push('\n');
        }
    }
    let text = text.trim_end_matches('\n');
    format!("{text}{}", if end.is_empty() { "\n" } else { end })
}

fn heading(line: &str) -> Option<String> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (1..=6).contains(&level).then(|| title.strip_prefix(' ').map(|title| title.trim().to_owned())).flatten()
}

/// Returns the name that a line defines, for most languages: `def f(`, `pub fn f(`, `class C`,
/// `const f =`, `impl T for C`, `int f(`, `f() {`.
fn defined(line: &str) -> Option<String> {
    let mut rest = line.trim_end();
    loop {
        let word = rest.split(|c: char| c == '(' || c.is_whitespace()).next()?;
        if !MODIFIERS.contains(&word) {
            break;
        }
        rest = rest[word.len()..].trim_start();
        // `pub(crate)`
        if let Some(end) = rest.strip_prefix('(').and_then(|_| rest.find(')')) {
            rest = rest[end + 1..].trim_start();
        }
    }
    let (first, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if first == "impl" || first.starts_with("impl<") {
        return Some(rest.trim_end_matches('{').trim().to_owned());
    }
    let is_value = ["const", "let", "var", "val"].contains(&first);
    if KEYWORDS.contains(&first.trim_end_matches('*')) {
        if is_value && !rest.contains("=>") && !rest.contains("function") {
            return None;
        }
        let name = identifier(after.trim_start_matches(['*', ' ']));
        return (!name.is_empty()).then(|| name.to_owned());
    }
    let (head, arguments) = rest.split_once('(')?;
    let name = head.rsplit(|c: char| !is_part(c)).next().unwrap_or_default();
    let is_statement = STATEMENTS.contains(&first)
        || STATEMENTS.contains(&name)
        || head.contains(['=', '.', '"', '\'', '#', '/']);
    let is_typed = head.trim().contains(char::is_whitespace) && rest.ends_with(['{', ';', ')', ',']);
    let is_shell = arguments.starts_with(')') && rest.ends_with('{');
    (!name.is_empty() && !is_statement && (is_typed || is_shell)).then(|| name.to_owned())
}

fn identifier(text: &str) -> &str {
    &text[..text.find(|c: char| !is_part(c)).unwrap_or(text.len())]
}

/// Returns whether a text mentions a name, or the last word of a longer one such as `impl A for B`.
fn mentions(text: &str, name: &str) -> bool {
    let last =
        name.rsplit(|c: char| !is_part(c)).next().filter(|last| name.starts_with("impl") && !last.is_empty());
    occurrences(text, last.unwrap_or(name)).next().is_some()
}

/// Returns whether a prompt mentions a name so that it can be nothing but code.
fn is_marked(prompt: &str, name: &str) -> bool {
    let has_capital = name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
    occurrences(prompt, name).any(|(head, tail)| {
        let word = head.trim_end().rsplit(char::is_whitespace).next().unwrap_or_default();
        name.contains('_')
            || has_capital
            || tail.starts_with('(')
            || head.ends_with('`')
            || ["function", "method", "def", "fn", "class", "struct"].contains(&word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTHON: &str = "import os\n\n\ndef between(a, b):\n    return range(a, b)\n\n\ndef evens(a, b):\n    return [n for n in between(a, b)]\n\n\nprint(evens(1, 9))\n";

    fn read(file: &str, old: &str, new: &str, prompt: &str) -> (String, Vec<String>) {
        let Reconciled { text, kept } = reconciled(file, old, new, prompt).unwrap();
        (text, kept)
    }

    #[test]
    fn a_fragment_replaces_its_definition_only() {
        let fragment = "def between(a, b):\n    return range(a, b + 1)\n";
        let (text, kept) = read("a.py", PYTHON, fragment, "between(a, b) leaves out b");
        assert_eq!(text, PYTHON.replace("range(a, b)", "range(a, b + 1)"));
        assert_eq!(kept, ["evens"]);
    }

    #[test]
    fn a_new_definition_alone_is_added() {
        let old = "pub struct Point {\n    pub x: i32,\n}\n\nimpl Point {\n    fn a(&self) {}\n}\n";
        let new = "impl Display for Point {\n    fn fmt(&self) {}\n}\n";
        let (text, kept) = read("p.rs", old, new, "implement Display so that it prints like (1, 2)");
        assert_eq!(text, format!("{old}\n{new}"));
        assert_eq!(kept, ["Point", "impl Point"]);
    }

    #[test]
    fn what_the_prompt_names_or_removes_may_go() {
        let new = "import os\n\n\ndef between(a, b):\n    return range(a, b)\n";
        for prompt in ["we do not need `evens` any more", "remove what is not used"] {
            assert_eq!(read("a.py", PYTHON, new, prompt).0, new, "{prompt}");
        }
        let (text, _) =
            read("a.py", PYTHON, &PYTHON.replace("evens", "even"), "call evens `even` from now on");
        assert_eq!(text, PYTHON.replace("evens", "even"));
    }

    #[test]
    fn a_section_of_a_document_that_was_left_out_is_put_back() {
        let old = "# A\n\n## Use\n\nx\n\n## License\n\nMIT\n";
        let new = "# A\n\n## Install\n\ny\n\n## Use\n\nx\n";
        let (text, kept) = read("README.md", old, new, "Add a section \"## Install\" above \"## Use\"");
        assert_eq!(text, format!("{new}\n## License\n\nMIT\n"));
        assert_eq!(kept, ["License"]);
    }

    #[test]
    fn a_method_alone_has_no_place() {
        let python = "class A:\n    def get(self):\n        return 1\n\n    def put(self):\n        pass\n";
        let java = "class A {\n    int get() {\n        return 1;\n    }\n}\n";
        for (file, old, new) in [
            ("a.py", python, "def get(self):\n    return 2\n"),
            ("a.py", python, "def drop(self):\n    return 2\n"),
            ("A.java", java, "int next() {\n    return 2;\n}\n"),
        ] {
            assert_eq!(reconciled(file, old, new, "get must be 2"), None, "{new}");
        }
    }

    #[test]
    fn a_change_that_was_not_asked_for_is_undone() {
        let old = "def count(text):\n    return text.split()\n\n\ndef longest(text):\n    return max(text.split())\n";
        let new = old.replace("text.split()", "text.lower().split()");
        let prompt = "count() treats \"The\" and \"the\" as different words.";
        let (text, kept) = read("a.py", old, &new, prompt);
        assert_eq!(text, old.replacen("text.split()", "text.lower().split()", 1));
        assert_eq!(kept, ["longest"]);
        // Nothing is named, so everything may change.
        assert_eq!(read("a.py", old, &new, "ignore the case of words").0, new);
        // A caller changes with what it calls.
        let new = PYTHON.replace("between(a, b)", "between(a, b, step)");
        assert_eq!(read("a.py", PYTHON, &new, "give between() a third parameter").0, new);
    }

    #[test]
    fn a_complete_text_is_left_alone() {
        let script = "#!/bin/bash\nset -e\n\nname=$1\n\nfor i in 1 2; do\n    echo \"$i\"\ndone\n";
        let new = "#!/bin/bash\nset -eu\n\nif [ $# = 0 ]; then\n    exit 2\nfi\n\nname=$1\nfor i in 1 2; do\n    echo \"$i\"\ndone\n";
        assert_eq!(read("a.sh", script, new, "stop without a name").0, new);
        let header = "int add(int a, int b);\nint twice(int n);\n";
        assert_eq!(read("a.h", "int add(int a, int b);\n", header, "declare twice").0, header);
    }

    #[test]
    fn definitions_of_common_languages_are_found() {
        for (line, expected) in [
            ("def f(x):", Some("f")),
            ("async function go() {", Some("go")),
            ("export default class Cart {", Some("Cart")),
            ("pub(crate) fn root(n: f64) -> f64 {", Some("root")),
            ("impl fmt::Display for Point {", Some("impl fmt::Display for Point")),
            ("const mean = (n) => n;", Some("mean")),
            ("static int *largest(int a) {", Some("largest")),
            ("int add(int a, int b);", Some("add")),
            ("greet() {", Some("greet")),
            ("func Run(x int) error {", Some("Run")),
            ("printf(\"%d\", 1);", None),
            ("if (a) {", None),
            ("} else if (b) {", None),
            ("x = f(1)", None),
            ("return f(1);", None),
            ("module.exports = { f };", None),
            ("#include <stdio.h>", None),
        ] {
            assert_eq!(defined(line).as_deref(), expected, "{line}");
        }
    }
}
