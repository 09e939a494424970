//! `trust/*`: shows and trusts the items of a project.

use super::Services;
use crate::trust::{give_items, project, row, take_items};
use acp::native::{GiveTrust, Scene, ServiceError};
use agent::Judged;
use serde_json::{Value, json};

/// Returns the items of the project in a session's directory.
pub(super) async fn list(services: &Services, on: &Scene) -> Value {
    let project = project(&services.options.folders, &on.cwd).await;
    let redactor = services.environment.redactor();
    let rows: Vec<_> = project.items.iter().map(|judged| row(judged, redactor)).collect();
    let problems: Vec<_> = project.problems.iter().map(|why| redactor.redact(why)).collect();
    json!({ "folder": on.cwd.as_str(), "items": rows, "problems": problems })
}

/// Trusts all of these items, or none if one has changed since it was shown.
pub(super) async fn give(
    services: &Services,
    on: &Scene,
    items: Vec<GiveTrust>,
) -> Result<Value, ServiceError> {
    {
        let _one_at_a_time = services.writing.lock().await;
        let now = project(&services.options.folders, &on.cwd).await.items;
        for item in &items {
            is_as_shown(&now, item)?;
        }
        let items = items.into_iter().map(|item| (item.id, item.hash));
        let given = give_items(&services.options.folders, &on.cwd, items).await;
        given.map_err(|error| services.failed(&error))?;
    }
    services.runtime.settings_changed();
    services.look_again(on).await;
    Ok(list(services, on).await)
}

/// Revokes the trust in these items, or in all.
pub(super) async fn take(
    services: &Services,
    on: &Scene,
    ids: Option<Vec<String>>,
) -> Result<Value, ServiceError> {
    {
        let _one_at_a_time = services.writing.lock().await;
        let taken = take_items(&services.options.folders, &on.cwd, ids.as_deref()).await;
        taken.map_err(|error| services.failed(&error))?;
    }
    services.runtime.settings_changed();
    services.look_again(on).await;
    Ok(list(services, on).await)
}

fn is_as_shown(now: &[Judged], shown: &GiveTrust) -> Result<(), ServiceError> {
    let id = agent::one_line(&shown.id);
    let Some(judged) = now.iter().find(|judged| judged.item.id() == shown.id) else {
        return Err(ServiceError::InvalidParams(format!("The project brings nothing called {id}.")));
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
