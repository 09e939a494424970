//! Placeholders for the arguments of a command or skill: `$ARGUMENTS`, `$1` to `$9`, `$$`.

/// Replaces the placeholders of a text. If it has none, the arguments are added at its end.
///
/// The replacement is one pass: what the arguments contain is not replaced again.
pub(super) fn fill_in(text: &str, arguments: &str) -> String {
    const ALL: &str = "ARGUMENTS";
    let words = words(arguments);
    let (mut filled, mut rest, mut uses_arguments) = (String::with_capacity(text.len()), text, false);
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            filled.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix(ALL) {
            filled.push_str(arguments);
            (rest, uses_arguments) = (after, true);
        } else if let Some(digit) = rest.chars().next().filter(|c| ('1'..='9').contains(c)) {
            let at = usize::from(digit as u8 - b'1');
            filled.push_str(words.get(at).map_or("", String::as_str));
            (rest, uses_arguments) = (&rest[1..], true);
        } else {
            filled.push('$');
        }
    }
    filled.push_str(rest);
    if !uses_arguments && !arguments.is_empty() {
        filled.push_str(&format!("\n\nArguments: {arguments}"));
    }
    filled
}

/// Splits arguments into words at white space. Double or single quotes group words.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') && word.is_none() => {
                quote = Some(c);
                word = Some(String::new());
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_take_the_place_of_their_placeholders() {
        for (text, arguments, expected) in [
            ("Fix $1 in $2.", "bug \"a file\" more", "Fix bug in a file."),
            ("Fix: $ARGUMENTS!", "it's  all", "Fix: it's  all!"),
            ("$3", "a b", ""),
            ("$10 costs $$1, $x, $", "a", "a0 costs $1, $x, $"),
            ("$1", "$ARGUMENTS", "$ARGUMENTS"),
            ("$ARGUMENTS", "$1 $$", "$1 $$"),
            ("No placeholder, $$5.", "x y", "No placeholder, $5.\n\nArguments: x y"),
            ("None.", "", "None."),
            ("$1 $2", "it's 'one word'", "it's one word"),
        ] {
            assert_eq!(fill_in(text, arguments), expected, "{text} {arguments}");
        }
    }
}
