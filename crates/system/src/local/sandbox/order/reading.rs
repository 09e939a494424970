//! The launcher's side: reads an order. An incomplete order runs nothing.

use super::{Hiding, MAGIC, Order};
use crate::{AbsPath, PathError, PrivateTemp, Sandbox, SandboxLevel};
use std::io::{self, Read};

/// The maximum size of all strings in bytes.
const MOST_BYTES: u32 = 256 << 20;

/// Why an order cannot be read.
#[derive(Debug, thiserror::Error)]
pub(in crate::local::sandbox) enum OrderError {
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
    /// Reads exactly one order, and no bytes after it.
    pub(in crate::local::sandbox) fn read(from: &mut impl Read) -> Result<Self, OrderError> {
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
