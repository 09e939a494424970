//! Applies a patch's hunks to a text. Pure.

use super::parse::{Hunk, Line};
use crate::tools::{
    edit::{self, Found, Place, Step, Target, Where, elision, is_crlf},
    nearest,
};
use std::ops::Range;

/// The result of applying hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Applied {
    pub(super) text: String,
    /// The 1-based numbers of hunks whose lines do not occur verbatim, and the steps that found
    /// them.
    pub(super) loosely: Vec<(usize, Vec<Step>)>,
    /// The 1-based numbers of hunks that may write a formatting mistake, and the characters that
    /// suggest it.
    pub(super) as_written: Vec<(usize, &'static str)>,
}

/// A hunk that cannot be applied; 1-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misfit {
    pub(super) hunk: usize,
    pub(super) why: Why,
}

/// The reason why a hunk cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// The hunk's lines do not occur.
    NotFound {
        /// The lines searched for.
        wanted: String,
        /// The most similar lines, with numbers.
        nearest: String,
    },
    /// The hunk's lines occur at several places; contains these as numbered lines.
    Ambiguous(String),
    /// The hunk's lines occur only where another hunk applies, or above the previous hunk.
    Order,
    /// The hunk only adds lines, and only a line number gives the place.
    NoContext,
    /// The hunk would write this elision, which stands for omitted lines.
    Elided(String),
    /// The hunk would write these characters, which were corrected as a formatting mistake in
    /// another hunk.
    Doubtful(&'static str),
}

/// The maximum number of places reported for an ambiguous hunk.
const SPOTS_SHOWN: usize = 5;

/// A byte range in the text, and its replacement.
type Spot = (Range<usize>, String);

/// Applies hunks. Each must have exactly one place: by its own lines, by the line that its `@@`
/// names, or by its order among the hunks. Unchanged lines keep their line endings. A file without
/// a final line ending stays without one.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<Applied, Misfit> {
    let newline = if is_crlf(text) { "\r\n" } else { "\n" };
    let is_ended = text.is_empty() || text.ends_with('\n');
    let whole = if is_ended { text.to_owned() } else { format!("{text}{newline}") };
    let target = Target::new(&whole);
    let mut loosely = Vec::new();
    let mut spots = Vec::new();
    let (mut undone, mut doubts) = (Vec::new(), Vec::new());
    for (index, hunk) in hunks.iter().enumerate() {
        let misfit = |why| Misfit { hunk: index + 1, why };
        let (of_hunk, steps) = candidates(&whole, &target, hunk, newline).map_err(misfit)?;
        let added: String = hunk.lines.iter().filter_map(added).collect();
        doubts.extend(
            edit::doubtful(&added, &[&whole])
                .filter(|(step, _)| !steps.contains(step))
                .map(|doubt| (index, doubt)),
        );
        undone.extend_from_slice(&steps);
        if !steps.is_empty() {
            loosely.push((index + 1, steps));
        }
        spots.push(of_hunk);
    }
    if let Some((index, (_, sign))) =
        doubts.iter().find(|(_, (step, _))| *step != Step::LookAlikes && undone.contains(step))
    {
        return Err(Misfit { hunk: index + 1, why: Why::Doubtful(sign) });
    }
    let chosen = choose(&spots).map_err(|(index, why)| Misfit {
        hunk: index + 1,
        why: match why {
            Chosen::Order => Why::Order,
            Chosen::Ambiguous => Why::Ambiguous(places(&whole, &spots[index])),
        },
    })?;
    let mut out = String::with_capacity(whole.len());
    let mut from = 0;
    for (range, new) in &chosen {
        out.push_str(&whole[from..range.start]);
        out.push_str(new);
        from = range.end;
    }
    out.push_str(&whole[from..]);
    if !is_ended && out.ends_with('\n') {
        let ends_in = if out.ends_with("\r\n") { 2 } else { 1 };
        out.truncate(out.len() - ends_in);
    }
    let as_written = doubts.into_iter().map(|(index, (_, sign))| (index + 1, sign)).collect();
    Ok(Applied { text: out, loosely, as_written })
}

