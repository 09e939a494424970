//! The files by which programs in a room look up names: they lead to the room's own name server.

use super::root::read_only;
use crate::local::sandbox::namespaces::problem;
use rustix::mount::mount_bind;
use std::fs;
use std::net::IpAddr;

/// The directory for the files until they are mounted.
const STAGING: &str = "/.names";

/// Returns the text of a file in a room, given that of this machine.
type Text = fn(&str) -> String;

/// Covers the files of this machine, in the new root. One that does not exist is not needed.
pub(super) fn cover() -> Result<(), String> {
    fs::create_dir(STAGING).map_err(problem(STAGING))?;
    let files: [(&str, Text); 3] =
        [("/etc/resolv.conf", resolver), ("/etc/nsswitch.conf", switch), ("/etc/hosts", hosts)];
    for (path, text) in files {
        let Ok(target) = fs::canonicalize(path) else { continue };
        let Ok(known) = fs::read_to_string(&target) else { continue };
        let staged = format!("{STAGING}/{}", path.rsplit('/').next().unwrap_or_default());
        fs::write(&staged, text(&known)).map_err(problem(path))?;
        mount_bind(&staged, &target).map_err(problem(path))?;
        read_only(path).map_err(problem(path))?;
    }
    fs::remove_dir_all(STAGING).map_err(problem(STAGING))
}

/// Returns the configuration of name resolution, with the search domains of the user's.
fn resolver(known: &str) -> String {
    let search =
        known.lines().filter(|line| ["search ", "domain "].iter().any(|word| line.starts_with(word)));
    let lines: Vec<_> =
        ["nameserver 127.0.0.1", "options timeout:5 attempts:2"].into_iter().chain(search).collect();
    lines.join("\n") + "\n"
}

/// Returns the sources of names with those of hosts replaced.
fn switch(known: &str) -> String {
    let others = known.lines().filter(|line| !line.trim_start().starts_with("hosts:"));
    let lines: Vec<_> = others.chain(["hosts: files dns"]).collect();
    lines.join("\n") + "\n"
}

/// Returns the names of this machine. Other ones are looked up outside, where their connections
/// begin.
fn hosts(known: &str) -> String {
    let is_own = |line: &&str| {
        let address = line.split_whitespace().next().and_then(|word| word.parse::<IpAddr>().ok());
        address.is_some_and(|address| address.is_loopback())
    };
    let lines: Vec<_> = known.lines().filter(is_own).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_in_the_room() {
        assert_eq!(
            resolver("nameserver 10.0.0.1\nsearch corp\noptions edns0\n"),
            "nameserver 127.0.0.1\noptions timeout:5 attempts:2\nsearch corp\n"
        );
        assert_eq!(switch("passwd: files\nhosts: files mdns4\n"), "passwd: files\nhosts: files dns\n");
        assert_eq!(
            hosts("127.0.0.1 localhost\n203.0.113.80 pypi.org\n::1 ip6\n# x\n"),
            "127.0.0.1 localhost\n::1 ip6\n"
        );
    }
}
