//! Lists integrations and their functions, with their state.

use super::{
    CommandContext,
    rows::{
        AccountFields, FoundFunction, FoundFunctions, IntegrationCheck, IntegrationList, IntegrationStatus,
    },
};
use crate::{
    answer::Answer,
    integrations::rows::{self, PermissionRow},
};
use ::integrations::{Accounts as _, Function};
use anyhow::Result;
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

impl CommandContext<'_> {
    pub(super) async fn list(&self) -> Answer {
        let catalogue = self.integrations.catalogue().await;
        let (mut rows, mut text) = (Vec::new(), String::new());
        for integration in catalogue.all() {
            let state = self.state(integration).await;
            let count = integration.functions.len();
            let _ = writeln!(
                text,
                "{:<24} {:<18} {count:>4} functions  {}",
                integration.name,
                state.word(),
                integration.title
            );
            rows.push(rows::provider(integration, &state));
        }
        for (name, why) in catalogue.broken() {
            let _ = writeln!(text, "problem: {name}: {why}");
        }
        let broken = catalogue.broken().clone();
        let list =
            IntegrationList { integrations: Some(rows), broken: Some(broken), ..IntegrationList::default() };
        Answer::new(list, text)
    }

    pub(super) async fn functions_of(&self, name: &str) -> Result<Answer> {
        let integration = self.integration(name).await?;
        let state = self.state(&integration).await;
        let mut text = String::new();
        for function in integration.functions.values() {
            write_function(&mut text, function);
        }
        if !integration.left_out.is_empty() {
            let _ = writeln!(
                text,
                "{} operations of the document are omitted; `tiller integrations doctor` lists them",
                integration.left_out.len()
            );
        }
        let functions: Vec<_> =
            integration.functions.values().map(|f| rows::function(&integration, f, &state)).collect();
        let provider = rows::provider(&integration, &state);
        let one = IntegrationList {
            integration: Some(provider),
            functions: Some(functions),
            ..IntegrationList::default()
        };
        Ok(Answer::new(one, text))
    }

    pub(super) async fn status(&self, name: Option<&str>) -> Result<Answer> {
        let catalogue = self.integrations.catalogue().await;
        let one = match name {
            Some(name) => vec![self.integration(name).await?],
            None => catalogue.all().cloned().collect(),
        };
        let (mut rows, mut text) = (Vec::new(), String::new());
        for integration in one {
            let state = self.state(&integration).await;
            let own = self.switches.of(&integration.name);
            let permission_id = |permission: Option<::integrations::Permission>| {
                permission.unwrap_or(self.switches.default).id()
            };
            let (read, write) = (permission_id(own.read), permission_id(own.write));
            let accounts =
                if state.accounts.is_empty() { "no account".to_owned() } else { state.accounts.join(", ") };
            let _ = writeln!(
                text,
                "{:<24} {:<18} read {read}, write {write}; {accounts}",
                integration.name,
                state.word()
            );
            let mut row = rows::provider(&integration, &state);
            row.permissions = Some(PermissionRow { read, write });
            rows.push(row);
        }
        Ok(Answer::new(IntegrationStatus { integrations: rows }, text))
    }

    pub(super) async fn doctor(&self) -> Answer {
        let catalogue = self.integrations.catalogue().await;
        let mut issues: Vec<String> =
            catalogue.broken().iter().map(|(name, why)| format!("{name}: {why}")).collect();
        let mut left_out = Vec::new();
        let mut ready = 0;
        for integration in catalogue.all() {
            let state = self.state(integration).await;
            ready += usize::from(state.word() == "ready");
            if state.active && !state.configured {
                let name = &integration.name;
                issues.push(format!(
                    "{name}: it is enabled and lacks credentials; `tiller integrations configure {name}`"
                ));
            }
            left_out.extend(integration.left_out.iter().map(|why| format!("{}: {why}", integration.name)));
        }
        for (name, own) in &self.switches.each {
            if own.enabled && catalogue.integration(name).is_err() && !catalogue.broken().contains_key(name) {
                issues.push(format!("{name}: it is enabled in the settings and not installed"));
            }
        }
        let mut text = format!("{ready} integrations can be called\n");
        issues.iter().for_each(|issue| {
            let _ = writeln!(text, "problem: {issue}");
        });
        left_out.iter().for_each(|operation| {
            let _ = writeln!(text, "left out: {operation}");
        });
        let failed = !issues.is_empty();
        Answer::new(IntegrationCheck { ready, issues, left_out }, text)
            .failed_if(failed, "the configuration of integrations has problems")
    }

    pub(super) async fn fields(&self, name: &str) -> Result<Answer> {
        let integration = self.integration(name).await?;
        let rows = rows::fields(&integration);
        let mut accounts = BTreeMap::new();
        for name in self.integrations.accounts.names(&integration.name).await {
            let account = self.integrations.accounts.account(&integration.name, &name).await;
            accounts.insert(name, account.fields());
        }
        let mut text = String::new();
        for row in &rows {
            let kind = if row.secret { "secret" } else { "" };
            let needed = if row.required { "needed" } else { "" };
            let _ = writeln!(text, "{:<20} {kind:<7} {needed:<7} {}", row.name, row.description);
        }
        for (name, fields) in &accounts {
            let _ = writeln!(text, "account {name} has {}", fields.join(", "));
        }
        let integration = integration.name.clone();
        Ok(Answer::new(AccountFields { integration, fields: rows, accounts }, text))
    }

    pub(super) async fn search(&self, query: &str) -> Answer {
        let catalogue = self.integrations.catalogue().await;
        let found = catalogue.search(query);
        let mut text = String::new();
        for function in &found {
            write_function(&mut text, function);
        }
        if found.is_empty() {
            text.push_str("No function matches. Try other or fewer words.\n");
        }
        let row = |found: &&Arc<Function>| FoundFunction {
            function: found.full_name(),
            title: found.title.clone(),
            operation: found.operation.id(),
        };
        Answer::new(FoundFunctions { functions: found.iter().map(row).collect() }, text)
    }
}

/// Writes one row of a list of functions for people.
fn write_function(text: &mut String, function: &Function) {
    let (name, operation) = (function.full_name(), function.operation.id());
    let _ = writeln!(text, "{name:<44} {operation:<6} {}", function.title);
}