/// Returns the possible places of a hunk, narrowed to the changed lines, and the steps that found
/// its lines.
fn candidates(
    whole: &str,
    target: &Target<'_>,
    hunk: &Hunk,
    newline: &str,
) -> Result<(Vec<Spot>, Vec<Step>), Why> {
    let lines = |wants: fn(&Line) -> Option<&str>, mark: &str| -> String {
        let line = |line: &Line| match line {
            Line::Keep(kept) => wants(line).map(|_| format!("{mark}{kept}\n")),
            line => wants(line).map(|line| format!("{line}\n")),
        };
        hunk.lines.iter().filter_map(line).collect()
    };
    let anchors = anchored(whole, &hunk.anchors);
    let (old, new) = (lines(before, ""), lines(after, ""));
    if let Some(line) = elision::added(&new, &[whole, &old]) {
        return Err(Why::Elided(line.to_owned()));
    }
    if old.is_empty() {
        // Only added lines: insert below the anchor, otherwise at the end of the file.
        let below = |at: &usize| whole[*at..].find('\n').map_or(whole.len(), |end| at + end + 1);
        let at = match anchors.as_slice() {
            _ if hunk.at_end || whole.is_empty() => whole.len(),
            [] if hunk.numbered => return Err(Why::NoContext),
            [] if hunk.anchors.is_empty() => whole.len(),
            [] => return Err(not_found(whole, &hunk.anchors.join("\n"))),
            [at] => below(at),
            several => {
                let spots: Vec<Spot> = several.iter().map(|&at| (at..at, String::new())).collect();
                return Err(Why::Ambiguous(places(whole, &spots)));
            }
        };
        return Ok((vec![(at..at, new.replace('\n', newline))], Vec::new()));
    }
    // Some models omit the blank before context lines.
    let found = target
        .locate(&old, &new, Where::LineStarts)
        .or_else(|| target.locate(&lines(before, " "), &lines(after, " "), Where::LineStarts));
    let Some(Found { places, steps }) = found else {
        return Err(not_found(whole, old.trim_end_matches('\n')));
    };
    let at_end: Vec<&Place> =
        places.iter().filter(|place| hunk.at_end && place.range.end == whole.len()).collect();
    // The first match below each candidate line of the anchor; the anchor may be the hunk's first
    // line.
    let mut below: Vec<&Place> =
        anchors.iter().filter_map(|at| places.iter().find(|place| place.range.start >= *at)).collect();
    below.dedup();
    let left =
        [at_end, below].into_iter().find(|some| !some.is_empty()).unwrap_or_else(|| places.iter().collect());
    Ok((left.into_iter().map(|place| changed(whole, place)).collect(), steps))
}

fn before(line: &Line) -> Option<&str> {
    match line {
        Line::Keep(line) | Line::Remove(line) => Some(line),
        Line::Add(_) => None,
    }
}

fn added(line: &Line) -> Option<&str> {
    match line {
        Line::Add(line) => Some(line),
        Line::Keep(_) | Line::Remove(_) => None,
    }
}

fn after(line: &Line) -> Option<&str> {
    match line {
        Line::Keep(line) | Line::Add(line) => Some(line),
        Line::Remove(_) => None,
    }
}

fn not_found(whole: &str, wanted: &str) -> Why {
    Why::NotFound { wanted: wanted.to_owned(), nearest: nearest::nearest(whole, wanted) }
}

