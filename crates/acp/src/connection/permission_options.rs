//! The options of a permission request, shared by all protocol versions.

use agent::PermissionOutcome;

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// Returns the options of a permission request as pairs of id and name.
///
/// The id is that of the option's kind. `grant` describes the scope of a lasting decision; if it is
/// empty, no lasting decision is offered, because the call must be approved each time.
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

/// Maps a chosen option to its outcome; an unknown option is a rejection.
pub(crate) fn permission_outcome(option: &str) -> PermissionOutcome {
    match option {
        ALLOW_ONCE => PermissionOutcome::AllowOnce,
        ALLOW_ALWAYS => PermissionOutcome::AllowAlways,
        REJECT_ALWAYS => PermissionOutcome::RejectAlways,
        REJECT_ONCE => PermissionOutcome::RejectOnce,
        unknown => {
            tracing::warn!(
                option = unknown,
                "the client chose an option that was not offered; treated as a rejection"
            );
            PermissionOutcome::RejectOnce
        }
    }
}
