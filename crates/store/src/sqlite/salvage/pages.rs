//! The pages of a database file as its write-ahead log has them, read without SQLite: no damage anywhere keeps the others from being read.

use super::super::place::beside;
use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::Path,
};

/// What a database begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The size of a page where the file does not say it: what this program's files have.
const PAGE_SIZE: usize = 4096;
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// A file and its write-ahead log.
pub(super) struct Pages {
    file: File,
    log: Option<File>,
    /// Where the log has the newest form of a page.
    newest: HashMap<u32, u64>,
    size: usize,
    count: u32,
}

/// Pages that hold nothing any more.
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

    /// How many pages there are. They are numbered from 1.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of a page.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// A page; `None` when it cannot be read.
    pub(super) fn get(&self, number: u32) -> Option<Vec<u8>> {
        let mut page = vec![0; self.size];
        let read = match (self.newest.get(&number), &self.log) {
            (Some(place), Some(log)) => log.read_exact_at(&mut page, *place),
            _ => self.file.read_exact_at(&mut page, u64::from(number.checked_sub(1)?) * self.size as u64),
        };
        read.ok().map(|()| page)
    }

    /// The version of the schema; `None` where the header is damaged.
    pub(super) fn schema_version(&self) -> Option<i64> {
        let first = self.header()?;
        Some(i64::from(u32_at(&first, 60).cast_signed()))
    }

    /// The pages that hold nothing any more, as far as the list of them can be read. What was deleted may still stand in them.
    pub(super) fn free(&self) -> Free {
        let header = self.header();
        let said = header.as_ref().map(|first| u32_at(first, 36) as usize);
        let mut pages = HashSet::new();
        let mut trunk = header.map_or(0, |first| u32_at(&first, 32));
        while trunk != 0 && trunk <= self.count && pages.insert(trunk) {
            let Some(page) = self.get(trunk) else { break };
            let leaves = (u32_at(&page, 4) as usize).min(self.size / 4 - 2);
            pages.extend((0..leaves).map(|leaf| u32_at(&page, 8 + 4 * leaf)));
            trunk = u32_at(&page, 0);
        }
        Free { complete: said == Some(pages.len()), pages }
    }

    fn header(&self) -> Option<Vec<u8>> {
        self.get(1).filter(|first| first.starts_with(MAGIC))
    }

    /// Finds the pages of the log up to its last commit. A frame that is damaged ends it, as it does for SQLite.
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

/// The size of a page as a header has it, if there can be one of that size.
fn page_size(said: u32) -> Option<usize> {
    match said {
        // 65536 does not fit into the two bytes of the database's header.
        1 => Some(65_536),
        512..=65_536 if said.is_power_of_two() => Some(said as usize),
        _ => None,
    }
}

/// The checksum of the log: over pairs of words, each word read in the order of bytes that the log names.
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

/// A number of two bytes; 0 past the end.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// A number of four bytes; 0 past the end.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}
