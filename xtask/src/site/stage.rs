//! Copies the pages into one directory, with links that hold there.

use crate::relative::resolve;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const SUMMARY: &str = "docs/SUMMARY.md";

/// Stages the pages that the summary lists, with the files that they link to. Returns the number
/// of pages.
pub(super) fn stage(root: &Path, to: &Path) -> Result<usize> {
    let read =
        |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("{path} cannot be read"));
    let summary = read(SUMMARY)?;
    let pages = pages(&summary);
    let mut files = BTreeSet::new();
    for (page, staged) in pages.iter().map(|(page, staged)| (page.as_str(), staged.as_str())) {
        write(to, staged, &rewritten(&read(page)?, page, staged, &pages, root, &mut files))?;
    }
    let summary = rewritten(&summary, SUMMARY, "SUMMARY.md", &pages, root, &mut files);
    for file in files {
        let target = to.join(place(&file));
        fs::create_dir_all(target.parent().expect("a staged file is below the directory"))?;
        fs::copy(root.join(&file), target).with_context(|| format!("{file} cannot be copied"))?;
    }
    write(to, "SUMMARY.md", &summary)?;
    Ok(pages.len())
}

fn write(to: &Path, name: &str, text: &str) -> Result<()> {
    let path = to.join(name);
    fs::create_dir_all(path.parent().expect("a staged page is below the directory"))?;
    fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Returns the pages of a summary with their places in the site.
fn pages(summary: &str) -> BTreeMap<String, String> {
    let targets = summary.lines().filter_map(|line| line.split_once("](")?.1.split(')').next());
    targets.filter_map(|target| resolve("docs", target)).map(|page| (page.clone(), place(&page))).collect()
}

/// Returns the place of a file in the site: the files of `docs` and README.md are at its root,
/// other pages of the root in `project`, and linked files that are not pages in `files`. A
/// README.md is the index of its directory.
fn place(path: &str) -> String {
    let indexed = path.strip_suffix("README.md").filter(|before| before.is_empty() || before.ends_with('/'));
    if let Some(folder) = indexed {
        return format!("{}index.md", folder.strip_prefix("docs/").unwrap_or(folder));
    }
    match path.strip_prefix("docs/") {
        Some(rest) => rest.to_owned(),
        None if !path.ends_with(".md") => format!("files/{}", path.trim_start_matches('.')),
        None if !path.contains('/') => format!("project/{path}"),
        None => path.to_owned(),
    }
}

/// Rewrites the links of a page for its place in the site. Linked files that are not pages are
/// added to `files`. A link to a directory leads to its README.md; without one, only the text of
/// the link remains.
fn rewritten(
    text: &str,
    page: &str,
    staged: &str,
    pages: &BTreeMap<String, String>,
    root: &Path,
    files: &mut BTreeSet<String>,
) -> String {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut moved = |target: &str| -> Option<String> {
        if target.is_empty() || target.starts_with('#') || target.contains(':') {
            return Some(target.to_owned());
        }
        let (path, part) = target.split_once('#').map_or((target, ""), |(path, part)| (path, part));
        let mut path = resolve(folder, path)?;
        if root.join(&path).is_dir() {
            path += "/README.md";
        }
        let place = match pages.get(&path) {
            Some(staged) => staged.clone(),
            None if root.join(&path).is_file() => {
                files.insert(path.clone());
                place(&path)
            }
            None => return None,
        };
        let part = if part.is_empty() { String::new() } else { format!("#{part}") };
        Some(relative(staged, &place) + &part)
    };
    let (mut all, mut fenced) = (String::new(), false);
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        all += &if fenced { line.to_owned() } else { line_with(line, &mut moved) };
        all.push('\n');
    }
    all
}

/// Replaces the targets of a line's links.
fn line_with(line: &str, moved: &mut impl FnMut(&str) -> Option<String>) -> String {
    let (mut all, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once("](") {
        let Some((target, after)) = after.split_once(')') else { break };
        match moved(target) {
            Some(target) => all += &format!("{before}]({target})"),
            None => all += &before.replacen('[', "", usize::from(before.matches('[').count() == 1)),
        }
        rest = after;
    }
    all + rest
}

/// Returns the path from one file of the site to another.
fn relative(from: &str, to: &str) -> String {
    let (from, to): (Vec<_>, Vec<_>) = (from.split('/').collect(), to.split('/').collect());
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let shared = shared.min(from.len() - 1).min(to.len() - 1);
    "../".repeat(from.len() - 1 - shared) + &to[shared..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_moved_with_their_pages() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("README.md", "[e](docs/editors/zed.md#start) ![d](docs/demo.svg)\n```\n[x](docs/x.md)\n```\n"),
            (
                "docs/SUMMARY.md",
                "[Start](../README.md)\n- [Zed](editors/zed.md)\n- [C](../CONTRIBUTING.md)\n",
            ),
            ("docs/editors/zed.md", "[up](../../README.md), [c](../../CONTRIBUTING.md), [web](https://x.y)"),
            ("docs/demo.svg", ""),
            ("CONTRIBUTING.md", "[ci](.ci/run), [crates](crates), [docs](docs/demo.svg)"),
            (".ci/run", ""),
            ("crates/a", ""),
        ] {
            write(root.path(), path, text).unwrap();
        }
        let to = root.path().join("target/src");
        assert_eq!(stage(root.path(), &to).unwrap(), 3);
        let read = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!(read("index.md"), "[e](editors/zed.md#start) ![d](demo.svg)\n```\n[x](docs/x.md)\n```\n");
        assert_eq!(
            read("SUMMARY.md"),
            "[Start](index.md)\n- [Zed](editors/zed.md)\n- [C](project/CONTRIBUTING.md)\n"
        );
        assert_eq!(
            read("editors/zed.md"),
            "[up](../index.md), [c](../project/CONTRIBUTING.md), [web](https://x.y)\n"
        );
        assert_eq!(read("project/CONTRIBUTING.md"), "[ci](../files/ci/run), crates, [docs](../demo.svg)\n");
        assert!(to.join("demo.svg").exists() && to.join("files/ci/run").exists());
    }

    #[test]
    fn paths_between_pages() {
        assert_eq!(relative("a.md", "b.md"), "b.md");
        assert_eq!(relative("x/a.md", "b.md"), "../b.md");
        assert_eq!(relative("x/a.md", "x/b.md"), "b.md");
        assert_eq!(relative("x/y/a.md", "x/b/c.md"), "../b/c.md");
    }
}
