//! What came of a call, in the form that every caller gets.

use crate::integration::Function;
use serde_json::{Value, json};
use std::time::Duration;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// `provider.function`.
    pub function: String,
    /// What the service answered, or would be sent; `Null` where the call failed.
    pub data: Value,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether nothing was sent.
    pub dry_run: bool,
    /// `read` or `write`.
    pub operation: &'static str,
    /// Whether it was made because of `force` alone.
    pub forced: bool,
    /// The account.
    pub account: String,
    /// Pages that were asked for, where there were several.
    pub pages: Option<usize>,
    /// How long it took.
    pub took: Duration,
}

impl Outcome {
    /// A call that has not been made yet.
    pub(crate) fn of(function: &Function, account: &str, dry_run: bool) -> Self {
        Self {
            function: function.full_name(),
            data: Value::Null,
            error: None,
            dry_run,
            operation: function.operation.id(),
            forced: false,
            account: account.to_owned(),
            pages: None,
            took: Duration::ZERO,
        }
    }

    /// Whether it succeeded.
    pub fn success(&self) -> bool {
        self.error.is_none()
    }

    /// `{function, success, data, error, meta{dry_run, operation, permission_bypassed, account}, duration_ms}`.
    pub fn to_json(&self) -> Value {
        let mut meta = json!({
            "dry_run": self.dry_run,
            "operation": self.operation,
            "permission_bypassed": self.forced,
            "account": self.account,
        });
        if let Some(pages) = self.pages {
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
