//! The JSON Schemas of the answers, by command.

use super::output::Failed;
use crate::failure::{Failure, Kind};
use crate::{
    auth::{AccountList, LoggedIn},
    doctor::DoctorReport,
    models::{ModelList, Refreshed},
    providers::{ProviderChange, ProviderList, ProviderRemoval, ProviderStatusList},
    secrets::commands::{SecretChange, SecretList, SecretStatus},
    settings_commands::{
        Applied, Edited, ExampleList, OptionList, PathList, SetAnswer, SettingAnswer, SettingList,
        ShownConfig, UnsetAnswer,
    },
    setup::{Forgotten, SetupAnswer},
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

    #[test]
    fn an_unknown_command_is_answered_with_the_known_ones() {
        let error = of("frobnicate").unwrap_err();
        assert!(error.downcast::<Failure>().unwrap().hint.unwrap().contains("error"));
    }
}
