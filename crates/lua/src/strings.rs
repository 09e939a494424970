//! The search functions of `string`, and `regex`.

use crate::{
    bytes,
    limits::REGEX_BYTES,
    patterns::{self, Capture, Match},
    run_clock::RunClock,
};
use mlua::{Function, Lua, LuaString, MultiValue, Table, Value};
use regex::bytes::{Captures, Regex, RegexBuilder};
use std::{cell::Cell, rc::Rc};

/// Replaces the search functions of `string` with versions that check the limits.
pub(crate) fn install(lua: &Lua, run_clock: &Rc<RunClock>) -> mlua::Result<()> {
    let string: Table = lua.globals().get("string")?;
    let clock = run_clock.clone();
    string.raw_set(
        "find",
        lua.create_function(move |lua, (s, p, init, plain): SearchArguments<Value>| {
            let (s, p) = (s.as_bytes(), p.as_bytes());
            let Some(from) = start_index(init, s.len()) else { return no_match() };
            let is_plain = !matches!(plain, Some(Value::Nil | Value::Boolean(false)) | None);
            if is_plain || patterns::is_plain(&p) {
                return match memchr::memmem::find(&s[from..], &p) {
                    None => no_match(),
                    Some(at) => match_positions(from + at, from + at + p.len(), Vec::new()),
                };
            }
            match patterns::search(&s, &p, from, &clock)? {
                None => no_match(),
                Some(found) => match_positions(found.start, found.end, captures(lua, &s, &found, false)?),
            }
        })?,
    )?;
    let clock = run_clock.clone();
    string.raw_set(
        "match",
        lua.create_function(move |lua, (s, p, init, _): SearchArguments<Value>| {
            let (s, p) = (s.as_bytes(), p.as_bytes());
            let Some(from) = start_index(init, s.len()) else { return no_match() };
            match patterns::search(&s, &p, from, &clock)? {
                None => no_match(),
                Some(found) => captures(lua, &s, &found, true).map(MultiValue::from_vec),
            }
        })?,
    )?;
    let clock = run_clock.clone();
    string.raw_set(
        "gmatch",
        lua.create_function(move |lua, (s, p, init, _): SearchArguments<Value>| {
            let at = Cell::new(start_index(init, s.as_bytes().len()).unwrap_or(usize::MAX));
            let (last, clock) = (Cell::new(None), clock.clone());
            lua.create_function(move |lua, ()| {
                let (s, p) = (s.as_bytes(), p.as_bytes());
                while at.get() <= s.len() {
                    clock.check()?;
                    match patterns::match_at(&s, &p, at.get(), &clock)? {
                        Some(found) if last.get() != Some(found.end) => {
                            at.set(found.end);
                            last.set(Some(found.end));
                            return captures(lua, &s, &found, true).map(MultiValue::from_vec);
                        }
                        _ => at.set(at.get() + 1),
                    }
                }
                no_match()
            })
        })?,
    )?;
    let clock = run_clock.clone();
    string.raw_set(
        "gsub",
        lua.create_function(move |lua, (s, p, with, most): (LuaString, LuaString, Value, Option<i64>)| {
            let with = Replacement::new(&with)?;
            let (s, p) = (s.as_bytes(), p.as_bytes());
            let (anchored, p) = match p.strip_prefix(b"^") {
                Some(rest) => (true, rest),
                None => (false, &p[..]),
            };
            let (mut out, mut at, mut last, mut count) = (Vec::new(), 0, None, 0);
            while most.is_none_or(|most| count < most) {
                clock.check()?;
                match patterns::match_at(&s, p, at, &clock)? {
                    Some(found) if last != Some(found.end) => {
                        count += 1;
                        let groups = captures(lua, &s, &found, true)?;
                        with.append(&mut out, &s[found.start..found.end], groups)?;
                        at = found.end;
                        last = Some(at);
                    }
                    _ if at < s.len() => {
                        out.push(s[at]);
                        at += 1;
                    }
                    _ => break,
                }
                check_length(&out, &clock)?;
                if anchored {
                    break;
                }
            }
            out.extend_from_slice(&s[at..]);
            Ok((bytes::string(lua, &out)?, count))
        })?,
    )
}

