//! The programs available to the tasks.

use crate::process::{capture, command};
use std::path::Path;
use std::process::Command;

/// Returns the search path for agents and checks: the real directories of compilers and
/// interpreters, then this process's path. Wrappers that depend on the user's home directory do not
/// work with another one.
pub(super) fn path() -> String {
    let output = |command: &mut Command| capture(command).ok().map(|text| text.trim().to_owned());
    let rust = output(command("rustc").args(["--print", "sysroot"])).map(|sysroot| format!("{sysroot}/bin"));
    let python = output(command("python3").args(["-c", "import sys; print(sys.executable)"]))
        .and_then(|file| Some(Path::new(&file).parent()?.to_string_lossy().into_owned()));
    let own = std::env::var("PATH").unwrap_or_default();
    rust.into_iter().chain(python).chain([own]).collect::<Vec<_>>().join(":")
}

/// Returns the first program that is not on the search path.
pub(super) fn missing<'a>(programs: &'a [String], path: &str) -> Option<&'a str> {
    let is_installed =
        |program: &str| std::env::split_paths(path).any(|directory| directory.join(program).is_file());
    programs.iter().map(String::as_str).find(|program| !is_installed(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let programs = ["sh".to_owned(), "no-such-program".to_owned()];
        assert_eq!(missing(&programs, &path()), Some("no-such-program"));
        assert_eq!(missing(&programs[..1], &path()), None);
    }
}
