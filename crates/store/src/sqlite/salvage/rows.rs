//! Parses the rows on a page according to SQLite's file format. Invalid rows are left out.

use super::pages::{Pages, u16_at, u32_at};
use rusqlite::types::Value;

/// A row, with the kind of tree that contains it.
#[derive(Debug, PartialEq)]
pub(super) enum Row {
    /// A row of a table with row ids, and its id.
    Numbered(i64, Vec<Value>),
    /// A row of a table without row ids, or of an index.
    Keyed(Vec<Value>),
}

/// A kind of page with rows: the length of its header, the length of the prefix of each row, and
/// whether rows have row ids.
struct Kind {
    header: usize,
    before_row: usize,
    has_row_ids: bool,
}

impl Kind {
    /// Returns the kind for the first byte of a page header; `None` for pages without rows.
    fn of(flag: u8) -> Option<Self> {
        match flag {
            0x02 => Some(Self { header: 12, before_row: 4, has_row_ids: false }),
            0x0a => Some(Self { header: 8, before_row: 0, has_row_ids: false }),
            0x0d => Some(Self { header: 8, before_row: 0, has_row_ids: true }),
            _ => None,
        }
    }
}

/// Returns the readable rows of a page.
pub(super) fn rows(pages: &Pages, number: u32) -> Vec<Row> {
    let Some(page) = pages.get(number) else { return Vec::new() };
    // The first page begins with the file header.
    let start = if number == 1 { 100 } else { 0 };
    let Some(kind) = page.get(start).copied().and_then(Kind::of) else { return Vec::new() };
    let count = usize::from(u16_at(&page, start + 3));
    // Offsets beyond the count may still refer to deleted rows.
    let content = match u16_at(&page, start + 5) {
        0 => 65_536,
        content => usize::from(content),
    };
    if start + kind.header + 2 * count > content {
        return Vec::new();
    }
    let offsets = (0..count).map(|row| usize::from(u16_at(&page, start + kind.header + 2 * row)));
    offsets
        .filter_map(|offset| {
            let (id, payload) = payload(pages, &page, offset + kind.before_row, kind.has_row_ids)?;
            let row = values(&payload)?;
            Some(match id {
                Some(id) => Row::Numbered(id, row),
                None => Row::Keyed(row),
            })
        })
        .collect()
}

/// Returns the row id, if there is one, and the bytes of a row: those on its own page, and the rest
/// from a chain of overflow pages.
fn payload(pages: &Pages, page: &[u8], offset: usize, has_row_ids: bool) -> Option<(Option<i64>, Vec<u8>)> {
    let (length, mut at) = varint(page, offset)?;
    let mut id = None;
    if has_row_ids {
        let (number, after) = varint(page, at)?;
        (id, at) = (Some(number.cast_signed()), after);
    }
    let length = usize::try_from(length).ok()?;
    if length > pages.count() as usize * pages.size() {
        return None;
    }
    let here = bytes_here(length, pages.size(), has_row_ids);
    let mut payload = page.get(at..at + here)?.to_vec();
    let mut next = u32_at(page, at + here);
    while payload.len() < length {
        let more = pages.get(next)?;
        let rest = (length - payload.len()).min(more.len() - 4);
        payload.extend_from_slice(&more[4..4 + rest]);
        next = u32_at(&more, 0);
    }
    Some((id, payload))
}

/// Returns how many bytes of a row are on its own page.
fn bytes_here(length: usize, page: usize, has_row_ids: bool) -> usize {
    let most = if has_row_ids { page - 35 } else { (page - 12) * 64 / 255 - 23 };
    if length <= most {
        return length;
    }
    let least = (page - 12) * 32 / 255 - 23;
    let fitting = least + (length - least) % (page - 4);
    if fitting <= most { fitting } else { least }
}

/// Parses the values of a row. A text with invalid UTF-8 becomes a blob.
fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let (header, mut at) = varint(payload, 0)?;
    let header = usize::try_from(header).ok()?;
    let mut body = header;
    let mut values = Vec::new();
    while at < header {
        let (kind, after) = varint(payload, at)?;
        at = after;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => usize::try_from(kind).ok()?,
            5 => 6,
            6 | 7 => 8,
            12.. => usize::try_from((kind - 12) / 2).ok()?,
            _ => return None,
        };
        let bytes = payload.get(body..body.checked_add(length)?)?;
        body += length;
        values.push(value(kind, bytes)?);
    }
    (body == payload.len()).then_some(values)
}

fn value(kind: u64, bytes: &[u8]) -> Option<Value> {
    Some(match kind {
        0 => Value::Null,
        1..=6 => Value::Integer(integer(bytes)),
        7 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        8 => Value::Integer(0),
        9 => Value::Integer(1),
        _ if kind.is_multiple_of(2) => Value::Blob(bytes.to_vec()),
        _ => match String::from_utf8(bytes.to_vec()) {
            Ok(text) => Value::Text(text),
            Err(no_text) => Value::Blob(no_text.into_bytes()),
        },
    })
}

/// Decodes a signed big-endian integer of up to eight bytes.
fn integer(bytes: &[u8]) -> i64 {
    let first = bytes.first().map_or(0, |byte| i64::from(byte.cast_signed()));
    bytes.iter().skip(1).fold(first, |number, byte| number << 8 | i64::from(*byte))
}

/// Decodes a variable-length integer of one to nine bytes, and returns the offset after it.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut number = 0;
    for offset in 0..8 {
        let byte = *bytes.get(at + offset)?;
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, at + offset + 1));
        }
    }
    Some((number << 8 | u64::from(*bytes.get(at + 8)?), at + 9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_decoded_with_sign_and_length() {
        assert_eq!(integer(&[0xff]), -1);
        assert_eq!(integer(&[0x01, 0x00]), 256);
        assert_eq!(integer(&i64::MIN.to_be_bytes()), i64::MIN);
        assert_eq!(varint(&[0x81, 0x00], 0), Some((128, 2)));
        assert_eq!(varint(&[0xff; 9], 0), Some((u64::MAX, 9)));
        assert_eq!(varint(&[0xff; 3], 0), None, "cut off");
    }

    #[test]
    fn invalid_rows_are_rejected() {
        for bytes in [&[][..], &[9, 1], &[3, 1, 200, 0], &[2, 10], &[2, 1, 0, 0]] {
            assert_eq!(values(bytes), None, "{bytes:?}");
        }
        let row = [4, 1, 0x11, 0, 7, b'h', b'i'];
        let expected = [Value::Integer(7), Value::Text("hi".to_owned()), Value::Null];
        assert_eq!(values(&row).as_deref(), Some(&expected[..]));
    }
}
