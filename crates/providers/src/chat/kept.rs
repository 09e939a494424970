//! What this wire keeps of an answer for the model that wrote it.

use crate::fields::Fields;
use agent::Reasoning;
use serde::{Deserialize, Serialize};

/// Which field a server streams reasoning in; it goes back in the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningField {
    ReasoningContent,
    Reasoning,
}

impl ReasoningField {
    /// The field that a piece of reasoning came in, if it came over this wire.
    pub(super) fn of(reasoning: &Reasoning) -> Option<Self> {
        let opaque = reasoning.opaque.as_deref()?;
        [Self::ReasoningContent, Self::Reasoning].into_iter().find(|field| field.opaque() == opaque)
    }

    pub(super) fn opaque(self) -> &'static str {
        match self {
            Self::ReasoningContent => r#"{"field":"reasoning_content"}"#,
            Self::Reasoning => r#"{"field":"reasoning"}"#,
        }
    }
}

/// What came in a message beside what is known.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept<'a> {
    #[serde(borrow)]
    pub(super) message: Fields<'a>,
}

impl KeptCall<'_> {
    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.call.is_empty() && self.function.is_empty()
    }
}

/// What came in a call and in its function beside what is known.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct KeptCall<'a> {
    #[serde(borrow, default, skip_serializing_if = "Fields::is_empty")]
    pub(super) call: Fields<'a>,
    #[serde(borrow, default, skip_serializing_if = "Fields::is_empty")]
    pub(super) function: Fields<'a>,
}
