//! Routes the native layer's methods to their handlers.

use super::{
    Event, Prefix,
    capabilities::capabilities,
    event::RuntimeChange,
    fields::Fields,
    memories::MemoriesRequest,
    projection::known,
    requests::{Request, service_error},
    running_request::RunningRequest,
    services::RequestContext,
    sessions::{open_session, stored_session},
    settings_keys::runtime_state,
    shells, subagents,
    trust::TrustRequest,
    work,
};
use crate::{
    connection::{Connection, Reply, Wire, errors, set_option::choose_model},
    limits::{LOG_DECISIONS_MAX, SEARCH_HITS_MAX},
};
use agent::{Cost, Mode, PermissionMode, PermissionOutcome, SearchQuery, SessionEvent, SessionHandle};
use agent_client_protocol::Error;
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};
use system::AbsPath;

/// Handles a native request and responds. It runs concurrently with turns, and is dropped when the
/// client cancels it.
pub(crate) async fn route<W: Wire>(
    method: &str,
    params: Value,
    reply: Reply,
    connection: Arc<Connection<W>>,
) {
    let cancellation = reply.cancellation();
    let result = tokio::select! {
        result = handle(method, params, &connection) => result,
        () = cancellation.cancelled() => Err(errors::request_cancelled()),
        () = connection.gone.cancelled() => Err(errors::request_cancelled()),
    };
    reply.send(result);
}

async fn handle<W: Wire>(method: &str, params: Value, connection: &Connection<W>) -> Result<Value, Error> {
    let Some((prefix, name)) = Prefix::split(method) else { return Err(errors::unknown_method(method)) };
    let own = prefix == Prefix::Tiller;
    let known = || connection.native.on_native_call(prefix);
    match name {
        "capabilities" => {
            known();
            Ok(json!({ "kosmoCapabilities": capabilities(), "kosmokratorCapabilities": capabilities() }))
        }
        "runtime/set" => {
            known();
            set_runtime(&Fields::of(params)?, connection).await
        }
        "sessions/checkpoints" if own => {
            known();
            connection.checkpoints(params).await
        }
        "sessions/rewind" if own => {
            known();
            connection.rewind(params).await
        }
        "sessions/search" if own => {
            known();
            search(&Fields::of(params)?, connection).await
        }
        "sessions/export" if own => {
            known();
            let fields = Fields::of(params)?;
            let format = fields.optional("format")?.unwrap_or_else(|| "json".to_owned());
            if !["json", "markdown"].contains(&format.as_str()) {
                return Err(errors::invalid_params(format!(
                    "Unknown format: {format}. Use json or markdown."
                )));
            }
            let id = stored_session(&fields, connection).await?;
            let text = connection.options.services.export(&id, &format).await.map_err(service_error)?;
            Ok(json!({ "sessionId": id.as_str(), "format": format, "text": text }))
        }
        "permissions/explain" if own => {
            known();
            explain(&Fields::of(params)?, connection).await
        }
        "permissions/log" if own => {
            known();
            permissions(&Fields::of(params)?, connection).await
        }
        "trust/list" | "trust/give" | "trust/take" if own => {
            known();
            trust(name, &Fields::of(params)?, connection).await
        }
        "memories/list" | "memories/save" | "memories/forget" if own => {
            known();
            memories(name, &Fields::of(params)?, connection).await
        }
        "subagents/list" if own => {
            known();
            let id = stored_session(&Fields::of(params)?, connection).await?;
            subagents::list(&connection.runtime, &id).await
        }
        "subagents/get" if own => {
            known();
            let fields = Fields::of(params)?;
            let id = stored_session(&fields, connection).await?;
            subagents::get(&connection.runtime, connection.options.services.as_ref(), &id, &fields).await
        }
        "subagents/cancel" if own => {
            known();
            let fields = Fields::of(params)?;
            subagents::cancel(&open_session(&fields, connection)?, &fields)
        }
        "usage/get" if own => {
            known();
            usage(&Fields::of(params)?, connection).await
        }
        "tasks/list" | "goal/get" | "goal/set" if own => {
            known();
            let unknown = || Err(errors::method_not_found(method));
            work::serve(name, &Fields::of(params)?, connection).await.unwrap_or_else(unknown)
        }
        "shells/list" | "shells/stop" | "shells/output" if own => {
            known();
            let unknown = || Err(errors::method_not_found(method));
            shells::serve(name, &Fields::of(params)?, connection).await.unwrap_or_else(unknown)
        }
        "doctor" if own => {
            known();
            connection.options.services.doctor().await.map_err(service_error)
        }
        _ => {
            let unknown = || errors::method_not_found(method);
            let fields = Fields::of(params);
            // An unknown method is reported before any other error.
            let probe = Fields::of(Value::Null)?;
            Request::decode(name, &probe).ok_or_else(unknown)?.ok();
            known();
            serve(name, &fields?, connection).await
        }
    }
}

