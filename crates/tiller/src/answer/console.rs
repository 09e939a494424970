//! Prints answers and failures in the form that the flags and the terminal ask for.

use super::{
    classify::failure_of,
    colour::{ColourWhen, Role, painted},
    moment::{relative, rfc3339},
    output::{self, Answer},
    page::Page,
};
use crate::{
    environment::Environment,
    exit::{Exit, PrintedError},
    failure::{Failure, Kind},
    streams,
};
use agent::{Redactor, sanitise};
use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use std::io::{IsTerminal as _, Write as _};
use system::AbsPath;

/// How this process talks to the user or the program that started it.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    json: bool,
    /// Whether a list is printed as a line for each item.
    lines: bool,
    quiet: bool,
    asks: bool,
    colours_errors: bool,
    redactor: Redactor,
    /// The directory of `--cwd`.
    directory: Option<AbsPath>,
}

/// The global flags that decide it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes {
    pub(crate) json: bool,
    /// Lists are printed as a line for each item; failures are objects, as with `json`.
    pub(crate) lines: bool,
    pub(crate) quiet: bool,
    pub(crate) no_input: bool,
    pub(crate) colour: ColourWhen,
}

impl Console {
    /// Creates the console of this process.
    pub(crate) fn new(wishes: Wishes, environment: &Environment) -> Self {
        let Wishes { json, lines, quiet, no_input, colour } = wishes;
        let json = json || lines;
        let stderr = streams::stderr_is_terminal();
        Self {
            json,
            lines,
            quiet,
            asks: !json && !no_input && stderr && std::io::stdin().is_terminal(),
            colours_errors: colour.applies(environment, stderr),
            redactor: environment.redactor().clone(),
            directory: environment.chosen_directory.clone(),
        }
    }

    /// Returns the console of a command that found `--json` among its own arguments.
    pub(crate) fn with_json(&self, json: bool) -> Self {
        Self { json: self.json || json, asks: self.asks && !json, ..self.clone() }
    }

    /// Whether the result is printed as JSON. Only output that streams needs to know.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether notes are left out.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether a question can be asked: on a terminal, without `--json` and `--no-input`.
    pub(crate) fn may_ask(&self) -> bool {
        self.asks
    }

    /// Returns the failure of a command that would have to ask for a value.
    pub(crate) fn missing(what: &str, flag: &str) -> Failure {
        Failure::new(Kind::Usage, format!("{what} is missing, and nothing can be asked here; pass {flag}"))
    }

    /// The directory of `--cwd`, to which a list is then limited.
    pub(crate) fn chosen_directory(&self) -> Option<&AbsPath> {
        self.directory.as_ref()
    }

    /// Prints the answer and returns the exit code.
    pub(crate) fn print(&self, answer: Answer) -> Result<Exit> {
        let exit = answer.exit();
        match self.json {
            true => self.line(answer.into_json())?,
            false => streams::stdout().write_all(self.redactor.shown(&answer.text).as_bytes())?,
        }
        Ok(exit)
    }

    /// Prints the answer of a command that makes a secret, which is shown this once: the field
    /// `name` of the object for programs, and for people alone on standard output, so that a pipe
    /// gets nothing else. The text is a note then.
    pub(crate) fn print_secret(&self, answer: Answer, name: &str, secret: &str) -> Result<Exit> {
        let exit = answer.exit();
        let line = match self.json {
            true => {
                let mut object = self.redactor.redact_value(answer.into_json());
                object[name] = Value::from(secret);
                agent::escaped_json(&object.to_string())
            }
            false => {
                self.note(answer.text().trim_end());
                secret.to_owned()
            }
        };
        streams::stdout().write_all(format!("{line}\n").as_bytes())?;
        Ok(exit)
    }

    /// Prints the answer of a command that failed and has a result all the same: one object for
    /// programs. For people the failure is printed at the end of the process.
    pub(crate) fn print_failed(&self, answer: Answer, error: anyhow::Error) -> Result<Exit> {
        if self.json {
            return self.print(answer.failed(failure_of(&error)));
        }
        self.print(answer)?;
        Err(error)
    }

