//! The content that a file had before the commands that run now, of all processes. A command that
//! starts while one of another process runs must not take what that one writes for the user's.

use super::folders::{Content, Version, content};
use super::known_versions::id;
use crate::AbsPath;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;

/// The record of a file. It is locked, together with other processes, while a command runs.
#[derive(Debug)]
pub(super) struct SharedBase(File);

impl SharedBase {
    /// Returns the record in `own` of a file, and the content. The file is read if no command runs
    /// yet; `None` is one that does not exist or cannot be compared.
    pub(super) fn take(own: &AbsPath, path: &AbsPath) -> io::Result<(Self, Option<Content>)> {
        let record = own.join(id(path, "", &Version::default()) + ".base");
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(record.as_std())?;
        let is_first = file.try_lock().is_ok();
        if is_first {
            let now = content(path);
            file.set_len(0)?;
            if let Some(now) = &now {
                file.write_all(format!("{:o}\n", now.mode).as_bytes())?;
                file.write_all(&now.bytes)?;
            }
            file.rewind()?;
        }
        // Nothing has run between the two locks.
        file.lock_shared()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok((Self(file), parsed(&bytes)))
    }
}

impl Drop for SharedBase {
    fn drop(&mut self) {
        // The last one leaves no copy of a file that may have secrets.
        if self.0.try_lock().is_ok() {
            self.0.set_len(0).ok();
        }
    }
}

fn parsed(bytes: &[u8]) -> Option<Content> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let mode = u32::from_str_radix(std::str::from_utf8(&bytes[..end]).ok()?, 8).ok()?;
    Some(Content { bytes: bytes[end + 1..].to_vec(), mode })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_another_process_wrote_is_not_the_base() {
        let dir = tempfile::tempdir().unwrap();
        let own = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let file = own.join(".envrc");
        let text =
            |content: Option<Content>| content.map(|content| String::from_utf8(content.bytes).unwrap());
        let write = |text: &str| fs::write(file.as_std(), text).unwrap();
        let (first, none) = SharedBase::take(&own, &file).unwrap();
        assert!(none.is_none());
        write("of a command");
        let (second, base) = SharedBase::take(&own, &file).unwrap();
        assert!(base.is_none());
        drop((first, second));
        write("of\nthe user");
        let (first, base) = SharedBase::take(&own, &file).unwrap();
        assert_eq!(text(base).as_deref(), Some("of\nthe user"));
        write("of a command");
        let (second, base) = SharedBase::take(&own, &file).unwrap();
        assert_eq!(text(base).as_deref(), Some("of\nthe user"));
        drop(first);
        let (_third, base) = SharedBase::take(&own, &file).unwrap();
        assert_eq!(text(base).as_deref(), Some("of\nthe user"));
        drop(second);
    }
}
