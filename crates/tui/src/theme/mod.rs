//! What each part of the interface looks like.
//!
//! A theme is a style for each [`Role`]. `terminal`, the default, uses the 16 colours of the
//! terminal on its own background and is readable without asking for it. The others have colours of
//! their own, for a dark or a light background. Each state also has a sign or a word, so that
//! nothing is lost without colours.

mod contrast;
mod file;
mod palette;
#[cfg(test)]
mod tests;

pub use contrast::{Background, Rgb};
pub use file::ThemeError;

use agent::Ink;
use ratatui_core::style::{Color, Modifier, Style};

/// What a piece of text is; a [`Theme`] has a style for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Ordinary text.
    Text,
    /// Secondary text: details, hints, elapsed times.
    Dim,
    /// The user's name and prompt marker.
    User,
    /// Tiller's name.
    Assistant,
    /// The model's reasoning.
    Thought,
    /// A heading of Markdown.
    Heading,
    /// Emphasised text.
    Emphasis,
    /// Strongly emphasised text.
    Strong,
    /// Code in a line of text.
    Code,
    /// A link or an address.
    Link,
    /// A quotation.
    Quote,
    /// An added line of a diff.
    Added,
    /// A removed line of a diff.
    Removed,
    /// Something that went well.
    Ok,
    /// Something that needs attention.
    Warning,
    /// Something that failed.
    Error,
    /// Something in progress.
    Running,
    /// Borders and rules.
    Rule,
    /// The selected row of a list.
    Selected,
    /// A match of a search.
    Match,
    /// The frame and title of a panel that waits for an answer.
    Panel,
    /// A keyword of highlighted code.
    Keyword,
    /// A string of highlighted code.
    Literal,
    /// A comment of highlighted code.
    Comment,
    /// A function's or type's name of highlighted code.
    Name,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 25] = [
        Self::Text,
        Self::Dim,
        Self::User,
        Self::Assistant,
        Self::Thought,
        Self::Heading,
        Self::Emphasis,
        Self::Strong,
        Self::Code,
        Self::Link,
        Self::Quote,
        Self::Added,
        Self::Removed,
        Self::Ok,
        Self::Warning,
        Self::Error,
        Self::Running,
        Self::Rule,
        Self::Selected,
        Self::Match,
        Self::Panel,
        Self::Keyword,
        Self::Literal,
        Self::Comment,
        Self::Name,
    ];

    /// Returns the role as the key of a theme's file.
    pub fn id(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Dim => "dim",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Thought => "thought",
            Self::Heading => "heading",
            Self::Emphasis => "emphasis",
            Self::Strong => "strong",
            Self::Code => "code",
            Self::Link => "link",
            Self::Quote => "quote",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Running => "running",
            Self::Rule => "rule",
            Self::Selected => "selected",
            Self::Match => "match",
            Self::Panel => "panel",
            Self::Keyword => "keyword",
            Self::Literal => "literal",
            Self::Comment => "comment",
            Self::Name => "name",
        }
    }
}

/// The styles of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Its name, as in the setting `ui.theme`.
    pub name: String,
    /// Whether colours are shown; modifiers (bold, dim, reverse) always are.
    pub colour: bool,
    /// The style of each role, in the order of [`Role::ALL`].
    styles: [Style; Role::ALL.len()],
    /// The styles for a dark and for a light background, if they differ.
    variants: Option<Box<[[Style; Role::ALL.len()]; 2]>>,
}

impl Default for Theme {
    fn default() -> Self {
        Self::terminal()
    }
}

impl Theme {
    /// The names of the themes that come with Tiller.
    pub const SHIPPED: [&str; 5] = ["terminal", "dark", "light", "high-contrast", "colour-blind"];

    /// Returns the default theme: the terminal's own 16 colours on its own background.
    pub fn terminal() -> Self {
        Self::of("terminal", terminal_style)
    }

    /// Returns a theme that comes with Tiller; `None` if there is none of this name.
    ///
    /// `high-contrast` and `colour-blind` follow the terminal's background.
    pub fn shipped(name: &str, background: Background) -> Option<Self> {
        let of = |palette: &palette::Palette| Self::of(name, |role| palette.style(role));
        let theme = match name {
            "terminal" => Self::terminal(),
            "dark" => of(&palette::DARK),
            "light" => of(&palette::LIGHT),
            "high-contrast" => {
                Self::following(of(&palette::HIGH_CONTRAST_DARK), of(&palette::HIGH_CONTRAST_LIGHT))
            }
            "colour-blind" => {
                Self::following(of(&palette::COLOUR_BLIND_DARK), of(&palette::COLOUR_BLIND_LIGHT))
            }
            _ => return None,
        };
        Some(theme.on(background))
    }

    /// Joins the variants of a theme for a dark and for a light background; the dark one is in use.
    #[must_use]
    pub fn following(dark: Self, light: Self) -> Self {
        let variants = (dark.styles != light.styles).then(|| Box::new([dark.styles, light.styles]));
        Self { variants, ..dark }
    }

    /// Whether the theme has a variant for each kind of background.
    pub fn follows_background(&self) -> bool {
        self.variants.is_some()
    }

    /// Returns the variant for a background.
    #[must_use]
    pub fn on(mut self, background: Background) -> Self {
        if let Some(variants) = &self.variants {
            self.styles = match background {
                Background::Dark => variants[0],
                Background::Light => variants[1],
            };
        }
        self
    }

