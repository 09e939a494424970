//! Addresses of remote repositories, and the addresses in a room that stand for them.

use super::HOST;
use agent::Destination;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The port of HTTPS.
pub(super) const HTTPS_PORT: u16 = 443;

/// The port of SSH.
pub(super) const SSH_PORT: u16 = 22;

/// The address of a repository that Tiller reaches for commands.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Address {
    Https {
        host: String,
        port: u16,
        /// The path, with its first slash, as it stands in the address.
        path: String,
        user: Option<String>,
        password: Option<String>,
    },
    Ssh {
        host: String,
        port: Option<u16>,
        /// The path as git sends it to the host.
        path: String,
        user: Option<String>,
    },
}

impl Address {
    /// Parses an address as git reads it; `None` if it is of another kind, or of a form that git
    /// refuses because a program could take a part of it for an option.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return None;
        }
        match text.split_once("://") {
            Some(("https", rest)) => {
                let (authority, path) = rest.split_at(rest.find('/')?);
                let (user, host, port) = split(authority)?;
                let (user, password) = match user.map(|user| user.split_once(':').unwrap_or((user, ""))) {
                    Some((user, password)) => (decoded(user), decoded(password)),
                    None => (None, None),
                };
                let path = path.trim_end_matches('/');
                (!path.is_empty() && !path.contains(['?', '#'])).then(|| Self::Https {
                    host: host.to_ascii_lowercase(),
                    port: port.unwrap_or(HTTPS_PORT),
                    path: path.to_owned(),
                    user,
                    password,
                })
            }
            Some(("ssh" | "git+ssh" | "ssh+git", rest)) => {
                let (authority, path) = rest.split_at(rest.find('/')?);
                let (user, host, port) = split(authority)?;
                // A path below the home directory of a user of the host.
                let path = if path.starts_with("/~") { &path[1..] } else { path };
                Self::ssh(user, host, port, path)
            }
            Some(_) => None,
            None => {
                let (authority, path) = text.split_once(':')?;
                // With a slash before the colon it is a path of this machine.
                let (user, host, port) = split(authority).filter(|_| !authority.contains(['/', '[']))?;
                Self::ssh(user, host, port, path)
            }
        }
    }

    fn ssh(user: Option<&str>, host: &str, port: Option<u16>, path: &str) -> Option<Self> {
        let is_plain = |text: &str| !text.is_empty() && !text.starts_with('-');
        (is_plain(host) && user.is_none_or(is_plain) && is_plain(path)).then(|| Self::Ssh {
            host: host.to_owned(),
            port,
            path: path.to_owned(),
            user: user.map(str::to_owned),
        })
    }

    /// Returns whether the repository is reached by SSH.
    pub(super) fn is_ssh(&self) -> bool {
        matches!(self, Self::Ssh { .. })
    }

    /// Returns the path below which the repository is reached in a room.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Https { host, port: HTTPS_PORT, path, .. } => format!("/{host}{path}"),
            Self::Https { host, port, path, .. } => format!("/{host}:{port}{path}"),
            Self::Ssh { path, .. } => format!("/{}/{path}", self.ssh_authority()),
        }
    }

    /// Returns the user, the host and the port of an address of SSH.
    fn ssh_authority(&self) -> String {
        let Self::Ssh { host, port, user, .. } = self else { return String::new() };
        let user = user.as_ref().map_or_else(String::new, |user| format!("{user}@"));
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        format!("{user}{host}{port}")
    }

    /// Returns the address that stands for this one in a room.
    pub(super) fn inside(&self) -> String {
        match self {
            Self::Https { .. } => format!("http://{HOST}{}", self.key()),
            // Git's own protocol is the conversation that it has with a program over SSH.
            Self::Ssh { .. } => format!("git://{HOST}:{SSH_PORT}{}", self.key()),
        }
    }

    /// Returns the place that is connected to; `None` if its name is none that can be decided
    /// about.
    pub(super) fn destination(&self) -> Option<Destination> {
        let (Self::Https { host, .. } | Self::Ssh { host, .. }) = self;
        let port = match self {
            Self::Https { port, .. } => *port,
            Self::Ssh { port, .. } => port.unwrap_or(SSH_PORT),
        };
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        match ip {
            Ok(ip) => Some(Destination::Address(SocketAddr::new(ip, port))),
            Err(_) => Destination::host(host, port),
        }
    }
}

/// Shows the address without a password, and one of HTTPS without a user.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Https { host, port: HTTPS_PORT, path, .. } => write!(f, "https://{host}{path}"),
            Self::Https { host, port, path, .. } => write!(f, "https://{host}:{port}{path}"),
            Self::Ssh { port: None, path, .. } => write!(f, "{}:{path}", self.ssh_authority()),
            Self::Ssh { path, .. } => {
                write!(f, "ssh://{}/{}", self.ssh_authority(), path.trim_start_matches('/'))
            }
        }
    }
}

/// Omits the password.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Splits an authority into the user, the host and the port.
fn split(authority: &str) -> Option<(Option<&str>, &str, Option<u16>)> {
    let (user, rest) = match authority.rsplit_once('@') {
        Some((user, rest)) => (Some(user).filter(|user| !user.is_empty()), rest),
        None => (None, authority),
    };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (rest, None),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
    (!host.is_empty() && host.chars().all(is_name)).then_some((user, host, port))
}

/// Decodes a part of an address; `None` for an empty one.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let hex = more.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty() && !text.contains(['\n', '\r', '\0']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_git_reads_them() {
        for (text, inside, shown) in [
            ("https://Git.org/me/x.git", "http://git.tiller/git.org/me/x.git", "https://git.org/me/x.git"),
            ("https://me:s%40e@h:8443/x/", "http://git.tiller/h:8443/x", "https://h:8443/x"),
            ("git@git.org:me/x.git", "git://git.tiller:22/git@git.org/me/x.git", "git@git.org:me/x.git"),
            ("git.org:/x", "git://git.tiller:22/git.org//x", "git.org:/x"),
            ("ssh://h/x", "git://git.tiller:22/h//x", "h:/x"),
            ("ssh://a@h:2222/~/x", "git://git.tiller:22/a@h:2222/~/x", "ssh://a@h:2222/~/x"),
            ("git+ssh://h/x", "git://git.tiller:22/h//x", "h:/x"),
        ] {
            let address = Address::parse(text).expect(text);
            assert_eq!((address.inside().as_str(), address.to_string().as_str()), (inside, shown));
            assert!(!format!("{address:?}").contains("s@e"));
        }
        let Some(Address::Https { user, password, .. }) = Address::parse("https://me:s%40e@h/x") else {
            panic!("it is HTTPS");
        };
        assert_eq!((user.as_deref(), password.as_deref()), (Some("me"), Some("s@e")));
    }

    #[test]
    fn other_addresses_are_left_to_git() {
        for text in [
            "http://h/x",
            "git://h/x",
            "file:///x",
            "ext::sh -c x",
            "/a/b",
            "./a:b",
            "a/b:c",
            "https://h",
            "https://h/x?y",
            "https://h h/x",
            "-oProxyCommand=x:y",
            "[h:22]:x",
            "ssh://-oProxyCommand=x/y",
            "ssh://-a@h/y",
            "h:-x",
            "ssh://h:99999/x",
            "h:a\nb",
        ] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
    }
}
