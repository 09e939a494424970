//! The formula for Homebrew.

use super::{release::Release, target::Archive};
use crate::process::root;
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// Returns `packaging/homebrew/tiller.rb` with the archives of the release.
pub(super) fn formula(release: &Release, archives: &[Archive]) -> Result<String> {
    let template = fs::read_to_string(root().join("packaging/homebrew/tiller.rb"))?;
    let mut systems: BTreeMap<&str, BTreeMap<&str, &Archive>> = BTreeMap::new();
    for archive in archives {
        let [system, processor] = archive.target.homebrew;
        let known = systems.entry(system).or_default().entry(processor).or_insert(archive);
        if archive.target.is_released {
            *known = archive;
        }
    }
    let mut blocks = String::new();
    for (system, processors) in systems {
        let _ = writeln!(blocks, "  {system} do");
        for (processor, archive) in processors {
            let url = release.url(&archive.file);
            let _ = writeln!(
                blocks,
                "    {processor} do\n      url \"{url}\"\n      sha256 \"{}\"\n    end",
                archive.sha256
            );
        }
        blocks += "  end\n\n";
    }
    Ok(template
        .replace("@REPOSITORY@", &release.repository)
        .replace("@VERSION@", &release.version)
        .replace("  # @ARCHIVES@\n\n", &blocks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::target::TARGETS;

    #[test]
    fn the_formula_has_one_archive_for_each_platform() {
        let release = Release::read().unwrap();
        let archive = |triple: &str| Archive {
            target: crate::dist::target::Target::named(triple).unwrap(),
            file: format!("tiller-{}-{triple}.tar.gz", release.version),
            sha256: triple.to_owned(),
        };
        let all: Vec<_> = TARGETS.iter().map(|target| archive(target.triple)).collect();
        let text = formula(&release, &all).unwrap();
        assert_eq!(text.matches("sha256 \"").count(), 4, "{text}");
        assert!(
            text.contains("sha256 \"x86_64-unknown-linux-musl\"") && !text.contains("linux-gnu"),
            "{text}"
        );
        assert!(!text.contains('@'), "{text}");
        let ends = text.lines().filter(|line| line.trim() == "end").count();
        let opened = text
            .lines()
            .filter(|line| line.ends_with(" do") || line.starts_with("class") || line.starts_with("  def"));
        assert_eq!(ends, opened.count(), "{text}");
    }
}
