//! A turn that asks no model: a slash command is done and answered.

use super::Course;
use crate::{
    Checkpoint, ModelResponse, RewindError, SessionEvent, StopReason, TurnError,
    checkpoint::{Timeline, restore},
    history::compaction::{self, Room, Summed, Summing},
    history::measure,
    input::commands::{self, Action},
    prompt::briefing::instruction_files,
    session::{Session, controls::Controls},
};
use tokio_util::sync::CancellationToken;

/// Does what a slash command asks for.
pub(super) async fn run(
    session: &mut Session,
    controls: &Controls,
    action: Action,
    course: &mut Course,
    cancel: &CancellationToken,
) -> Result<StopReason, TurnError> {
    let mut rewound = None;
    let text = match action {
        Action::PermissionMode(mode) => {
            controls.set_permission_mode(mode).await?;
            format!("Permission mode is now {}. {}.", mode.label(), mode.description())
        }
        Action::Mode(mode) => {
            controls.set_mode(mode).await?;
            format!("Mode is now {}. {}.", mode.label(), mode.description())
        }
        Action::Model(id) => {
            session.model(&id).await?;
            controls.set_model(&id).await?;
            format!("The model is now {id}.")
        }
        Action::ListModels => session.models_text(&controls.state().model),
        Action::ListCheckpoints => checkpoints_text(session).await?,
        Action::Rewind(target) => match restore(session, &controls.state(), target, cancel).await {
            Ok((report, done)) => {
                rewound = done;
                report.to_string()
            }
            Err(RewindError::Store(error)) => return Err(error.into()),
            Err(RewindError::Cancelled) => return Ok(StopReason::Cancelled),
            Err(error) => format!("Nothing was changed: {error}."),
        },
        Action::Compact(focus) => match compact(session, controls, focus.as_deref(), course, cancel).await? {
            Some(text) => text,
            None => return Ok(StopReason::Cancelled),
        },
        Action::Context => context_text(session, controls).await?,
        Action::Help => commands::help(&commands::all(&session.sources)),
    };
    let stop = say(session, text, course);
    // What was done to files comes after the answer: it is news to the model, which sees neither the command nor its answer.
    course.last.extend(rewound.map(SessionEvent::Rewound));
    Ok(stop)
}

/// Says something that no model said, and ends the turn.
pub(super) fn say(session: &Session, text: String, course: &mut Course) -> StopReason {
    let (id, thought_id) = session.conversation().next_answer();
    session.log.tell(SessionEvent::MessageDelta { id: id.clone(), text: text.clone() });
    let response = ModelResponse::said(id, thought_id, String::new(), text);
    course.last.push(SessionEvent::ModelResponse(response));
    StopReason::EndTurn
}

/// Sums up the conversation because the user wants it; what is said about that, and nothing when it was cancelled.
async fn compact(
    session: &mut Session,
    controls: &Controls,
    focus: Option<&str>,
    course: &mut Course,
    cancel: &CancellationToken,
) -> Result<Option<String>, TurnError> {
    let state = controls.state();
    let model = session.model(&state.model).await?;
    let around = measure::around(&session.frame(model.info(), &state));
    let with = Summing { model: model.as_ref(), around, cancel };
    let Some(room) = Room::of(model.info(), &session.settings().limits.context) else {
        return Ok(Some(format!("Nothing was done: how much {} can be sent is not known.", state.model)));
    };
    Ok(Some(match session.sum_up(&with, room, focus, &mut course.usage).await? {
        Summed::Shorter { before, after } => {
            format!("The conversation is summed up: about {before} tokens before, {after} now.")
        }
        Summed::Nothing if !compaction::can_sum_up(model.as_ref()) => {
            format!("Nothing was done: {} is no language model and cannot sum anything up.", state.model)
        }
        Summed::Nothing => {
            "Nothing was done: there is nothing before the last turns that is worth summing up.".to_owned()
        }
        Summed::Failed(why) => format!("The conversation stays as it was: {why}."),
        Summed::Cancelled => return Ok(None),
    }))
}

/// How full the context is.
async fn context_text(session: &mut Session, controls: &Controls) -> Result<String, TurnError> {
    let state = controls.state();
    let model = session.model(&state.model).await?;
    let around = measure::around(&session.frame(model.info(), &state));
    let conversation = session.conversation();
    let (used, messages) = (conversation.used(around), conversation.history().messages().len());
    let mut text = format!(
        "About {used} tokens go to {} with each request: {messages} messages, and about {around} tokens of instructions and tools around them.",
        state.model
    );
    if let Some(room) = Room::of(model.info(), &session.settings().limits.context) {
        text.push_str(&room.described(
            used,
            session.settings().limits.context.auto_compact,
            compaction::can_sum_up(model.as_ref()),
        ));
    }
    let known = conversation.known();
    let files: Vec<_> = instruction_files(&known).map(|file| format!("`{file}`")).collect();
    if !files.is_empty() {
        text.push_str(&format!(" Instructions of the project among them: {}.", files.join(", ")));
    }
    Ok(text)
}

async fn checkpoints_text(session: &Session) -> Result<String, TurnError> {
    let checkpoints = Timeline::read(session.store.as_ref(), &session.id).await?.checkpoints();
    if checkpoints.is_empty() {
        return Ok("No turn has changed a file yet.\n".to_owned());
    }
    let mut text =
        "Turns that changed files; `/rewind N` takes back what was changed after turn N:\n\n".to_owned();
    for Checkpoint { turn, prompt, files } in checkpoints {
        let files: Vec<_> = files.iter().map(|file| format!("`{file}`")).collect();
        text.push_str(&format!("- {turn}: {prompt} ({})\n", files.join(", ")));
    }
    Ok(text)
}

impl Session {
    fn models_text(&self, current: &str) -> String {
        let mut text = format!("The model is {current}. Change it with `/model provider/model`.\n\n");
        for model in self.models.list() {
            text.push_str(&format!("- `{}`: {}\n", model.id, model.name));
        }
        text
    }
}
