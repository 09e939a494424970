//! JSON rows that describe integrations and their functions.

use super::Integrations;
use ::integrations::{
    Accounts as _, BASE_URL, DEFAULT_ACCOUNT, Function, Integration, LOCAL, Origin, Switches,
};
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

/// The row of a function, with its schema.
pub(crate) fn function(integration: &Integration, function: &Function, state: &IntegrationState) -> Value {
    let auth = strategies(integration);
    let auth = auth.first().copied().unwrap_or("none");
    let runnable = integration.is_runnable(function);
    let summary = if runnable {
        "Can be called from here."
    } else {
        "Needs an authentication method that is not supported."
    };
    json!({
        "provider": integration.name,
        "function": function.full_name(),
        "name": function.name,
        "slug": format!("{}-{}", integration.name, function.name).replace('_', "-"),
        "title": function.title,
        "description": function.description,
        "operation": function.operation.id(),
        "active": state.active,
        "configured": state.configured,
        "accounts": state.accounts,
        "auth": auth,
        "auth_strategy": auth,
        "host_availability": if runnable { json!(["local"]) } else { json!([]) },
        "runtime_requirements": [],
        "compatibility": if runnable { "supported" } else { "unsupported" },
        "compatibility_summary": summary,
        "cli_setup_supported": runnable,
        "cli_runtime_supported": runnable,
        "input_schema": function.input_schema(&filled_in(integration, state)),
    })
}

/// The row of an integration.
pub(crate) fn provider(integration: &Integration, state: &IntegrationState) -> Value {
    let (source, checked) = match &integration.origin {
        Origin::BuiltIn { checked } => ("built-in", Some(checked)),
        Origin::Added { source } => (source.as_str(), None),
    };
    json!({
        "name": integration.name,
        "title": integration.title,
        "description": integration.description,
        "source": source,
        "checked": checked,
        "base_url": integration.address.base_url,
        "functions": integration.functions.len(),
        "left_out": integration.left_out.len(),
        "active": state.active,
        "configured": state.configured,
        "accounts": state.accounts,
        "auth": strategies(integration),
        "runnable": state.runnable,
        "status": state.word(),
    })
}

/// The rows of the fields of an integration's accounts.
pub(crate) fn fields(integration: &Integration) -> Vec<Value> {
    let mut rows: Vec<Value> = Vec::new();
    for field in integration.fields() {
        let row = json!({ "name": field.name, "description": field.description, "secret": field.secret, "required": field.required });
        rows.push(row);
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
        rows.push(json!({ "name": name, "description": about, "secret": false, "required": required }));
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
