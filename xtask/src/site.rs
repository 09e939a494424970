//! `cargo xtask site`: builds the site of the documents with mdbook, and checks its links offline.
//!
//! The pages are staged below the target directory, because some of them (README.md, the pages of
//! the clients) are outside `docs`. `docs/SUMMARY.md` lists the pages.

mod links;
mod stage;

use crate::ci::MDBOOK;
use crate::process::{command, root, target_dir};
use anyhow::{Context, Result, bail};
use std::fs;

/// Builds the site.
///
/// # Errors
///
/// Fails if mdbook cannot be installed, reports a warning or an error, or if a link has no target.
pub(crate) fn run() -> Result<()> {
    let mdbook = MDBOOK.ready()?;
    let site = target_dir().join("site");
    if site.exists() {
        fs::remove_dir_all(&site).context("the previous site cannot be removed")?;
    }
    let pages = stage::stage(&root(), &site.join("src"))?;
    fs::copy(root().join("book.toml"), site.join("book.toml"))?;

    let output = mdbook.command().arg("build").arg(&site).output().context("mdbook did not start")?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || messages.contains("WARN") || messages.contains("ERROR") {
        bail!("mdbook reported:\n{messages}");
    }
    let broken = links::broken(&site.join("book"))?;
    if !broken.is_empty() {
        bail!("the site has broken links:\n{}", broken.join("\n"));
    }
    println!("site: {pages} pages in {}", site.join("book/index.html").display());
    Ok(())
}

/// Builds the API documentation of all crates, private items included: most crates are read by
/// their contributors only.
///
/// # Errors
///
/// Fails if rustdoc reports a warning.
pub(crate) fn doc() -> Result<()> {
    let mut cargo = command("cargo");
    cargo.args(["doc", "--workspace", "--no-deps", "--document-private-items", "--locked", "--quiet"]);
    cargo.env("RUSTDOCFLAGS", "-D warnings");
    if !cargo.status().context("cargo did not start")?.success() {
        bail!("rustdoc reported the problems above");
    }
    Ok(())
}
