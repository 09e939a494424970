//! Detects formatting mistakes that a new text may contain although its old text contains none.

use super::spelling::{ENTITIES, Step, has_break_outside_quotes};

/// Returns the mistake that a new text may contain, and the characters that suggest it: characters
/// that occur in none of the texts from before.
pub(in crate::tools) fn doubtful(new: &str, before: &[&str]) -> Option<(Step, &'static str)> {
    let is_new = |sign: &str| new.contains(sign) && !before.iter().any(|text| text.contains(sign));
    if let Some((entity, _)) = ENTITIES.iter().find(|(entity, _)| is_new(entity)) {
        return Some((Step::Entities, entity));
    }
    if is_new("\\n") && !new.trim_end().contains('\n') && has_break_outside_quotes(new) {
        return Some((Step::Backslashes, "\\n"));
    }
    is_new("\u{a0}").then_some((Step::LookAlikes, "U+00A0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_may_be_a_fault() {
        for (new, before, expected) in [
            ("b&quot;&quot;", "a", Some((Step::Entities, "&quot;"))),
            ("a &lt; b", "<p>x &lt; y</p>", None),
            ("a();\\nb();", "a();", Some((Step::Backslashes, "\\n"))),
            ("print(\"a\\n\")", "print(\"a\")", None),
            ("a\n+ '\\n'", "a", None),
            ("a\u{a0}b", "a b", Some((Step::LookAlikes, "U+00A0"))),
            ("a b", "a", None),
        ] {
            assert_eq!(doubtful(new, &[before]), expected, "{new:?}");
        }
    }
}
