//! The entry of the agent registry, from which editors install agents, and its rules.

use super::{release::Release, target::Archive};
use crate::process::root;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// The platforms that the registry knows.
const PLATFORMS: [&str; 6] =
    ["darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64", "windows-aarch64", "windows-x86_64"];

/// Kinds of archives that the registry unpacks.
const ARCHIVES: [&str; 5] = [".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2"];

/// The size of the icon.
const ICON: &str = "16";

/// Writes the entry of a release with its icon, if it follows the registry's rules.
pub(super) fn write(release: &Release, archives: &[Archive], directory: &Path) -> Result<()> {
    let source = root().join("packaging/registry/tiller");
    let base: Value = serde_json::from_str(&fs::read_to_string(source.join("agent.json"))?)
        .context("packaging/registry/tiller/agent.json")?;
    let icon = fs::read_to_string(source.join("icon.svg"))?;
    let entry = entry(base, release, archives);
    let folder = super::release::name(directory);
    let mut problems = problems(&entry, &folder, &release.version);
    problems.extend(icon_problems(&icon));
    if !problems.is_empty() {
        bail!("the registry would refuse the entry: {}", problems.join("; "));
    }
    fs::create_dir_all(directory)?;
    fs::write(directory.join("agent.json"), format!("{entry:#}\n"))?;
    fs::write(directory.join("icon.svg"), icon)?;
    Ok(())
}

/// Adds what follows from the release to the texts of the entry.
fn entry(base: Value, release: &Release, archives: &[Archive]) -> Value {
    let mut binary = Map::new();
    for archive in archives {
        let known = binary.contains_key(archive.target.registry);
        if known && !archive.target.is_released {
            continue;
        }
        let directory = archive.file.trim_end_matches(".tar.gz");
        let platform = json!({
            "archive": release.url(&archive.file),
            "sha256": archive.sha256,
            "cmd": format!("./{directory}/tiller"),
            "args": ["acp"],
        });
        binary.insert(archive.target.registry.to_owned(), platform);
    }
    let Value::Object(mut entry) = base else { return base };
    entry.insert("version".to_owned(), json!(release.version));
    entry.insert("repository".to_owned(), json!(release.repository));
    entry.insert("license_url".to_owned(), json!(format!("{}/blob/main/LICENSE-APACHE", release.repository)));
    let packages = json!({
        "binary": binary,
        "npx": { "package": format!("{}@{}", release.npm, release.version), "args": ["acp"] },
        "uvx": { "package": format!("{}=={}", release.pypi, release.version), "cmd": "tiller", "args": ["acp"] },
    });
    entry.insert("distribution".to_owned(), packages);
    Value::Object(entry)
}

