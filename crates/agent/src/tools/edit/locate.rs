//! Locates an old text in a file: verbatim, or else by the first of a series of looser readings
//! that matches. Similarity is not a reading: a text that matches no reading is not found.

use super::{
    indent::{Reindent, Style, indent_of},
    spelling::{Spelling, Step},
    view::{Fold, View},
    weave::{Woven, ends_in_blanks},
};
use std::{cell::OnceCell, ops::Range};

/// The matches of an old text, all found by the same reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tools) struct Found {
    /// The matches in order; at least one.
    pub(in crate::tools) places: Vec<Place>,
    /// The corrections and tolerances applied to find them; empty for a verbatim match.
    pub(in crate::tools) steps: Vec<Step>,
}

/// One match of an old text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tools) struct Place {
    /// The byte range in the file.
    pub(in crate::tools) range: Range<usize>,
    /// The replacement. Where the new text keeps the old, it has the file's own characters.
    pub(in crate::tools) new: String,
}

/// The matches to consider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) enum Where {
    /// Anywhere; overlapping matches each count, since either could be meant.
    Anywhere,
    /// Anywhere; of overlapping matches only the first counts.
    Everywhere,
    /// Only at the beginning of a line.
    LineStarts,
}

/// A file's text, with lazily computed views of it for the looser readings.
pub(in crate::tools) struct Target<'a> {
    text: &'a str,
    folds: [OnceCell<View>; 3],
    lines: OnceCell<Vec<Line>>,
    style: OnceCell<Style>,
}

/// A line of a view.
#[derive(Debug)]
struct Line {
    /// The byte range without the line ending.
    bytes: Range<usize>,
    indent: usize,
}

impl<'a> Target<'a> {
    pub(in crate::tools) fn new(text: &'a str) -> Self {
        Self { text, folds: Default::default(), lines: OnceCell::new(), style: OnceCell::new() }
    }

    /// Finds an old text by the strictest reading that matches. `new` is read in the same way.
    pub(in crate::tools) fn locate(&self, old: &str, new: &str, which: Where) -> Option<Found> {
        let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        Spelling::all(&old, &new).into_iter().find_map(|spelling| self.read(&spelling, which))
    }

    fn read(&self, spelling: &Spelling, which: Where) -> Option<Found> {
        // A printed line number precedes a whole line.
        let which = if spelling.steps.contains(&Step::LineNumbers) { Where::LineStarts } else { which };
        let folds = [
            (Fold::LineEnds, None),
            (Fold::TrailingBlanks, Some(Step::TrailingBlanks)),
            (Fold::LookAlikes, Some(Step::LookAlikes)),
        ];
        for (fold, step) in folds {
            let places = self.places(spelling, fold, which);
            if places.is_empty() {
                continue;
            }
            if let [place] = &places[..]
                && self.cuts_line(&place.range)
                && let Some(mut lines) = self.indented(spelling)
            {
                // Either could be meant: the part of a deeper line, or the lines with another
                // indentation.
                lines.places.push(place.clone());
                lines.places.sort_by_key(|place| place.range.start);
                return Some(lines);
            }
            let steps = spelling.steps.iter().copied().chain(step).collect();
            return Some(Found { places, steps });
        }
        self.indented(spelling)
    }

    fn view(&self, fold: Fold) -> &View {
        self.folds[fold as usize].get_or_init(|| View::of(self.text, fold))
    }

    fn places(&self, spelling: &Spelling, fold: Fold, which: Where) -> Vec<Place> {
        let view = self.view(fold);
        let old = View::of(&spelling.old, fold).text;
        if old.is_empty() {
            return Vec::new();
        }
        let ends_line = fold > Fold::LineEnds && ends_in_blanks(&spelling.old);
        let fits = |at: &usize| {
            (which != Where::LineStarts || *at == 0 || view.text[..*at].ends_with('\n'))
                && (!ends_line || matches!(view.text.as_bytes().get(at + old.len()), None | Some(b'\n')))
        };
        let starts: Vec<usize> = match which {
            Where::Everywhere => view.text.match_indices(&old).map(|(at, _)| at).collect(),
            _ => overlapping(&view.text, &old).collect(),
        };
        let put = |at| {
            let woven = Woven { file: self.text, view, fold, at, old: &spelling.old };
            let (range, new) = woven.put(&spelling.new);
            Place { range, new }
        };
        starts.into_iter().filter(fits).map(put).collect()
    }

    /// Whether a match begins in the middle of a line's indentation and ends before the end of a
    /// line.
    fn cuts_line(&self, range: &Range<usize>) -> bool {
        let (before, after) = (&self.text[..range.start], &self.text[range.end..]);
        let (_, in_line) = before.rsplit_once('\n').unwrap_or(("", before));
        let begins_within = !in_line.is_empty()
            && in_line.len() == indent_of(in_line).len()
            && self.text[range.clone()].starts_with([' ', '\t']);
        begins_within && !after.is_empty() && !after.starts_with(['\n', '\r'])
    }

