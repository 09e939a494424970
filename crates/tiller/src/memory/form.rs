//! The Markdown form of memories, which people edit and `export` writes: a header between two
//! lines `---`, then the content.

use super::rows::day;
use agent::{Memory, MemoryClass, MemoryKind, MemoryNote};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use std::fmt::Write as _;
use system::AbsPath;

/// The line before and after a header.
const MARK: &str = "---";

/// A memory as a form states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) note: MemoryNote,
    /// The root of its project, if the form names one.
    pub(super) project: Option<AbsPath>,
    /// The day on which it expires; `None` means never.
    pub(super) expires: Option<jiff::civil::Date>,
}

/// Writes a memory as a form.
pub(super) fn text(memory: &Memory) -> String {
    let MemoryNote { kind, class, title, content, pinned } = &memory.note;
    let mut text = format!("{MARK}\ntitle: {title}\ntype: {}\nclass: {}\n", kind.id(), class.id());
    if *pinned {
        text.push_str("pinned: yes\n");
    }
    if let Some(project) = &memory.project {
        let _ = writeln!(text, "project: {project}");
    }
    let expires = memory.times.expires_at.map_or_else(|| "never".to_owned(), day);
    let _ = writeln!(text, "expires: {expires}\n{MARK}");
    for line in content.lines() {
        // A line that looks like the beginning of the next memory.
        let escape = if line.trim_start_matches('\\') == MARK { "\\" } else { "" };
        let _ = writeln!(text, "{escape}{line}");
    }
    text
}

/// Reads all memories of a text.
///
/// # Errors
/// If a line is invalid; the message gives its number.
pub(super) fn read(text: &str) -> Result<Vec<Form>> {
    let mut lines = (1..).zip(text.lines()).peekable();
    let mut forms = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.trim().is_empty() && forms.is_empty() {
            continue;
        }
        ensure!(line == MARK, "line {number} is not `{MARK}`, with which a memory begins");
        let mut header = Header::default();
        loop {
            let (number, line) =
                lines.next().with_context(|| format!("the header at line {number} has no end"))?;
            match line {
                MARK => break,
                line => header.set(line).map_err(|error| anyhow!("line {number}: {error}"))?,
            }
        }
        let mut content = String::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| *line != MARK) {
            let escaped = line.starts_with('\\') && line.trim_start_matches('\\') == MARK;
            content.push_str(if escaped { &line[1..] } else { line });
            content.push('\n');
        }
        let form = header.form(content.trim().to_owned());
        forms.push(form.map_err(|error| anyhow!("the memory at line {number}: {error}"))?);
    }
    Ok(forms)
}

/// The values of a header.
#[derive(Default)]
struct Header {
    title: Option<String>,
    kind: Option<MemoryKind>,
    class: Option<MemoryClass>,
    pinned: bool,
    project: Option<AbsPath>,
    expires: Option<jiff::civil::Date>,
}

impl Header {
    fn set(&mut self, line: &str) -> Result<()> {
        let (name, value) = line.split_once(':').context("write NAME: VALUE")?;
        let value = value.trim();
        match name.trim() {
            "title" => self.title = Some(value.to_owned()),
            "type" => self.kind = Some(value.parse().map_err(anyhow::Error::msg)?),
            "class" => self.class = Some(value.parse().map_err(anyhow::Error::msg)?),
            "pinned" => {
                self.pinned = match value {
                    "yes" | "true" => true,
                    "no" | "false" | "" => false,
                    _ => bail!("pinned is yes or no"),
                }
            }
            "project" => self.project = Some(AbsPath::new(value)?),
            "expires" if value == "never" || value.is_empty() => self.expires = None,
            "expires" => {
                let day =
                    value.parse().map_err(|_| anyhow!("expires is `never` or a date such as 2026-12-31"))?;
                self.expires = Some(day);
            }
            other => bail!("{other} is unknown; the names are title, type, class, pinned, project, expires"),
        }
        Ok(())
    }

    fn form(self, content: String) -> Result<Form> {
        let Self { title, kind, class, pinned, project, expires } = self;
        let title = title.filter(|title| !title.is_empty()).context("it has no title")?;
        let kind = kind.context("it has no type")?;
        ensure!(!content.is_empty(), "it has no content");
        let note = MemoryNote { kind, class: class.unwrap_or_default(), title, content, pinned };
        Ok(Form { note, project, expires })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::{MemoryId, MemoryTimes};

    fn memory(content: &str, expires_at: Option<i64>) -> Memory {
        Memory {
            id: MemoryId(7),
            note: MemoryNote {
                kind: MemoryKind::Decision,
                class: MemoryClass::Priority,
                title: "A: title".to_owned(),
                content: content.to_owned(),
                pinned: expires_at.is_some(),
            },
            project: AbsPath::new("/work/a b").ok(),
            session: None,
            times: MemoryTimes { created_at: 0, updated_at: 0, surfaced_at: None, expires_at },
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let contents =
            ["One line.", "Several\n\nlines:", "---\nA header?\n---", "\\---\n\\\\---", "# Title\n- list"];
        let memories = contents.map(|content| memory(content, None));
        let ends = memory("It ends.", Some(1_796_000_000_000));
        let all: Vec<_> = memories.iter().chain([&ends]).collect();
        let written: String = all.iter().map(|memory| text(memory)).collect();
        let forms = read(&written).unwrap();
        assert_eq!(forms.len(), all.len(), "{written}");
        for (form, memory) in forms.iter().zip(all) {
            assert_eq!((&form.note, &form.project), (&memory.note, &memory.project), "{written}");
        }
        assert_eq!(forms.last().unwrap().expires, Some(jiff::civil::date(2026, 11, 30)));
        assert_eq!(read("\n\n").unwrap(), []);
    }

    #[test]
    fn an_invalid_line_is_named() {
        let header = "---\ntitle: a\ntype: user\n";
        for (text, says) in [
            ("hello", "line 1 is not `---`"),
            ("---\ntitle: a", "the header at line 1 has no end"),
            (&format!("{header}type: fact\n---\nx"), "line 4: Invalid memory type: 'fact'"),
            (&format!("{header}colour: red\n---\nx"), "line 4: colour is unknown"),
            (&format!("{header}expires: soon\n---\nx"), "line 4: expires is `never` or a date"),
            (&format!("{header}pinned: often\n---\nx"), "line 4: pinned is yes or no"),
            (&format!("{header}project: here\n---\nx"), "line 4: "),
            (&format!("{header}---\n"), "the memory at line 1: it has no content"),
            ("---\ntitle: a\n---\nx", "the memory at line 1: it has no type"),
            ("---\ntype: user\n---\nx", "the memory at line 1: it has no title"),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.starts_with(says), "{error}");
        }
    }
}
