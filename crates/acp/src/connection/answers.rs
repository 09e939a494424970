//! What is offered to the user and what an answer comes to, in whatever version the client speaks.

use agent::{PermissionOutcome, Question, QuestionOutcome};

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// The options of a permission, each an id, which is that of its kind, and a name; `grant` says how far one that lasts reaches, and is
/// empty where none does: what asks each time is not offered to be remembered.
pub(crate) fn options(grant: &str) -> Vec<(&'static str, String)> {
    let lasting = !grant.is_empty();
    let all = [
        (ALLOW_ONCE, "Allow".to_owned(), true),
        (ALLOW_ALWAYS, format!("Always allow: {grant}"), lasting),
        (REJECT_ONCE, "Reject".to_owned(), true),
        (REJECT_ALWAYS, format!("Always reject: {grant}"), lasting),
    ];
    all.into_iter().filter(|(.., offered)| *offered).map(|(id, name, _)| (id, name)).collect()
}

/// What a chosen option means; whatever is not one of ours is a refusal.
pub(crate) fn chosen(option: &str) -> PermissionOutcome {
    match option {
        ALLOW_ONCE => PermissionOutcome::AllowOnce,
        ALLOW_ALWAYS => PermissionOutcome::AllowAlways,
        REJECT_ALWAYS => PermissionOutcome::RejectAlways,
        REJECT_ONCE => PermissionOutcome::RejectOnce,
        unknown => {
            tracing::warn!(
                option = unknown,
                "the client chose an option it was not given; taken as a refusal"
            );
            PermissionOutcome::RejectOnce
        }
    }
}

/// The one field of a form.
pub(crate) const FIELD: &str = "answer";

/// What an accepted form comes to. An answer that was not to choose, or is no text, is none.
pub(crate) fn answered(question: &Question, answer: Option<String>) -> QuestionOutcome {
    match answer {
        Some(answer) if question.choices.is_empty() || question.choices.iter().any(|c| c.label == answer) => {
            QuestionOutcome::Answered(answer)
        }
        other => {
            tracing::warn!(?other, "the client accepted a form without a proper answer");
            QuestionOutcome::Dismissed
        }
    }
}
