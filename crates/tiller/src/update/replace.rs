//! Replaces the program, and keeps the one before.

use crate::{
    answer::{Failure, Kind},
    installation::Receipt,
    limits::FIRST_WORDS,
    options::Directories,
};
use anyhow::{Context as _, Result};
use system::{AbsPath, Command, Confinement, Output, System, read_program, write_program};

/// The version that the last update replaced, in the data directory.
const PREVIOUS: &str = "previous-tiller";

/// Installs a program, after it has reported the expected version.
pub(super) async fn install(
    system: &dyn System,
    directories: &Directories,
    receipt: &Receipt,
    version: &str,
    program: Vec<u8>,
) -> Result<()> {
    let staged = directories.data.join("next-tiller");
    system.create_dir_all(&directories.data).await?;
    write(&staged, program.clone()).await?;
    let checked = check(system, &staged, version).await;
    system.remove(&staged).await.context("the downloaded program cannot be removed")?;
    checked?;
    let before = read(&receipt.binary).await?;
    write(&directories.data.join(PREVIOUS), before).await?;
    write(&receipt.binary, program).await?;
    let updated =
        Receipt { version: version.to_owned(), previous: Some(receipt.version.clone()), ..receipt.clone() };
    updated.write(system, directories).await.context("the program is replaced, but its receipt is not")
}

/// Puts the kept version back, and keeps the current one instead. Returns its version.
pub(super) async fn roll_back(
    system: &dyn System,
    directories: &Directories,
    receipt: &Receipt,
) -> Result<String> {
    let kept = directories.data.join(PREVIOUS);
    let Some(version) = receipt.previous.clone() else {
        return Err(nothing_kept());
    };
    if system.metadata(&kept).await.is_err() {
        return Err(nothing_kept());
    }
    let (old, new) = (read(&kept).await?, read(&receipt.binary).await?);
    write(&receipt.binary, old).await?;
    write(&kept, new).await?;
    let previous =
        Receipt { version: version.clone(), previous: Some(receipt.version.clone()), ..receipt.clone() };
    previous.write(system, directories).await.context("the program is back, but its receipt is not")?;
    Ok(version)
}

fn nothing_kept() -> anyhow::Error {
    Failure::new(Kind::NotFound, "no earlier version is kept; an update keeps the version that it replaces")
        .into()
}

/// Starts the program and compares what it says of itself.
async fn check(system: &dyn System, program: &AbsPath, version: &str) -> Result<()> {
    let folder = program.parent().expect("a file has a directory");
    let command = Command {
        confinement: Confinement::Lifted,
        ..Command::new(program.as_str(), vec!["--version".to_owned()], folder, 4096)
    };
    let mut process =
        system.spawn(command).await.context("the new program does not start on this machine")?;
    let mut said = String::new();
    let read = async {
        while let Some(output) = process.next_output().await {
            if let Output::Text(text) = output {
                said += &text;
            }
        }
    };
    let in_time = tokio::time::timeout(FIRST_WORDS, read).await.is_ok();
    process.kill().await;
    if in_time && said.trim() == format!("tiller {version}") {
        return Ok(());
    }
    let said = agent::one_line(&said);
    let text =
        format!("the new program does not work on this machine: asked for its version, it said {said:?}");
    Err(Failure::new(Kind::Provider, text).hint("nothing was replaced").into())
}

async fn read(path: &AbsPath) -> Result<Vec<u8>> {
    let path = path.clone();
    Ok(tokio::task::spawn_blocking(move || read_program(&path)).await??)
}

async fn write(path: &AbsPath, bytes: Vec<u8>) -> Result<()> {
    let path = path.clone();
    Ok(tokio::task::spawn_blocking(move || write_program(&path, &bytes)).await??)
}
