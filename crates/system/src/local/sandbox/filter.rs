//! The seccomp filter: the system calls that a confined command cannot make.

use crate::{Network, Sandbox};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};
use std::collections::BTreeMap;

/// The last system call that this filter knows (`removexattrat`). Later ones, the old numbers of
/// other calling conventions and numbers that no kernel uses fail with ENOSYS.
const LAST_KNOWN: i64 = 466;

/// Calls that inspect other processes, change mounts and namespaces, circumvent Landlock, or
/// circumvent this filter (io_uring creates sockets without the system call for it).
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
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_fanotify_init,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    QUOTACTL_FD,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// The number is the same on every architecture; `libc` does not define it.
const QUOTACTL_FD: i64 = 443;

/// The allowed socket families. Others lead out of the network namespace, to the hypervisor or the
/// hardware.
const FAMILIES: &[i32] = &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The ioctls `TIOCSTI` and `TIOCLINUX`, which inject terminal input as if the user had typed it.
/// Given as numbers because their types differ between C libraries.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Installs the filter for this process and everything it becomes or starts.
pub(super) fn apply(sandbox: &Sandbox, in_room: bool) -> Result<(), String> {
    let result = rules(sandbox, in_room).and_then(|rules| {
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            errno(libc::EPERM),
            std::env::consts::ARCH.try_into()?,
        )?;
        let refused: BpfProgram = filter.try_into()?;
        seccompiler::apply_filter(&refused)?;
        Ok(seccompiler::apply_filter(&known()?)?)
    });
    result.map_err(|error| format!("system call filter: {error}"))
}

/// Builds the filter that rejects unknown system calls by number. It is written in raw BPF because
/// a list of all known calls would have two thousand instructions, which take the kernel a
/// millisecond to check and compile. It need not check the architecture: the other filter kills a
/// process that uses the calls of another one.
fn known() -> Result<BpfProgram, std::num::TryFromIntError> {
    let step = |code: u32, number: i64, skipped: u8| {
        Ok(sock_filter { code: code.try_into()?, jt: skipped, jf: 0, k: number.try_into()? })
    };
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let greater = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    [
        // The number is the first field of the filter's input. It is unsigned, so no check for
        // negative numbers is needed.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        // A C library that gets ENOSYS for clone3 uses clone, whose flags a filter can inspect.
        step(equal, libc::SYS_clone3, 3),
        // Likewise, openat2 falls back to openat, whose mode a filter can inspect.
        step(equal, libc::SYS_openat2, 2),
        step(greater, LAST_KNOWN, 1),
        step(answer, u32::from(SeccompAction::Allow).into(), 0),
        step(answer, u32::from(errno(libc::ENOSYS)).into(), 0),
    ]
    .into_iter()
    .collect()
}

fn rules(sandbox: &Sandbox, in_room: bool) -> Result<Rules, Box<dyn std::error::Error>> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let new_namespace = libc::CLONE_NEWUSER as u64;
    let flag = SeccompCmpOp::MaskedEq(new_namespace);
    rules.insert(libc::SYS_clone, vec![one(0, SeccompCmpArgLen::Qword, flag, new_namespace)?]);
    let ioctls = TERMINAL_INPUT.iter().map(|call| one(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *call));
    rules.insert(libc::SYS_ioctl, ioctls.collect::<Result<_, _>>()?);
    // Unix sockets lead to programs that act on behalf of others: the session bus, the container
    // daemon, the key agent. In a room with a network of its own they lead to commands only:
    // abstract ones belong to the network, and those of other programs are covered. Elsewhere,
    // connected pairs stay allowed, because they lead to no other program, but not pairs of
    // datagram sockets, which can send to other addresses.
    let has_own_network = in_room && sandbox.network != Network::Open;
    let unix: &[i32] = if has_own_network { &[libc::AF_UNIX] } else { &[] };
    let sockets = match sandbox.network != Network::Open && !in_room {
        true => Vec::new(),
        false => vec![SeccompRule::new(
            FAMILIES
                .iter()
                .chain(unix)
                .map(|family| {
                    let family = u64::from(family.unsigned_abs());
                    SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
                })
                .collect::<Result<_, _>>()?,
        )?],
    };
    rules.insert(libc::SYS_socket, sockets);
    rules.extend(lending()?);
    if !has_own_network {
        let kind = SeccompCmpOp::MaskedEq(SOCKET_KIND);
        let datagram = u64::from(libc::SOCK_DGRAM.unsigned_abs());
        rules.insert(libc::SYS_socketpair, vec![one(1, SeccompCmpArgLen::Dword, kind, datagram)?]);
    }
    Ok(rules)
}

/// Forbids setting the set-user-ID and set-group-ID bits of a file. For each call: the index of the
/// mode argument, and optionally a flag (with the index of its argument) that must be set for the
/// mode to take effect.
fn lending() -> Result<Rules, Box<dyn std::error::Error>> {
    let creates = Some((libc::O_CREAT.unsigned_abs(), 1));
    let calls = [
        (libc::SYS_fchmod, 1, None),
        (libc::SYS_fchmodat, 2, None),
        (SYS_FCHMODAT2, 2, None),
        (libc::SYS_mknodat, 2, None),
        (libc::SYS_openat, 3, creates.map(|(flag, at)| (flag, at + 1))),
    ];
    // Newer architectures do not have these calls.
    #[cfg(target_arch = "x86_64")]
    let calls = calls.into_iter().chain([
        (libc::SYS_chmod, 1, None),
        (libc::SYS_creat, 1, None),
        (libc::SYS_mknod, 1, None),
        (libc::SYS_open, 2, creates),
    ]);
    let mut rules = Rules::new();
    for (call, mode, flag) in calls {
        let of_call = [libc::S_ISUID, libc::S_ISGID].map(|bit| {
            let bit = u64::from(bit);
            let bits = SeccompCmpOp::MaskedEq(bit);
            let mut conditions = vec![SeccompCondition::new(mode, SeccompCmpArgLen::Dword, bits, bit)?];
            if let Some((flag, at)) = flag {
                let flag = u64::from(flag);
                let flags = SeccompCmpOp::MaskedEq(flag);
                conditions.push(SeccompCondition::new(at, SeccompCmpArgLen::Dword, flags, flag)?);
            }
            SeccompRule::new(conditions)
        });
        rules.insert(call, of_call.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

/// `fchmodat2`; `libc` does not define it.
const SYS_FCHMODAT2: i64 = 452;

/// The bits of a socket's type argument that are not flags.
const SOCKET_KIND: u64 = 0xf;

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.unsigned_abs())
}

fn one(
    argument: u8,
    length: SeccompCmpArgLen,
    compare: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, Box<dyn std::error::Error>> {
    Ok(SeccompRule::new(vec![SeccompCondition::new(argument, length, compare, value)?])?)
}
