//! The plan of a patch: the resulting changes per file, all validated before the first write.

use super::{
    apply::{self, Misfit, Why},
    parse::{Hunk, Operation},
};
use crate::{
    Freshness, ToolContent, ToolContext, ToolError,
    files::editor::Standing,
    tools::{
        current_text, edit, file_read,
        path::GivenPath,
        write_through::{self, Change},
    },
};
use std::fmt::Write as _;
use system::AbsPath;

/// Every file that a patch changes, each once, in the order in which they are first named.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// The sources of renames, as they were before the patch.
    sources: Vec<Change>,
    /// The summary: verbs with the names of files.
    summary: [(&'static str, Vec<String>); 4],
    /// Notes on how hunks were found whose lines do not occur verbatim, each on a line of its own.
    notes: Vec<String>,
}

/// The change of one file.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) change: Change,
    /// The path from which the file is renamed.
    pub(super) moved_from: Option<AbsPath>,
    /// The text at the path before the change is written; for a renamed file, the text that the
    /// rename brings along.
    pub(super) was: Option<String>,
    /// Whether the file becomes executable, or not, if the patch says so.
    pub(super) executable: Option<bool>,
    /// Whether the file is removed; the change's `after` is then meaningless.
    pub(super) removes: bool,
    /// Whether the file exists after the parts of the patch planned so far.
    exists: bool,
}

const ADDED: usize = 0;
const UPDATED: usize = 1;
const MOVED: usize = 2;
const DELETED: usize = 3;

impl Plan {
    /// Reads every file and validates every part. Each part applies to the results of the previous
    /// ones.
    pub(super) async fn make(cx: &ToolContext, operations: &[Operation]) -> Result<Self, ToolError> {
        let summary = [("added", vec![]), ("updated", vec![]), ("moved", vec![]), ("deleted", vec![])];
        let mut plan = Self { steps: Vec::new(), sources: Vec::new(), summary, notes: Vec::new() };
        for operation in operations {
            match operation {
                Operation::Add { path, text, executable } => plan.add(cx, path, text, *executable).await?,
                Operation::Delete { path } => plan.delete(cx, path).await?,
                Operation::Update { path, move_to, hunks, executable } => {
                    plan.update(cx, path, move_to.as_ref(), hunks, *executable).await?
                }
            }
        }
        plan.settle();
        Ok(plan)
    }

    /// Returns the paths of all files that the plan touches.
    pub(super) fn paths(&self) -> Vec<AbsPath> {
        self.changes().map(|change| change.path.clone()).collect()
    }

    /// Rejects another plan for the same patch if it replaces other lines than this one, which the
    /// user approved, if the user was asked.
    pub(super) fn expect_approved(&self, cx: &ToolContext, other: &Self) -> Result<(), ToolError> {
        for (approved, source) in self.sources.iter().zip(&other.sources) {
            approved.expect_same_text(cx, source)?;
        }
        for (approved, step) in self.steps.iter().zip(&other.steps) {
            match step.removes {
                true => approved.change.expect_same_text(cx, &step.change)?,
                false => approved.change.expect_approved(cx, &step.change)?,
            }
        }
        Ok(())
    }

    /// Whether a file has another text than in another plan for the same patch.
    pub(super) fn moved(&self, other: &Self) -> bool {
        let text = |path: &AbsPath| {
            other.changes().find(|change| change.path == *path).map(|change| &change.now.text)
        };
        self.changes().any(|change| text(&change.path) != Some(&change.now.text))
    }

    fn changes(&self) -> impl Iterator<Item = &Change> {
        self.sources.iter().chain(self.steps.iter().map(|step| &step.change))
    }

    /// Returns the changes as diffs for the user.
    pub(super) fn diffs(&self) -> Vec<ToolContent> {
        let diff = |step: &Step| match step.removes {
            true => write_through::diff(&step.change.path, step.change.now.text.clone(), None),
            false => step.change.diff(),
        };
        self.gone().chain(self.steps.iter().map(diff)).collect()
    }

    /// Returns the removals of renamed files from their old paths, as diffs for the user.
    pub(super) fn gone(&self) -> impl Iterator<Item = ToolContent> {
        self.sources.iter().map(|source| write_through::diff(&source.path, source.now.text.clone(), None))
    }

