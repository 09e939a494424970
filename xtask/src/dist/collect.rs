//! The files that concern all targets: sums, installer, formula, npm's main package and the
//! registry entry. They follow from the archives that are in the directory.

use super::{
    homebrew, installer, npm, registry,
    release::Release,
    target::{Archive, Target},
};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// Renews the common files.
pub(super) fn collect(out: &Path, release: &Release) -> Result<()> {
    let archives = archives(out, release)?;
    if archives.is_empty() {
        bail!("{} has no archive of version {}", out.display(), release.version);
    }
    npm::write_main(release, out)?;
    fs::write(out.join("install.sh"), installer::script(release)?)?;
    fs::write(out.join("tiller.rb"), homebrew::formula(release, &archives)?)?;
    registry::write(release, &archives, &out.join("registry/tiller"))?;
    fs::write(out.join("SHA256SUMS"), sums(out)?)?;
    Ok(())
}

/// The archives of this version, by name.
fn archives(out: &Path, release: &Release) -> Result<Vec<Archive>> {
    let mut archives = Vec::new();
    for file in files(out)? {
        if let Some(target) = Target::of_archive(&file, &release.version) {
            archives.push(Archive { target, sha256: sha256(&out.join(&file))?, file });
        }
    }
    Ok(archives)
}

/// The sum of each file in the directory, as `sha256sum` prints it. A signature signs the sums, so
/// it is not among them.
fn sums(out: &Path) -> Result<String> {
    let mut text = String::new();
    for file in files(out)? {
        if file != "SHA256SUMS" && !file.ends_with(".minisig") {
            text += &format!("{}  {file}\n", sha256(&out.join(&file))?);
        }
    }
    Ok(text)
}

/// The names of the files in a directory, sorted.
fn files(directory: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(super::release::name(&entry.path()));
        }
    }
    names.sort();
    Ok(names)
}

fn sha256(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_files_follow_from_the_archives() {
        let (out, release) = (tempfile::tempdir().unwrap(), Release::read().unwrap());
        assert!(collect(out.path(), &release).unwrap_err().to_string().contains("no archive"));
        for target in ["x86_64-unknown-linux-musl", "aarch64-apple-darwin"] {
            fs::write(out.path().join(format!("tiller-{}-{target}.tar.gz", release.version)), target)
                .unwrap();
        }
        fs::write(out.path().join("tiller-0.0.1-x86_64-apple-darwin.tar.gz"), "old").unwrap();
        collect(out.path(), &release).unwrap();
        let read = |name: &str| fs::read_to_string(out.path().join(name)).unwrap();
        let sum = sha256(&out.path().join(format!("tiller-{}-aarch64-apple-darwin.tar.gz", release.version)))
            .unwrap();
        for name in ["SHA256SUMS", "tiller.rb", "registry/tiller/agent.json"] {
            assert!(read(name).contains(&sum), "{name}");
        }
        // A second time changes nothing.
        let before = read("SHA256SUMS");
        collect(out.path(), &release).unwrap();
        assert_eq!(read("SHA256SUMS"), before);
    }
}
