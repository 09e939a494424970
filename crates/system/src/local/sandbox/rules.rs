//! The Landlock rules for file system access.

use super::devices;
use crate::view::SYSTEM_DIRECTORIES;
use crate::{HomeShare, Network, Sandbox, SandboxLevel, TEMP_PLACE, View};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use std::path::Path;

/// The required ABI version; a kernel without it cannot confine.
const NEEDED: ABI = ABI::V3;
/// The ABI version that is used if available.
const WANTED: ABI = ABI::V6;

/// Returns the Landlock ABI version, as far as it can be derived from the supported rights; 0
/// without Landlock. Restricts nothing.
pub(super) fn abi() -> u32 {
    let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let files = |abi| strict().handle_access(AccessFs::from_all(abi)).is_ok();
    let has = [
        files(ABI::V1),
        files(ABI::V2),
        files(ABI::V3),
        strict().handle_access(AccessNet::from_all(ABI::V4)).is_ok(),
        files(ABI::V5),
        strict().scope(Scope::from_all(ABI::V6)).is_ok(),
    ];
    has.iter().take_while(|has| **has).count() as u32
}

/// Restricts this process and everything it becomes or starts.
pub(super) fn apply(sandbox: &Sandbox, in_room: bool) -> Result<(), String> {
    let status = build(sandbox, in_room).and_then(|rules| Ok(rules.restrict_self()?));
    match status {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Err("Landlock is not enforced".to_owned())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(format!("Landlock: {error}")),
    }
}

fn build(sandbox: &Sandbox, in_room: bool) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?;
    if sandbox.network != Network::Open && !in_room {
        rules = rules.handle_access(AccessNet::from_all(WANTED))?;
    }
    let mut rules = rules.create()?;
    rules = match in_room {
        // The room contains nothing else.
        true => allow(rules, Path::new("/"), AccessFs::from_read(WANTED))?,
        false => readable(rules, &sandbox.view)?,
    };
    for device in devices::WRITABLE {
        // Without a private `/dev`, terminals and shared memory belong to other programs.
        if !in_room && ["/dev/pts", "/dev/shm"].contains(&device) {
            continue;
        }
        rules = allow(rules, Path::new(device), AccessFs::from_all(WANTED))?;
    }
    if sandbox.level == SandboxLevel::WorkspaceWrite {
        let View { temp, copies, home, .. } = &sandbox.view;
        let own = home.iter().filter(|_| in_room).map(|home| &home.at).chain(temp).chain(copies);
        for path in sandbox.view.writable().chain(own) {
            rules = allow(rules, path.as_std(), AccessFs::from_all(WANTED))?;
        }
        rules = allow(rules, Path::new(TEMP_PLACE), AccessFs::from_all(WANTED))?;
    }
    Ok(rules)
}

/// Allows reading and executing what the view names. Directories may be listed everywhere.
fn readable(mut rules: RulesetCreated, view: &View) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    let rights = AccessFs::from_read(WANTED);
    for path in SYSTEM_DIRECTORIES.iter().chain(&["/dev", "/proc", "/run/systemd/resolve", TEMP_PLACE]) {
        rules = allow(rules, Path::new(path), rights)?;
    }
    for path in
        view.roots.iter().filter(|root| !view.is_too_wide(root)).chain(&view.readable).chain(&view.temp)
    {
        rules = allow(rules, path.as_std(), rights)?;
    }
    if let Some(home) = &view.home {
        // Copies need a room, and the file itself may hold secrets.
        for entry in home.entries.iter().filter(|entry| entry.share != HomeShare::Copied) {
            rules = allow(rules, home.at.join(&entry.path).as_std(), rights)?;
        }
    }
    Ok(rules)
}

/// Adds a rule. A path that does not exist or cannot be opened needs none.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let Ok(fd) = PathFd::new(path) else { return Ok(rules) };
    let is_directory = std::fs::metadata(path).is_ok_and(|found| found.is_dir());
    let rights = if is_directory { rights } else { rights & AccessFs::from_file(WANTED) };
    Ok(rules.add_rule(PathBeneath::new(fd, rights))?)
}
