//! The single path by which tools change a file's text, so that no edit is lost between the editor,
//! the disk and the model.

use super::{
    cancel::unless_cancelled,
    current_text::{Now, expect_text, text_now, writes_blindly},
    own_temp,
    read_back::{self, ReadBack},
};
use crate::{
    Diff, Fingerprint, Freshness, ToolContent, ToolContext, ToolError,
    files::editor::Standing,
    limits::{REFORMAT_LINES, TAKEN_WITHIN, WRITE_TRIES},
    text::cut,
};
use async_trait::async_trait;
use imara_diff::{Algorithm, BasicLineDiffPrinter, InternedInput, UnifiedDiffConfig};
use system::{AbsPath, Claim, Route, SystemError};

/// A change to one file's text, computed but not yet made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// The file's path.
    pub(crate) path: AbsPath,
    /// The model's name for the file.
    pub(crate) name: String,
    /// The text that the change was computed from.
    pub(crate) now: Now,
    /// The text after the change.
    pub(crate) after: String,
    /// How the text before compares with what the model had seen.
    pub(crate) freshness: Freshness,
}

/// The outcome of a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The file's text now: what was sent, unless the editor changed it.
    pub(crate) text: String,
    /// Notes for the model beyond the fact of the change, each on a line of its own. Empty, or
    /// begins with a line ending.
    pub(crate) note: String,
}

/// Waits until no other call changes one of these files, and keeps others waiting.
pub(crate) async fn claim(cx: &ToolContext, paths: &[AbsPath]) -> Result<Claim, ToolError> {
    Ok(unless_cancelled(cx, cx.system.claim(paths)).await??)
}

/// Computes a change of one file from the file's current text.
#[async_trait]
pub(super) trait ComputeChange: Sync {
    /// Details of the change for the tool's result.
    type Details: Send;

    /// Reads the file and computes the change.
    async fn compute(&self, cx: &ToolContext) -> Result<(Change, Self::Details), ToolError>;

    /// Whether the model knows the whole text after the change.
    fn knows_all(change: &Change) -> bool;
}

/// Makes a change. If the text is not the one that `prepared` was computed from, the change is
/// computed again; if it changes at the moment of the write, again a few times.
///
/// # Errors
/// The error of [`ComputeChange::compute`], with the difference between the two texts. If the user
/// has approved `prepared`, a change of other lines is refused.
pub(super) async fn make<C: ComputeChange>(
    cx: &ToolContext,
    path: &AbsPath,
    prepared: Option<(Change, C::Details)>,
    call: &C,
) -> Result<(Change, C::Details, Written), ToolError> {
    let _claim = claim(cx, std::slice::from_ref(path)).await?;
    let first = prepared.as_ref().map(|(change, _)| change.clone());
    let mut next = prepared;
    for _ in 0..WRITE_TRIES {
        let (change, details) = match next.take() {
            Some(computed) if computed.0.now.is_current(cx, path).await? => computed,
            _ => match call.compute(cx).await {
                Ok(computed) => computed,
                Err(error) => return Err(since(cx, first.as_ref(), error).await),
            },
        };
        if let Some(first) = &first {
            first.expect_approved(cx, &change)?;
        }
        match change.write(cx, C::knows_all(&change)).await {
            Err(ToolError::System(SystemError::Changed(_))) => {}
            Err(error) => return Err(error),
            Ok(mut written) => {
                let moved = first.is_some_and(|first| first.now.text != change.now.text);
                if moved && change.freshness != Freshness::Changed {
                    written.note.push_str(MOVED);
                }
                return Ok((change, details, written));
            }
        }
    }
    Err(keeps_changing(path))
}

/// The note for the model on a change that was computed again.
pub(super) const MOVED: &str =
    "\nThe file changed while this change was on its way; it was made in the new text.";

/// Returns the error for a file that others write all the time.
pub(super) fn keeps_changing(path: &AbsPath) -> ToolError {
    ToolError::message(format!(
        "{path} was changed by others each time it was to be written; nothing was written. Read it again, and try again when it is at rest."
    ))
}

/// Adds to an error what has changed in the file since a change was first computed.
async fn since(cx: &ToolContext, first: Option<&Change>, error: ToolError) -> ToolError {
    let (Some(first), ToolError::Message(text)) = (first, &error) else { return error };
    match text_now(cx, &first.path, &first.name).await {
        Ok(now) if now.text != first.now.text => {
            let (before, now) = (first.before().unwrap_or_default(), now.text.unwrap_or_default());
            let diff = shown_diff(before, &now);
            let why = match cx.call.asked {
                true => first.changed_in_approval(),
                false => format!("{text}\n{} changed while this change was on its way.", first.name),
            };
            ToolError::message(format!("{why}\nThe difference:\n{diff}"))
        }
        _ => error,
    }
}