/// Performs a request that acts on something beyond its session.
async fn serve<W: Wire>(name: &str, fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let handle = open_session(fields, connection)?;
    let request = Request::decode(name, fields).ok_or_else(|| errors::method_not_found(name))??;
    let client = connection.client(&handle);
    let running = RunningRequest::begin(client, request.outline());
    let context = request_context(&handle);
    let result = request.act(&context, connection.options.services.as_ref()).await;
    match &result {
        Ok(result) => running.done(result),
        Err(error) => running.failed(&error.message),
    }
    result
}

/// Returns the context of a session's request.
fn request_context(handle: &SessionHandle) -> RequestContext {
    let state = handle.state();
    RequestContext {
        session: handle.id().clone(),
        cwd: handle.cwd().clone(),
        mode: state.mode,
        permission_mode: state.permission_mode,
    }
}

/// Handles a request about the trust in a session's project.
async fn trust<W: Wire>(name: &str, fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let handle = open_session(fields, connection)?;
    let request = TrustRequest::decode(name, fields).ok_or_else(|| errors::method_not_found(name))??;
    let services = connection.options.services.as_ref();
    request.act(&request_context(&handle), services).await.map_err(service_error)
}

/// Handles a request about the memories that are visible in a session's project.
async fn memories<W: Wire>(name: &str, fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let handle = open_session(fields, connection)?;
    let request = MemoriesRequest::decode(name, fields).ok_or_else(|| errors::method_not_found(name))??;
    let services = connection.options.services.as_ref();
    request.act(&request_context(&handle), services).await.map_err(service_error)
}

/// Changes a session's settings: all of those given, or none if any is invalid.
async fn set_runtime<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let handle = open_session(fields, connection)?;
    let wrong = |error: agent::UnknownMode| errors::invalid_params(error.to_string());
    let mode = fields.optional("mode")?.map(|mode| mode.parse::<Mode>().map_err(wrong)).transpose()?;
    let permission_mode = fields.optional("permissionMode")?;
    let permission_mode =
        permission_mode.map(|mode| mode.parse::<PermissionMode>().map_err(wrong)).transpose()?;
    let current = handle.state().model;
    let model = full_model(fields.optional("provider")?, fields.optional("model")?, &current);
    let failed = |error: agent::SessionError| errors::session(&error);
    if let Some(model) = model {
        // Only the model can still be rejected, so set it first.
        choose_model(connection, &handle, &model).await?;
    }
    if let Some(mode) = mode {
        handle.set_mode(mode).await.map_err(failed)?;
    }
    if let Some(mode) = permission_mode {
        handle.set_permission_mode(mode).await.map_err(failed)?;
    }
    let state = runtime_state(&connection.settings(&handle), &connection.models());
    if let Some(client) = connection.client(&handle) {
        client.send_native(|| {
            Event::RuntimeChanged(RuntimeChange { state: Some(state.clone()), ..RuntimeChange::default() })
        });
    }
    Ok(serde_json::to_value(state)?)
}

/// Returns the model's full id, given with or without its provider.
fn full_model(provider: Option<String>, model: Option<String>, current: &str) -> Option<String> {
    let (own_provider, own_model) = current.split_once('/').unwrap_or(("", current));
    match (provider, model) {
        (None, None) => None,
        (Some(provider), Some(model)) if model.starts_with(&format!("{provider}/")) => Some(model),
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (Some(provider), None) => Some(format!("{provider}/{own_model}")),
        (None, Some(model)) if model.contains('/') => Some(model),
        (None, Some(model)) => Some(format!("{own_provider}/{model}")),
    }
}

