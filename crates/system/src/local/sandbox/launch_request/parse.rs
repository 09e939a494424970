//! The launcher's side: reads a request. An incomplete request runs nothing.

use super::{HiddenVariables, LaunchCommand, LaunchRequest, MAGIC};
use crate::{AbsPath, PathError, PrivateTemp, Sandbox, SandboxLevel};
use std::io::{self, Read};

/// The maximum size of all strings in bytes.
const MOST_BYTES: u32 = 256 << 20;

/// Why a request cannot be read.
#[derive(Debug, thiserror::Error)]
pub(in crate::local::sandbox) enum LaunchRequestError {
    #[error("no launch request was received: {0}")]
    Read(#[from] io::Error),
    #[error("the launch request is from another version of this program")]
    Version,
    #[error("unknown sandbox option {0:?}")]
    Unknown(String),
    #[error("sandbox option: {0}")]
    Path(#[from] PathError),
    #[error("the launch request has no command or no working directory")]
    Incomplete,
}

impl LaunchRequest {
    /// Reads exactly one order, and no bytes after it.
    pub(in crate::local::sandbox) fn read(from: &mut impl Read) -> Result<Self, LaunchRequestError> {
        let mut magic = [0; MAGIC.len()];
        from.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Err(LaunchRequestError::Version);
        }
        let length = number(from)?;
        if length > MOST_BYTES {
            return Err(LaunchRequestError::Version);
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
            let (string, behind) = rest.split_at_checked(length).ok_or(LaunchRequestError::Version)?;
            strings.push(String::from_utf8(string.to_vec()).map_err(|_| LaunchRequestError::Version)?);
            rest = behind;
        }
        Self::of(strings)
    }

    fn of(strings: Vec<String>) -> Result<Self, LaunchRequestError> {
        let mut request = Self {
            sandbox: Sandbox { level: SandboxLevel::ReadOnly, ..Sandbox::default() },
            namespaces: false,
            processes: false,
            confirm: false,
            timed: false,
            command: LaunchCommand {
                words: Vec::new(),
                cwd: AbsPath::new("/")?,
                env: Vec::new(),
                hidden_variables: None,
                input: None,
                piped: false,
            },
        };
        let mut backing = None;
        let mut has_cwd = false;
        let mut strings = strings.into_iter();
        for string in strings.by_ref().take_while(|string| string != "--") {
            let unknown = || LaunchRequestError::Unknown(string.clone());
            let (option, value) = string.split_once('=').ok_or_else(unknown)?;
            let path = || AbsPath::new(value);
            let most = || value.parse::<u64>().map_err(|_| unknown());
            let sandbox = &mut request.sandbox;
            match option {
                "level" => sandbox.level = SandboxLevel::of(value).ok_or_else(unknown)?,
                "cwd" => (request.command.cwd, has_cwd) = (path()?, true),
                "on" => match value {
                    "network" => sandbox.network = true,
                    "namespaces" => request.namespaces = true,
                    "processes" => request.processes = true,
                    "confirm" => request.confirm = true,
                    "timed" => request.timed = true,
                    "piped" => request.command.piped = true,
                    "hiding" => request.command.hidden_variables = Some(HiddenVariables::default()),
                    "ordinary" => {
                        request.command.hidden_variables.as_mut().ok_or_else(unknown)?.ordinary_only = true
                    }
                    _ => return Err(unknown()),
                },
                "write" => sandbox.writable.roots.push(path()?),
                "guard" => sandbox.protected.guarded.push(path()?),
                "hide" => sandbox.secret.hidden.push(path()?),
                "seal" => sandbox.secret.sealed.push(path()?),
                "blank" => sandbox.secret.blanked.push(path()?),
                "pin" => sandbox.protected.pinned.push(path()?),
                "reserve" => sandbox.protected.reserved.push(path()?),
                "shared" => sandbox.writable.shared.push(path()?),
                "backing" => backing = Some(path()?),
                "temp" => {
                    let backing = backing.take().ok_or_else(unknown)?;
                    sandbox.writable.temp.push(PrivateTemp { at: path()?, backing });
                }
                "most-processes" => sandbox.limits.processes = most()?,
                "most-memory" => sandbox.limits.memory_bytes = most()?,
                "most-file" => sandbox.limits.file_bytes = most()?,
                "most-cpu" => sandbox.limits.cpu_seconds = most()?,
                "env" => {
                    let (name, value) = value.split_once('=').ok_or_else(unknown)?;
                    request.command.env.push((name.to_owned(), value.to_owned()));
                }
                "secret" => request
                    .command
                    .hidden_variables
                    .as_mut()
                    .ok_or_else(unknown)?
                    .values
                    .push(value.to_owned()),
                "keep" => {
                    request.command.hidden_variables.as_mut().ok_or_else(unknown)?.keep.push(value.to_owned())
                }
                "input" => request.command.input = Some(value.to_owned()),
                _ => return Err(unknown()),
            }
        }
        request.command.words = strings.collect();
        match request.command.words.is_empty() || !has_cwd {
            true => Err(LaunchRequestError::Incomplete),
            false => Ok(request),
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
    use crate::{ProtectedPaths, SecretPaths, WritablePaths};

    fn request() -> LaunchRequest {
        let path = |text: &str| AbsPath::new(text).unwrap();
        LaunchRequest {
            sandbox: Sandbox {
                level: SandboxLevel::WorkspaceWrite,
                network: true,
                writable: WritablePaths {
                    roots: vec![path("/w"), path("/a b=c")],
                    shared: vec![path("/tmp")],
                    temp: vec![PrivateTemp { at: path("/tmp"), backing: path("/var/tmp/x") }],
                },
                protected: ProtectedPaths {
                    guarded: vec![path("/w/.git/hooks")],
                    reserved: vec![path("/w/.mcp.json")],
                    ..ProtectedPaths::default()
                },
                secret: SecretPaths {
                    hidden: vec![path("/home/me/.ssh")],
                    sealed: vec![path("/srv/users")],
                    blanked: vec![path("/w/.env")],
                    ..SecretPaths::default()
                },
                ..Sandbox::default()
            },
            namespaces: true,
            processes: false,
            confirm: true,
            timed: true,
            command: LaunchCommand {
                words: ["sh", "-c", "level=off", "--", ""].map(str::to_owned).to_vec(),
                cwd: path("/w"),
                env: vec![("A".to_owned(), "b=c\nd".to_owned())],
                hidden_variables: Some(HiddenVariables {
                    values: vec!["v".to_owned()],
                    keep: vec!["K".to_owned()],
                    ordinary_only: true,
                }),
                input: Some("line\n--\n".to_owned()),
                piped: true,
            },
        }
    }

    #[test]
    fn a_launch_request_round_trips() {
        let mut bytes = Vec::new();
        request().write(&mut bytes).unwrap();
        bytes.extend(b"more");
        let mut from = bytes.as_slice();
        assert_eq!(LaunchRequest::read(&mut from).unwrap(), request());
        assert_eq!(from, b"more", "what follows is not read");
    }

    #[test]
    fn invalid_launch_requests_are_rejected() {
        let mut whole = Vec::new();
        request().write(&mut whole).unwrap();
        for length in [0, 4, 8, 12, 20, whole.len() - 1] {
            assert!(LaunchRequest::read(&mut &whole[..length]).is_err(), "{length}");
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
                LaunchRequest::of(strings.iter().map(|text| (*text).to_owned()).collect()).is_err(),
                "{strings:?}"
            );
        }
        let huge = [MAGIC.as_slice(), &u32::MAX.to_le_bytes()].concat();
        let longer_than_all = [MAGIC.as_slice(), &4_u32.to_le_bytes(), &9_u32.to_le_bytes()].concat();
        for bytes in [huge, longer_than_all] {
            assert!(LaunchRequest::read(&mut bytes.as_slice()).is_err());
        }
    }
}
