//! npm: one package with a launcher, and one package with the binary for each platform.
//!
//! No package has an install script: npm chooses the platform's package by `os` and `cpu`, so
//! `npm install --ignore-scripts` is enough.

use super::{
    archive::{self, Entry},
    contents::Contents,
    release::Release,
    target::{TARGETS, Target},
};
use crate::process::root;
use anyhow::Result;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The oldest Node that the launcher supports.
const NODE: &str = ">=18";

/// Writes the package with the binary of a target; returns its path.
pub(super) fn write_platform(
    target: &Target,
    contents: &Contents,
    release: &Release,
    out: &Path,
    fast: bool,
) -> Result<PathBuf> {
    let name = platform_name(target, release);
    let [os, cpu] = target.npm;
    let mut manifest = manifest(&name, release);
    manifest["description"] = json!(format!("The program tiller for {os} on {cpu}; install {}", release.npm));
    manifest["os"] = json!([os]);
    manifest["cpu"] = json!([cpu]);
    if let Some(libc) = target.libc {
        manifest["libc"] = json!([libc]);
    }
    // Never unpacked into one archive by tools such as Yarn: a program must be a file.
    manifest["preferUnplugged"] = json!(true);
    let mut entries = vec![Entry::program("bin/tiller", contents.binary.clone()), package_json(&manifest)];
    entries.extend(contents.licences.iter().cloned());
    write(&name, &entries, release, out, fast)
}

/// Writes the package with the launcher; returns its path.
pub(super) fn write_main(release: &Release, out: &Path) -> Result<PathBuf> {
    let mut manifest = manifest(&release.npm, release);
    manifest["description"] =
        json!("A coding agent that works through the editor, by the Agent Client Protocol");
    manifest["keywords"] = json!(["acp", "agent-client-protocol", "agent", "cli"]);
    manifest["bin"] = json!({ "tiller": "bin/tiller.js" });
    manifest["engines"] = json!({ "node": NODE });
    let platforms = TARGETS.iter().filter(|target| target.is_released);
    manifest["optionalDependencies"] = platforms
        .map(|target| (platform_name(target, release), json!(release.version)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let directory = root().join("packaging/npm");
    let launcher = fs::read_to_string(directory.join("tiller.js"))?.replace("@PACKAGE@", &release.npm);
    let mut entries = vec![
        Entry::program("bin/tiller.js", launcher),
        Entry::new("README.md", fs::read(directory.join("README.md"))?),
        package_json(&manifest),
    ];
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        entries.push(Entry::new(name, fs::read(root().join(name))?));
    }
    write(&release.npm, &entries, release, out, false)
}

/// The name of the package with the binary: the launcher finds it by Node's words for the platform.
fn platform_name(target: &Target, release: &Release) -> String {
    format!("{}-{}", release.npm, target.npm_suffix())
}

fn manifest(name: &str, release: &Release) -> Value {
    json!({
        "name": name,
        "version": release.version,
        "license": "Apache-2.0 OR MIT",
        "repository": { "type": "git", "url": format!("git+{}.git", release.repository) },
    })
}

fn package_json(manifest: &Value) -> Entry {
    Entry::new("package.json", format!("{manifest:#}\n"))
}

fn write(name: &str, entries: &[Entry], release: &Release, out: &Path, fast: bool) -> Result<PathBuf> {
    let file = name.trim_start_matches('@').replace('/', "-");
    let path = out.join(format!("{file}-{}.tgz", release.version));
    let entries: Vec<_> = entries.iter().map(|entry| entry.below("package")).collect();
    archive::write(&path, &entries, release.time, fast)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read;

    fn read(path: &Path) -> BTreeMap<String, String> {
        let file = fs::File::open(path).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            (entry.path().unwrap().display().to_string(), text)
        });
        entries.collect()
    }

    #[test]
    fn the_packages_of_npm_fit_each_other_and_run_no_script() {
        let (out, release) = (tempfile::tempdir().unwrap(), Release::read().unwrap());
        let contents = Contents {
            binary: b"x".to_vec(),
            licences: vec![Entry::new("LICENSE-MIT", "m")],
            extras: Vec::new(),
            sbom: Vec::new(),
        };
        let main = read(&write_main(&release, out.path()).unwrap());
        let main: Value = serde_json::from_str(&main["package/package.json"]).unwrap();
        for target in TARGETS.iter().filter(|target| target.is_released) {
            let files = read(&write_platform(target, &contents, &release, out.path(), true).unwrap());
            assert_eq!(files["package/bin/tiller"], "x");
            let package: Value = serde_json::from_str(&files["package/package.json"]).unwrap();
            let name = package["name"].as_str().unwrap();
            assert_eq!(main["optionalDependencies"][name], package["version"], "{name}");
            assert!(package["scripts"].is_null() && package["os"][0].is_string(), "{package}");
        }
        assert!(main["scripts"].is_null());
        assert_eq!(main["optionalDependencies"].as_object().unwrap().len(), 4);
    }
}
