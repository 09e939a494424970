//! Interpretations of a search pattern: as written, or else as it was evidently meant.

use super::matching::Searching;
use crate::{ToolError, limits::GREP_COMPILED_BYTES};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// One interpretation of a pattern.
pub(super) struct Reading {
    pub(super) matcher: RegexMatcher,
    pub(super) multiline: bool,
    /// A note on the interpretation for the model; empty if the pattern is read as written.
    pub(super) note: String,
    /// Whether to show the note only if this interpretation finds something.
    pub(super) is_guess: bool,
}

/// Returns the interpretations of a pattern, in order; each is tried if the previous one finds
/// nothing.
///
/// # Errors
/// A message for the model if the pattern has no sensible interpretation.
pub(super) fn read(pattern: &str, ignore_case: bool, multiline: bool) -> Result<Vec<Reading>, ToolError> {
    // A pattern that contains a line ending spans several lines.
    let multiline = multiline || pattern.contains("\\n") || pattern.contains('\n');
    let build = |pattern: &str, note: String| {
        let is_guess = false;
        matcher(pattern, ignore_case, multiline).map(|matcher| Reading { matcher, multiline, note, is_guess })
    };
    let basic = basic(pattern).and_then(|basic| {
        let note = format!("'{pattern}' read as '{basic}': | ( ) + ? are special without a backslash here");
        build(&basic, note).ok()
    });
    let error = match build(pattern, String::new()) {
        Ok(reading) => {
            // For example, the expression `a[0]` does not match the text `a[0]`.
            let finds_itself = finds(&reading, pattern);
            let note = format!("nothing matches '{pattern}' as a regular expression: searched as plain text");
            let plain =
                (!finds_itself && basic.is_none()).then(|| build(&escaped(pattern), note).ok()).flatten();
            let plain = plain.map(|plain| Reading { is_guess: true, ..plain });
            return Ok(std::iter::once(reading).chain(basic).chain(plain).collect());
        }
        Err(error) => error,
    };
    if let Some(basic) = basic {
        return Ok(vec![basic]);
    }
    if let Some((wider, left_out)) = without_look_around(pattern) {
        let note = format!(
            "look-around is not supported: searched without {left_out}, so some lines are shown that it would exclude"
        );
        if let Ok(reading) = build(&wider, note) {
            return Ok(vec![reading]);
        }
    }
    // The library has no kind of error for this, only a text.
    if error.contains("backreferences") {
        return Err(ToolError::message(format!(
            "Invalid regular expression '{pattern}': backreferences are not supported. Search for a simpler \
             pattern, or use bash with grep -P."
        )));
    }
    let reason = error.lines().last().unwrap_or(&error).trim_start_matches("error: ").to_owned();
    let note = format!("'{pattern}' is not a valid regular expression ({reason}): searched as plain text");
    let literal = build(&escaped(pattern), note);
    literal
        .map(|literal| vec![literal])
        .map_err(|_| ToolError::message(format!("Invalid regular expression '{pattern}': {error}")))
}

/// Whether an interpretation of a pattern matches a text.
fn finds(reading: &Reading, text: &str) -> bool {
    let (matcher, multiline) = (reading.matcher.clone(), reading.multiline);
    let searching = Searching { matcher, multiline, before: 0, after: 0, most: 1 };
    !searching.entries(text.as_bytes()).is_empty()
}

fn matcher(pattern: &str, ignore_case: bool, multiline: bool) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).multi_line(true);
    builder.size_limit(GREP_COMPILED_BYTES).dfa_size_limit(GREP_COMPILED_BYTES);
    match multiline {
        true => builder.dot_matches_new_line(true),
        false => builder.line_terminator(Some(b'\n')),
    };
    builder.build(pattern).map_err(|error| error.to_string())
}

/// Converts a pattern from the basic regular expression syntax of `grep` without `-E`, if it
/// contains `\|`. In that syntax, `( ) { } + ?` are literal, and special after a backslash.
fn basic(pattern: &str) -> Option<String> {
    if !pattern.contains(r"\|") {
        return None;
    }
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(special @ ('|' | '(' | ')' | '{' | '}' | '+' | '?')) if !in_class => out.push(special),
                Some(other) => out.extend(['\\', other]),
                None => out.push_str(r"\\"),
            },
            '(' | ')' | '{' | '}' | '+' | '?' if !in_class => out.extend(['\\', c]),
            '[' | ']' => {
                in_class = c == '[';
                out.push(c);
            }
            c => out.push(c),
        }
    }
    Some(out)
}

/// Returns the pattern without its look-around groups, which matches at least as much, and the
/// removed groups.
fn without_look_around(pattern: &str) -> Option<(String, String)> {
    let (mut kept, mut left_out) = (String::new(), Vec::new());
    let mut rest = pattern;
    while let Some(at) = ["(?=", "(?!", "(?<=", "(?<!"].iter().filter_map(|look| rest.find(look)).min() {
        let end = at + group_end(&rest[at..])?;
        kept.push_str(&rest[..at]);
        left_out.push(&rest[at..end]);
        rest = &rest[end..];
    }
    kept.push_str(rest);
    (!left_out.is_empty() && !kept.is_empty()).then(|| (kept, left_out.join(" ")))
}

/// Returns the end of the group that a text begins with.
fn group_end(text: &str) -> Option<usize> {
    let (mut depth, mut escaped, mut in_class) = (0usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if !in_class => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => depth += 1,
            ')' if !in_class => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Escapes every special character of a pattern.
fn escaped(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() * 2);
    for c in pattern.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_read_as_basic_where_it_has_an_escaped_bar() {
        for (given, expected) in [
            (r"foo\|bar", Some("foo|bar")),
            (r"\(a\|b\)x\+", Some("(a|b)x+")),
            (r"fn main()\|struct {", Some(r"fn main\(\)|struct \{")),
            (r"[(|)]\|\bword\b", Some(r"[(|)]|\bword\b")),
            ("foo|bar", None),
        ] {
            assert_eq!(basic(given).as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn look_around_is_taken_out_whole() {
        for (given, expected) in [
            (r"foo(?!bar)", Some(("foo", "(?!bar)"))),
            (r"(?<=fn )\w+(?=\(\))", Some((r"\w+", r"(?<=fn ) (?=\(\))"))),
            (r"a(?!(b|[)])c)d", Some(("ad", "(?!(b|[)])c)"))),
            ("a(?!b", None),
            ("plain", None),
            ("(?=all)", None),
        ] {
            let taken = without_look_around(given);
            let taken = taken.as_ref().map(|(kept, out)| (kept.as_str(), out.as_str()));
            assert_eq!(taken, expected, "{given}");
        }
    }

    #[test]
    fn what_has_no_sensible_reading_is_an_error_with_advice() {
        let error = read(r"(a)\1", false, false).err().unwrap().to_string();
        assert!(error.contains("backreferences are not supported") && error.contains("grep -P"), "{error}");
    }
}
