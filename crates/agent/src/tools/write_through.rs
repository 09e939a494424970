//! The single path by which tools change a file's text, so that no edit is lost between the editor,
//! the disk and the model.

use super::{
    cancel::unless_cancelled,
    read_back::{self, ReadBack},
};
use crate::{
    Diff, Fingerprint, Freshness, Stamp, Standing, ToolContent, ToolContext, ToolError,
    files::freshness,
    limits::{REFORMAT_LINES, TAKEN_WITHIN},
    text::cut,
};
use imara_diff::{Algorithm, BasicLineDiffPrinter, InternedInput, UnifiedDiffConfig};
use system::{AbsPath, DiskSnapshot, Route, SystemError, TextEncoding};

/// A change to one file's text, computed but not yet made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// The file's path.
    pub(crate) path: AbsPath,
    /// The model's name for the file.
    pub(crate) name: String,
    /// The text when the change was computed; `None` for a new file.
    pub(crate) before: Option<String>,
    /// The text after the change.
    pub(crate) after: String,
    /// How `before` compares with what the model had seen.
    pub(crate) freshness: Freshness,
    /// Whether the editor's text differs from the disk's.
    pub(crate) unsaved: bool,
}

/// The current text, on which a change must be based.
#[derive(Debug)]
pub(crate) struct Now {
    /// The text; `None` if the file does not exist.
    pub(crate) text: Option<String>,
    /// Whether the text is the editor's and the disk's differs.
    pub(crate) unsaved: bool,
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

impl Change {
    /// Returns the change as a diff for the user.
    pub(super) fn diff(&self) -> ToolContent {
        diff(&self.path, self.before.clone(), Some(self.after.clone()))
    }

    /// Rejects the change if the file changed while the user was asked for permission. If the user
    /// was not asked, there was no time for the file to change.
    pub(super) async fn still_fits(&self, cx: &ToolContext) -> Result<(), ToolError> {
        if cx.call.asked && text_now(cx, &self.path, &self.name).await?.text != self.before {
            return Err(ToolError::message(format!(
                "{} changed while the user's approval was pending; nothing was written. Read it again with file_read, then repeat the change.",
                self.name
            )));
        }
        Ok(())
    }

    /// Makes the change, and records what the model now knows: the whole text if it knew the whole
    /// text before (`whole`), otherwise only that the file was changed.
    pub(crate) async fn write(&self, cx: &ToolContext, whole: bool) -> Result<Written, ToolError> {
        self.write_over(cx, whole, self.before.as_deref()).await
    }