    fn lines(&self) -> &[Line] {
        self.lines.get_or_init(|| {
            let text = &self.view(Fold::LookAlikes).text;
            let mut at = 0;
            let line = |line: &str| {
                let start = at;
                at += line.len();
                let body = line.strip_suffix('\n').unwrap_or(line);
                Line { bytes: start..start + body.len(), indent: indent_of(body).len() }
            };
            text.split_inclusive('\n').map(line).collect()
        })
    }

    /// Finds whole lines that equal the old ones except for a consistent difference in indentation.
    fn indented(&self, spelling: &Spelling) -> Option<Found> {
        // A line ending of both texts is not part of the difference; one of the old text alone is
        // removed.
        let (old, new, with_line_end) =
            match (spelling.old.strip_suffix('\n'), spelling.new.strip_suffix('\n')) {
                (Some(old), Some(new)) => (old, new, false),
                (Some(old), None) => (old, spelling.new.as_str(), true),
                (None, _) => (spelling.old.as_str(), spelling.new.as_str(), false),
            };
        let wanted = View::of(old.trim_end_matches([' ', '\t']), Fold::LookAlikes).text;
        let wanted: Vec<&str> = wanted.split('\n').collect();
        let bodies: Vec<&str> = wanted.iter().map(|line| line.trim_start_matches([' ', '\t'])).collect();
        if bodies.iter().all(|body| body.is_empty()) {
            return None;
        }
        let (view, lines) = (self.view(Fold::LookAlikes), self.lines());
        let body = |line: &Line| &view.text[line.bytes.start + line.indent..line.bytes.end];
        let from = Style::of(old.lines().chain(new.lines()));
        let to = *self.style.get_or_init(|| Style::of(self.text.lines()));
        let mut found: Option<Found> = None;
        for window in lines.windows(wanted.len()) {
            if !window.iter().zip(&bodies).all(|(line, wanted)| body(line) == *wanted) {
                continue;
            }
            let indents =
                window.iter().map(|line| &view.text[line.bytes.start..line.bytes.start + line.indent]);
            let Some((old, new)) = carried_over(old, new, &wanted, &indents.collect::<Vec<_>>(), from, to)
            else {
                continue;
            };
            let woven =
                Woven { file: self.text, view, fold: Fold::LookAlikes, at: window[0].bytes.start, old: &old };
            let (mut range, put) = woven.put(&new);
            let there = range.clone();
            let last = window[window.len() - 1].bytes.end;
            if with_line_end && last < view.text.len() {
                range.end = view.original(last + 1);
            }
            let steps = spelling.steps.iter().copied().chain(passed_over(&self.text[there], &old));
            let steps = steps.chain([Step::Indentation]).collect();
            found.get_or_insert(Found { places: Vec::new(), steps }).places.push(Place { range, new: put });
        }
        found
    }
}

/// Converts the old and the new text to the indentation of the file's lines.
fn carried_over(
    old: &str,
    new: &str,
    wanted: &[&str],
    there: &[&str],
    from: Style,
    to: Style,
) -> Option<(String, String)> {
    let pairs: Vec<(&str, &str)> = wanted
        .iter()
        .zip(there)
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, there)| (indent_of(line), *there))
        .collect();
    // Some files indent differently in different places, so the style found here takes precedence.
    let indented = there.iter().find(|indent| !indent.is_empty());
    let to = Style { tabs: indented.map(|indent| indent.starts_with('\t')).or(to.tabs), ..to };
    let put = |way: &Reindent, text: &str, first: Option<&str>| -> Option<String> {
        let mut lines = Vec::new();
        for (index, line) in text.split('\n').enumerate() {
            let line = line.replace('\u{a0}', " ");
            let indent = indent_of(&line);
            lines.push(match first.filter(|_| index == 0) {
                _ if line.trim().is_empty() => String::new(),
                Some(first) => format!("{first}{}", &line[indent.len()..]),
                None => way.of(indent)? + &line[indent.len()..],
            });
        }
        Some(lines.join("\n"))
    };
    if let Some(way) = Reindent::between(&pairs, from, to) {
        return Some((put(&way, old, None)?, put(&way, new, None)?));
    }
    // Both texts omit the indentation of the first line.
    let (first, rest) = pairs.split_first()?;
    let is_left_out = first.0.is_empty() && !rest.is_empty() && indent_of(new).is_empty();
    let way = Reindent::between(rest, from, to).filter(|_| is_left_out)?;
    Some((put(&way, old, Some(first.1))?, put(&way, new, Some(first.1))?))
}

/// Returns the other differences between the file's lines and the old ones.
fn passed_over(there: &str, old: &str) -> Vec<Step> {
    let same = |fold| View::of(there, fold).text == View::of(old, fold).text;
    let mut steps = Vec::new();
    if !same(Fold::TrailingBlanks) {
        steps.push(Step::LookAlikes);
    } else if !same(Fold::LineEnds) {
        steps.push(Step::TrailingBlanks);
    }
    steps
}

/// Returns the start positions of all occurrences, including overlapping ones.
fn overlapping<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text[from..].find(wanted)?;
        from = at + step;
        Some(at)
    })
}
