//! `tiller man`: manual pages, made from the definition of the command line.

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::{Cli, ManArgs, with_examples},
    environment,
    exit::Exit,
    streams,
};
use anyhow::Result;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write as _;
use system::{AbsPath, System};

/// The result of `tiller man`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Pages {
    /// With --out: the files that were written.
    files: Vec<String>,
    /// Without --out: the page, as roff.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// If there is no such command, or a page cannot be written.
pub(crate) async fn run(
    system: &dyn System,
    cwd: &AbsPath,
    console: &Console,
    args: &ManArgs,
) -> Result<Exit> {
    let mut root = with_examples(Cli::command());
    root.build();
    if let Some(out) = &args.out {
        let out = environment::absolute(cwd, out)?;
        system.create_dir_all(&out).await?;
        let mut files = Vec::new();
        for (name, page) in pages(&root)? {
            let file = out.join(name);
            system.write(&file, &page).await?;
            files.push(file.as_str().to_owned());
        }
        let text = format!("{} pages are in {out}\n", files.len());
        return console.print(Answer::new(Pages { files, page: None }, text));
    }
    let mut command = &root;
    for word in &args.command {
        let found = command.find_subcommand(word);
        command = found.ok_or_else(|| {
            Failure::new(Kind::NotFound, format!("there is no command `{}`", args.command.join(" ")))
                .next("tiller --help")
        })?;
    }
    let page = page(command)?;
    if console.is_json() {
        let page = Some(String::from_utf8_lossy(&page).into_owned());
        return console.print(Answer::new(Pages { files: Vec::new(), page }, String::new()));
    }
    streams::stdout().write_all(&page)?;
    Ok(Exit::Ok)
}

/// Returns the page of each command with the name of its file: `tiller-sessions-list.1`.
fn pages(root: &Command) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(command) = open.pop() {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        found.push((format!("{name}.1"), page(command)?));
        open.extend(command.get_subcommands().filter(|below| !below.is_hide_set()));
    }
    found.sort();
    Ok(found)
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    let version = format!("tiller {}", env!("CARGO_PKG_VERSION"));
    // No date: equal versions have equal pages.
    Man::new(command.clone()).source(version).manual("Tiller").render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_has_a_page() {
        let mut root = with_examples(Cli::command());
        root.build();
        let pages = pages(&root).unwrap();
        let names: Vec<_> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["tiller.1", "tiller-acp.1", "tiller-sessions.1", "tiller-sessions-list.1"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(names.iter().all(|name| !name.contains("__complete")), "{names:?}");
        for (name, page) in &pages {
            let text = String::from_utf8(page.clone()).unwrap();
            assert!(text.contains(".TH ") && text.contains(".SH SYNOPSIS"), "{name}");
        }
    }
}
