//! Checks of the systemd unit, where systemd's own checker is installed.

use crate::process::command;
use anyhow::{Context as _, Result, bail};
use std::fs;

const UNIT: &str = "deploy/systemd/tiller.service";
/// Where the unit expects the program.
const PROGRAM: &str = "/usr/local/bin/tiller";
/// The highest exposure that `systemd-analyze security` may compute, in tenths. The unit leaves out
/// `ProtectKernelTunables` and `ProtectKernelLogs`, which keep commands from a `/proc` of a new
/// process namespace.
const EXPOSURE: &str = "29";

/// Returns whether the checker is installed.
pub(super) fn is_possible() -> bool {
    command("systemd-analyze").arg("--version").output().is_ok()
}

/// Checks that systemd understands the unit and that it confines the server as far as it can.
pub(super) fn check() -> Result<()> {
    // The program need not be installed.
    let unit = fs::read_to_string(UNIT).context(UNIT)?.replace(PROGRAM, "/bin/true");
    fs::create_dir_all("target/tmp")?;
    let copy = "target/tmp/tiller.service";
    fs::write(copy, unit).context(copy)?;
    for arguments in [&["verify"][..], &["security", "--offline=true", "--threshold", EXPOSURE]] {
        let checked = command("systemd-analyze").args(arguments).arg(copy).output()?;
        if !checked.status.success() || arguments == ["verify"] && !checked.stderr.is_empty() {
            bail!(
                "{UNIT}: systemd-analyze {}: {}{}",
                arguments[0],
                String::from_utf8_lossy(&checked.stderr),
                String::from_utf8_lossy(&checked.stdout)
            );
        }
    }
    Ok(())
}