    /// Returns `Patch applied: added 1 file(s), …`, followed by the names of the files, grouped by
    /// operation.
    pub(super) fn summary(&self) -> String {
        let counts: Vec<_> =
            self.done().map(|(verb, names)| format!("{verb} {} file(s)", names.len())).collect();
        let mut text = format!("Patch applied: {}", counts.join(", "));
        for (verb, names) in self.done() {
            let _ = write!(text, "\n{verb}: {}", names.join(", "));
        }
        text.push_str(&self.notes.concat());
        text
    }

    /// Returns a note for the model on files that had changed since the model saw them.
    pub(super) fn changed_note(&self) -> String {
        let changed = self.steps.iter().filter(|step| step.change.freshness == Freshness::Changed);
        let names: Vec<_> = changed.map(|step| step.change.name.as_str()).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!(
                "\nChanged since you last read them, and patched as they are now: {}. Read them again before you rely on the rest of them.",
                names.join(", ")
            ),
        }
    }

    /// Removes what need not be done: steps for files that are both created and deleted by the
    /// patch, and the removal of files that are renamed.
    fn settle(&mut self) {
        let kept: Vec<AbsPath> =
            self.steps.iter().filter(|step| !step.removes).map(|step| step.change.path.clone()).collect();
        for step in &mut self.steps {
            // The patch puts a new file at the source path, which the rename must not move away.
            step.moved_from = step.moved_from.take().filter(|from| !kept.contains(from));
            if step.moved_from.is_none() {
                step.was.clone_from(&step.change.now.text);
            }
        }
        let renamed: Vec<AbsPath> = self.steps.iter().filter_map(|step| step.moved_from.clone()).collect();
        let steps = std::mem::take(&mut self.steps).into_iter();
        let (gone, steps): (Vec<_>, Vec<_>) = steps.partition(|step| {
            step.removes && (step.change.now.text.is_none() || renamed.contains(&step.change.path))
        });
        self.steps = steps;
        self.sources =
            gone.into_iter().map(|step| step.change).filter(|change| change.now.text.is_some()).collect();
    }

    fn done(&self) -> impl Iterator<Item = &(&'static str, Vec<String>)> {
        self.summary.iter().filter(|(_, names)| !names.is_empty())
    }

    async fn add(
        &mut self,
        cx: &ToolContext,
        given: &GivenPath,
        text: &str,
        executable: Option<bool>,
    ) -> Result<(), ToolError> {
        let step = self.step(cx, given).await?;
        if step.exists {
            return Err(refused(format!("{given} exists already; use '*** Update File: {given}'")));
        }
        step.set_text(text.to_owned());
        step.executable = executable.filter(|executable| *executable);
        self.summary[ADDED].1.push(given.to_string());
        Ok(())
    }

    async fn delete(&mut self, cx: &ToolContext, given: &GivenPath) -> Result<(), ToolError> {
        let path = given.at(&cx.cwd);
        let step = self.step(cx, given).await?;
        if !step.exists {
            return Err(file_read::not_found(cx, given, &path).await);
        }
        if step.change.freshness == Freshness::Changed {
            return Err(refused(format!(
                "{given} has changed since you last read it; read it again before you delete it"
            )));
        }
        if step.change.now.standing == Standing::Unsaved && step.change.freshness != Freshness::Fresh {
            return Err(refused(format!(
                "the editor holds unsaved changes of {given} that you have not read; read it before you delete it"
            )));
        }
        step.remove();
        self.summary[DELETED].1.push(given.to_string());
        Ok(())
    }

    async fn update(
        &mut self,
        cx: &ToolContext,
        given: &GivenPath,
        move_to: Option<&GivenPath>,
        hunks: &[Hunk],
        executable: Option<bool>,
    ) -> Result<(), ToolError> {
        let bare = self.without_git_prefix(cx, given).await?;
        let bare_move_to = bare.as_ref().and(move_to).and_then(GivenPath::without_git_prefix);
        let (given, move_to) = (bare.as_ref().unwrap_or(given), bare_move_to.as_ref().or(move_to));
        let path = given.at(&cx.cwd);
        let step = self.step(cx, given).await?;
        if !step.exists {
            return Err(file_read::not_found(cx, given, &path).await);
        }
        if step.change.freshness == Freshness::Changed && current_text::writes_blindly(cx) {
            return Err(refused(format!(
                "{given} on disk is not what you last read or wrote, and the editor may hold newer text; ask the user to save it, then read it again"
            )));
        }
        let applied = apply::apply(&step.change.after, hunks)
            .map_err(|misfit| refused(explain(&given.to_string(), misfit)))?;
        let notes = applied.loosely.iter().map(|(hunk, steps)| {
            format!(
                "\n(hunk {hunk} of {given} {}; its new lines were treated the same way.)",
                edit::matched_after(steps)
            )
        });
        self.notes.extend(notes);
        self.notes.extend(applied.as_written.iter().map(|(hunk, sign)| {
            format!("\n(`{sign}` in hunk {hunk} of {given} was written literally. If that is not intended, edit it again.)")
        }));
        let text = applied.text;
        let step = self.step(cx, given).await?;
        let freshness = step.change.freshness;
        match move_to.filter(|to| to.at(&cx.cwd) != path) {
            None => {
                step.set_text(text);
                step.executable = executable.or(step.executable);
                self.summary[UPDATED].1.push(given.to_string());
            }
            Some(to) => {
                let from = step.moved_from.take().or_else(|| step.change.now.text.is_some().then_some(path));
                step.remove();
                let was = step.change.now.text.clone().filter(|_| from.is_some());
                let target = self.step(cx, to).await?;
                if target.exists || target.change.now.text.is_some() {
                    return Err(refused(format!("{to} exists already; {given} cannot be moved there")));
                }
                target.moved_from = from;
                target.was = was;
                target.change.freshness = freshness;
                target.set_text(text);
                target.executable = executable.or(target.executable);
                self.summary[MOVED].1.push(format!("{given} -> {to}"));
            }
        }
        Ok(())
    }

    /// Returns the path without git's prefix `a/` or `b/`, if there is a file only there.
    async fn without_git_prefix(
        &mut self,
        cx: &ToolContext,
        given: &GivenPath,
    ) -> Result<Option<GivenPath>, ToolError> {
        let Some(bare) = given.without_git_prefix() else { return Ok(None) };
        let step = self.step(cx, given).await?;
        let is_missing = !step.exists && !step.removes;
        if !is_missing || !self.step(cx, &bare).await.is_ok_and(|step| step.exists) {
            return Ok(None);
        }
        let path = given.at(&cx.cwd);
        self.steps.retain(|step| step.change.path != path);
        Ok(Some(bare))
    }

    /// Returns the planned step of a file. Reads the file when it is first named.
    async fn step(&mut self, cx: &ToolContext, given: &GivenPath) -> Result<&mut Step, ToolError> {
        let path = given.at(&cx.cwd);
        let index = match self.steps.iter().position(|step| step.change.path == path) {
            Some(index) => index,
            None => {
                let name = given.to_string();
                let now = current_text::text_now(cx, &path, &name).await?;
                let was = now.text.clone();
                let freshness = cx.session.files.freshness(&path, was.as_deref());
                let (exists, after) = (was.is_some(), was.clone().unwrap_or_default());
                let change = Change { path, name, now, after, freshness };
                self.steps.push(Step {
                    change,
                    moved_from: None,
                    was,
                    executable: None,
                    removes: false,
                    exists,
                });
                self.steps.len() - 1
            }
        };
        Ok(&mut self.steps[index])
    }
}

