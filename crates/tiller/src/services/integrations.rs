//! `integrations/*`: lists, calls and configures functions of integrations for a client, without a
//! model.

use super::Services;
use crate::integrations::{
    AccountAdvice, Change,
    rows::{self, IntegrationState},
};
use ::integrations::{
    Accounts as _, Blocked, Call, CallError, Catalogue, Files, Function, Integration, RawArguments,
};
use acp::native::{CallFunction, ConfigureIntegration, ListFunctions, RequestContext, ServiceError};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// Returns the functions that match a query, all integrations, and the names of those that can be
/// called from here.
pub(super) async fn list(
    services: &Services,
    context: &RequestContext,
    query: ListFunctions,
) -> Result<Value, ServiceError> {
    let switches = services.current_options(context).await?.switches();
    let catalogue = services.extensions.integrations.catalogue().await;
    let mut states = BTreeMap::new();
    for integration in catalogue.all() {
        let state = IntegrationState::of(&services.extensions.integrations, integration, &switches).await;
        states.insert(integration.name.clone(), state);
    }
    let (mut providers, mut runnable) = (Map::new(), Vec::new());
    for integration in catalogue.all() {
        let state = &states[&integration.name];
        providers.insert(integration.name.clone(), json!(rows::provider(integration, state)));
        if state.runnable {
            runnable.push(integration.name.clone());
        }
    }
    let found = catalogue.search(query.query.as_deref().unwrap_or_default());
    let rows = found.into_iter().take(query.limit).filter_map(|function| {
        let integration = catalogue.integration(&function.provider).ok()?;
        Some(rows::function(integration, function, &states[&function.provider]))
    });
    let rows: Vec<_> = rows.collect();
    Ok(json!({ "functions": rows, "providers": providers, "locallyRunnableProviders": runnable }))
}

/// Returns one function with its schema.
pub(super) async fn describe(
    services: &Services,
    context: &RequestContext,
    name: &str,
) -> Result<Value, ServiceError> {
    let switches = services.current_options(context).await?.switches();
    let catalogue = services.extensions.integrations.catalogue().await;
    let unknown = |_| {
        let nearest = catalogue.nearest(name);
        ServiceError::InvalidParams(Blocked::Unknown { name: name.to_owned(), nearest }.to_string())
    };
    let (integration, function) = find_function(&catalogue, name).map_err(unknown)?;
    let state = IntegrationState::of(&services.extensions.integrations, &integration, &switches).await;
    Ok(json!(rows::function(&integration, &function, &state)))
}

/// Calls a function. An invalid call is an error; a refusal or a failure is part of the answer.
pub(super) async fn call(
    services: &Services,
    context: &RequestContext,
    call: CallFunction,
) -> Result<Value, ServiceError> {
    let options = services.current_options(context).await?;
    let catalogue = services.extensions.integrations.catalogue().await;
    let failed = |error: &dyn std::fmt::Display| ServiceError::Failed(error.to_string());
    let (integration, function) =
        find_function(&catalogue, &call.function).map_err(|blocked| failed(&blocked))?;
    let advice = AccountAdvice::of(&services.extensions.integrations, &integration.name).await;
    let account = call.account.unwrap_or_else(|| advice.default_account().to_owned());
    let missing_credentials = advice.missing_credentials(&integration, &function, &account);
    let call = Call {
        integration,
        function,
        account,
        raw_arguments: RawArguments { json: call.args, ..RawArguments::default() },
        force: call.force,
        dry_run: call.dry_run,
        files: Some(Files {
            system: crate::wiring::outside(&options, &context.cwd, call.force).system,
            cwd: context.cwd.clone(),
        }),
    };
    let denial = services.extensions.integrations.denial(&options, &context.cwd, &call, true).await;
    let outcome = services.extensions.integrations.caller.call(&call, &options.switches(), denial).await;
    let describe_error = |unmade: CallError| match (unmade, missing_credentials) {
        (CallError::Blocked(Blocked::NoCredentials { .. }), Some(why)) => ServiceError::Failed(why),
        (unmade, _) => failed(&unmade),
    };
    Ok(outcome.map_err(describe_error)?.to_json())
}

/// Stores credentials for the user, and the integration's settings in the file of the scope. Both
/// apply
/// immediately.
pub(super) async fn configure(
    services: &Services,
    context: &RequestContext,
    set: ConfigureIntegration,
) -> Result<Value, ServiceError> {
    let before = services.current_options(context).await?.switches();
    let catalogue = services.extensions.integrations.catalogue().await;
    let integration = catalogue.integration(&set.integration);
    let integration = integration.map_err(|blocked| ServiceError::Failed(blocked.to_string()))?;
    let name = &integration.name;
    let fields = integration.fields();
    let secret = |name: &String| fields.iter().any(|field| field.name == *name && field.secret);
    let given = set.credentials.iter();
    let redactor = services.environment.redactor();
    redactor
        .learn(given.clone().filter(|(name, _)| secret(name)).map(|(_, value)| value.reveal().to_owned()));
    let change: Change = given.map(|(name, value)| (name.clone(), Some(value.reveal().to_owned()))).collect();
    let changed = services.extensions.integrations.accounts.change(name, &set.account, &fields, change).await;
    changed.map_err(|error| match services.failed(&error) {
        ServiceError::Failed(text) => ServiceError::InvalidParams(text),
        other => other,
    })?;
    let trusted = services.settings_awaiting_review(context, set.scope).await;
    if let Some(enabled) = set.enabled {
        services
            .store(context, set.scope, &format!("integrations.{name}.enabled"), &json!(enabled), true)
            .await?;
    }
    let words = [("read", set.permissions.read), ("write", set.permissions.write)];
    for (operation, word) in words.iter().filter_map(|(operation, word)| Some((operation, (*word)?))) {
        let setting = format!("integrations.{name}.permissions.{operation}");
        services.store(context, set.scope, &setting, &json!(word), true).await?;
    }
    services.stay_trusted(context, trusted).await?;
    services.runtime.settings_changed();
    let now = services.current_options(context).await?.switches();
    let own = now.of(name);
    let keys = services.extensions.integrations.accounts.account(name, &set.account).await.fields();
    Ok(json!({
        "integration": name,
        "account": set.account,
        "scope": set.scope.id(),
        "enabled": own.enabled,
        "enabledChanged": own.enabled != before.of(name).enabled,
        "credentialScope": "global",
        "credentialKeys": keys,
        "permissions": {
            "read": own.read.unwrap_or(now.default).id(),
            "write": own.write.unwrap_or(now.default).id(),
        },
    }))
}

fn find_function(catalogue: &Catalogue, name: &str) -> Result<(Arc<Integration>, Arc<Function>), Blocked> {
    let (integration, function) = catalogue.function(name)?;
    Ok((integration.clone(), function.clone()))
}
