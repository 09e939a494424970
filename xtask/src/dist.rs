//! `cargo xtask dist`: everything that a release consists of, from one binary per target.
//!
//! Nothing is uploaded: publishing is a person's step (docs/release.md). Equal inputs make equal
//! files: times come from `SOURCE_DATE_EPOCH`, or else from the last commit, and entries are
//! sorted.

mod archive;
mod build;
mod collect;
mod contents;
mod homebrew;
mod installer;
mod licences;
mod make;
mod npm;
mod packages;
mod registry;
mod release;
mod sbom;
mod target;
mod trial;
mod wheel;

use crate::arguments::Arguments;
use crate::process::target_dir;
use anyhow::{Result, bail};
use make::{Options, make};
use release::Release;
use target::Target;
pub(crate) use trial::{run as run_trial, run_built as run_built_trial};

const USAGE: &str = "\
usage: cargo xtask dist [OPTION]...
  --target TRIPLE  the target; this machine's by default
  --binary PATH    package this binary instead of building one with the profile `dist`
  --runner PATH    a binary for this machine that writes the manual pages, if --binary does not run here
  --out DIR        the directory for the files [default: target/dist-files]
  --collect        build nothing: renew the sums, installer, formula and registry entry of --out
  --fast           compress little, for tests
";

/// `cargo xtask dist`.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = parse(words)?;
    let release = Release::read()?;
    make(&options, &release)?;
    println!("dist: the files are in {}", options.out.display());
    if release.repository.contains("example.org") {
        println!("dist: packaging/release.toml names no real host yet; these files cannot be published");
    }
    Ok(())
}

fn parse(words: &[&str]) -> Result<Options> {
    let mut arguments = Arguments::new(words);
    let mut options = Options {
        target: None,
        binary: None,
        runner: None,
        out: target_dir().join("dist-files"),
        collect: false,
        fast: false,
    };
    while let Some(option) = arguments.next_option() {
        match option {
            "--target" => options.target = Some(Target::named(arguments.value()?)?),
            "--binary" => options.binary = Some(arguments.path()?),
            "--runner" => options.runner = Some(arguments.path()?),
            "--out" => options.out = arguments.path()?,
            "--collect" => options.collect = true,
            "--fast" => options.fast = true,
            _ => return Err(arguments.unknown(USAGE)),
        }
    }
    if options.collect && options.binary.is_some() {
        bail!("--collect builds nothing, so it takes no --binary");
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        assert!(parse(&["--collect", "--binary", "x"]).is_err());
        assert!(parse(&["--target", "sparc-sun-solaris"]).is_err());
        let options = parse(&["--target", "x86_64-unknown-linux-musl", "--fast"]).unwrap();
        assert_eq!(options.target.map(|target| target.triple), Some("x86_64-unknown-linux-musl"));
    }
}
