//! The links of the built site, followed in its files.

use crate::relative::resolve;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A page: the anchors that it has, and the links that it makes.
#[derive(Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

/// Returns a line for each link of a site that leads to no file or to no anchor, and for each
/// script, image or style sheet of another host.
pub(super) fn broken(site: &Path) -> Result<Vec<String>> {
    let mut files = BTreeMap::new();
    collect(site, "", &mut files)?;
    let mut problems = Vec::new();
    for (path, page) in files.iter().filter_map(|(path, page)| Some((path, page.as_ref()?))) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in &page.links {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if target.is_empty() { Some(path.clone()) } else { resolve(folder, target) };
            let problem = match target.as_ref().and_then(|target| files.get(target)) {
                None => Some("leads nowhere"),
                Some(Some(page)) if !anchor.is_empty() && !page.anchors.contains(anchor) => {
                    Some("names no heading of the page")
                }
                Some(_) => None,
            };
            problems.extend(problem.map(|problem| format!("{path}: {link} {problem}")));
        }
    }
    Ok(problems)
}

/// Reads the files below a directory. Only HTML files are parsed.
fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Option<Page>>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if path.ends_with(".html") && path != "404.html" {
            files.insert(path, Some(parse(&fs::read_to_string(entry.path())?)));
        } else {
            files.insert(path, None);
        }
    }
    Ok(())
}

/// Parses the attributes of a page that name anchors and targets.
fn parse(html: &str) -> Page {
    let mut page = Page::default();
    let values = |attribute: &'static str| {
        html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()).map(decoded)
    };
    page.anchors.extend(values(" id=\""));
    let is_outside = |link: &String| link.contains(':') || link.starts_with("//");
    page.links.extend(values(" href=\"").filter(|link| !is_outside(link)));
    page.links.extend(values(" src=\"").filter(|link| !link.starts_with("data:")));
    page
}

/// Decodes the entities and the percent-encoding that mdbook writes.
fn decoded(text: &str) -> String {
    let text =
        text.replace("&amp;", "&").replace("&#39;", "'").replace("&#x27;", "'").replace("&quot;", "\"");
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_to_files_and_headings() {
        let site = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(site.path().join(name), text).unwrap();
        fs::create_dir(site.path().join("x")).unwrap();
        write(
            "index.html",
            r##"<a href="x/a.html#b%C3%A9"> <a href="#me"> <a href="https://a.b/c"> <h1 id="me">"##,
        );
        write("x/a.html", r#"<h1 id="bé"> <img src="../i.svg"> <a href="../index.html">"#);
        write("i.svg", "");
        assert_eq!(broken(site.path()).unwrap(), Vec::<String>::new());
        write(
            "x/a.html",
            r##"<a href="gone.html"> <a href="../../up.html"> <img src="https://a.b/i.png"> <a href="#no">"##,
        );
        let broken = broken(site.path()).unwrap();
        assert_eq!(broken.len(), 5, "{broken:?}");
    }
}
