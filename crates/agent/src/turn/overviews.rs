//! The texts with which slash commands answer about models, sessions, usage and skills.

use crate::{
    Cost, ListQuery, SearchHit, SearchQuery, SessionRecord, StoreError, Usage,
    history::conversation::Conversation,
    limits::{SESSIONS_SHOWN, TITLE_CHARS},
    session::Session,
    text::sanitise::label,
};
use std::fmt::Write as _;

/// Returns the answer to `/models`.
pub(super) fn models(session: &Session, current: &str) -> String {
    let mut text = format!("The model is {current}. Change it with `/model provider/model`.\n\n");
    for model in session.models().list() {
        let _ = writeln!(text, "- `{}`: {}", model.id, model.name);
    }
    text
}

/// Returns the answer to `/usage`: the tokens and the cost of the session, in all and by model.
pub(super) fn usage(conversation: &Conversation) -> String {
    let subagents = conversation.subagent_usage();
    let mut total = conversation.usage();
    total += subagents;
    if total == Usage::default() {
        return "No model was called in this session yet.\n".to_owned();
    }
    let mut text = format!("This session used {}.\n", used(total));
    text.push('\n');
    for (model, usage) in conversation.usage_by_model().iter().filter(|(_, usage)| usage.all() > 0) {
        let _ = writeln!(text, "- `{model}`: {}", used(*usage));
    }
    if subagents.all() > 0 {
        let _ = writeln!(text, "- subagents: {}", used(subagents));
    }
    text
}

fn used(usage: Usage) -> String {
    let cached = match usage.cache_read {
        0 => String::new(),
        cached => format!(", {cached} of them from the cache"),
    };
    let cost = match (usage.cost, usage.unpriced) {
        (Some(cost), 0) => dollars(cost),
        (Some(cost), unpriced) if unpriced < usage.all() => {
            format!("{}, without {unpriced} tokens whose price is not known", dollars(cost))
        }
        _ => "their price is not known".to_owned(),
    };
    format!("{} input tokens{cached} and {} output tokens; {cost}", usage.input, usage.output)
}

/// Formats an amount: with cents, or with more digits if it is small.
fn dollars(cost: Cost) -> String {
    match cost.dollars() {
        amount if amount >= 1.0 => format!("${amount:.2}"),
        amount => format!("${amount:.4}"),
    }
}

/// Returns the answer to `/sessions`: the sessions of the directory, the last used first, or those
/// that contain the words.
///
/// # Errors
///
/// Fails if the store cannot list or search.
pub(super) async fn sessions(session: &Session, words: String) -> Result<String, StoreError> {
    let cwd = session.cwd();
    let store = session.log().store();
    if !words.is_empty() {
        let query = SearchQuery {
            text: words.clone(),
            cwd: Some(cwd.clone()),
            limit: 2 * SESSIONS_SHOWN,
            ..SearchQuery::default()
        };
        let mut hits = store.search(query).await?;
        // This prompt and earlier searches contain the words, too.
        hits.retain(|hit| !hit.excerpt.starts_with("/sessions"));
        hits.truncate(SESSIONS_SHOWN);
        if hits.is_empty() {
            let hint = "each word must occur in one message, whole or as its beginning";
            return Ok(format!("No session of {cwd} contains {words:?}; {hint}.\n"));
        }
        let mut text = format!("Messages and titles of sessions of {cwd} that contain {words:?}:\n\n");
        for SearchHit { session: found, excerpt, .. } in hits {
            let _ = writeln!(text, "{}\n  {}", line(session, &found), crate::one_line(&excerpt));
        }
        return Ok(text);
    }
    let query = ListQuery {
        cwd: Some(cwd.clone()),
        begun_or: Some(vec![session.id().clone()]),
        limit: SESSIONS_SHOWN,
        ..ListQuery::default()
    };
    let page = store.list(query).await?;
    let mut text = format!("Sessions of {cwd}, the last used first:\n\n");
    for found in &page.sessions {
        let _ = writeln!(text, "{}", line(session, found));
    }
    if page.next_cursor.is_some() {
        let _ = writeln!(text, "\nThere are more; search them with `/sessions WORDS`.");
    }
    Ok(text)
}

fn line(session: &Session, record: &SessionRecord) -> String {
    let title = match &record.title {
        Some(title) => label(title, TITLE_CHARS),
        None => "(no title)".to_owned(),
    };
    let this = if record.id == *session.id() { " (this session)" } else { "" };
    let day = jiff::Timestamp::from_millisecond(record.times.updated_at)
        .map(|time| format!("{} UTC, ", time.strftime("%Y-%m-%d %H:%M")))
        .unwrap_or_default();
    format!("- `{}`: {day}{title}{this}", record.id)
}

/// Returns the answer to `/skills`.
pub(super) async fn skills(session: &Session) -> String {
    session.toolbox().sources().skills().await.unwrap_or_else(|| {
        "There are no skills. A skill is a directory with a file SKILL.md below one of: \
         the user's `skills` directory of Tiller, `~/.agents/skills`, `~/.claude/skills`, and \
         `.tiller/skills`, `.agents/skills` or `.claude/skills` of the project.\n"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_described_with_its_cost_as_far_as_it_is_known() {
        let usage = |cache_read, cost, unpriced| Usage {
            input: 10,
            output: 2,
            cache_read,
            cost,
            unpriced,
            ..Usage::default()
        };
        for (usage, expected) in [
            (usage(0, None, 12), "10 input tokens and 2 output tokens; their price is not known"),
            (usage(0, Some(Cost(0)), 12), "10 input tokens and 2 output tokens; their price is not known"),
            (
                usage(4, Some(Cost(12_345_000_000)), 0),
                "10 input tokens, 4 of them from the cache and 2 output tokens; $0.0123",
            ),
            (
                usage(0, Some(Cost(2_500_000_000_000)), 5),
                "10 input tokens and 2 output tokens; $2.50, without 5 tokens whose price is not known",
            ),
        ] {
            assert_eq!(used(usage), expected);
        }
    }
}
