//! Files as the pilot handles them: read through the tool, and changed by the smallest unambiguous
//! edit.

use super::{
    limits::{LONG_LINE_CHARS, PAGES},
    progress::{Blocked, Call, Script},
};
use agent::ToolResult;
use serde_json::{Value, json};
use std::ops::Range;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Its path: the requested one, or the only file of that name.
    pub(crate) path: String,
    /// Its lines, without line ends.
    pub(crate) lines: Vec<String>,
    /// Whether `lines` is complete and no line was truncated.
    pub(crate) whole: bool,
}

/// A change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Replaces this text, which occurs in the file once.
    Edit { old: String, new: String },
    /// Writes the whole file: no text in it identifies the place unambiguously.
    Write(String),
}

/// Reads a file. If the path does not exist and is a bare name, reads the only file of that name in
/// the project; several such files are an error that lists them.
pub(crate) fn open(script: &mut Script<'_>, path: &str) -> Result<File, Blocked> {
    let first = script.call("file_read", json!({ "path": path }))?;
    if !first.is_error {
        return pages(script, path, &first.text);
    }
    if !is_missing(&first.text) {
        return Err(Blocked::Failed(first.text.trim().to_owned()));
    }
    let found = locate(script, path, first.text.trim())?;
    let text = script.call_or_fail("file_read", json!({ "path": found }))?;
    pages(script, &found, text)
}

/// Reads files that are known to exist, in one batch.
pub(crate) fn open_all(script: &mut Script<'_>, paths: &[String]) -> Result<Vec<File>, Blocked> {
    let read = |path: &String| Call { name: "file_read", arguments: json!({ "path": path }) };
    let first_pages = script.calls(paths.iter().map(read).collect())?;
    let open = |(path, page): (&String, &ToolResult)| match page.is_error {
        true => Err(Blocked::Failed(page.text.trim().to_owned())),
        false => pages(script, path, &page.text),
    };
    paths.iter().zip(first_pages).map(open).collect()
}

