//! The output of a call: the end of it, in bounded memory.

use agent::Colours;
use std::mem::take;

/// The end of a text that may be endless.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    text: String,
    colours: Colours,
    /// Lines that are not kept.
    left_out: usize,
}

impl Output {
    /// Creates an output of a text with its colours, of which at most `most` bytes are kept.
    pub fn of(text: String, colours: Colours, most: usize) -> Self {
        let mut output = Self { text, colours, left_out: 0 };
        output.shorten(most);
        output
    }

    /// Appends text with its colours. Takes time linear in it on average: more than `most` bytes
    /// are cut only once there are a quarter too many.
    pub fn push(&mut self, text: &str, colours: &Colours, most: usize) {
        let kept = agent::ceil_char_boundary(text, text.len().saturating_sub(most));
        if kept > 0 {
            self.left_out += lines(&take(&mut self.text)) + lines(&text[..kept]);
            self.colours = Colours::default();
        }
        match kept {
            0 => self.colours.append(colours, self.text.len()),
            _ => self.colours = Colours::of(colours.within(kept..text.len())),
        }
        self.text.push_str(&text[kept..]);
        if self.text.len() > most + most / 4 {
            self.shorten(most);
        }
    }

    /// Cuts the beginning off until at most `most` bytes are left, at the end of a line if there is
    /// one.
    pub fn shorten(&mut self, most: usize) {
        let Some(excess) = self.text.len().checked_sub(most).filter(|excess| *excess > 0) else { return };
        let at = agent::ceil_char_boundary(&self.text, excess);
        let at = self.text[at..].find('\n').map_or(at, |end| at + end + 1);
        self.left_out += lines(&self.text[..at]);
        // A new text, so that the memory of the old one is freed.
        self.text = self.text[at..].to_owned();
        self.colours.cut_front(at);
    }

    /// Returns the text that is kept.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the lines that are kept, without trailing empty ones.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.text.trim_end().lines()
    }

    /// Returns the lines like [`Output::lines`], each with its colours.
    pub fn painted_lines(&self) -> impl Iterator<Item = (&str, Colours)> {
        let mut end = 0;
        self.lines().map(move |line| {
            let start = end;
            // A carriage return before the line feed is not part of the line.
            end = self.text[start + line.len()..]
                .find('\n')
                .map_or(self.text.len(), |at| start + line.len() + at + 1);
            (line, Colours::of(self.colours.within(start..start + line.len())))
        })
    }

    /// Returns the bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(self.colours.runs())
    }

    /// Returns the number of lines that are not kept.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}
