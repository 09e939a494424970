//! The content of prompts, messages and tool results.

/// A piece of a prompt or of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Plain text (Markdown).
    Text(String),
    /// An image.
    Image {
        /// Its media type, such as `image/png`.
        mime_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// A file or other resource that the client references without its content.
    ResourceLink {
        /// Its URI, usually `file://…`.
        uri: String,
        /// Its name, from the client.
        name: String,
    },
    /// A resource embedded with its text.
    Resource {
        /// Its URI.
        uri: String,
        /// Its media type, if known.
        mime_type: Option<String>,
        /// Its text.
        text: String,
    },
}

impl Content {
    /// Creates plain text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns whether Tiller itself added it to a prompt of the user, such as the note of a hook.
    pub fn is_added(&self) -> bool {
        matches!(self, Self::Resource { uri, .. } if uri.starts_with("tiller:"))
    }
}

/// A change of one file, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The file, absolute.
    pub path: system::AbsPath,
    /// The text before; `None` for a new file.
    pub old_text: Option<String>,
    /// The text after; `None` when the file is deleted.
    pub new_text: Option<String>,
}

/// Content that a tool call shows to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolContent {
    /// Text or an image.
    Content(Content),
    /// A change of a file.
    Diff(Diff),
    /// A terminal that the client runs and shows.
    Terminal(system::TerminalId),
}

/// A location that a tool call works on, for clients that follow along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file or directory, absolute.
    pub path: system::AbsPath,
    /// The 1-based line, if relevant.
    pub line: Option<usize>,
}
