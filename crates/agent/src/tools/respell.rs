//! Paths that a model spells in another way than the disk: in another composition of its letters,
//! with another kind of space, or in quotes.

use crate::AnyCall;
use system::{AbsPath, System, SystemError};
use unicode_normalization::UnicodeNormalization as _;

/// Replaces each path of a call that names no file by the spelling of the disk, if exactly one file
/// is meant. Returns whether it replaced any. The gate decides about the new spelling.
pub(crate) async fn respell(call: &mut dyn AnyCall, system: &dyn System, cwd: &AbsPath) -> bool {
    let mut changed = false;
    for path in call.paths() {
        if is_doubtful(path)
            && let Some(spelled) = on_disk(system, cwd, path).await
        {
            *path = spelled;
            changed = true;
        }
    }
    changed
}

/// Whether a path may be spelled in another way than the disk. Most paths are not looked up.
fn is_doubtful(path: &str) -> bool {
    !path.is_ascii() || path.contains([' ', '"', '\'', '`'])
}

/// Returns another spelling of a path that names no file, under which there is one, or a folder in
/// which it can be created.
async fn on_disk(system: &dyn System, cwd: &AbsPath, given: &str) -> Option<String> {
    if exists(system, &cwd.join(given)).await {
        return None;
    }
    let bare = unquoted(given);
    let spelled = spelled(system, &cwd.join(bare)).await;
    match spelled {
        Some(path) => Some(path.relative_to(cwd).unwrap_or(path.as_str()).to_owned()),
        None => (bare != given).then(|| bare.to_owned()),
    }
}

async fn exists(system: &dyn System, path: &AbsPath) -> bool {
    !matches!(system.metadata(path).await, Err(SystemError::NotFound(_)))
}

/// Returns a path in the spelling of the disk, if that differs.
async fn spelled(system: &dyn System, path: &AbsPath) -> Option<AbsPath> {
    let mut so_far = AbsPath::new("/").ok()?;
    let (mut differs, mut is_new) = (false, false);
    for name in path.as_str().split('/').filter(|name| !name.is_empty()) {
        let next = so_far.join(name);
        // What follows a name that is not on the disk is not there either.
        let twin = match is_new || exists(system, &next).await {
            true => None,
            false => {
                let twin = twin(system, &so_far, name).await;
                is_new = twin.is_none();
                twin
            }
        };
        differs |= twin.is_some();
        so_far = twin.unwrap_or(next);
    }
    differs.then_some(so_far)
}

/// Returns the only entry of a folder whose name is the same but for composition and spaces.
async fn twin(system: &dyn System, folder: &AbsPath, name: &str) -> Option<AbsPath> {
    let wanted = folded(name);
    let entries = system.read_dir(folder).await.ok()?;
    let paths = entries.into_iter().map(|entry| entry.path);
    let mut twins = paths.filter(|path| path.file_name().is_some_and(|name| folded(name) == wanted));
    let first = twins.next()?;
    twins.next().is_none().then_some(first)
}

/// Returns a name in composed letters and with plain spaces.
pub(crate) fn folded(name: &str) -> String {
    name.nfc().map(|c| if c.is_whitespace() { ' ' } else { c }).collect()
}

/// Returns a path without the quotes around it.
fn unquoted(path: &str) -> &str {
    let path = path.trim();
    let inner = ['"', '\'', '`'].into_iter().find_map(|quote| path.strip_prefix(quote)?.strip_suffix(quote));
    inner.filter(|inner| !inner.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::FakeSystem;

    #[tokio::test]
    async fn a_path_is_read_in_the_spelling_of_the_disk() {
        let system = FakeSystem::new();
        for file in [
            "/w/cafe\u{301}.txt",
            "/w/Shot 3.04\u{202f}PM.png",
            "/w/u\u{308}ber/a.rs",
            "/w/a.py",
            "/w/two\u{a0}.md",
            "/w/two\u{2009}.md",
        ] {
            system.add_file(file, "x");
        }
        let cwd = AbsPath::new("/w").unwrap();
        for (given, expected) in [
            ("caf\u{e9}.txt", Some("cafe\u{301}.txt")),
            ("/w/caf\u{e9}.txt", Some("cafe\u{301}.txt")),
            ("cafe\u{301}.txt", None),
            ("Shot 3.04 PM.png", Some("Shot 3.04\u{202f}PM.png")),
            ("\u{fc}ber/a.rs", Some("u\u{308}ber/a.rs")),
            ("\u{fc}ber/new/b.rs", Some("u\u{308}ber/new/b.rs")),
            ("\"a.py\"", Some("a.py")),
            ("`new.py`", Some("new.py")),
            ("new file.txt", None),
            ("two .md", None),
            ("na\u{ef}ve.txt", None),
        ] {
            assert_eq!(on_disk(&system, &cwd, given).await.as_deref(), expected, "{given:?}");
        }
    }
}
