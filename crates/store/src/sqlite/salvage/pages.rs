//! Reads the pages of a database file, including its write-ahead log, without SQLite, so that
//! damage in one place does not make the other pages unreadable.

use super::super::file_state::beside;
use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::Path,
};

/// The first bytes of a database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The page size if the header is unreadable: the one that this program's files have.
const PAGE_SIZE: usize = 4096;
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// A file and its write-ahead log.
pub(super) struct Pages {
    file: File,
    log: Option<File>,
    /// The offset of the newest version of each page in the log.
    newest: HashMap<u32, u64>,
    size: usize,
    count: u32,
}

/// Unused pages.
pub(super) struct Free {
    pub(super) pages: HashSet<u32>,
    /// Whether these are all of them.
    pub(super) complete: bool,
}

impl Pages {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let log = match open(&beside(path, "-wal")) {
            Ok(log) => Some(log),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut header = [0; 100];
        let whole = file.read_exact_at(&mut header, 0).is_ok() && header.starts_with(MAGIC);
        let mut pages = Self { file, log, newest: HashMap::new(), size: PAGE_SIZE, count: 0 };
        if whole {
            pages.size = page_size(u32::from(u16_at(&header, 16))).unwrap_or(PAGE_SIZE);
        }
        pages.read_log()?;
        let length = pages.file.metadata()?.len() / pages.size as u64;
        let last = pages.newest.keys().copied().max().unwrap_or_default();
        pages.count = u32::try_from(length).unwrap_or(u32::MAX).max(last);
        Ok(pages)
    }

    /// Returns the number of pages. Page numbers start at 1.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the size of a page in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns a page; `None` if it cannot be read.
    pub(super) fn get(&self, number: u32) -> Option<Vec<u8>> {
        let mut page = vec![0; self.size];
        let read = match (self.newest.get(&number), &self.log) {
            (Some(place), Some(log)) => log.read_exact_at(&mut page, *place),
            _ => self.file.read_exact_at(&mut page, u64::from(number.checked_sub(1)?) * self.size as u64),
        };
        read.ok().map(|()| page)
    }

    /// Returns the schema version; `None` if the header is damaged.
    pub(super) fn schema_version(&self) -> Option<i64> {
        let first = self.header()?;
        Some(i64::from(u32_at(&first, 60).cast_signed()))
    }

    /// Returns the unused pages, as far as their list can be read. They may still contain deleted
    /// rows.
    pub(super) fn free(&self) -> Free {
        let header = self.header();
        let stated = header.as_ref().map(|first| u32_at(first, 36) as usize);
        let mut pages = HashSet::new();
        let mut trunk = header.map_or(0, |first| u32_at(&first, 32));
        while trunk != 0 && trunk <= self.count && pages.insert(trunk) {
            let Some(page) = self.get(trunk) else { break };
            let leaves = (u32_at(&page, 4) as usize).min(self.size / 4 - 2);
            pages.extend((0..leaves).map(|leaf| u32_at(&page, 8 + 4 * leaf)));
            trunk = u32_at(&page, 0);
        }
        Free { complete: stated == Some(pages.len()), pages }
    }

    fn header(&self) -> Option<Vec<u8>> {
        self.get(1).filter(|first| first.starts_with(MAGIC))
    }

    /// Finds the pages of the log up to its last commit. A damaged frame ends the log, as it does
    /// for SQLite.
    fn read_log(&mut self) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut header = [0; LOG_HEADER];
        if log.metadata()?.len() < LOG_HEADER as u64 {
            return Ok(());
        }
        log.read_exact_at(&mut header, 0)?;
        let big_endian = match u32_at(&header, 0) {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return Ok(()),
        };
        let mut sum = checksum((0, 0), &header[..24], big_endian);
        let Some(size) = page_size(u32_at(&header, 8)) else { return Ok(()) };
        if sum != (u32_at(&header, 24), u32_at(&header, 28)) {
            return Ok(());
        }
        self.size = size;
        let mut frame = vec![0; FRAME_HEADER + size];
        let mut place = LOG_HEADER as u64;
        let mut uncommitted = Vec::new();
        while log.read_exact_at(&mut frame, place).is_ok() {
            sum = checksum(checksum(sum, &frame[..8], big_endian), &frame[FRAME_HEADER..], big_endian);
            if frame[8..16] != header[16..24] || sum != (u32_at(&frame, 16), u32_at(&frame, 20)) {
                break;
            }
            uncommitted.push((u32_at(&frame, 0), place + FRAME_HEADER as u64));
            if u32_at(&frame, 4) != 0 {
                self.newest.extend(uncommitted.drain(..));
            }
            place += frame.len() as u64;
        }
        Ok(())
    }
}

/// Decodes the page size of a header, if it is valid.
fn page_size(stated: u32) -> Option<usize> {
    match stated {
        // 65536 does not fit into the two bytes of the database header.
        1 => Some(65_536),
        512..=65_536 if stated.is_power_of_two() => Some(stated as usize),
        _ => None,
    }
}

/// Updates the log's checksum. It covers pairs of words, read in the byte order given by the log
/// header.
fn checksum((mut first, mut second): (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(word(&pair[..4])).wrapping_add(second);
        second = second.wrapping_add(word(&pair[4..])).wrapping_add(first);
    }
    (first, second)
}

/// Reads a big-endian integer of two bytes; 0 past the end.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// Reads a big-endian integer of four bytes; 0 past the end.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}
