//! The rules for reading project files that were discovered rather than requested.

use crate::{
    Mode, SandboxOptions,
    policy::{self, Bounds},
};
use system::{AbsPath, FoundRules, Sandbox};

/// Repository internals: the URL of a remote may contain a password.
const INTERNALS: [&str; 2] = [".git/*", "*/.git/*"];

/// Returns the rules for discovered files below `root`: they exclude what the policy blocks for
/// tools, by default and by the user's settings. `limit` is in bytes.
pub fn found_rules(root: &AbsPath, blocked_paths: &[String], limit: usize) -> FoundRules {
    let bounds = Bounds {
        options: &SandboxOptions::default(),
        mode: Mode::Edit,
        roots: std::slice::from_ref(root),
        blocked_paths,
        rules: &Default::default(),
        own_files: None,
        folder: None,
    };
    of_sandbox(policy::sandbox(&bounds), limit)
}

/// Returns the same rules for the sandbox of a session.
pub(crate) fn of_sandbox(mut secrets: Sandbox, limit: usize) -> FoundRules {
    secrets.secret.patterns.extend(INTERNALS.map(str::to_owned));
    FoundRules { secrets, limit: limit as u64, any_name: false }
}
