//! Questions of tools to the user.

use crate::ToolCallId;
use async_trait::async_trait;

/// Whoever can be asked a question.
#[async_trait]
pub trait AskUser: Send + Sync {
    /// Asks, and waits for the answer as long as it takes; the caller cancels by dropping the future.
    async fn ask(&self, _question: Question) -> QuestionOutcome {
        QuestionOutcome::Unavailable
    }
}

/// A question to the user that is no permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The call that asks.
    pub id: ToolCallId,
    /// The question, in words.
    pub text: String,
    /// What can be chosen; any text can be answered when there is nothing to choose.
    pub choices: Vec<Choice>,
}

/// One of several answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// What is chosen; differs from those of the other choices.
    pub label: String,
    /// More about it.
    pub detail: Option<String>,
    /// Whether whoever asks would choose it.
    pub recommended: bool,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionOutcome {
    /// The user's text, or the label of a choice.
    Answered(String),
    /// The user did not want to answer.
    Dismissed,
    /// There is nobody who could be asked.
    Unavailable,
}
