//! The page of settings.

use super::wrapped;
use crate::config::{DefaultValue, InProject, Item, KEYS, Key, Takes, description, variable_of};

const HEAD: &str = "\
# Settings

Every setting of `config.toml`. [Configuration](../configuration.md) explains the files, the layers
and the trust that a project needs. `tiller schema settings` prints the same as a
[JSON Schema](../../clients/schema/settings.json).

In a name, `NAME` stands for a name of your choice: of a server, an integration, a hook or a
provider. Each setting has one of these rules for a project's file:

- *trusted*: ignored until you trust the project's settings;
- *adds*: appends to the list, trusted or not;
- *tightens*: may make the setting stricter, trusted or not, and never looser.

This page is generated from the code: `cargo xtask reference --write`.
";

/// Returns the page.
pub(super) fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut group = "";
    for key in KEYS {
        let own = key.name.split('.').next().unwrap_or_default();
        if own != group {
            page += &format!("\n## {own}\n");
            group = own;
        }
        page += &section(key);
    }
    page
}

fn section(key: &Key) -> String {
    let about = description(key);
    let mut text = format!("\n### `{}`\n\n{}\n", key.name, wrapped(&linked(about.text), ""));
    let mut line = |name: &str, value: String| text += &wrapped(&format!("- {name}: {value}"), "  ");
    line("takes", takes(about.takes));
    line("default", default(about.default));
    if let Some(variable) = variable_of(key) {
        line("environment variable", format!("`{variable}`"));
    }
    line("in a project", rule(key.in_project));
    text
}

/// Moves the links of a description from `docs` to `docs/reference`.
fn linked(text: &str) -> String {
    let text = text.replace("](#", "](configuration.md#");
    text.replace("](", "](../")
}

fn takes(takes: Takes) -> String {
    match takes {
        Takes::Text => "text".to_owned(),
        Takes::Model => "text: `PROVIDER/NAME`".to_owned(),
        Takes::Url => "text: a URL that begins with `http://` or `https://`".to_owned(),
        Takes::Address => "text: `HOST`, `HOST:PORT` or a URL".to_owned(),
        Takes::Variable => "text: the name of an environment variable".to_owned(),
        Takes::Flag => "`true` or `false`".to_owned(),
        Takes::Count => "a whole number from 1".to_owned(),
        Takes::CountOrZero => "a whole number from 0".to_owned(),
        Takes::Percent => "a whole number from 10 to 100".to_owned(),
        Takes::Seconds { most: None } => "a whole number of seconds from 1".to_owned(),
        Takes::Seconds { most: Some(most) } => {
            format!("a whole number of seconds from 1 to {}", most.as_secs())
        }
        Takes::Word(words) => one_of(words),
        Takes::List(Item::Tool) => "a list of tool names".to_owned(),
        Takes::List(Item::ToolPattern) => "a list of tool names; `*` stands for any characters".to_owned(),
        Takes::List(Item::PathPattern) => "a list of path patterns".to_owned(),
        Takes::List(Item::Path) => "a list of paths that begin with `/` or `~/`".to_owned(),
        Takes::List(Item::Rule) => "a list of rules: `TOOL` or `TOOL(PATTERN)`".to_owned(),
        Takes::List(Item::Variable) => "a list of names of environment variables".to_owned(),
        Takes::List(Item::Url) => "a list of URLs".to_owned(),
        Takes::List(Item::Host) => "a list of hosts, without scheme and port".to_owned(),
        Takes::List(Item::Argument) => "a list: a program and its arguments".to_owned(),
        Takes::List(Item::Key) => "a list of keys".to_owned(),
        Takes::List(Item::Word(words)) => format!("a list of {}", one_of(words)),
    }
}

fn one_of(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        words => words.join(""),
    }
}

fn default(default: DefaultValue) -> String {
    match default {
        DefaultValue::Text(text) => format!("`\"{text}\"`"),
        DefaultValue::Number(number) => format!("`{number}`"),
        DefaultValue::Flag(flag) => format!("`{flag}`"),
        DefaultValue::EmptyList => "`[]`".to_owned(),
        DefaultValue::Described(words) => words.to_owned(),
        DefaultValue::Required => "none; required".to_owned(),
    }
}

fn rule(in_project: InProject) -> String {
    match in_project {
        InProject::WhenTrusted(reason) => format!("*trusted*: {reason}"),
        InProject::Never(reason) => format!("*never*: {reason}"),
        InProject::Adds | InProject::Tightens(_) => format!("*{}*", in_project.id()),
    }
}
