//! Divides Markdown into pieces by its lines.

use super::{
    lines::{self, Fence},
    piece::{Piece, PieceKind},
};
use crate::limits::{CODE_LINE_BYTES, ITEM_BYTES, LINE_BYTES, TABLE_BYTES, TABLE_ROWS, TEXT_BYTES};
use std::ops::Range;

/// Divides a growing text into pieces.
///
/// Each call reads on from where the last one ended, so the text may only be appended to. Reads
/// each line once, and the beginning of an unfinished line again.
#[derive(Debug, Clone, Default)]
pub struct Splitter {
    /// Where the unfinished piece begins.
    at: usize,
    /// Where the next line begins.
    next: usize,
    open: Open,
    /// The list that the last item belongs to.
    list: Option<List>,
    /// Whether the next line is the rest of a line that was divided.
    within_line: bool,
    /// Whether the unfinished piece is the rest of a block that was divided.
    is_rest: bool,
}

/// The unfinished block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Open {
    #[default]
    Nothing,
    Text,
    Quote,
    /// A table with this many rows after its head.
    Table(usize),
    /// Rows of a table that is too long.
    Rows,
    /// An item of [`Splitter::list`].
    Item {
        /// Whether the last line is blank.
        blank: bool,
    },
    Fence {
        fence: Fence,
        in_item: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct List {
    /// The marker, as in [`lines::Marker::kind`].
    kind: u8,
    /// The columns before the content of the last item.
    content: usize,
    /// The number of the last item.
    number: Option<u64>,
    /// Whether the last item is the list's first.
    is_first: bool,
}

impl Splitter {
    /// Returns the pieces that are finished and were not returned before. `done` says that no more
    /// text follows.
    pub fn settled(&mut self, text: &str, done: bool) -> Vec<Piece> {
        let mut out = Vec::new();
        while let Some(end) = self.line_end(text, done) {
            let line = self.next..end;
            match self.within_line {
                true => self.continue_line(text, line, &mut out),
                false => self.line(text, line, &mut out),
            }
            self.within_line = !text[..end].ends_with('\n');
            self.next = end;
        }
        if done {
            self.finish(text, text.len(), &mut out);
        }
        out
    }

    /// Returns the pieces of the text that is not finished, as if it ended here.
    pub fn unsettled(&self, text: &str) -> Vec<Piece> {
        self.clone().settled(text, true)
    }

    /// Returns whether a text has all that was read so far.
    pub fn is_within(&self, text: &str) -> bool {
        text.is_char_boundary(self.next)
    }

    /// Returns where the unfinished piece begins.
    pub fn unsettled_from(&self) -> usize {
        self.at
    }

    /// Returns the end of the next line, or of its next part if it is very long.
    fn line_end(&self, text: &str, done: bool) -> Option<usize> {
        let rest = &text.as_bytes()[self.next..];
        let most = match self.open {
            Open::Fence { .. } => CODE_LINE_BYTES,
            _ => LINE_BYTES,
        };
        let window = &rest[..rest.len().min(most + 1)];
        if let Some(at) = window.iter().position(|byte| *byte == b'\n') {
            return Some(self.next + at + 1);
        }
        if rest.len() > most {
            return Some(self.next + division(&text[self.next..], most));
        }
        (done && !rest.is_empty()).then_some(text.len())
    }

    fn line(&mut self, text: &str, range: Range<usize>, out: &mut Vec<Piece>) {
        let line = text[range.clone()].trim_end_matches(['\n', '\r']);
        let is_blank = line.trim().is_empty();
        match self.open {
            Open::Nothing => self.begin(text, line, range, out),
            Open::Fence { fence, in_item } => self.code(text, line, range, (fence, in_item), out),
            Open::Item { blank } => self.item_line(text, line, range, blank, out),
            _ if is_blank => {
                self.finish(text, range.start, out);
                self.at = range.end;
            }
            Open::Quote if lines::is_quote(line) => self.extend(text, range.end, ITEM_BYTES, out),
            _ if lines::interrupts(line) => {
                self.finish(text, range.start, out);
                self.begin(text, line, range, out);
            }
            Open::Text if self.begins_table(text, line, &range) => self.open = Open::Table(0),
            Open::Text => self.extend(text, range.end, TEXT_BYTES, out),
            Open::Quote => self.extend(text, range.end, ITEM_BYTES, out),
            Open::Table(rows) if rows < TABLE_ROWS && range.end - self.at <= TABLE_BYTES => {
                self.open = Open::Table(rows + 1);
            }
            Open::Table(_) => {
                self.finish(text, range.start, out);
                self.open = Open::Rows;
                self.row(range, out);
            }
            Open::Rows => self.row(range, out),
        }
    }

    /// Takes the rest of a line that was divided; it begins nothing.
    fn continue_line(&mut self, text: &str, range: Range<usize>, out: &mut Vec<Piece>) {
        match self.open {
            Open::Nothing => {
                (self.open, self.at, self.is_rest) = (Open::Text, range.start, true);
                self.extend(text, range.end, TEXT_BYTES, out);
            }
            Open::Text => self.extend(text, range.end, TEXT_BYTES, out),
            Open::Quote | Open::Item { .. } => self.extend(text, range.end, ITEM_BYTES, out),
            Open::Table(_) if range.end - self.at <= TABLE_BYTES => {}
            Open::Table(_) => {
                self.finish(text, range.start, out);
                self.open = Open::Rows;
                self.row(range, out);
            }
            Open::Rows => self.row(range, out),
            Open::Fence { .. } => {
                self.at = range.end;
                out.push(Piece { kind: PieceKind::Code, range, joins: true });
            }
        }
    }

    /// Takes a line outside of any block.
    fn begin(&mut self, text: &str, line: &str, range: Range<usize>, out: &mut Vec<Piece>) {
        (self.at, self.is_rest, self.list) = (range.start, false, None);
        if line.trim().is_empty() {
            self.at = range.end;
        } else if let Some(fence) = lines::fence(line, false) {
            self.begin_code(fence, line, range, false, out);
        } else if lines::is_heading(line) || lines::is_thematic_break(line) {
            self.open = Open::Text;
            self.finish(text, range.end, out);
        } else if lines::is_quote(line) {
            self.open = Open::Quote;
        } else if lines::indent(line) < 4 && lines::marker(line).is_some() {
            self.begin_item(text, line, range, out);
        } else {
            self.open = Open::Text;
            self.extend(text, range.end, TEXT_BYTES, out);
        }
    }

    fn begin_item(&mut self, text: &str, line: &str, range: Range<usize>, out: &mut Vec<Piece>) {
        let marker = lines::marker(line).expect("the caller looked");
        let before = self.list.filter(|list| list.kind == marker.kind);
        self.list = Some(List {
            kind: marker.kind,
            content: marker.content,
            number: match before {
                Some(list) => list.number.map(|number| number.saturating_add(1)),
                None => marker.number,
            },
            is_first: before.is_none(),
        });
        (self.open, self.at, self.is_rest) = (Open::Item { blank: false }, range.start, false);
        if let Some(fence) = lines::fence(line, true) {
            self.code_in_item(text, fence, line, range, out);
        }
    }

    fn item_line(&mut self, text: &str, line: &str, range: Range<usize>, blank: bool, out: &mut Vec<Piece>) {
        let list = self.list.expect("an item is in a list");
        if line.trim().is_empty() {
            self.open = Open::Item { blank: true };
        } else if lines::indent(line) >= list.content {
            self.open = Open::Item { blank: false };
            match lines::fence(line, true) {
                Some(fence) => self.code_in_item(text, fence, line, range, out),
                None => self.extend(text, range.end, ITEM_BYTES, out),
            }
        } else if lines::marker(line).is_some_and(|marker| marker.kind == list.kind) {
            self.finish(text, range.start, out);
            self.begin_item(text, line, range, out);
        } else if blank || lines::interrupts(line) || lines::is_thematic_break(line) {
            self.finish(text, range.start, out);
            self.begin(text, line, range, out);
        } else {
            self.extend(text, range.end, ITEM_BYTES, out);
        }
    }

    /// Takes the line of a list item that begins a fence, possibly after markers of nested items.
    fn code_in_item(
        &mut self,
        text: &str,
        fence: Fence,
        line: &str,
        range: Range<usize>,
        out: &mut Vec<Piece>,
    ) {
        self.push(text, range.start + fence.before, out);
        self.begin_code(fence, line, range, true, out);
    }

    fn begin_code(
        &mut self,
        fence: Fence,
        line: &str,
        range: Range<usize>,
        in_item: bool,
        out: &mut Vec<Piece>,
    ) {
        let language = range.start + fence.info..range.start + line.len();
        let range = range.start + fence.before..range.end;
        let indent = fence.indent;
        self.at = range.end;
        self.open = Open::Fence { fence, in_item };
        out.push(Piece { kind: PieceKind::CodeStart { language, indent }, range, joins: in_item });
    }

    fn code(
        &mut self,
        text: &str,
        line: &str,
        range: Range<usize>,
        (fence, in_item): (Fence, bool),
        out: &mut Vec<Piece>,
    ) {
        let content = self.list.filter(|_| in_item).map_or(0, |list| list.content);
        let leaves_item = !line.trim().is_empty() && lines::indent(line) < content;
        if leaves_item || fence.ends_with(line) {
            (self.at, self.is_rest) = (range.end, true);
            self.open = if in_item { Open::Item { blank: leaves_item } } else { Open::Nothing };
            let end = if leaves_item { range.start } else { range.end };
            out.push(Piece { kind: PieceKind::CodeEnd, range: range.start..end, joins: true });
            if leaves_item {
                self.at = range.start;
                self.item_line(text, line, range, true, out);
            }
            return;
        }
        self.at = range.end;
        out.push(Piece { kind: PieceKind::Code, range, joins: true });
    }

    fn row(&mut self, range: Range<usize>, out: &mut Vec<Piece>) {
        self.at = range.end;
        out.push(Piece { kind: PieceKind::TableRow, range, joins: true });
    }

    /// Adds a line to the unfinished piece, and ends the piece if it is too long or the line is not
    /// whole.
    fn extend(&mut self, text: &str, end: usize, most: usize, out: &mut Vec<Piece>) {
        if end - self.at >= most || !text[..end].ends_with('\n') {
            self.push(text, end, out);
            self.is_rest = true;
        }
    }

    /// Returns whether a line makes the unfinished paragraph the head of a table.
    fn begins_table(&self, text: &str, line: &str, range: &Range<usize>) -> bool {
        let head = &text[self.at..range.start];
        !self.is_rest
            && head.contains('|')
            && head.bytes().filter(|byte| *byte == b'\n').count() == 1
            && lines::is_delimiter_row(line)
    }

    /// Ends the unfinished block.
    fn finish(&mut self, text: &str, end: usize, out: &mut Vec<Piece>) {
        match self.open {
            Open::Fence { .. } => {
                out.push(Piece { kind: PieceKind::CodeEnd, range: end..end, joins: true });
                self.at = end;
            }
            Open::Nothing | Open::Rows => self.at = end,
            _ => self.push(text, end, out),
        }
        (self.open, self.is_rest) = (Open::Nothing, false);
    }

    /// Returns the text up to here as a piece of the unfinished block, unless it is blank.
    fn push(&mut self, text: &str, end: usize, out: &mut Vec<Piece>) {
        let range = std::mem::replace(&mut self.at, end)..end;
        let is_rest = std::mem::replace(&mut self.is_rest, true);
        if text[range.clone()].trim().is_empty() {
            return;
        }
        let (kind, joins) = match (self.open, self.list) {
            (Open::Item { .. }, Some(list)) => match is_rest {
                true => (PieceKind::ItemRest { indent: list.content }, true),
                false => (PieceKind::Item { number: list.number }, !list.is_first),
            },
            _ => (PieceKind::Text, is_rest),
        };
        out.push(Piece { kind, range, joins });
    }
}

/// Returns where a long line is divided: after a sentence or a word in the second half of the part
/// that fits, where no inline markup is open if there is such a place.
fn division(line: &str, most: usize) -> usize {
    let most = agent::floor_char_boundary(line, most);
    let part = &line[..most];
    let (mut open_code, mut marks, mut brackets) = (false, 0_usize, 0_usize);
    let mut best = (0, 0);
    let bytes = part.as_bytes();
    for (at, byte) in part.bytes().enumerate() {
        match byte {
            b'`' => open_code = !open_code,
            b'*' | b'_' | b'~' if !open_code => marks += 1,
            b'[' | b'(' if !open_code => brackets += 1,
            b']' | b')' if !open_code => brackets = brackets.saturating_sub(1),
            b' ' if at >= most / 2 => {
                let is_clear = !open_code && marks.is_multiple_of(2) && brackets == 0;
                let is_sentence = at > 0 && matches!(bytes[at - 1], b'.' | b'!' | b'?' | b':' | b';');
                let rank = 1 + usize::from(is_sentence) + 2 * usize::from(is_clear);
                if rank >= best.0 {
                    best = (rank, at + 1);
                }
            }
            _ => {}
        }
    }
    if best.1 == 0 { most.max(1) } else { best.1 }
}
