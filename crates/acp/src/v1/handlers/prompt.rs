//! `session/prompt`: runs a turn.

use crate::{
    connection::{Reply, errors, params, prompt_id, trace, unpriced},
    v1::{Connection, Peer, from_acp, to_acp},
};
use agent::{PromptId, PromptOutcome, SessionHandle, StopReason, TurnError};
use agent_client_protocol::{Error, v1::schema as acp};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use tracing::Span;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    session_id: String,
    #[serde(default, deserialize_with = "blocks")]
    prompt: Vec<Value>,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

/// Deserializes content blocks; or a string, which the KosmoKrator wire accepts as well.
fn blocks<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Value>, D::Error> {
    match Value::deserialize(from)? {
        Value::String(text) => Ok(vec![json!({ "type": "text", "text": text })]),
        blocks => serde_json::from_value(blocks).map_err(serde::de::Error::custom),
    }
}

/// A prompt and its session.
struct Decoded {
    handle: SessionHandle,
    content: Vec<agent::Content>,
    id: Option<PromptId>,
    span: Span,
}

/// Runs the turn, and responds once it has ended and its updates have been sent.
pub(crate) async fn prompt(connection: &Connection, peer: &Peer, given: Value, reply: Reply) {
    let Decoded { handle, content, id, span } = match decode(connection, given) {
        Ok(Some(decoded)) => decoded,
        Ok(None) => {
            let nothing = acp::Usage::new(0, 0, 0);
            return reply.send(Ok(acp::PromptResponse::new(acp::StopReason::EndTurn).usage(nothing)));
        }
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let (cancellation, left) = (reply.cancellation(), connection.leave_token(&handle));
    if let Err(error) = connection.check_model_allowed(&handle.state().model) {
        return reply.send(Err::<(), _>(error));
    }
    let mut turn = span.in_scope(|| prompt_id::start(&handle, id, content));
    let taken_back = tokio::select! {
        ended = turn.settled() => Err(ended),
        () = cancellation.cancelled() => Ok(()),
        // A prompt that was sent again only waits: the first one decides about the turn.
        () = left.cancelled() => match turn.is_joined() {
            true => return reply.send(Err::<(), _>(errors::request_cancelled())),
            false => Ok(()),
        },
    };
    let ended = match taken_back {
        Err(ended) => ended,
        // The turn goes on, and its end is in the session.
        Ok(()) if connection.turns_go_on() => return reply.send(Err::<(), _>(errors::request_cancelled())),
        Ok(()) => {
            turn.cancel();
            turn.settled().await
        }
    };
    if let Err(error @ TurnError::Store(_)) = &ended
        && let Some(client) = connection.client(&handle)
    {
        client.report_unrecorded_end(error);
    }
    peer.outbox.flush(handle.id());
    reply.send(answer(ended, connection.native.is_kosmokrator()));
}

/// Decodes the session and the prompt; `None` for an empty prompt on the KosmoKrator wire, where
/// that is a completed turn.
fn decode(connection: &Connection, given: Value) -> Result<Option<Decoded>, Error> {
    let given: Params = params("session/prompt", given)?;
    let handle = connection.find(&given.session_id)?;
    let blank = |block: &Value| block["text"].as_str().is_some_and(|text| text.trim().is_empty());
    if connection.native.is_kosmokrator() && given.prompt.iter().all(blank) {
        return Ok(None);
    }
    let id = prompt_id::prompt_id(&given.meta)?;
    let span = trace::prompt_span(connection.options.link.as_ref(), &handle, &given.meta);
    Ok(Some(Decoded { handle, content: from_acp::prompt(given.prompt)?, id, span }))
}

/// Creates the response: the stop reason and the tokens used by the turn. On the KosmoKrator wire,
/// the tokens are those of the whole session.
fn answer(
    ended: Result<PromptOutcome, TurnError>,
    is_kosmokrator: bool,
) -> Result<acp::PromptResponse, Error> {
    let outcome = ended.map_err(|error| errors::turn(&error))?;
    if outcome.stop_reason == StopReason::Suspended {
        return Err(errors::moved());
    }
    let usage = match is_kosmokrator {
        true => acp::Usage::new(outcome.total.all(), outcome.total.input, outcome.total.output),
        false => {
            let used = outcome.usage;
            // Each token counts in one field only.
            acp::Usage::new(used.all(), used.fresh_input(), used.output)
                .cached_read_tokens(used.cache_read)
                .cached_write_tokens(used.cache_write)
        }
    };
    Ok(acp::PromptResponse::new(to_acp::stop_reason(outcome.stop_reason)).usage(usage).meta(meta(&outcome)))
}

fn meta(outcome: &PromptOutcome) -> Map<String, Value> {
    let mut usage = json!({
        "input": outcome.usage.input,
        "output": outcome.usage.output,
        "cacheRead": outcome.usage.cache_read,
        "cacheWrite": outcome.usage.cache_write,
    });
    if let Some(cost) = outcome.usage.cost {
        usage["cost"] = json!({ "amount": cost.dollars(), "currency": unpriced::CURRENCY });
    }
    let mut tiller = json!({ "usage": usage, "requests": outcome.requests });
    if let Some(command) = outcome.command {
        tiller["command"] = json!(command.id());
    }
    Map::from_iter([("tiller".to_owned(), tiller)])
}
