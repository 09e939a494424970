//! Where a request comes from.

use std::net::IpAddr;

/// Where a request comes from, for throttling and the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A process of this machine, over a Unix socket; holds its user id.
    Unix(u32),
    /// An address. Behind a trusted proxy it is the one that the proxy reports.
    Address(IpAddr),
}

/// What stands before the number of a user of this machine.
const UNIX: &str = "unix:";

impl Source {
    /// Returns its stored form: `unix:1000`, or an address.
    pub fn to_text(self) -> String {
        match self {
            Self::Unix(uid) => format!("{UNIX}{uid}"),
            Self::Address(address) => address.to_string(),
        }
    }

    /// Reads the stored form; `None` if the text is something else.
    pub fn from_text(text: &str) -> Option<Self> {
        match text.strip_prefix(UNIX) {
            Some(uid) => Some(Self::Unix(uid.parse().ok()?)),
            None => Some(Self::Address(text.parse().ok()?)),
        }
    }

    /// Returns what failures are counted by: an IPv4 address, or the /64 of an IPv6 address, all of
    /// which one host may have. `None` for this machine, which is not throttled.
    pub(crate) fn counted(self) -> Option<IpAddr> {
        match self {
            Self::Unix(_) => None,
            Self::Address(address) => Some(match address.to_canonical() {
                IpAddr::V4(address) => address.into(),
                IpAddr::V6(address) => {
                    let [a, b, c, d, ..] = address.segments();
                    std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
                }
            }),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(uid) => write!(f, "unix user {uid}"),
            Self::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_host_are_counted_together() {
        let counted = |text: &str| Source::Address(text.parse().unwrap()).counted();
        assert_eq!(counted("2001:db8:1:2::1"), counted("2001:db8:1:2:ffff::9"));
        assert_ne!(counted("2001:db8:1:2::1"), counted("2001:db8:1:3::1"));
        assert_eq!(counted("::ffff:192.0.2.1"), counted("192.0.2.1"));
        assert_ne!(counted("192.0.2.2"), counted("192.0.2.1"));
        assert_eq!(Source::Unix(0).counted(), None);
    }
}
