//! Calls from within a call: a script's, which go through the same gate as the model's own.
//!
//! A call that runs sends what it wants; whoever runs the call, and holds the session, carries it out. Nobody is asked on its way: a call
//! that would have to ask is refused. It is announced, recorded and shown as a call of its own, and the model sees nothing of it but what the
//! script makes of it. What a server wants of the model goes the same way, and is the one thing that the user is asked about.

use crate::{
    AnyTool, Callee, InnerError, SampleRequest, Sampled, SessionEvent, StoreError, ToolCallId,
    ToolCallRequest, ToolError, ToolResult, Written, policy, prompt,
    session::{Session, controls::Controls},
    tool::nested::Wish,
    turn::calls::{self, Candidate},
    turn::sampling::Sampling,
};
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Carries out what a call asks for, one thing after the other, until the call is over. Then what is being done is cancelled, and still recorded.
pub(crate) async fn serve(
    session: &Session,
    controls: &Controls,
    outer: &ToolCallId,
    mut wishes: mpsc::Receiver<Wish>,
    over: &CancellationToken,
) -> Result<(), StoreError> {
    let mut number = 0;
    loop {
        let wish = tokio::select! {
            biased;
            () = over.cancelled() => return Ok(()),
            wish = wishes.recv() => wish,
        };
        // Whoever asked may have stopped waiting.
        match wish {
            None => {
                over.cancelled().await;
                return Ok(());
            }
            Some(Wish::Tools(reply)) => {
                let mode = controls.state().mode;
                // A server's tool that the model has to search for is not kept from a script.
                let known = |tool: &Arc<dyn AnyTool>| match policy::is_of_server(&tool.name()) {
                    true => prompt::available(tool.as_ref(), mode),
                    false => prompt::offered(tool.as_ref(), mode),
                };
                let tools = session.tools.iter().filter(|tool| known(tool));
                let _ = reply.send(tools.map(|tool| tool.spec()).collect());
            }
            Some(Wish::Call { callee, arguments, reply }) => {
                number += 1;
                let id = ToolCallId(format!("{outer}.{number}"));
                let performed = match found(session, callee) {
                    Ok((name, tool)) => {
                        let inner = Inner { id, name, tool, arguments, may_ask: false };
                        perform(session, controls, inner, over).await?
                    }
                    Err(error) => Err(error),
                };
                let _ = reply.send(performed);
            }
            Some(Wish::Sample { request, mut reply }) => {
                number += 1;
                let id = ToolCallId(format!("{outer}.{number}"));
                let cancel = over.child_token();
                let mut sampling = std::pin::pin!(sample(session, controls, id, *request, &cancel));
                let sampled = tokio::select! {
                    biased;
                    sampled = &mut sampling => sampled?,
                    () = reply.closed() => {
                        cancel.cancel();
                        sampling.await?
                    }
                };
                let _ = reply.send(sampled);
            }
        }
    }
}

type Performed = Result<Result<ToolResult, InnerError>, StoreError>;

/// The tool that is called, and its name.
fn found(session: &Session, callee: Callee) -> Result<(String, Arc<dyn AnyTool>), InnerError> {
    match callee {
        Callee::Tool(tool) => Ok((tool.name().into_owned(), tool)),
        Callee::Named(name) => match session.tools.iter().find(|tool| tool.is_called(&name)) {
            Some(tool) => Ok((name, tool.clone())),
            None => Err(InnerError::Unknown(name)),
        },
    }
}

/// Asks the turn's model for a server.
async fn sample(
    session: &Session,
    controls: &Controls,
    id: ToolCallId,
    request: SampleRequest,
    cancel: &CancellationToken,
) -> Result<Result<Sampled, InnerError>, StoreError> {
    let Some((_, model)) = &session.current_model else { return Ok(Err(InnerError::Unavailable)) };
    let sampling = Sampling::new(request, model.clone(), session.sampled.clone());
    let tool = Arc::new(sampling.clone());
    let (name, arguments) = (tool.name().into_owned(), sampling.arguments());
    let inner = Inner { id, name, tool, arguments, may_ask: true };
    let performed = perform(session, controls, inner, cancel).await?;
    Ok(performed.and_then(|result| sampling.take().ok_or(InnerError::Denied(result.text))))
}

/// A call, and whether the user is asked about it where the policy wants that.
struct Inner {
    id: ToolCallId,
    name: String,
    tool: Arc<dyn AnyTool>,
    arguments: Value,
    may_ask: bool,
}

/// Boxed: a call from within a call is a call.
fn perform<'a>(
    session: &'a Session,
    controls: &'a Controls,
    inner: Inner,
    cancel: &'a CancellationToken,
) -> BoxFuture<'a, Performed> {
    Box::pin(async move {
        let Inner { id, name, tool, arguments, may_ask } = inner;
        let mode = controls.state().mode;
        if !prompt::available(tool.as_ref(), mode) {
            return Ok(Err(InnerError::NotInMode { name, mode }));
        }
        let request = ToolCallRequest {
            id,
            provider_id: String::new(),
            name: name.clone(),
            arguments: Ok(arguments),
            written: Written::default(),
        };
        let mut candidate = Candidate::inner(session, &request, tool.as_ref());
        let ruling = match candidate.rule(session, controls, cancel).await {
            None => return Ok(Ok(ToolResult::error(candidate.problem().unwrap_or_default()))),
            Some(Ok(ruling)) => ruling,
            Some(Err(ToolError::Cancelled(_))) => return Ok(Err(InnerError::Cancelled)),
            Some(Err(error)) => return Ok(Ok(ToolResult::error(error.to_string()))),
        };
        let refusal = match ruling.denial() {
            Some(_) if ruling.is_by_mode() => Some(InnerError::Modifies { name, mode }),
            Some(reason) => Some(InnerError::Denied(reason.to_owned())),
            None if !ruling.allows() && !may_ask => return Ok(Err(InnerError::NeedsApproval(name))),
            None => None,
        };
        let ruling = match refusal {
            Some(_) => ruling,
            None => candidate.ask_hooks(session, ruling, cancel).await,
        };
        session.log.record(vec![SessionEvent::ToolCall(candidate.announcement())]).await?;
        let (result, _) = calls::run_alone(session, controls, candidate, Some(ruling), cancel).await?;
        Ok(match refusal {
            Some(refusal) => Err(refusal),
            None if cancel.is_cancelled() => Err(InnerError::Cancelled),
            None => Ok(result),
        })
    })
}
