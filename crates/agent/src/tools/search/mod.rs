//! The part that `glob` and `grep` share: enumerates the files below a directory, on disk and in
//! the editor.

mod glob;
mod grep;
mod matching;
mod page;
mod pattern;
mod reading;

pub(super) use glob::Glob;
pub(super) use grep::Grep;

use super::{cancel::unless_cancelled, path};
use crate::{ToolContext, ToolError, limits::WALK_FILES};
use std::collections::BTreeSet;
use system::{AbsPath, FileKind, Route, SystemError, WalkOptions};

/// The files to search.
struct Files {
    /// All files, sorted.
    paths: Vec<AbsPath>,
    /// The files whose text comes from the editor, not the disk.
    overlaid: BTreeSet<AbsPath>,
    /// The directory to which patterns are relative.
    base: AbsPath,
    /// Whether there were more files than one walk visits.
    partial: bool,
}

/// Returns the files below `root`, or `root` itself if it is a file.
///
/// Where text reads are delegated, `root` itself and the files that this session has read or
/// written, or that were named in it, have the editor's text; this includes files that are not on
/// disk yet.
async fn files(cx: &ToolContext, root: &AbsPath, include_ignored: bool) -> Result<Files, ToolError> {
    let mut overlaid = overlay(cx, root);
    let (walked, base) = match unless_cancelled(cx, cx.system.metadata(root)).await? {
        Ok(found) if found.kind == FileKind::Directory => {
            let options = WalkOptions { limit: WALK_FILES, include_ignored };
            (unless_cancelled(cx, cx.system.walk(root, options)).await??, root.clone())
        }
        Ok(_) => {
            if cx.system.routes().read_text == Route::Client {
                overlaid.insert(root.clone());
            }
            (vec![root.clone()], root.parent().unwrap_or_else(|| root.clone()))
        }
        // It may be a buffer, or a directory that contains only buffers.
        Err(SystemError::NotFound(_)) if overlaid.contains(root) => {
            (Vec::new(), root.parent().unwrap_or_else(|| root.clone()))
        }
        Err(SystemError::NotFound(_)) if !overlaid.is_empty() => (Vec::new(), root.clone()),
        Err(SystemError::NotFound(_)) if is_buffer(cx, root).await? => {
            overlaid.insert(root.clone());
            (Vec::new(), root.parent().unwrap_or_else(|| root.clone()))
        }
        Err(SystemError::NotFound(_)) => {
            return Err(ToolError::message(format!("Path not found: {}", path::shown(root, &cx.cwd))));
        }
        Err(error) => return Err(error.into()),
    };
    let partial = walked.len() >= WALK_FILES;
    let mut paths: BTreeSet<AbsPath> = walked.into_iter().collect();
    for file in overlaid.clone() {
        if !paths.contains(&file) && !only_buffer(cx, &file, &base, include_ignored).await? {
            overlaid.remove(&file);
            continue;
        }
        paths.insert(file);
    }
    Ok(Files { paths: paths.into_iter().collect(), overlaid, base, partial })
}

fn overlay(cx: &ToolContext, root: &AbsPath) -> BTreeSet<AbsPath> {
    match cx.system.routes().read_text {
        Route::Client => cx.session.files.paths().into_iter().filter(|path| path.starts_with(root)).collect(),
        Route::Local | Route::Refused => BTreeSet::new(),
    }
}

/// Whether a path that is not on disk is a file in the editor. Some editors present every such path
/// as an empty file, so empty text does not count.
async fn is_buffer(cx: &ToolContext, path: &AbsPath) -> Result<bool, ToolError> {
    if cx.system.routes().read_text != Route::Client {
        return Ok(false);
    }
    let read = unless_cancelled(cx, cx.system.read_text(path, None)).await?;
    Ok(read.is_ok_and(|text| !text.is_empty()))
}

/// Whether a file that the walk did not visit exists only as a buffer. A file that is on disk was
/// skipped because it is ignored.
async fn only_buffer(
    cx: &ToolContext,
    file: &AbsPath,
    base: &AbsPath,
    include_ignored: bool,
) -> Result<bool, ToolError> {
    let below = file.relative_to(base).unwrap_or_default();
    if !include_ignored && below.split('/').any(|part| part.starts_with('.')) {
        return Ok(false);
    }
    if unless_cancelled(cx, cx.system.metadata(file)).await?.is_ok() {
        return Ok(false);
    }
    Ok(unless_cancelled(cx, cx.system.read_text(file, None)).await?.is_ok())
}
