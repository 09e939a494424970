//! Writes one setting into a settings file and preserves the rest of the text.

use super::{ConfigError, Place, SettingsFile, Value, ValueError, parse::parse};
use crate::options::{Directories, Options};
use toml::de::{DeTable, DeValue};
use toml_edit::{DocumentMut, Item, Table, TableLike};

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
    let Some(written) = to_toml(value) else {
        return Err(bad("takes text, a number or a flag here, or a list of such"));
    };
    // The setting is checked alone first, so that an error names the setting and not the file.
    let alone = SettingsFile { path: file.path.clone(), text: format!("{name} = {written}\n") };
    let mut options = Options::built_in(directories.clone());
    parse(&alone)?.iter().try_for_each(|setting| setting.apply(&mut options))?;
    parse(file)?;
    let text = changed(&file.text, name, written);
    let changed =
        text.map(|text| SettingsFile { path: file.path.clone(), text: with_schema_line(text, file) });
    match changed {
        Some(changed) if holds(&changed, directories, name).unwrap_or(false) => Ok(changed.text),
        _ => Err(bad("cannot be written to this file; edit the file yourself")),
    }
}

/// The first line of a file that this program creates, for editors that complete and check TOML.
/// The schema is kept beside the file.
const SCHEMA_LINE: &str = "#:schema ./settings.schema.json\n";

/// The name of the schema beside a settings file.
pub(crate) const SCHEMA_FILE: &str = "settings.schema.json";

/// Adds the line that names the schema to a file that was empty before.
fn with_schema_line(text: String, before: &SettingsFile) -> String {
    if before.text.trim().is_empty() { format!("{SCHEMA_LINE}\n{}", text.trim_start()) } else { text }
}

/// Whether a settings file names the schema beside it.
pub(crate) fn names_schema(text: &str) -> bool {
    text.starts_with(SCHEMA_LINE)
}

/// Converts a value to TOML; `None` unless it is text, a number, a flag, or a list of these.
fn to_toml(value: &serde_json::Value) -> Option<toml_edit::Value> {
    Some(match value {
        serde_json::Value::String(text) => quoted(text),
        serde_json::Value::Bool(flag) => (*flag).into(),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64()?.into(),
        },
        serde_json::Value::Array(items) => {
            let items = items.iter().map(|item| if item.is_array() { None } else { to_toml(item) });
            items.collect::<Option<toml_edit::Array>>()?.into()
        }
        serde_json::Value::Object(_) | serde_json::Value::Null => return None,
    })
}

/// Writes text as a basic string, so that the same text is always written the same way.
fn quoted(text: &str) -> toml_edit::Value {
    // JSON's escapes are a subset of TOML's.
    let written = serde_json::Value::String(text.to_owned()).to_string().replace('\u{7f}', "\\u007f");
    written.parse().unwrap_or_else(|_| text.into())
}

/// Returns the text with a new value of a setting: in place of the old value, else at the end of
/// its group. Everything else stays as it is. `None` if something else has the name of the group.
fn changed(text: &str, name: &str, mut value: toml_edit::Value) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let (groups, last) = name.rsplit_once('.').unwrap_or(("", name));
    let mut at: &mut dyn TableLike = document.as_table_mut();
    for group in groups.split('.').filter(|group| !group.is_empty()) {
        let dotted = at.is_dotted();
        let table = || {
            let mut table = Table::new();
            table.set_implicit(true);
            table.set_dotted(dotted);
            Item::Table(table)
        };
        at = at.entry(group).or_insert_with(table).as_table_like_mut()?;
    }
    match at.get_mut(last) {
        Some(item) => {
            *value.decor_mut() = item.as_value()?.decor().clone();
            *item = Item::Value(value);
        }
        None => drop(at.insert(last, Item::Value(value))),
    }
    Some(document.to_string())
}

