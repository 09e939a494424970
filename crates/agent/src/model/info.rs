//! The properties of a model: its limits, its price, what it can do and how it writes.

use crate::Price;
use std::time::Duration;

/// The properties of a model. Fields are added over time: construct it with
/// `..ModelInfo::default()`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelInfo {
    /// The full id, `provider/name`.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// What users should know before they choose it, in one sentence; the pilot states here that it
    /// is not a language model.
    pub description: Option<String>,
    /// A line with which a session on this model begins its first answer; set for stand-ins that
    /// are not language models.
    pub disclosure: Option<String>,
    /// How much it reads and writes, and how long it may be silent.
    pub limits: ModelLimits,
    /// The price of its tokens; `None` if not known, as for the user's own servers.
    pub price: Option<Price>,
    /// What it can do.
    pub abilities: ModelAbilities,
    /// How its answers are written.
    pub dialect: ModelDialect,
}

/// How much a model reads and writes, and how long it may be silent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelLimits {
    /// The size of its context in tokens.
    pub context_size: u64,
    /// The maximum size of one answer in tokens.
    pub max_output: u64,
    /// How long its server may send nothing before the implementation ends the stream with an
    /// error; `None` if the implementation has no such timeout.
    pub silence: Option<Duration>,
}

/// What a model can do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelAbilities {
    /// Whether it accepts images.
    pub images: bool,
    /// The reasoning efforts it supports, by the vendor's ids (`none`, `minimal`, `low`, `medium`,
    /// `high`, `xhigh`, `max`), the lowest first; empty if it has none or none are known.
    pub efforts: Vec<String>,
    /// Its number of parameters, if the server or the name states it.
    pub parameters: Option<u64>,
    /// How many tools it can be given, and with how long descriptions.
    pub profile: ToolProfile,
}

/// How a model's answers are written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelDialect {
    /// Whether it is known to make tool calls in the native form of its wire protocol. `false` if
    /// not known: small local models often write calls as text.
    pub native_calls: bool,
    /// The field of a Chat Completions message that holds its reasoning, in both directions, such
    /// as `reasoning_content` or `reasoning_details`; `None` if it has none or it is not known.
    pub reasoning_field: Option<String>,
}

/// How many tools a model can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolProfile {
    /// All available tools.
    #[default]
    Full,
    /// Only the most needed tools, with short descriptions: for models with few parameters or a
    /// small context.
    Small,
    /// Like [`ToolProfile::Small`], and the implementation guides the model: it gives it one narrow
    /// task after the other and makes the calls itself. For models with very few parameters, which
    /// cannot use tools on their own.
    Guided,
}

impl ToolProfile {
    /// All profiles, with their ids in settings.
    pub const ALL: [(&'static str, Self); 3] =
        [("full", Self::Full), ("small", Self::Small), ("guided", Self::Guided)];

    /// Returns its id in settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Small => "small",
            Self::Guided => "guided",
        }
    }
}