/// Returns what the registry would refuse in an entry.
fn problems(entry: &Value, folder: &str, version: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut rule = |holds: bool, problem: String| {
        if !holds {
            problems.push(problem);
        }
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let id = text(&entry["id"]);
    let pattern = regex::Regex::new("^[a-z][a-z0-9-]*$").expect("the pattern is valid");
    rule(pattern.is_match(&id), format!("the id {id:?} is not in lower case"));
    rule(id == folder, format!("the id {id:?} is not the folder {folder:?}"));
    for field in ["name", "description", "license"] {
        rule(!text(&entry[field]).is_empty(), format!("{field} is missing"));
    }
    for field in ["repository", "license_url"] {
        rule(text(&entry[field]).starts_with("https://"), format!("{field} is no URL"));
    }
    let numbers: Vec<_> = version.split('.').collect();
    let plain = numbers.len() == 3 && numbers.iter().all(|number| number.parse::<u32>().is_ok());
    rule(plain, format!("the version {version} has not three numbers"));
    rule(entry["version"] == version, "the version is not that of the release".to_owned());
    rule(!entry["distribution"].to_string().contains("latest"), "a distribution names `latest`".to_owned());
    let binary = entry["distribution"]["binary"].as_object().cloned().unwrap_or_default();
    rule(!binary.is_empty(), "no platform has a binary".to_owned());
    for (platform, package) in &binary {
        let url = text(&package["archive"]);
        rule(PLATFORMS.contains(&platform.as_str()), format!("{platform} is no platform"));
        rule(ARCHIVES.iter().any(|kind| url.ends_with(kind)), format!("{platform}: {url} is no archive"));
        rule(url.contains(&format!("v{version}/")), format!("{platform}: {url} is not of version {version}"));
        let sum = text(&package["sha256"]);
        let hex = sum.len() == 64 && sum.chars().all(|c| c.is_ascii_hexdigit());
        rule(hex, format!("{platform}: {sum:?} is no SHA-256"));
        rule(package["args"] == json!(["acp"]), format!("{platform}: the arguments are not `acp`"));
        rule(
            text(&package["cmd"]).starts_with("./"),
            format!("{platform}: the command is not in the archive"),
        );
    }
    for (kind, separator) in [("npx", "@"), ("uvx", "==")] {
        let package = text(&entry["distribution"][kind]["package"]);
        let named = package.rsplit_once(separator).map(|(_, version)| version);
        rule(named == Some(version), format!("{kind}: {package:?} is not of version {version}"));
        rule(
            entry["distribution"][kind]["args"] == json!(["acp"]),
            format!("{kind}: the arguments are not `acp`"),
        );
    }
    problems
}

/// Returns what the registry would refuse in an icon.
fn icon_problems(icon: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let root = icon.split('>').next().unwrap_or_default();
    if !root.trim_start().starts_with("<svg") || !icon.trim_end().ends_with("</svg>") {
        problems.push("the icon is no SVG".to_owned());
    }
    let attribute = |name: &str| {
        root.split_once(&format!(" {name}=\""))
            .and_then(|(_, rest)| rest.split('"').next())
            .unwrap_or_default()
    };
    if attribute("width") != ICON || attribute("height") != ICON || attribute("viewBox") != "0 0 16 16" {
        problems.push("the icon is not 16×16".to_owned());
    }
    if icon.contains("<!--") {
        problems.push("the icon has a comment".to_owned());
    }
    for forbidden in ["<style", "style=", "<script", "<image", "href="] {
        if icon.contains(forbidden) {
            problems.push(format!("the icon has {forbidden:?}"));
        }
    }
    let pattern = regex::Regex::new("(?:fill|stroke)=\"([^\"]*)\"").expect("the pattern is valid");
    let colours: Vec<_> = pattern.captures_iter(icon).map(|found| found[1].to_owned()).collect();
    for colour in &colours {
        if !["currentColor", "none", "inherit"].contains(&colour.as_str()) {
            problems.push(format!("the icon has the colour {colour:?}"));
        }
    }
    if !colours.iter().any(|colour| colour == "currentColor") {
        problems.push("the icon does not use currentColor".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::target::TARGETS;

    fn released() -> (Value, Release) {
        let release = Release { version: "1.2.3".to_owned(), ..Release::read().unwrap() };
        let archives: Vec<_> = TARGETS
            .iter()
            .map(|target| Archive {
                target,
                file: format!("tiller-1.2.3-{}.tar.gz", target.triple),
                sha256: "0a".repeat(32),
            })
            .collect();
        let base = fs::read_to_string(root().join("packaging/registry/tiller/agent.json")).unwrap();
        (entry(serde_json::from_str(&base).unwrap(), &release, &archives), release)
    }

    #[test]
    fn the_entry_of_a_release_follows_the_rules() {
        let (entry, _) = released();
        assert_eq!(problems(&entry, "tiller", "1.2.3"), [""; 0]);
        let binary = entry["distribution"]["binary"].as_object().unwrap();
        assert_eq!(binary.len(), 4);
        assert!(binary["linux-x86_64"]["archive"].as_str().unwrap().ends_with("musl.tar.gz"));
        let icon = fs::read_to_string(root().join("packaging/registry/tiller/icon.svg")).unwrap();
        assert_eq!(icon_problems(&icon), [""; 0]);
    }

    #[test]
    fn each_rule_refuses_its_fault() {
        let faults: &[(&str, Value, &str)] = &[
            ("/id", json!("Tiller"), "lower case"),
            ("/id", json!("other"), "not the folder"),
            ("/version", json!("1.2.4"), "not that of the release"),
            ("/license_url", json!(""), "license_url"),
            ("/distribution/binary", json!({}), "no platform"),
            ("/distribution/binary/linux-x86_64/archive", json!("https://x/v1.2.3/a.deb"), "no archive"),
            ("/distribution/binary/linux-x86_64/archive", json!("https://x/v1.2.2/a.zip"), "not of version"),
            ("/distribution/binary/linux-x86_64/archive", json!("https://x/latest/v1.2.3/a.zip"), "latest"),
            ("/distribution/binary/linux-x86_64/sha256", json!("0a"), "no SHA-256"),
            ("/distribution/binary/linux-x86_64/args", json!([]), "not `acp`"),
            ("/distribution/npx/package", json!("tiller@1.2.4"), "not of version"),
            ("/distribution/npx/package", json!("tiller"), "not of version"),
            ("/distribution/uvx/package", json!("tiller@latest"), "latest"),
        ];
        for (field, value, says) in faults {
            let (mut entry, _) = released();
            *entry.pointer_mut(field).unwrap() = value.clone();
            let found = problems(&entry, "tiller", "1.2.3");
            assert!(found.iter().any(|problem| problem.contains(says)), "{field} {value}: {found:?}");
        }
        let (mut entry, _) = released();
        entry["distribution"]["binary"]["plan9-mips"] =
            entry["distribution"]["binary"]["linux-x86_64"].clone();
        assert!(problems(&entry, "tiller", "1.2.3").iter().any(|problem| problem.contains("plan9-mips")));
        let (entry, _) = released();
        assert!(problems(&entry, "tiller", "1.2").iter().any(|problem| problem.contains("three numbers")));
    }

    #[test]
    fn each_rule_for_icons_refuses_its_fault() {
        let icon = fs::read_to_string(root().join("packaging/registry/tiller/icon.svg")).unwrap();
        for (from, to, says) in [
            ("width=\"16\"", "width=\"24\"", "16×16"),
            ("viewBox=\"0 0 16 16\"", "viewBox=\"0 0 16 8\"", "16×16"),
            ("fill=\"currentColor\"", "fill=\"#ff0000\"", "#ff0000"),
            ("</svg>", "<!-- x --></svg>", "comment"),
            ("</svg>", "<style>path{fill:red}</style></svg>", "<style"),
            ("<svg", "<html", "no SVG"),
        ] {
            let found = icon_problems(&icon.replace(from, to));
            assert!(found.iter().any(|problem| problem.contains(says)), "{to}: {found:?}");
        }
    }
}