/// Returns the text without a setting or a group of settings, and without its comments.
fn removed(text: &str, name: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let (groups, last) = name.rsplit_once('.').unwrap_or(("", name));
    let mut at: &mut dyn TableLike = document.as_table_mut();
    for group in groups.split('.').filter(|group| !group.is_empty()) {
        at = at.get_mut(group)?.as_table_like_mut()?;
    }
    at.remove(last)?;
    Some(document.to_string())
}

/// Returns the file's text with one more text in a list, unless the list has it. Comments in the
/// list stay.
///
/// # Errors
/// If the file is invalid, or the result would be.
pub(crate) fn with_item(
    file: &SettingsFile,
    directories: &Directories,
    name: &str,
    item: &str,
) -> Result<String, ConfigError> {
    let Some(setting) = parse(file)?.into_iter().find(|setting| setting.name == name) else {
        return with_setting(file, directories, name, &serde_json::json!([item]));
    };
    if matches!(&setting.value, Value::List(items) if items.contains(&Value::Text(item.to_owned()))) {
        return Ok(file.text.clone());
    }
    let changed = extended(&file.text, name, item);
    let changed = changed.map(|text| SettingsFile { path: file.path.clone(), text });
    match changed {
        Some(changed) if holds(&changed, directories, name).unwrap_or(false) => Ok(changed.text),
        _ => Err(ConfigError::BadValue {
            place: setting.place,
            key: name.to_owned(),
            problem: ValueError::Unwritable("cannot be extended in this file; edit the file yourself"),
        }),
    }
}

/// Returns the text with one more item at the end of a list, laid out as the one before it.
fn extended(text: &str, name: &str, item: &str) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let (groups, last) = name.rsplit_once('.').unwrap_or(("", name));
    let mut at: &mut dyn TableLike = document.as_table_mut();
    for group in groups.split('.').filter(|group| !group.is_empty()) {
        at = at.get_mut(group)?.as_table_like_mut()?;
    }
    let list = at.get_mut(last)?.as_array_mut()?;
    let mut item = quoted(item);
    let before = list.iter().last().and_then(|last| last.decor().prefix()?.as_str()?.rsplit_once('\n'));
    match before.map(|(_, indent)| format!("\n{indent}")) {
        Some(indent) => {
            item.decor_mut().set_prefix(indent);
            list.push_formatted(item);
        }
        None => list.push(item),
    }
    Some(document.to_string())
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
    let left: Vec<_> = before.iter().filter(|setting| setting.name != name).collect();
    let same = |text: &String| {
        let changed = SettingsFile { path: file.path.clone(), text: text.clone() };
        parse(&changed).is_ok_and(|after| {
            after.len() == left.len()
                && after.iter().zip(&left).all(|(after, left)| after.is_same_setting(left))
        })
    };
    let texts = [Some(text), removed(&file.text, name)];
    match texts.into_iter().flatten().find(same) {
        Some(text) => Ok(Some(text)),
        None => Err(ConfigError::BadValue {
            place: Place::File(file.path.clone(), 1),
            key: name.to_owned(),
            problem: ValueError::Unwritable("cannot be removed from this file; edit the file yourself"),
        }),
    }
}

/// Returns the text without a group of settings; `None` if the text is no TOML or does not have it.
pub(crate) fn without_group(text: &str, group: &str) -> Option<String> {
    removed(text, group)
}

