//! The kind of an error that comes from below the commands.

use crate::{
    config::ConfigError,
    failure::{Failure, Kind, exit_of},
};
use ::providers::RefreshError;
use agent::{ModelError, RewindError, SessionError, StoreError, TurnError};
use integrations::{Blocked, CallError};
use system::SystemError;

/// Returns the failure that an error stands for: its own, wherever it is in the chain, or one
/// that is derived from the cause's type. The text has all added context.
pub(crate) fn failure_of(error: &anyhow::Error) -> Failure {
    let own = error.chain().find_map(|cause| cause.downcast_ref::<Failure>());
    let base = own.cloned().unwrap_or_else(|| {
        let kind = error.chain().find_map(kind).unwrap_or(Kind::Internal);
        let failure = Failure { exit: exit_of(error), ..Failure::new(kind, "") };
        match error.chain().find_map(model_error) {
            Some(error) => with_advice(failure, error),
            None => failure,
        }
    });
    Failure { what: format!("{error:#}"), ..base }
}

/// Returns the failure of a model, wherever it happened.
fn model_error<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a ModelError> {
    match (cause.downcast_ref::<TurnError>(), cause.downcast_ref::<SessionError>()) {
        (Some(TurnError::Model(error)), _) | (_, Some(SessionError::Model(error))) => Some(error),
        _ => cause.downcast_ref(),
    }
}

/// Adds what can be done about the failure of a model.
fn with_advice(failure: Failure, error: &ModelError) -> Failure {
    match error {
        ModelError::NotConfigured(_) => failure.next("tiller setup").next("tiller models"),
        ModelError::Auth(_) => failure.next("tiller setup").next("tiller providers status"),
        ModelError::Transport(_) | ModelError::BadResponse(_) => failure
            .hint("try again, or name a second model that goes on when the first fails: -m MODEL,OTHER")
            .next("tiller providers doctor"),
        ModelError::Overloaded(_) => failure.hint(
            "try again later, or name a second model that goes on when the first fails: -m MODEL,OTHER",
        ),
        ModelError::BadRequest(_) => failure
            .hint("change the request or choose another model: -m MODEL")
            .next("tiller models")
            .next("tiller providers doctor"),
        ModelError::ContextOverflow(_) => {
            failure.hint("choose a model with a larger context: -m MODEL").next("tiller models")
        }
        ModelError::AnswerTooLong | ModelError::NotAdmitted(_) => failure,
    }
}

/// Returns the kind of a library's error.
fn kind(cause: &(dyn std::error::Error + 'static)) -> Option<Kind> {
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        return Some(of_store(error));
    }
    if let Some(error) = cause.downcast_ref::<SessionError>() {
        return match error {
            SessionError::Store(error) => Some(of_store(error)),
            SessionError::Model(error) => Some(of_model(error)),
            SessionError::Settings(_) => Some(Kind::Config),
            SessionError::OtherFolder { .. } | SessionError::Subagent { .. } => Some(Kind::Usage),
            SessionError::NotAdmitted(_) => Some(Kind::Limit),
            SessionError::AtWork(_) => Some(Kind::Busy),
            SessionError::Closed => Some(Kind::Internal),
        };
    }
    if let Some(error) = cause.downcast_ref::<TurnError>() {
        return Some(match error {
            TurnError::Model(error) => of_model(error),
            TurnError::Store(error) => of_store(error),
            TurnError::BadPrompt(_) => Kind::Usage,
            TurnError::QueueFull(_) => Kind::Busy,
            TurnError::NotAdmitted(_) => Kind::Limit,
            TurnError::FoldersElsewhere(_) => Kind::NotFound,
            TurnError::Closed | TurnError::OwnerLost | TurnError::Earlier(_) | TurnError::Panicked(_) => {
                Kind::Internal
            }
        });
    }
    if let Some(error) = cause.downcast_ref::<RewindError>() {
        return Some(match error {
            RewindError::Store(error) => of_store(error),
            RewindError::Busy => Kind::Busy,
            RewindError::NoTurn { .. } | RewindError::NothingToRedo => Kind::NotFound,
            RewindError::Cancelled | RewindError::Closed => Kind::Internal,
        });
    }
    if let Some(error) = cause.downcast_ref::<ModelError>() {
        return Some(of_model(error));
    }
    if let Some(blocked) = cause.downcast_ref::<Blocked>() {
        return Some(of_blocked(blocked));
    }
    if let Some(error) = cause.downcast_ref::<CallError>() {
        return Some(match error {
            CallError::Blocked(blocked) => of_blocked(blocked),
            CallError::Arguments(_) => Kind::Usage,
        });
    }
    if let Some(error) = cause.downcast_ref::<RefreshError>() {
        return Some(match error {
            RefreshError::Download { .. } => Kind::Network,
            RefreshError::InvalidData { .. } => Kind::Usage,
            RefreshError::NoTarget => Kind::Config,
            RefreshError::File(error) => of_system(error),
        });
    }
    if let Some(error) = cause.downcast_ref::<SystemError>() {
        return Some(of_system(error));
    }
    if cause.is::<ConfigError>() {
        return Some(Kind::Config);
    }
    match cause.downcast_ref::<std::io::Error>()?.kind() {
        std::io::ErrorKind::NotFound => Some(Kind::NotFound),
        std::io::ErrorKind::PermissionDenied => Some(Kind::Denied),
        _ => None,
    }
}

