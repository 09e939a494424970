//! The time that a permission decision takes. The program times itself, without its start and
//! without disk access.

use super::Bench;
use crate::bench::figure::{Figure, Quantity};
use crate::process::command;
use anyhow::{Context, Result, bail};

/// Decisions per sample; a sample is their median.
const DECISIONS: &str = "2000";

/// Commands of about 1 KB each.
const LINES: [(&str, &str); 3] = [
    ("a decision about a command of 1 KB", "git log --oneline"),
    ("... of 1 KB, of a program that is unknown", "frobnicate --all"),
    ("... of 1 KB, of sixty commands", ""),
];

const fn microseconds(name: &'static str, target: f64) -> Quantity {
    Quantity { name, unit: "µs", target: Some(target) }
}

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let home = tempfile::tempdir()?;
    let line = |begin: &str| match begin {
        "" => vec!["cat some/file"; 60].join(" && "),
        begin => format!("{begin} {}", "src/some/file.rs ".repeat(60)),
    };
    let files = [("a decision about a file to read", &[][..]), ("... about a file to write", &["--write"])]
        .map(|(name, more)| (microseconds(name, 50.0), more, "./src/main.rs".to_owned()));
    let lines = LINES.map(|(name, begin)| (microseconds(name, 1000.0), &[][..], line(begin)));
    let mut figures = Vec::new();
    for (quantity, more, what) in files.into_iter().chain(lines) {
        let mut figure = Figure::of(quantity);
        for _ in 0..bench.runs {
            let mut explain = command(bench.binary);
            explain.args(["permissions", "explain", "--time", DECISIONS]).args(more).arg(&what);
            let output = explain.current_dir(home.path()).env("TILLER_HOME", home.path()).output();
            let output = output.with_context(|| format!("{} did not start", bench.binary.display()))?;
            if !output.status.success() {
                bail!("`permissions explain` failed: {}", String::from_utf8_lossy(&output.stderr));
            }
            figure.add(time(&String::from_utf8_lossy(&output.stdout)).context("no time was reported")?);
        }
        figures.push(figure);
    }
    Ok(figures)
}

/// Parses the microseconds on the line with the time.
fn time(output: &str) -> Option<f64> {
    output.lines().find_map(|line| line.strip_prefix("time ")?.trim().strip_suffix("µs")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_parsed() {
        assert_eq!(time("x\ntime               12.500 µs\nMode   -\n"), Some(12.5));
        assert_eq!(time("Mode   -\n"), None);
    }
}
