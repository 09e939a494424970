//! Makes the files of a release in a directory.

use super::{
    build::build, collect::collect, contents::Contents, packages::of_target, release::Release, target::Target,
};
use anyhow::Result;
use std::fs;
use std::path::PathBuf;

/// What `dist` is asked for.
pub(super) struct Options {
    pub(super) target: Option<&'static Target>,
    pub(super) binary: Option<PathBuf>,
    pub(super) runner: Option<PathBuf>,
    pub(super) out: PathBuf,
    pub(super) collect: bool,
    pub(super) fast: bool,
}

/// Makes the files.
pub(super) fn make(options: &Options, release: &Release) -> Result<()> {
    fs::create_dir_all(&options.out)?;
    if !options.collect {
        let target = match options.target {
            Some(target) => target,
            None => Target::of_this_machine()?,
        };
        let binary = match &options.binary {
            Some(binary) => binary.clone(),
            None => build(target, release)?,
        };
        let runner = options.runner.as_ref().unwrap_or(&binary);
        let contents = Contents::new(target, &binary, runner, release)?;
        for path in of_target(target, &contents, release, &options.out, options.fast)? {
            println!("dist: {}", path.display());
        }
    }
    collect(&options.out, release)
}