/// Returns the changed lines of a place, without the unchanged ones around them.
fn changed(whole: &str, place: &Place) -> Spot {
    let (old, new) = (&whole[place.range.clone()], place.new.as_str());
    let (olds, news): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same =
        |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(old, new)| old == new).count();
    let head = same(&mut olds.iter().zip(&news));
    let tail = same(&mut olds[head..].iter().rev().zip(news[head..].iter().rev()));
    let bytes = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let start = place.range.start + bytes(&olds[..head]);
    let end = place.range.end - bytes(&olds[olds.len() - tail..]);
    (start..end, news[head..news.len() - tail].concat())
}

/// Returns the starts of the lines that a hunk's anchors name, each below the previous one: by
/// exact match, otherwise ignoring surrounding blanks, otherwise as a substring.
fn anchored(whole: &str, anchors: &[String]) -> Vec<usize> {
    let mut at = 0;
    let lines: Vec<(usize, &str)> = whole
        .split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            (start, line.trim_end_matches(['\r', '\n']))
        })
        .collect();
    let mut found: Option<Vec<usize>> = None;
    for anchor in anchors {
        let ways: [fn(&str, &str) -> bool; 3] = [
            |line, anchor| line == anchor,
            |line, anchor| line.trim() == anchor.trim(),
            |line, anchor| line.contains(anchor.trim()),
        ];
        let named = |way: &fn(&str, &str) -> bool| -> Vec<usize> {
            lines.iter().filter(|(_, line)| way(line, anchor)).map(|(at, _)| *at).collect()
        };
        let here = ways.iter().map(named).find(|named| !named.is_empty()).unwrap_or_default();
        let mut below: Vec<usize> = match &found {
            None => here,
            Some(above) => {
                above.iter().filter_map(|above| here.iter().copied().find(|at| at > above)).collect()
            }
        };
        below.dedup();
        found = Some(below);
    }
    found.unwrap_or_default()
}

/// Chooses one place for each hunk, or returns the hunk that has none. If a hunk has several, the
/// order of the hunks must leave exactly one.
fn choose(spots: &[Vec<Spot>]) -> Result<Vec<Spot>, (usize, Chosen)> {
    let chosen: Vec<&Spot> = match spots.iter().all(|of_hunk| of_hunk.len() == 1) {
        true => spots.iter().flatten().collect(),
        false => {
            let (first, last) = (leftmost(spots)?, rightmost(spots));
            if let Some(index) =
                (0..spots.len()).find(|&index| Some(first[index]) != last.get(index).copied())
            {
                return Err((index, Chosen::Ambiguous));
            }
            first
        }
    };
    let mut order: Vec<usize> = (0..chosen.len()).collect();
    order.sort_by_key(|&index| chosen[index].0.start);
    match order.windows(2).find(|two| chosen[two[0]].0.end > chosen[two[1]].0.start) {
        Some(two) => Err((two[0].max(two[1]), Chosen::Order)),
        None => Ok(order.into_iter().map(|index| chosen[index].clone()).collect()),
    }
}

/// The reason why a hunk has no place.
enum Chosen {
    Ambiguous,
    Order,
}

/// Returns, for each hunk in order, its first place below the previous hunk's.
fn leftmost(spots: &[Vec<Spot>]) -> Result<Vec<&Spot>, (usize, Chosen)> {
    let mut from = 0;
    let below = |(index, of_hunk): (usize, &'_ Vec<Spot>)| {
        let at = of_hunk.iter().position(|(range, _)| range.start >= from).ok_or((index, Chosen::Order))?;
        from = of_hunk[at].0.end;
        Ok(&spots[index][at])
    };
    spots.iter().enumerate().map(below).collect()
}

/// Returns, for each hunk, its last place above the next hunk's.
fn rightmost(spots: &[Vec<Spot>]) -> Vec<&Spot> {
    let mut to = usize::MAX;
    let above = |of_hunk: &'_ Vec<Spot>| {
        let at = of_hunk.iter().rposition(|(range, _)| range.end <= to)?;
        to = of_hunk[at].0.start;
        Some(at)
    };
    let mut chosen: Vec<Option<usize>> = spots.iter().rev().map(above).collect();
    chosen.reverse();
    spots.iter().zip(chosen).map_while(|(of_hunk, at)| at.map(|at| &of_hunk[at])).collect()
}

