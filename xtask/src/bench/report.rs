//! Output of the figures, as a table and as JSON.

use super::figure::Figure;
use super::measure::Outcome;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Formats a table with one line per figure; a failed measurement has one line too.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let mut text = format!("{:<44} {:>9} {:>9} {:>9} {:>9}\n", "", "min", "median", "max", "target");
    for outcome in outcomes {
        match &outcome.figures {
            Ok(figures) => figures.iter().for_each(|figure| text += &line(figure)),
            Err(reason) => _ = writeln!(text, "{:<44} failed: {reason}", outcome.name),
        }
    }
    text
}

fn line(figure: &Figure) -> String {
    let quantity = &figure.quantity;
    let name = match quantity.unit {
        "" => quantity.name.to_owned(),
        unit => format!("{}, {unit}", quantity.name),
    };
    let Some(summary) = figure.summary() else {
        return format!("{name:<44} no sample\n");
    };
    let [min, median, max] = summary.map(number);
    let target = quantity.target.map(|target| format!("< {target}")).unwrap_or_default();
    let over = if figure.over() { "  over" } else { "" };
    let line = format!("{name:<44} {min:>9} {median:>9} {max:>9} {target:>9}{over}");
    format!("{}\n", line.trim_end())
}

/// Formats a number with three significant digits, and at most three decimals.
fn number(value: f64) -> String {
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else if value >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.digits$}")
}

/// Returns all figures as JSON, with full precision.
pub(super) fn json(binary: &Path, runs: usize, outcomes: &[Outcome]) -> Value {
    let figures: Vec<Value> = outcomes
        .iter()
        .filter_map(|outcome| outcome.figures.as_ref().ok())
        .flatten()
        .filter_map(|figure| {
            let [min, median, max] = figure.summary()?;
            let quantity = &figure.quantity;
            Some(json!({
                "name": quantity.name, "unit": quantity.unit, "target": quantity.target,
                "min": min, "median": median, "max": max, "over": figure.over(),
            }))
        })
        .collect();
    let failed = outcomes.iter().filter_map(|outcome| Some((outcome.name, outcome.figures.as_ref().err()?)));
    let failed: Vec<Value> = failed.map(|(name, reason)| json!({ "name": name, "reason": reason })).collect();
    json!({ "binary": binary.to_string_lossy(), "runs": runs, "figures": figures, "failed": failed })
}

#[cfg(test)]
mod tests {
    use super::super::figure::Quantity;
    use super::*;

    fn outcomes() -> Vec<Outcome> {
        let mut good = Figure::of(Quantity::ms("spawn to initialize", 5.0));
        [1.0, 2.345, 300.0].into_iter().for_each(|sample| good.add(sample));
        let mut over = Figure::of(Quantity::mib("memory", 15.0));
        over.add(21.5);
        let mut counted = Figure::of(Quantity::count("messages"));
        counted.add(26.0);
        vec![
            Outcome { name: "start", figures: Ok(vec![good, over, counted]) },
            Outcome { name: "cancel", figures: Err("the agent did not answer".to_owned()) },
        ]
    }

    #[test]
    fn the_table_marks_missed_targets_and_failures() {
        let table = table(&outcomes());
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["spawn", "to", "initialize,", "ms", "1.00", "2.35", "300", "<", "5"]);
        assert_eq!(lines[2], ["memory,", "MiB", "21.5", "21.5", "21.5", "<", "15", "over"]);
        assert_eq!(lines[3], ["messages", "26.0", "26.0", "26.0"]);
        assert_eq!(lines[4][..2], ["cancel", "failed:"]);
    }

    #[test]
    fn the_json_has_the_same_figures() {
        let json = json(Path::new("/bin/tiller"), 3, &outcomes());
        assert_eq!(json["figures"][0]["median"], 2.345);
        assert_eq!(json["figures"][1]["over"], true);
        assert_eq!(json["figures"][2]["target"], Value::Null);
        assert_eq!(json["failed"][0]["name"], "cancel");
    }
}
