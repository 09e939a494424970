//! The Landlock rules for file system access.

use super::devices;
use crate::{AbsPath, Sandbox, SandboxLevel};
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
    // Directories may be listed everywhere; files may be read only where nothing is hidden.
    rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    rules = match namespaces {
        // Hidden paths are covered by empty mounts.
        true => allow(rules, Path::new("/"), AccessFs::from_read(WANTED))?,
        false => {
            let hidden = [&*sandbox.secret.hidden, &*sandbox.secret.sealed].concat();
            readable(rules, &AbsPath::new("/")?, &hidden)?
        }
    };
    let is_sealed = |root: &&AbsPath| sandbox.secret.sealed.iter().any(|sealed| root.starts_with(sealed));
    for root in sandbox.writable.roots.iter().filter(is_sealed) {
        rules = allow(rules, root.as_std(), AccessFs::from_read(WANTED))?;
    }
    for device in devices::WRITABLE {
        // Without a private `/dev`, terminals and shared memory belong to other programs.
        if !namespaces && ["/dev/pts", "/dev/shm"].contains(&device) {
            continue;
        }
        rules = allow(rules, Path::new(device), AccessFs::from_all(WANTED))?;
    }
    if sandbox.level == SandboxLevel::WorkspaceWrite {
        for root in &sandbox.writable.roots {
            if sandbox.secret.hidden.iter().any(|hidden| hidden.starts_with(root)) && !namespaces {
                // A right on a directory applies to everything below it, so the hidden files would
                // be readable again.
                return Err(format!("{root} holds files that must stay hidden").into());
            }
            rules = allow(rules, root.as_std(), AccessFs::from_all(WANTED))?;
        }
    }
    Ok(rules)
}

/// Allows reading and executing everything below a directory except hidden paths. Links are
/// skipped: their targets have their own rules.
fn readable(
    mut rules: RulesetCreated,
    directory: &AbsPath,
    hidden: &[AbsPath],
) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    let rights = AccessFs::from_read(WANTED);
    if !hidden.iter().any(|path| path.starts_with(directory)) {
        return allow(rules, directory.as_std(), rights);
    }
    for entry in std::fs::read_dir(directory.as_std()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let path = directory.join(name);
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
