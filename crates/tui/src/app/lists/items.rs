//! The rows of the lists.

use crate::{
    app::{status::dollars, work::seconds},
    driver::reply::{ListedSession, ModelKey},
    look::Look,
    picker::Item,
};
use agent::{Checkpoint, Glance, ModelInfo, StopReason, TurnEnd};
use std::time::Duration;

/// Returns the row of a session: when it was last used, its title, branch, turns, model and cost,
/// and the name of its directory if sessions of several are listed.
pub(super) fn session(session: &ListedSession, today: i64, everywhere: bool) -> Item {
    let record = &session.record;
    let ago = today.saturating_sub(record.times.updated_at);
    let ago = age(Duration::from_millis(u64::try_from(ago).unwrap_or_default()));
    let title = record.title.clone().unwrap_or_else(|| "(no title)".to_owned());
    let model = record.controls.model.split('/').next_back().unwrap_or_default().to_owned();
    let cost = record.totals.cost.map(|cost| dollars(cost.dollars())).unwrap_or_default();
    let turns = counted(record.totals.turns);
    let branch = record.branch.clone().unwrap_or_default();
    let mut columns = vec![ago, title, branch, turns, model, cost];
    if everywhere {
        columns.push(record.cwd.file_name().unwrap_or("/").to_owned());
    }
    Item::new(columns)
}

/// Returns the preview of a session: what a search found, the last prompt, the last answer with how
/// its turn ended, and its directory.
pub(super) fn preview(
    session: &ListedSession,
    glance: Option<&Glance>,
    look: &Look,
) -> Vec<(String, String)> {
    let row = |name: &str, text: String| (name.to_owned(), text);
    let mut rows = Vec::new();
    rows.extend(session.excerpt.as_ref().map(|excerpt| row("found", excerpt.clone())));
    match glance {
        Some(glance) => {
            let first = |text: &str| text.lines().find(|line| !line.trim().is_empty()).map(str::to_owned);
            rows.push(row("you", glance.prompt.as_deref().and_then(first).unwrap_or_default()));
            let answer = glance.answer.as_deref().and_then(first).unwrap_or_default();
            rows.push(row("last", ended(&answer, glance.end.as_ref())));
        }
        // The rows stay where they are when it arrives.
        None => rows.extend(["you", "last"].map(|name| row(name, "…".to_owned()))),
    }
    rows.push(row("in", look.path(&session.record.cwd)));
    rows
}

/// Returns an answer with the sign of how its turn ended.
fn ended(answer: &str, end: Option<&TurnEnd>) -> String {
    let text = match end {
        Some(TurnEnd::Stopped(StopReason::EndTurn)) => format!("✓ {answer}"),
        Some(TurnEnd::Stopped(StopReason::Cancelled)) => format!("■ cancelled  {answer}"),
        Some(TurnEnd::Stopped(reason)) => format!("■ {}  {answer}", reason.id().replace('_', " ")),
        Some(TurnEnd::Failed(why)) => format!("✗ {}", why.lines().next().unwrap_or_default()),
        None => format!("… {answer}"),
    };
    text.trim_end().to_owned()
}

/// Returns the number of turns in words; empty for none.
fn counted(turns: u64) -> String {
    match turns {
        0 => String::new(),
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    }
}

/// Returns the row of a model: its id, context, price, and where its key comes from or the command
/// that would give one.
pub(super) fn model(model: &ModelInfo, key: &ModelKey) -> Item {
    let context = match model.limits.context_size {
        0 => String::new(),
        size @ ..1_000_000 => format!("{} k", size / 1_000),
        size if size % 1_000_000 < 100_000 => format!("{} M", size / 1_000_000),
        size => format!("{}.{} M", size / 1_000_000, size / 100_000 % 10),
    };
    let price = model.price.as_ref().map(|price| format!("${} / ${}", price.rates.input, price.rates.output));
    let key = match key {
        ModelKey::Missing(command) => command.clone(),
        ModelKey::From(Some(source)) => format!("key: {source}"),
        ModelKey::From(None) => "key".to_owned(),
        ModelKey::NotNeeded => String::new(),
    };
    let mut item = Item::new([model.id.clone(), context, price.unwrap_or_default(), key]);
    if let Some(description) = &model.description {
        item.preview.push(("about".to_owned(), description.clone()));
    }
    item
}

/// Returns the row of a turn that changed files.
pub(super) fn turn(turn: &Checkpoint) -> Item {
    let files: Vec<_> = turn.files.iter().map(|file| file.file_name().unwrap_or_default()).collect();
    let changed = format!("before: {}", turn.prompt);
    let mut item = Item::new([format!("turn {}", turn.turn), changed]);
    item.preview.push(("files".to_owned(), files.join(", ")));
    item
}

/// Returns a time in one unit: `5 min`, `2 h`, `3 d`.
fn age(time: Duration) -> String {
    match time.as_secs() / 60 {
        0 => seconds(time),
        minutes @ 1..60 => format!("{minutes} min"),
        minutes @ 60..1_440 => format!("{} h", minutes / 60),
        minutes => format!("{} d", minutes / 1_440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let ages = [30, 90, 3_600, 86_399, 86_400, 864_000].map(|secs| age(Duration::from_secs(secs)));
        assert_eq!(ages, ["30 s", "1 min", "1 h", "23 h", "1 d", "10 d"]);
    }
}