impl Step {
    /// Whether the model knows the whole resulting text.
    pub(super) fn known_whole(&self) -> bool {
        self.change.freshness == Freshness::Fresh
    }

    fn set_text(&mut self, text: String) {
        self.change.after = text;
        (self.exists, self.removes) = (true, false);
    }

    fn remove(&mut self) {
        (self.exists, self.removes) = (false, true);
    }
}

fn explain(name: &str, misfit: Misfit) -> String {
    let Misfit { hunk, why } = misfit;
    match why {
        Why::NotFound { wanted, nearest } => format!(
            "hunk {hunk} of {name} does not match. These lines were not found, as a block:\n{wanted}{nearest}"
        ),
        Why::Ambiguous(places) => format!(
            "hunk {hunk} of {name} fits several places; give more lines around the change, or the line above it after '@@'. The first \
             places:{places}"
        ),
        Why::Order => format!(
            "hunk {hunk} of {name} fits only where another hunk is, or above the one before it; give the hunks in the order of the file, each once"
        ),
        Why::NoContext => format!(
            "hunk {hunk} of {name} only adds lines, and line numbers are ignored; include the lines of the file around them"
        ),
        Why::Doubtful(sign) => format!(
            "it is unclear whether `{sign}` in hunk {hunk} of {name} is literal: in another hunk it was not. Write the lines exactly as they should be in the file"
        ),
        Why::Elided(line) => format!(
            "hunk {hunk} of {name} has the line `{line}`, which stands for lines that are left out and would be written as it is; give every line"
        ),
    }
}

fn refused(why: String) -> ToolError {
    ToolError::message(format!("Patch not applied: {why}"))
}
