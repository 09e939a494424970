//! The shell installer of a version.

use super::release::Release;
use crate::process::root;
use anyhow::{Result, bail};
use std::fs;

/// Returns `packaging/install.sh` with the version, the URLs and the key of the release.
pub(super) fn script(release: &Release) -> Result<String> {
    let mut script = fs::read_to_string(root().join("packaging/install.sh"))?;
    for (name, value) in [
        ("@VERSION@", release.version.as_str()),
        ("@DOWNLOADS@", release.downloads.as_str()),
        ("@LATEST@", release.latest.as_str()),
        ("@KEY@", release.key.as_str()),
    ] {
        if value.contains(['\'', '\n']) {
            bail!("packaging/release.toml: {value:?} cannot be quoted in a shell script");
        }
        script = script.replace(name, value);
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::target::TARGETS;

    #[test]
    fn the_script_is_filled_in_and_knows_every_target() {
        let release = Release::read().unwrap();
        let script = script(&release).unwrap();
        assert!(script.contains(&format!("VERSION='{}'", release.version)));
        for placeholder in ["@VERSION@", "@DOWNLOADS@", "@LATEST@", "@KEY@"] {
            assert!(!script.contains(placeholder), "{placeholder}");
        }
        for target in &TARGETS {
            assert!(script.contains(target.triple), "{}", target.triple);
        }
    }
}
