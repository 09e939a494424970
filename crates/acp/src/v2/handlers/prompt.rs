//! `session/prompt`: adds a prompt to a session.

use crate::{
    connection::{Reply, errors, params, prompt_id, trace},
    v2::{Connection, from_acp},
};
use agent::{Content, PromptId, SessionHandle, StopReason};
use agent_client_protocol::Error;
use agent_client_protocol_schema::v2 as acp;
use serde::Deserialize;
use serde_json::Value;
use tracing::Span;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    session_id: String,
    #[serde(default)]
    prompt: Vec<Value>,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

/// Responds once the prompt is recorded in the conversation and its event was sent; updates report
/// how its turn proceeds. A queued prompt is not answered until its turn begins.
pub(crate) async fn prompt(connection: &Connection, given: Value, reply: Reply) {
    let Decoded { handle, content, id, span } = match decode(connection, given) {
        Ok(decoded) => decoded,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let (cancellation, left) = (reply.cancellation(), connection.leave_token(&handle));
    let mut turn = span.in_scope(|| prompt_id::start(&handle, id, content));
    let taken_back = tokio::select! {
        biased;
        inserted = turn.inserted() => Ok(inserted),
        () = cancellation.cancelled() => Err(()),
        () = left.cancelled() => Err(()),
    };
    let inserted = match taken_back {
        Ok(inserted) => inserted,
        // The turn goes on, and its end is in the session.
        Err(()) if connection.turns_go_on() || turn.is_joined() => {
            return reply.send(Err::<(), _>(errors::request_cancelled()));
        }
        Err(()) => {
            turn.cancel();
            turn.inserted().await
        }
    };
    let Some(message) = inserted else {
        return reply.send(Err::<(), _>(match turn.settled().await {
            Ok(outcome) if outcome.stop_reason == StopReason::Suspended => errors::moved(),
            // The prompt was cancelled before it was recorded.
            Ok(_cancelled) => errors::request_cancelled(),
            Err(error) => errors::turn(&error),
        }));
    };
    reply.send(Ok(acp::PromptResponse::new(message.as_str().to_owned())));
    if turn.is_joined() {
        // The first request reports an end without an event.
        return;
    }
    // The turn's end is an event, unless storing it failed.
    let ended = tokio::select! {
        ended = turn.settled() => ended,
        () = left.cancelled() => {
            if connection.turns_go_on() {
                return;
            }
            turn.cancel();
            turn.settled().await
        }
    };
    if let Err(error) = ended
        && let Some(client) = connection.client(&handle)
    {
        client.failed(&message, &errors::turn(&error));
        if matches!(error, agent::TurnError::Store(_)) {
            client.report_unrecorded_end(&error);
        }
    }
}

/// A prompt and its session.
struct Decoded {
    handle: SessionHandle,
    content: Vec<Content>,
    id: Option<PromptId>,
    span: Span,
}

fn decode(connection: &Connection, given: Value) -> Result<Decoded, Error> {
    let given: Params = params("session/prompt", given)?;
    let handle = connection.find(&given.session_id)?;
    let id = prompt_id::prompt_id(&given.meta)?;
    let content = from_acp::prompt(given.prompt)?;
    connection.check_model_allowed(&handle.state().model)?;
    let span = trace::prompt_span(connection.options.link.as_ref(), &handle, &given.meta);
    Ok(Decoded { handle, content, id, span })
}
