//! Which files of a project may be read although nobody asked for them.

use crate::{
    Mode, SandboxOptions,
    policy::{self, Bounds},
};
use system::{AbsPath, FoundRules, Sandbox};

/// Repository internals: a remote's address may hold a password.
const INTERNALS: [&str; 2] = [".git/*", "*/.git/*"];

/// What a file of `root` that nobody asked for must not be: what the policy blocks for tools, built in and by the user's settings.
pub fn found_rules(root: &AbsPath, blocked_paths: &[String], limit: usize) -> FoundRules {
    let bounds = Bounds {
        options: &SandboxOptions::default(),
        mode: Mode::Edit,
        roots: std::slice::from_ref(root),
        blocked_paths,
        rules: &Default::default(),
        temp: &[],
    };
    of_sandbox(policy::sandbox(&bounds), limit)
}

/// The same, by the sandbox of a session.
pub(crate) fn of_sandbox(mut secrets: Sandbox, limit: usize) -> FoundRules {
    secrets.secrets.extend(INTERNALS.map(str::to_owned));
    FoundRules { secrets, limit: limit as u64, any_name: false }
}
