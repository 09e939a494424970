//! The JSON Schemas of the answers, by command.

use super::{output::Failed, page::Page};
use crate::failure::{Failure, Kind};
use crate::{
    auth::{AccountList, LoggedIn},
    doctor::DoctorReport,
    integrations::commands::rows as integrations,
    mcp::rows as mcp,
    memory::rows::{Imported, MemoryChanges, MemoryRow, MemoryTrust, Recalled},
    models::{ModelList, Refreshed},
    permissions::{Decision, Explained},
    providers::{ProviderChange, ProviderList, ProviderRemoval, ProviderStatusList},
    scripts::ScriptRun,
    secrets::commands::{SecretChange, SecretList, SecretStatus},
    server::admin,
    session_stores::{StoreMigration, StoreStatus, TransferReport, Verification},
    sessions::{Exported, HitRow, MovedSessions, RepairReport, Rewound, SessionChange, SessionRow, TurnRow},
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
    described::<crate::caches::CacheList>("caches list"),
    described::<crate::caches::CachesCleared>("caches clear"),
    described::<SecretList>("secrets list"),
    described::<SecretChange>("secrets set"),
    described::<SecretChange>("secrets unset"),
    described::<SecretStatus>("secrets status"),
    described::<admin::ServerStatus>("serve status"),
    described::<admin::OpenSessions>("serve sessions"),
    described::<admin::ExportedSession>("serve export"),
    described::<admin::Disconnected>("serve disconnect"),
    described::<admin::Draining>("serve drain"),
    described::<admin::NodeList>("serve nodes"),
    described::<admin::AuditTrail>("serve audit"),
    described::<admin::ServerChecks>("serve check"),
    described::<crate::token::CreatedToken>("token create"),
    described::<crate::token::TokenList>("token list"),
    described::<crate::token::TokenInfo>("token revoke"),
    described::<SetupAnswer>("setup"),
    described::<Forgotten>("setup --forget"),
    described::<DoctorReport>("doctor"),
    described::<Page<SessionRow>>("sessions list"),
    described::<Page<HitRow>>("sessions search"),
    described::<SessionChange>("sessions archive"),
    described::<SessionChange>("sessions unarchive"),
    described::<SessionChange>("sessions rename"),
    described::<MovedSessions>("sessions move"),
    described::<SessionChange>("sessions delete"),
    described::<Page<Value>>("sessions show"),
    described::<SessionChange>("sessions fork"),
    described::<Exported>("sessions export"),
    described::<SessionChange>("sessions import"),
    described::<Page<TurnRow>>("sessions rewind"),
    described::<Rewound>("sessions rewind --to"),
    described::<RepairReport>("sessions repair"),
    described::<TransferReport>("sessions migrate"),
    described::<StoreMigration>("store migrate"),
    described::<StoreStatus>("store status"),
    described::<Verification>("store verify"),
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
    described::<mcp::ServerList>("mcp list"),
    described::<mcp::ServerChange>("mcp add"),
    described::<mcp::ServerChange>("mcp remove"),
    described::<mcp::ServerChange>("mcp enable"),
    described::<mcp::ServerChange>("mcp disable"),
    described::<mcp::ServerStatusList>("mcp status"),
    described::<mcp::ToolList>("mcp tools"),
    described::<mcp::OneTool>("mcp schema"),
    described::<mcp::ToolResult>("mcp call"),
    described::<ScriptRun>("mcp lua"),
    described::<mcp::TrustedServers>("mcp trust"),
    described::<mcp::ServerCheck>("mcp doctor"),
    described::<mcp::McpExamples>("mcp examples"),
    described::<mcp::Resources>("mcp resources"),
    described::<mcp::Prompts>("mcp prompts"),
    described::<mcp::Resources>("mcp resource"),
    described::<mcp::Prompts>("mcp prompt"),
    described::<mcp::PresetList>("mcp preset list"),
    described::<mcp::OnePreset>("mcp preset show"),
    described::<mcp::ServerChange>("mcp preset add"),
    described::<mcp::SignedIn>("mcp login"),
    described::<mcp::SignedOut>("mcp logout"),
    described::<mcp::SecretState>("mcp secret set"),
    described::<mcp::SecretKeys>("mcp secret list"),
    described::<mcp::SecretState>("mcp secret unset"),
    described::<mcp::ImportedServers>("mcp import"),
    described::<mcp::ExportedServers>("mcp export"),
    described::<integrations::IntegrationList>("integrations list"),
    described::<integrations::IntegrationStatus>("integrations status"),
    described::<integrations::IntegrationCheck>("integrations doctor"),
    described::<integrations::AccountFields>("integrations fields"),
    described::<integrations::ConfiguredIntegration>("integrations configure"),
    described::<integrations::FoundFunctions>("integrations search"),
    described::<integrations::ManualPage>("integrations docs"),
    described::<integrations::OneFunctionRow>("integrations schema"),
    described::<integrations::CallExamples>("integrations examples"),
    described::<integrations::FunctionResult>("integrations call"),
    described::<ScriptRun>("integrations lua"),
    described::<integrations::AddedIntegration>("integrations add"),
    described::<integrations::RemovedIntegration>("integrations remove"),
    described::<integrations::SwitchedAnswer>("integrations enable"),
    described::<integrations::SwitchedAnswer>("integrations disable"),
    described::<crate::install::Installed>("install"),
    described::<crate::install::Editors>("install --list"),
    described::<crate::help::Help>("help"),
    described::<crate::keys::KeyList>("keys"),
    described::<crate::man::Pages>("man"),
    described::<crate::completions::Script>("completions"),
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
            let what = format!("no answer of `{command}` is described");
            let failure = Failure::new(Kind::NotFound, what);
            let group = format!("{command} ");
            let below: Vec<_> =
                ALL.iter().map(|one| one.command).filter(|known| known.starts_with(&group)).collect();
            let failure = match agent::closest(command, ALL, |one| one.command) {
                _ if !below.is_empty() => failure.hint(format!("described are: {}", below.join(", "))),
                Some(nearest) => failure.hint(format!("did you mean '{}'?", nearest.command)),
                None => failure.hint("`error` is the object of every failure"),
            };
            Err(failure.next("tiller schema cli").into())
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

    /// Commands whose stdout is not an answer, with the reason.
    const OTHERS: &[(&str, &str)] = &[
        ("acp", "stdout has the messages of the protocol"),
        ("connect", "stdout has the messages of the protocol"),
        ("serve", "it serves until it is stopped; stdout stays empty"),
        ("mcp serve", "stdout has the messages of the protocol"),
        ("demo", "stdout has the messages between the editor and the agent"),
        ("config schema", "prints a JSON Schema, which is one object"),
        ("schema native", "prints a JSON Schema, which is one object"),
        ("schema settings", "prints a JSON Schema, which is one object"),
        ("schema cli", "prints JSON Schemas, which are one object"),
    ];

    /// Adds the names of all visible commands that do something, such as `sessions list`.
    fn runnable(command: &Command, name: &str, found: &mut Vec<String>) {
        let below: Vec<_> = command.get_subcommands().filter(|below| !below.is_hide_set()).collect();
        for inner in &below {
            runnable(inner, format!("{name} {}", inner.get_name()).trim_start(), found);
        }
        let runs_alone = !command.is_subcommand_required_set() && !name.is_empty();
        if below.is_empty() || runs_alone {
            found.push(name.to_owned());
        }
    }

    #[test]
    fn every_command_has_a_schema_and_every_schema_a_command() {
        let mut commands = Vec::new();
        runnable(&Cli::command(), "", &mut commands);
        let has_schema = |name: &str| ALL.iter().any(|one| one.command == name);
        let is_other = |name: &str| OTHERS.iter().any(|(other, _)| *other == name);
        let without: Vec<_> = commands.iter().filter(|name| !has_schema(name) && !is_other(name)).collect();
        assert_eq!(without, Vec::<&String>::new(), "commands without a schema");
        // Some commands have an answer of their own for an option.
        let command_of = |schema: &'static str| schema.split(" --").next().unwrap_or(schema);
        let orphans: Vec<_> = ALL
            .iter()
            .map(|one| one.command)
            .filter(|schema| *schema != "error" && !commands.iter().any(|name| name == command_of(schema)))
            .collect();
        assert_eq!(orphans, [""; 0], "schemas without a command");
        for (other, reason) in OTHERS {
            assert!(commands.iter().any(|name| name == other), "{other} ({reason}) is no command");
            assert!(!has_schema(other), "{other} has a schema");
        }
    }

    #[test]
    fn an_unknown_command_is_answered_with_its_group_or_the_nearest() {
        for (given, says) in [
            ("frobnicate", "`error`"),
            ("sesions list", "did you mean 'sessions list'?"),
            ("mcp secret", "described are: mcp secret set, mcp secret list, mcp secret unset"),
        ] {
            let failure = of(given).unwrap_err().downcast::<Failure>().unwrap();
            assert!(failure.hint.as_ref().unwrap().contains(says), "{given}: {failure:?}");
        }
    }
}
