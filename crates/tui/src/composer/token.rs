//! Atomic parts of a message: they are moved over and deleted as one.

use std::sync::Arc;

/// An atomic part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A long pasted text.
    Paste(Arc<str>),
    /// An attached image.
    Image(Image),
    /// A mentioned file, as it is listed.
    File(Arc<str>),
}

/// An attached image; the caller keeps its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Identifies the image to the caller.
    pub id: u64,
    /// Its number in the message, from 1.
    pub number: usize,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
}

impl Token {
    /// Returns its text on the screen, without control characters.
    pub fn label(&self) -> String {
        match self {
            Self::Paste(text) => match (text.split('\n').count(), text.chars().count()) {
                (1, characters) => format!("[pasted {characters} characters]"),
                (lines, _) => format!("[pasted {lines} lines]"),
            },
            Self::Image(Image { number, width, height, .. }) => format!("[image {number} {width}×{height}]"),
            Self::File(path) => format!("@{}", agent::one_line(path)),
        }
    }

    /// Returns the text that it stands for in the message; `None` for an image.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Paste(text) => Some(text.to_string()),
            Self::File(path) if path.contains(char::is_whitespace) => Some(format!("@\"{path}\"")),
            Self::File(path) => Some(format!("@{path}")),
            Self::Image(_) => None,
        }
    }
}
