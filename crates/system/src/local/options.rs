//! The options of the local system.

use super::{login::LoginShell, sandbox::HiddenVariables};
use crate::AbsPath;

/// Options of [`crate::LocalSystem`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalOptions {
    /// The program that confines and supervises commands, with the arguments that make it call
    /// [`crate::run_sandboxed`]. Without it, nothing can be confined.
    pub launcher: Vec<String>,
    /// The same program for terminals that other programs open: an absolute path and arguments,
    /// after which the path of a socket is appended. It passes that path to
    /// [`crate::run_in_terminal`]. Without it, no command in such a terminal can be confined.
    pub terminal_launcher: Vec<String>,
    /// Whether commands do not inherit variables whose names or values indicate a secret.
    pub hide_secrets: bool,
    /// Values that are secret, regardless of the variable's name.
    pub secret_values: Vec<String>,
    /// Names of variables that commands inherit although they look secret.
    pub keep_variables: Vec<String>,
    /// Whether commands inherit none but ordinary variables: paths, language, time zone, proxies
    /// and certificates.
    pub ordinary_variables_only: bool,
    /// The home directory of commands, instead of that of this process.
    pub home: Option<AbsPath>,
    /// The login shell whose variables are added to those of this process, for commands and for
    /// programs with piped streams.
    pub login: LoginShell,
}

impl LocalOptions {
    /// Returns which variables are withheld from commands, if any.
    pub(super) fn hidden_variables(&self) -> Option<HiddenVariables> {
        let hidden_variables = || HiddenVariables {
            values: self.secret_values.clone(),
            keep: self.keep_variables.clone(),
            ordinary_only: self.ordinary_variables_only,
        };
        self.hide_secrets.then(hidden_variables)
    }
}
