//! Resolves symbolic links component by component.

use crate::{AbsPath, limits::MAX_LINKS};
use std::io;

/// Resolves every link in `path`; components that do not exist are kept. `read_link` returns the
/// target of a link, and `None` for anything that is not a link or does not exist.
///
/// A dangling link is followed too: a permission decision about a write must see where the file
/// would be created. A `..` in a link target applies to the resolved path before it, as in the
/// kernel.
pub(crate) fn resolve(
    path: &AbsPath,
    read_link: impl Fn(&AbsPath) -> io::Result<Option<String>>,
) -> io::Result<AbsPath> {
    let mut pending: Vec<String> = components(path.as_str());
    let mut current = root();
    let mut links = 0;
    while let Some(name) = pending.pop() {
        if name == ".." {
            current = current.parent().unwrap_or(current);
            continue;
        }
        let candidate = current.join(&name);
        let Some(target) = read_link(&candidate)? else {
            current = candidate;
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::other("too many levels of symbolic links"));
        }
        if target.starts_with('/') {
            current = root();
        }
        pending.extend(components(&target));
    }
    Ok(current)
}

/// Splits a path into components, last one first.
fn components(path: &str) -> Vec<String> {
    path.split('/').rev().filter(|name| !name.is_empty() && *name != ".").map(str::to_owned).collect()
}

fn root() -> AbsPath {
    AbsPath::new("/").expect("the root is absolute")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_as_by_the_kernel() {
        let links = [
            ("/w/rel", "dir/file"),
            ("/w/abs", "/etc"),
            ("/w/deep", "abs/../passwd"),
            ("/w/dangling", "../outside/new"),
            ("/w/a", "b"),
            ("/w/b", "a"),
        ];
        let read_link = |path: &AbsPath| {
            Ok(links.iter().find(|(link, _)| *link == path.as_str()).map(|(_, target)| (*target).to_owned()))
        };
        for (given, expected) in [
            ("/w/plain/new", "/w/plain/new"),
            ("/w/rel", "/w/dir/file"),
            ("/w/abs/hosts", "/etc/hosts"),
            ("/w/deep", "/passwd"),
            ("/w/dangling", "/outside/new"),
            ("/", "/"),
        ] {
            let path = AbsPath::new(given).unwrap();
            assert_eq!(resolve(&path, read_link).unwrap().as_str(), expected, "{given}");
        }
        assert!(resolve(&AbsPath::new("/w/a/x").unwrap(), read_link).is_err());
    }
}
