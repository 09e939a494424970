//! What prompts, messages and tool results are made of.

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
    /// A file or other thing that the client names without its content.
    ResourceLink {
        /// Where it is, usually `file://…`.
        uri: String,
        /// What the client calls it.
        name: String,
    },
    /// A resource embedded with its text.
    Resource {
        /// Where it comes from.
        uri: String,
        /// Its media type, if told.
        mime_type: Option<String>,
        /// Its text.
        text: String,
    },
}

impl Content {
    /// Plain text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// A change of one file, as the user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The file, absolute.
    pub path: system::AbsPath,
    /// The text before; `None` for a new file.
    pub old_text: Option<String>,
    /// The text after; `None` when the file is deleted.
    pub new_text: Option<String>,
}

/// What a tool call shows to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolContent {
    /// Text or an image.
    Content(Content),
    /// A change of a file.
    Diff(Diff),
    /// A terminal that the client runs and shows.
    Terminal(system::TerminalId),
}

/// A place a tool call works on, for clients that follow along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file or folder, absolute.
    pub path: system::AbsPath,
    /// The 1-based line, if one matters.
    pub line: Option<usize>,
}
