//! The JSON Schemas of the answers, by command.

use super::{output::Failed, page::Page};
use crate::failure::{Failure, Kind};
use crate::{
    auth::{AccountList, LoggedIn},
    doctor::DoctorReport,
    memory::rows::{Imported, MemoryChanges, MemoryRow, MemoryTrust, Recalled},
    models::{ModelList, Refreshed},
    permissions::{Decision, Explained},
    providers::{ProviderChange, ProviderList, ProviderRemoval, ProviderStatusList},
    scripts::ScriptRun,
    secrets::commands::{SecretChange, SecretList, SecretStatus},
    sessions::{Exported, HitRow, RepairReport, Rewound, SessionChange, SessionRow, TurnRow},
    settings_commands::{
        Applied, Edited, ExampleList, OptionList, PathList, SetAnswer, SettingAnswer, SettingList,
        ShownConfig, UnsetAnswer,
    },
    setup::{Forgotten, SetupAnswer},
    trust::{Folder, FolderList},
};
use anyhow::Result;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Value, json};

/// A command whose answer has a schema.
pub(crate) struct CommandSchema {
    /// The command, such as `sessions list`.
    pub(crate) command: &'static str,
    body: fn() -> Schema,
}

/// Every schema, by command. `error` is the object of every failure.
pub(crate) const ALL: &[CommandSchema] = &[
    described::<Failed>("error"),
    described::<SettingList>("settings list"),
    described::<SettingAnswer>("settings get"),
    described::<SetAnswer>("settings set"),
    described::<UnsetAnswer>("settings unset"),
    described::<Applied>("settings apply"),
    described::<OptionList>("settings options"),
    described::<ExampleList>("settings examples"),
    described::<Edited>("settings edit"),
    described::<DoctorReport>("settings doctor"),
    described::<ShownConfig>("config show"),
    described::<PathList>("config paths"),
    described::<ProviderList>("providers list"),
    described::<ModelList>("providers models"),
    described::<ProviderStatusList>("providers status"),
    described::<ProviderStatusList>("providers doctor"),
    described::<ProviderChange>("providers configure"),
    described::<ProviderRemoval>("providers logout"),
    described::<Refreshed>("providers refresh-models"),
    described::<ProviderList>("providers custom list"),
    described::<ProviderChange>("providers custom upsert"),
    described::<ProviderRemoval>("providers custom delete"),
    described::<ModelList>("models"),
    described::<Refreshed>("models refresh"),
    described::<AccountList>("auth status"),
    described::<LoggedIn>("auth login"),
    described::<ProviderRemoval>("auth logout"),
    described::<SecretList>("secrets list"),
    described::<SecretChange>("secrets set"),
    described::<SecretChange>("secrets unset"),
    described::<SecretStatus>("secrets status"),
    described::<SetupAnswer>("setup"),
    described::<Forgotten>("setup --forget"),
    described::<DoctorReport>("doctor"),
    described::<Page<SessionRow>>("sessions list"),
    described::<Page<HitRow>>("sessions search"),
    described::<SessionChange>("sessions archive"),
    described::<SessionChange>("sessions unarchive"),
    described::<SessionChange>("sessions rename"),
    described::<SessionChange>("sessions delete"),
    described::<Page<Value>>("sessions show"),
    described::<SessionChange>("sessions fork"),
    described::<Exported>("sessions export"),
    described::<SessionChange>("sessions import"),
    described::<Page<TurnRow>>("sessions rewind"),
    described::<Rewound>("sessions rewind --to"),
    described::<RepairReport>("sessions repair"),
    described::<Page<MemoryRow>>("memory list"),
    described::<Recalled>("memory list --prompt"),
    described::<Page<MemoryRow>>("memory search"),
    described::<MemoryRow>("memory show"),
    described::<MemoryChanges>("memory add"),
    described::<MemoryChanges>("memory edit"),
    described::<MemoryChanges>("memory pin"),
    described::<MemoryChanges>("memory unpin"),
    described::<MemoryChanges>("memory forget"),
    described::<Page<MemoryRow>>("memory export"),
    described::<Imported>("memory import"),
    described::<MemoryTrust>("memory trust"),
    described::<Explained>("permissions explain"),
    described::<Page<Decision>>("permissions log"),
    described::<Folder>("trust"),
    described::<FolderList>("trust --list"),
    described::<crate::skills::SkillList>("skills list"),
    described::<crate::skills::SkillAnswer>("skills show"),
    described::<crate::skills::CheckedSkills>("skills validate"),
    described::<crate::web::WebState>("web status"),
    described::<crate::web::WebState>("web doctor"),
    described::<crate::web::FetchedPage>("web fetch"),
    described::<crate::web::WebResults>("web search"),
    described::<crate::web::WebConfigured>("web configure"),
    described::<ScriptRun>("lua run"),
    described::<ScriptRun>("mcp lua"),
    described::<crate::install::Installed>("install"),
    described::<crate::install::Editors>("install --list"),
    described::<crate::help::Help>("help"),
    described::<crate::keys::KeyList>("keys"),
    described::<crate::man::Pages>("man"),
    described::<crate::update::Updated>("update"),
];

