//! Relative paths in links of documents.

/// Resolves a path relative to a directory; both are separated by `/` and begin at a common root. A
/// path that begins with `/` starts at the root. An empty path is the directory itself. `None` if
/// the path leaves the root.
pub(crate) fn resolve(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> =
        if path.starts_with('/') { Vec::new() } else { directory.split('/').collect() };
    parts.retain(|part| !part.is_empty());
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_within_the_root() {
        assert_eq!(resolve("docs/adr", "../../README.md").as_deref(), Some("README.md"));
        assert_eq!(resolve("", "./docs//a.md").as_deref(), Some("docs/a.md"));
        assert_eq!(resolve("docs", "/CONTRIBUTING.md").as_deref(), Some("CONTRIBUTING.md"));
        assert_eq!(resolve("docs", "../../secret.md"), None);
    }
}