/// Creates the global `regex`: regular expressions with linear matching time.
pub(crate) fn regex(lua: &Lua, run_clock: &Rc<RunClock>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set(
        "match",
        lua.create_function(|lua, (s, p): (LuaString, LuaString)| {
            match compile(&p)?.captures(&s.as_bytes()) {
                None => Ok(Value::Nil),
                Some(found) => groups(lua, &found).map(Value::Table),
            }
        })?,
    )?;
    let clock = run_clock.clone();
    table.raw_set(
        "match_all",
        lua.create_function(move |lua, (s, p): (LuaString, LuaString)| {
            let all = lua.create_table()?;
            for found in compile(&p)?.captures_iter(&s.as_bytes()) {
                clock.check()?;
                all.raw_push(groups(lua, &found)?)?;
            }
            Ok(all)
        })?,
    )?;
    let clock = run_clock.clone();
    table.raw_set(
        "gsub",
        lua.create_function(move |lua, (s, p, with): (LuaString, LuaString, Value)| {
            let regex = compile(&p)?;
            let s = s.as_bytes();
            let (mut out, mut at, mut count) = (Vec::new(), 0, 0);
            for found in regex.captures_iter(&s) {
                clock.check()?;
                let whole = found.get(0).expect("a match has a whole");
                out.extend_from_slice(&s[at..whole.start()]);
                at = whole.end();
                count += 1;
                match &with {
                    Value::Function(function) => {
                        let replacement: Value = function.call(groups(lua, &found)?)?;
                        append_replacement(&mut out, whole.as_bytes(), &replacement)?;
                    }
                    other => found.expand(&text_of(other, "replacement")?, &mut out),
                }
                check_length(&out, &clock)?;
            }
            out.extend_from_slice(&s[at..]);
            Ok((bytes::string(lua, &out)?, count))
        })?,
    )?;
    Ok(table)
}

type SearchArguments<V> = (LuaString, LuaString, Option<i64>, Option<V>);