    /// Like [`Change::write`], for a file whose current text is `was` instead of `before`: the text
    /// of a file that was renamed to this path.
    pub(super) async fn write_over(
        &self,
        cx: &ToolContext,
        whole: bool,
        was: Option<&str>,
    ) -> Result<Written, ToolError> {
        match unless_cancelled(cx, cx.system.write_text(&self.path, &self.after)).await {
            Ok(done) => done?,
            Err(_) => {
                return Err(ToolError::Cancelled(Some(format!("the write of {} had begun", self.name))));
            }
        }
        let (taken, now) = futures::join!(self.read_back(cx, was), beside_client(cx, stamp(cx, &self.path)));
        let taken = taken?;
        if writes_blindly(cx) {
            let before = || was.map(Fingerprint::of);
            cx.session.files.written_blindly(&self.path, (taken == ReadBack::Unchanged).then(before));
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
        // Records the disk's state at the last read of the editor's text.
        if let (Some(now), Route::Client) = (now, cx.system.routes().read_text) {
            cx.session.files.set_stamp(&self.path, now);
        }
        cx.session.files.holds(&self.path, &text);
        match whole && is_known {
            true => cx.session.files.saw(&self.path, &text),
            false => cx.session.files.touched(&self.path),
        }
        Ok(Written { text, note })
    }

    /// Returns the error for a write that the editor acknowledged but did not carry out.
    async fn not_taken(&self, cx: &ToolContext) -> ToolError {
        let (name, seconds) = (&self.name, TAKEN_WITHIN.as_secs());
        let old = if self.before.is_some() { "shows the old text" } else { "has no such file" };
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
        match self.unsaved && self.freshness != Freshness::Fresh {
            true => {
                "\nThe editor's text, in which this was changed, differs from the file on disk: unsaved changes, or a change on disk that the editor has not loaded. Read it before you rely on it."
            }
            false => "",
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
        let input = InternedInput::new(self.after.as_str(), text);
        let mut diff = imara_diff::Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        let mut shape = UnifiedDiffConfig::default();
        shape.context_len(1);
        let diff = diff.unified_diff(&BasicLineDiffPrinter(&input.interner), shape, &input).to_string();
        let mut shown: Vec<_> = diff.lines().take(REFORMAT_LINES).map(|line| cut::cut(line, 200)).collect();
        if diff.lines().count() > shown.len() {
            shown.push("... more changes; read the file again before you write it".into());
        }
        format!(
            "\nThe editor changed the text when it wrote it (formatting on save, for example):\n{}",
            shown.join("\n")
        )
    }
}

/// Returns the text that a change must be based on, from the editor or the disk; `None` if the file
/// does not exist. Fails if the editor holds text that would be lost by a change.
pub(crate) async fn text_now(cx: &ToolContext, path: &AbsPath, name: &str) -> Result<Now, ToolError> {
    let disk = beside_client(cx, cx.system.read_disk_snapshot(path));
    let read = async { futures::join!(cx.system.read_text(path, None), disk) };
    let (held, disk) = unless_cancelled(cx, read).await?;
    let held = match held {
        Ok(text) => Some(text),
        Err(SystemError::NotFound(_)) => None,
        Err(error) => return Err(unreadable(name, error)),
    };
    // The routes are read after the text: a client that turns out not to support reads has changed
    // them by now.
    let routes = cx.system.routes();
    let is_on_disk = match &disk {
        Some(look) => look.metadata.is_ok(),
        None => held.is_some() && routes.read_text != Route::Client,
    };
    if !is_on_disk {
        in_the_project(cx, path, name).await?;
    }
    let Some(DiskSnapshot { text: on_disk, metadata, encoding, .. }) =
        disk.filter(|_| routes.read_text == Route::Client)
    else {
        return Ok(Now { text: held, unsaved: false });
    };
    // An editor may not know a file that exists on disk, and its text may be out of date.
    let on_disk = match (on_disk, &held) {
        (Ok(text), _) => text,
        // The editor's decoding of such bytes does not preserve them.
        (Err(error @ SystemError::NotText { .. }), _) => return Err(unreadable(name, error)),
        // The disk cannot be read, but the editor's text can still be changed.
        (Err(_), Some(_)) if routes.write_text == Route::Client => None,
        (Err(error), _) => return Err(unreadable(name, error)),
    };
    let Some(held) = held else { return Ok(Now { text: on_disk, unsaved: false }) };
    let standing = match freshness::standing(
        cx.session.files.stamp(path),
        metadata.ok().map(Stamp::from),
        &held,
        on_disk.as_deref(),
    ) {
        // Only the disk's text keeps its line endings, so it is the text to change.
        Standing::Same if routes.write_text != Route::Client && on_disk.is_some() => {
            return Ok(Now { text: on_disk, unsaved: false });
        }
        _ if routes.write_text != Route::Client => {
            return Err(ToolError::message(format!(
                "The editor holds unsaved changes of {name} and cannot take writes; nothing was written. Ask the user to save the file (or to reload \
                 it, if it is older than the file on disk), then try again."
            )));
        }
        standing => standing,
    };
    // A client that decodes such bytes as UTF-8 would write its decoded version.
    if standing != Standing::Same && encoding != TextEncoding::Utf8 {
        return Err(ToolError::message(format!(
            "{name} is {encoding} text on disk, and the editor shows another text, perhaps because it reads it as UTF-8; nothing was written. Ask the \
             user to save it or to open it again in that encoding, then try again."
        )));
    }
    match standing {
        Standing::Conflict => Err(ToolError::message(format!(
            "{name} was changed or removed on disk (by a command, say), and the editor holds another text; nothing was written. Read it again with file_read, compare \
             with the file on disk, then repeat the change."
        ))),
        standing => Ok(Now { text: Some(held), unsaved: standing == Standing::Unsaved }),
    }
}

/// Rejects a file in the project if the project's directory is missing, because a write would
/// recreate it.
async fn in_the_project(cx: &ToolContext, path: &AbsPath, name: &str) -> Result<(), ToolError> {
    if !path.starts_with(&cx.cwd) {
        return Ok(());
    }
    match unless_cancelled(cx, cx.system.metadata(&cx.cwd)).await? {
        Err(SystemError::NotFound(_)) => Err(ToolError::message(format!(
            "{name} was not written: the project folder {} does not exist on this machine (any more). It is not created again. Ask the user where the \
             project is now.",
            cx.cwd
        ))),
        _ => Ok(()),
    }
}

/// Runs a query of the disk while the editor is being read; `None` unless reads go to the client.
/// Yields first, so that the request to the editor is sent first. Only the time depends on that,
/// so there is no signal for it through [`System`](system::System).
pub(super) async fn beside_client<T>(cx: &ToolContext, look: impl Future<Output = T>) -> Option<T> {
    match cx.system.routes().read_text {
        Route::Client => {
            tokio::task::yield_now().await;
            Some(look.await)
        }
        Route::Local | Route::Refused => None,
    }
}

/// Returns the current stamp of the file on disk.
pub(super) async fn stamp(cx: &ToolContext, path: &AbsPath) -> Option<Stamp> {
    cx.system.metadata(path).await.ok().map(Stamp::from)
}

/// Whether the client accepts writes but cannot be read: its version of a text is known only once
/// it saves.
pub(super) fn writes_blindly(cx: &ToolContext) -> bool {
    let routes = cx.system.routes();
    routes.write_text == Route::Client && routes.read_text != Route::Client
}

/// Returns a change as a diff for the user.
pub(super) fn diff(path: &AbsPath, old_text: Option<String>, new_text: Option<String>) -> ToolContent {
    ToolContent::Diff(Diff { path: path.clone(), old_text, new_text })
}

fn unreadable(name: &str, error: SystemError) -> ToolError {
    ToolError::message(match error {
        SystemError::IsDirectory(_) => format!("{name} is a directory."),
        SystemError::NotText { size, .. } => format!(
            "{name} is not a text file ({size} bytes of binary data, or text in an unknown encoding); it was not changed. Use bash for binary files."
        ),
        other => format!("{name} could not be read, so it was not changed: {other}"),
    })
}
