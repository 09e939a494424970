//! The launcher's side: reads a request. An incomplete request runs nothing.

use super::{HiddenVariables, LaunchCommand, LaunchRequest, MAGIC};
use crate::{
    AbsPath, HomeEntry, HomeShare, HomeView, LinkedFile, Network, PathError, Sandbox, SandboxLevel, View,
};
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
        Self::of(read_strings(MAGIC, from)?)
    }

    fn of(strings: Vec<String>) -> Result<Self, LaunchRequestError> {
        let mut request = Self {
            sandbox: Sandbox { level: SandboxLevel::ReadOnly, ..Sandbox::default() },
            joins: false,
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
                "network" => sandbox.network = Network::of(value).ok_or_else(unknown)?,
                "cwd" => (request.command.cwd, has_cwd) = (path()?, true),
                "on" => match value {
                    "joins" => request.joins = true,
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
                "guard" => sandbox.protected.guarded.push(path()?),
                "hide" => sandbox.secret.hidden.push(path()?),
                "blank" => sandbox.secret.blanked.push(path()?),
                "pin" => sandbox.protected.pinned.push(path()?),
                "socket" => sandbox.protected.sockets.push(path()?),
                "reserve" => sandbox.protected.reserved.push(path()?),
                "missing-folder" => sandbox.protected.missing.push(path()?),
                "link" => sandbox.protected.linked.push(LinkedFile { path: path()?, copy: path()? }),
                "link-to" => sandbox.protected.linked.last_mut().ok_or_else(unknown)?.copy = path()?,
                "folder" => sandbox.protected.folders.push(LinkedFile { path: path()?, copy: path()? }),
                "folder-to" => sandbox.protected.folders.last_mut().ok_or_else(unknown)?.copy = path()?,
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
                _ => read_view_option(&mut sandbox.view, option, value)?,
            }
        }
        request.command.words = strings.collect();
        match request.command.words.is_empty() || !has_cwd {
            true => Err(LaunchRequestError::Incomplete),
            false => Ok(request),
        }
    }
}

/// Reads exactly the strings of one request, and no bytes after them.
pub(in crate::local::sandbox) fn read_strings(
    magic: &[u8; 8],
    from: &mut impl Read,
) -> Result<Vec<String>, LaunchRequestError> {
    let mut found = [0; 8];
    from.read_exact(&mut found)?;
    if found != *magic {
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
    Ok(strings)
}

/// Reads an option that describes a view.
pub(in crate::local::sandbox) fn read_view_option(
    view: &mut View,
    option: &str,
    value: &str,
) -> Result<(), LaunchRequestError> {
    let unknown = || LaunchRequestError::Unknown(format!("{option}={value}"));
    let path = || AbsPath::new(value);
    match option {
        "root" => view.roots.push(path()?),
        "read" => view.readable.push(path()?),
        "temp" => view.temp = Some(path()?),
        "copies" => view.copies = Some(path()?),
        "home" => {
            let at = path()?;
            view.home = Some(HomeView { files: at.clone(), changes: at.clone(), at, entries: Vec::new() });
        }
        "home-files" => view.home.as_mut().ok_or_else(unknown)?.files = path()?,
        "home-changes" => view.home.as_mut().ok_or_else(unknown)?.changes = path()?,
        word => {
            let share = HomeShare::WORDS.iter().find(|(known, _)| *known == word);
            let (_, share) = *share.ok_or_else(unknown)?;
            let entry = HomeEntry { share, path: value.to_owned() };
            view.home.as_mut().ok_or_else(unknown)?.entries.push(entry);
        }
    }
    Ok(())
}

fn number(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProtectedPaths, SecretPaths};

    fn request() -> LaunchRequest {
        let path = |text: &str| AbsPath::new(text).unwrap();
        LaunchRequest {
            sandbox: Sandbox {
                level: SandboxLevel::WorkspaceWrite,
                network: Network::Session,
                view: View {
                    roots: vec![path("/w"), path("/a b=c")],
                    readable: vec![path("/r")],
                    temp: Some(path("/var/tmp/x")),
                    copies: Some(path("/var/tmp/y")),
                    home: Some(HomeView {
                        at: path("/home/me"),
                        files: path("/var/tmp/h"),
                        changes: path("/var/tmp/c"),
                        entries: HomeEntry::usual().collect(),
                    }),
                },
                protected: ProtectedPaths {
                    guarded: vec![path("/w/.git/hooks")],
                    reserved: vec![path("/w/.mcp.json")],
                    missing: vec![path("/w/.vscode"), path("/w/.idea")],
                    linked: vec![LinkedFile { path: path("/w/.git/config"), copy: path("/var/tmp/y/c") }],
                    folders: vec![LinkedFile { path: path("/w/.vscode"), copy: path("/var/tmp/y/d") }],
                    ..ProtectedPaths::default()
                },
                secret: SecretPaths {
                    hidden: vec![path("/home/me/.ssh")],
                    blanked: vec![path("/w/.env")],
                    ..SecretPaths::default()
                },
                ..Sandbox::default()
            },
            joins: true,
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
            &["cow=.npm", "cwd=/", "--", "sh"],
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
