//! The parts of an answer that this wire stores and sends back to the model that wrote it.

use crate::fields::Fields;
use agent::Reasoning;
use serde::{Deserialize, Serialize};

/// The key under which this wire stores its own form of items.
pub(super) const WIRE: &str = "chat";

/// The field in which a server streams reasoning; it is sent back in the same field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningField {
    ReasoningContent,
    Reasoning,
}

impl ReasoningField {
    /// Returns the field in which a piece of reasoning arrived, if it arrived over this wire.
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

/// The unknown members of a message.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ExtraMembers<'a> {
    #[serde(borrow)]
    pub(super) message: Fields<'a>,
}

impl ExtraCallMembers<'_> {
    /// Returns whether nothing is stored.
    pub(super) fn is_empty(&self) -> bool {
        self.call.is_empty() && self.function.is_empty()
    }
}

/// The unknown members of a call and of its function.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ExtraCallMembers<'a> {
    #[serde(borrow, default, skip_serializing_if = "Fields::is_empty")]
    pub(super) call: Fields<'a>,
    #[serde(borrow, default, skip_serializing_if = "Fields::is_empty")]
    pub(super) function: Fields<'a>,
}
