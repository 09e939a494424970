//! `tiller update`: replaces this program by the newest release, if the shell installer installed
//! it; else names the command that does.

mod release;
mod replace;

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::UpdateArgs,
    directories,
    environment::Environment,
    exit::Exit,
    installation::{Installation, Receipt},
    options::Directories,
};
use agent::one_line;
use anyhow::Result;
use integrations::ClientFactory;
use release::Newest;
use schemars::JsonSchema;
use serde::Serialize;
use system::System;

/// The version of this program.
const CURRENT: &str = env!("CARGO_PKG_VERSION");

/// The result of `tiller update`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Updated {
    /// The version before.
    current: String,
    /// The newest version; null if it was not looked up.
    latest: Option<String>,
    /// Who installed the program: `installer`, `cargo`, `npm`, `npx`, `pip`, `pipx`, `uv`, `uvx`,
    /// `brew`, `nix`, `distribution`, `source` or `unknown`.
    method: &'static str,
    /// The file of the program.
    file: String,
    /// The command that updates it; null if it is up to date, or no command is known.
    command: Option<String>,
    /// Whether the program was replaced.
    changed: bool,
    /// The version that was kept for `--rollback`.
    previous: Option<String>,
}

/// Where the command runs.
pub(crate) struct Place<'a> {
    pub(crate) system: &'a dyn System,
    pub(crate) environment: &'a Environment,
    pub(crate) directories: &'a Directories,
    pub(crate) clients: &'a ClientFactory,
}

/// Runs the command.
///
/// # Errors
/// If the release cannot be downloaded or checked, sessions are open, or the file cannot be
/// replaced. The program is unchanged then.
pub(crate) async fn run(place: Place<'_>, console: &Console, args: &UpdateArgs) -> Result<Exit> {
    let Place { system, environment, directories, clients } = place;
    let installation = Installation::of_this_process(system, environment, directories).await?;
    let mut result = Updated {
        current: CURRENT.to_owned(),
        latest: None,
        method: installation.method.id(),
        file: installation.binary.as_str().to_owned(),
        command: None,
        changed: false,
        previous: None,
    };
    for other in installation.others(system).await {
        console.note(&format!("note: {other} is another installation, which this command does not change"));
    }
    let Some(receipt) = installation.receipt.clone() else {
        return console.print(by_others(&installation, result, args)?);
    };
    if args.rollback {
        refuse_while_in_use(directories, args).await?;
        let kept = replace::roll_back(system, directories, &receipt).await?;
        result.changed = true;
        result.previous = Some(receipt.version.clone());
        let text = format!("tiller {kept} is back in place of {}.\n", receipt.version);
        return console.print(Answer::new(&result, text));
    }
    let newest = release::newest(clients, &receipt).await?;
    result.latest = Some(newest.version.clone());
    if !newest.is_newer_than(CURRENT) {
        return console.print(Answer::new(&result, format!("tiller {CURRENT} is the newest version.\n")));
    }
    if args.check {
        result.command = Some("tiller update".to_owned());
        let text =
            format!("tiller {} is available; this is {CURRENT}.\n  try: tiller update\n", newest.version);
        return console.print(Answer::new(&result, text));
    }
    refuse_while_in_use(directories, args).await?;
    console.note(&format!("downloading tiller {} from {}", newest.version, one_line(&receipt.source)));
    install(system, directories, clients, &receipt, &newest).await?;
    result.changed = true;
    result.previous = Some(CURRENT.to_owned());
    let text = format!(
        "tiller {} replaces {CURRENT}, which is kept.\n  to go back: tiller update --rollback\n",
        newest.version
    );
    console.print(Answer::new(&result, text))
}

async fn install(
    system: &dyn System,
    directories: &Directories,
    clients: &ClientFactory,
    receipt: &Receipt,
    newest: &Newest,
) -> Result<()> {
    let archive = release::archive(clients, receipt, newest).await?;
    let (version, target) = (newest.version.clone(), receipt.target.clone());
    let program =
        tokio::task::spawn_blocking(move || release::program_in(&archive, &version, &target)).await??;
    replace::install(system, directories, receipt, &newest.version, program).await
}

/// Answers for a program that something else installed.
fn by_others(installation: &Installation, mut result: Updated, args: &UpdateArgs) -> Result<Answer> {
    let method = installation.method;
    if args.rollback {
        let text =
            format!("{} was not replaced by `tiller update`, so no version was kept", installation.binary);
        return Err(Failure::new(Kind::NotAvailable, text).into());
    }
    result.command = method.update_command().map(str::to_owned);
    let mut text = format!("tiller {CURRENT} is {}", installation.binary);
    text += &match method.update_command() {
        Some(command) => format!(", installed with {}.\n  to update it: {command}\n", method.id()),
        None => format!(", which is not from our installer: {}.\n", method.advice()),
    };
    Ok(Answer::new(&result, text))
}

/// Fails while a process has a session open. It would go on with the old program, but what it
/// starts would be the new one.
async fn refuse_while_in_use(directories: &Directories, args: &UpdateArgs) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    let path = directories::sessions_file(&directories.data).as_std().to_owned();
    let leases = tokio::task::spawn_blocking(move || store::leases(&path)).await??;
    let mut live = leases.iter().filter(|lease| lease.is_alive);
    let Some(first) = live.next() else { return Ok(()) };
    let others = match live.count() {
        0 => String::new(),
        count => format!(", and {count} more are open"),
    };
    let text = format!("session {} is open in {}{others}", first.session.as_str(), first.holder);
    Err(Failure::new(Kind::Busy, text)
        .hint("close it first; or replace the program all the same, and restart what uses it")
        .next("tiller update --yes")
        .into())
}
