//! Walks the syntax tree of a shell line and collects its commands.

mod wrappers;

use super::{COMMANDS, Certainty, Dialect, Read, SimpleCommand, TOO_MUCH, Word};
use tree_sitter::Node;

/// The words of a command, each with its offset in the line.
type Words = Vec<(usize, Word)>;

/// Collects the commands of one reading of a line.
pub(super) struct Reader<'a> {
    source: &'a str,
    pub(super) dialect: Dialect,
    pub(super) commands: Vec<SimpleCommand>,
    unknown: Option<&'static str>,
    pub(super) depth: usize,
}

/// The maximum depth of a tree, so that hostile nesting cannot exhaust the stack; deeper trees are
/// unknown.
const TREE_DEPTH: usize = 200;

const WHEN_IT_RUNS: &str = "a word of it is only known when it runs";

/// Reserved words of the shell. A command with such a name was misread.
const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "{",
    "}", "!", "[[", "]]", "function", "select", "coproc", "time",
];

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a str, dialect: Dialect, depth: usize) -> Self {
        Self { source, dialect, commands: Vec::new(), unknown: None, depth }
    }

    pub(super) fn finish(self) -> Read {
        Read { commands: self.commands, unknown: self.unknown }
    }

    /// Marks the line as too large, which overrides every other reason.
    pub(super) fn too_much(&mut self) {
        self.unknown = Some(TOO_MUCH);
    }

    pub(super) fn unknown(&mut self, why: &'static str) {
        self.unknown.get_or_insert(why);
    }

    /// Adds the commands of a line nested in this one.
    pub(super) fn inner(&mut self, read: Read, outer: &SimpleCommand) {
        match read.unknown {
            Some(TOO_MUCH) => self.too_much(),
            Some(why) => self.unknown(why),
            None => {}
        }
        for mut inner in read.commands {
            inner.writes.extend(outer.writes.clone());
            inner.reads.extend(outer.reads.clone());
            inner.elevated |= outer.elevated;
            inner.plumbed |= outer.plumbed;
            inner.wrapped = true;
            self.commands.push(inner);
        }
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        &self.source[node.byte_range()]
    }

    pub(super) fn visit(&mut self, node: Node<'_>, level: usize) {
        if level > TREE_DEPTH || self.commands.len() > COMMANDS {
            return self.too_much();
        }
        match node.kind() {
            "program" | "list" | "pipeline" | "subshell" | "compound_statement" | "negated_command"
            | "if_statement" | "elif_clause" | "else_clause" | "while_statement" | "do_group" | "ERROR" => {
                self.children(node, level)
            }
            // The variable and the values of a loop determine what its body runs.
            "for_statement" | "c_style_for_statement" | "case_statement" => {
                self.unknown("what a loop or a case runs depends on its values");
                self.children(node, level);
            }
            "redirected_statement" => self.redirected(node, level),
            "command" => self.command(node, SimpleCommand::default(), Words::new(), level),
            "comment" => {}
            "variable_assignment" | "variable_assignments" | "declaration_command" | "unset_command" => {
                self.unknown("it changes variables that later commands read");
                self.children(node, level);
            }
            "function_definition" => {
                self.unknown("it defines a function");
                self.children(node, level);
            }
            "test_command" => self.test(node, level),
            "command_substitution" | "process_substitution" => {
                self.unknown("it runs a substitution");
                self.children(node, level);
            }
            _ if node.is_named() => {
                self.unknown("it holds something this check does not know");
                self.children(node, level);
            }
            "&" => self.unknown("it leaves a command running in the background"),
            _ => {}
        }
    }

    fn children(&mut self, node: Node<'_>, level: usize) {
        for child in node.children(&mut node.walk()) {
            self.visit(child, level + 1);
        }
    }

    /// Handles a test: `[ … ]` is an ordinary command, `[[ … ]]` and `(( … ))` are not.
    fn test(&mut self, node: Node<'_>, level: usize) {
        self.unknown_if_expands(node, level);
        let text = self.text(node);
        let words = text.split_whitespace().map(Word::exact).collect();
        let plumbed = text.contains(['\'', '"', '\\', '$', '`', '*', '?', '\n']);
        self.commands.push(SimpleCommand { words, plumbed, ..SimpleCommand::default() });
        if text.contains("$(") || text.contains('`') {
            let unquoted = text.replace(['\'', '"', '[', ']'], " ");
            let words = vec![Word::exact("test"), Word::exact(unquoted)];
            self.subscripts(&SimpleCommand { words, ..SimpleCommand::default() });
        }
        let command = text.strip_prefix('[').filter(|rest| !rest.starts_with('['));
        if let Some(rest) = command.filter(|rest| rest.contains(['&', '|', ';', '<', '>', '(', '\n'])) {
            self.unknown("it holds something this check does not know");
            let inner = Read::of(&format!("true {rest}"), self.dialect, self.depth + 1);
            self.inner(inner, &SimpleCommand::default());
        }
    }

    fn redirected(&mut self, node: Node<'_>, level: usize) {
        let (mut around, mut words) = (SimpleCommand::default(), Words::new());
        for child in node.children(&mut node.walk()) {
            if child.kind().ends_with("_redirect") {
                self.redirect(child, &mut around, &mut words, level);
            }
        }
        let first = self.commands.len();
        if let Some(body) = node.child_by_field_name("body") {
            match body.kind() {
                "command" => return self.command(body, around, words, level),
                _ => self.visit(body, level + 1),
            }
        }
        for command in &mut self.commands[first..] {
            command.writes.extend(around.writes.clone());
            command.reads.extend(around.reads.clone());
            command.plumbed |= around.plumbed;
        }
        if !words.is_empty() {
            self.finish_command(around, words);
        } else if self.commands.len() == first {
            // A redirection without a command (`> file`) still truncates the file.
            self.commands.push(around);
        }
    }

    /// Adds a redirection to a command, and to `words` the words that follow its target.
    fn redirect(&mut self, node: Node<'_>, command: &mut SimpleCommand, words: &mut Words, level: usize) {
        self.unknown_if_expands(node, level);
        match node.kind() {
            "file_redirect" => {}
            "heredoc_redirect" => {
                // The grammar and the shells differ most about where a here-document ends and what
                // follows its first line.
                self.unknown("it holds a here-document");
                command.plumbed = true;
                for child in node.named_children(&mut node.walk()) {
                    match child.kind() {
                        "heredoc_start" | "heredoc_body" | "heredoc_end" | "file_descriptor" => {}
                        kind if kind.ends_with("_redirect") => {
                            self.redirect(child, command, words, level + 1)
                        }
                        "word" | "string" | "raw_string" | "concatenation" | "number" => {
                            words.push((child.start_byte(), self.word(child, level + 1)));
                        }
                        _ => self.visit(child, level + 1),
                    }
                }
                return;
            }
            _ => {
                command.plumbed = true;
                return;
            }
        }
        let operator = node
            .children(&mut node.walk())
            .find(|child| !child.is_named())
            .map(|child| self.text(child))
            .unwrap_or_default();
        let mut targets = Vec::new();
        for child in node.children_by_field_name("destination", &mut node.walk()) {
            targets.push((child.start_byte(), self.word(child, level)));
        }
        // The grammar reads words after the target as further targets; a shell passes them to the
        // command.
        let rest = targets.split_off(targets.len().min(1));
        if !rest.is_empty() {
            self.unknown("words follow a redirection");
            words.extend(rest);
        }
        let target = targets.pop().map(|(_, word)| word.text).unwrap_or_default();
        let number = target.parse::<u32>().is_ok();
        let duplicates = operator.ends_with('&') && (target == "-" || number) || operator.ends_with("&-");
        match operator {
            _ if duplicates => command.plumbed |= !(operator == ">&" && matches!(target.as_str(), "1" | "2")),
            _ if target == "/dev/null" => {}
            operator if operator.contains('>') => command.writes.push(target),
            _ => command.reads.push(target),
        }
    }

    /// Reads a command. `command` and `words` hold what the redirections around it add to it.
    fn command(&mut self, node: Node<'_>, mut command: SimpleCommand, mut words: Words, level: usize) {
        for child in node.children(&mut node.walk()) {
            match child.kind() {
                "variable_assignment" => {
                    self.unknown("it sets variables for the command");
                    self.unknown_if_expands(child, level);
                }
                kind if kind.ends_with("_redirect") => self.redirect(child, &mut command, &mut words, level),
                _ => words.push((child.start_byte(), self.argument(child, level))),
            }
        }
        self.finish_command(command, words);
    }

    /// Adds a command with its words in the order of the line, which the grammar does not keep
    /// where words follow a redirection.
    fn finish_command(&mut self, mut command: SimpleCommand, mut words: Words) {
        words.sort_by_key(|(at, _)| *at);
        command.words = words.into_iter().map(|(_, word)| word).collect();
        if let Some(first) = command.words.first() {
            // `time` is excluded because it is removed as a wrapper.
            if first.text != "time" && RESERVED.contains(&first.text.as_str()) {
                self.unknown("it holds something this check does not know");
            }
            if command.is_open_program() || first.text.contains(['*', '?', '[']) && first.text != "[" {
                self.unknown(WHEN_IT_RUNS);
            }
        }
        self.unwrap(command);
    }

    /// Returns a whole word; an unquoted expansion may be split into several words.
    fn argument(&mut self, node: Node<'_>, level: usize) -> Word {
        let mut word = self.word(node, level);
        let bare = match node.kind() {
            "command_name" => node.child(0).is_some_and(|child| splits(child.kind())),
            kind => splits(kind),
        };
        if bare {
            word.certainty = Certainty::Many;
        }
        word
    }

    /// Returns the text of a word, if it has a single text.
    fn word(&mut self, node: Node<'_>, level: usize) -> Word {
        if level > TREE_DEPTH {
            self.too_much();
            return Word::exact("");
        }
        let text = self.text(node);
        match node.kind() {
            "command_name" => match node.child(0) {
                Some(child) => self.word(child, level + 1),
                None => Word::exact(""),
            },
            "word" => {
                let braces = text.contains('{') && (text.contains(',') || text.contains(".."));
                if braces {
                    self.unknown(WHEN_IT_RUNS);
                }
                let certainty = match (braces, unescaped(text, &['*', '?', '['])) {
                    (true, _) => Certainty::Many,
                    (false, true) => Certainty::Glob,
                    (false, false) => Certainty::Exact,
                };
                Word { text: unescape(text), certainty }
            }
            "number" | "file_descriptor" | "test_operator" => Word::exact(unescape(text)),
            "raw_string" => Word::exact(text.trim_matches('\'')),
            "string" | "concatenation" => self.compound(node, level),
            "string_content" => Word::exact(text.replace("\\\"", "\"").replace("\\\\", "\\")),
            "ansi_c_string" | "translated_string" => {
                self.unknown("it holds an escaped string");
                Word { text: text.to_owned(), certainty: Certainty::One }
            }
            "brace_expression" => {
                self.unknown(WHEN_IT_RUNS);
                Word { text: text.to_owned(), certainty: Certainty::Many }
            }
            _ => {
                self.unknown(WHEN_IT_RUNS);
                self.children(node, level);
                let all = text.contains(['@', '*', '#', '!']) && !text.starts_with("$(");
                let certainty = if all { Certainty::Many } else { Certainty::One };
                Word { text: text.to_owned(), certainty }
            }
        }
    }

    /// Returns a word that consists of several parts.
    fn compound(&mut self, node: Node<'_>, level: usize) -> Word {
        let quoted = node.kind() == "string";
        let mut text = String::new();
        let mut certainty = Certainty::Exact;
        let (start, end) = match quoted {
            true => (node.start_byte() + 1, node.end_byte().saturating_sub(1)),
            false => (node.start_byte(), node.end_byte()),
        };
        let mut at = start;
        for child in node.named_children(&mut node.walk()) {
            text.push_str(self.source.get(at..child.start_byte()).unwrap_or(""));
            let source = self.text(child);
            let part = match child.kind() {
                // Its value is a part of this one word, and runs nothing.
                "simple_expansion" if quoted && is_variable(source) => {
                    Word { text: source.to_owned(), certainty: Certainty::One }
                }
                _ => self.word(child, level + 1),
            };
            text.push_str(&part.text);
            let open =
                !matches!(child.kind(), "string" | "concatenation" | "ansi_c_string" | "translated_string");
            certainty = match (certainty, part.certainty) {
                (Certainty::Many, _) | (_, Certainty::Many) => Certainty::Many,
                // An unquoted expansion is split into words.
                (_, Certainty::One) if !quoted && open => Certainty::Many,
                (_, Certainty::One) | (Certainty::One, _) => Certainty::One,
                (_, Certainty::Glob) | (Certainty::Glob, _) => Certainty::Glob,
                _ => Certainty::Exact,
            };
            at = child.end_byte();
        }
        let rest = self.source.get(at..end).unwrap_or("");
        text.push_str(rest);
        let whole = self.text(node);
        let braces = whole.contains('{') && (whole.contains(',') || whole.contains(".."));
        if !quoted && braces && !whole.contains("${") {
            self.unknown(WHEN_IT_RUNS);
            certainty = Certainty::Many;
        }
        Word { text, certainty }
    }

    /// Marks the line as unknown if there are substitutions or expansions below a node.
    fn unknown_if_expands(&mut self, node: Node<'_>, level: usize) {
        if level > TREE_DEPTH {
            return self.too_much();
        }
        for child in node.children(&mut node.walk()) {
            match child.kind() {
                "simple_expansion" | "expansion" | "arithmetic_expansion" => {
                    self.unknown(WHEN_IT_RUNS);
                    self.unknown_if_expands(child, level + 1);
                }
                "command_substitution" | "process_substitution" => self.visit(child, level + 1),
                _ => self.unknown_if_expands(child, level + 1),
            }
        }
    }
}

/// Whether an expansion is that of a variable by its plain name.
fn is_variable(text: &str) -> bool {
    let name = text.strip_prefix('$').unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the shell splits the expansion of such a node into words outside quotes.
fn splits(kind: &str) -> bool {
    matches!(kind, "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion")
}

/// Whether a word contains one of the characters without a backslash before it.
fn unescaped(word: &str, wanted: &[char]) -> bool {
    let mut escaped = false;
    word.chars().any(|c| {
        let hit = !escaped && wanted.contains(&c);
        escaped = !escaped && c == '\\';
        hit
    })
}

fn unescape(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(escaped) => out.push(escaped),
            },
            c => out.push(c),
        }
    }
    out
}
