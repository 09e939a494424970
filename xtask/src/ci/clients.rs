//! Plays all clients and compares their behaviour with the table in the tree.

mod features;
mod others;
mod table;
mod tap;

use super::client::{CLIENTS, Client};
use super::step::Steps;
use super::test_build;
use crate::arguments::Arguments;
use crate::process::{capture, command, root, target_dir};
use anyhow::{Context, Result, bail};
use others::{LABELS, OTHERS, RETRIED};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use table::{Row, Rows};

pub(crate) use tap::run as tap;

/// The options of `cargo xtask clients`.
#[derive(Default)]
pub(crate) struct Options {
    /// Write the table from the observed features, instead of comparing with it.
    write: bool,
    /// The names of the clients to play; all if empty.
    only: Vec<String>,
    /// The binary to play against; by default the debug binary, which is built first.
    binary: Option<PathBuf>,
}

impl Options {
    /// Parses the options.
    ///
    /// # Errors
    ///
    /// Fails for an unknown option or client name.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Options::default();
        let mut arguments = Arguments::new(words);
        while let Some(option) = arguments.next_option() {
            match option {
                "--write" => options.write = true,
                "--only" => options.only.push(arguments.text()?),
                "--binary" => options.binary = Some(arguments.path()?),
                _ => return Err(arguments.unknown("there are --write, --only NAME and --binary PATH")),
            }
        }
        if let Some(unknown) = options.only.iter().find(|name| !all().any(|client| client.name == **name)) {
            let names: Vec<&str> = all().map(|client| client.name).collect();
            bail!("no such client: {unknown}; there are {}", names.join(", "));
        }
        Ok(options)
    }
}

fn all() -> impl Iterator<Item = Client> {
    CLIENTS.into_iter().chain(OTHERS)
}

/// Plays the clients against the debug binary, which is built with the tests' features so that they
/// can reuse it. Clients that cannot be played here are skipped with the reason.
///
/// # Errors
///
/// Fails if a client reports an error, or its behaviour differs from the table.
pub(super) fn play(steps: &mut Steps, options: &Options) -> Result<()> {
    let wires = target_dir().join("clients/wires");
    let tiller = match &options.binary {
        Some(path) => path.clone(),
        None => target_dir().join("debug").join(format!("tiller{}", std::env::consts::EXE_SUFFIX)),
    };
    let xtask = own_copy()?;
    let mut ready: Vec<(Client, Command, PathBuf)> = Vec::new();
    for client in
        all().filter(|client| options.only.is_empty() || options.only.iter().any(|name| name == client.name))
    {
        let directory = wires.join(client.name.replace(' ', "-"));
        let binary = if cfg!(unix) { tap::script(&xtask, &tiller, &directory)? } else { tiller.clone() };
        match client.ready(&binary) {
            Ok(mut start) => {
                start.env("TILLER_SHOWN", directory.join("shown"));
                ready.push((client, start, directory));
            }
            Err(reason) => steps.skip(client.name, format!("{reason:#}")),
        }
    }
    if !ready.is_empty() && options.binary.is_none() {
        steps.command("test build", &mut test_build())?;
    }
    let mut now = Rows::new();
    for (client, mut start, directory) in ready {
        match steps.command(client.name, &mut start) {
            Err(error) if RETRIED.contains(&client.name) => {
                println!("ci: {error:#}\nci: {} is tried once more", client.name);
                if cfg!(unix) {
                    tap::script(&xtask, &tiller, &directory)?;
                }
                steps.command(client.name, &mut start)?;
            }
            played => played?,
        }
        if let Some((label, row)) = read_features(&client, &directory)? {
            println!("ci: {label} {}: {}", row.version, serde_json::to_string(&row.features)?);
            now.insert(label, row);
        }
    }
    if cfg!(unix) { compare(now, options.write) } else { Ok(()) }
}

/// Copies this program: building the tests replaces it while the clients still run it.
fn own_copy() -> Result<PathBuf> {
    let directory = target_dir().join("clients");
    fs::create_dir_all(&directory)?;
    let copy = directory.join("xtask");
    // A running copy cannot be overwritten.
    if copy.exists() {
        fs::remove_file(&copy)?;
    }
    fs::copy(std::env::current_exe()?, &copy)
        .with_context(|| format!("cannot copy this program to {}", copy.display()))?;
    Ok(copy)
}

/// Returns the client's row of the table; servers and our own clients have none.
fn read_features(client: &Client, directory: &Path) -> Result<Option<(String, Row)>> {
    let Some((_, label, version)) = LABELS.iter().find(|(name, ..)| *name == client.name) else {
        return Ok(None);
    };
    let mut features: BTreeSet<&str> = BTreeSet::new();
    for wire in tap::wires(directory)? {
        features.extend(features::features_in_wire(&wire));
    }
    if let Ok(notes) = fs::read_to_string(directory.join("shown")) {
        features.extend(features::features_in_notes(&notes));
    }
    let features = features.into_iter().map(str::to_owned).collect();
    let date = capture(command("date").arg("+%F"))?.trim().to_owned();
    Ok(Some(((*label).to_owned(), Row { version: version.of(client)?, date, features })))
}

fn compare(now: Rows, write: bool) -> Result<()> {
    let mut kept = table::read(&root())?;
    let differences = table::differences(&kept, &now);
    if write {
        kept.extend(now);
        table::write(&root(), &kept)?;
        println!(
            "ci: the table of clients is written: {}",
            if differences.is_empty() { "as it was".to_owned() } else { differences.join("; ") }
        );
        return Ok(());
    }
    if !differences.is_empty() {
        bail!(
            "the clients did something else than docs/editors.md says:\n  {}\nif that is right, write it: cargo xtask clients --write",
            differences.join("\n  ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_clients_that_are_there() {
        let options = Options::parse(&["--only", "acpx", "--write"]).unwrap();
        assert!(options.write && options.only == ["acpx"]);
        let error = Options::parse(&["--only", "acpz"]).err().unwrap().to_string();
        assert!(error.starts_with("no such client: acpz; there are python client, "), "{error}");
        assert!(Options::parse(&["--wrote"]).is_err());
    }

    #[test]
    fn each_row_is_of_a_client_and_has_a_version() {
        for (name, label, version) in LABELS {
            let client =
                all().find(|client| client.name == name).unwrap_or_else(|| panic!("no client {name}"));
            let version = version.of(&client).unwrap();
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{label}: {version}");
        }
    }
}
