//! `auth status`.

use crate::{
    answer::Answer,
    failure::{Failure, Kind},
    providers::{ProvidersContext, rows},
    secrets::Values,
    table::Table,
};
use anyhow::Result;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// The answer of `tiller auth status`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AccountList {
    /// The accounts: providers first, then MCP servers with a login.
    accounts: Vec<Account>,
}

/// An account at a provider or an MCP server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Account {
    /// provider or mcp.
    kind: &'static str,
    /// The name of the provider or the server.
    name: String,
    /// How it recognises its users: `api_key`, `browser`, `oauth` or `none`.
    method: &'static str,
    /// ready, missing, expired or `not_needed`. A login that is renewed by itself is ready.
    state: &'static str,
    /// When the login ends, if it is not renewed: RFC 3339.
    expires_at: Option<String>,
    /// Where the key or the login is: `environment:NAME`, keyring or file.
    source: Option<String>,
}

pub(super) async fn status(context: &ProvidersContext<'_>, only: Option<&str>) -> Result<Answer> {
    let values = context.values();
    let stores = values.stores().await?;
    let catalog = context.catalog();
    let providers = rows(context.options, context.environment, &catalog, &stores);
    let mut accounts: Vec<_> = providers
        .into_iter()
        .filter(|row| row.auth_mode != "none")
        .map(|row| Account {
            kind: "provider",
            name: row.name,
            method: row.auth_mode,
            state: if row.auth_status == "configured" { "ready" } else { row.auth_status },
            expires_at: None,
            source: row.key_source,
        })
        .collect();
    let servers: BTreeSet<_> = stores
        .keys()
        .filter_map(|name| Some(name.strip_prefix("mcp.")?.strip_suffix(".oauth")?.to_owned()))
        .collect();
    for server in servers {
        accounts.push(of_server(&values, server).await?);
    }
    if let Some(only) = only {
        let name = only.strip_prefix("mcp:").unwrap_or(only);
        accounts.retain(|account| account.name == name);
        if accounts.is_empty() {
            return Err(Failure::new(Kind::NotFound, format!("there is no account {only:?}"))
                .next("tiller auth status")
                .into());
        }
    }
    let text = text(&accounts, only.is_some());
    Ok(Answer::new(&AccountList { accounts }, text))
}

async fn of_server(values: &Values, name: String) -> Result<Account> {
    let secret = format!("mcp.{name}.oauth");
    let store = values.stores().await?.get(&secret).map(|store| store.word().to_owned());
    let grant = values.secret_named(&secret).await?;
    let expiry = grant.as_deref().and_then(::mcp::grant_expiry);
    let expires = expiry.and_then(|expiry| Timestamp::from_second(i64::try_from(expiry.expires?).ok()?).ok());
    let renews = expiry.is_some_and(|expiry| expiry.renews);
    let is_over = expires.is_some_and(|expires| expires < Timestamp::now());
    Ok(Account {
        kind: "mcp",
        name,
        method: "oauth",
        state: match (expiry.is_some(), is_over && !renews) {
            (false, _) => "missing",
            (true, true) => "expired",
            (true, false) => "ready",
        },
        expires_at: expires.filter(|_| !renews).map(|expires| expires.to_string()),
        source: store,
    })
}

fn text(accounts: &[Account], all: bool) -> String {
    let mut table = Table::new(["KIND", "NAME", "STATE", "METHOD", "SOURCE"]);
    let mut missing = Vec::new();
    for account in accounts {
        if !all && account.kind == "provider" && account.state == "missing" {
            missing.push(account.name.as_str());
            continue;
        }
        let state = match &account.expires_at {
            Some(until) => format!("{} (until {until})", account.state),
            None => account.state.replace('_', " "),
        };
        let method = account.method.replace('_', " ");
        let source = account.source.clone().unwrap_or_default();
        table.row([account.kind.to_owned(), account.name.clone(), state, method, source]);
    }
    let mut text = match missing.len() == accounts.len() {
        true => "There is no key and no login.\n".to_owned(),
        false => table.text(),
    };
    if !missing.is_empty() {
        text += &format!("Without a key: {}. Sign in: tiller auth login NAME\n", missing.join(", "));
    }
    text
}
