//! `apply_patch`: changes, creates, moves and deletes several files. The whole patch is checked
//! before the first write, so a patch that does not fit changes nothing.

mod apply;
mod command;
mod parse;
mod plan;
mod unwrap;

pub(crate) use command::patch_of_command;

use super::{
    args,
    cancel::unless_cancelled,
    current_text,
    path::{self, GivenPath},
    write_through,
};
use crate::{
    Access, Description, Effect, Location, Tool, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::WRITE_TRIES,
};
use async_trait::async_trait;
use parse::{Operation, ParseError};
use plan::{Plan, Step};
use serde_json::{Value, json};
use system::{AbsPath, SystemError};

/// Applies a patch.
#[derive(Debug, serde::Deserialize)]
#[serde(from = "Raw")]
pub(super) struct ApplyPatch {
    patch: Result<Vec<Operation>, ParseError>,
    plan: Option<Plan>,
}

#[derive(serde::Deserialize)]
struct Raw {
    #[serde(alias = "input", alias = "diff")]
    patch: String,
}

impl From<Raw> for ApplyPatch {
    fn from(raw: Raw) -> Self {
        Self { patch: parse::parse(&raw.patch), plan: None }
    }
}

#[async_trait]
impl Tool for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const DESCRIPTION: &'static str = "Changes several files, all or none. Format (or a unified diff):\n\
        *** Begin Patch\n*** Add File: path\n+line\n*** Update File: path\n*** Move to: new path (optional)\n@@ line above the change \
        (optional)\n context\n-old line\n+new line\n*** Delete File: path\n*** End Patch\n\
        Give three lines of context around each change, so that it fits one place.";
    const EFFECT: Effect = Effect::Writes;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "patch": {"type": "string"}
            },
            "required": ["patch"]
        })
    }

    fn paths(&mut self) -> Vec<&mut String> {
        self.patch.iter_mut().flatten().flat_map(Operation::paths_mut).map(GivenPath::text).collect()
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        let names: Vec<String> =
            self.paths().map(|given| path::shown(&given.at(cwd), cwd).to_owned()).collect();
        let title = if names.is_empty() { "files".to_owned() } else { names.join(", ") };
        let locations = self.paths().map(|path| Location { path: path.at(cwd), line: None }).collect();
        Description { title: format!("Edit {title}"), kind: ToolKind::Edit, locations }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        match &self.patch {
            Ok(operations) => {
                // Which of the paths exists is known only later, so permission covers both.
                let other = operations.iter().flat_map(Operation::paths_without_git_prefix);
                let paths = self.paths().map(|path| path.at(cwd)).chain(other.map(|path| path.at(cwd)));
                paths.map(Access::Write).collect()
            }
            // The call is rejected before it touches anything.
            Err(_) => args::touches_nothing(Self::NAME),
        }
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        let plan = self.decide(cx).await?;
        let shown = plan.diffs();
        self.plan = Some(plan);
        Ok(shown)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let approved = match self.plan.take() {
            Some(plan) => plan,
            None => self.decide(cx).await?,
        };
        let _claim = write_through::claim(cx, &approved.paths()).await?;
        let mut tries = 0;
        loop {
            tries += 1;
            let plan = self.decide(cx).await?;
            approved.expect_approved(cx, &plan)?;
            match self.carry_out(cx, &plan).await {
                Ok((text, shown)) => {
                    let moved = if approved.moved(&plan) { write_through::MOVED } else { "" };
                    let text = super::output::cap(text + moved, &cx.limits);
                    return Ok(ToolOutput::shown(text, shown));
                }
                Err(ToolError::System(SystemError::Changed(_))) if tries < WRITE_TRIES => {}
                Err(ToolError::System(SystemError::Changed(path))) => {
                    return Err(write_through::keeps_changing(&path));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl ApplyPatch {
    fn paths(&self) -> impl Iterator<Item = &GivenPath> {
        self.patch.iter().flatten().flat_map(Operation::paths)
    }

    async fn decide(&self, cx: &ToolContext) -> Result<Plan, ToolError> {
        let operations = self.patch.as_ref().map_err(|error| ToolError::message(error.to_string()))?;
        Plan::make(cx, operations).await
    }

    /// Carries out a plan, and returns the text for the model and the content for the user. Fails
    /// with [`SystemError::Changed`] if a file changed before anything was written.
    async fn carry_out(
        &self,
        cx: &ToolContext,
        plan: &Plan,
    ) -> Result<(String, Vec<ToolContent>), ToolError> {
        let mut done = Vec::new();
        let mut notes = String::new();
        let mut shown: Vec<_> = plan.gone().collect();
        for step in &plan.steps {
            match carry_out(cx, step, &mut shown).await {
                Ok(note) => {
                    notes.push_str(&note);
                    if !step.removes && !step.change.unsaved_note().is_empty() {
                        notes.push_str(&format!("\n{}:{}", step.change.name, step.change.unsaved_note()));
                    }
                    done.push(step.change.name.as_str());
                }
                Err(error @ ToolError::System(SystemError::Changed(_))) if done.is_empty() => {
                    return Err(error);
                }
                Err(error) => return Err(stopped(step, &done, error)),
            }
        }
        Ok((format!("{}{}{notes}", plan.summary(), plan.changed_note()), shown))
    }
}

/// Carries out the plan's step for one file, and adds the content that the user sees.
async fn carry_out(cx: &ToolContext, step: &Step, shown: &mut Vec<ToolContent>) -> Result<String, ToolError> {
    let change = &step.change;
    if step.removes {
        change.remove(cx).await?;
        shown.push(write_through::diff(&change.path, change.now.text.clone(), None));
        return Ok(String::new());
    }
    let mut is_new = false;
    if let Some(from) = &step.moved_from {
        // Rename the file on disk, if there is one, so that its mode and history are kept.
        if let Some(folder) = change.path.parent() {
            unless_cancelled(cx, cx.system.create_dir_all(&folder)).await??;
        }
        current_text::expect_text(cx, from, step.was.as_deref()).await?;
        match unless_cancelled(cx, cx.system.rename(from, &change.path)).await? {
            Ok(()) => cx.session.files.forget(from),
            // A buffer that was never saved has no file on disk to rename.
            Err(SystemError::NotFound(_)) => {
                cx.session.files.forget(from);
                is_new = true;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let written = change.write_over(cx, step.known_whole(), step.was.as_deref().filter(|_| !is_new)).await?;
    if let Some(executable) = step.executable {
        unless_cancelled(cx, cx.system.set_executable(&change.path, executable)).await??;
    }
    shown.push(write_through::diff(&change.path, change.now.text.clone(), Some(written.text)));
    Ok(if written.note.is_empty() { String::new() } else { format!("\n{}:{}", change.name, written.note) })
}

fn stopped(step: &Step, done: &[&str], error: ToolError) -> ToolError {
    let name = &step.change.name;
    let done = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
    match error {
        ToolError::Cancelled(_) => {
            ToolError::Cancelled(Some(format!("at {name}; changed before it: {done}")))
        }
        error => ToolError::message(format!("Patch failed at {name}: {error}. Changed before it: {done}.")),
    }
}
