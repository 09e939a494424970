//! `memories/*`: lists, saves and forgets memories for the user.

use super::Services;
use crate::memory::{Store, rows::MemoryRow};
use acp::native::{ListMemories, RequestContext, ServiceError};
use agent::{Memory, MemoryAuthor, MemoryDraft, MemoryError, MemoryId, MemoryQuery};
use serde_json::{Map, Value, json};

/// Returns the memories that are visible in a session's project.
pub(super) async fn list(
    services: &Services,
    context: &RequestContext,
    query: ListMemories,
) -> Result<Value, ServiceError> {
    let memories = store(services, context).await?.here();
    let ListMemories { query, kind, class, limit } = query;
    let text = query.unwrap_or_default();
    let query = MemoryQuery { text, kind, class, limit, ..MemoryQuery::default() };
    let found = memories.find(query).await.map_err(|error| refused(services, &error))?;
    let rows: Vec<_> = found.iter().map(|memory| row(services, memory)).collect();
    let (project, trusted) = (memories.project().as_str(), memories.options().trusted);
    Ok(json!({ "project": project, "trusted": trusted, "memories": rows }))
}

/// Stores a memory, or changes one.
pub(super) async fn save(
    services: &Services,
    context: &RequestContext,
    draft: MemoryDraft,
) -> Result<Value, ServiceError> {
    let saved = store(services, context).await?.here().save(draft, MemoryAuthor::User).await;
    saved.map(|memory| row(services, &memory)).map_err(|error| refused(services, &error))
}

/// Deletes a memory.
pub(super) async fn forget(
    services: &Services,
    context: &RequestContext,
    id: MemoryId,
) -> Result<Value, ServiceError> {
    let forgotten = store(services, context).await?.here().forget(id, MemoryAuthor::User).await;
    forgotten.map(|memory| row(services, &memory)).map_err(|error| refused(services, &error))
}

async fn store(services: &Services, context: &RequestContext) -> Result<Store, ServiceError> {
    let options = services.current_options(context).await?;
    let redactor = services.environment.redactor();
    Store::new(&services.runtime, &options, redactor, &context.cwd).map_err(|error| services.failed(&error))
}

/// Returns the JSON row of a memory, with the spelling of the native layer.
fn row(services: &Services, memory: &Memory) -> Value {
    let Ok(Value::Object(fields)) = serde_json::to_value(MemoryRow::of(memory)) else { return Value::Null };
    let spelled = |name: String| match name.strip_suffix("_at") {
        Some(when) => format!("{when}At"),
        None => match name.as_str() {
            "session_id" => "sessionId".to_owned(),
            // The name of a field in every language of the clients.
            "class" => "memoryClass".to_owned(),
            _ => name,
        },
    };
    let fields: Map<_, _> = fields.into_iter().map(|(name, value)| (spelled(name), value)).collect();
    services.environment.redactor().redact_value(Value::Object(fields))
}

/// Converts an error; only a failure of the store is not the fault of the request.
fn refused(services: &Services, error: &MemoryError) -> ServiceError {
    let text = services.environment.redactor().shown(&error.to_string());
    match error {
        MemoryError::Store(_) | MemoryError::Off => ServiceError::Failed(text),
        _ => ServiceError::InvalidParams(text),
    }
}
