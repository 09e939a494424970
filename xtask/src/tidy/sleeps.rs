//! Tests wait for events, not for time. With a paused clock a sleep is deterministic and permitted.

use super::Problem;
use super::tree::{Line, Tree, in_code};

/// Test files that may sleep, each with the reason.
const EXCUSED: [(&str, &str); 0] = [];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.rust_except_tidy().filter(|file| !EXCUSED.iter().any(|(path, _)| *path == file.path)) {
        let lines = file.lines();
        for (index, line) in lines.iter().enumerate() {
            if line.test && in_code(line.text, "sleep(") && !clock_is_paused(&lines[..index]) {
                let message =
                    "a test sleeps: wait for the event, or pause the clock with `start_paused = true`";
                problems.push(Problem::line(&file.path, line.number, message));
            }
        }
    }
    problems
}

/// Returns whether the nearest test attribute above pauses the clock, or the code after it does.
fn clock_is_paused(above: &[Line<'_>]) -> bool {
    let start = above.iter().rposition(|line| line.text.contains("test]") || line.text.contains("test("));
    let body = &above[start.unwrap_or(0)..];
    body.iter().any(|line| in_code(line.text, "start_paused = true") || in_code(line.text, "time::pause()"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("crates/a/tests/it/main.rs", text)])).len()
    }

    #[test]
    fn a_sleep_is_found_unless_the_clock_is_paused() {
        assert_eq!(found("#[test]\nfn a() {\n    std::thread::sleep(TICK);\n}"), 1);
        assert_eq!(found("async fn helper() {\n    sleep(TICK).await;\n}"), 1);
        assert_eq!(
            found("#[tokio::test(start_paused = true)]\nasync fn a() {\n    sleep(TICK).await;\n}"),
            0
        );
        assert_eq!(
            found("#[tokio::test]\nasync fn a() {\n    tokio::time::pause();\n    sleep(TICK).await;\n}"),
            0
        );
        let two = "#[tokio::test(start_paused = true)]\nasync fn a() {}\n#[tokio::test]\nasync fn b() {\n    sleep(T).await;\n}";
        assert_eq!(found(two), 1);
    }

    #[test]
    fn only_tests_are_checked() {
        let text = "fn backoff() {\n    sleep(TICK);\n}\n#[cfg(test)]\nmod tests {\n    fn b() {\n        sleep(TICK);\n    }\n}";
        let problems = check(&Tree::of(&[("crates/a/src/a.rs", text)]));
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [Some(7)]);
    }
}
