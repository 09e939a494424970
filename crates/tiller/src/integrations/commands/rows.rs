//! The answers of `tiller integrations`, for programs.

use crate::integrations::rows::{FieldRow, FunctionRow, IntegrationRow, PermissionRow};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// All integrations, or one with its functions.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct IntegrationList {
    /// Without a name: the integrations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) integrations: Option<Vec<IntegrationRow>>,
    /// Without a name: those that cannot be read, with the reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) broken: Option<BTreeMap<String, String>>,
    /// With a name: the integration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) integration: Option<IntegrationRow>,
    /// With a name: its functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) functions: Option<Vec<FunctionRow>>,
}

/// The state of integrations.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IntegrationStatus {
    /// The integrations, with their permissions.
    pub(super) integrations: Vec<IntegrationRow>,
}

/// The check of integrations.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IntegrationCheck {
    /// How many can be called.
    pub(super) ready: usize,
    /// What is wrong.
    pub(super) issues: Vec<String>,
    /// Operations of documents that are left out, with the reasons.
    pub(super) left_out: Vec<String>,
}

/// The fields of an integration's accounts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AccountFields {
    /// The integration.
    pub(super) integration: String,
    /// The fields that an account can have.
    pub(super) fields: Vec<FieldRow>,
    /// The names of the fields that each account has.
    pub(super) accounts: BTreeMap<String, Vec<String>>,
}

/// Functions that match a search.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundFunctions {
    /// The functions, best first.
    pub(super) functions: Vec<FoundFunction>,
}

/// A function that matches a search.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FoundFunction {
    /// The function, as PROVIDER.FUNCTION.
    pub(super) function: String,
    /// What it does, in a few words.
    pub(super) title: String,
    /// read or write.
    pub(super) operation: &'static str,
}

/// A page of documentation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ManualPage {
    /// The function or the integration.
    pub(super) page: String,
    /// The text, as Markdown.
    pub(super) text: String,
}

/// A function and the schema of its arguments.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OneFunctionRow {
    /// The function.
    pub(super) function: FunctionRow,
}

/// Example calls of a function.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CallExamples {
    /// The function, as PROVIDER.FUNCTION.
    pub(super) function: String,
    /// Command lines, and a line of a script.
    pub(super) examples: Vec<String>,
}

/// An integration that was added.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AddedIntegration {
    /// Its name.
    pub(super) integration: String,
    /// The title of its document.
    pub(super) title: String,
    /// The number of its functions.
    pub(super) functions: usize,
    /// Operations of the document that are left out, with the reasons.
    pub(super) left_out: Vec<String>,
    /// Its address; null if accounts must have one.
    pub(super) base_url: Option<String>,
    /// The names of the fields that an account can have.
    pub(super) fields: Vec<String>,
    /// The document.
    pub(super) source: String,
}

/// An integration that was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RemovedIntegration {
    /// Its name.
    pub(super) integration: String,
    /// Always true.
    pub(super) removed: bool,
}

/// The configuration of an integration after a change.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfiguredIntegration {
    /// The integration.
    pub(super) integration: String,
    /// The account.
    pub(super) account: String,
    /// Which settings were written: global or project.
    pub(super) scope: &'static str,
    /// Whether it is enabled.
    pub(super) enabled: bool,
    /// Where credentials are stored: always global.
    pub(super) credential_scope: &'static str,
    /// The names of the fields that the account has.
    pub(super) credential_keys: Vec<String>,
    /// The permissions that apply.
    pub(super) permissions: PermissionRow,
    /// ready, lacks credentials, off, or not supported.
    pub(super) status: &'static str,
}

/// An integration that was enabled or disabled. The other fields are absent if it is not installed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SwitchedAnswer {
    /// Its configuration.
    Installed(ConfiguredIntegration),
    /// Its name and its state only.
    Missing {
        /// The integration.
        integration: String,
        /// Whether it is enabled.
        enabled: bool,
    },
}

/// The result of a function, or its documentation with `--help`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FunctionResult {
    /// The function, as PROVIDER.FUNCTION.
    pub(super) function: String,
    /// What the service answered.
    pub(super) data: Value,
    /// Why the call failed.
    pub(super) error: Option<String>,
    /// How the call was made.
    pub(super) meta: CallRow,
    /// How long it took, in milliseconds.
    pub(super) duration_ms: u64,
}

/// How a function was called.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CallRow {
    /// Whether nothing was sent.
    pub(super) dry_run: bool,
    /// read or write.
    pub(super) operation: &'static str,
    /// Whether --force alone permitted it.
    pub(super) permission_bypassed: bool,
    /// The account.
    pub(super) account: String,
    /// The number of requested pages, if all were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pages: Option<usize>,
}
