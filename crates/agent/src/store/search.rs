//! Full-text search in the messages and titles of sessions.

use crate::{Content, Owner, SessionEvent, SessionId, SessionRecord, limits::EXCERPT_CHARS};
use system::AbsPath;

/// A search request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchQuery {
    /// Only search sessions of this user; `None` for those of the user of this machine.
    pub owner: Option<Owner>,
    /// Words that must all occur in one message, each as a whole word or a prefix; case and accents
    /// are ignored.
    pub text: String,
    /// Only search sessions of this directory.
    pub cwd: Option<AbsPath>,
    /// Only search sessions of this directory or one below it.
    pub project: Option<AbsPath>,
    /// Do not search this session.
    pub except: Option<SessionId>,
    /// The maximum number of hits.
    pub limit: usize,
}

/// A message or title that contains the words.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The session it belongs to.
    pub session: SessionRecord,
    /// The number of its event.
    pub seq: u64,
    /// The text around the longest of the words, on one line.
    pub excerpt: String,
}

/// Returns the searchable text of an event: messages of the user and the model, and titles.
pub fn searched_text(event: &SessionEvent) -> Option<String> {
    let text = match event {
        SessionEvent::UserMessage { content, .. } => {
            let texts: Vec<&str> = content
                .iter()
                .filter_map(|content| match content {
                    Content::Text(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            texts.join("\n")
        }
        SessionEvent::ModelResponse(response) => response.text(),
        SessionEvent::TitleChanged(title) => title.clone(),
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Splits a query into lower-case words: runs of letters and digits.
pub fn words(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns the text around the longest word that occurs in it, on one line; the beginning if none
/// occurs.
pub fn excerpt(text: &str, words: &[String]) -> String {
    let chars: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    // The longest word is the most specific.
    let mut words: Vec<&String> = words.iter().collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let found = words.iter().find_map(|word| {
        let word: Vec<char> = word.chars().collect();
        chars.windows(word.len()).position(|window| {
            window.iter().zip(&word).all(|(a, b)| a == b || a.to_lowercase().eq(b.to_lowercase()))
        })
    });
    let at = found.unwrap_or(0);
    let begin = at.saturating_sub(EXCERPT_CHARS / 3);
    let end = chars.len().min(begin + EXCERPT_CHARS);
    let (before, after) = (if begin > 0 { "… " } else { "" }, if end < chars.len() { " …" } else { "" });
    let around: String = chars[begin..end].iter().collect();
    format!("{before}{}{after}", around.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_around_the_first_word() {
        let long = format!("{} needle {}", "a ".repeat(200), "b ".repeat(200));
        let found = excerpt(&long, &words("NEEDLE, x"));
        assert!(found.starts_with("… a") && found.contains("needle b") && found.ends_with(" …"), "{found}");
        assert!(found.chars().count() < EXCERPT_CHARS + 5);
        assert_eq!(excerpt("Größe\n🦀", &words("größe")), "Größe 🦀");
        assert_eq!(excerpt("", &words("x")), "");
        assert_eq!(words("a-b  \"c\" (d*)"), ["a", "b", "c", "d"]);
    }
}
