//! What a shell line would run, as a list of simple commands.
//!
//! The line is parsed with the bash grammar. Whatever the grammar or this module does not fully understand makes the answer
//! [`Shell::Unknown`], and an unknown line is never safe: it asks.

use tree_sitter::{Node, Parser};

/// A shell line, understood or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shell {
    /// Every command the line can run, wrappers (`env`, `sudo`, `timeout`, `sh -c`, …) taken off.
    Commands(Vec<SimpleCommand>),
    /// It cannot be told what the line runs; why, in words. The commands that could be seen are there for the deny rules.
    Unknown { why: &'static str, seen: Vec<SimpleCommand> },
}

/// One command with its words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SimpleCommand {
    /// The program and its arguments, quotes removed.
    pub(crate) words: Vec<String>,
    /// Words with an unquoted pattern: what they stand for is known when it runs.
    pub(crate) globs: Vec<String>,
    /// Files it writes by redirection.
    pub(crate) writes: Vec<String>,
    /// Whether it runs with more rights (`sudo`, `doas`).
    pub(crate) elevated: bool,
}

impl SimpleCommand {
    /// The words as one line, for patterns.
    pub(crate) fn line(&self) -> String {
        self.words.join(" ")
    }

    /// The program's own name, without folders.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
    }
}

/// The most wrappers and nested `sh -c` that are looked through.
const NESTING: usize = 8;
/// The most commands of a line that are looked at.
const COMMANDS: usize = 20_000;
/// The most bytes of a line that are parsed.
const LINE_BYTES: usize = 64 * 1024;

/// Why a line is unknown that no check can see all of. Such a line is denied: asking would hide the commands that are denied in it.
pub(crate) const TOO_MUCH: &str = "the line is too long or too deeply nested to be checked";

/// Parses a line.
pub(crate) fn parse(line: &str) -> Shell {
    parse_nested(line, 0)
}

fn parse_nested(line: &str, depth: usize) -> Shell {
    let mut reader = Reader { source: line, commands: Vec::new(), unknown: None, depth };
    if line.len() > LINE_BYTES || depth > NESTING {
        return Shell::Unknown { why: TOO_MUCH, seen: Vec::new() };
    }
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .expect("the grammar is built for this parser version");
    let Some(tree) = parser.parse(line, None) else {
        return Shell::Unknown { why: "the line cannot be parsed", seen: Vec::new() };
    };
    if tree.root_node().has_error() {
        reader.unknown("the line cannot be parsed");
    }
    if misread(line) {
        reader.unknown("it escapes a space or a line break");
    }
    reader.visit(tree.root_node(), 0);
    match reader.unknown {
        None => Shell::Commands(reader.commands),
        Some(why) => Shell::Unknown { why, seen: reader.commands },
    }
}

/// Whether a line holds what the grammar reads otherwise than a shell: a backslash before a line break joins two words, and one before a space
/// or a tab begins or makes a word. Both were found by comparison with another parser.
fn misread(line: &str) -> bool {
    let bytes = line.as_bytes();
    let inside_word = |at: usize| at > 0 && bytes[at - 1].is_ascii_alphanumeric();
    let misread = |at: usize| match bytes.get(at + 1) {
        Some(b' ' | b'\t') => !inside_word(at),
        Some(next) => next.is_ascii_whitespace(),
        None => true,
    };
    line.contains('\r') || bytes.iter().enumerate().any(|(at, byte)| *byte == b'\\' && misread(at))
}

struct Reader<'a> {
    source: &'a str,
    commands: Vec<SimpleCommand>,
    unknown: Option<&'static str>,
    depth: usize,
}

/// Deeper trees than this are unknown, so that hostile nesting cannot exhaust the stack.
const TREE_DEPTH: usize = 200;

