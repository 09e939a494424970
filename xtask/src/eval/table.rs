//! The results as a table, with a row per agent and kind of task.

use super::result::Outcome;
use super::task::{Kind, Split};

/// Formats the tables of all results: each half of the tasks, and the comparison of agents.
pub(super) fn markdown(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for model in distinct(outcomes.iter().map(|outcome| outcome.id.model.as_str())) {
        let own: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.id.model == model).collect();
        for split in [Split::Frozen, Split::Tuned] {
            let half: Vec<&Outcome> = own.iter().copied().filter(|outcome| outcome.is_in(split)).collect();
            if !half.is_empty() {
                text += &format!("\n`{model}`, the {split} half:\n\n{}", rows(&half, true));
            }
        }
        let shared = shared(&own);
        if !shared.is_empty() {
            text +=
                &format!("\n`{model}`, side by side, what every agent has run:\n\n{}", rows(&shared, false));
        }
    }
    text.trim_start().to_owned()
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the runs of tasks and seeds that every agent has run; empty if there is only one agent.
fn shared<'a>(outcomes: &[&'a Outcome]) -> Vec<&'a Outcome> {
    let agents = distinct(outcomes.iter().map(|outcome| outcome.id.agent.as_str()));
    let has = |agent: &str, outcome: &Outcome| {
        outcomes.iter().any(|other| {
            other.id.agent == agent
                && (&other.id.task, other.id.seed) == (&outcome.id.task, outcome.id.seed)
                && other.broken.is_none()
        })
    };
    let by_all = |outcome: &&&Outcome| agents.iter().all(|agent| has(agent, outcome));
    if agents.len() < 2 { Vec::new() } else { outcomes.iter().filter(by_all).copied().collect() }
}

const HEAD: &str = "\
| agent | tasks | runs | solved | rounds | tokens | first prompt | invalid calls | lost calls | first edits right | unwanted writes | timeouts | seconds |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// Formats a table with each agent's totals, and with a row per kind if `kinds` is set.
fn rows(outcomes: &[&Outcome], kinds: bool) -> String {
    let mut text = HEAD.to_owned();
    for agent in distinct(outcomes.iter().map(|outcome| outcome.id.agent.as_str())) {
        let own: Vec<&Outcome> =
            outcomes.iter().copied().filter(|outcome| outcome.id.agent == agent).collect();
        let of = |kinds: &[Kind]| -> Vec<&Outcome> {
            own.iter().copied().filter(|outcome| kinds.iter().any(|kind| outcome.is_of(*kind))).collect()
        };
        for kind in Kind::ALL.into_iter().filter(|_| kinds) {
            text += &row(agent, kind.name(), &of(&[kind]));
        }
        let (simple, rest) = Kind::ALL.split_at(2);
        text += &row(agent, "**question and edit**", &of(simple));
        text += &row(agent, "**the rest**", &of(rest));
        text += &row(agent, "**all**", &own);
    }
    text
}

/// Formats a row; empty if there is no such run. Broken runs (no server or no agent) are mentioned
/// but not included in the figures.
fn row(agent: &str, tasks: &str, all: &[&Outcome]) -> String {
    let runs: Vec<&Outcome> = all.iter().copied().filter(|outcome| outcome.broken.is_none()).collect();
    if all.is_empty() {
        return String::new();
    }
    let broken = all.len() - runs.len();
    let count = if broken > 0 { format!("{} ({broken} broken)", runs.len()) } else { runs.len().to_string() };
    let sum = |field: fn(&Outcome) -> u64| -> u64 { runs.iter().map(|outcome| field(outcome)).sum() };
    let mean = |total: f64| format!("{:.1}", total / runs.len().max(1) as f64);
    let whole = |total: u64| format!("{:.0}", total as f64 / runs.len().max(1) as f64);
    let first: Vec<bool> = runs.iter().filter_map(|outcome| outcome.first_edit).collect();
    let calls = sum(|outcome| outcome.calls);
    let cells = [
        agent.to_owned(),
        tasks.to_owned(),
        count,
        share(sum(|outcome| u64::from(outcome.solved)), runs.len() as u64),
        mean(sum(|outcome| outcome.rounds) as f64),
        whole(sum(|outcome| outcome.prompt_tokens + outcome.answer_tokens)),
        whole(sum(|outcome| outcome.first_prompt_tokens)),
        share(sum(|outcome| outcome.invalid_calls), calls),
        share(sum(|outcome| outcome.lost_calls), calls),
        share(first.iter().filter(|right| **right).count() as u64, first.len() as u64),
        sum(|outcome| outcome.unwanted.len() as u64).to_string(),
        sum(|outcome| u64::from(outcome.ended == "timeout")).to_string(),
        mean(runs.iter().map(|outcome| outcome.seconds).sum()),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// Formats a fraction with its percentage.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    format!("{part}/{whole} ({:.0} %)", part as f64 * 100.0 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::result::RunId;

    fn outcome(agent: &str, kind: Kind, solved: bool) -> Outcome {
        let id = RunId { agent: agent.to_owned(), model: "m".to_owned(), task: "t".to_owned(), seed: 1 };
        let (kind, split) = (kind.name().to_owned(), "frozen".to_owned());
        let ended = "end_turn".to_owned();
        Outcome {
            id,
            kind,
            split,
            solved,
            ended,
            calls: 4,
            invalid_calls: 1,
            rounds: 3,
            ..Outcome::default()
        }
    }

    #[test]
    fn each_kind_has_its_row_and_all_have_one() {
        let outcomes = [
            outcome("a", Kind::Question, true),
            outcome("a", Kind::Rename, false),
            outcome("b", Kind::Question, false),
        ];
        let table = markdown(&outcomes);
        assert!(table.starts_with("`m`, the frozen half:\n"), "{table}");
        assert!(table.contains("| a | question | 1 | 1/1 (100 %) | 3.0 |"), "{table}");
        assert!(table.contains("| a | **all** | 2 | 1/2 (50 %) |"), "{table}");
        assert!(table.contains("| b | **all** | 1 | 0/1 (0 %) |"), "{table}");
        assert!(table.contains("| 1/4 (25 %) |") && !table.contains("| b | rename |"), "{table}");
    }

    #[test]
    fn agents_are_compared_on_the_tasks_that_all_of_them_ran() {
        let mut alone = outcome("a", Kind::Question, false);
        alone.id.seed = 2;
        let outcomes =
            [outcome("a", Kind::Question, true), alone.clone(), outcome("b", Kind::Question, false)];
        let table = markdown(&outcomes);
        let (_, side) = table.split_once("side by side").unwrap();
        assert!(side.contains("| a | **all** | 1 | 1/1 (100 %) |"), "{side}");
        assert!(!markdown(&[alone]).contains("side by side"));
    }

    #[test]
    fn broken_runs_are_not_counted() {
        let mut broken = outcome("a", Kind::Edit, false);
        broken.broken = Some("no server".to_owned());
        let table = markdown(&[outcome("a", Kind::Edit, true), broken]);
        assert!(table.contains("| a | edit | 1 (1 broken) | 1/1 (100 %) |"), "{table}");
    }
}
