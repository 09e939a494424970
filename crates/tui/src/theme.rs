//! What each part of the interface looks like.

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

/// The styles of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Its name, as in the setting `ui.theme`.
    pub name: String,
    /// Whether colours are shown; modifiers (bold, dim, reverse) always are.
    pub colour: bool,
}

impl Theme {
    /// Returns the default theme: the terminal's own 16 colours on its own background.
    pub fn terminal() -> Self {
        Self { name: "terminal".to_owned(), colour: true }
    }

    /// Returns the style of a role.
    pub fn style(&self, role: Role) -> Style {
        let style = Style::new();
        let style = match role {
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
        };
        if self.colour { style } else { Style { fg: None, bg: None, ..style } }
    }
}
