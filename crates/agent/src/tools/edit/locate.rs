//! Where an old text stands in a file: as it is, else as the first of a row of looser readings finds
//! it. Likeness is no reading: a text that stands nowhere is not found.

use super::{
    indent::{Reindent, Style, indent_of},
    spelling::{Spelling, Step},
    view::{Fold, View},
    weave::{Woven, ends_in_blanks},
};
use std::{cell::OnceCell, ops::Range};

/// The places of an old text, all by the same reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tools) struct Found {
    /// At least one, in order.
    pub(in crate::tools) places: Vec<Place>,
    /// What was undone or passed over; empty where the text stands there as it is.
    pub(in crate::tools) steps: Vec<Step>,
}

/// One place of an old text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tools) struct Place {
    /// Its bytes in the file.
    pub(in crate::tools) range: Range<usize>,
    /// What comes there in place of it; what the new text leaves as it was is as the file has it.
    pub(in crate::tools) new: String,
}

/// Which places count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) enum Where {
    /// Any; places that overlap each count, since either could be meant.
    Anywhere,
    /// Any; of places that overlap, the first.
    Everywhere,
    /// Those that begin where a line begins.
    LineStarts,
}

/// A file's text, looked at in as many ways as are asked for.
pub(in crate::tools) struct Target<'a> {
    text: &'a str,
    folds: [OnceCell<View>; 3],
    lines: OnceCell<Vec<Line>>,
    style: OnceCell<Style>,
}

/// A line of a view.
#[derive(Debug)]
struct Line {
    /// Without its line end.
    bytes: Range<usize>,
    indent: usize,
}

impl<'a> Target<'a> {
    pub(in crate::tools) fn new(text: &'a str) -> Self {
        Self { text, folds: Default::default(), lines: OnceCell::new(), style: OnceCell::new() }
    }

    /// Finds an old text by the strictest reading that finds it at all. `new` is read alike.
    pub(in crate::tools) fn locate(&self, old: &str, new: &str, which: Where) -> Option<Found> {
        let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        Spelling::all(&old, &new).into_iter().find_map(|spelling| self.read(&spelling, which))
    }

    fn read(&self, spelling: &Spelling, which: Where) -> Option<Found> {
        // The line is what a printed number stands before.
        let which = if spelling.steps.contains(&Step::LineNumbers) { Where::LineStarts } else { which };
        let folds = [
            (Fold::LineEnds, None),
            (Fold::TrailingBlanks, Some(Step::TrailingBlanks)),
            (Fold::LookAlikes, Some(Step::LookAlikes)),
        ];
        for (fold, step) in folds {
            let places = self.places(spelling, fold, which);
            if !places.is_empty() {
                let steps = spelling.steps.iter().copied().chain(step).collect();
                return Some(Found { places, steps });
            }
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

    /// Whole lines that are the old ones but for indentation that differs throughout in one way.
    fn indented(&self, spelling: &Spelling) -> Option<Found> {
        // A line end that both texts have is no part of what differs; one that only the old text has
        // goes.
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

/// The old and the new text with the indentation of the file's lines.
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
    // Some files are indented in one way here and in another there.
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
    // A first line whose indentation was left out of both texts.
    let (first, rest) = pairs.split_first()?;
    let is_left_out = first.0.is_empty() && !rest.is_empty() && indent_of(new).is_empty();
    let way = Reindent::between(rest, from, to).filter(|_| is_left_out)?;
    Some((put(&way, old, Some(first.1))?, put(&way, new, Some(first.1))?))
}

/// What else the file's lines differ in from the old ones.
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

/// Where a text begins, those that overlap included.
fn overlapping<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text[from..].find(wanted)?;
        from = at + step;
        Some(at)
    })
}
