//! Reads files and ranges of their lines.

use super::entry::{EntryHandle, Pinned, expect_regular};
use crate::limits::{MAX_READ_BYTES, SNIFF_BYTES};
use crate::text::{self, BOM, TextForm};
use crate::{AbsPath, SystemError, TextRange};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// Reads a whole file.
pub(super) fn bytes(path: &AbsPath, pinned: Option<&Pinned>) -> Result<Vec<u8>, SystemError> {
    let (file, size) = open(path, pinned)?;
    let too_large = |size| SystemError::TooLarge { path: path.clone(), size, limit: MAX_READ_BYTES };
    if size > MAX_READ_BYTES {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    // The size may be outdated, and files in /proc report size 0: apply the limit to the bytes that
    // arrive.
    let read =
        file.take(MAX_READ_BYTES + 1).read_to_end(&mut bytes).map_err(|source| fail(path, source))? as u64;
    if read > MAX_READ_BYTES { Err(too_large(read)) } else { Ok(bytes) }
}

/// Reads a whole file as text, with its encoding.
pub(super) fn text_with_form(
    path: &AbsPath,
    pinned: Option<&Pinned>,
) -> Result<(String, TextForm), SystemError> {
    text::decode(path, bytes(path, pinned)?)
}

/// Reads a whole file as text.
pub(super) fn text(path: &AbsPath, pinned: Option<&Pinned>) -> Result<String, SystemError> {
    Ok(text_with_form(path, pinned)?.0)
}

/// Reads some lines of a file of any size. Only the returned lines count against the size limit.
/// Only the first block of the file and the returned lines are checked for being text.
pub(super) fn lines(
    path: &AbsPath,
    pinned: Option<&Pinned>,
    range: TextRange,
) -> Result<String, SystemError> {
    let (file, size) = open(path, pinned)?;
    let fail = |source| fail(path, source);
    let not_text = || SystemError::NotText { path: path.clone(), size };
    let mut reader = BufReader::with_capacity(SNIFF_BYTES, file);
    let first = reader.fill_buf().map_err(fail)?;
    if text::utf16(first).is_some() {
        return Ok(text::lines(&text(path, pinned)?, range));
    }
    if first.contains(&0) {
        return Err(not_text());
    }
    if first.starts_with(BOM.as_bytes()) {
        reader.consume(BOM.len());
    }
    for _ in 1..range.line {
        if reader.skip_until(b'\n').map_err(fail)? == 0 {
            return Ok(String::new());
        }
    }
    let mut wanted = Vec::new();
    let mut reader = reader.take(MAX_READ_BYTES + 1);
    for _ in 0..range.limit {
        if reader.read_until(b'\n', &mut wanted).map_err(fail)? == 0 {
            break;
        }
    }
    if wanted.len() as u64 > MAX_READ_BYTES {
        return Err(SystemError::TooLarge { path: path.clone(), size, limit: MAX_READ_BYTES });
    }
    text::decode(path, wanted).map(|(text, _)| text).map_err(|_| not_text())
}

/// Opens a regular file and returns its size. The file type is checked before opening, because
/// opening a device may have effects and opening a pipe may block, and again afterwards, because
/// the file may have been replaced in between.
pub(super) fn open(path: &AbsPath, pinned: Option<&Pinned>) -> Result<(File, u64), SystemError> {
    let fail = |source| fail(path, source);
    let file = match pinned.and_then(|pinned| pinned.target(path)) {
        Some(target) => EntryHandle::open(&target, false)?.file("read", OFlags::RDONLY)?,
        None => {
            expect_regular(path, &fs::metadata(path.as_std()).map_err(fail)?)?;
            let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(flags.bits() as i32).open(path.as_std()).map_err(fail)?
        }
    };
    let opened = file.metadata().map_err(fail)?;
    expect_regular(path, &opened)?;
    if let Some(pinned) = pinned {
        pinned.check(path, (opened.dev(), opened.ino()), opened.nlink())?;
    }
    Ok((file, opened.len()))
}

fn fail(path: &AbsPath, source: std::io::Error) -> SystemError {
    SystemError::from_io("read", path, source)
}
