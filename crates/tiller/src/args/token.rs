//! The command line of `tiller token`.

use super::StoreArgs;
use agent::{Principal, Scopes};
use clap::Subcommand;
use std::{str::FromStr, time::Duration};

/// The commands of `tiller token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token for a user, and print it.
    ///
    /// The token is shown this once and alone on standard output; the rest is a note on standard
    /// error. Only its SHA-256 is stored.
    Create {
        /// What to call it, such as the device that uses it.
        name: String,
        /// The user that it authenticates.
        #[arg(long, value_name = "USER")]
        user: String,
        /// The tenant of the user.
        #[arg(long, value_name = "TENANT", default_value = Principal::ONLY_TENANT)]
        tenant: String,
        /// What it permits; without this, connect and all of session.
        ///
        /// One or more of connect, session:create, session:read, session:write, session:approve,
        /// session:delete, admin, metrics and runner.
        #[arg(long, value_name = "SCOPE,…")]
        scopes: Vec<Scopes>,
        /// How long it is valid: a number of h, d or w, or never.
        #[arg(long, value_name = "TIME", default_value = "90d")]
        expires: Lifetime,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List tokens, without their values.
    ///
    /// Revoked and expired tokens are listed for 30 days.
    List(StoreArgs),
    /// Revoke a token, and close its connections.
    ///
    /// A running server closes them within 5 seconds. Running turns go on.
    Revoke {
        /// The id, as `tiller token list` shows it.
        id: String,
        /// Stop running turns of its connections too.
        #[arg(long)]
        stop: bool,
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// How long a token is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until it is revoked.
    Never,
    /// For this long.
    For(Duration),
}

impl Lifetime {
    /// Returns how long it is; `None` forever.
    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::For(time) => Some(time),
        }
    }
}

/// The units of a lifetime, in seconds.
const UNITS: [(char, u64); 3] = [('h', 60 * 60), ('d', 24 * 60 * 60), ('w', 7 * 24 * 60 * 60)];

/// The longest lifetime: ten years. A longer one is `never`.
const LONGEST: Duration = Duration::from_secs(3_652 * 24 * 60 * 60);

impl FromStr for Lifetime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" {
            return Ok(Self::Never);
        }
        let read = UNITS.iter().find_map(|(unit, seconds)| {
            let number = text.strip_suffix(*unit)?;
            let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let number: u64 = digits.then(|| number.parse().ok())??;
            number.checked_mul(*seconds).map(Duration::from_secs)
        });
        match read {
            Some(time) if !time.is_zero() && time <= LONGEST => Ok(Self::For(time)),
            Some(_) => Err("it is longer than ten years or zero; write never for no end".to_owned()),
            None => Err("write a number and h, d or w, such as 90d, or never".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_a_number_with_a_unit_or_never() {
        let hours = |hours: u64| Ok(Lifetime::For(Duration::from_secs(hours * 60 * 60)));
        for (text, expected) in [
            ("1h", hours(1)),
            ("90d", hours(90 * 24)),
            ("2w", hours(14 * 24)),
            ("never", Ok(Lifetime::Never)),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        for bad in
            ["", "d", "0d", "+1d", "-1d", "1", "1m", "1 d", "1d2h", "9999999999999999999w", "3653d", "é"]
        {
            bad.parse::<Lifetime>().unwrap_err();
        }
    }
}
