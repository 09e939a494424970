//! The colours of a command's output, kept beside its text.
//!
//! The text has no escape sequence. The parser knows SGR (`ESC [ … m`) only, and turns it into
//! runs of the text: a client that shows colours reads the runs, all others read the text alone. A
//! colour ends with the text that it belongs to, whether the command reset it or not.

use crate::{limits::COLOUR_RUNS, text::sanitise::Sanitiser};
use std::ops::Range;

/// How a piece of output was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ink {
    /// Its colour, one of the 16 of a terminal; others are reduced to the nearest.
    pub colour: Option<u8>,
    /// The colour behind it, likewise.
    pub behind: Option<u8>,
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined.
    pub underline: bool,
    /// With the colours exchanged.
    pub reverse: bool,
}

/// A piece of a text that was written in one ink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its bytes in the text. Those of a stored event may lie outside of it, or within a character.
    pub bytes: Range<usize>,
    /// How it was written.
    pub ink: Ink,
}

/// The colours of a text: runs in order, without overlap. What is in none of them is plain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Colours(Vec<Run>);

impl Colours {
    /// Creates colours of runs, without those that are empty, plain, or not in order.
    pub fn of(runs: impl IntoIterator<Item = Run>) -> Self {
        let mut colours = Self::default();
        runs.into_iter().for_each(|run| colours.push(run.bytes, run.ink));
        colours
    }

    /// Returns whether the whole text is plain.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the runs, in order.
    pub fn runs(&self) -> &[Run] {
        &self.0
    }

    /// Returns the runs within a range, with bytes counted from its beginning.
    pub fn within(&self, range: Range<usize>) -> impl Iterator<Item = Run> {
        let first = self.0.partition_point(|run| run.bytes.end <= range.start);
        self.0[first..].iter().take_while(move |run| run.bytes.start < range.end).map(move |run| Run {
            bytes: run.bytes.start.saturating_sub(range.start)..run.bytes.end.min(range.end) - range.start,
            ink: run.ink,
        })
    }

    /// Adds the colours of a text that is appended at byte `at`.
    pub fn append(&mut self, more: &Self, at: usize) {
        for run in &more.0 {
            self.push(run.bytes.start.saturating_add(at)..run.bytes.end.saturating_add(at), run.ink);
        }
    }

    /// Removes the first bytes of the text.
    pub fn cut_front(&mut self, bytes: usize) {
        self.0 = self.within(bytes..usize::MAX).collect();
    }

    /// Returns the colours of `new`, which is `old` with something else in place of a part: what
    /// both begin and end with keeps its colours.
    #[must_use]
    pub fn replaced(&self, old: &str, new: &str) -> Self {
        if self.is_empty() || old == new {
            return self.clone();
        }
        let shorter = old.len().min(new.len());
        let same = |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(a, b)| a == b).count();
        let head = same(&mut old.bytes().zip(new.bytes()));
        let tail = same(&mut old.bytes().rev().zip(new.bytes().rev())).min(shorter - head);
        let mut colours = Self(self.within(0..head).collect());
        colours.append(&Self(self.within(old.len() - tail..old.len()).collect()), new.len() - tail);
        colours
    }

    /// Keeps the first and the last runs only, if there are too many. Takes constant time on
    /// average.
    pub(crate) fn keep_ends(&mut self) {
        if self.0.len() > 3 * COLOUR_RUNS {
            self.0.drain(COLOUR_RUNS..self.0.len() - COLOUR_RUNS);
        }
    }

    /// Keeps the last runs only, if there are too many. Takes constant time on average.
    pub(crate) fn keep_last(&mut self) {
        if self.0.len() > 2 * COLOUR_RUNS {
            self.0.drain(..self.0.len() - COLOUR_RUNS);
        }
    }

    /// Sanitises a piece of text together with its colours.
    pub fn sanitise(&mut self, sanitiser: &mut Sanitiser, text: &str) -> String {
        if self.is_empty() {
            return sanitiser.push(text);
        }
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        let mut moved = Self::default();
        for run in std::mem::take(&mut self.0) {
            let [start, end] = [run.bytes.start, run.bytes.end]
                .map(|byte| crate::floor_char_boundary(text, byte.min(text.len())));
            if start < at {
                continue;
            }
            out.push_str(&sanitiser.push(&text[at..start]));
            let begin = out.len();
            out.push_str(&sanitiser.push(&text[start..end]));
            moved.push(begin..out.len(), run.ink);
            at = end;
        }
        out.push_str(&sanitiser.push(&text[at..]));
        *self = moved;
        out
    }

    /// Adds a run at the end; it joins the last one if that ends there in the same ink.
    pub(crate) fn push(&mut self, bytes: Range<usize>, ink: Ink) {
        let last = self.0.last_mut();
        if bytes.is_empty()
            || ink == Ink::default()
            || last.as_ref().is_some_and(|l| l.bytes.end > bytes.start)
        {
            return;
        }
        match last {
            Some(last) if last.ink == ink && last.bytes.end == bytes.start => last.bytes.end = bytes.end,
            _ => self.0.push(Run { bytes, ink }),
        }
    }
}

