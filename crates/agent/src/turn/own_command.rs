//! A command that the user runs: no model is asked, and the next request tells the model about it.

use super::{
    Turn,
    calls::{self, Calls},
};
use crate::{
    Briefing, CommandOutcome, Item, ModelCall, ModelResponse, Phase, SessionEvent, StopReason,
    ToolCallRequest, TurnError,
};
use serde_json::json;
use system::SandboxLevel;

/// The tool that runs the command.
const TOOL: &str = "bash";

impl Turn<'_> {
    /// Runs a command line as the tool would for a model: through the gate, with its output shown,
    /// limited and recorded. The conversation gets the command and its output.
    ///
    /// A line that a person typed runs as in the person's own shell: outside the sandbox and
    /// without a question. A line from a client's prompt may be another's text, and is decided
    /// about as a model's. So is each line of a server's users.
    pub(super) async fn run_command(&mut self, line: &str, is_typed: bool) -> Result<StopReason, TurnError> {
        let state = self.controls.state();
        let model = self.session.model(&state.model).await?;
        let offered = self.frame(model.info(), &state).tools.clone();
        let (id, thought_id) = self.session.conversation().next_answer();
        let now = self.session.settings();
        let is_own = is_typed && now.permissions.folder.is_none();
        let outside = is_own && now.sandbox.level != SandboxLevel::Off;
        let arguments = match outside {
            true => json!({ "command": line, "outside_sandbox": true }),
            false => json!({ "command": line }),
        };
        let call = ModelCall {
            provider_id: String::new(),
            name: TOOL.to_owned(),
            arguments: arguments.to_string(),
            opaque: None,
        };
        let request = ToolCallRequest::new(self.session.conversation().next_call(0), call);
        let items = vec![Item::Call(request)];
        // An answer without a model is shown and stored, and is not sent to models.
        let mut response = ModelResponse { id, thought_id, model: String::new(), items };
        let (mut candidates, announced) = calls::announce(self.session, &mut response, &offered, None);
        let mut events = vec![SessionEvent::ModelResponse(response)];
        events.extend(announced);
        calls::record_and_resolve(self.session, &mut candidates, events).await?;
        self.session.notify(SessionEvent::Phase(Phase::Tools));
        let calls = Calls::new(self.session, self.controls, &model);
        let Some(mut candidate) = candidates.pop() else { return Ok(StopReason::EndTurn) };
        if is_own {
            candidate.made_by_user();
        }
        let Some(result) = calls.run_one(candidate, self.cancel).await? else {
            return Ok(StopReason::Cancelled);
        };
        let is_done = !result.is_error;
        self.progress.command = Some(if is_done { CommandOutcome::Done } else { CommandOutcome::Refused });
        let text = format!("The user ran this command:\n\n{line}\n\nIts result:\n\n{}", result.text);
        self.progress.last.push(SessionEvent::Briefing(Briefing { text, ..Briefing::default() }));
        Ok(StopReason::EndTurn)
    }
}
