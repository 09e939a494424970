//! The result of a run.

use crate::limits::MEGABYTE;
use agent::{ToolLimits, tools::cap};
use serde_json::Value;
use std::{fmt::Write as _, time::Duration};

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The printed text.
    pub output: String,
    /// The error, if the script failed.
    pub error: Option<String>,
    /// The returned values as text, if there are any.
    pub value: Option<String>,
    /// The returned values as JSON; a value that JSON cannot represent is given as text.
    pub values: Vec<Value>,
    /// Whether the run was cancelled.
    pub cancelled: bool,
    /// The wall time of the run.
    pub took: Duration,
    /// The memory of the interpreter at the end, in bytes.
    pub memory: usize,
    /// The number of calls of functions of servers and integrations.
    pub calls: u64,
}

impl Report {
    /// Returns the complete text.
    pub fn full_text(&self) -> String {
        self.text(&ToolLimits { output_bytes: usize::MAX, output_lines: usize::MAX, ..ToolLimits::default() })
    }

    /// Returns the text for a model, within the limits. Printed text gets half of the limits,
    /// returned values three tenths, the error one tenth.
    pub fn text(&self, limits: &ToolLimits) -> String {
        let share = |tenths: usize| ToolLimits {
            output_bytes: limits.output_bytes / 10 * tenths,
            output_lines: limits.output_lines / 10 * tenths,
            ..limits.clone()
        };
        let mut text = String::new();
        if !self.output.is_empty() {
            let _ = writeln!(text, "Output:\n{}", cap(self.output.clone(), &share(5)).trim_end_matches('\n'));
        }
        if let Some(error) = &self.error {
            let _ = writeln!(text, "Error: {}", cap(error.clone(), &share(1)));
        }
        if let Some(value) = &self.value {
            let _ = writeln!(text, "Return value: {}", cap(value.clone(), &share(3)));
        }
        let _ = writeln!(text, "Execution time: {}ms", self.took.as_millis());
        #[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
        let memory = self.memory as f64 / MEGABYTE as f64;
        let _ = write!(text, "Memory: {memory:.1} MB");
        if self.calls > 0 {
            let _ = write!(text, "\nIntegration calls: {}", self.calls);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_contains_the_parts_that_exist() {
        let report = Report {
            output: "a\nb\n".to_owned(),
            value: Some("7".to_owned()),
            took: Duration::from_millis(12),
            memory: MEGABYTE + MEGABYTE / 5,
            calls: 2,
            ..Report::default()
        };
        let expected =
            "Output:\na\nb\nReturn value: 7\nExecution time: 12ms\nMemory: 1.2 MB\nIntegration calls: 2";
        assert_eq!(report.text(&ToolLimits::default()), expected);
        let report = Report { error: Some("no".to_owned()), ..Report::default() };
        assert_eq!(report.text(&ToolLimits::default()), "Error: no\nExecution time: 0ms\nMemory: 0.0 MB");
    }

    #[test]
    fn a_truncated_text_keeps_its_end() {
        let report =
            Report { output: "line\n".repeat(50_000), value: Some("v".repeat(100_000)), ..Report::default() };
        let text = report.text(&ToolLimits::default());
        assert!(text.len() < ToolLimits::default().output_bytes, "{}", text.len());
        assert!(text.contains("Return value: vvv") && text.ends_with("MB"), "{}", &text[text.len() - 80..]);
    }
}
