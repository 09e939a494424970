//! How every tool changes a file's text, so that no edit is lost between the editor, the disk and the model.

use super::{cancel::unless_cancelled, output};
use crate::{
    Diff, Freshness, Stamp, Standing, ToolContent, ToolContext, ToolError, freshness, limits::REFORMAT_LINES,
};
use imara_diff::{Algorithm, BasicLineDiffPrinter, InternedInput, UnifiedDiffConfig};
use system::{AbsPath, Look, Route, SystemError};

/// A change of one file's text, decided on but not yet made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// The file.
    pub(crate) path: AbsPath,
    /// How the model calls it.
    pub(crate) name: String,
    /// Its text when the change was decided on; `None` for a new file.
    pub(crate) before: Option<String>,
    /// Its text afterwards.
    pub(crate) after: String,
    /// How `before` compared with what the model had seen.
    pub(crate) freshness: Freshness,
    /// Whether the editor's text is another than the disk's.
    pub(crate) unsaved: bool,
}

/// The text that a change must be based on.
#[derive(Debug)]
pub(crate) struct Now {
    /// `None` when there is no such file.
    pub(crate) text: Option<String>,
    /// Whether it is the editor's, and the disk holds another.
    pub(crate) unsaved: bool,
}

/// What came of a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The file's text now; what was sent, unless the editor made something else of it.
    pub(crate) text: String,
    /// For the model: what it must know beside the fact, each on a line of its own. Empty, or begins with a line end.
    pub(crate) note: String,
}

impl Change {
    /// The change as the user sees it.
    pub(super) fn diff(&self) -> ToolContent {
        diff(&self.path, self.before.clone(), Some(self.after.clone()))
    }

    /// Refuses when the file is no longer what the user was asked about. Without a question there was no time for that.
    pub(super) async fn still_fits(&self, cx: &ToolContext) -> Result<(), ToolError> {
        if cx.asked && text_now(cx, &self.path, &self.name).await?.text != self.before {
            return Err(ToolError::message(format!(
                "{} changed while the user was asked; nothing was written. Read it again with file_read, then repeat the change.",
                self.name
            )));
        }
        Ok(())
    }

    /// Makes the change, and remembers what the model now knows: all of the text when it knew all of it before (`whole`), else only that the file
    /// was touched.
    pub(crate) async fn write(&self, cx: &ToolContext, whole: bool) -> Result<Written, ToolError> {
        match unless_cancelled(cx, cx.system.write_text(&self.path, &self.after)).await {
            Ok(done) => done?,
            Err(_) => {
                return Err(ToolError::Cancelled(Some(format!("the write of {} had begun", self.name))));
            }
        }
        let (written, now) = futures::join!(self.read_back(cx), beside_client(cx, stamp(cx, &self.path)));
        if let (Some(now), Route::Client) = (now, cx.system.routes().read_text) {
            cx.files.looked(&self.path, now);
        }
        match (&written, whole) {
            (Ok((text, told)), true) if *told => cx.files.saw(&self.path, text),
            _ => cx.files.touched(&self.path),
        }
        Ok(match written {
            Ok((text, _)) => Written { note: self.reformatted(&text), text },
            Err(note) => Written { text: self.after.clone(), note },
        })
    }

    /// What the model is told of a change in a text it has not read and that the disk does not hold.
    pub(super) fn unsaved_note(&self) -> &'static str {
        match self.unsaved && self.freshness != Freshness::Fresh {
            true => {
                "\nThe editor's text, in which this was changed, differs from the file on disk: unsaved changes, or a change on disk that the editor has not taken up. Read it before you rely on it."
            }
            false => "",
        }
    }

    /// The text that the editor holds after it took a write, and whether the model can be told all of what it changed. An editor that formats on save
    /// holds other text than was sent.
    async fn read_back(&self, cx: &ToolContext) -> Result<(String, bool), String> {
        let routes = cx.system.routes();
        if (routes.read_text, routes.write_text) != (Route::Client, Route::Client) {
            return Ok((self.after.clone(), true));
        }
        match unless_cancelled(cx, cx.system.read_text(&self.path, None)).await {
            Ok(Ok(text)) => {
                let told = self.reformatted(&text).lines().count() <= REFORMAT_LINES;
                Ok((text, told))
            }
            Ok(Err(error)) => {
                Err(format!("\nThe editor took the text, but it could not be read back: {error}"))
            }
            Err(_) => Err("\nThe editor took the text, but it was not read back: cancelled".to_owned()),
        }
    }

    fn reformatted(&self, text: &str) -> String {
        if same_text(text, &self.after) {
            return String::new();
        }
        let input = InternedInput::new(self.after.as_str(), text);
        let mut diff = imara_diff::Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        let mut shape = UnifiedDiffConfig::default();
        shape.context_len(1);
        let diff = diff.unified_diff(&BasicLineDiffPrinter(&input.interner), shape, &input).to_string();
        let mut shown: Vec<_> =
            diff.lines().take(REFORMAT_LINES).map(|line| output::cut(line, 200)).collect();
        if diff.lines().count() > shown.len() {
            shown.push("... more changes; read the file again before you write it".into());
        }
        format!(
            "\nThe editor changed the text as it took it (formatting on save, for example):\n{}",
            shown.join("\n")
        )
    }
}