/// Returns the start index of a search; `None` if it is beyond the end.
fn start_index(init: Option<i64>, length: usize) -> Option<usize> {
    let init = init.unwrap_or(1);
    let from = match usize::try_from(init) {
        Ok(0) => 0,
        Ok(from) => from - 1,
        Err(_) => length.saturating_sub(usize::try_from(init.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    (from <= length).then_some(from)
}

fn no_match() -> mlua::Result<MultiValue> {
    Ok(MultiValue::from_vec(vec![Value::Nil]))
}

fn position(at: usize) -> Value {
    Value::Integer(i64::try_from(at).expect("a string is shorter than that"))
}

fn match_positions(start: usize, end: usize, captures: Vec<Value>) -> mlua::Result<MultiValue> {
    Ok([position(start + 1), position(end)].into_iter().chain(captures).collect())
}

/// Returns the captures; if there are none and `whole` is set, the whole match.
fn captures(lua: &Lua, s: &[u8], found: &Match, whole: bool) -> mlua::Result<Vec<Value>> {
    if found.captures.is_empty() && whole {
        return Ok(vec![bytes::string(lua, &s[found.start..found.end])?]);
    }
    let value = |capture: &Capture| match *capture {
        Capture::Position(at) => Ok(position(at + 1)),
        Capture::Span(start, end) => bytes::string(lua, &s[start..end]),
    };
    found.captures.iter().map(value).collect()
}

/// The replacement argument of `gsub`.
enum Replacement {
    Text(Vec<u8>),
    Table(Table),
    Function(Function),
}

impl Replacement {
    fn new(value: &Value) -> mlua::Result<Self> {
        Ok(match value {
            Value::Table(table) => Self::Table(table.clone()),
            Value::Function(function) => Self::Function(function.clone()),
            other => Self::Text(text_of(
                other,
                "bad argument #3 to 'gsub': string, function or table expected, not",
            )?),
        })
    }

    fn append(&self, out: &mut Vec<u8>, whole: &[u8], groups: Vec<Value>) -> mlua::Result<()> {
        match self {
            Self::Table(table) => append_replacement(out, whole, &table.get(groups[0].clone())?),
            Self::Function(function) => {
                append_replacement(out, whole, &function.call(MultiValue::from_vec(groups))?)
            }
            Self::Text(text) => {
                let mut rest = text.iter();
                while let Some(&byte) = rest.next() {
                    match byte {
                        b'%' => match rest.next() {
                            Some(b'%') => out.push(b'%'),
                            Some(b'0') => out.extend_from_slice(whole),
                            Some(digit @ b'1'..=b'9') => {
                                let group = groups.get(usize::from(digit - b'1'));
                                let Some(group) = group else {
                                    let digit = char::from(*digit);
                                    let text =
                                        format!("invalid capture index %{digit} in replacement string");
                                    return Err(mlua::Error::RuntimeError(text));
                                };
                                out.extend(text_of(group, "capture")?);
                            }
                            _ => {
                                let text = "invalid use of '%' in replacement string";
                                return Err(mlua::Error::RuntimeError(text.to_owned()));
                            }
                        },
                        byte => out.push(byte),
                    }
                }
                Ok(())
            }
        }
    }
}

/// Appends the result of a replacement function or table; `nil` and `false` keep the match.
fn append_replacement(out: &mut Vec<u8>, whole: &[u8], replacement: &Value) -> mlua::Result<()> {
    match replacement {
        Value::Nil | Value::Boolean(false) => out.extend_from_slice(whole),
        replacement => out.extend(text_of(replacement, "invalid replacement value")?),
    }
    Ok(())
}

fn text_of(value: &Value, what: &str) -> mlua::Result<Vec<u8>> {
    match value {
        Value::String(string) => Ok(string.as_bytes().to_vec()),
        Value::Integer(_) | Value::Number(_) => Ok(value.to_string()?.into_bytes()),
        other => Err(mlua::Error::RuntimeError(format!("{what} (a {})", other.type_name()))),
    }
}

fn check_length(out: &[u8], run_clock: &RunClock) -> mlua::Result<()> {
    if out.len() > run_clock.limits().memory {
        return Err(mlua::Error::MemoryError("the resulting string is too long".to_owned()));
    }
    Ok(())
}

fn compile(pattern: &LuaString) -> mlua::Result<Regex> {
    RegexBuilder::new(&bytes::text(pattern))
        .size_limit(REGEX_BYTES)
        .dfa_size_limit(REGEX_BYTES)
        .build()
        .map_err(|error| mlua::Error::RuntimeError(format!("invalid regular expression: {error}")))
}

/// Returns the whole match and its groups; a group that did not take part is an empty string.
fn groups(lua: &Lua, found: &Captures<'_>) -> mlua::Result<Table> {
    let texts = found.iter().map(|group| group.map_or(&b""[..], |group| group.as_bytes()));
    let values = texts.map(|text| bytes::string(lua, text)).collect::<mlua::Result<Vec<_>>>()?;
    lua.create_sequence_from(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunLimits;
    use tokio_util::sync::CancellationToken;

    /// Compares the results with those of the interpreter's own library, which is the reference.
    #[test]
    fn patterns_match_as_in_the_interpreters_own_library() {
        let (theirs, ours) = (Lua::new(), Lua::new());
        let run_clock = Rc::new(RunClock::new(RunLimits::default(), CancellationToken::new()));
        install(&ours, &run_clock).expect("installed");
        let script = "local s, p, i = ... \
            local function said(f, ...) local t = table.pack(pcall(f, ...)) if not t[1] then return 'error' end \
            for k = 1, t.n do t[k] = tostring(t[k]) end return table.concat(t, ' ') end \
            local all = {} for m, n in s:gmatch(p) do all[#all + 1] = tostring(m) .. tostring(n) end \
            return said(string.find, s, p, i) .. '|' .. said(string.match, s, p, i) .. '|' .. \
            said(string.gsub, s, p, '<%0>') .. '|' .. table.concat(all, ',')";
        let items = [
            "a", ".", "%a", "%D", "[ab]", "[^a]", "[%d-]", "(a)", "()", "(.)", "%b()", "%f[%w]", "^", "$",
            "b?", "%%",
        ];
        let repeats = ["", "*", "+", "-", "?"];
        let subjects = ["", "a", "aab", "b(a(1)-)2", "%1 a-b"];
        let mut patterns: Vec<String> = items
            .iter()
            .flat_map(|item| repeats.iter().map(move |repeat| format!("{item}{repeat}")))
            .collect();
        let single = patterns.clone();
        for (at, first) in single.iter().enumerate() {
            patterns.extend(single.iter().skip(at % 7).step_by(7).map(|second| format!("{first}{second}")));
        }
        patterns.extend(
            ["(a)%1", "(a(b))", "[a", "%", "(", ")", "%b", "%f", "%9", "[]", "[^]", "[]a]", "[a-]", "[%a-z]"]
                .map(str::to_owned),
        );
        for pattern in &patterns {
            for subject in subjects {
                for init in [1, 2, -1] {
                    let run = |lua: &Lua| lua.load(script).call::<String>((subject, pattern.as_str(), init));
                    match (run(&theirs), run(&ours)) {
                        (Ok(theirs), Ok(ours)) => assert_eq!(ours, theirs, "{subject:?} {pattern:?} {init}"),
                        (Err(_), Err(_)) => {}
                        (theirs, ours) => panic!("{subject:?} {pattern:?} {init}: {theirs:?}, {ours:?}"),
                    }
                }
            }
        }
    }
}
