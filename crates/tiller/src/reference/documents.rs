//! The command lines in the documents: each must be one that the program accepts.

use crate::args::{Cli, Instead};
use std::path::{Path, PathBuf};

/// The languages of fenced blocks with command lines.
const SHELLS: [&str; 3] = ["sh", "console", "bash"];

/// Returns the command lines of README.md and of the documents that the program does not accept,
/// with their places and the reasons.
pub(super) fn wrong_lines() -> Vec<String> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut files = vec![root.join("README.md")];
    add_documents(&root.join("docs"), &mut files);
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in files {
        let text = read(&file);
        for (number, line) in command_lines(&text) {
            count += 1;
            if let Some(why) = problem(&line) {
                let file = file.strip_prefix(root).unwrap_or(&file);
                wrong.push(format!("{}:{number}: {line}: {why}", file.display()));
            }
        }
    }
    assert!(count > 100, "the documents have command lines, not {count}");
    wrong
}

#[expect(clippy::disallowed_methods, reason = "reads a file of the source tree")]
fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "lists a directory of the source tree")]
fn add_documents(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    for path in entries {
        if path.is_dir() {
            add_documents(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
}

/// Returns the command lines in the shell blocks of a document, with their line numbers. A line
/// that the document shows as a mistake, followed by the program's error, is left out.
fn command_lines(text: &str) -> Vec<(usize, String)> {
    let (mut lines, mut in_shell) = (Vec::<(usize, String)>::new(), false);
    let mut fence: Option<String> = None;
    let mut continued = false;
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        if let Some(language) = bare.strip_prefix("```") {
            fence = match fence {
                Some(_) => None,
                None => Some(language.trim().to_owned()),
            };
            in_shell = fence.as_deref().is_some_and(|language| SHELLS.contains(&language));
            continued = false;
            continue;
        }
        if !in_shell {
            continue;
        }
        if bare.starts_with("tiller: ") {
            lines.pop();
            continue;
        }
        let command = bare.strip_prefix("$ ").unwrap_or(bare);
        let (part, goes_on) = match command.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (command, false),
        };
        match lines.last_mut() {
            Some((_, last)) if continued => *last += part,
            _ if command.starts_with("tiller ") => lines.push((at + 1, part.to_owned())),
            _ => continue,
        }
        continued = goes_on;
    }
    lines
}

/// Returns why the program does not accept a line; `None` if it does.
fn problem(line: &str) -> Option<String> {
    let words = words(line);
    let commands = words.split(|word| matches!(word.as_str(), "|" | "&&" | "||" | ";"));
    let mut own = commands.filter(|words| words.first().is_some_and(|first| first == "tiller"));
    own.find_map(|words| match Cli::of(words.to_vec()) {
        Err(Instead::Error(failure)) => Some(failure.to_string()),
        Ok(_) | Err(Instead::Help(_)) => None,
    })
}

/// Splits a line into words as a shell does, without redirections and comments.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('\\', None) => word.get_or_insert_default().extend(rest.next()),
            ('#', None) if word.is_none() => break,
            (' ', None) => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "<" | ">" | ">>" | "2>" | "<<<" => drop(words.next()),
            "&" => {}
            word if word.starts_with(['<', '>']) || word.starts_with("2>") => {}
            _ => kept.push(word),
        }
    }
    kept
}

#[test]
fn words_are_those_of_a_shell() {
    for (line, expected) in [
        ("tiller -p 'a b' > x | jq .", &["tiller", "-p", "a b", "|", "jq", "."][..]),
        ("tiller -p \"it's\" <x 2>&1 # why", &["tiller", "-p", "it's"]),
        (r"tiller -p a\ b ''", &["tiller", "-p", "a b", ""]),
    ] {
        assert_eq!(words(line), expected);
    }
}

#[test]
fn command_lines_are_found_in_shell_blocks_only() {
    let text = "```sh\ntiller mcp \\\n  list\nls\n```\n```json\ntiller x\n```\ntiller y\n\
                ```console\n$ tiller sesions\ntiller: no command\n$ tiller doctor\n```\n";
    let lines: Vec<_> = command_lines(text).into_iter().map(|(at, line)| format!("{at} {line}")).collect();
    assert_eq!(lines, ["2 tiller mcp list", "13 tiller doctor"]);
    assert!(problem("tiller doctor --frobnicate").is_some());
    assert!(problem("cat x | tiller -p hello && tiller doctor").is_none());
}
