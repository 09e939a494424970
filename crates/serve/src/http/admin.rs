//! The paths of administrators, which exist on the Unix socket only.

use super::{Site, json_response, permit, problem::Problem, source};
use crate::{
    admin::{AdminRequest, Node},
    auth::{AuditEvent, Source},
    limits::ADMIN_BODY_BYTES,
};
use agent::Scope;
use axum::{
    extract::{Path, Request, State},
    http::{Method, StatusCode, request::Parts},
    response::{IntoResponse as _, Response},
};
use http_body_util::{BodyExt as _, Limited};
use serde_json::Value;

/// Answers a request to a path below `/admin/`.
pub(super) async fn admin(
    State(site): State<Site>,
    Path(command): Path<String>,
    request: Request,
) -> Response {
    answer(&site, command, request).await.unwrap_or_else(|problem| problem.into_response())
}

async fn answer(site: &Site, command: String, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let nothing = || Problem::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path");
    let from = source(&parts);
    // Elsewhere the path does not exist, whatever the credential is.
    let (Some(administration), Source::Unix(_)) = (&site.administration, from) else {
        return Err(nothing());
    };
    let principal = permit(site.principal(&parts).await?, Scope::Admin)?;
    let changes = changes(&parts).ok_or_else(nothing)?;
    let params = match changes {
        false => Value::Null,
        true => {
            let read = Limited::new(body, ADMIN_BODY_BYTES).collect().await;
            let bytes =
                read.map_err(|_| Problem::bad_request("the body is cut off or too large"))?.to_bytes();
            match serde_json::from_slice(&bytes) {
                Ok(params @ Value::Object(_)) => params,
                _ => return Err(Problem::bad_request("the body is not a JSON object")),
            }
        }
    };
    if changes {
        let about = about(&command, &params);
        site.access.record_first(AuditEvent::Administered, &principal, from, &about).await?;
    }
    let node = Node::new(site.registry.clone(), site.draining.clone());
    let request = AdminRequest { command, changes, params, principal };
    let answer = administration.answer(&node, request).await?;
    Ok(json_response(answer.to_string()))
}

/// Returns the command with its parameters, which are names and ids.
fn about(command: &str, params: &Value) -> String {
    let texts = params.as_object().into_iter().flatten();
    let texts = texts.filter_map(|(name, value)| Some(format!(" {name}={}", value.as_str()?)));
    std::iter::once(command.to_owned()).chain(texts).collect()
}

/// Whether a request changes something; `None` for a method that no path takes.
fn changes(parts: &Parts) -> Option<bool> {
    match parts.method {
        Method::GET => Some(false),
        Method::POST => Some(true),
        _ => None,
    }
}
