//! `trust/*`: shows and trusts the items of a project.

use super::Services;
use crate::trust::{grant_trust, project, revoke_trust, row};
use acp::native::{RequestContext, ServiceError, TrustGrant};
use agent::CheckedItem;
use serde_json::{Value, json};

/// Returns the items of the project in a session's directory.
pub(super) async fn list(services: &Services, context: &RequestContext) -> Value {
    let project = project(&services.options.directories, &context.cwd).await;
    let redactor = services.environment.redactor();
    let rows: Vec<_> = project.items.iter().map(|judged| row(judged, redactor)).collect();
    let problems: Vec<_> = project.problems.iter().map(|why| redactor.redact(why)).collect();
    json!({ "folder": context.cwd.as_str(), "items": rows, "problems": problems })
}

/// Trusts all of these items, or none if one has changed since it was shown.
pub(super) async fn grant(
    services: &Services,
    context: &RequestContext,
    items: Vec<TrustGrant>,
) -> Result<Value, ServiceError> {
    {
        let _one_at_a_time = services.writing.lock().await;
        let now = project(&services.options.directories, &context.cwd).await.items;
        for item in &items {
            is_as_shown(&now, item)?;
        }
        let items = items.into_iter().map(|item| (item.id, item.hash));
        let given = grant_trust(&services.options.directories, &context.cwd, items).await;
        given.map_err(|error| services.failed(&error))?;
    }
    services.runtime.settings_changed();
    services.refresh_servers(context).await;
    Ok(list(services, context).await)
}

/// Revokes the trust in these items, or in all.
pub(super) async fn revoke(
    services: &Services,
    context: &RequestContext,
    ids: Option<Vec<String>>,
) -> Result<Value, ServiceError> {
    {
        let _one_at_a_time = services.writing.lock().await;
        let taken = revoke_trust(&services.options.directories, &context.cwd, ids.as_deref()).await;
        taken.map_err(|error| services.failed(&error))?;
    }
    services.runtime.settings_changed();
    services.refresh_servers(context).await;
    Ok(list(services, context).await)
}

fn is_as_shown(now: &[CheckedItem], shown: &TrustGrant) -> Result<(), ServiceError> {
    let id = agent::one_line(&shown.id);
    let Some(judged) = now.iter().find(|judged| judged.item.id() == shown.id) else {
        return Err(ServiceError::InvalidParams(format!("The project has no item named {id}.")));
    };
    match &judged.hash {
        Some(hash) if *hash == shown.hash => Ok(()),
        Some(_) => Err(ServiceError::InvalidParams(format!(
            "{id} has changed since it was shown; nothing is trusted. Show it again with trust/list."
        ))),
        None => Err(ServiceError::InvalidParams(format!(
            "{id} cannot be trusted: {}",
            judged.state.problem().unwrap_or_default()
        ))),
    }
}
