//! What the launcher is to run, and how: written by the agent's process into a private pipe or
//! socket, so that neither other processes nor a command line can change or forge it.
//!
//! Encoding: [`MAGIC`], then the number of bytes that follow, then strings, each as its length and its
//! bytes; all numbers 32 bits, little-endian. A string is `OPTION=VALUE` until `--`; the command follows.
//! Behind an order for a command with a pipe as its standard input comes that pipe, see `descriptor.rs`.

use super::variables::Hiding;
use crate::{AbsPath, PathError, PrivateTemp, Sandbox, SandboxLevel};
use std::io::{self, Read, Write};

/// What an order begins with. The number changes with the encoding.
const MAGIC: &[u8; 8] = b"tiller-3";
/// The most bytes of all strings.
const MOST_BYTES: u32 = 256 << 20;

/// One command and its confinement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::local) struct Order {
    /// The confinement; at the level `off` the command is supervised and nothing else.
    pub(in crate::local) sandbox: Sandbox,
    /// Whether to use namespaces for mounts, devices, IPC and the network.
    pub(in crate::local) namespaces: bool,
    /// Whether to use a namespace for processes.
    pub(in crate::local) processes: bool,
    /// Whether to wait for a word, once confined, before the command starts.
    pub(in crate::local) confirm: bool,
    /// Where the command runs.
    pub(in crate::local) cwd: AbsPath,
    /// Variables that are added to the inherited environment.
    pub(in crate::local) env: Vec<(String, String)>,
    /// Which inherited variables are withheld.
    pub(in crate::local) hiding: Option<Hiding>,
    /// What the command reads from its standard input.
    pub(in crate::local) input: Option<String>,
    /// Whether its standard input is a pipe instead, which follows the order.
    pub(in crate::local) piped: bool,
    /// The program and its arguments; never empty.
    pub(in crate::local) command: Vec<String>,
}

