//! What a model is asked: the system prompt and the request, built from values alone.

use crate::{
    AnyTool, Effort, Mode, ModelRequest, SessionId, ToolSpecs,
    limits::{INSTRUCTIONS_BYTES, INSTRUCTIONS_WAIT},
    policy,
};
use std::fmt::Write as _;
use system::{AbsPath, FoundRules, Route, Routes, ShellProgram, System, read_found};

/// What a request is built from.
pub(crate) struct Ingredients<'a> {
    pub(crate) session: &'a SessionId,
    /// Those that are offered.
    pub(crate) tools: ToolSpecs,
    pub(crate) mode: Mode,
    pub(crate) effort: Option<Effort>,
    pub(crate) cwd: &'a AbsPath,
    pub(crate) additional_directories: &'a [AbsPath],
    pub(crate) routes: Routes,
    /// Whether the user's editor works on another machine than the agent.
    pub(crate) apart: bool,
    /// What runs command lines.
    pub(crate) shell: ShellProgram,
    /// The project's own instructions (`AGENTS.md`), if it has any.
    pub(crate) instructions: Option<&'a str>,
    /// Text added by the user's settings.
    pub(crate) append: Option<&'a str>,
}

/// Builds the request of one round but for the conversation.
pub(crate) fn frame(from: &Ingredients<'_>) -> ModelRequest {
    ModelRequest {
        system: system_prompt(from),
        messages: Vec::new(),
        tools: from.tools.clone(),
        max_output: None,
        reasoning_effort: from.effort.map(|effort| effort.id().to_owned()),
        cache_key: Some(from.session.to_string()),
        answer_schema: None,
    }
}

/// The project's `AGENTS.md`, from disk: it is read before anybody asked for anything, so no editor is bothered with it. The error says why it is not
/// used.
pub(crate) async fn instructions(
    system: &dyn System,
    cwd: &AbsPath,
    rules: &FoundRules,
) -> Result<Option<String>, String> {
    let path = cwd.join("AGENTS.md");
    let read = tokio::time::timeout(INSTRUCTIONS_WAIT, read_found(system, cwd, &path, rules)).await;
    match read {
        Err(_) => Err(format!("not read: it took longer than {} s: {path}", INSTRUCTIONS_WAIT.as_secs())),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(bytes)) => Ok(bytes.map(|bytes| {
            let end = bytes.len().min(INSTRUCTIONS_BYTES);
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        })),
    }
}

/// Whether models are told of a tool in a mode.
pub(crate) fn offered(tool: &dyn AnyTool, mode: Mode) -> bool {
    tool.is_offered() && available(tool, mode)
}

/// Whether a tool exists in a mode.
pub(crate) fn available(tool: &dyn AnyTool, mode: Mode) -> bool {
    policy::exists(&tool.name(), tool.effect(), mode)
}

fn system_prompt(from: &Ingredients<'_>) -> String {
    let mut text = String::from(
        "You are Tiller, a coding agent. You work on the user's project with the tools you are given, and you answer in Markdown.\n\n\
         - Look before you act: read a file before you change it, search before you assume.\n\
         - Make the smallest change that does what was asked, in the style of the code around it.\n\
         - Run the project's own tests or checks after a change when there are any, and report what they really said.\n\
         - When a tool fails or the user refuses it, do not repeat the same call: change your approach, or say what you need.\n\
         - Several independent reads belong in one round of calls.\n\
         - End with a short account of what you did and what is left.\n",
    );
    let _ = writeln!(text, "\nThe project is at {}. Relative paths are relative to it.", from.cwd);
    for folder in from.additional_directories {
        let _ = writeln!(text, "You may also work in {folder}.");
    }
    if from.apart {
        text.push_str(
            "There are two machines. The project is on the USER'S machine: the tools whose names begin with ide_ act there, through the user's editor, \
             unsaved changes included. All other tools act on the AGENT'S machine, where Tiller is running: use them for your own work.\n",
        );
    }
    if from.routes.read_text == Route::Client {
        text.push_str("Files are read through the user's editor: you see unsaved changes as well.\n");
    }
    if from.routes.spawn == Route::Client {
        text.push_str("Commands run in the user's terminal panel, where the user sees them.\n");
    }
    text.push_str(match from.shell {
        ShellProgram::Bash => "Command lines are run by bash.\n",
        ShellProgram::Sh => {
            "Command lines are run by sh, which may be dash: keep to POSIX, without arrays, [[ ]], &> or pipefail.\n"
        }
    });
    match from.mode {
        Mode::Edit => {}
        Mode::Plan => text.push_str(
            "\nYou are in Plan mode: change nothing. Read, think, and present a plan that the user can approve.\n",
        ),
        Mode::Ask => text.push_str("\nYou are in Ask mode: change nothing. Read and answer the question.\n"),
    }
    if let Some(instructions) = from.instructions {
        let _ = write!(text, "\n# Instructions of the project (AGENTS.md)\n\n{}\n", instructions.trim());
    }
    if let Some(append) = from.append {
        let _ = write!(text, "\n{}\n", append.trim());
    }
    text
}
