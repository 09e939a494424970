//! The prompts of a story and the model's final text for each. The kill test writes prompts and
//! compares answers; the model reads the prompts.

/// The suffix of a prompt whose command is to be killed.
const WAITING: &str = " and wait";

/// Returns the text of prompt `number`. The command of a prompt that waits runs longer.
pub(super) fn prompt(number: u64, waits: bool) -> String {
    format!("step {number}{}", if waits { WAITING } else { "" })
}

/// Reads the number of the first prompt in a text, and whether its command runs longer.
pub(super) fn parse(text: &str) -> Option<(u64, bool)> {
    let digits: String = text.split_once("step ")?.1.chars().take_while(char::is_ascii_digit).collect();
    Some((digits.parse().ok()?, text.contains(WAITING)))
}

/// Returns a prompt without the suffix of those that wait.
pub(super) fn without_waiting(text: &str) -> &str {
    text.trim_end_matches(WAITING)
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
        for waits in [false, true] {
            let text = prompt(12, waits);
            assert_eq!(parse(&format!("[{{\"text\":\"{text}\"}}]")), Some((12, waits)));
            assert_eq!(without_waiting(&text), "step 12");
        }
        assert_eq!(parse("anything else"), None);
    }
}
