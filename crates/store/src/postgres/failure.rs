//! Errors of the database, as errors of the store.

use agent::StoreError;
use deadpool_postgres::PoolError;
use tokio_postgres::{Error, error::SqlState};

/// Converts an error of a statement. Its transaction changed nothing, or its outcome is unknown if
/// the connection [was lost](is_lost).
pub(super) fn failed(error: &Error) -> StoreError {
    let advice = match error.code() {
        Some(&SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE) => "it took too long; try again",
        Some(&SqlState::DISK_FULL) => "make room on the server",
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            "grant the role `tiller_app` to the user of the URL, or run `tiller store migrate` again"
        }
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => "it is a standby; name the primary in the URL",
        Some(_) if !is_lost(error) => "check the log of the server",
        None if !is_lost(error) => "this is a defect; report it",
        _ => "the connection was lost; try again",
    };
    StoreError::Io(format!("the session database: {}; {advice}", text(error)))
}

/// Converts an error of the pool.
pub(super) fn unreachable(error: &PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => cannot_connect(error),
        PoolError::Timeout(_) => StoreError::Io(
            "all connections to the session database are busy; try again, or raise its limits".to_owned(),
        ),
        other => StoreError::Io(format!("the session database cannot be reached: {other}")),
    }
}

/// Converts an error of connecting.
pub(super) fn cannot_connect(error: &Error) -> StoreError {
    let advice = match error.as_db_error() {
        Some(told) if told.message().contains("tiller_app") => {
            "run `tiller store migrate` as a user who may create roles, then grant it to the user of the URL"
        }
        _ => "check that the server runs, and the address, user and password of its URL",
    };
    StoreError::Io(format!("the session database cannot be reached: {}; {advice}", text(error)))
}

/// Whether the connection ended, or is about to: what was sent last may have taken effect.
pub(super) fn is_lost(error: &Error) -> bool {
    match error.code() {
        // Class 57P: the server stops or starts; class 08: the connection.
        Some(code) => code.code().starts_with("57P") || code.code().starts_with("08"),
        // The others are about one value or the URL.
        None => {
            let cause = std::error::Error::source(error);
            error.is_closed()
                || cause.is_some_and(|cause| cause.is::<std::io::Error>())
                || error.to_string().starts_with("unexpected message")
        }
    }
}

/// Returns the message of the server, or that of the connection with its cause.
fn text(error: &Error) -> String {
    if let Some(told) = error.as_db_error() {
        let detail = told.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        return format!("{}{detail} [{}]", told.message(), told.code().code());
    }
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