impl Change {
    /// Returns the text before the change; `None` for a new file.
    pub(crate) fn before(&self) -> Option<&str> {
        self.now.text.as_deref()
    }

    /// Returns the change as a diff for the user.
    pub(super) fn diff(&self) -> ToolContent {
        diff(&self.path, self.now.text.clone(), Some(self.after.clone()))
    }

    /// Rejects a change that replaces other lines than this one, which the user approved, if the
    /// user was asked.
    pub(super) fn expect_approved(&self, cx: &ToolContext, other: &Self) -> Result<(), ToolError> {
        let same = || self.now.text == other.now.text || self.replaced_lines() == other.replaced_lines();
        match !cx.call.asked || same() {
            true => Ok(()),
            false => Err(ToolError::message(self.changed_in_approval())),
        }
    }

    /// Like [`Change::expect_approved`], for a file that is removed or renamed as a whole.
    pub(super) fn expect_same_text(&self, cx: &ToolContext, other: &Self) -> Result<(), ToolError> {
        match !cx.call.asked || self.now.text == other.now.text {
            true => Ok(()),
            false => Err(ToolError::message(self.changed_in_approval())),
        }
    }

    fn changed_in_approval(&self) -> String {
        format!(
            "{} changed while the user's approval was pending; nothing was written. Read it again with file_read, then repeat the change.",
            self.name
        )
    }

    /// Returns the texts that the change removes and adds, in order and without their places.
    fn replaced_lines(&self) -> Vec<(String, String)> {
        let before = self.before().unwrap_or_default();
        let input = InternedInput::new(before, self.after.as_str());
        let diff = imara_diff::Diff::compute(Algorithm::Histogram, &input);
        let lines = |range: std::ops::Range<u32>, tokens: &[imara_diff::Token]| {
            tokens[range.start as usize..range.end as usize]
                .iter()
                .map(|token| input.interner[*token])
                .collect::<String>()
        };
        diff.hunks()
            .map(|hunk| (lines(hunk.before, &input.before), lines(hunk.after, &input.after)))
            .collect()
    }

    /// Makes the change if the file still has the text before it, and records what the model now
    /// knows: the whole text if it knew the whole text before (`whole`), otherwise only that the
    /// file was changed. The caller holds a claim of the file.
    ///
    /// # Errors
    /// [`SystemError::Changed`] if the file has another text.
    pub(crate) async fn write(&self, cx: &ToolContext, whole: bool) -> Result<Written, ToolError> {
        self.write_over(cx, whole, self.before()).await
    }

    /// Like [`Change::write`], for a file whose current text is `was` instead of the text before:
    /// the text of a file that was renamed to this path.
    pub(super) async fn write_over(
        &self,
        cx: &ToolContext,
        whole: bool,
        was: Option<&str>,
    ) -> Result<Written, ToolError> {
        let begun = || ToolError::Cancelled(Some(format!("the write of {} had begun", self.name)));
        if let (Some(shown), Some(text)) = (&self.now.shown, was) {
            self.reload(cx, shown, text).await?;
        }
        unless_cancelled(cx, cx.system.replace_text(&self.path, was, &self.after))
            .await
            .map_err(|_| begun())??;
        let taken = self.read_back(cx, was).await?;
        if writes_blindly(cx) {
            let before = || was.map(Fingerprint::of);
            cx.session
                .files
                .editor()
                .written_blindly(&self.path, (taken == ReadBack::Unchanged).then(before));
        }
        let (text, note, is_known) = match taken {
            ReadBack::Holds(text) => {
                let note = self.reformatted(&text);
                let is_known = note.lines().count() <= REFORMAT_LINES;
                (text, note, is_known)
            }
            ReadBack::Unknown(note) => (self.after.clone(), note, false),
            // The write may stay unsaved for long: the editor has accepted it, but the editor's
            // version of the text cannot be read.
            ReadBack::Unchanged if writes_blindly(cx) => (self.after.clone(), String::new(), true),
            ReadBack::Unchanged => return Err(self.not_taken(cx).await),
        };
        // An editor that saves at once has the text in common with the disk from now on.
        if cx.system.routes().read_text == Route::Client
            && let Ok(on_disk) = cx.system.read_text_on_disk(&self.path).await
        {
            cx.session.files.editor().compare(&self.path, &text, on_disk.as_deref());
        }
        cx.session.files.holds(&self.path, &text);
        match whole && is_known {
            true => cx.session.files.saw(&self.path, &text),
            false => cx.session.files.touched(&self.path),
        }
        let note = note + &own_temp::note_of(cx, &self.path);
        Ok(Written { text, note })
    }

