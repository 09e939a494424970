//! Lua patterns, as defined in the Lua manual (section 6.4.1), with a time limit.
//!
//! The interpreter's own matcher is C code that no hook can interrupt, and some patterns take
//! practically unlimited time. This matcher checks the limits regularly.

use crate::{
    limits::{CAPTURES, PATTERN_DEPTH, PATTERN_STEPS},
    run_clock::RunClock,
};

/// A match of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    /// The index of the first byte.
    pub(crate) start: usize,
    /// The index after the last byte.
    pub(crate) end: usize,
    /// The captures.
    pub(crate) captures: Vec<Capture>,
}

/// The value of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capture {
    /// A range of bytes.
    Span(usize, usize),
    /// A position: `()`.
    Position(usize),
}

/// Matches a pattern (without a leading `^`) at exactly one position.
pub(crate) fn match_at(
    subject: &[u8],
    pattern: &[u8],
    start: usize,
    run_clock: &RunClock,
) -> mlua::Result<Option<Match>> {
    let mut matcher = Matcher { subject, pattern, open: Vec::new(), depth: 0, steps: 0, run_clock };
    let Some(end) = matcher.match_here(start, 0)? else { return Ok(None) };
    let captures = matcher.open.iter().map(|group| match group.end {
        GroupEnd::At(end) => Ok(Capture::Span(group.start, end)),
        GroupEnd::Position => Ok(Capture::Position(group.start)),
        GroupEnd::Open => Err(pattern_error("unfinished capture")),
    });
    Ok(Some(Match { start, end, captures: captures.collect::<mlua::Result<_>>()? }))
}

/// Finds the first match at or after a position; a leading `^` allows a match at that position
/// only.
pub(crate) fn search(
    subject: &[u8],
    pattern: &[u8],
    from: usize,
    run_clock: &RunClock,
) -> mlua::Result<Option<Match>> {
    if let Some(pattern) = pattern.strip_prefix(b"^") {
        return match_at(subject, pattern, from, run_clock);
    }
    for start in from..=subject.len() {
        // Many short attempts must check the limits as well.
        if start % PATTERN_STEPS as usize == 0 {
            run_clock.check()?;
        }
        if let Some(found) = match_at(subject, pattern, start, run_clock)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns whether a pattern contains no special characters.
pub(crate) fn is_plain(pattern: &[u8]) -> bool {
    !pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte))
}

struct Group {
    start: usize,
    end: GroupEnd,
}

#[derive(Clone, Copy, PartialEq)]
enum GroupEnd {
    Open,
    Position,
    At(usize),
}

struct Matcher<'a> {
    subject: &'a [u8],
    pattern: &'a [u8],
    open: Vec<Group>,
    depth: u32,
    steps: u32,
    run_clock: &'a RunClock,
}