impl Ink {
    /// Applies the parameters of an SGR sequence. Unknown and malformed ones change nothing;
    /// concealed and blinking text does not exist.
    pub(crate) fn apply(&mut self, parameters: &str) {
        let mut all = parameters.split(';');
        while let Some(parameter) = all.next() {
            let mut parts = parameter.split(':');
            let first = parts.next().unwrap_or_default();
            let Some(code) = number(first) else { continue };
            match code {
                // The forms `38;5;N` and `38;2;R;G;B` take further parameters, those with colons
                // do not. 58 is the colour of an underline.
                38 | 48 | 58 => {
                    let colour = match parameter.contains(':') {
                        true => colour_of_parts(parts),
                        false => colour_of(&mut all),
                    };
                    match (code, colour) {
                        // Where the colour ends is unknown, and with it what follows.
                        (_, None) if !parameter.contains(':') => return,
                        (_, None) | (58, _) => {}
                        (38, colour) => self.colour = colour,
                        (_, colour) => self.behind = colour,
                    }
                }
                4 => self.underline = parts.next().and_then(number) != Some(0),
                _ if parameter.contains(':') => {}
                _ => self.apply_code(code),
            }
        }
    }

    fn apply_code(&mut self, code: u8) {
        match code {
            0 => *self = Self::default(),
            1 => self.bold = true,
            2 => self.dim = true,
            3 => self.italic = true,
            7 => self.reverse = true,
            21 => self.underline = true,
            22 => (self.bold, self.dim) = (false, false),
            23 => self.italic = false,
            24 => self.underline = false,
            27 => self.reverse = false,
            30..=37 => self.colour = Some(code - 30),
            39 => self.colour = None,
            40..=47 => self.behind = Some(code - 40),
            49 => self.behind = None,
            90..=97 => self.colour = Some(code - 90 + 8),
            100..=107 => self.behind = Some(code - 100 + 8),
            _ => {}
        }
    }
}

/// Returns a number of a sequence; an empty one is 0.
fn number(digits: &str) -> Option<u8> {
    if digits.is_empty() { Some(0) } else { digits.parse().ok() }
}

/// Returns the colour of `5;N` or `2;R;G;B`.
fn colour_of<'a>(parameters: &mut impl Iterator<Item = &'a str>) -> Option<u8> {
    let mut next = || parameters.next().and_then(number);
    match next()? {
        5 => Some(of_256(next()?)),
        2 => Some(nearest([next()?, next()?, next()?])),
        _ => None,
    }
}

/// Returns the colour of `5:N`, `2:R:G:B` or `2:SPACE:R:G:B`.
fn colour_of_parts<'a>(parts: impl Iterator<Item = &'a str>) -> Option<u8> {
    let parts: Vec<_> = parts.take(8).collect();
    match parts[..] {
        ["5", index] => Some(of_256(number(index)?)),
        ["2", r, g, b] | ["2", _, r, g, b, ..] => Some(nearest([number(r)?, number(g)?, number(b)?])),
        _ => None,
    }
}

/// Reduces one of 256 colours: the 16, a cube of six steps a side, and greys.
fn of_256(index: u8) -> u8 {
    let step = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        0..16 => index,
        16..232 => nearest([step((index - 16) / 36), step((index - 16) / 6 % 6), step((index - 16) % 6)]),
        232.. => nearest([8 + (index - 232) * 10; 3]),
    }
}

