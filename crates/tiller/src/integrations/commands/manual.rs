//! Documentation of functions: pages, schemas, examples.

use super::{
    CommandContext,
    rows::{CallExamples, ManualPage, OneFunctionRow},
};
use crate::{answer::Answer, args::OneFunction, integrations::rows};
use anyhow::Result;
use serde_json::Value;
use std::fmt::Write as _;

impl CommandContext<'_> {
    pub(super) async fn docs(&self, one: &OneFunction) -> Result<Answer> {
        if !one.name.contains('.') {
            let integration = self.integration(&one.name).await?;
            let mut text = format!("# {}\n\n{}\n\n", integration.title, integration.description);
            for function in integration.functions.values() {
                let _ = writeln!(text, "- `{}`: {}", function.full_name(), function.title);
            }
            return Ok(page(integration.name.clone(), text));
        }
        let (integration, function) = self.function(&one.name).await?;
        let state = self.state(&integration).await;
        let filled_in = rows::filled_in(&integration, &state);
        let schema = function.input_schema(&filled_in);
        let mut text = format!(
            "# {}\n\n{}\n\n{} ({} {})\n",
            function.full_name(),
            function.description,
            function.operation.id(),
            function.endpoint.method,
            function.endpoint.path
        );
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (at, (name, own)) in schema["properties"].as_object().into_iter().flatten().enumerate() {
            if at == 0 {
                text.push_str("\nParameters:\n");
            }
            let kind = own["type"].as_str().unwrap_or("any");
            let needed = if required.iter().any(|known| known == name) { ", required" } else { "" };
            let _ = writeln!(
                text,
                "- `{name}` ({kind}{needed}): {}",
                own["description"].as_str().unwrap_or_default()
            );
        }
        Ok(page(function.full_name(), text))
    }

    pub(super) async fn schema(&self, name: &str) -> Result<Answer> {
        let (integration, function) = self.function(name).await?;
        let state = self.state(&integration).await;
        let row = rows::function(&integration, &function, &state);
        let text = format!("{:#}\n", row.input_schema);
        Ok(Answer::new(OneFunctionRow { function: row }, text))
    }

    pub(super) async fn examples(&self, name: &str) -> Result<Answer> {
        let (integration, function) = self.function(name).await?;
        let state = self.state(&integration).await;
        let arguments = rows::example(&function, &rows::filled_in(&integration, &state));
        let flags: String = arguments.iter().map(|(name, value)| flag(name, value)).collect();
        let (provider, name) = (&integration.name, &function.name);
        let json = Value::Object(arguments);
        let own = format!("app.integrations{}{}", lua::path_step(provider), lua::path_step(name));
        let examples = [
            format!("tiller integrations:{provider} {name}{flags}"),
            format!("tiller integrations call {provider}.{name} {} --json", in_shell(&json.to_string())),
            format!("tiller integrations call {provider}.{name}{flags} --dry-run"),
            format!("{own}{}", lua::literal(&json)),
        ];
        let text = examples.iter().map(|example| format!("{example}\n")).collect::<String>();
        Ok(Answer::new(CallExamples { function: function.full_name(), examples: examples.into() }, text))
    }
}

fn page(page: String, text: String) -> Answer {
    Answer::new(ManualPage { page, text: text.clone() }, text)
}

/// Options of the command line itself. Parameters with these names are passed by `--arg`.
const OWN_FLAGS: [&str; 8] = ["account", "arg", "force", "json", "input", "stdin", "dry-run", "help"];

/// Formats an argument for the command line.
fn flag(name: &str, value: &Value) -> String {
    let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let kebab = name.replace('_', "-");
    match OWN_FLAGS.contains(&kebab.as_str()) {
        true => format!(" --arg {}", in_shell(&format!("{name}={plain}"))),
        false => format!(" --{kebab}={}", in_shell(&plain)),
    }
}

/// Quotes a word for a shell.
fn in_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
