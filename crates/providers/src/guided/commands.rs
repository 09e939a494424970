//! Commands that a prompt quotes.

/// Returns the commands that a prompt quotes in backticks or parentheses, such as
/// `python3 -m unittest`: a program and at least one argument.
pub(super) fn quoted(prompt: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (open, close) in [('`', '`'), ('(', ')')] {
        let mut rest = prompt;
        while let Some(start) = rest.find(open) {
            rest = &rest[start + 1..];
            let Some(end) = rest.find(close) else { break };
            let quoted = rest[..end].trim();
            if is_command(quoted) && !found.iter().any(|known| known == quoted) {
                found.push(quoted.to_owned());
            }
            rest = &rest[end + 1..];
        }
    }
    found
}

fn is_command(text: &str) -> bool {
    let Some((program, arguments)) = text.split_once(' ') else { return false };
    let is_program =
        program.strip_prefix("./").unwrap_or(program).starts_with(|c: char| c.is_ascii_lowercase())
            && program.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./_+-".contains(&byte));
    // Prose in parentheses is words alone.
    let is_argument = |word: &str| word.contains(['-', '.', '/', '&', '|', '=']) || word == "test";
    is_program && !text.contains('\n') && arguments.split_whitespace().any(is_argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_code_and_prose() {
        for (prompt, expected) in [
            ("The tests fail (python3 -m unittest). Fix it.", vec!["python3 -m unittest"]),
            (
                "Run `rustc --test a.rs -o t && ./t` twice: `rustc --test a.rs -o t && ./t`",
                vec!["rustc --test a.rs -o t && ./t"],
            ),
            ("Run `cargo test`", vec!["cargo test"]),
            ("Rename `put` to `stack_push` (in all files, please)", vec![]),
            ("Add `int smallest(int a, int b)` (it is missing)", vec![]),
        ] {
            assert_eq!(quoted(prompt), expected, "{prompt}");
        }
    }
}