impl Reader<'_> {
    /// Covers every other reason.
    fn too_much(&mut self) {
        self.unknown = Some(TOO_MUCH);
    }

    fn unknown(&mut self, why: &'static str) {
        self.unknown.get_or_insert(why);
    }

    fn text(&self, node: Node<'_>) -> &str {
        &self.source[node.byte_range()]
    }

    fn visit(&mut self, node: Node<'_>, level: usize) {
        if level > TREE_DEPTH || self.commands.len() > COMMANDS {
            return self.too_much();
        }
        match node.kind() {
            "program" | "list" | "pipeline" | "subshell" | "compound_statement" | "negated_command"
            | "if_statement" | "elif_clause" | "else_clause" | "while_statement" | "do_group" | "ERROR" => {
                self.children(node, level)
            }
            // The variable and the values of a loop decide what its body runs.
            "for_statement" | "c_style_for_statement" | "case_statement" => {
                self.unknown("what a loop or a case runs depends on its values");
                self.children(node, level);
            }
            "redirected_statement" => self.redirected(node, level),
            "command" => self.command(node, Vec::new(), level),
            "comment" => {}
            "variable_assignment" | "variable_assignments" | "declaration_command" | "unset_command" => {
                self.unknown("it changes variables that later commands read");
                self.children(node, level);
            }
            "function_definition" => {
                self.unknown("it defines a function");
                self.children(node, level);
            }
            "test_command" => self.unknown_if_expands(node, level),
            "command_substitution" | "process_substitution" => {
                self.unknown("it runs a substitution");
                self.children(node, level);
            }
            _ if node.is_named() => {
                self.unknown("it holds something this check does not know");
                self.children(node, level);
            }
            _ => {
                if node.kind() == "&" {
                    self.unknown("it leaves a command running in the background");
                }
            }
        }
    }

    fn children(&mut self, node: Node<'_>, level: usize) {
        for child in node.children(&mut node.walk()) {
            self.visit(child, level + 1);
        }
    }

    fn redirected(&mut self, node: Node<'_>, level: usize) {
        let mut writes = Vec::new();
        for child in node.children(&mut node.walk()) {
            if child.kind().ends_with("_redirect") {
                self.redirect(child, &mut writes, level);
            }
        }
        let first = self.commands.len();
        if let Some(body) = node.child_by_field_name("body") {
            match body.kind() {
                "command" => return self.command(body, writes, level),
                _ => self.visit(body, level + 1),
            }
        }
        match self.commands.get_mut(first..) {
            Some(commands) if !commands.is_empty() => {
                commands.iter_mut().for_each(|c| c.writes.extend(writes.clone()))
            }
            // A redirection alone (`> file`) still truncates the file.
            _ => self.commands.push(SimpleCommand { writes, ..SimpleCommand::default() }),
        }
    }

    fn redirect(&mut self, node: Node<'_>, writes: &mut Vec<String>, level: usize) {
        self.unknown_if_expands(node, level);
        if node.kind() != "file_redirect" {
            return;
        }
        let operator = node
            .children(&mut node.walk())
            .find(|child| !child.is_named())
            .map(|child| self.text(child).to_owned())
            .unwrap_or_default();
        let target = node.child_by_field_name("destination").map(|n| self.word(n, level)).unwrap_or_default();
        let duplicates = operator.ends_with('&') && (target == "-" || target.parse::<u32>().is_ok());
        if operator.contains('>') && !duplicates && target != "/dev/null" {
            writes.push(target);
        }
    }

    fn command(&mut self, node: Node<'_>, writes: Vec<String>, level: usize) {
        let mut command = SimpleCommand { writes, ..SimpleCommand::default() };
        for child in node.children(&mut node.walk()) {
            match child.kind() {
                "variable_assignment" => {
                    self.unknown("it sets variables for the command");
                    self.unknown_if_expands(child, level);
                }
                kind if kind.ends_with("_redirect") => self.redirect(child, &mut command.writes, level),
                _ => {
                    let word = self.word(child, level);
                    if self.globbed(child) {
                        command.globs.push(word.clone());
                    }
                    command.words.push(word);
                }
            }
        }
        self.unwrap(command);
    }

    /// Whether a word holds a pattern outside of quotes.
    fn globbed(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "word" => self.text(node).contains(['*', '?', '[']),
            "concatenation" => node.children(&mut node.walk()).any(|child| self.globbed(child)),
            _ => false,
        }
    }

    /// The text a word stands for, when it stands for one text.
    fn word(&mut self, node: Node<'_>, level: usize) -> String {
        if level > TREE_DEPTH {
            self.too_much();
            return String::new();
        }
        match node.kind() {
            "command_name" => match node.child(0) {
                Some(child) => self.word(child, level + 1),
                None => String::new(),
            },
            "word" | "number" | "file_descriptor" | "test_operator" => unescape(self.text(node)),
            "raw_string" => self.text(node).trim_matches('\'').to_owned(),
            "string" | "concatenation" => {
                let mut text = String::new();
                let (start, end) = match node.kind() {
                    "string" => (node.start_byte() + 1, node.end_byte().saturating_sub(1)),
                    _ => (node.start_byte(), node.end_byte()),
                };
                let mut at = start;
                for child in node.named_children(&mut node.walk()) {
                    text.push_str(self.source.get(at..child.start_byte()).unwrap_or(""));
                    text.push_str(&self.word(child, level + 1));
                    at = child.end_byte();
                }
                text.push_str(self.source.get(at..end).unwrap_or(""));
                text
            }
            "string_content" => self.text(node).replace("\\\"", "\"").replace("\\\\", "\\"),
            "ansi_c_string" | "translated_string" => {
                self.unknown("it holds an escaped string");
                self.text(node).to_owned()
            }
            _ => {
                self.unknown("a word of it is only known when it runs");
                self.children(node, level);
                self.text(node).to_owned()
            }
        }
    }

    /// Looks for substitutions and expansions anywhere below a node.
    fn unknown_if_expands(&mut self, node: Node<'_>, level: usize) {
        if level > TREE_DEPTH {
            return self.too_much();
        }
        for child in node.children(&mut node.walk()) {
            match child.kind() {
                "simple_expansion" | "expansion" | "arithmetic_expansion" => {
                    self.unknown("a word of it is only known when it runs");
                }
                "command_substitution" | "process_substitution" => self.visit(child, level + 1),
                _ => self.unknown_if_expands(child, level + 1),
            }
        }
    }

    /// Takes wrappers off and adds what is inside.
    fn unwrap(&mut self, mut command: SimpleCommand) {
        for _ in 0..NESTING {
            let program = command.program().to_owned();
            let rest = match program.as_str() {
                "sudo" | "doas" => {
                    command.elevated = true;
                    skip_options(&command.words, &["-u", "-g", "-h", "-p", "-C", "-T", "-U", "-R", "-D"])
                }
                "env" => {
                    if command.words.iter().skip(1).any(|word| word.contains('=') || word.starts_with("-S")) {
                        self.unknown("it sets variables for the command");
                    }
                    let mut at = skip_options(&command.words, &["-u", "-C", "--unset", "--chdir"]);
                    while command.words.get(at).is_some_and(|word| word.contains('=')) {
                        at += 1;
                    }
                    at
                }
                "timeout" => skip_options(&command.words, &["-k", "-s", "--signal", "--kill-after"]) + 1,
                "nice" | "ionice" | "stdbuf" => {
                    skip_options(&command.words, &["-n", "-c", "-p", "-i", "-o", "-e"])
                }
                "nohup" | "time" | "command" | "builtin" | "exec" | "setsid" => {
                    skip_options(&command.words, &["-a"])
                }
                "xargs" => {
                    self.unknown("xargs runs a command with arguments that are only known when it runs");
                    skip_options(&command.words, &["-n", "-I", "-L", "-P", "-s", "-d", "-E", "-a"])
                }
                "sh" | "bash" | "dash" | "zsh" | "ksh" => return self.shell_script(command),
                "eval" | "source" | "." | "trap" => {
                    self.unknown("it runs text as commands");
                    1
                }
                _ => break,
            };
            if rest >= command.words.len() {
                break;
            }
            command.words.drain(..rest);
        }
        self.commands.push(command);
    }

    /// `sh -c LINE` runs LINE; anything else runs a script that is not looked into.
    fn shell_script(&mut self, command: SimpleCommand) {
        let line = command
            .words
            .iter()
            .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
            .and_then(|at| command.words.get(at + 1));
        let Some(line) = line else {
            self.unknown("it runs a script");
            return self.commands.push(command);
        };
        let (inner, why) = match parse_nested(line, self.depth + 1) {
            Shell::Commands(inner) => (inner, None),
            Shell::Unknown { why, seen } => (seen, Some(why)),
        };
        match why {
            Some(TOO_MUCH) => self.too_much(),
            Some(why) => self.unknown(why),
            None => {}
        }
        for mut inner in inner {
            inner.writes.extend(command.writes.clone());
            inner.elevated |= command.elevated;
            self.commands.push(inner);
        }
    }
}

