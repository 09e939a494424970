//! Integrations and their functions, for programs.

use super::Integrations;
use ::integrations::{
    Accounts as _, BASE_URL, DEFAULT_ACCOUNT, Function, Integration, LOCAL, Origin, Switches,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The state of an integration: its accounts, and whether its functions can be called.
pub(crate) struct IntegrationState {
    pub(crate) accounts: Vec<String>,
    /// Whether an account has all required fields.
    pub(crate) configured: bool,
    pub(crate) active: bool,
    pub(crate) runnable: bool,
}

impl IntegrationState {
    pub(crate) async fn of(
        integrations: &Integrations,
        integration: &Integration,
        switches: &Switches,
    ) -> Self {
        let accounts = integrations.accounts.names(&integration.name).await;
        let mut configured = false;
        for name in accounts.iter().map(String::as_str).chain([DEFAULT_ACCOUNT]) {
            let account = integrations.accounts.account(&integration.name, name).await;
            configured = configured || account.is_complete(integration, None);
        }
        let runnable = integration.functions.values().any(|function| integration.is_runnable(function));
        Self { accounts, configured, active: switches.of(&integration.name).enabled, runnable }
    }

    /// Returns the state in a word or two.
    pub(crate) fn word(&self) -> &'static str {
        match (self.runnable, self.active, self.configured) {
            (false, ..) => "not supported",
            (true, false, _) => "off",
            (true, true, false) => "lacks credentials",
            (true, true, true) => "ready",
        }
    }
}

/// A function, with its schema.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FunctionRow {
    /// The integration.
    provider: String,
    /// The function, as PROVIDER.FUNCTION.
    function: String,
    /// Its name below the integration.
    name: String,
    /// Its name with hyphens only.
    slug: String,
    /// What it does, in a few words.
    title: String,
    /// What it does.
    description: String,
    /// read or write.
    operation: &'static str,
    /// Whether the integration is enabled.
    active: bool,
    /// Whether an account has the required fields.
    configured: bool,
    /// The accounts that have fields.
    accounts: Vec<String>,
    /// How the service authenticates.
    auth: &'static str,
    /// The same as `auth`.
    auth_strategy: &'static str,
    /// Where it can be called: local, or nowhere.
    host_availability: Vec<&'static str>,
    /// What must be installed; always empty.
    runtime_requirements: Vec<String>,
    /// supported or unsupported.
    compatibility: &'static str,
    /// Why it cannot be called, or that it can be.
    compatibility_summary: &'static str,
    /// Whether its credentials can be configured here.
    cli_setup_supported: bool,
    /// Whether it can be called here.
    cli_runtime_supported: bool,
    /// The JSON Schema of its arguments.
    pub(super) input_schema: Value,
}

/// Returns the row of a function.
pub(crate) fn function(
    integration: &Integration,
    function: &Function,
    state: &IntegrationState,
) -> FunctionRow {
    let auth = strategies(integration);
    let auth = auth.first().copied().unwrap_or("none");
    let runnable = integration.is_runnable(function);
    FunctionRow {
        provider: integration.name.clone(),
        function: function.full_name(),
        name: function.name.clone(),
        slug: format!("{}-{}", integration.name, function.name).replace('_', "-"),
        title: function.title.clone(),
        description: function.description.clone(),
        operation: function.operation.id(),
        active: state.active,
        configured: state.configured,
        accounts: state.accounts.clone(),
        auth,
        auth_strategy: auth,
        host_availability: if runnable { vec!["local"] } else { Vec::new() },
        runtime_requirements: Vec::new(),
        compatibility: if runnable { "supported" } else { "unsupported" },
        compatibility_summary: match runnable {
            true => "Can be called from here.",
            false => "Needs an authentication method that is not supported.",
        },
        cli_setup_supported: runnable,
        cli_runtime_supported: runnable,
        input_schema: json!(function.input_schema(&filled_in(integration, state))),
    }
}