    /// Removes the file if it still has the text before the change. The caller holds a claim of the
    /// file.
    ///
    /// # Errors
    /// [`SystemError::Changed`] if the file has another text.
    pub(crate) async fn remove(&self, cx: &ToolContext) -> Result<(), ToolError> {
        expect_text(cx, &self.path, self.before()).await?;
        match unless_cancelled(cx, cx.system.remove(&self.path)).await? {
            // A buffer that was never saved has no file on disk to remove.
            Ok(()) | Err(SystemError::NotFound(_)) => {
                cx.session.files.forget(&self.path);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Lets the editor show the text on disk instead of the older text that it still shows, so that
    /// the change is made in the newer one.
    async fn reload(&self, cx: &ToolContext, shown: &str, on_disk: &str) -> Result<(), ToolError> {
        unless_cancelled(cx, cx.system.reload_text(&self.path, shown, on_disk)).await??;
        if cx.system.routes().write_text == Route::Client {
            let read = || cx.system.read_text(&self.path, None);
            read_back::read_back(cx, Some(shown), on_disk, read).await?;
        }
        Ok(())
    }

    /// Returns the error for a write that the editor acknowledged but did not carry out.
    async fn not_taken(&self, cx: &ToolContext) -> ToolError {
        let (name, seconds) = (&self.name, TAKEN_WITHIN.as_secs());
        let old = if self.before().is_some() { "shows the old text" } else { "has no such file" };
        let disk = match cx.system.read_text_on_disk(&self.path).await {
            Ok(Some(text)) if read_back::same_text(&text, &self.after) => {
                " The file on disk holds the new text: ask the user to reload it in the editor."
            }
            _ => "",
        };
        ToolError::message(format!(
            "The editor did not apply the change of {name}: it reported that it wrote the file, but {seconds} s later it still {old}.{disk} Read {name} \
             again with file_read before you repeat the change; it may still be applied."
        ))
    }

    /// Returns the note for a change to an editor's text that the model has not read and that
    /// differs from the disk.
    pub(super) fn unsaved_note(&self) -> &'static str {
        match self.now.standing {
            Standing::Unsaved if self.freshness != Freshness::Fresh => {
                "\nThe editor's text, in which this was changed, differs from the file on disk: unsaved changes, or a change on disk that the editor has not loaded. Read it before you rely on it."
            }
            Standing::Stale => {
                "\nThe editor still showed an older text of this file; the change was made in the text on disk."
            }
            _ => "",
        }
    }

    /// Reads the editor's text after it took a write. An editor that formats on save has a
    /// different text from the one that was sent.
    async fn read_back(&self, cx: &ToolContext, was: Option<&str>) -> Result<ReadBack, ToolError> {
        let routes = cx.system.routes();
        let taken = match (routes.read_text, routes.write_text) {
            (Route::Client, Route::Client) => {
                read_back::read_back(cx, was, &self.after, || cx.system.read_text(&self.path, None)).await
            }
            (_, Route::Client) => {
                read_back::saved(cx, was, &self.after, || cx.system.read_text(&self.path, None)).await
            }
            _ => return Ok(ReadBack::Holds(self.after.clone())),
        };
        Ok(match taken {
            Ok(ReadBack::Unknown(why)) => ReadBack::Unknown(format!(
                "\nThe editor accepted the text, but it could not be read back: {why}"
            )),
            Ok(taken) => taken,
            Err(_) => ReadBack::Unknown(
                "\nThe editor accepted the text, but it was not read back: cancelled".to_owned(),
            ),
        })
    }

    fn reformatted(&self, text: &str) -> String {
        if read_back::same_text(text, &self.after) {
            return String::new();
        }
        format!(
            "\nThe editor changed the text when it wrote it (formatting on save, for example):\n{}",
            shown_diff(&self.after, text)
        )
    }
}

/// Returns the changed lines between two texts, for the model; cut after [`REFORMAT_LINES`].
fn shown_diff(before: &str, after: &str) -> String {
    let input = InternedInput::new(before, after);
    let mut diff = imara_diff::Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let mut shape = UnifiedDiffConfig::default();
    shape.context_len(1);
    let diff = diff.unified_diff(&BasicLineDiffPrinter(&input.interner), shape, &input).to_string();
    let mut shown: Vec<_> = diff.lines().take(REFORMAT_LINES).map(|line| cut::cut(line, 200)).collect();
    if diff.lines().count() > shown.len() {
        shown.push("... more changes; read the file again before you write it".into());
    }
    shown.join("\n")
}

/// Returns a change as a diff for the user.
pub(super) fn diff(path: &AbsPath, old_text: Option<String>, new_text: Option<String>) -> ToolContent {
    ToolContent::Diff(Diff { path: path.clone(), old_text, new_text })
}