impl Matcher<'_> {
    /// Matches the rest of the pattern, from `p`, at `s`. Returns the end of the match.
    fn match_here(&mut self, s: usize, p: usize) -> mlua::Result<Option<usize>> {
        if self.depth >= PATTERN_DEPTH {
            return Err(pattern_error("pattern too complex"));
        }
        self.depth += 1;
        let end = self.match_rest(s, p);
        self.depth -= 1;
        end
    }

    fn match_rest(&mut self, mut s: usize, mut p: usize) -> mlua::Result<Option<usize>> {
        loop {
            self.count_step()?;
            let Some(&byte) = self.pattern.get(p) else { return Ok(Some(s)) };
            match (byte, self.pattern.get(p + 1)) {
                (b'(', Some(b')')) => return self.group(s, p + 2, GroupEnd::Position),
                (b'(', _) => return self.group(s, p + 1, GroupEnd::Open),
                (b')', _) => return self.close(s, p + 1),
                (b'$', None) => return Ok((s == self.subject.len()).then_some(s)),
                (b'%', Some(b'b')) => match self.match_balanced(s, p + 2)? {
                    Some(end) => (s, p) = (end, p + 4),
                    None => return Ok(None),
                },
                (b'%', Some(b'f')) => {
                    p += 2;
                    if self.pattern.get(p) != Some(&b'[') {
                        return Err(pattern_error("missing '[' after '%f' in pattern"));
                    }
                    let end = self.item_end(p)?;
                    let before = s.checked_sub(1).map_or(0, |at| self.subject[at]);
                    let after = self.subject.get(s).copied().unwrap_or(0);
                    if self.in_set(before, p, end) || !self.in_set(after, p, end) {
                        return Ok(None);
                    }
                    p = end;
                }
                (b'%', Some(digit @ b'0'..=b'9')) => match self.match_back_reference(s, *digit)? {
                    Some(end) => (s, p) = (end, p + 2),
                    None => return Ok(None),
                },
                _ => {
                    let end = self.item_end(p)?;
                    let item_matches = self.item_matches(s, p, end);
                    match self.pattern.get(end) {
                        Some(b'?') => {
                            if item_matches && let Some(end) = self.match_here(s + 1, end + 1)? {
                                return Ok(Some(end));
                            }
                            p = end + 1;
                        }
                        Some(b'*') => return self.match_longest(s, p, end),
                        Some(b'+') => {
                            return if item_matches { self.match_longest(s + 1, p, end) } else { Ok(None) };
                        }
                        Some(b'-') => return self.match_shortest(s, p, end),
                        _ if item_matches => (s, p) = (s + 1, end),
                        _ => return Ok(None),
                    }
                }
            }
        }
    }

    fn match_longest(&mut self, s: usize, p: usize, end: usize) -> mlua::Result<Option<usize>> {
        let mut count = 0;
        while self.item_matches(s + count, p, end) {
            self.count_step()?;
            count += 1;
        }
        loop {
            if let Some(found) = self.match_here(s + count, end + 1)? {
                return Ok(Some(found));
            }
            match count {
                0 => return Ok(None),
                _ => count -= 1,
            }
        }
    }

    fn match_shortest(&mut self, mut s: usize, p: usize, end: usize) -> mlua::Result<Option<usize>> {
        loop {
            if let Some(found) = self.match_here(s, end + 1)? {
                return Ok(Some(found));
            }
            if !self.item_matches(s, p, end) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn group(&mut self, s: usize, p: usize, end: GroupEnd) -> mlua::Result<Option<usize>> {
        if self.open.len() >= CAPTURES {
            return Err(pattern_error("too many captures"));
        }
        self.open.push(Group { start: s, end });
        let found = self.match_here(s, p)?;
        if found.is_none() {
            self.open.pop();
        }
        Ok(found)
    }

    fn close(&mut self, s: usize, p: usize) -> mlua::Result<Option<usize>> {
        let Some(at) = self.open.iter().rposition(|group| group.end == GroupEnd::Open) else {
            return Err(pattern_error("invalid pattern capture"));
        };
        self.open[at].end = GroupEnd::At(s);
        let found = self.match_here(s, p)?;
        if found.is_none() {
            self.open[at].end = GroupEnd::Open;
        }
        Ok(found)
    }

    /// Matches `%bxy`: from an `x` to the corresponding `y`.
    fn match_balanced(&mut self, s: usize, p: usize) -> mlua::Result<Option<usize>> {
        let (Some(&opens), Some(&closes)) = (self.pattern.get(p), self.pattern.get(p + 1)) else {
            return Err(pattern_error("malformed pattern (missing arguments to '%b')"));
        };
        if self.subject.get(s) != Some(&opens) {
            return Ok(None);
        }
        let mut depth = 1;
        for at in s + 1..self.subject.len() {
            self.count_step()?;
            let byte = self.subject[at];
            if byte == closes {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            } else if byte == opens {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// Matches `%1`: the text of an earlier capture.
    fn match_back_reference(&mut self, s: usize, digit: u8) -> mlua::Result<Option<usize>> {
        let group = usize::from(digit).checked_sub(usize::from(b'1')).and_then(|at| self.open.get(at));
        let Some((start, GroupEnd::At(end))) = group.map(|group| (group.start, group.end)) else {
            return Err(pattern_error(&format!("invalid capture index %{} in pattern", char::from(digit))));
        };
        let same = self.subject[s..].starts_with(&self.subject[start..end]);
        Ok(same.then_some(s + end - start))
    }

    /// Returns the end of the single-character item that begins at `p`.
    fn item_end(&self, p: usize) -> mlua::Result<usize> {
        match self.pattern[p] {
            b'%' if p + 1 >= self.pattern.len() => Err(pattern_error("malformed pattern (ends with '%')")),
            b'%' => Ok(p + 2),
            b'[' => {
                let mut at = p + 1;
                if self.pattern.get(at) == Some(&b'^') {
                    at += 1;
                }
                // A bracket in the first position belongs to the set.
                loop {
                    match self.pattern.get(at) {
                        None => return Err(pattern_error("malformed pattern (missing ']')")),
                        Some(b'%') => at += 2,
                        Some(_) => at += 1,
                    }
                    if self.pattern.get(at) == Some(&b']') {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    fn item_matches(&self, s: usize, p: usize, end: usize) -> bool {
        let Some(&byte) = self.subject.get(s) else { return false };
        match self.pattern[p] {
            b'.' => true,
            b'%' => in_class(byte, self.pattern[p + 1]),
            b'[' => self.in_set(byte, p, end),
            other => other == byte,
        }
    }

    /// Returns whether a byte is in the set between the bracket at `p` and the one before `end`.
    fn in_set(&self, byte: u8, p: usize, end: usize) -> bool {
        let mut set = &self.pattern[p + 1..end - 1];
        let inverted = set.first() == Some(&b'^');
        if inverted {
            set = &set[1..];
        }
        let mut at = 0;
        while let Some(&item) = set.get(at) {
            let hit = if item == b'%' && at + 1 < set.len() {
                at += 2;
                in_class(byte, set[at - 1])
            } else if set.get(at + 1) == Some(&b'-') && at + 2 < set.len() {
                at += 3;
                (item..=set[at - 1]).contains(&byte)
            } else {
                at += 1;
                item == byte
            };
            if hit {
                return !inverted;
            }
        }
        inverted
    }

    fn count_step(&mut self) -> mlua::Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(PATTERN_STEPS) { self.run_clock.check() } else { Ok(()) }
    }
}

fn in_class(byte: u8, class: u8) -> bool {
    let inside = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        _ => return class == byte,
    };
    inside != class.is_ascii_uppercase()
}

fn pattern_error(what: &str) -> mlua::Error {
    mlua::Error::RuntimeError(what.to_owned())
}