/// Returns the numbered lines where places begin.
fn places(whole: &str, spots: &[Spot]) -> String {
    let line = |(range, _): &Spot| whole[..range.start].matches('\n').count() + 1;
    nearest::at_lines(whole, &spots.iter().take(SPOTS_SHOWN).map(line).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::patch::parse::{Operation, parse};
    use proptest::prelude::*;

    fn hunks(body: &str) -> Vec<Hunk> {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch");
        match parse(&patch).unwrap().remove(0) {
            Operation::Update { hunks, .. } => hunks,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn applies_hunks() {
        for (text, body, expected) in [
            ("a\nb\nc\n", "@@\n a\n-b\n+x\n c", "a\nx\nc\n"),
            ("a\nb\nc\n", " a\n-b\n+x", "a\nx\nc\n"),
            ("a\nb\nc", "@@\n-c\n+d\n+e", "a\nb\nd\ne"),
            ("a\nb", "@@\n b\n+c", "a\nb\nc"),
            ("a\r\nb\r\n", "@@\n-a\n+x\n+y", "x\r\ny\r\nb\r\n"),
            ("a  \nb\n", "@@\n a\n-b\n+c", "a  \nc\n"),
            ("x\na\nx\nb\n", "@@ a\n-x\n+y", "x\na\ny\nb\n"),
            ("fn a\n  x\nfn b\n  x\n", "@@ fn b\n-  x\n+  y", "fn a\n  x\nfn b\n  y\n"),
            ("fn b\n  x\n", "@@ fn b\n fn b\n-  x\n+  y", "fn b\n  y\n"),
            ("x\nx\n", "@@\n-x\n+1\n@@\n-x\n+2", "1\n2\n"),
            ("x\na\nx\n", "@@\n-x\n+y\n*** End of File", "x\na\ny\n"),
            ("a\nb\n", "@@\n+new", "a\nb\nnew\n"),
            ("a\nb\n", "@@ a\n+new", "a\nnew\nb\n"),
            ("", "@@\n+new", "new\n"),
            ("a\n", "@@\n-a", ""),
            ("grüße\n🦀\n", "@@\n grüße\n-🦀\n+Krebs", "grüße\nKrebs\n"),
        ] {
            let applied =
                apply(text, &hunks(body)).unwrap_or_else(|misfit| panic!("{text:?} {body:?}: {misfit:?}"));
            assert_eq!(applied.text, expected, "{text:?} {body:?}");
        }
    }

    #[test]
    fn names_the_hunk_that_does_not_fit() {
        let not_found =
            |wanted: &str, nearest: &str| Why::NotFound { wanted: wanted.into(), nearest: nearest.into() };
        for (text, body, hunk, why) in [
            ("alpha\n", "@@\n-alphb\n+x", 1, not_found("alphb", "\nNearest lines:\n1\talpha")),
            ("a\nb\n", "@@\n-b\n+x\n@@\n-c\n+y", 2, not_found("c", "")),
            ("a\nb\n", "@@ fn q\n+x", 1, not_found("fn q", "")),
            ("", "@@\n-a\n+b", 1, not_found("a", "")),
            // Either place could be meant.
            ("x\na\nx\n", "@@\n-x\n+y", 1, Why::Ambiguous("\n1\tx\n3\tx".into())),
            ("x\na\nx\n", "@@ -3,1 +3,1 @@\n-x\n+y", 1, Why::Ambiguous("\n1\tx\n3\tx".into())),
            ("fn a\n  x\nfn b\n  x\n", "@@ fn\n-  x\n+  y", 1, Why::Ambiguous("\n2\t  x\n4\t  x".into())),
            ("b\na\nb\n", "@@ b\n+y", 1, Why::Ambiguous("\n1\tb\n3\tb".into())),
            ("x\na\nx\n", "@@\n-a\n+b\n@@\n-a\n+c", 2, Why::Order),
            ("x\nx\na\n", "@@\n-a\n+b\n@@\n-x\n+c", 2, Why::Order),
            ("a\n", "@@ -3,0 +4,1 @@\n+x", 1, Why::NoContext),
            (
                "a\nb\n",
                "@@\n a\n-b\n+// ... rest of the code",
                1,
                Why::Elided("// ... rest of the code".into()),
            ),
        ] {
            assert_eq!(apply(text, &hunks(body)), Err(Misfit { hunk, why }), "{text:?} {body:?}");
        }
    }

    #[test]
    fn a_hunk_with_one_place_is_found_whatever_its_form() {
        for (text, body, expected) in [
            // A line number or an anchor that does not occur is ignored.
            ("a\nb\nc\n", "@@ line 1\n-b\n+x", "a\nx\nc\n"),
            ("a\nb\nc\n", "@@ -70,9 +70,1 @@\n-b\n+x", "a\nx\nc\n"),
            ("a\nb\nc\n", "@@ fn nowhere() @@\n-b\n+x", "a\nx\nc\n"),
            ("class A(B):\n  x\n", "@@ class A\n+  y", "class A(B):\n  y\n  x\n"),
            // In another order, and with context shared by two hunks.
            ("a\nb\nc\n", "@@\n-c\n+z\n@@\n-a\n+x", "x\nb\nz\n"),
            ("a\nb\nc\n", "@@\n-a\n+x\n b\n@@\n b\n-c\n+z", "x\nb\nz\n"),
            // Indentation, numbers, look-alikes.
            ("if a {\n\tb();\n}\n", "@@\n if a {\n-    b();\n+    c();\n }", "if a {\n\tc();\n}\n"),
            ("a\n    b\n", "@@\n 1\ta\n-2\t    b\n+2\t    c", "a\n    c\n"),
            ("say('a')\n", "@@\n-say(‘a’)\n+say(‘b’)", "say('b')\n"),
            // The blank before context lines is missing.
            ("    a\n    b\n", "@@\n    a\n-    b\n+    c", "    a\n    c\n"),
            ("    a\nb\n    c\n", "@@\n    a\nb\n-    c\n+    d", "    a\nb\n    d\n"),
            ("a\nb", "@@\n-b", "a"),
            ("a\r\nb", "@@\n-b\n+c\n+d", "a\r\nc\r\nd"),
        ] {
            let applied =
                apply(text, &hunks(body)).unwrap_or_else(|misfit| panic!("{text:?} {body:?}: {misfit:?}"));
            assert_eq!(applied.text, expected, "{text:?} {body:?}");
        }
    }

    proptest! {
        #[test]
        fn a_hunk_made_from_a_text_fits_it_and_back(before in "([ab]{0,2}\n){0,6}", middle in "[ab]{1,3}", after in "([ab]{0,2}\n){0,6}") {
            let text = format!("{before}{middle}\n{after}");
            let keep = |part: &str| part.lines().map(|line| format!(" {line}\n")).collect::<String>();
            let there = format!("@@\n{}-{middle}\n+NEW\n{}*** End of File", keep(&before), keep(&after));
            let back = format!("@@\n{}-NEW\n+{middle}\n{}*** End of File", keep(&before), keep(&after));
            let changed = apply(&text, &hunks(&there)).unwrap().text;
            prop_assert_eq!(&changed, &format!("{before}NEW\n{after}"));
            prop_assert_eq!(apply(&changed, &hunks(&back)).unwrap().text, text);
        }

        #[test]
        fn never_panics(text in "[ab \r\n]{0,30}", body in prop::collection::vec("[-+ ][ab]{0,2}", 1..6)) {
            let body = format!("@@ a\n{}\n+x", body.join("\n"));
            let _ = apply(&text, &hunks(&body));
        }
    }
}
