//! The prompts of a story and the model's final text for each. The kill test writes prompts and
//! compares answers; the model reads the prompts.

/// What a prompt requests in addition to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extra {
    Nothing,
    /// Its command runs longer, because it is to be killed.
    Wait,
    /// A tree of subagents.
    Swarm,
}

impl Extra {
    const ALL: [Self; 3] = [Self::Nothing, Self::Wait, Self::Swarm];

    /// The end of the prompt's text.
    fn suffix(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Wait => " and wait",
            Self::Swarm => " with a swarm",
        }
    }
}

/// Returns the text of prompt `number`.
pub(super) fn prompt(number: u64, extra: Extra) -> String {
    format!("step {number}{}", extra.suffix())
}

/// Reads the number of the first prompt in a text, and what it requests.
pub(super) fn parse(text: &str) -> Option<(u64, Extra)> {
    let rest = text.split_once("step ")?.1;
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = rest.split_at(digits);
    let has = |extra: &Extra| rest.starts_with(extra.suffix());
    // Every text starts with the empty suffix, so that one comes last.
    let extra = Extra::ALL.into_iter().rev().find(has).unwrap_or(Extra::Nothing);
    Some((number.parse().ok()?, extra))
}

/// Returns a prompt without what it requests in addition.
pub(super) fn bare(text: &str) -> String {
    parse(text).map_or_else(|| text.to_owned(), |(number, _)| prompt(number, Extra::Nothing))
}

/// Returns the model's final text for a prompt.
pub(super) fn done(number: u64) -> String {
    format!("done {number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_parsed_as_it_was_written() {
        for extra in Extra::ALL {
            let text = prompt(12, extra);
            assert_eq!(parse(&format!("[{{\"text\":\"{text}\"}}]")), Some((12, extra)));
            assert_eq!(bare(&text), "step 12");
        }
        assert_eq!(parse("anything else"), None);
    }
}