/// Why an order cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum OrderError {
    #[error("no order came: {0}")]
    Read(#[from] io::Error),
    #[error("the order is of another version of this program")]
    Version,
    #[error("unknown sandbox option {0:?}")]
    Unknown(String),
    #[error("sandbox option: {0}")]
    Path(#[from] PathError),
    #[error("the order has no command, or no directory to run it in")]
    Incomplete,
}

impl Order {
    /// Writes the order.
    pub(in crate::local) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let strings = self.strings();
        let length = |length: usize| u32::try_from(length).map_err(io::Error::other);
        let mut body = Vec::new();
        for string in &strings {
            body.extend(length(string.len())?.to_le_bytes());
            body.extend(string.as_bytes());
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(length(body.len())?.to_le_bytes());
        bytes.extend(body);
        to.write_all(&bytes)
    }

    /// Reads one order and not a byte more.
    pub(super) fn read(from: &mut impl Read) -> Result<Self, OrderError> {
        let mut magic = [0; MAGIC.len()];
        from.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Err(OrderError::Version);
        }
        let length = number(from)?;
        if length > MOST_BYTES {
            return Err(OrderError::Version);
        }
        let mut body = Vec::new();
        from.by_ref().take(u64::from(length)).read_to_end(&mut body)?;
        if body.len() != length as usize {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let mut rest = body.as_slice();
        let mut strings = Vec::new();
        while !rest.is_empty() {
            let length = number(&mut rest)? as usize;
            let (string, behind) = rest.split_at_checked(length).ok_or(OrderError::Version)?;
            strings.push(String::from_utf8(string.to_vec()).map_err(|_| OrderError::Version)?);
            rest = behind;
        }
        Self::of(strings)
    }

    fn strings(&self) -> Vec<String> {
        let Sandbox { level, network, limits, .. } = &self.sandbox;
        let mut strings = vec![format!("level={}", level.id()), format!("cwd={}", self.cwd)];
        for (name, on) in [
            ("network", *network),
            ("namespaces", self.namespaces),
            ("processes", self.processes),
            ("confirm", self.confirm),
            ("piped", self.piped),
        ] {
            if on {
                strings.push(format!("on={name}"));
            }
        }
        let paths = [
            ("write", &self.sandbox.writable),
            ("guard", &self.sandbox.guarded),
            ("hide", &self.sandbox.hidden),
            ("blank", &self.sandbox.blanked),
            ("shared", &self.sandbox.shared),
            ("reserve", &self.sandbox.reserved),
            ("pin", &self.sandbox.pinned),
        ];
        for (option, paths) in paths {
            strings.extend(paths.iter().map(|path| format!("{option}={path}")));
        }
        for PrivateTemp { at, backing } in &self.sandbox.temp {
            strings.push(format!("backing={backing}"));
            strings.push(format!("temp={at}"));
        }
        strings.extend(
            [
                ("processes", limits.processes),
                ("memory", limits.memory_bytes),
                ("file", limits.file_bytes),
                ("cpu", limits.cpu_seconds),
            ]
            .map(|(name, most)| format!("most-{name}={most}")),
        );
        strings.extend(self.env.iter().map(|(name, value)| format!("env={name}={value}")));
        if let Some(hiding) = &self.hiding {
            strings.push("on=hiding".to_owned());
            strings.extend(hiding.values.iter().map(|value| format!("secret={value}")));
            strings.extend(hiding.keep.iter().map(|name| format!("keep={name}")));
        }
        strings.extend(self.input.iter().map(|input| format!("input={input}")));
        strings.push("--".to_owned());
        strings.extend(self.command.iter().cloned());
        strings
    }

    fn of(strings: Vec<String>) -> Result<Self, OrderError> {
        let mut order = Self {
            sandbox: Sandbox { level: SandboxLevel::ReadOnly, ..Sandbox::default() },
            namespaces: false,
            processes: false,
            confirm: false,
            cwd: AbsPath::new("/")?,
            env: Vec::new(),
            hiding: None,
            input: None,
            piped: false,
            command: Vec::new(),
        };
        let mut backing = None;
        let mut has_cwd = false;
        let mut strings = strings.into_iter();
        for string in strings.by_ref().take_while(|string| string != "--") {
            let unknown = || OrderError::Unknown(string.clone());
            let (option, value) = string.split_once('=').ok_or_else(unknown)?;
            let path = || AbsPath::new(value);
            let most = || value.parse::<u64>().map_err(|_| unknown());
            let sandbox = &mut order.sandbox;
            match option {
                "level" => sandbox.level = SandboxLevel::of(value).ok_or_else(unknown)?,
                "cwd" => (order.cwd, has_cwd) = (path()?, true),
                "on" => match value {
                    "network" => sandbox.network = true,
                    "namespaces" => order.namespaces = true,
                    "processes" => order.processes = true,
                    "confirm" => order.confirm = true,
                    "piped" => order.piped = true,
                    "hiding" => order.hiding = Some(Hiding::default()),
                    _ => return Err(unknown()),
                },
                "write" => sandbox.writable.push(path()?),
                "guard" => sandbox.guarded.push(path()?),
                "hide" => sandbox.hidden.push(path()?),
                "blank" => sandbox.blanked.push(path()?),
                "pin" => sandbox.pinned.push(path()?),
                "reserve" => sandbox.reserved.push(path()?),
                "shared" => sandbox.shared.push(path()?),
                "backing" => backing = Some(path()?),
                "temp" => {
                    let backing = backing.take().ok_or_else(unknown)?;
                    sandbox.temp.push(PrivateTemp { at: path()?, backing });
                }
                "most-processes" => sandbox.limits.processes = most()?,
                "most-memory" => sandbox.limits.memory_bytes = most()?,
                "most-file" => sandbox.limits.file_bytes = most()?,
                "most-cpu" => sandbox.limits.cpu_seconds = most()?,
                "env" => {
                    let (name, value) = value.split_once('=').ok_or_else(unknown)?;
                    order.env.push((name.to_owned(), value.to_owned()));
                }
                "secret" => order.hiding.as_mut().ok_or_else(unknown)?.values.push(value.to_owned()),
                "keep" => order.hiding.as_mut().ok_or_else(unknown)?.keep.push(value.to_owned()),
                "input" => order.input = Some(value.to_owned()),
                _ => return Err(unknown()),
            }
        }
        order.command = strings.collect();
        match order.command.is_empty() || !has_cwd {
            true => Err(OrderError::Incomplete),
            false => Ok(order),
        }
    }
}

fn number(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        let path = |text: &str| AbsPath::new(text).unwrap();
        Order {
            sandbox: Sandbox {
                level: SandboxLevel::WorkspaceWrite,
                network: true,
                writable: vec![path("/w"), path("/a b=c")],
                guarded: vec![path("/w/.git/hooks")],
                reserved: vec![path("/w/.mcp.json")],
                hidden: vec![path("/home/me/.ssh")],
                blanked: vec![path("/w/.env")],
                shared: vec![path("/tmp")],
                temp: vec![PrivateTemp { at: path("/tmp"), backing: path("/var/tmp/x") }],
                ..Sandbox::default()
            },
            namespaces: true,
            processes: false,
            confirm: true,
            cwd: path("/w"),
            env: vec![("A".to_owned(), "b=c\nd".to_owned())],
            hiding: Some(Hiding { values: vec!["v".to_owned()], keep: vec!["K".to_owned()] }),
            input: Some("line\n--\n".to_owned()),
            piped: true,
            command: ["sh", "-c", "level=off", "--", ""].map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn an_order_survives_the_way_to_the_launcher() {
        let mut bytes = Vec::new();
        order().write(&mut bytes).unwrap();
        bytes.extend(b"more");
        let mut from = bytes.as_slice();
        assert_eq!(Order::read(&mut from).unwrap(), order());
        assert_eq!(from, b"more", "what follows is not read");
    }

    #[test]
    fn wrong_orders_run_nothing() {
        let mut whole = Vec::new();
        order().write(&mut whole).unwrap();
        for length in [0, 4, 8, 12, 20, whole.len() - 1] {
            assert!(Order::read(&mut &whole[..length]).is_err(), "{length}");
        }
        for strings in [
            &["level=none", "cwd=/", "--", "sh"][..],
            &["writ=/", "cwd=/", "--", "sh"],
            &["level", "cwd=/", "--", "sh"],
            &["temp=/tmp", "cwd=/", "--", "sh"],
            &["level=read-only", "--", "sh"],
            &["cwd=/", "--"],
            &["cwd=relative", "--", "sh"],
            &[],
        ] {
            assert!(
                Order::of(strings.iter().map(|text| (*text).to_owned()).collect()).is_err(),
                "{strings:?}"
            );
        }
        let huge = [MAGIC.as_slice(), &u32::MAX.to_le_bytes()].concat();
        let longer_than_all = [MAGIC.as_slice(), &4_u32.to_le_bytes(), &9_u32.to_le_bytes()].concat();
        for bytes in [huge, longer_than_all] {
            assert!(Order::read(&mut bytes.as_slice()).is_err());
        }
    }
}
