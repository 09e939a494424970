//! The page of settings.

use super::wrapped;
use crate::config::{DefaultValue, InProject, KEYS, Key, description, variable_of};

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
    line("takes", about.takes.words());
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