fn of_store(error: &StoreError) -> Kind {
    match error {
        StoreError::NotFound(_) => Kind::NotFound,
        StoreError::Held { .. } | StoreError::Fenced(_) | StoreError::Unconfirmed(_) => Kind::Busy,
        StoreError::BadCursor(_) => Kind::Usage,
        StoreError::Format(_) | StoreError::Damaged(_) | StoreError::Io(_) => Kind::Internal,
    }
}

fn of_system(error: &SystemError) -> Kind {
    match error {
        SystemError::NotFound(_) => Kind::NotFound,
        SystemError::IsDirectory(_)
        | SystemError::NotRegular(_)
        | SystemError::NotText { .. }
        | SystemError::NotEncodable { .. }
        | SystemError::TooLarge { .. } => Kind::Usage,
        SystemError::Blocked(_)
        | SystemError::Unchecked(_)
        | SystemError::BlockedFound(_)
        | SystemError::Outside { .. }
        | SystemError::NotWithin(_)
        | SystemError::ReadOnly { .. } => Kind::Denied,
        SystemError::NoSandbox(_) | SystemError::NoPipes { .. } => Kind::NotAvailable,
        _ => Kind::Internal,
    }
}

fn of_blocked(blocked: &Blocked) -> Kind {
    match blocked {
        Blocked::Unknown { .. } | Blocked::NotInstalled(_) => Kind::NotFound,
        Blocked::NotRunnable(_) => Kind::NotAvailable,
        Blocked::NotActive(_) => Kind::Config,
        Blocked::Missing(_) => Kind::Usage,
        Blocked::NoCredentials { .. } => Kind::Auth,
        Blocked::Denied { .. } | Blocked::NeedsApproval { .. } => Kind::Denied,
    }
}

fn of_model(error: &ModelError) -> Kind {
    match error {
        ModelError::NotConfigured(_) => Kind::Config,
        ModelError::Auth(_) => Kind::Auth,
        ModelError::Transport(_) => Kind::Network,
        ModelError::ContextOverflow(_) | ModelError::AnswerTooLong | ModelError::NotAdmitted(_) => {
            Kind::Limit
        }
        ModelError::BadRequest(_) | ModelError::Overloaded(_) | ModelError::BadResponse(_) => Kind::Provider,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use anyhow::Context as _;

    #[test]
    fn a_failure_keeps_its_kind_and_its_advice_under_added_context() {
        let error = anyhow::Error::from(
            Failure::new(Kind::NotFound, "no session x")
                .hint("write more of it")
                .next("tiller sessions list"),
        )
        .context("session x");
        let failure = failure_of(&error);
        assert_eq!((failure.kind, failure.exit), (Kind::NotFound, Exit::Error));
        assert_eq!(failure.to_string(), "session x: no session x");
        assert_eq!(failure.hint.as_deref(), Some("write more of it"));
        assert_eq!(failure.next, ["tiller sessions list"]);
    }

    #[test]
    fn the_failure_of_a_model_says_what_to_do_next() {
        for (error, next) in [
            (ModelError::NotConfigured("x".into()), Some("tiller setup")),
            (ModelError::Auth("x".into()), Some("tiller setup")),
            (ModelError::Transport("x".into()), Some("tiller providers doctor")),
            (ModelError::BadResponse("x".into()), Some("tiller providers doctor")),
            (ModelError::BadRequest("x".into()), Some("tiller models")),
            (ModelError::ContextOverflow("x".into()), Some("tiller models")),
            (ModelError::Overloaded("x".into()), None),
        ] {
            for failure in [
                failure_of(&TurnError::Model(error.clone()).into()),
                failure_of(&SessionError::Model(error.clone()).into()),
                failure_of(&anyhow::Error::from(error.clone()).context("a")),
            ] {
                assert_eq!(failure.next.first().map(String::as_str), next, "{error:?}");
                assert!(next.is_some() || failure.hint.is_some(), "{error:?}");
            }
        }
    }

    #[test]
    fn the_kind_of_a_librarys_error_follows_from_its_type() {
        let store = |error: StoreError| anyhow::Error::from(SessionError::from(error));
        for (error, kind) in [
            (store(StoreError::NotFound("x".into())), Kind::NotFound),
            (anyhow::Error::from(StoreError::Io("disk full".into())), Kind::Internal),
            (anyhow::Error::from(ModelError::Auth("401".into())).context("a"), Kind::Auth),
            (anyhow::Error::from(ModelError::Transport("gone".into())), Kind::Network),
            (anyhow::anyhow!("no"), Kind::Internal),
            (
                RefreshError::File(SystemError::NotFound(system::AbsPath::new("/x").unwrap())).into(),
                Kind::NotFound,
            ),
            (RefreshError::Download { from: "x".into(), why: "y".into() }.into(), Kind::Network),
            (
                Err::<(), _>(std::io::Error::from(std::io::ErrorKind::NotFound)).context("f").unwrap_err(),
                Kind::NotFound,
            ),
        ] {
            assert_eq!(failure_of(&error).kind, kind, "{error:#}");
        }
    }
}
