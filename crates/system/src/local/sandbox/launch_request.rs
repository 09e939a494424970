//! The launch request: the command that the launcher is to run, and its confinement. The agent's
//! process writes it to a private pipe or socket, so that other processes cannot change or forge it
//! and it does not appear on a command line.
//!
//! Wire format: [`MAGIC`], the number of bytes that follow, then strings, each as its length and
//! its bytes. All numbers are 32 bits, little-endian. Strings are `OPTION=VALUE` up to `--`; the
//! command follows. If the command's standard input is a pipe, its descriptor follows the request,
//! and so do those of a deadline and, last, of the room's namespaces; see `descriptor.rs`.

#[cfg(any(target_os = "linux", test))]
mod parse;

#[cfg(target_os = "linux")]
pub(super) use parse::{LaunchRequestError, read_strings, read_view_option};

use super::variables::HiddenVariables;
use crate::{AbsPath, HomeView, LinkedFile, Sandbox, View};
use std::io::{self, Write};

/// The first bytes of a request. The number changes with the wire format.
const MAGIC: &[u8; 8] = b"tiller-7";

/// A command and its confinement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::local) struct LaunchRequest {
    /// The confinement; at level `off` the command is only supervised.
    pub(in crate::local) sandbox: Sandbox,
    /// Whether the command joins a room, whose namespaces follow the request as descriptors.
    pub(in crate::local) joins: bool,
    /// Whether to use a PID namespace.
    pub(in crate::local) processes: bool,
    /// Whether to wait for confirmation, once confined, before the command starts.
    pub(in crate::local) confirm: bool,
    /// Whether the command ends at the deadline of the agent's process, whose memory follows the
    /// request as a descriptor.
    pub(in crate::local) timed: bool,
    /// The command.
    pub(in crate::local) command: LaunchCommand,
}

/// The command of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::local) struct LaunchCommand {
    /// The program and its arguments; never empty.
    pub(in crate::local) words: Vec<String>,
    /// The working directory.
    pub(in crate::local) cwd: AbsPath,
    /// Variables added to the inherited environment.
    pub(in crate::local) env: Vec<(String, String)>,
    /// Which inherited variables are withheld.
    pub(in crate::local) hidden_variables: Option<HiddenVariables>,
    /// The content of standard input.
    pub(in crate::local) input: Option<String>,
    /// Whether standard input is a pipe instead, whose descriptor follows the request.
    pub(in crate::local) piped: bool,
}

impl LaunchRequest {
    /// Writes the request in its wire format.
    pub(in crate::local) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        write_strings(MAGIC, &self.strings(), to)
    }

    fn strings(&self) -> Vec<String> {
        let Sandbox { level, network, limits, .. } = &self.sandbox;
        let mut strings = vec![
            format!("level={}", level.id()),
            format!("cwd={}", self.command.cwd),
            format!("network={}", network.id()),
        ];
        for (name, on) in [
            ("joins", self.joins),
            ("processes", self.processes),
            ("confirm", self.confirm),
            ("timed", self.timed),
            ("piped", self.command.piped),
        ] {
            if on {
                strings.push(format!("on={name}"));
            }
        }
        let paths = [
            ("guard", &self.sandbox.protected.guarded),
            ("hide", &self.sandbox.secret.hidden),
            ("blank", &self.sandbox.secret.blanked),
            ("reserve", &self.sandbox.protected.reserved),
            ("missing-folder", &self.sandbox.protected.missing),
            ("pin", &self.sandbox.protected.pinned),
            ("socket", &self.sandbox.protected.sockets),
        ];
        for (option, paths) in paths {
            strings.extend(paths.iter().map(|path| format!("{option}={path}")));
        }
        for LinkedFile { path, copy } in &self.sandbox.protected.linked {
            strings.push(format!("link={path}"));
            strings.push(format!("link-to={copy}"));
        }
        for LinkedFile { path, copy } in &self.sandbox.protected.folders {
            strings.push(format!("folder={path}"));
            strings.push(format!("folder-to={copy}"));
        }
        strings.extend(view_strings(&self.sandbox.view));
        strings.extend(
            [
                ("processes", limits.processes),
                ("memory", limits.memory_bytes),
                ("file", limits.file_bytes),
                ("cpu", limits.cpu_seconds),
            ]
            .map(|(name, most)| format!("most-{name}={most}")),
        );
        strings.extend(self.command.env.iter().map(|(name, value)| format!("env={name}={value}")));
        if let Some(hidden_variables) = &self.command.hidden_variables {
            strings.push("on=hiding".to_owned());
            strings.extend(hidden_variables.ordinary_only.then(|| "on=ordinary".to_owned()));
            strings.extend(hidden_variables.values.iter().map(|value| format!("secret={value}")));
            strings.extend(hidden_variables.keep.iter().map(|name| format!("keep={name}")));
        }
        strings.extend(self.command.input.iter().map(|input| format!("input={input}")));
        strings.push("--".to_owned());
        strings.extend(self.command.words.iter().cloned());
        strings
    }
}

/// Writes strings in the wire format, after the bytes that name it.
pub(super) fn write_strings(magic: &[u8; 8], strings: &[String], to: &mut impl Write) -> io::Result<()> {
    let length = |length: usize| u32::try_from(length).map_err(io::Error::other);
    let mut body = Vec::new();
    for string in strings {
        body.extend(length(string.len())?.to_le_bytes());
        body.extend(string.as_bytes());
    }
    let mut bytes = magic.to_vec();
    bytes.extend(length(body.len())?.to_le_bytes());
    bytes.extend(body);
    to.write_all(&bytes)
}

/// Returns the options that describe a view.
pub(super) fn view_strings(view: &View) -> Vec<String> {
    let View { roots, readable, temp, copies, home } = view;
    let mut strings: Vec<_> = roots.iter().map(|path| format!("root={path}")).collect();
    strings.extend(readable.iter().map(|path| format!("read={path}")));
    strings.extend(temp.iter().map(|path| format!("temp={path}")));
    strings.extend(copies.iter().map(|path| format!("copies={path}")));
    if let Some(HomeView { at, files, changes, entries }) = home {
        strings.extend([
            format!("home={at}"),
            format!("home-files={files}"),
            format!("home-changes={changes}"),
        ]);
        strings.extend(entries.iter().map(|entry| format!("{}={}", entry.share.word(), entry.path)));
    }
    strings
}
