//! The rows of the lists.

use crate::{app::work::seconds, driver::reply::ListedSession, picker::Item};
use agent::{Checkpoint, Credentials, ModelInfo};
use std::time::Duration;

/// Returns the row of a session: when it was last used, its title, its model, and its directory if
/// sessions of several are listed.
pub(super) fn session(session: &ListedSession, today: i64, with_directory: bool) -> Item {
    let record = &session.record;
    let ago = today.saturating_sub(record.times.updated_at);
    let ago = age(Duration::from_millis(u64::try_from(ago).unwrap_or_default()));
    let title = record.title.clone().unwrap_or_else(|| "(no title)".to_owned());
    let model = record.controls.model.split('/').next_back().unwrap_or_default().to_owned();
    let mut columns = vec![ago, title, model];
    if with_directory {
        columns.push(record.cwd.to_string());
    }
    let mut item = Item::new(columns);
    item.preview.push(("in".to_owned(), record.cwd.to_string()));
    item.preview.push(("id".to_owned(), record.id.to_string()));
    if let Some(excerpt) = &session.excerpt {
        item.preview.insert(0, ("found".to_owned(), excerpt.clone()));
    }
    item
}

/// Returns the row of a model: its id, context, price and key.
pub(super) fn model(model: &ModelInfo, credentials: Credentials) -> Item {
    let context = match model.limits.context_size {
        0 => String::new(),
        size => format!("{} k", size / 1_000),
    };
    let price = model.price.as_ref().map(|price| format!("${} / ${}", price.rates.input, price.rates.output));
    let key = match credentials {
        Credentials::Missing => "no key: tiller setup",
        Credentials::Present => "key",
        Credentials::NotNeeded => "",
    };
    let mut item = Item::new([model.id.clone(), context, price.unwrap_or_default(), key.to_owned()]);
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