    /// Prints a page of a list: `row` is an item for programs, `line` for people. A note follows if
    /// there are more, except in an object, which has the cursor.
    pub(crate) fn page<I, T: Serialize>(
        &self,
        page: Page<I>,
        row: impl Fn(&I) -> T,
        line: impl Fn(&I) -> String,
    ) -> Result<Exit> {
        if self.json && !self.lines {
            return self.print(Answer::new(page.map(|item| row(&item)), String::new()));
        }
        for item in &page.items {
            match self.lines {
                true => self.line(serde_json::to_value(row(item))?)?,
                false => streams::stdout().write_all(self.redactor.shown(&line(item)).as_bytes())?,
            }
        }
        if let Some(next) = page.next {
            self.note(&format!("There are more: --after {next} continues, --limit N shows more at once."));
        }
        Ok(Exit::Ok)
    }

    /// Returns a time, given in milliseconds since the epoch, for people: as a distance on a
    /// terminal, else as RFC 3339.
    pub(crate) fn moment(&self, milliseconds: i64) -> String {
        match streams::stdout_is_terminal() {
            true => relative(milliseconds, jiff::Timestamp::now().as_millisecond()),
            false => rfc3339(milliseconds),
        }
    }

    /// Prints one line of JSON, without secrets.
    pub(crate) fn line(&self, value: Value) -> std::io::Result<()> {
        streams::stdout().write_all((self.redactor.json_line(value) + "\n").as_bytes())
    }

    /// Prints a note for people on standard error, unless `-q` was given.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            crate::screen::note(&self.redactor.shown(text));
        }
    }

    /// Reports a failure: as JSON it is printed at once, as a text at the end of the process.
    ///
    /// # Errors
    /// The text, as a [`PrintedError`].
    pub(crate) fn fail(&self, error: anyhow::Error) -> Result<Exit> {
        // A command with a console of its own has rendered it.
        if error.is::<PrintedError>() {
            return Err(error);
        }
        let failure = failure_of(&error);
        if self.json {
            self.line(output::failed(&failure))?;
            return Ok(failure.exit);
        }
        Err(PrintedError { exit: failure.exit, text: self.text(&failure) }.into())
    }

    /// Returns a failure for people: what happened, the hint, and what to type next.
    fn text(&self, failure: &Failure) -> String {
        let paint = |text: &str, role| match self.colours_errors {
            true => painted(text, role),
            false => text.to_owned(),
        };
        let shown = |text: &str| sanitise(&self.redactor.shown(text));
        let mut text = format!("{} {}", paint("tiller:", Role::Error), shown(&failure.to_string()));
        if let Some(hint) = &failure.hint {
            text += &format!("\n  {}", paint(&shown(hint), Role::Faint));
        }
        for command in &failure.next {
            text += &format!("\n  try: {}", paint(&shown(command), Role::Command));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn console(json: bool) -> Console {
        Console {
            json,
            lines: false,
            quiet: false,
            asks: false,
            colours_errors: false,
            redactor: Redactor::default(),
            directory: None,
        }
    }

    #[test]
    fn a_failure_for_people_says_what_happened_and_what_to_type() {
        let failure = Failure::new(Kind::NotFound, "no session\u{1b}[2J x")
            .hint("ids are long")
            .next("tiller sessions list");
        let error = console(false).fail(failure.into()).unwrap_err();
        assert_eq!(error.to_string(), "tiller: no session x\n  ids are long\n  try: tiller sessions list");
    }

    #[test]
    fn a_coloured_failure_has_the_same_words() {
        let coloured = Console { colours_errors: true, ..console(false) };
        let failure = Failure::new(Kind::Usage, "no");
        assert_eq!(coloured.text(&failure), "\u{1b}[1;31mtiller:\u{1b}[0m no");
    }
}