    /// Reads a theme of the user, the text of `themes/NAME.toml`.
    ///
    /// `base` names the shipped theme that it changes (`terminal` without one). Each other key is a
    /// role ([`Role::id`]) with a colour (`"#a0b0c0"`, `"red"`, `"bright-red"`, `"default"`) or a
    /// table of `fg`, `bg`, `bold`, `dim`, `italic`, `underline` and `reverse`, which replaces the
    /// base's style.
    ///
    /// # Errors
    /// Fails if the text is not TOML, and for an unknown key, base or colour.
    pub fn from_toml(name: &str, text: &str, background: Background) -> Result<Self, ThemeError> {
        file::read(name, text, background)
    }

    /// Returns the roles whose text is hard to read on a background: the contrast is below 4.5 : 1.
    /// The terminal's own colours are not known and count as readable.
    pub fn faint_roles(&self, background: Rgb) -> Vec<Role> {
        let is_faint = |role: &Role| {
            let style = self.style(*role);
            let is_reversed = style.add_modifier.contains(Modifier::REVERSED);
            let behind = if is_reversed { style.fg } else { style.bg };
            let text = if is_reversed { style.bg } else { style.fg };
            let of = |color: Option<Color>| color.and_then(contrast::rgb);
            match (of(text), of(behind)) {
                (None, None) => false,
                (Some(text), behind) => contrast::ratio(text, behind.unwrap_or(background)) < contrast::LEAST,
                (None, Some(behind)) => contrast::ratio(background, behind) < contrast::LEAST,
            }
        };
        Role::ALL.into_iter().filter(is_faint).collect()
    }

    /// Returns the theme without colours; modifiers stay.
    #[must_use]
    pub fn without_colour(self) -> Self {
        Self { colour: false, ..self }
    }

    /// Returns the style of a role.
    pub fn style(&self, role: Role) -> Style {
        let style = self.styles[role as usize];
        if self.colour { style } else { Style { fg: None, bg: None, ..style } }
    }

    /// Returns the style of a command's output that was written in an ink. The colours of a
    /// terminal become those of the theme, so that they are readable and nothing hides: text on a
    /// colour is shown as that colour reversed.
    pub fn ink(&self, ink: Ink, plain: Style) -> Style {
        if ink == Ink::default() {
            return plain;
        }
        // Black and white behind a text are nearly always the background, or the text reversed.
        let behind = ink.behind.filter(|behind| behind % 8 != 0);
        let mut style = match behind.or(ink.colour) {
            Some(colour) => self.ansi(colour),
            None => self.style(Role::Text),
        };
        for (modifier, on) in [
            (Modifier::BOLD, ink.bold),
            (Modifier::DIM, ink.dim),
            (Modifier::ITALIC, ink.italic),
            (Modifier::UNDERLINED, ink.underline),
            (Modifier::REVERSED, behind.is_some() != ink.reverse),
        ] {
            if on {
                style = style.add_modifier(modifier);
            }
        }
        style
    }

    /// Returns the style of one of a terminal's 16 colours: of the role that has this colour in the
    /// theme `terminal`.
    fn ansi(&self, colour: u8) -> Style {
        const ROLES: [Role; 8] = [
            Role::Dim,
            Role::Removed,
            Role::Added,
            Role::Warning,
            Role::Running,
            Role::Keyword,
            Role::Code,
            Role::Text,
        ];
        let style = self.style(ROLES[usize::from(colour % 8)]);
        let bright = match style.fg.filter(|_| colour >= 8) {
            Some(Color::Red) => Color::LightRed,
            Some(Color::Green) => Color::LightGreen,
            Some(Color::Yellow) => Color::LightYellow,
            Some(Color::Blue) => Color::LightBlue,
            Some(Color::Magenta) => Color::LightMagenta,
            Some(Color::Cyan) => Color::LightCyan,
            _ => return style,
        };
        style.fg(bright)
    }

    fn of(name: &str, style: impl Fn(Role) -> Style) -> Self {
        Self { name: name.to_owned(), colour: true, styles: Role::ALL.map(style), variants: None }
    }
}

/// Returns the style of a role in the theme `terminal`.
fn terminal_style(role: Role) -> Style {
    let style = Style::new();
    match role {
        Role::Text => style,
        Role::Dim | Role::Rule | Role::Thought | Role::Comment => style.add_modifier(Modifier::DIM),
        Role::User => style.fg(Color::Cyan).add_modifier(Modifier::BOLD),
        Role::Assistant | Role::Strong => style.add_modifier(Modifier::BOLD),
        Role::Heading => style.fg(Color::Magenta).add_modifier(Modifier::BOLD),
        Role::Emphasis | Role::Quote => style.add_modifier(Modifier::ITALIC),
        Role::Code => style.fg(Color::Cyan),
        Role::Link => style.fg(Color::Blue).add_modifier(Modifier::UNDERLINED),
        Role::Added | Role::Ok | Role::Literal => style.fg(Color::Green),
        Role::Removed | Role::Error => style.fg(Color::Red),
        Role::Warning | Role::Panel => style.fg(Color::Yellow),
        Role::Running | Role::Name => style.fg(Color::Blue),
        Role::Keyword => style.fg(Color::Magenta),
        Role::Selected | Role::Match => style.add_modifier(Modifier::REVERSED),
    }
}
