//! Completion scripts for shells, and the values that they ask for.
//!
//! The scripts are static, from the definition of the command line. Where an argument is a model, a
//! session or another thing that only this machine knows, the scripts of bash, zsh and fish start
//! `tiller __complete KIND PREFIX`, which answers from files and starts nothing.

mod bash;
mod fish;
mod kind;
mod values;
mod zsh;

pub(crate) use values::{Sources, lines};

use crate::{
    answer::{Answer, Console},
    args::{Cli, Shell},
    exit::Exit,
    streams,
};
use anyhow::Result;
use clap::{CommandFactory as _, ValueEnum as _};
use clap_complete::Generator;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write as _;

/// The name of the program in the scripts.
const PROGRAM: &str = "tiller";

/// The result of `tiller completions`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Script {
    /// The shell.
    shell: String,
    /// The completion script, with line ends.
    script: String,
}

/// Prints the script for a shell.
pub(crate) fn run(console: &Console, shell: Shell) -> Result<Exit> {
    let script = script(shell);
    if !console.is_json() {
        // The script is code: it is printed byte for byte.
        streams::stdout().write_all(script.as_bytes())?;
        return Ok(Exit::Ok);
    }
    let shell = shell.to_possible_value().expect("no shell is hidden").get_name().to_owned();
    console.print(Answer::new(Script { shell, script }, String::new()))
}

/// Returns the script for a shell.
pub(crate) fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => generated(clap_complete::Shell::Bash) + &bash::values(),
        Shell::Zsh => zsh::with_values(&generated(clap_complete::Shell::Zsh)),
        Shell::Fish => fish::with_values(&generated(clap_complete::Shell::Fish)),
        Shell::Powershell => generated(clap_complete::Shell::PowerShell),
        Shell::Elvish => generated(clap_complete::Shell::Elvish),
        Shell::Nushell => generated(clap_complete_nushell::Nushell),
    }
}

fn generated(shell: impl Generator) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), PROGRAM, &mut script);
    String::from_utf8(script).expect("the names of commands are UTF-8")
}
