//! Linux capabilities: a few for the stage that mounts, none for the command.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

/// The capabilities that the inner stage needs in its user namespace: for mounts, for loopback, and
/// for emptying the bounding set.
const NEEDED: [CapabilitySet; 3] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN, CapabilitySet::SETPCAP];

/// Passes the needed capabilities of a new user namespace on to the next program.
pub(super) fn hand_on() -> Result<(), String> {
    let mut sets = capabilities(None).map_err(problem)?;
    sets.inheritable = NEEDED.into_iter().collect();
    set_capabilities(None, sets).map_err(problem)?;
    NEEDED
        .into_iter()
        .try_for_each(|needed| configure_capability_in_ambient_set(needed, true).map_err(problem))
}

/// Drops all capabilities, including those that a program with uid 0 would regain.
pub(super) fn drop_all() -> Result<(), String> {
    clear_ambient_capability_set().map_err(problem)?;
    let held = capabilities(None).map_err(problem)?.effective;
    // Only a process with this capability can shrink the bounding set. Without it, only root could
    // regain capabilities from that set.
    if held.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().iter() {
            match remove_capability_from_bounding_set(capability) {
                // This kernel does not know the capability.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(error) => return Err(problem(error)),
            }
        }
    } else if rustix::process::geteuid().is_root() {
        return Err("root cannot give its capabilities up here".to_owned());
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(problem)
}

fn problem(error: rustix::io::Errno) -> String {
    format!("capabilities: {error}")
}
