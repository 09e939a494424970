//! Parses the text of a settings file into settings with their line numbers.

use super::{ConfigError, KEYS, Key, Place, SettingsFile, Value, ValueError};
use crate::options::Options;
use toml::de::{DeTable, DeValue};

/// A setting as written.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) key: &'static Key,
    /// The name as written, with the user's choice in place of `NAME`.
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) place: Place,
}

impl Setting {
    /// Whether it belongs to a hook.
    pub(super) fn is_of_hook(&self) -> bool {
        self.key.is_in("hooks")
    }

    /// Whether both have the same name and value.
    pub(super) fn is_same_setting(&self, other: &Self) -> bool {
        self.name == other.name && self.value == other.value
    }

    /// Applies the setting to `options`.
    pub(super) fn apply(&self, options: &mut Options) -> Result<(), ConfigError> {
        let chosen = self.key.matches(&self.name).unwrap_or_default();
        (self.key.set)(options, chosen, &self.value).map_err(|problem| ConfigError::BadValue {
            place: self.place.clone(),
            key: self.name.clone(),
            problem,
        })
    }
}

/// Returns every setting of a file, ordered by name.
///
/// # Errors
/// The first problem in the file.
pub(super) fn parse(file: &SettingsFile) -> Result<Vec<Setting>, ConfigError> {
    let table = DeTable::parse(&file.text).map_err(|error| ConfigError::Syntax {
        place: place(file, error.span().map_or(0, |span| span.start)),
        problem: error.message().to_owned(),
    })?;
    let mut settings = Vec::new();
    collect(file, "", table.get_ref(), &mut settings)?;
    Ok(settings)
}

/// Checks that a setting of that name exists.
pub(super) fn check_name(name: &str) -> Result<(), ConfigError> {
    match KEYS.iter().any(|key| key.matches(name).is_some()) {
        true => Ok(()),
        false => Err(ConfigError::NoSuchName { nearest: nearest(name), key: name.to_owned() }),
    }
}

fn collect(
    file: &SettingsFile,
    prefix: &str,
    table: &DeTable<'_>,
    settings: &mut Vec<Setting>,
) -> Result<(), ConfigError> {
    for (name, value) in table {
        let full = format!("{prefix}{}", name.get_ref());
        let place = place(file, name.span().start);
        if let Some(key) = KEYS.iter().find(|key| key.matches(&full).is_some()) {
            settings.push(Setting { key, name: full, value: convert(value.get_ref()), place });
            continue;
        }
        match value.get_ref() {
            DeValue::Table(inner) if KEYS.iter().any(|key| key.is_in(&full)) => {
                collect(file, &format!("{full}."), inner, settings)?;
            }
            _ if KEYS.iter().any(|key| key.is_in(&full)) => {
                let problem = ValueError::Group(full.clone());
                return Err(ConfigError::BadValue { place, key: full, problem });
            }
            _ => return Err(ConfigError::UnknownKey { nearest: nearest(&full), key: full, place }),
        }
    }
    Ok(())
}

fn convert(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Number(number),
            Err(_) => Value::Other("a number of that size"),
        },
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Array(items) => Value::List(items.iter().map(|item| convert(item.get_ref())).collect()),
        DeValue::Float(_) => Value::Other("a fraction"),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Table(_) => Value::Other("a table"),
    }
}

fn place(file: &SettingsFile, offset: usize) -> Place {
    let before = &file.text.as_bytes()[..offset.min(file.text.len())];
    Place::File(file.path.clone(), 1 + before.iter().filter(|byte| **byte == b'\n').count())
}

/// Returns the setting, or the group of settings, that a name was probably meant to be.
fn nearest(written: &str) -> Option<String> {
    let depth = written.split('.').count();
    let group = |key: &'static Key| {
        let cut = key.name.match_indices('.').nth(depth - 1).map_or(key.name, |(at, _)| &key.name[..at]);
        // A name that the user chooses has no typing errors.
        let parts = cut.split('.').zip(written.split('.'));
        let parts: Vec<_> = parts.map(|(own, given)| if own == "NAME" { given } else { own }).collect();
        (cut, parts.join("."))
    };
    let nearest = agent::closest(written, KEYS.iter().map(group), |(_, named)| named);
    // A user who left out the group gets the full name.
    let last = || agent::closest(written, KEYS, |key| key.name.rsplit('.').next().unwrap_or(key.name));
    nearest.map(|(cut, _)| cut).or_else(|| last().map(|key| key.name)).map(str::to_owned)
}