/// Reduces a colour to one of the 16: by its hue, and bright if it is light.
fn nearest([r, g, b]: [u8; 3]) -> u8 {
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    // Greys have no hue.
    if most - least < most / 4 {
        return match most {
            0..64 => 0,
            64..144 => 8,
            144..224 => 7,
            224.. => 15,
        };
    }
    let half = least + (most - least) / 2;
    let bit = |part: u8, bit: u8| if part > half { bit } else { 0 };
    let hue = bit(r, 1) | bit(g, 2) | bit(b, 4);
    if most > 224 && least > 64 { hue + 8 } else { hue }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ink(parameters: &[&str]) -> Ink {
        let mut ink = Ink::default();
        parameters.iter().for_each(|parameters| ink.apply(parameters));
        ink
    }

    #[test]
    fn the_parameters_of_sgr_are_read_as_terminals_do() {
        let plain = Ink::default();
        let colour = |colour| Ink { colour: Some(colour), ..plain };
        for (parameters, expected) in [
            (&["31"][..], colour(1)),
            (&["1;91"], Ink { bold: true, ..colour(9) }),
            (&["31", ""], plain),
            (&["1;2;3;4;7;31;42", "22;23;24;27;39;49"], plain),
            (&["38;5;9"], colour(9)),
            (&["38;5;196"], colour(1)),
            (&["38;5;240"], colour(8)),
            (&["38;2;255;0;0;1"], Ink { bold: true, ..colour(1) }),
            (&["38:2::0:200:0"], colour(2)),
            (&["38:2:0:200:0"], colour(2)),
            (&["38:5:4;3"], Ink { italic: true, ..colour(4) }),
            (&["48;2;120;180;255"], Ink { behind: Some(12), ..plain }),
            (&["4:3"], Ink { underline: true, ..plain }),
            (&["4", "4:0"], plain),
            // The colour of an underline is left out, and its parameters are not taken for others.
            (&["58;5;1"], plain),
            (&["58;2;1;1;1;31"], colour(1)),
            // Nonsense, and text that hides or blinks.
            (&["8;5;6"], plain),
            (&["38;5;300;1", "38;2;1;2", "38;9;1", "38;5", "38", "48;2;;", "999999999999999"], plain),
            (&["38:5:1:1:1", "38:2:1", "31:1", "-31", "+", "٣١", ";;;;;;"], plain),
            (&["31;999999;1"], Ink { bold: true, ..colour(1) }),
        ] {
            assert_eq!(ink(parameters), expected, "{parameters:?}");
        }
    }

    fn red() -> Ink {
        ink(&["31"])
    }

    #[test]
    fn colours_follow_their_text() {
        let old = "aaaRRRbbbGGGccc";
        let colours = Colours::of([
            Run { bytes: 3..6, ink: red() },
            Run { bytes: 9..12, ink: ink(&["32"]) },
            Run { bytes: 10..14, ink: red() },
        ]);
        assert_eq!(colours.runs().len(), 2, "an overlap is left out");
        let of = |colours: &Colours, text: &'static str| -> Vec<&str> {
            colours.runs().iter().map(|run| &text[run.bytes.clone()]).collect()
        };
        let new = "aaaRRR[left out]GGGccc";
        assert_eq!(of(&colours.replaced(old, new), new), ["RRR", "GGG"]);
        assert_eq!(of(&colours.replaced(old, "aaaRR!"), "aaaRR!"), ["RR"]);
        assert_eq!(of(&colours.replaced("aa", "aa"), old), ["RRR", "GGG"]);
        let mut cut = colours.clone();
        cut.cut_front(5);
        assert_eq!(of(&cut, "RbbbGGGccc"), ["R", "GGG"]);
        let mut appended = Colours::default();
        appended.append(&colours, 2);
        assert_eq!(of(&appended, "..aaaRRRbbbGGGccc"), ["RRR", "GGG"]);
    }

    proptest! {
        #[test]
        fn sanitising_moves_colours_and_changes_no_text(
            text in "[ab\\n\u{7}\u{1b}\u{9b}\\[\\]0m\u{202e}é漢]{0,30}",
            starts in proptest::collection::vec((0usize..40, 0usize..6), 0..6),
        ) {
            let mut runs: Vec<_> = starts.into_iter().map(|(at, len)| Run { bytes: at..at + len, ink: red() }).collect();
            runs.sort_by_key(|run| run.bytes.start);
            let mut colours = Colours::of(runs);
            let shown = colours.sanitise(&mut Sanitiser::default(), &text);
            prop_assert_eq!(&shown, &crate::sanitise(&text));
            for run in colours.runs() {
                prop_assert!(shown.get(run.bytes.clone()).is_some_and(|text| !text.is_empty()));
            }
        }
    }
}