/// Returns the only file of a bare name in the project, after reading it failed with `error`.
pub(crate) fn locate(script: &mut Script<'_>, path: &str, error: &str) -> Result<String, Blocked> {
    let failed = || Blocked::Failed(error.to_owned());
    if path.contains(['/', '\\']) || !script.offers("glob") {
        return Err(failed());
    }
    script.add_message(format!("There is no `{path}` here; I look for a file of that name."));
    let found = script.call("glob", json!({ "pattern": format!("**/{}", escape_glob(path)) }))?;
    let mut matches = if found.is_error { Vec::new() } else { paths(&found.text) };
    match matches.len() {
        0 => Err(failed()),
        1 => {
            let only = matches.remove(0);
            script.add_message(format!("The only one is `{only}`; I take it."));
            Ok(only)
        }
        count => Err(Blocked::Failed(format!(
            "{count} files are called `{path}`: {}. Say which one",
            matches.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Extracts the paths from a `glob` result.
pub(crate) fn paths(text: &str) -> Vec<String> {
    let is_path =
        |line: &&str| !line.is_empty() && !line.starts_with("No files") && !line.starts_with(['(', '…', '[']);
    let lines = text.lines().map(str::trim).filter(is_path).filter(|line| !line.starts_with("..."));
    lines.map(str::to_owned).collect()
}

/// Escapes a name so that the glob matches this name only.
pub(crate) fn escape_glob(name: &str) -> String {
    name.chars().fold(String::new(), |mut glob, c| {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}') {
            glob.extend(['[', c, ']'])
        } else {
            glob.push(c)
        }
        glob
    })
}

/// Returns whether a failed read means that the file does not exist.
pub(crate) fn is_missing(text: &str) -> bool {
    let text = text.to_lowercase();
    ["not found", "no such file", "does not exist"].iter().any(|words| text.contains(words))
}

impl File {
    /// Returns the text, with `\n` line ends.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Returns the 1-based number of the line in which each non-overlapping match begins.
    pub(crate) fn places(&self, needle: &str) -> Vec<usize> {
        let text = self.text();
        let mut line = 1;
        let mut counted = 0;
        text.match_indices(needle)
            .map(|(index, _)| {
                line += text[counted..index].matches('\n').count();
                counted = index;
                line
            })
            .collect()
    }

    /// Returns the change that replaces the 0-based lines `range` with `new`. An empty range
    /// inserts.
    pub(crate) fn splice(&self, range: Range<usize>, new: &[String]) -> Change {
        let text = self.text() + "\n";
        let (mut low, mut high) = (range.start, range.end);
        // An insertion has no line of its own to match, and a deletion must remove the line end
        // too: both need an adjacent line.
        if range.is_empty() || new.is_empty() {
            if high < self.lines.len() { high += 1 } else { low = low.saturating_sub(1) }
        }
        let mut low_is_next = true;
        while low > 0 || high < self.lines.len() {
            let old = self.lines[low..high].join("\n");
            if !old.is_empty() && occurs_once(&text, &old) {
                break;
            }
            if (low_is_next && low > 0) || high == self.lines.len() {
                low -= 1
            } else {
                high += 1
            }
            low_is_next = !low_is_next;
        }
        let old = self.lines[low..high].join("\n");
        let lines: Vec<&str> = self.lines[low..range.start]
            .iter()
            .chain(new)
            .chain(&self.lines[range.end..high])
            .map(String::as_str)
            .collect();
        let swallows_last_line = lines.is_empty();
        if old.is_empty() || swallows_last_line || !occurs_once(&text, &old) {
            let all = lines.iter().fold(String::new(), |all, line| all + line + "\n");
            return Change::Write(all);
        }
        Change::Edit { old, new: lines.join("\n") }
    }
}

impl Change {
    /// Makes the change and returns the tool's result text.
    pub(crate) fn make<'a>(&self, script: &mut Script<'a>, path: &str) -> Result<&'a str, Blocked> {
        match self {
            Self::Edit { old, new } => script.call_or_fail("file_edit", edit(path, old, new, false)),
            Self::Write(content) => {
                script.call_or_fail("file_write", json!({ "path": path, "content": content }))
            }
        }
    }
}

/// Returns the arguments of an edit.
pub(crate) fn edit(path: &str, old: &str, new: &str, all: bool) -> Value {
    let mut arguments = json!({ "path": path, "old_string": old, "new_string": new });
    if all {
        arguments["replace_all"] = Value::Bool(true);
    }
    arguments
}

fn pages(script: &mut Script<'_>, path: &str, text: &str) -> Result<File, Blocked> {
    let mut file = File { path: path.to_owned(), lines: Vec::new(), whole: false };
    let mut more = take_page(&mut file.lines, text);
    let mut count = 1;
    while more && count < PAGES {
        let seen = file.lines.len();
        let next = script.call_or_fail("file_read", json!({ "path": path, "offset": seen + 1 }))?;
        more = take_page(&mut file.lines, next);
        count += 1;
        if file.lines.len() == seen {
            break;
        }
    }
    let is_long = |line: &String| line.chars().count() >= LONG_LINE_CHARS;
    file.whole = !more && !file.lines.iter().any(is_long);
    Ok(file)
}

/// Appends the numbered lines of a page. Returns whether there are more.
fn take_page(lines: &mut Vec<String>, text: &str) -> bool {
    let start = lines.len();
    let mut note = None;
    for row in text.lines() {
        let numbered = row
            .split_once('\t')
            .and_then(|(number, line)| Some((number.trim().parse::<usize>().ok()?, line)));
        match numbered {
            Some((number, line)) if note.is_none() && number == lines.len() + 1 => {
                lines.push(line.to_owned())
            }
            _ if row.trim().is_empty() => {}
            _ => note = note.or(Some(row)),
        }
    }
    let Some(note) = note else { return false };
    if !note.contains("more line") {
        // Another limit truncated the text, possibly within its last line.
        let is_note_alone = lines.len() == start;
        lines.truncate(lines.len().saturating_sub(1).max(start));
        return !(is_note_alone && start == 0 && note.to_lowercase().contains("empty"));
    }
    true
}

fn occurs_once(text: &str, part: &str) -> bool {
    let Some(first) = text.find(part) else { return false };
    let step = part.chars().next().map_or(1, char::len_utf8);
    !text[first + step..].contains(part)
}
