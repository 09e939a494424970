//! Questions that tools ask the user.

use crate::ToolCallId;
use async_trait::async_trait;

/// Puts questions to the user. The default implementation has no user to ask.
#[async_trait]
pub trait AskUser: Send + Sync {
    /// Asks a question and waits for the answer without a timeout. The caller cancels by dropping
    /// the future.
    async fn ask(&self, _question: Question) -> QuestionOutcome {
        QuestionOutcome::Unavailable
    }
}

/// A question to the user that is not a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The tool call that asks.
    pub id: ToolCallId,
    /// The question's text.
    pub text: String,
    /// The possible answers; when empty, the user answers with free text.
    pub choices: Vec<Choice>,
}

/// One of several possible answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// The text of the choice; unique within a question.
    pub label: String,
    /// An explanation of the choice.
    pub detail: Option<String>,
    /// Whether the asking tool recommends this choice.
    pub recommended: bool,
}

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionOutcome {
    /// The user's free text, or the label of the chosen answer.
    Answered(String),
    /// The user declined to answer.
    Dismissed,
    /// Questions cannot be put to a user here.
    Unavailable,
}
