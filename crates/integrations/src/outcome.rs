//! The outcome of a call, in the format that all callers receive.

use crate::integration::Function;
use serde_json::{Value, json};
use std::time::Duration;

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The function, as `provider.function`.
    pub function: String,
    /// The response's data, or the request of a dry run; `Null` if the call failed.
    pub data: Value,
    /// The reason for a failure.
    pub error: Option<String>,
    /// How the call was made.
    pub meta: CallMeta,
    /// The duration of the call.
    pub took: Duration,
}

/// How a call was made.
#[derive(Debug, Clone, PartialEq)]
pub struct CallMeta {
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// `read` or `write`.
    pub operation: &'static str,
    /// Whether the call was permitted by `force` alone.
    pub forced: bool,
    /// The account's name.
    pub account: String,
    /// The number of requested pages, if all were requested.
    pub pages: Option<usize>,
}

impl Outcome {
    /// Creates the outcome of a call that is about to be made.
    pub(crate) fn of(function: &Function, account: &str, dry_run: bool) -> Self {
        Self {
            function: function.full_name(),
            data: Value::Null,
            error: None,
            meta: CallMeta {
                dry_run,
                operation: function.operation.id(),
                forced: false,
                account: account.to_owned(),
                pages: None,
            },
            took: Duration::ZERO,
        }
    }

    /// Returns whether the call succeeded.
    pub fn success(&self) -> bool {
        self.error.is_none()
    }

    /// Returns `{function, success, data, error, meta{dry_run, operation, permission_bypassed,
    /// account}, duration_ms}`.
    pub fn to_json(&self) -> Value {
        let mut meta = json!({
            "dry_run": self.meta.dry_run,
            "operation": self.meta.operation,
            "permission_bypassed": self.meta.forced,
            "account": self.meta.account,
        });
        if let Some(pages) = self.meta.pages {
            meta["pages"] = json!(pages);
        }
        json!({
            "function": self.function,
            "success": self.success(),
            "data": self.data,
            "error": self.error,
            "meta": meta,
            "duration_ms": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        })
    }
}
