//! Compressed tar archives whose bytes depend on their contents only.

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder, write::GzEncoder};
use std::fs;
use std::io::Write;
use std::path::Path;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The path in the package.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_program: bool,
}

impl Entry {
    pub(super) fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), is_program: false }
    }

    pub(super) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { is_program: true, ..Self::new(path, bytes) }
    }

    /// The mode of the file.
    pub(super) fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }

    /// Returns the entry below a directory.
    pub(super) fn below(&self, directory: &str) -> Self {
        Self { path: format!("{directory}/{}", self.path), ..self.clone() }
    }
}

/// Writes a `.tar.gz` with these files, sorted by path, all with one time and owner.
pub(super) fn write(path: &Path, entries: &[Entry], time: u64, fast: bool) -> Result<()> {
    let file = fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let encoder = encode(file, entries, time, fast)?;
    encoder.finish()?.sync_all()?;
    Ok(())
}

fn encode<W: Write>(out: W, entries: &[Entry], time: u64, fast: bool) -> Result<GzEncoder<W>> {
    let level = if fast { Compression::fast() } else { Compression::best() };
    // Without a name and a time of its own; 255 is "unknown system".
    let encoder = GzBuilder::new().mtime(0).operating_system(255).write(out, level);
    let mut archive = tar::Builder::new(encoder);
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        header.set_size(entry.bytes.len() as u64);
        header.set_mode(entry.mode());
        header.set_mtime(time);
        header.set_uid(0);
        header.set_gid(0);
        header.set_entry_type(tar::EntryType::Regular);
        archive.append_data(&mut header, &entry.path, entry.bytes.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn equal_contents_make_equal_bytes_in_any_order() {
        let (a, b) = (Entry::new("p/a", "1"), Entry::program("p/b", "2"));
        let bytes = |entries: &[Entry]| encode(Vec::new(), entries, 7, true).unwrap().finish().unwrap();
        assert_eq!(bytes(&[a.clone(), b.clone()]), bytes(&[b.clone(), a.clone()]));
        let mut archive =
            tar::Archive::new(flate2::read::GzDecoder::new(std::io::Cursor::new(bytes(&[b, a]))));
        let found: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut text = String::new();
                entry.read_to_string(&mut text).unwrap();
                let header = entry.header();
                let path = entry.path().unwrap().display().to_string();
                (path, header.mode().unwrap(), header.mtime().unwrap(), text)
            })
            .collect();
        assert_eq!(found, [("p/a".into(), 0o644, 7, "1".into()), ("p/b".into(), 0o755, 7, "2".into())]);
    }
}
