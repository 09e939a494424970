//! Themes of the user: `themes/NAME.toml`.

use super::{Background, Role, Theme};
use ratatui_core::style::{Color, Modifier, Style};
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

/// Why a theme of the user cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ThemeError {
    /// The line of its file, from 1.
    pub line: usize,
    problem: Problem,
}

/// What is wrong with a theme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("not valid TOML: {0}")]
    NotToml(String),
    #[error("{given} is no theme to begin with{}; `base` is one of {}", hint(.nearest), Theme::SHIPPED.join(", "))]
    UnknownBase { given: String, nearest: Option<&'static str> },
    #[error("unknown key {key:?}{}", hint(.nearest))]
    UnknownKey { key: String, nearest: Option<&'static str> },
    #[error(
        "{value} is no colour for {key:?}{}; colours are \"#rrggbb\", \"default\", or one of the terminal's: {}",
        hint(.nearest),
        colour_names().join(", ")
    )]
    BadColour { key: String, value: String, nearest: Option<&'static str> },
    #[error("{key:?} is true or false, not {value}")]
    BadFlag { key: String, value: String },
}

fn hint(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// The attributes that can be on or off.
const ATTRIBUTES: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
];

/// The names of the terminal's colours.
const COLOURS: [(&str, Color); 16] = [
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("white", Color::Gray),
    ("bright-black", Color::DarkGray),
    ("bright-red", Color::LightRed),
    ("bright-green", Color::LightGreen),
    ("bright-yellow", Color::LightYellow),
    ("bright-blue", Color::LightBlue),
    ("bright-magenta", Color::LightMagenta),
    ("bright-cyan", Color::LightCyan),
    ("bright-white", Color::White),
];

fn colour_names() -> [&'static str; COLOURS.len()] {
    COLOURS.map(|(name, _)| name)
}

pub(super) fn read(name: &str, text: &str, background: Background) -> Result<Theme, ThemeError> {
    let reader = Reader { text };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        reader.wrong(at, Problem::NotToml(error.message().trim().to_owned()))
    })?;
    let table = table.get_ref();
    let base = table.iter().find(|(key, _)| key.get_ref() == BASE);
    let mut theme = match base {
        None => Theme::terminal(),
        Some((_, base)) => reader.base(base, background)?,
    };
    theme.name = name.to_owned();
    // Its variants are joined by the caller, who reads the text for both backgrounds.
    theme.variants = None;
    // In the order of the file, so that the first mistake is the one that is named.
    let mut roles: Vec<_> = table.iter().filter(|(key, _)| key.get_ref() != BASE).collect();
    roles.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in roles {
        let Some(role) = Role::ALL.into_iter().find(|role| role.id() == key.get_ref()) else {
            let known = Role::ALL.into_iter().map(Role::id).chain([BASE]);
            return Err(reader.unknown(key, known));
        };
        theme.styles[role as usize] = reader.style(role.id(), value)?;
    }
    Ok(theme)
}

/// The key of the theme that is changed.
const BASE: &str = "base";

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn base(&self, value: &Spanned<DeValue<'_>>, background: Background) -> Result<Theme, ThemeError> {
        let given = value.get_ref();
        let known = given.as_str().and_then(|base| Theme::shipped(base, background));
        known.ok_or_else(|| {
            let nearest = agent::closest(given.as_str().unwrap_or_default(), Theme::SHIPPED, |name| *name);
            self.wrong(value.span().start, Problem::UnknownBase { given: shown(given), nearest })
        })
    }

    fn style(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Style, ThemeError> {
        let DeValue::Table(parts) = value.get_ref() else {
            return Ok(self.colour(key, value)?.style(Style::fg));
        };
        let mut style = Style::new();
        for (part, value) in parts {
            let name = part.get_ref().as_ref();
            let key = format!("{key}.{name}");
            if let Some((_, modifier)) = ATTRIBUTES.iter().find(|(attribute, _)| *attribute == name) {
                let is_on = value.get_ref().as_bool().ok_or_else(|| {
                    let value_shown = shown(value.get_ref());
                    self.wrong(value.span().start, Problem::BadFlag { key, value: value_shown })
                })?;
                style = if is_on { style.add_modifier(*modifier) } else { style };
                continue;
            }
            style = match name {
                "fg" => style.patch(self.colour(&key, value)?.style(Style::fg)),
                "bg" => style.patch(self.colour(&key, value)?.style(Style::bg)),
                _ => {
                    let known = ATTRIBUTES.into_iter().map(|(name, _)| name).chain(["fg", "bg"]);
                    return Err(self.unknown(part, known));
                }
            };
        }
        Ok(style)
    }

    fn colour(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Given, ThemeError> {
        let text = value.get_ref().as_str();
        let colour = text.and_then(|text| match text.strip_prefix('#') {
            Some(digits) if digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u32::from_str_radix(digits, 16).ok().map(|rgb| Given(Some(Color::from_u32(rgb))))
            }
            Some(_) => None,
            None if text == "default" => Some(Given(None)),
            None => COLOURS.iter().find(|(name, _)| *name == text).map(|(_, colour)| Given(Some(*colour))),
        });
        colour.ok_or_else(|| {
            let known = colour_names().into_iter().chain(["default"]);
            let nearest = agent::closest(text.unwrap_or_default(), known, |name| *name);
            let (key, value_shown) = (key.to_owned(), shown(value.get_ref()));
            self.wrong(value.span().start, Problem::BadColour { key, value: value_shown, nearest })
        })
    }

    fn unknown(
        &self,
        key: &Spanned<DeString<'_>>,
        known: impl IntoIterator<Item = &'static str>,
    ) -> ThemeError {
        let nearest = agent::closest(key.get_ref(), known, |name| *name);
        self.wrong(key.span().start, Problem::UnknownKey { key: key.get_ref().to_string(), nearest })
    }

    fn wrong(&self, at: usize, problem: Problem) -> ThemeError {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        ThemeError { line: 1 + before.iter().filter(|byte| **byte == b'\n').count(), problem }
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
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Boolean(is_on) => is_on.to_string(),
        DeValue::Float(_) => "a fraction".to_owned(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
