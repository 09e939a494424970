//! Parses the command line of a call: our own options, and the arguments of the function.
//!
//! A parameter with the name of one of our options is passed by `--arg`.

use crate::failure::usage;
use ::integrations::{Function, RawArguments};
use anyhow::{Context, Result};
use serde_json::Value;

/// The parsed command line of a call.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CallLine {
    pub(super) given: RawArguments,
    pub(super) account: Option<String>,
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) json: bool,
    pub(super) help: bool,
}

/// Our options that take a value.
const WITH_VALUE: [&str; 3] = ["account", "arg", "input"];

/// Whether the command line asks for JSON. Checked before the line is parsed, so that parse errors
/// are JSON too.
pub(super) fn wants_json(words: &[String]) -> bool {
    words.iter().any(|word| word == "--json")
}

/// Returns the name of the called function, and the other words.
pub(super) fn function(words: &[String]) -> Result<(String, Vec<String>)> {
    let mut rest = words.to_vec();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match word.strip_prefix("--") {
            None if !word.starts_with('-') => {
                rest.remove(at);
                return Ok((word.clone(), rest));
            }
            // Skips the option's value, which is not the function.
            Some(option) if WITH_VALUE.contains(&option) => at += 2,
            _ => at += 1,
        }
    }
    Err(usage("which function? `tiller integrations list` lists them, as PROVIDER.FUNCTION"))
}

/// Parses the words after the function. `stdin` is read only if the line asks for it.
pub(super) fn read(
    words: &[String],
    function: &Function,
    stdin: &mut dyn FnMut() -> Result<String>,
) -> Result<CallLine> {
    let mut line = CallLine::default();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            parse_word(&mut line, word, stdin)?;
            continue;
        };
        let (name, mut value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        if value.is_none() && (WITH_VALUE.contains(&name) || takes_next(function, name)) {
            value = words.next_if(|next| !next.starts_with("--")).cloned();
        }
        let needed = || value.clone().ok_or_else(|| usage(format!("--{name} takes a value")));
        match name {
            "account" => line.account = Some(needed()?),
            "arg" => {
                let given = needed()?;
                let Some((name, value)) = given.split_once('=') else {
                    return Err(usage(format!("--arg is NAME=VALUE, not {given:?}")));
                };
                line.given.pairs.push((name.to_owned(), value.to_owned()));
            }
            "input" => match needed()?.as_str() {
                "-" => merge_object(&mut line, &stdin()?)?,
                text => merge_object(&mut line, text)?,
            },
            "stdin" if value.is_none() => merge_object(&mut line, &stdin()?)?,
            "force" if value.is_none() => line.force = true,
            "dry-run" if value.is_none() => line.dry_run = true,
            "json" if value.is_none() => line.json = true,
            "help" if value.is_none() => line.help = true,
            "" => {}
            name => line.given.flags.push((name.to_owned(), value)),
        }
    }
    Ok(line)
}

/// Parses a word that is not an option: JSON, `NAME=VALUE`, or `-` for stdin.
fn parse_word(line: &mut CallLine, word: &str, stdin: &mut dyn FnMut() -> Result<String>) -> Result<()> {
    match word {
        "-" => merge_object(line, &stdin()?),
        "-h" => {
            line.help = true;
            Ok(())
        }
        word if word.trim_start().starts_with('{') => merge_object(line, word),
        word => {
            let Some((name, value)) = word.split_once('=') else {
                let what = format!("{word:?} is neither --NAME=VALUE, nor NAME=VALUE, nor a JSON object");
                return Err(usage(what));
            };
            line.given.pairs.push((name.to_owned(), value.to_owned()));
            Ok(())
        }
    }
}

/// Merges a JSON object into the arguments; later members win.
fn merge_object(line: &mut CallLine, text: &str) -> Result<()> {
    match serde_json::from_str(text).context("the arguments are not a JSON object")? {
        Value::Object(members) => line.given.json.extend(members),
        _ => return Err(usage("the arguments are not a JSON object")),
    }
    Ok(())
}

/// Whether the next word may be the value of `--NAME`. It may not if the parameter is a boolean.
fn takes_next(function: &Function, name: &str) -> bool {
    let same = |key: &str| key.replace('_', "-").eq_ignore_ascii_case(&name.replace('_', "-"));
    let parameter = function.parameters.iter().find(|parameter| same(&parameter.key));
    parameter.is_some_and(|parameter| parameter.schema["type"] != "boolean")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn a_call_line_has_options_and_function_parameters() {
        let integrations = ::integrations::built_in();
        let plane = integrations.iter().find(|integration| integration.name == "plane").unwrap();
        let function = plane.function("list_issues").unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let flag = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        let line = words(
            r#"--account work {"a":1,"b":1} --dry-run --project-id=p --per_page 5 --arg account=x --arg=y=z=1 k=v - --all-pages --json --force"#,
        );
        let read = read(&line, function, &mut || Ok(r#"{"b":2}"#.to_owned())).unwrap();
        assert_eq!(Value::Object(read.given.json.clone()), serde_json::json!({ "a": 1, "b": 2 }));
        assert_eq!(read.given.pairs, [pair("account", "x"), pair("y", "z=1"), pair("k", "v")]);
        let flags = [flag("project-id", Some("p")), flag("per_page", Some("5")), flag("all-pages", None)];
        assert_eq!(read.given.flags, flags);
        assert_eq!(
            (read.account.as_deref(), read.dry_run, read.force, read.json),
            (Some("work"), true, true, true)
        );
    }

    #[test]
    fn errors_in_a_call_line_are_reported() {
        let integrations = ::integrations::built_in();
        let function = integrations[0].functions.values().next().unwrap();
        for (line, says) in [
            ("word", "neither"),
            ("--account", "takes a value"),
            ("--arg x", "NAME=VALUE"),
            ("[1]", "neither"),
            ("{", "not a JSON object"),
            ("--input [1]", "not a JSON object"),
        ] {
            let error = read(&words(line), function, &mut || Ok(String::new())).unwrap_err();
            assert!(format!("{error:#}").contains(says), "{line}: {error:#}");
        }
        assert_eq!(super::function(&words("--json --account a p.f --x")).unwrap().0, "p.f");
        assert!(super::function(&words("--json --account a")).is_err());
    }
}
