//! `create FILE with TEXT` and `overwrite FILE with TEXT`.

use super::{
    file,
    lexer::Kind,
    phrase::{Phrase, Split},
    progress::{Blocked, Script},
    step::{Command, Outcome, ParsedStep, Step},
    verbs,
};
use serde_json::json;

/// The command.
pub(crate) const COMMAND: Command = Command {
    verbs: verbs::WRITE,
    form: "create FILE with TEXT (overwrite FILE with TEXT when it exists)",
    example: "create notes/today.md with '# Today'",
    parse,
};

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    /// The file.
    pub(crate) path: String,
    /// The whole content.
    pub(crate) content: String,
    /// Whether the file may exist already.
    pub(crate) overwrite: bool,
}

fn parse(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    let overwrite = phrase.consume(&["overwrite"]);
    if !overwrite {
        let mut named = phrase;
        let is_file = named.consume(&["add", "make"]) && {
            named.consume(&["a", "the"]);
            named.consume(&["new"]);
            named.at("file")
        };
        let verbs: &[&str] =
            if is_file { &["create", "write", "save", "add", "make"] } else { &["create", "write", "save"] };
        if !phrase.consume(verbs) {
            return None;
        }
    }
    Some(read(phrase, overwrite))
}

fn read(phrase: Phrase<'_>, overwrite: bool) -> ParsedStep {
    let phrase = phrase.trimmed();
    // "write 'text' to FILE"
    if phrase.tokens.first().is_some_and(super::lexer::Token::is_literal)
        && let Split::Once(text, path) = phrase.split(&["to", "into", "in", "as"])
    {
        return Ok(Box::new(Write { content: content(text)?, path: path.file()?, overwrite }));
    }
    let keywords = ["with", "containing", "saying", "that"];
    let place = phrase.tokens.iter().position(|token| {
        token.kind == Kind::Colon
            || token.kind == Kind::Fence
            || keywords.iter().any(|word| token.is_word(word))
    });
    let (path, mut text) = match place {
        Some(place) if phrase.tokens[place].kind == Kind::Fence => {
            (phrase.with(&phrase.tokens[..place]), phrase.with(&phrase.tokens[place..]))
        }
        Some(place) => (phrase.with(&phrase.tokens[..place]), phrase.with(&phrase.tokens[place + 1..])),
        None => (phrase, phrase.with(&[])),
    };
    let (mut path, mut empty) = (path, false);
    if let Some(rest) =
        path.tokens.split_first().filter(|(first, _)| first.is_word("an")).map(|(_, rest)| rest)
    {
        path = path.with(rest);
    }
    empty |= path.consume(&["empty", "empty file"]);
    let path = path.file()?;
    text.consume(&["the"]);
    text.consume(&["says", "reads", "contains"]);
    text.consume(&["following", "this"]);
    text.consume(&["content", "contents", "text", "lines", "code"]);
    let text = text.trimmed();
    match (empty, text.is_empty()) {
        (true, true) => Ok(Box::new(Write { path, content: String::new(), overwrite })),
        (false, true) => Err(format!(
            "it does not say with which text: create `{path}` with 'TEXT', or `create empty file …`"
        )),
        (true, false) => Err("an empty file has no text".to_owned()),
        (false, false) => Ok(Box::new(Write { path, content: content(text)?, overwrite })),
    }
}

/// Parses the content: quoted text or unquoted words unchanged, or the lines of a block, each with
/// its line end.
fn content(phrase: Phrase<'_>) -> Result<String, String> {
    let is_block = matches!(phrase.trimmed().tokens, [only] if only.kind == Kind::Fence);
    let text = phrase.literal()?;
    Ok(if is_block && !text.is_empty() { text + "\n" } else { text })
}

impl Step for Write {
    fn describe(&self) -> String {
        let verb = if self.overwrite { "overwrite" } else { "create" };
        format!("{verb} `{}` ({} line(s))", self.path, self.content.lines().count())
    }

    fn tools(&self) -> &'static [&'static str] {
        &["glob", "file_read", "file_write"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let path = &self.path;
        let plain = path.strip_prefix("./").unwrap_or(path);
        let found = script.call("glob", json!({ "pattern": file::escape_glob(plain) }))?;
        // `glob` returns paths relative to the project's directory, even if the pattern is
        // absolute.
        let is_it = |found: &String| {
            found == plain || (plain.starts_with('/') && plain.ends_with(&format!("/{found}")))
        };
        if !found.is_error && file::paths(&found.text).iter().any(is_it) {
            if !self.overwrite {
                return Err(Blocked::Failed(format!(
                    "`{path}` exists already; say `overwrite {path} with …` to replace it"
                )));
            }
            script.call_or_fail("file_read", json!({ "path": path }))?;
        }
        script.call_or_fail("file_write", json!({ "path": path, "content": self.content }))?;
        let verb = if self.overwrite { "wrote" } else { "created" };
        let size = format!("{} line(s)", self.content.lines().count());
        Ok(Outcome {
            line: format!("{verb} `{path}`, {size}"),
            shown: None,
            changed: vec![(path.clone(), format!("{verb}, {size}"))],
        })
    }

    fn file(&self) -> Option<&str> {
        Some(&self.path)
    }
}
