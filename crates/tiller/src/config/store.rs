//! Writes one setting into a settings file and preserves the rest of the text.

use super::{ConfigError, Place, SettingsFile, ValueError, parse::parse};
use crate::options::{Directories, Options};
use toml::de::{DeTable, DeValue};

/// Returns the file's text with a new value of a setting.
///
/// # Errors
/// If the name or the value is invalid, or the result would not parse.
pub(crate) fn with_setting(
    file: &SettingsFile,
    directories: &Directories,
    name: &str,
    value: &serde_json::Value,
) -> Result<String, ConfigError> {
    let place = || Place::File(file.path.clone(), 1);
    let bad = |problem| ConfigError::BadValue {
        place: place(),
        key: name.to_owned(),
        problem: ValueError::Unwritable(problem),
    };
    let plain = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if !name.split('.').all(plain) {
        return Err(bad("is not the name of a setting"));
    }
    let Some(written) = format_value(value) else {
        return Err(bad("takes text, a number or a flag here, or a list of such"));
    };
    // The setting is checked alone first, so that an error names the setting and not the file.
    let alone = SettingsFile { path: file.path.clone(), text: format!("{name} = {written}\n") };
    let mut options = Options::built_in(directories.clone());
    parse(&alone)?.iter().try_for_each(|setting| setting.apply(&mut options))?;
    parse(file)?;
    for text in candidates(&file.text, name, &written) {
        let changed = SettingsFile { path: file.path.clone(), text };
        if holds(&changed, directories, name).unwrap_or(false) {
            return Ok(changed.text);
        }
    }
    Err(bad("cannot be written to this file; edit the file yourself"))
}

/// Formats a value as TOML; `None` unless it is text, a number, a flag, or a list of these.
fn format_value(value: &serde_json::Value) -> Option<String> {
    Some(match value {
        serde_json::Value::String(text) => quoted(text),
        serde_json::Value::Bool(flag) => flag.to_string(),
        serde_json::Value::Number(number) => number.to_string(),
        serde_json::Value::Array(items) => {
            let items = items.iter().map(|item| if item.is_array() { None } else { format_value(item) });
            format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "))
        }
        serde_json::Value::Object(_) | serde_json::Value::Null => return None,
    })
}

/// Returns the file's text without a setting; `None` if the file does not have it.
pub(crate) fn without_setting(file: &SettingsFile, name: &str) -> Result<Option<String>, ConfigError> {
    let before = parse(file)?;
    let Some(span) = span_of(&file.text, name) else { return Ok(None) };
    // Removes the lines from the setting's name to the end of its value.
    let name_ends = file.text[..span.start].trim_end().trim_end_matches('=').trim_end().len();
    let start = file.text[..name_ends].rfind('\n').map_or(0, |at| at + 1);
    let end = file.text[span.end..].find('\n').map_or(file.text.len(), |at| span.end + at + 1);
    let text = format!("{}{}", &file.text[..start], &file.text[end..]);
    let changed = SettingsFile { path: file.path.clone(), text };
    let left: Vec<_> = before.iter().filter(|setting| setting.name != name).collect();
    let same = parse(&changed).is_ok_and(|after| {
        after.len() == left.len() && after.iter().zip(&left).all(|(after, left)| after.is_same_setting(left))
    });
    match same {
        true => Ok(Some(changed.text)),
        false => Err(ConfigError::BadValue {
            place: Place::File(file.path.clone(), 1),
            key: name.to_owned(),
            problem: ValueError::Unwritable("cannot be removed from this file; edit the file yourself"),
        }),
    }
}

/// Whether the file is valid and has the setting.
fn holds(file: &SettingsFile, directories: &Directories, name: &str) -> Result<bool, ConfigError> {
    let mut options = Options::built_in(directories.clone());
    let settings = parse(file)?;
    settings.iter().try_for_each(|setting| setting.apply(&mut options))?;
    Ok(settings.iter().any(|setting| setting.name == name))
}

/// Returns the candidate texts, the tidiest first: over the old value, below the header of its
/// group, at the end, at the top.
fn candidates(text: &str, name: &str, written: &str) -> Vec<String> {
    if let Some(span) = span_of(text, name) {
        let mut text = text.to_owned();
        text.replace_range(span, written);
        return vec![text];
    }
    let (group, key) = name.rsplit_once('.').unwrap_or(("", name));
    let mut ways = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        offset += line.len();
        if line.trim() == format!("[{group}]") {
            let gap = if line.ends_with('\n') { "" } else { "\n" };
            ways.push(format!("{}{gap}{key} = {written}\n{}", &text[..offset], &text[offset..]));
        }
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    ways.push(format!("{text}{gap}[{group}]\n{key} = {written}\n"));
    ways.push(format!("{name} = {written}\n{text}"));
    ways
}

/// Returns the byte range of a setting's value.
fn span_of(text: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let table = DeTable::parse(text).ok()?;
    let mut parts = name.split('.').peekable();
    let mut table = table.get_ref().clone();
    loop {
        let part = parts.next()?;
        let value = table.iter().find(|(key, _)| key.get_ref() == part)?.1.clone();
        if parts.peek().is_none() {
            return Some(value.span());
        }
        match value.into_inner() {
            DeValue::Table(inner) => table = inner,
            _ => return None,
        }
    }
}

/// Formats a TOML basic string. JSON's escapes are a subset of TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use system::AbsPath;

    fn set(text: &str, name: &str, value: serde_json::Value) -> Result<String, String> {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let directories = Directories {
            settings: path("/c/config.toml"),
            home: path("/home/me"),
            config: path("/c"),
            data: path("/d"),
            cache: path("/k"),
            temp: path("/tmp"),
        };
        let file = SettingsFile { path: path("/c/config.toml"), text: text.to_owned() };
        with_setting(&file, &directories, name, &value).map_err(|error| error.to_string())
    }

    #[test]
    fn writing_a_setting_preserves_the_rest_of_the_file() {
        let mode = "tools.default_permission_mode";
        for (before, after) in [
            ("", "[tools]\ndefault_permission_mode = \"argus\"\n"),
            (
                "# mine\n[tools]\n# how\ndefault_permission_mode = 'guardian' # so\n",
                "# mine\n[tools]\n# how\ndefault_permission_mode = \"argus\" # so\n",
            ),
            (
                "[tools]\ndenied_tools = []\n[agent]\nmode = 'edit'",
                "[tools]\ndefault_permission_mode = \"argus\"\ndenied_tools = []\n[agent]\nmode = 'edit'",
            ),
            ("tools.denied_tools = []", "tools.default_permission_mode = \"argus\"\ntools.denied_tools = []"),
        ] {
            assert_eq!(set(before, mode, json!("argus")).unwrap(), after, "{before}");
        }
        assert_eq!(set("", "limits.turn_requests", json!(7)).unwrap(), "[limits]\nturn_requests = 7\n");
    }

    #[test]
    fn a_setting_that_would_be_invalid_is_not_written() {
        for (name, value, says) in [
            ("tools.default_permission_mod", json!("argus"), "did you mean"),
            ("tools.default_permission_mode", json!("canary"), "guardian"),
            ("tools.default_permission_mode", json!(7), "takes text"),
            ("tools.denied_tools", json!("x"), "takes a list"),
            ("a\nb", json!("x"), "is not the name"),
        ] {
            let problem = set("", name, value).unwrap_err();
            assert!(problem.contains(says), "{problem}");
        }
    }
}