/// Describes the answer of a command.
const fn described<T: JsonSchema>(command: &'static str) -> CommandSchema {
    CommandSchema { command, body: body::<T> }
}

/// Returns the schema of a command's answer, or of all if the name is empty.
///
/// # Errors
/// If there is no such command.
pub(crate) fn of(command: &str) -> Result<Value> {
    if command.is_empty() {
        let all = ALL.iter().map(|one| (one.command.to_owned(), one.whole()));
        return Ok(Value::Object(all.collect()));
    }
    match ALL.iter().find(|one| one.command == command) {
        Some(one) => Ok(one.whole()),
        None => {
            let known: Vec<_> = ALL.iter().map(|one| one.command).collect();
            let what = format!("no answer of `{command}` is described");
            Err(Failure::new(Kind::NotFound, what)
                .hint(format!("described are: {}", known.join(", ")))
                .into())
        }
    }
}

/// Returns the schema of a type.
fn body<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

impl CommandSchema {
    /// Returns the schema of the whole object: the body with `v` and `success` before it.
    pub(crate) fn whole(&self) -> Value {
        let mut schema = (self.body)().to_value();
        schema["title"] = json!(format!("tiller {}", self.command));
        let Some(object) = schema.as_object_mut() else { return schema };
        let mut fields = serde_json::Map::new();
        fields.insert("v".to_owned(), json!({ "const": 1, "description": "The version of this format." }));
        fields.insert("success".to_owned(), json!({ "type": "boolean" }));
        if let Some(Value::Object(own)) = object.remove("properties") {
            fields.extend(own.into_iter().filter(|(name, _)| name != "v" && name != "success"));
        }
        object.insert("properties".to_owned(), Value::Object(fields));
        let mut required = vec![json!("v"), json!("success")];
        if let Some(Value::Array(own)) = object.remove("required") {
            required.extend(own.into_iter().filter(|name| name != "v" && name != "success"));
        }
        object.insert("required".to_owned(), Value::Array(required));
        schema
    }

    /// The name of its file in `docs/schema/cli`.
    #[cfg(test)]
    pub(crate) fn file(&self) -> String {
        format!("{}.json", self.command.replace(" --", "-").replace(' ', "-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::{Command, CommandFactory as _};

    #[test]
    fn every_object_begins_with_its_version_and_its_success() {
        for one in ALL {
            let whole = one.whole();
            assert_eq!(whole["properties"]["v"]["const"], 1, "{}", one.command);
            let required = whole["required"].as_array().unwrap();
            assert!(
                required.contains(&json!("v")) && required.contains(&json!("success")),
                "{}",
                one.command
            );
        }
    }

    /// Commands that print no object: a protocol, a script, a document, or an answer of a server.
    const OTHERS: &[&str] = &[
        "acp",
        "demo",
        "completions",
        "config schema",
        "schema native",
        "schema settings",
        "schema cli",
        "mcp serve",
    ];

    /// Groups whose answers are not described yet.
    const UNDESCRIBED: &[&str] = &["mcp ", "integrations "];

    #[test]
    fn every_command_has_a_schema() {
        fn check(command: &Command, name: &str, missing: &mut Vec<String>) {
            let below: Vec<_> = command.get_subcommands().filter(|below| !below.is_hide_set()).collect();
            for inner in &below {
                check(inner, format!("{name} {}", inner.get_name()).trim_start(), missing);
            }
            let described = ALL.iter().any(|one| one.command == name) || OTHERS.contains(&name);
            if below.is_empty() && !described && !UNDESCRIBED.iter().any(|group| name.starts_with(group)) {
                missing.push(name.to_owned());
            }
        }
        let mut root = Cli::command();
        root.build();
        let mut missing = Vec::new();
        check(&root, "", &mut missing);
        missing.retain(|name| !name.starts_with("help "));
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn an_unknown_command_is_answered_with_the_known_ones() {
        let error = of("frobnicate").unwrap_err();
        assert!(error.downcast::<Failure>().unwrap().hint.unwrap().contains("error"));
    }
}
