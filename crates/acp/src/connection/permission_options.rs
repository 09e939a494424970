//! The options of a permission request, shared by all protocol versions.

use agent::{PermissionOutcome, PermissionRequest};

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const ALLOW_FOR_USER: &str = "allow_for_user";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// Returns the options of a permission request as pairs of id and name.
///
/// The id is that of the option's kind, except for `allow_for_user`, whose kind is `allow_always`.
/// The request says which lasting decisions are offered.
pub(crate) fn options(request: &PermissionRequest) -> Vec<(&'static str, String)> {
    let (grant, rule) = (&request.grant_label, request.remedy.user_rule.as_ref().map(ToString::to_string));
    let lasting = !grant.is_empty();
    let all = [
        (ALLOW_ONCE, "Allow".to_owned(), true),
        (ALLOW_ALWAYS, format!("Always allow: {grant}"), lasting),
        (
            ALLOW_FOR_USER,
            format!(
                "Always allow in all sessions: add {} to your settings",
                rule.as_deref().unwrap_or_default()
            ),
            rule.is_some(),
        ),
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
        ALLOW_FOR_USER => PermissionOutcome::AllowForUser,
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
