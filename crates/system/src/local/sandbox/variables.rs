//! Which variables of the environment a command does not get.

use crate::{is_secret_name, is_secret_value, secrets_in};
use std::ffi::OsString;

/// Variables without which no program is found or knows where it is: passed on whatever they contain. A
/// secret that is a part of one of them is no secret.
const ESSENTIAL: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "LANG", "TERM", "TMPDIR"];

/// What is withheld beyond variables whose names or values look like secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::local) struct Hiding {
    /// Values that are secret under whatever name a variable has.
    pub(in crate::local) values: Vec<String>,
    /// Names that are passed on although they or their values look like secrets.
    pub(in crate::local) keep: Vec<String>,
}

impl Hiding {
    /// The names of this process's variables that are withheld: those whose name says so, whose
    /// value is a secret or contains the value of one, or whose value looks like one.
    pub(in crate::local) fn withheld(&self) -> Vec<OsString> {
        let kept = |name: &str| self.keep.iter().any(|kept| kept == name);
        let variables = std::env::vars_os().map(|(name, value)| {
            // One that is no UTF-8 may still have a name that says what it is.
            let text = name.to_string_lossy().into_owned();
            (name, text, value.to_string_lossy().into_owned())
        });
        let variables: Vec<_> = variables.filter(|(_, name, _)| !kept(name)).collect();
        let named = variables.iter().filter(|(_, name, _)| is_secret_name(name)).map(|(.., value)| value);
        let mut secrets: Vec<&str> = named.chain(&self.values).map(|value| value.trim()).collect();
        secrets.retain(|value| is_secret_value(value));
        let withheld = variables.iter().filter(|(_, name, value)| {
            if ESSENTIAL.contains(&name.as_str()) {
                return false;
            }
            let known = secrets.iter().any(|secret| value.contains(secret));
            is_secret_name(name) || known || !secrets_in(value).is_empty()
        });
        withheld.map(|(name, ..)| name.clone()).collect()
    }
}
