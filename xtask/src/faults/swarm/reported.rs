//! What the program has reported of its subagents, and whether it still knows that later.

use super::script;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The subagents that were reported as requested or ended.
#[derive(Debug, Default)]
pub(in crate::faults) struct Reported {
    requested: BTreeSet<String>,
    ended: BTreeMap<String, End>,
}

/// The end of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct End {
    status: String,
    /// Its result, or why it failed.
    text: String,
}

impl Reported {
    /// Reads a message of the program.
    pub(in crate::faults) fn note(&mut self, message: &Value) {
        let entries = message["params"]["entries"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match message["method"].as_str() {
            Some("_tiller/subagent_spawned") => {
                self.requested.extend(entries.map(|entry| text(&entry["args"]["id"])));
            }
            Some("_tiller/subagent_completed") => self.ended.extend(entries.map(|entry| {
                let stats = &entry["stats"];
                (text(&stats["id"]), End { status: text(&stats["status"]), text: text(&entry["result"]) })
            })),
            _ => {}
        }
    }

    /// Adds what another process reported.
    pub(in crate::faults) fn extend(&mut self, later: Self) {
        self.requested.extend(later.requested);
        self.ended.extend(later.ended);
    }

    /// Returns the ids of the subagents that ended well after their commands had run.
    pub(in crate::faults) fn done(&self) -> Vec<String> {
        let is_done = |(id, end): &(&String, &End)| end.text.trim_end() == script::answer(id);
        self.ended.iter().filter(is_done).map(|(id, _)| id.clone()).collect()
    }

    /// Returns the ids of all subagents that have ended.
    pub(in crate::faults) fn ended(&self) -> impl Iterator<Item = &str> {
        self.ended.keys().map(String::as_str)
    }

    /// Compares the statistics of `subagents/list` with what was reported; returns the differences.
    /// If `all_ended`, no subagent may be left interrupted.
    pub(in crate::faults) fn check(&self, stats: &Value, all_ended: bool) -> Vec<String> {
        let mut problems: Vec<String> = Vec::new();
        let missing = self.requested.iter().filter(|id| stats[id.as_str()].is_null());
        problems.extend(missing.map(|id| format!("{id} was requested and is not listed")));
        for (id, end) in &self.ended {
            let now = stats[id]["status"].as_str().unwrap_or("not listed");
            // One that was cancelled may be resumed.
            if now != end.status {
                problems.push(format!("{id} was {} and is {now}", end.status));
            }
        }
        for (id, stats) in stats.as_object().into_iter().flatten() {
            let status = stats["status"].as_str().unwrap_or_default();
            let expected: &[&str] = match (id.ends_with("-fails"), all_ended) {
                (true, true) => &["failed"],
                (true, false) => &["failed", "interrupted"],
                (false, true) => &["done"],
                (false, false) => &["done", "interrupted"],
            };
            if !expected.contains(&status) {
                problems.push(format!("{id} is {status} ({})", stats["error"]));
            }
        }
        problems
    }

    /// Compares the answer of `subagents/get` with the end that was reported.
    pub(in crate::faults) fn check_result(&self, id: &str, found: &Value) -> Option<String> {
        let end = self.ended.get(id)?;
        let now = if end.status == "done" { &found["result"] } else { &found["stats"]["error"] };
        (now != end.text.as_str()).then(|| format!("the result of {id} was {:?} and is {now}", end.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reported() -> Reported {
        let mut reported = Reported::default();
        let args = |id: &str| json!({ "args": { "id": id } });
        let message = |kind: &str, entries: Value| json!({ "method": format!("_tiller/subagent_{kind}"), "params": { "entries": entries } });
        reported.note(&message("spawned", json!([args("1-a"), args("1-b"), args("1-fails")])));
        let end = |id: &str, status: &str, result: &str| json!({ "stats": { "id": id, "status": status }, "result": result });
        reported.note(&message(
            "completed",
            json!([end("1-a", "done", &script::answer("1-a")), end("1-fails", "failed", "no")]),
        ));
        reported
    }

    #[test]
    fn lost_and_changed_subagents_are_found() {
        let reported = reported();
        assert_eq!(reported.done(), ["1-a"]);
        let good = json!({ "1-a": { "status": "done" }, "1-b": { "status": "interrupted" }, "1-fails": { "status": "failed" } });
        assert_eq!(reported.check(&good, false), Vec::<String>::new());
        assert_eq!(reported.check(&good, true), ["1-b is interrupted (null)"]);
        let bad = json!({ "1-a": { "status": "interrupted" }, "1-fails": { "status": "running" } });
        let found = reported.check(&bad, false);
        assert_eq!(
            found,
            [
                "1-b was requested and is not listed",
                "1-a was done and is interrupted",
                "1-fails was failed and is running",
                "1-fails is running (null)"
            ]
        );
    }

    #[test]
    fn another_result_is_found() {
        let reported = reported();
        assert_eq!(reported.check_result("1-a", &json!({ "result": script::answer("1-a") })), None);
        assert!(reported.check_result("1-a", &json!({ "result": null })).unwrap().contains("and is null"));
        assert_eq!(reported.check_result("1-fails", &json!({ "stats": { "error": "no" } })), None);
    }
}