/// The text that a change must be based on, whoever holds it; `None` when there is no such file. Refuses where the editor holds text that
/// cannot be changed without losing it.
pub(crate) async fn text_now(cx: &ToolContext, path: &AbsPath, name: &str) -> Result<Now, ToolError> {
    let disk = beside_client(cx, cx.system.look_on_disk(path));
    let read = async { futures::join!(cx.system.read_text(path, None), disk) };
    let (held, disk) = unless_cancelled(cx, read).await?;
    let held = match held {
        Ok(text) => Some(text),
        Err(SystemError::NotFound(_)) => None,
        Err(error) => return Err(unreadable(name, error)),
    };
    // Asked for after the read: a client that turned out not to read has changed the routes by now.
    let routes = cx.system.routes();
    let Some(Look { text: on_disk, metadata }) = disk.filter(|_| routes.read_text == Route::Client) else {
        return Ok(Now { text: held, unsaved: false });
    };
    // An editor may know nothing of a file that is on disk all the same; and what it holds may be out of date.
    let on_disk = match (on_disk, &held) {
        (Ok(text), _) => text,
        // The editor's text is text all the same.
        (Err(_), Some(_)) if routes.write_text == Route::Client => None,
        (Err(error), _) => return Err(unreadable(name, error)),
    };
    let Some(held) = held else { return Ok(Now { text: on_disk, unsaved: false }) };
    let standing = match freshness::standing(
        cx.files.stamp(path),
        metadata.ok().map(Stamp::from),
        &held,
        on_disk.as_deref(),
    ) {
        // On disk line ends are kept, so that is the text to work on.
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
    match standing {
        Standing::Conflict => Err(ToolError::message(format!(
            "{name} was changed or removed on disk (by a command, say), and the editor holds another text; nothing was written. Read it again with file_read, compare \
             with the file on disk, then repeat the change."
        ))),
        standing => Ok(Now { text: Some(held), unsaved: standing == Standing::Unsaved }),
    }
}

/// Looks at the disk while the editor is being read; not where the disk is what is read. What is asked of the editor goes out first.
pub(super) async fn beside_client<T>(cx: &ToolContext, look: impl Future<Output = T>) -> Option<T> {
    match cx.system.routes().read_text {
        Route::Client => {
            tokio::task::yield_now().await;
            Some(look.await)
        }
        Route::Local | Route::Refused => None,
    }
}

/// How the disk's file looks now.
pub(super) async fn stamp(cx: &ToolContext, path: &AbsPath) -> Option<Stamp> {
    cx.system.metadata(path).await.ok().map(Stamp::from)
}

/// Whether the client takes writes but cannot be read: what it made of a write is known only once it saves.
pub(super) fn writes_blindly(cx: &ToolContext) -> bool {
    let routes = cx.system.routes();
    routes.write_text == Route::Client && routes.read_text != Route::Client
}

/// A change as the user sees it.
pub(super) fn diff(path: &AbsPath, old_text: Option<String>, new_text: Option<String>) -> ToolContent {
    ToolContent::Diff(Diff { path: path.clone(), old_text, new_text })
}

/// Whether two texts differ in nothing but how their lines end.
fn same_text(a: &str, b: &str) -> bool {
    a == b || a.replace("\r\n", "\n") == b.replace("\r\n", "\n")
}

fn unreadable(name: &str, error: SystemError) -> ToolError {
    ToolError::message(match error {
        SystemError::IsDirectory(_) => format!("{name} is a directory."),
        SystemError::NotText { size, .. } => format!(
            "{name} is not a text file ({size} bytes of binary or non-UTF-8 data); it was not changed. Use bash for binary files."
        ),
        other => format!("{name} could not be read, so it was not changed: {other}"),
    })
}
