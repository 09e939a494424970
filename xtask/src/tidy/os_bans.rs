//! Architecture Invariant: only `system` and the outermost crates call the OS. Clippy finds calls
//! of the names in `clippy.toml`; this check ensures that the list is complete.

use super::Problem;
use super::tree::Tree;
use toml::Value;

/// The file with the names.
const FILE: &str = "clippy.toml";

/// Functions of a module or methods of a type, by their common path.
struct Family {
    path: &'static str,
    names: &'static [&'static str],
}

/// Functions that query or change the file system, the network, the environment or other processes.
const FAMILIES: &[Family] = &[
    Family { path: "std::fs", names: FUNCTIONS },
    Family { path: "std::fs", names: &["exists", "soft_link"] },
    Family { path: "std::fs", names: OPENERS },
    Family { path: "std::os::unix::fs", names: &["chown", "chroot", "fchown", "lchown", "symlink"] },
    Family { path: "tokio::fs", names: FUNCTIONS },
    Family { path: "tokio::fs", names: &["symlink", "try_exists"] },
    Family { path: "tokio::fs", names: OPENERS },
    Family { path: "std::path::Path", names: OF_PATHS },
    Family { path: "std::path", names: &["absolute"] },
    Family { path: "camino::Utf8Path", names: OF_PATHS },
    Family { path: "camino::Utf8Path", names: &["canonicalize_utf8", "read_dir_utf8", "read_link_utf8"] },
    Family { path: "std::process", names: &["Command::new"] },
    Family { path: "tokio::process", names: &["Command::new"] },
    Family {
        path: "std::net",
        names: &["TcpListener::bind", "TcpStream::connect", "TcpStream::connect_timeout", "UdpSocket::bind"],
    },
    Family {
        path: "std::os::unix::net",
        names: &[
            "UnixDatagram::bind",
            "UnixDatagram::unbound",
            "UnixListener::bind",
            "UnixListener::bind_addr",
            "UnixStream::connect",
            "UnixStream::connect_addr",
        ],
    },
    Family {
        path: "tokio::net",
        names: &[
            "TcpListener::bind",
            "TcpSocket::connect",
            "TcpStream::connect",
            "UdpSocket::bind",
            "UnixDatagram::bind",
            "UnixListener::bind",
            "UnixStream::connect",
            "lookup_host",
        ],
    },
    Family { path: "std::env", names: OF_THE_ENVIRONMENT },
];

/// Functions that the standard library and tokio have in common.
const FUNCTIONS: &[&str] = &[
    "canonicalize",
    "copy",
    "create_dir",
    "create_dir_all",
    "hard_link",
    "metadata",
    "read",
    "read_dir",
    "read_link",
    "read_to_string",
    "remove_dir",
    "remove_dir_all",
    "remove_file",
    "rename",
    "set_permissions",
    "symlink_metadata",
    "write",
];

/// Functions that open or create a file or directory.
const OPENERS: &[&str] =
    &["DirBuilder::create", "File::create", "File::create_new", "File::open", "OpenOptions::open"];

/// Methods of a path that access the disk.
const OF_PATHS: &[&str] = &[
    "canonicalize",
    "exists",
    "is_dir",
    "is_file",
    "is_symlink",
    "metadata",
    "read_dir",
    "read_link",
    "symlink_metadata",
    "try_exists",
];

/// Functions that read or change the process's environment. Arguments are excluded; `main` reads
/// them.
const OF_THE_ENVIRONMENT: &[&str] = &[
    "current_dir",
    "current_exe",
    "home_dir",
    "set_current_dir",
    "temp_dir",
    "var",
    "var_os",
    "vars",
    "vars_os",
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(file) = tree.get(FILE) else { return vec![Problem::file(FILE, "the file is missing")] };
    let banned = banned(&file.text);
    let required =
        FAMILIES.iter().flat_map(|family| family.names.iter().map(|name| format!("{}::{name}", family.path)));
    required
        .filter(|path| !banned.contains(path))
        .map(|path| Problem::file(FILE, format!("`{path}` touches the OS: add it to disallowed-methods")))
        .collect()
}

/// Returns the paths that clippy forbids.
fn banned(text: &str) -> Vec<String> {
    let table: toml::Table = text.parse().unwrap_or_default();
    let entries = table.get("disallowed-methods").and_then(Value::as_array).cloned().unwrap_or_default();
    let path = |entry: &Value| match entry {
        Value::String(path) => Some(path.clone()),
        entry => entry.get("path").and_then(Value::as_str).map(str::to_owned),
    };
    entries.iter().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{capture, command};
    use std::path::Path;

    #[test]
    fn a_missing_name_is_reported() {
        let tree =
            Tree::of(&[(FILE, "disallowed-methods = [\"std::fs::read\", { path = \"std::fs::copy\" }]")]);
        let problems = check(&tree);
        let named =
            |path: &str| problems.iter().any(|problem| problem.message.contains(&format!("`{path}`")));
        assert!(!named("std::fs::read") && !named("std::fs::copy"));
        for missing in ["std::fs::OpenOptions::open", "tokio::fs::copy", "std::path::Path::read_dir"] {
            assert!(named(missing), "{missing}");
        }
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }

    /// Compares with the functions in the standard library's documentation, where that is
    /// installed.
    #[test]
    fn every_function_of_the_standard_library_is_banned() {
        /// Unstable functions cannot be called.
        const UNSTABLE: [&str; 4] = ["set_permissions_nofollow", "set_times", "set_times_nofollow", "mkfifo"];
        /// Functions that only transform text or read arguments, or are `unsafe`, which is
        /// forbidden.
        const HARMLESS: [&str; 6] = ["args", "args_os", "join_paths", "split_paths", "set_var", "remove_var"];
        let sysroot = capture(command("rustc").args(["--print", "sysroot"])).unwrap();
        for (module, pages) in
            [("std::fs", "std/fs"), ("std::os::unix::fs", "std/os/unix/fs"), ("std::env", "std/env")]
        {
            let directory = Path::new(sysroot.trim()).join("share/doc/rust/html").join(pages);
            for page in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                let page = page.file_name().to_string_lossy().into_owned();
                let name = page.strip_prefix("fn.").and_then(|rest| rest.strip_suffix(".html"));
                let Some(name) = name.filter(|name| !UNSTABLE.contains(name) && !HARMLESS.contains(name))
                else {
                    continue;
                };
                let known =
                    FAMILIES.iter().any(|family| family.path == module && family.names.contains(&name));
                assert!(known, "{module}::{name}");
            }
        }
    }
}
