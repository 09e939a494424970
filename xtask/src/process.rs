//! Starting other programs, and locating the workspace.

use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Returns the workspace's root, the parent of this crate's directory. Cargo's variable at run time
/// takes precedence over the one at build time, because clones may share a target directory or be
/// moved.
pub(crate) fn root() -> PathBuf {
    let directory = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    directory.parent().expect("xtask is a directory of the workspace").to_owned()
}

/// Returns the target directory, in which CI also installs its tools.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Returns a command that runs in the workspace's root.
///
/// `cargo run`, which started this program, sets `CARGO_PKG_*` and similar variables for the xtask
/// crate. Some build scripts depend on them (ring's does), so a nested cargo that inherited them
/// would rebuild such crates each time.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_MANIFEST_")
            || text.starts_with("CARGO_BIN_")
        {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command without showing it and returns its standard output.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("`{}` did not start", command_line(command)))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", command_line(command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The end of a program with a time limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// It exited: whether successfully, and its standard error.
    Exited(bool, String),
    /// It was killed because it exceeded the limit.
    TimedOut,
}

/// Runs a program for at most `limit`. Its standard output is discarded.
pub(crate) fn run_with_limit(program: &mut Command, limit: Duration) -> Result<ProgramEnd> {
    let mut child = program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut stderr = child.stderr.take().expect("stderr was asked for as a pipe");
    let reader = thread::spawn(move || {
        let mut stderr_text = Vec::new();
        // Keep what was read before an error.
        let _ = stderr.read_to_end(&mut stderr_text);
        String::from_utf8_lossy(&stderr_text).into_owned()
    });
    if let Some(status) = wait_for_end(&mut child, limit)? {
        let stderr_text = reader.join().expect("the thread only reads");
        return Ok(ProgramEnd::Exited(status.success(), stderr_text));
    }
    // The thread is not joined: a surviving process may keep the pipe open.
    Ok(ProgramEnd::TimedOut)
}

/// Waits for a process for at most `limit`, then kills it and returns `None`.
pub(crate) fn wait_for_end(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Formats the command as a person would type it.
pub(crate) fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Builds the debug binary; returns its path.
pub(crate) fn debug_binary() -> Result<PathBuf> {
    let mut cargo = command("cargo");
    cargo.args(["build", "--locked", "--quiet", "--package", "tiller"]);
    if !cargo.status()?.success() {
        bail!("`{}` failed", command_line(&cargo));
    }
    Ok(target_dir().join("debug/tiller"))
}

/// Applies a function to every item with this number of workers; returns the results in the order
/// of the items.
pub(crate) fn run_parallel<I: Sync, T: Send>(
    items: &[I],
    workers: usize,
    each: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let result = each(item);
                    results.lock().expect("no thread panics with the lock held").push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panicked with the lock held");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        assert_eq!(run_parallel(&[3, 1, 2], 2, |item| item * 10), [30, 10, 20]);
    }

    #[test]
    fn shows_a_command_as_typed() {
        let mut command = command("cargo");
        command.args(["fmt", "--check"]);
        assert_eq!(command_line(&command), "cargo fmt --check");
    }

    #[test]
    fn capture_says_which_command_failed() {
        let error = capture(command("cargo").arg("no-such-subcommand-here")).unwrap_err();
        assert!(error.to_string().starts_with("`cargo no-such-subcommand-here` failed:"), "{error}");
    }

    #[test]
    fn children_do_not_inherit_this_crates_description() {
        let removed = command("cargo");
        let kept = removed.get_envs().filter(|(name, value)| *name == "CARGO_PKG_NAME" && value.is_some());
        assert_eq!(kept.count(), 0);
        assert!(removed.get_envs().any(|(name, value)| name == "CARGO_PKG_NAME" && value.is_none()));
    }
}
