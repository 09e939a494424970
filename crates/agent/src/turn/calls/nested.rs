//! Nested calls: calls made by a script, which pass the same gate as the model's own.
//!
//! A running call sends a `NestedRequest`; the task that runs the call and owns the session serves
//! it. There is no approval prompt: a call that would need one is refused. A nested call is
//! announced, recorded and shown as a call of its own, and the model sees only what the script
//! makes of its result. MCP sampling takes the same path and is the only request that prompts the
//! user.

use super::{Calls, Candidate, sampling::Sampling};
use crate::{
    AnyTool, Callee, NestedCallError, SampleRequest, Sampled, SessionEvent, StoreError, ToolCallId,
    ToolCallRequest, ToolError, ToolResult, Written, policy, prompt, tool::nested::NestedRequest,
};
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

type Performed = Result<Result<ToolResult, NestedCallError>, StoreError>;

/// A nested call, and whether it may prompt the user for approval.
struct NestedCall {
    id: ToolCallId,
    name: String,
    tool: Arc<dyn AnyTool>,
    arguments: Value,
    may_ask: bool,
}

impl Calls<'_> {
    /// Serves the requests of a call one after the other until the call is over. Then the request
    /// in progress is cancelled, and still recorded.
    pub(super) async fn serve(
        &self,
        outer: &ToolCallId,
        mut requests: mpsc::Receiver<NestedRequest>,
        over: &CancellationToken,
    ) -> Result<(), StoreError> {
        let mut number = 0;
        loop {
            let request = tokio::select! {
                biased;
                () = over.cancelled() => return Ok(()),
                request = requests.recv() => request,
            };
            // The requester may have stopped waiting, so send errors are ignored.
            match request {
                None => {
                    over.cancelled().await;
                    return Ok(());
                }
                Some(NestedRequest::Tools(reply)) => {
                    let mode = self.controls.state().mode;
                    // Scripts may use MCP tools that the model would have to search for first.
                    let known = |tool: &Arc<dyn AnyTool>| match policy::is_of_server(&tool.name()) {
                        true => prompt::available(tool.as_ref(), mode),
                        false => prompt::offered(tool.as_ref(), mode),
                    };
                    let tools = self.session.toolbox().all().iter().filter(|tool| known(tool));
                    let _ = reply.send(tools.map(|tool| tool.spec()).collect());
                }
                Some(NestedRequest::Call { callee, arguments, reply }) => {
                    number += 1;
                    let id = ToolCallId(format!("{outer}.{number}"));
                    let performed = match found(self.session.toolbox().all(), callee) {
                        Ok((name, tool)) => {
                            let call = NestedCall { id, name, tool, arguments, may_ask: false };
                            self.perform(call, over).await?
                        }
                        Err(error) => Err(error),
                    };
                    let _ = reply.send(performed);
                }
                Some(NestedRequest::Sample { request, mut reply }) => {
                    number += 1;
                    let id = ToolCallId(format!("{outer}.{number}"));
                    let cancel = over.child_token();
                    let mut sampling = std::pin::pin!(self.sample(id, *request, &cancel));
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

    /// Serves an MCP sampling request with the turn's model.
    async fn sample(
        &self,
        id: ToolCallId,
        request: SampleRequest,
        cancel: &CancellationToken,
    ) -> Result<Result<Sampled, NestedCallError>, StoreError> {
        let sampling = Sampling::new(request, self.model.clone(), self.sampled.clone());
        let tool = Arc::new(sampling.clone());
        let (name, arguments) = (tool.name().into_owned(), sampling.arguments());
        let call = NestedCall { id, name, tool, arguments, may_ask: true };
        let performed = self.perform(call, cancel).await?;
        Ok(performed.and_then(|result| sampling.take().ok_or(NestedCallError::Denied(result.text))))
    }

    /// Boxed, because nested calls make this recursive.
    fn perform<'a>(&'a self, call: NestedCall, cancel: &'a CancellationToken) -> BoxFuture<'a, Performed> {
        Box::pin(async move {
            let NestedCall { id, name, tool, arguments, may_ask } = call;
            let mode = self.controls.state().mode;
            if !prompt::available(tool.as_ref(), mode) {
                return Ok(Err(NestedCallError::NotInMode { name, mode }));
            }
            let request = ToolCallRequest {
                id,
                provider_id: String::new(),
                name: name.clone(),
                arguments: Ok(arguments),
                written: Written::default(),
            };
            let mut candidate = Candidate::nested(self.session.cwd(), &request, tool.as_ref());
            let ruling = match self.rule_on(&mut candidate, cancel).await {
                None => return Ok(Ok(ToolResult::error(candidate.problem().unwrap_or_default()))),
                Some(Ok(ruling)) => ruling,
                Some(Err(ToolError::Cancelled(_))) => return Ok(Err(NestedCallError::Cancelled)),
                Some(Err(error)) => return Ok(Ok(ToolResult::error(error.to_string()))),
            };
            let refusal = match ruling.denial() {
                Some(_) if ruling.is_by_mode() => Some(NestedCallError::Modifies { name, mode }),
                Some(reason) => Some(NestedCallError::Denied(reason.to_owned())),
                None if !ruling.allows() && !may_ask => return Ok(Err(NestedCallError::NeedsApproval(name))),
                None => None,
            };
            let ruling = match refusal {
                Some(_) => ruling,
                None => self.ask_hooks(&mut candidate, ruling, cancel).await,
            };
            self.session.record(vec![SessionEvent::ToolCall(candidate.announcement())]).await?;
            let (result, _) = self.run_alone(candidate, Some(ruling), cancel).await?;
            Ok(match refusal {
                Some(refusal) => Err(refusal),
                None if cancel.is_cancelled() => Err(NestedCallError::Cancelled),
                None => Ok(result),
            })
        })
    }
}

/// Resolves the callee to a tool and its name.
fn found(tools: &[Arc<dyn AnyTool>], callee: Callee) -> Result<(String, Arc<dyn AnyTool>), NestedCallError> {
    match callee {
        Callee::Tool(tool) => Ok((tool.name().into_owned(), tool)),
        Callee::Named(name) => match tools.iter().find(|tool| tool.is_called(&name)) {
            Some(tool) => Ok((name, tool.clone())),
            None => Err(NestedCallError::Unknown(name)),
        },
    }
}
