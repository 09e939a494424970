//! Whether output is coloured.

use crate::environment::Environment;

/// The value of `--color`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColourWhen {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// In files and pipes too.
    Always,
    /// Never.
    Never,
}

/// A role of a piece of text. No meaning is carried by a colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// What went wrong.
    Error,
    /// What is secondary.
    Faint,
    /// What can be typed.
    Command,
}

impl ColourWhen {
    /// Decides for a stream. The flag beats `NO_COLOR` and `TERM=dumb`, these beat
    /// `CLICOLOR_FORCE` and `FORCE_COLOR`, and without any of them only a terminal gets colours.
    pub(super) fn applies(self, environment: &Environment, is_terminal: bool) -> bool {
        let forced = |name: &str| environment.get(name).is_some_and(|value| value != "0");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto
                if environment.get("NO_COLOR").is_some() || environment.get("TERM") == Some("dumb") =>
            {
                false
            }
            Self::Auto => is_terminal || forced("CLICOLOR_FORCE") || forced("FORCE_COLOR"),
        }
    }
}

/// Returns a text in the colour of a role. The text must not have control sequences of its own.
pub(super) fn painted(text: &str, role: Role) -> String {
    let code = match role {
        Role::Error => "1;31",
        Role::Faint => "2",
        Role::Command => "1",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_beats_the_environment_and_that_beats_the_terminal() {
        for (when, variables, is_terminal, expected) in [
            (ColourWhen::Auto, &[][..], true, true),
            (ColourWhen::Auto, &[], false, false),
            (ColourWhen::Auto, &[("NO_COLOR", "1")], true, false),
            (ColourWhen::Auto, &[("NO_COLOR", "")], true, true),
            (ColourWhen::Auto, &[("TERM", "dumb")], true, false),
            (ColourWhen::Auto, &[("CLICOLOR_FORCE", "1")], false, true),
            (ColourWhen::Auto, &[("FORCE_COLOR", "3")], false, true),
            (ColourWhen::Auto, &[("FORCE_COLOR", "0")], false, false),
            (ColourWhen::Auto, &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], false, false),
            (ColourWhen::Never, &[("FORCE_COLOR", "1")], true, false),
            (ColourWhen::Always, &[("NO_COLOR", "1")], false, true),
        ] {
            let environment: Environment =
                variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(when.applies(&environment, is_terminal), expected, "{when:?} {variables:?}");
        }
    }
}