async fn search<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let text = fields.text("query")?;
    let cwd = match fields.optional("cwd")? {
        Some(cwd) => Some(AbsPath::new(&cwd).map_err(|_wrong| {
            errors::invalid_params(format!("cwd must be an absolute path, not {cwd:?}"))
        })?),
        None => None,
    };
    let limit = fields.count("limit", 1, 20, SEARCH_HITS_MAX)?;
    let query = SearchQuery {
        text,
        cwd,
        limit: usize::try_from(limit).unwrap_or_default(),
        ..SearchQuery::default()
    };
    let hits = connection.runtime.search(query).await.map_err(|error| errors::store(&error))?;
    let hit = |hit: &agent::SearchHit| {
        json!({
            "sessionId": hit.session.id.as_str(),
            "cwd": hit.session.cwd.as_str(),
            "title": hit.session.title,
            "seq": hit.seq,
            "excerpt": hit.excerpt,
        })
    };
    Ok(json!({ "hits": hits.iter().map(hit).collect::<Vec<_>>() }))
}

/// Explains the decision of each rule for a command or a path in the session's directory.
async fn explain<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let handle = open_session(fields, connection)?;
    let (what, write) = (fields.text("what")?, fields.flag("write", false)?);
    let state = handle.state();
    let mut options = handle.settings().await.as_ref().clone();
    (options.start.mode, options.start.permission_mode) = (state.mode, state.permission_mode);
    let local = connection.options.machines.local.clone();
    let steps = agent::explain(&options, local, handle.cwd(), &what, write).await;
    let steps: Vec<_> = steps.iter().map(|step| json!({ "rule": step.rule, "says": step.says })).collect();
    Ok(json!({ "steps": steps }))
}

/// Returns the latest permission decisions of a session.
async fn permissions<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let id = stored_session(fields, connection).await?;
    let (mut titles, mut decisions) = (HashMap::new(), Vec::new());
    let mut each = |event: &SessionEvent| match event {
        SessionEvent::ToolCall(update) => {
            if let Some(title) = &update.display.title {
                titles.insert(update.id.clone(), (update.name.clone(), title.clone()));
            }
        }
        SessionEvent::PermissionResolved { id, outcome, rule } => {
            let (tool, title) = titles.get(id).cloned().unwrap_or_default();
            let decision = match outcome {
                PermissionOutcome::AllowOnce => "allow",
                PermissionOutcome::AllowAlways => "always",
                PermissionOutcome::AllowForUser => "everywhere",
                PermissionOutcome::RejectOnce | PermissionOutcome::Cancelled => "deny",
                PermissionOutcome::RejectAlways => "never",
            };
            let call = id.as_str();
            decisions.push(json!({
                "toolCallId": call, "tool": tool, "title": title, "decision": decision, "rule": rule,
            }));
        }
        _ => {}
    };
    connection.runtime.replay(&id, &mut each).await.map_err(|error| errors::store(&error))?;
    let left_out = decisions.len().saturating_sub(LOG_DECISIONS_MAX);
    decisions.drain(..left_out);
    Ok(json!({ "decisions": decisions, "leftOut": left_out }))
}

/// Returns the tokens and the cost of a session so far.
async fn usage<W: Wire>(fields: &Fields, connection: &Connection<W>) -> Result<Value, Error> {
    let id = stored_session(fields, connection).await?;
    let mut last = None;
    let mut each = |event: &SessionEvent| {
        if let SessionEvent::Usage(usage) = event {
            last = Some(usage.clone());
        }
    };
    connection.runtime.replay(&id, &mut each).await.map_err(|error| errors::store(&error))?;
    let Some(usage) = last else {
        return Ok(json!({
            "model": null, "tokensIn": 0, "tokensOut": 0, "cacheRead": 0, "cacheWrite": 0, "cost": null,
            "unpricedTokens": 0, "contextUsed": 0, "maxContext": null,
        }));
    };
    let total = usage.sum();
    Ok(json!({
        "model": usage.model,
        "tokensIn": total.input,
        "tokensOut": total.output,
        "cacheRead": total.cache_read,
        "cacheWrite": total.cache_write,
        "cost": total.cost.map(Cost::dollars),
        "unpricedTokens": total.unpriced,
        "contextUsed": usage.context_used,
        "maxContext": known(usage.context_size),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_may_be_given_with_or_without_its_provider() {
        let some = |text: &str| Some(text.to_owned());
        for (provider, model, expected) in [
            (None, None, None),
            (some("a"), some("a/m"), some("a/m")),
            (some("a"), some("org/m"), some("a/org/m")),
            (some("a"), None, some("a/now")),
            (None, some("b/org/m"), some("b/org/m")),
            (None, some("m"), some("own/m")),
        ] {
            assert_eq!(full_model(provider, model, "own/now"), expected);
        }
    }
}
