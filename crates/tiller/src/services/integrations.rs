//! `integrations/*`: lists, calls and configures functions of integrations for a client, without a
//! model.

use super::Services;
use crate::integrations::{
    Change, Whose,
    rows::{self, Standing},
};
use ::integrations::{
    Accounts as _, Blocked, Call, CallError, Catalogue, Files, Function, Integration, RawArguments,
};
use acp::native::{CallFunction, ConfigureIntegration, ListFunctions, Scene, ServiceError};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// Returns the functions that match a query, all integrations, and the names of those that can be
/// called from here.
pub(super) async fn list(
    services: &Services,
    on: &Scene,
    query: ListFunctions,
) -> Result<Value, ServiceError> {
    let switches = services.options_on(on).await?.switches();
    let catalogue = services.extensions.integrations.catalogue().await;
    let mut standings = BTreeMap::new();
    for integration in catalogue.all() {
        let standing = Standing::of(&services.extensions.integrations, integration, &switches).await;
        standings.insert(integration.name.clone(), standing);
    }
    let (mut providers, mut runnable) = (Map::new(), Vec::new());
    for integration in catalogue.all() {
        let standing = &standings[&integration.name];
        providers.insert(integration.name.clone(), rows::provider(integration, standing));
        if standing.runnable {
            runnable.push(integration.name.clone());
        }
    }
    let found = catalogue.search(query.query.as_deref().unwrap_or_default());
    let rows = found.into_iter().take(query.limit).filter_map(|function| {
        let integration = catalogue.integration(&function.provider).ok()?;
        Some(rows::function(integration, function, &standings[&function.provider]))
    });
    let rows: Vec<_> = rows.collect();
    Ok(json!({ "functions": rows, "providers": providers, "locallyRunnableProviders": runnable }))
}

/// Returns one function with its schema.
pub(super) async fn describe(services: &Services, on: &Scene, name: &str) -> Result<Value, ServiceError> {
    let switches = services.options_on(on).await?.switches();
    let catalogue = services.extensions.integrations.catalogue().await;
    let unknown = |_| {
        let nearest = catalogue.nearest(name);
        ServiceError::InvalidParams(Blocked::Unknown { name: name.to_owned(), nearest }.to_string())
    };
    let (integration, function) = found(&catalogue, name).map_err(unknown)?;
    let standing = Standing::of(&services.extensions.integrations, &integration, &switches).await;
    Ok(rows::function(&integration, &function, &standing))
}

/// Calls a function. An invalid call is an error; a refusal or a failure is part of the answer.
pub(super) async fn call(services: &Services, on: &Scene, call: CallFunction) -> Result<Value, ServiceError> {
    let options = services.options_on(on).await?;
    let catalogue = services.extensions.integrations.catalogue().await;
    let failed = |error: &dyn std::fmt::Display| ServiceError::Failed(error.to_string());
    let (integration, function) = found(&catalogue, &call.function).map_err(|blocked| failed(&blocked))?;
    let whose = Whose::of(&services.extensions.integrations, &integration.name).await;
    let account = call.account.unwrap_or_else(|| whose.meant().to_owned());
    let unready = whose.unready(&integration, &function, &account);
    let call = Call {
        integration,
        function,
        account,
        raw_arguments: RawArguments { json: call.args, ..RawArguments::default() },
        force: call.force,
        dry_run: call.dry_run,
        files: Some(Files {
            system: crate::wiring::outside(&options, &on.cwd, call.force).system,
            cwd: on.cwd.clone(),
        }),
    };
    let denial = services.extensions.integrations.denial(&options, &on.cwd, &call, true).await;
    let outcome = services.extensions.integrations.caller.call(&call, &options.switches(), denial).await;
    let told = |unmade: CallError| match (unmade, unready) {
        (CallError::Blocked(Blocked::NoCredentials { .. }), Some(why)) => ServiceError::Failed(why),
        (unmade, _) => failed(&unmade),
    };
    Ok(outcome.map_err(told)?.to_json())
}

/// Stores credentials for the user, and the integration's settings in the file of the scope. Both
/// apply
/// immediately.
pub(super) async fn configure(
    services: &Services,
    on: &Scene,
    set: ConfigureIntegration,
) -> Result<Value, ServiceError> {
    let before = services.options_on(on).await?.switches();
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
    let trusted = services.trusted_so_far(on, set.scope).await;
    if let Some(enabled) = set.enabled {
        services.store(on, set.scope, &format!("integrations.{name}.enabled"), &json!(enabled), true).await?;
    }
    let said = [("read", set.permissions.read), ("write", set.permissions.write)];
    for (operation, word) in said.iter().filter_map(|(operation, word)| Some((operation, (*word)?))) {
        let setting = format!("integrations.{name}.permissions.{operation}");
        services.store(on, set.scope, &setting, &json!(word), true).await?;
    }
    services.stay_trusted(on, trusted).await?;
    services.runtime.settings_changed();
    let now = services.options_on(on).await?.switches();
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

fn found(catalogue: &Catalogue, name: &str) -> Result<(Arc<Integration>, Arc<Function>), Blocked> {
    let (integration, function) = catalogue.function(name)?;
    Ok((integration.clone(), function.clone()))
}
