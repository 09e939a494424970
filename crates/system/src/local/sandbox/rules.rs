//! The file system as Landlock leaves it.

use super::devices;
use crate::{AbsPath, Sandbox, SandboxLevel};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use std::path::Path;

/// What must be there; a kernel without it cannot confine.
const NEEDED: ABI = ABI::V3;
/// What is used where it is there.
const WANTED: ABI = ABI::V6;

/// The version of Landlock's interface as far as its rights tell; 0 without Landlock. Restricts nothing.
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

/// Restricts this process and what it becomes.
pub(super) fn apply(sandbox: &Sandbox, namespaces: bool) -> Result<(), String> {
    let status = build(sandbox, namespaces).and_then(|rules| Ok(rules.restrict_self()?));
    match status {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Err("Landlock is not enforced".to_owned())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(format!("Landlock: {error}")),
    }
}

fn build(sandbox: &Sandbox, namespaces: bool) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?;
    if !sandbox.network && !namespaces {
        rules = rules.handle_access(AccessNet::from_all(WANTED))?;
    }
    let mut rules = rules.create()?;
    // Names may be listed everywhere; contents only where nothing is hidden.
    rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    rules = match namespaces {
        // Something empty lies over what is hidden.
        true => allow(rules, Path::new("/"), AccessFs::from_read(WANTED))?,
        false => readable(rules, &AbsPath::new("/")?, &sandbox.hidden)?,
    };
    for device in devices::WRITABLE {
        // Without a private `/dev` terminals and shared memory are those of other programs.
        if !namespaces && ["/dev/pts", "/dev/shm"].contains(&device) {
            continue;
        }
        rules = allow(rules, Path::new(device), AccessFs::from_all(WANTED))?;
    }
    if sandbox.level == SandboxLevel::WorkspaceWrite {
        for root in &sandbox.writable {
            if sandbox.hidden.iter().any(|hidden| hidden.starts_with(root)) && !namespaces {
                // A right on a folder reaches all of it: what is hidden in it would be readable again.
                return Err(format!("{root} holds files that must stay hidden").into());
            }
            rules = allow(rules, root.as_std(), AccessFs::from_all(WANTED))?;
        }
    }
    Ok(rules)
}

/// Lets everything below a folder be read and run but what is hidden. Links are passed over: where they lead has its own rule.
fn readable(
    mut rules: RulesetCreated,
    folder: &AbsPath,
    hidden: &[AbsPath],
) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let rights = AccessFs::from_read(WANTED);
    if !hidden.iter().any(|path| path.starts_with(folder)) {
        return allow(rules, folder.as_std(), rights);
    }
    for entry in std::fs::read_dir(folder.as_std()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let path = folder.join(name);
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() || hidden.contains(&path) {
            continue;
        }
        rules = if kind.is_dir() {
            readable(rules, &path, hidden)?
        } else {
            allow(rules, path.as_std(), rights)?
        };
    }
    Ok(rules)
}

/// A path that is not there, or cannot be opened, needs no right.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let Ok(fd) = PathFd::new(path) else { return Ok(rules) };
    let folder = std::fs::metadata(path).is_ok_and(|found| found.is_dir());
    let rights = if folder { rights } else { rights & AccessFs::from_file(WANTED) };
    Ok(rules.add_rule(PathBeneath::new(fd, rights))?)
}
