//! `run CMD`: runs a shell command exactly as written.

use super::{
    block::block_end,
    lexer::Kind,
    phrase::{Phrase, short},
    progress::{Blocked, Script},
    step::{Command, Outcome, ParsedStep, Step},
    verbs,
};
use serde_json::json;

/// The command.
pub(crate) const COMMAND: Command = Command {
    verbs: verbs::RUN,
    form: "run CMD (the rest of the step; in quotes or a code block when it holds `;` or `then`)",
    example: "run cargo test",
    parse,
};

/// A shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// The command line.
    pub(crate) command: String,
}

fn parse(mut phrase: Phrase<'_>) -> Option<ParsedStep> {
    phrase.consume(COMMAND.verbs).then(|| read(phrase))
}

fn read(mut phrase: Phrase<'_>) -> ParsedStep {
    phrase.consume(&[
        "the command",
        "this command",
        "the following command",
        "command",
        "the shell command",
        "this",
        "the following",
    ]);
    let phrase = phrase.trimmed();
    let vague = ["the", "my", "all", "some", "it", "that", "our"];
    if let Some(word) = vague.iter().find(|word| phrase.at(word)) {
        return Err(format!(
            "`{word} …` is not a command; write the command itself, for example `run cargo test`"
        ));
    }
    let command = match phrase.tokens {
        [] => return Err("the command is missing".to_owned()),
        // Quoted text is a command line; escapes such as `\n` are left to the shell.
        [only] if only.kind == Kind::Quoted => only.raw.replace("\\\"", "\""),
        [only] if only.is_literal() => only.text.clone(),
        tokens
            if tokens.iter().any(|token| matches!(token.kind, Kind::Fence | Kind::Patch | Kind::Break)) =>
        {
            return Err("a command over several lines needs a code block of its own".to_owned());
        }
        _ => match phrase.next_verb() {
            Some(verb) => {
                return Err(format!(
                    "it is not clear whether `and {verb}` belongs to the command; quote the command"
                ));
            }
            None => phrase.raw().to_owned(),
        },
    };
    if command.trim().is_empty() {
        return Err("the command is empty".to_owned());
    }
    Ok(Box::new(Run { command }))
}

impl Step for Run {
    fn describe(&self) -> String {
        format!("run {}", self.shown())
    }

    fn tools(&self) -> &'static [&'static str] {
        &["bash"]
    }

    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        let result = script.call("bash", json!({ "command": self.command }))?;
        let (output, code) = exit_code(&result.text);
        let shown = if output.is_empty() { String::new() } else { block_end(output) };
        let name = self.shown();
        match code {
            Some(0) if !result.is_error => {
                let shown = Some(shown).filter(|shown| !shown.is_empty());
                Ok(Outcome { line: format!("ran {name}: exit code 0"), shown, changed: Vec::new() })
            }
            Some(code) => Err(Blocked::Failed(format!("{name} ended with exit code {code}\n\n{shown}"))),
            None if result.is_error => Err(Blocked::Failed(result.text.trim().to_owned())),
            None => Ok(Outcome {
                line: format!("ran {name}; no exit code was reported"),
                shown: Some(shown),
                changed: Vec::new(),
            }),
        }
    }
}

impl Run {
    /// Returns the command for display, in backticks.
    fn shown(&self) -> String {
        format!("`{}`", short(&self.command).replace('`', "'"))
    }
}

/// Splits a result into the output and the exit code, which is in a line behind it. Notes may
/// follow.
fn exit_code(text: &str) -> (&str, Option<i32>) {
    let text = text.trim_end();
    let found = text.rmatch_indices("Exit code: ").find(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
    let code = found.and_then(|(at, word)| {
        let line = text[at + word.len()..].lines().next()?;
        Some((at, line.trim().parse().ok()?))
    });
    match code {
        Some((at, code)) => (text[..at].trim_end(), Some(code)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_found_before_notes() {
        for (text, expected) in [
            ("a\nExit code: 0", ("a", Some(0))),
            ("a\nExit code: 7\n(network: a.org was refused.)\n", ("a", Some(7))),
            ("Exit code: 1", ("", Some(1))),
            ("Exit code: 1\nExit code: 2", ("Exit code: 1", Some(2))),
            ("no Exit code: 1", ("no Exit code: 1", None)),
            ("Exit code: x", ("Exit code: x", None)),
        ] {
            assert_eq!(exit_code(text), expected, "{text}");
        }
    }
}
