//! Themes of the user: `themes/NAME.toml`.

use super::{Background, Role, Theme};
use ratatui_core::style::{Color, Modifier, Style};
use toml::{Table, Value};

/// Why a theme of the user cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// The text is not TOML.
    #[error("the theme {name:?} is not valid TOML: {error}")]
    NotToml {
        /// The theme.
        name: String,
        /// What is wrong, and where.
        error: String,
    },
    /// The base is not a theme that comes with Tiller.
    #[error("the theme {name:?} is based on {base}; use one of {}", Theme::SHIPPED.join(", "))]
    UnknownBase {
        /// The theme.
        name: String,
        /// The base, as it is in the file.
        base: String,
    },
    /// A key is no role and no attribute of a style.
    #[error("the theme {name:?} has the unknown key {key:?}; did you mean {nearest:?}?")]
    UnknownKey {
        /// The theme.
        name: String,
        /// The key.
        key: String,
        /// The most similar key.
        nearest: &'static str,
    },
    /// A value is no colour, or neither true nor false.
    #[error(
        "the theme {name:?} has {value} for {key:?}; colours are \"#rrggbb\", \"default\" or one of the terminal's \
         (\"red\", \"bright-red\", …), attributes true or false"
    )]
    BadValue {
        /// The theme.
        name: String,
        /// The key.
        key: String,
        /// The value, as it is in the file.
        value: String,
    },
}

/// The attributes that can be on or off.
const ATTRIBUTES: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
];

/// The names of the terminal's colours; the same with `bright-` are the eight others.
const NAMES: [(&str, Color, Color); 8] = [
    ("black", Color::Black, Color::DarkGray),
    ("red", Color::Red, Color::LightRed),
    ("green", Color::Green, Color::LightGreen),
    ("yellow", Color::Yellow, Color::LightYellow),
    ("blue", Color::Blue, Color::LightBlue),
    ("magenta", Color::Magenta, Color::LightMagenta),
    ("cyan", Color::Cyan, Color::LightCyan),
    ("white", Color::Gray, Color::White),
];

pub(super) fn read(name: &str, text: &str, background: Background) -> Result<Theme, ThemeError> {
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| ThemeError::NotToml {
        name: name.to_owned(),
        error: error.to_string(),
    })?;
    let reader = Reader { name };
    let mut theme = match table.remove("base") {
        None => Theme::terminal(),
        Some(base) => {
            let known = base.as_str().and_then(|base| Theme::shipped(base, background));
            known.ok_or_else(|| ThemeError::UnknownBase { name: name.to_owned(), base: shown(&base) })?
        }
    };
    theme.name = name.to_owned();
    // Its variants are joined by the caller, who reads the text for both backgrounds.
    theme.variants = None;
    for (key, value) in &table {
        let Some(role) = Role::ALL.into_iter().find(|role| role.id() == key) else {
            return Err(reader.unknown(key, Role::ALL.map(Role::id).into_iter().chain(["base"])));
        };
        theme.styles[role as usize] = reader.style(key, value)?;
    }
    Ok(theme)
}

struct Reader<'a> {
    name: &'a str,
}

impl Reader<'_> {
    fn style(&self, key: &str, value: &Value) -> Result<Style, ThemeError> {
        let Value::Table(parts) = value else { return Ok(self.colour(key, value)?.style(Style::fg)) };
        let mut style = Style::new();
        for (part, value) in parts {
            let key = format!("{key}.{part}");
            if let Some((_, modifier)) = ATTRIBUTES.iter().find(|(name, _)| name == part) {
                let is_on = value.as_bool().ok_or_else(|| self.bad(&key, value))?;
                style = if is_on { style.add_modifier(*modifier) } else { style };
                continue;
            }
            style = match part.as_str() {
                "fg" => style.patch(self.colour(&key, value)?.style(Style::fg)),
                "bg" => style.patch(self.colour(&key, value)?.style(Style::bg)),
                _ => {
                    let known = ATTRIBUTES.iter().map(|(name, _)| *name).chain(["fg", "bg"]);
                    return Err(self.unknown(part, known));
                }
            };
        }
        Ok(style)
    }

    fn colour(&self, key: &str, value: &Value) -> Result<Given, ThemeError> {
        let colour = value.as_str().and_then(|text| match text.strip_prefix('#') {
            Some(digits) if digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u32::from_str_radix(digits, 16).ok().map(|rgb| Given(Some(Color::from_u32(rgb))))
            }
            Some(_) => None,
            None if text == "default" => Some(Given(None)),
            None => {
                let (plain, is_bright) = match text.strip_prefix("bright-") {
                    Some(plain) => (plain, true),
                    None => (text, false),
                };
                let (_, normal, bright) = NAMES.iter().find(|(name, ..)| *name == plain)?;
                Some(Given(Some(if is_bright { *bright } else { *normal })))
            }
        });
        colour.ok_or_else(|| self.bad(key, value))
    }

    fn bad(&self, key: &str, value: &Value) -> ThemeError {
        ThemeError::BadValue { name: self.name.to_owned(), key: key.to_owned(), value: shown(value) }
    }

    fn unknown(&self, key: &str, known: impl Iterator<Item = &'static str>) -> ThemeError {
        let nearest = known.min_by_key(|name| strsim::damerau_levenshtein(name, key)).unwrap_or("base");
        ThemeError::UnknownKey { name: self.name.to_owned(), key: key.to_owned(), nearest }
    }
}

/// A colour; `None` is the terminal's default.
struct Given(Option<Color>);

impl Given {
    fn style(&self, set: fn(Style, Color) -> Style) -> Style {
        self.0.map_or_else(Style::new, |colour| set(Style::new(), colour))
    }
}

/// Returns a value as it is in the file, as far as that is short.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(is_on) => is_on.to_string(),
        other => format!("a value of the type {}", other.type_str()),
    }
}
