//! The questions of `tiller setup` on a terminal.

use super::{ProviderSetup, key};
use crate::{
    options::{Options, Secret},
    signals::{self, BeforeExit},
};
use anyhow::{Result, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{BufRead, Stdin, Write};

/// How often a question is repeated after an invalid answer.
const TRIES: usize = 3;

/// Asks for a provider, its settings and a model.
pub(super) fn ask(options: &Options) -> Result<ProviderSetup> {
    let stored = |has: bool| if has { " (has a key)" } else { "" };
    say("Which provider?\n")?;
    say(&format!("  1  OpenAI{}\n", stored(options.providers.openai.api_key.is_some())))?;
    say(&format!("  2  Anthropic{}\n", stored(options.providers.anthropic.api_key.is_some())))?;
    say(&format!("  3  Google Gemini{}\n", stored(options.providers.gemini.api_key.is_some())))?;
    say("  4  another server that speaks OpenAI's protocol\n")?;
    let choice = ask_until("Number: ", |line| match line {
        "1" | "2" | "3" | "4" => Ok(line.to_owned()),
        _ => bail!("1, 2, 3 or 4"),
    })?;
    let (provider, base_url) = match choice.as_str() {
        "1" => ("openai".to_owned(), None),
        "2" => ("anthropic".to_owned(), None),
        "3" => ("gemini".to_owned(), None),
        _ => {
            let name = ask_until("A name for it, such as `work`: ", |line| {
                options.providers.clone().named(line).map_err(anyhow::Error::msg)?;
                Ok(line.to_owned())
            })?;
            let url = ask_until("Its address, such as http://127.0.0.1:8000/v1: ", |line| match line {
                "" => bail!("an address is needed"),
                _ => Ok(line.to_owned()),
            })?;
            (name, Some(url))
        }
    };
    let key = hidden("Its key (not shown; empty for none, or for the one that is there): ")?;
    let model =
        ask_until("Model of new sessions (empty: the provider's first): ", |line| Ok(line.to_owned()))?;
    let model = Some(model).filter(|model| !model.is_empty());
    if base_url.is_some() && model.is_none() {
        say("No model is chosen; name one with --model when you start.\n")?;
    }
    Ok(ProviderSetup { provider, model, base_url, key, key_variable: None })
}

/// Asks until the line passes the check, at most [`TRIES`] times.
fn ask_until<T>(question: &str, check: impl Fn(&str) -> Result<T>) -> Result<T> {
    for _ in 0..TRIES {
        say(question)?;
        match check(line(&std::io::stdin())?.trim()) {
            Ok(answer) => return Ok(answer),
            Err(error) => say(&format!("{error}\n"))?,
        }
    }
    bail!("no valid answer; nothing was changed")
}

/// Asks for a key without echo.
fn hidden(question: &str) -> Result<Option<Secret>> {
    for _ in 0..TRIES {
        say(question)?;
        let stdin = std::io::stdin();
        let typed = {
            let _silent = NoEcho::new(&stdin)?;
            line(&stdin)?
        };
        say("\n")?;
        if typed.contains('\u{3}') {
            bail!("interrupted; nothing was changed");
        }
        if typed.trim().is_empty() {
            return Ok(None);
        }
        match key(&typed) {
            Ok(key) => return Ok(Some(key)),
            Err(error) => say(&format!("{error}\n"))?,
        }
    }
    bail!("no valid key; nothing was changed")
}

fn line(stdin: &Stdin) -> Result<String> {
    let mut line = String::new();
    if stdin.lock().read_line(&mut line)? == 0 {
        bail!("the input ended; nothing was changed");
    }
    Ok(line)
}

fn say(text: &str) -> Result<()> {
    let mut stdout = crate::screen::stdout();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Turns off the terminal's echo until it is dropped.
///
/// Interrupt keys are read as characters meanwhile, so that an interrupt cannot leave the terminal
/// without echo.
struct NoEcho<'a> {
    stdin: &'a Stdin,
    before: Termios,
    _before_exit: BeforeExit,
}

impl<'a> NoEcho<'a> {
    fn new(stdin: &'a Stdin) -> Result<Self> {
        let before = tcgetattr(stdin)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(stdin, OptionalActions::Flush, &silent)?;
        let again = before.clone();
        let before_exit = signals::before_exit(move || {
            // If the terminal is gone, nothing is left to restore.
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &again);
        });
        Ok(Self { stdin, before, _before_exit: before_exit })
    }
}

impl Drop for NoEcho<'_> {
    fn drop(&mut self) {
        // If the terminal is gone, nothing is left to restore.
        let _ = tcsetattr(self.stdin, OptionalActions::Now, &self.before);
    }
}