/// An integration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IntegrationRow {
    /// Its name.
    name: String,
    /// The name of the service.
    title: String,
    /// What the service is.
    description: String,
    /// built-in, or the document that it was added from.
    source: String,
    /// When a built-in integration was last compared with the vendor's documents.
    checked: Option<String>,
    /// Its address; null if accounts must have one.
    base_url: Option<String>,
    /// The number of its functions.
    functions: usize,
    /// The number of operations of its document that are left out.
    left_out: usize,
    /// Whether it is enabled.
    active: bool,
    /// Whether an account has the required fields.
    configured: bool,
    /// The accounts that have fields.
    accounts: Vec<String>,
    /// How the service authenticates.
    auth: Vec<&'static str>,
    /// Whether any function can be called from here.
    runnable: bool,
    /// ready, lacks credentials, off, or not supported.
    status: &'static str,
    /// In `status`: the permissions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) permissions: Option<PermissionRow>,
}

/// The permissions of an integration: allow, ask or deny.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PermissionRow {
    /// Of functions that only read.
    pub(super) read: &'static str,
    /// Of all other functions.
    pub(super) write: &'static str,
}

/// Returns the row of an integration.
pub(crate) fn provider(integration: &Integration, state: &IntegrationState) -> IntegrationRow {
    let (source, checked) = match &integration.origin {
        Origin::BuiltIn { checked } => ("built-in", Some(checked.clone())),
        Origin::Added { source } => (source.as_str(), None),
    };
    IntegrationRow {
        name: integration.name.clone(),
        title: integration.title.clone(),
        description: integration.description.clone(),
        source: source.to_owned(),
        checked,
        base_url: integration.address.base_url.clone(),
        functions: integration.functions.len(),
        left_out: integration.left_out.len(),
        active: state.active,
        configured: state.configured,
        accounts: state.accounts.clone(),
        auth: strategies(integration),
        runnable: state.runnable,
        status: state.word(),
        permissions: None,
    }
}

/// A field of an integration's accounts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FieldRow {
    /// Its name.
    pub(super) name: String,
    /// What it is.
    pub(super) description: String,
    /// Whether its value is never shown.
    pub(super) secret: bool,
    /// Whether every account needs it.
    pub(super) required: bool,
}

/// Returns the fields of an integration's accounts.
pub(crate) fn fields(integration: &Integration) -> Vec<FieldRow> {
    let mut rows: Vec<FieldRow> = Vec::new();
    for field in integration.fields() {
        rows.push(FieldRow {
            name: field.name.clone(),
            description: field.description.clone(),
            secret: field.secret,
            required: field.required,
        });
    }
    let own = [
        (
            BASE_URL,
            "The address of your own installation, in place of the usual one",
            integration.address.base_url.is_none(),
        ),
        (LOCAL, "`true` where that is on this machine or in a private network", false),
    ];
    for (name, about, required) in own {
        rows.push(FieldRow { name: name.to_owned(), description: about.to_owned(), secret: false, required });
    }
    rows
}

/// Returns the names of the parameters that a configured account fills in.
pub(crate) fn filled_in(integration: &Integration, state: &IntegrationState) -> Vec<String> {
    match state.configured {
        true => integration.auth.settings.iter().map(|field| field.name.clone()).collect(),
        false => Vec::new(),
    }
}

/// Returns example arguments with a value for each required parameter.
pub(crate) fn example(function: &Function, filled_in: &[String]) -> Map<String, Value> {
    let needed = function.parameters.iter().filter(|p| p.required && !filled_in.contains(&p.key));
    needed.map(|parameter| (parameter.key.clone(), lua::sample(&parameter.schema))).collect()
}

fn strategies(integration: &Integration) -> Vec<&'static str> {
    let mut ids: Vec<_> = integration.auth.schemes.values().map(|scheme| scheme.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
