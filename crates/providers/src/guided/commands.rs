//! Commands that a prompt names.

/// Programs whose commands are recognised without quotes.
const PROGRAMS: [&str; 25] = [
    "bash", "bun", "cargo", "deno", "dotnet", "gcc", "go", "gradle", "java", "javac", "make", "mix", "mvn",
    "node", "npm", "npx", "php", "pnpm", "pytest", "python", "python3", "ruby", "rustc", "sh", "yarn",
];
/// Words that end a command without quotes.
const STOPS: [&str; 23] = [
    "a", "again", "and", "does", "fail", "fails", "find", "first", "for", "gives", "has", "in", "is", "of",
    "or", "passes", "please", "prints", "says", "so", "the", "then", "to",
];
/// Words for failures, in English, German, French and Spanish.
const FAILURES: [&str; 7] = ["fail", "pass", "broken", "fehlschl", "schlägt fehl", "échou", "falla"];
/// Single words that are arguments of a build tool.
const TARGETS: [&str; 6] = ["build", "check", "install", "lint", "run", "test"];

/// Returns the commands that a prompt quotes in backticks or parentheses, such as
/// `python3 -m unittest`: a program and at least one argument. If it quotes none, those that begin
/// with a well-known program.
pub(super) fn named(prompt: &str) -> Vec<String> {
    let quoted = quoted(prompt);
    if quoted.is_empty() { unquoted(prompt) } else { quoted }
}

/// Returns whether a prompt says that something fails.
pub(super) fn reports_failure(prompt: &str) -> bool {
    let lower = prompt.to_lowercase();
    FAILURES.iter().any(|word| lower.contains(word))
}

fn quoted(prompt: &str) -> Vec<String> {
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

fn unquoted(prompt: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for sentence in prompt.lines().flat_map(|line| line.split(['(', ')', '`', '"', ':'])) {
        let words: Vec<&str> = sentence.split_whitespace().collect();
        for (at, program) in words.iter().enumerate() {
            if !PROGRAMS.contains(program) {
                continue;
            }
            let mut command = vec![*program];
            for word in &words[at + 1..] {
                let bare = word.trim_end_matches([',', '.', ';', '!', '?']);
                if bare.is_empty() || STOPS.contains(&bare) {
                    break;
                }
                command.push(bare);
                if bare.len() < word.len() {
                    break;
                }
            }
            let command = command.join(" ");
            if is_command(&command) && !found.contains(&command) {
                found.push(command);
            }
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
    let is_version = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let is_argument = |word: &str| {
        (word.contains(['-', '.', '/', '&', '|', '=']) && !is_version(word)) || TARGETS.contains(&word)
    };
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
            ("python3 -m unittest fails. Find out why", vec!["python3 -m unittest"]),
            (
                "Make the tests pass: run python3 test_names.py. Only names.py may change.",
                vec!["python3 test_names.py"],
            ),
            ("bash test.sh and make check fail", vec!["bash test.sh", "make check"]),
            ("The script needs python 3.12, make sure of that", vec![]),
            ("rewrite it in go, and tell me which node is slow", vec![]),
            ("Add `int smallest(int a, int b)` (it is missing)", vec![]),
        ] {
            assert_eq!(named(prompt), expected, "{prompt}");
        }
    }
}