/// The index of the first word after a wrapper's own options; those named take a value.
fn skip_options(words: &[String], with_value: &[&str]) -> usize {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return at + 1;
        }
        if !word.starts_with('-') {
            break;
        }
        at += if with_value.contains(&word.as_str()) { 2 } else { 1 };
    }
    at
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn known(line: &str, expected: &[&str]) {
        match parse(line) {
            Shell::Commands(commands) => {
                assert_eq!(commands.iter().map(SimpleCommand::line).collect::<Vec<_>>(), expected, "{line}");
            }
            Shell::Unknown { why, .. } => panic!("{line}: {why}"),
        }
    }

    #[track_caller]
    fn unknown(line: &str, seen_one: &str) {
        match parse(line) {
            Shell::Commands(commands) => panic!("{line}: taken as {commands:?}"),
            Shell::Unknown { seen, .. } => {
                assert!(seen.iter().any(|c| c.line() == seen_one), "{line}: {seen:?}");
            }
        }
    }

    #[test]
    fn lists_simple_commands() {
        known("ls -la", &["ls -la"]);
        known("cd x && rm -rf y; pwd || true", &["cd x", "rm -rf y", "pwd", "true"]);
        known("git log | head -5", &["git log", "head -5"]);
        known("(ls; pwd)", &["ls", "pwd"]);
        known("if true; then ls; fi", &["true", "ls"]);
        known("echo 'a b' \"c d\" e\\ f", &["echo a b c d e f"]);
        known("ls 2>/dev/null 2>&1", &["ls"]);
        known("a\nb # c", &["a", "b"]);
    }

    #[test]
    fn takes_wrappers_off() {
        known("sudo -u root rm -rf x", &["rm -rf x"]);
        known("timeout -k 1 5 nice -n 3 cargo test", &["cargo test"]);
        known("bash -lc 'ls && git push --force'", &["ls", "git push --force"]);
        known("nohup /usr/bin/env rm -r x", &["rm -r x"]);
    }

    #[test]
    fn sees_writes_by_redirection() {
        for (line, writes) in [
            ("echo x > a.txt", vec!["a.txt"]),
            ("echo x >> a.txt 2> b", vec!["a.txt", "b"]),
            ("echo x &> c", vec!["c"]),
            ("ls > /dev/null", vec![]),
            ("> t", vec!["t"]),
        ] {
            let Shell::Commands(commands) = parse(line) else { panic!("{line}") };
            assert_eq!(commands[0].writes, writes, "{line}");
        }
    }

    #[test]
    fn does_not_know_what_is_only_known_at_run_time() {
        unknown("rm -rf $HOME", "rm -rf $HOME");
        unknown("echo $(rm -rf x)", "rm -rf x");
        unknown("echo `rm x`", "rm x");
        unknown("X=1 ls", "ls");
        unknown("for f in *; do rm $f; done", "rm $f");
        unknown("find . | xargs rm", "rm");
        unknown("sleep 100 &", "sleep 100");
        unknown("eval 'rm x'", "rm x");
        unknown("diff <(ls a) <(ls b)", "ls a");
        unknown("f() { rm x; }; f", "rm x");
        unknown("bash -c 'rm $X'", "rm $X");
        unknown("ls \"$(rm x)\"", "rm x");
        unknown("cat <<E\n$(rm x)\nE", "rm x");
        assert!(matches!(parse("ls ("), Shell::Unknown { .. }));
        assert!(matches!(parse(&"(".repeat(10_000)), Shell::Unknown { .. }));
    }
}
