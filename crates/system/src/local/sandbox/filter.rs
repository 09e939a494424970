//! The system calls that are taken away.

use crate::Sandbox;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;

/// Looks into other processes, changes mounts and namespaces, reaches round Landlock, or reaches round this filter (io_uring makes
/// sockets without a system call of its own).
const REFUSED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
];

/// Types into a terminal as if a person did: `TIOCSTI` and `TIOCLINUX`, whose type differs between C libraries.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Installs the filter; it holds for all that this process becomes and starts.
pub(super) fn apply(sandbox: &Sandbox, namespaces: bool) -> Result<(), String> {
    let result = rules(sandbox, namespaces).and_then(|rules| {
        install(rules, libc::EPERM)?;
        // A library that finds no clone3 uses clone, whose flags a filter can look at.
        install(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
    });
    result.map_err(|error| format!("system call filter: {error}"))
}

fn rules(sandbox: &Sandbox, namespaces: bool) -> Result<Rules, Box<dyn std::error::Error>> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let new_namespace = libc::CLONE_NEWUSER as u64;
    let flag = SeccompCmpOp::MaskedEq(new_namespace);
    rules.insert(libc::SYS_clone, vec![one(0, SeccompCmpArgLen::Qword, flag, new_namespace)?]);
    let ioctls = TERMINAL_INPUT.iter().map(|call| one(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *call));
    rules.insert(libc::SYS_ioctl, ioctls.collect::<Result<_, _>>()?);
    // Local sockets lead to who acts for others: the session bus, the container daemon, the key agent. Pairs stay, they lead nowhere.
    let family = libc::AF_UNIX as u64;
    let sockets = match !sandbox.network && !namespaces {
        true => Vec::new(),
        false => vec![one(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, family)?],
    };
    rules.insert(libc::SYS_socket, sockets);
    Ok(rules)
}

fn one(
    argument: u8,
    length: SeccompCmpArgLen,
    compare: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, Box<dyn std::error::Error>> {
    Ok(SeccompRule::new(vec![SeccompCondition::new(argument, length, compare, value)?])?)
}

fn install(rules: Rules, errno: i32) -> Result<(), Box<dyn std::error::Error>> {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into()?)?;
    let program: BpfProgram = filter.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}
