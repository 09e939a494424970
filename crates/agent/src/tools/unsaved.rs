//! Detects files whose text in the editor differs from the disk: a command works on the disk, while
//! the user sees the editor's text.

use super::{cancel::unless_cancelled, path};
use crate::{
    Fingerprint, Stamp, ToolContext, ToolError,
    files::editor::Standing,
    limits::{EDITOR_READS, UNSAVED_FILES, UNSAVED_WITHIN},
};
use futures::{StreamExt, stream};
use system::{AbsPath, Route};

/// Returns the display paths of the files for which the editor's text differs from the disk, among
/// those that this session read or wrote through the editor. Queries the editor only for files
/// whose text on disk differs from the text last seen.
pub(super) async fn unsaved(cx: &ToolContext) -> Result<Vec<String>, ToolError> {
    let routes = cx.system.routes();
    let paths = match (routes.read_text, routes.write_text) {
        (Route::Client, _) => cx.session.files.paths(),
        (_, Route::Client) => {
            let mut paths = cx.session.files.paths();
            paths.retain(|path| cx.session.files.editor().is_not_saved(path));
            paths
        }
        _ => return Ok(Vec::new()),
    };
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let look = async {
        let found = cx.system.metadata_of(&paths).await;
        let stamps = found.into_iter().map(|found| found.ok().map(Stamp::from));
        let changed =
            paths.into_iter().zip(stamps).filter(|(path, now)| !cx.session.files.is_in_step(path, *now));
        let changed: Vec<_> = changed.take(UNSAVED_FILES).collect();
        let looks = changed.into_iter().map(|(path, now)| is_unsaved(cx, path, now));
        let unsaved: Vec<_> = stream::iter(looks).buffered(EDITOR_READS).collect().await;
        unsaved.into_iter().flatten().collect::<Vec<_>>()
    };
    let unsaved = unless_cancelled(cx, tokio::time::timeout(UNSAVED_WITHIN, look)).await?;
    let unsaved = unsaved.unwrap_or_else(|_| {
        tracing::warn!("the editor did not report in time which files have unsaved changes");
        Vec::new()
    });
    Ok(unsaved.iter().map(|path| path::shown(path, &cx.cwd).to_owned()).collect())
}

/// Returns the note on unsaved files for the result of a command; empty if there are none.
pub(super) fn note(unsaved: &[String]) -> String {
    match unsaved.is_empty() {
        true => String::new(),
        false => format!(
            "\n(The editor holds unsaved changes of: {}. The command saw these files as they are on disk. Ask the user to save them, then run it again if \
             that matters.)",
            unsaved.join(", ")
        ),
    }
}

/// Returns the path if the editor's text differs from the disk.
async fn is_unsaved(cx: &ToolContext, path: AbsPath, now: Option<Stamp>) -> Option<AbsPath> {
    let text = cx.system.read_text_on_disk(&path).await.ok()?;
    let disk = text.as_deref().map(Fingerprint::of);
    if cx.system.routes().read_text != Route::Client {
        let unsaved = cx.session.files.editor().awaits_save(&path, disk);
        return unsaved.then_some(path);
    }
    let held = match &text {
        Some(text) if cx.session.files.is_held(&path, text) => text.clone(),
        Some(text) if cx.session.files.is_seen(&path, text) => {
            cx.session.files.in_step(&path, now);
            return None;
        }
        _ => cx.system.read_text(&path, None).await.ok()?,
    };
    match cx.session.files.editor().compare(&path, &held, text.as_deref()) {
        Standing::Same => cx.session.files.in_step(&path, now),
        // A command sees the newer text.
        Standing::Stale => {}
        Standing::Unsaved | Standing::Conflict => return Some(path),
    }
    None
}
