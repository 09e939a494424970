//! PyPI: a wheel with the binary as a script, so that `pip` and `uvx` install a program.

use super::{archive::Entry, contents::Contents, release::Release, target::Target};
use anyhow::{Context, Result};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

/// The page of the package.
const DESCRIPTION: &str = "\
# Tiller

A coding agent that works through the editor, by the Agent Client Protocol
(https://agentclientprotocol.com). This package installs the program `tiller`.

    pip install tiller      # or: uv tool install tiller, pipx install tiller
    tiller setup            # a provider, a key, a model
    tiller install zed      # or jetbrains, neovim, emacs, vscode

`uvx tiller acp` starts the agent for an editor without installing it.
";

/// Writes the wheel of a target; returns its path.
pub(super) fn write(
    target: &Target,
    contents: &Contents,
    release: &Release,
    out: &Path,
    fast: bool,
) -> Result<PathBuf> {
    let name = release.pypi.replace('-', "_");
    let stem = format!("{name}-{}", release.version);
    let platform = platform(target, &contents.binary)?;
    let info = format!("{stem}.dist-info");
    let mut entries = vec![
        Entry::program(format!("{stem}.data/scripts/tiller"), contents.binary.clone()),
        Entry::new(format!("{info}/METADATA"), metadata(release, contents)),
        Entry::new(format!("{info}/WHEEL"), wheel(&platform)),
        Entry::new(format!("{info}/sboms/tiller.cdx.json"), contents.sbom.clone()),
    ];
    entries.extend(contents.licences.iter().map(|entry| entry.below(&format!("{info}/licenses"))));
    let record = record(&entries, &info);
    entries.push(Entry::new(format!("{info}/RECORD"), record));
    let path = out.join(format!("{stem}-py3-none-{platform}.whl"));
    let file = fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut archive = ZipWriter::new(file);
    let level = if fast { 1 } else { 9 };
    for entry in &entries {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(level))
            .last_modified_time(time(release.time)?)
            .unix_permissions(entry.mode());
        archive.start_file(&entry.path, options)?;
        archive.write_all(&entry.bytes)?;
    }
    archive.finish()?.sync_all()?;
    Ok(path)
}

/// The platform of the wheel. A binary that is linked with glibc runs where glibc is at least as
/// new as the newest symbol that it needs.
fn platform(target: &Target, binary: &[u8]) -> Result<String> {
    if let Some(known) = target.wheel {
        return Ok(known.to_owned());
    }
    let (major, minor) =
        newest_glibc(binary).context("the binary names no version of glibc that it needs")?;
    let machine = target.triple.split('-').next().unwrap_or_default();
    Ok(format!("manylinux_{major}_{minor}_{machine}"))
}

/// Returns the newest version among the symbols `GLIBC_2.17`.
fn newest_glibc(binary: &[u8]) -> Option<(u32, u32)> {
    let pattern = regex::bytes::Regex::new(r"GLIBC_([0-9]+)\.([0-9]+)").expect("the pattern is valid");
    let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse().ok();
    pattern.captures_iter(binary).filter_map(|found| Some((number(&found[1])?, number(&found[2])?))).max()
}

fn metadata(release: &Release, contents: &Contents) -> String {
    let mut text = format!(
        "Metadata-Version: 2.4\nName: {}\nVersion: {}\nSummary: A coding agent that works through the editor\n",
        release.pypi, release.version
    );
    text += "License-Expression: Apache-2.0 OR MIT\n";
    for licence in &contents.licences {
        let _ = writeln!(text, "License-File: {}", licence.path);
    }
    let _ = writeln!(text, "Project-URL: Source, {}", release.repository);
    text += "Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n";
    text + DESCRIPTION
}

fn wheel(platform: &str) -> String {
    let mut text = "Wheel-Version: 1.0\nGenerator: tiller xtask\nRoot-Is-Purelib: false\n".to_owned();
    for platform in platform.split('.') {
        let _ = writeln!(text, "Tag: py3-none-{platform}");
    }
    text
}

fn record(entries: &[Entry], info: &str) -> String {
    let mut text = String::new();
    for entry in entries {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&entry.bytes));
        let _ = writeln!(text, "{},sha256={digest},{}", entry.path, entry.bytes.len());
    }
    text + &format!("{info}/RECORD,,\n")
}

/// The time in a ZIP archive, which knows no year before 1980.
fn time(seconds: u64) -> Result<DateTime> {
    let time = jiff::Timestamp::from_second(seconds.try_into()?)?.to_zoned(jiff::tz::TimeZone::UTC);
    let year = u16::try_from(time.year())?;
    let [month, day, hour, minute, second] =
        [time.month(), time.day(), time.hour(), time.minute(), time.second()].map(|part| part.unsigned_abs());
    Ok(DateTime::from_date_and_time(year.max(1980), month, day, hour, minute, second)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_for_glibc_names_the_newest_symbol() {
        let binary = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.17\0";
        let target = |triple| Target::named(triple).unwrap();
        assert_eq!(platform(target("x86_64-unknown-linux-gnu"), binary).unwrap(), "manylinux_2_34_x86_64");
        assert!(platform(target("x86_64-unknown-linux-gnu"), b"").is_err());
        assert!(platform(target("x86_64-unknown-linux-musl"), b"").unwrap().contains("musllinux"));
    }
}
