//! Titles of tool calls as shown to users: one line, with paths relative to the session's
//! directory.
//!
//! A command is shown in full in exactly one place: in the title of the permission request if it
//! fits there, otherwise in a block below it.

use crate::{Access, Content, Diff, Location, ToolContent, escaped, limits, one_line};
use system::AbsPath;

/// Returns the path relative to the session's directory if it lies below it, otherwise the absolute
/// path.
pub fn path_title<'a>(path: &'a AbsPath, cwd: &AbsPath) -> &'a str {
    match path.relative_to(cwd) {
        Some("") => ".",
        Some(below) => below,
        None => path.as_str(),
    }
}

/// Returns a call's title, such as `Run cargo test`: the beginning of the command line, with the
/// session's directory removed. The permission request uses `whole_command` instead.
pub fn command_title(line: &str, cwd: &AbsPath) -> String {
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let enter = |end: &str| format!("cd {cwd}{end} ");
    let line = [" &&", ";"].iter().find_map(|end| line.strip_prefix(&enter(end))).unwrap_or(&line);
    let below = format!("{}/", cwd.as_str().trim_end_matches('/'));
    let words =
        line.split(' ').map(|word| word.strip_prefix(&below).filter(|rest| !rest.is_empty()).unwrap_or(word));
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(limits::COMMAND_TITLE_CHARS) {
        Some((cut, _)) => format!("Run {}...", &line[..cut]),
        None => format!("Run {line}"),
    }
}

/// Returns `Run cargo test` with the full command line, or `None` if that is too long for a title.
pub(crate) fn whole_command(line: &str) -> Option<String> {
    let line = line.trim();
    let fits = !line.contains('\n') && line.len() <= limits::WHOLE_TITLE_BYTES;
    fits.then(|| format!("Run {}", one_line(line)))
}

/// Returns a block with the full command for the permission request, or nothing if the request's
/// title already contains all of it.
pub fn command_block(line: &str) -> Vec<ToolContent> {
    match whole_command(line) {
        Some(_) => Vec::new(),
        None => vec![ToolContent::Content(Content::text(fenced(line)))],
    }
}

/// Returns the command that a call runs, if running it is the call's only access.
pub(crate) fn only_command<'a>(accesses: impl IntoIterator<Item = &'a Access>) -> Option<&'a str> {
    let mut accesses = accesses.into_iter();
    match (accesses.next(), accesses.next()) {
        (Some(Access::Execute { command, .. }), None) => Some(command),
        _ => None,
    }
}

/// Returns the call's locations, each with the first line that its diff changes.
pub(crate) fn changed_lines(locations: &[Location], content: &[ToolContent]) -> Vec<Location> {
    let line = |path: &AbsPath| {
        content.iter().find_map(|content| match content {
            ToolContent::Diff(diff) if diff.path == *path => first_changed_line(diff),
            _ => None,
        })
    };
    let place =
        |place: &Location| Location { path: place.path.clone(), line: line(&place.path).or(place.line) };
    locations.iter().map(place).collect()
}

/// Returns the first line that a diff changes, 1-based and in the new text; the new text's last
/// line if the diff only removes lines after it. `None` for a removed file or an unchanged one.
fn first_changed_line(diff: &Diff) -> Option<usize> {
    let new = diff.new_text.as_deref()?;
    let old = diff.old_text.as_deref().unwrap_or_default();
    if old == new {
        return diff.old_text.is_none().then_some(1);
    }
    let same = old.split_inclusive('\n').zip(new.split_inclusive('\n')).take_while(|(old, new)| old == new);
    Some((same.count() + 1).min(new.lines().count().max(1)))
}

/// Formats a command as a code block, with a fence longer than any run of backticks in it.
fn fenced(command: &str) -> String {
    let command = escaped(command);
    let longest = command.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{command}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cwd() -> AbsPath {
        AbsPath::new("/home/me/w").unwrap()
    }

    #[test]
    fn titles_are_relative_to_the_sessions_folder() {
        for (path, expected) in [
            ("/home/me/w/src/main.rs", "src/main.rs"),
            ("/home/me/w", "."),
            ("/home/me/w2/x", "/home/me/w2/x"),
            ("/etc/hosts", "/etc/hosts"),
        ] {
            assert_eq!(path_title(&AbsPath::new(path).unwrap(), &cwd()), expected);
        }
        for (line, expected) in [
            ("cargo test", "Run cargo test"),
            ("cd /home/me/w && cargo test", "Run cargo test"),
            ("cd /home/me/w; ls", "Run ls"),
            ("cd /home/me/other && ls", "Run cd /home/me/other && ls"),
            ("cat /home/me/w/src/a.rs /home/me/w2/b", "Run cat src/a.rs /home/me/w2/b"),
            ("a\n  b", "Run a b"),
        ] {
            assert_eq!(command_title(line, &cwd()), expected);
        }
    }

    #[test]
    fn a_command_is_shown_whole_in_the_title_or_in_a_block() {
        assert_eq!(whole_command(" cargo  test ").as_deref(), Some("Run cargo  test"));
        assert_eq!(command_block("cargo test"), []);
        for long in [&"x".repeat(limits::WHOLE_TITLE_BYTES + 1), "a\nb ```"] {
            assert_eq!(whole_command(long), None);
            let [ToolContent::Content(Content::Text(block))] = &command_block(long)[..] else { panic!() };
            assert!(block.contains(long), "{block}");
        }
    }

    #[test]
    fn a_location_has_the_first_line_that_changes() {
        let diff = |old: Option<&str>, new: Option<&str>| {
            ToolContent::Diff(Diff {
                path: cwd(),
                old_text: old.map(str::to_owned),
                new_text: new.map(str::to_owned),
            })
        };
        let place = Location { path: cwd(), line: None };
        for (old, new, expected) in [
            (Some("a\nb\nc\n"), Some("a\nX\nc\n"), Some(2)),
            (Some("a\nb\n"), Some("a\nb\nc\n"), Some(3)),
            (Some("a\nb\nc\n"), Some("a\n"), Some(1)),
            (Some("a"), Some("a\n"), Some(1)),
            (None, Some("new\n"), Some(1)),
            (None, Some(""), Some(1)),
            (Some("a\n"), Some("a\n"), None),
            (Some("a\n"), None, None),
        ] {
            let found = changed_lines(std::slice::from_ref(&place), &[diff(old, new)]);
            assert_eq!(found[0].line, expected, "{old:?} {new:?}");
        }
    }
}
