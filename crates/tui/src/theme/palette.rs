//! The themes with colours of their own.

use super::Role;
use ratatui_core::style::{Color, Modifier, Style};

/// A few colours that all roles share. Each is readable as text on the backgrounds that the theme
/// is for.
pub(super) struct Palette {
    /// Ordinary text.
    text: u32,
    /// Secondary text.
    dim: u32,
    /// The user.
    user: u32,
    heading: u32,
    code: u32,
    link: u32,
    added: u32,
    removed: u32,
    warning: u32,
    running: u32,
    keyword: u32,
    literal: u32,
    /// The text of matches and selected rows, and what is behind it.
    match_text: u32,
    match_behind: u32,
}

pub(super) const DARK: Palette = Palette {
    text: 0xe6e6e6,
    dim: 0xa8a8a8,
    user: 0x7fdbe6,
    heading: 0xd7a6ff,
    code: 0x8fd3e8,
    link: 0x8ab8ff,
    added: 0x8ed99a,
    removed: 0xff9d9d,
    warning: 0xf0cf7a,
    running: 0x8ab8ff,
    keyword: 0xd7a6ff,
    literal: 0x9fd99a,
    match_text: 0x101010,
    match_behind: 0xf0cf7a,
};

pub(super) const LIGHT: Palette = Palette {
    text: 0x1c1c1c,
    dim: 0x5a5a5a,
    user: 0x005f6b,
    heading: 0x6a1b9a,
    code: 0x00596b,
    link: 0x0b4fb3,
    added: 0x14602a,
    removed: 0xa81c1c,
    warning: 0x714b00,
    running: 0x0b4fb3,
    keyword: 0x6a1b9a,
    literal: 0x1d5e20,
    match_text: 0x1c1c1c,
    match_behind: 0xffd75f,
};

pub(super) const HIGH_CONTRAST_DARK: Palette = Palette {
    text: 0xffffff,
    dim: 0xe0e0e0,
    user: 0x66ffff,
    heading: 0xffc8ff,
    code: 0x99ffff,
    link: 0xb0d0ff,
    added: 0x99ff99,
    removed: 0xffb8b8,
    warning: 0xffff66,
    running: 0xb0d0ff,
    keyword: 0xffc8ff,
    literal: 0x99ff99,
    match_text: 0x000000,
    match_behind: 0xffff66,
};

pub(super) const HIGH_CONTRAST_LIGHT: Palette = Palette {
    text: 0x000000,
    dim: 0x303030,
    user: 0x003d47,
    heading: 0x430066,
    code: 0x003a47,
    link: 0x00297a,
    added: 0x003d12,
    removed: 0x6b0000,
    warning: 0x473000,
    running: 0x00297a,
    keyword: 0x430066,
    literal: 0x003d12,
    match_text: 0xffffff,
    match_behind: 0x000000,
};

/// Blue and orange, which nearly all who confuse red and green can tell apart.
pub(super) const COLOUR_BLIND_DARK: Palette = Palette {
    added: 0x7cc4ff,
    removed: 0xffb057,
    literal: 0xf0e07a,
    keyword: 0x7cc4ff,
    heading: 0xf0e07a,
    warning: 0xf0e07a,
    ..DARK
};

pub(super) const COLOUR_BLIND_LIGHT: Palette = Palette {
    added: 0x004e96,
    removed: 0x8f4300,
    literal: 0x5c4b00,
    keyword: 0x004e96,
    heading: 0x5c4b00,
    warning: 0x5c4b00,
    ..LIGHT
};

impl Palette {
    pub(super) fn style(&self, role: Role) -> Style {
        let text = |colour: u32| Style::new().fg(Color::from_u32(colour));
        match role {
            Role::Text => text(self.text),
            Role::Dim | Role::Rule | Role::Thought | Role::Comment => text(self.dim),
            Role::User => text(self.user).add_modifier(Modifier::BOLD),
            Role::Assistant | Role::Strong => text(self.text).add_modifier(Modifier::BOLD),
            Role::Heading => text(self.heading).add_modifier(Modifier::BOLD),
            Role::Emphasis | Role::Quote => text(self.text).add_modifier(Modifier::ITALIC),
            Role::Code => text(self.code),
            Role::Link => text(self.link).add_modifier(Modifier::UNDERLINED),
            Role::Added | Role::Ok => text(self.added),
            Role::Removed | Role::Error => text(self.removed),
            Role::Warning | Role::Panel => text(self.warning),
            Role::Running | Role::Name => text(self.running),
            Role::Keyword => text(self.keyword),
            Role::Literal => text(self.literal),
            Role::Selected | Role::Match => {
                text(self.match_text).bg(Color::from_u32(self.match_behind)).add_modifier(Modifier::BOLD)
            }
        }
    }
}