/// Whether the file is valid and has the setting.
fn holds(file: &SettingsFile, directories: &Directories, name: &str) -> Result<bool, ConfigError> {
    let mut options = Options::built_in(directories.clone());
    let settings = parse(file)?;
    settings.iter().try_for_each(|setting| setting.apply(&mut options))?;
    Ok(settings.iter().any(|setting| setting.name == name))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use system::AbsPath;

    fn directories() -> Directories {
        let path = |text: &str| AbsPath::new(text).unwrap();
        Directories {
            settings: path("/c/config.toml"),
            home: path("/home/me"),
            config: path("/c"),
            data: path("/d"),
            cache: path("/k"),
            temp: path("/tmp"),
            folder: None,
        }
    }

    fn file(text: &str) -> SettingsFile {
        SettingsFile { path: directories().settings, text: text.to_owned() }
    }

    fn set(text: &str, name: &str, value: serde_json::Value) -> Result<String, String> {
        with_setting(&file(text), &directories(), name, &value).map_err(|error| error.to_string())
    }

    #[test]
    fn writing_a_setting_preserves_the_rest_of_the_file() {
        let mode = "tools.default_permission_mode";
        for (before, after) in [
            ("", "#:schema ./settings.schema.json\n\n[tools]\ndefault_permission_mode = \"argus\"\n"),
            (
                "# mine\n[tools]\n# how\ndefault_permission_mode = 'guardian' # so\n",
                "# mine\n[tools]\n# how\ndefault_permission_mode = \"argus\" # so\n",
            ),
            (
                "[tools]\ndenied_tools = []\n[agent]\nmode = 'edit'\n",
                "[tools]\ndenied_tools = []\ndefault_permission_mode = \"argus\"\n[agent]\nmode = 'edit'\n",
            ),
            (
                "tools.denied_tools = []\n",
                "tools.denied_tools = []\ntools.default_permission_mode = \"argus\"\n",
            ),
            (
                "tools = { denied_tools = [] }\n",
                "tools = { denied_tools = [] , default_permission_mode = \"argus\" }\n",
            ),
            ("[tools] # all\n# end\n", "[tools] # all\ndefault_permission_mode = \"argus\"\n# end\n"),
        ] {
            assert_eq!(set(before, mode, json!("argus")).unwrap(), after, "{before}");
        }
        let nested = set("tools.denied_tools = []\n", "tools.bash.timeout", json!(7)).unwrap();
        assert_eq!(nested, "tools.denied_tools = []\ntools.bash.timeout = 7\n");
        let new = set("[agent]\nmode = 'edit'\n", "providers.custom.x.base_url", json!("http://x")).unwrap();
        assert_eq!(new, "[agent]\nmode = 'edit'\n\n[providers.custom.x]\nbase_url = \"http://x\"\n");
    }

    #[test]
    fn a_removed_setting_leaves_the_rest_of_the_file() {
        let remove = |text: &str| {
            without_setting(&file(text), "agent.mode").map_err(|error| error.to_string()).unwrap()
        };
        for (before, after) in [
            ("[agent]\n# how\nmode = 'edit' # so\n# end\n", Some("[agent]\n# how\n# end\n")),
            (
                "agent = { mode = 'ask', subagent_max_depth = 2 }\n",
                Some("agent = { subagent_max_depth = 2 }\n"),
            ),
            ("agent.mode = 'ask'\n", Some("")),
            ("[tools]\n", None),
        ] {
            assert_eq!(remove(before).as_deref(), after, "{before}");
        }
    }

    #[test]
    fn an_item_is_added_to_a_list_as_it_is_laid_out() {
        let add = |text: &str| {
            with_item(&file(text), &directories(), "permissions.allow", "network(group:npm)")
                .map_err(|error| error.to_string())
        };
        for (before, after) in [
            ("[permissions]\nallow = []\n", "[permissions]\nallow = [\"network(group:npm)\"]\n"),
            (
                "[permissions]\nallow = ['bash(make)'] # mine\n",
                "[permissions]\nallow = ['bash(make)', \"network(group:npm)\"] # mine\n",
            ),
            (
                "[permissions]\nallow = [\n  # build\n  'bash(make)',\n]\n",
                "[permissions]\nallow = [\n  # build\n  'bash(make)',\n  \"network(group:npm)\",\n]\n",
            ),
            ("permissions.allow = ['network(group:npm)']\n", "permissions.allow = ['network(group:npm)']\n"),
        ] {
            assert_eq!(add(before).unwrap(), after, "{before}");
        }
        assert!(add("").unwrap().ends_with("allow = [\"network(group:npm)\"]\n"));
        assert!(add("[permissions]\nallow = 'x'\n").unwrap_err().contains("edit the file yourself"));
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
