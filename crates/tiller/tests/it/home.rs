//! An isolated home directory with a project, for each test.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

/// An image of 1280 by 720 pixels.
pub(crate) const PNG: &[u8] = include_bytes!("dot.png");

/// An empty home directory with an empty project beside it.
pub(crate) struct Home {
    dir: TempDir,
    /// The path of the program.
    tiller: PathBuf,
}

impl Home {
    /// Creates a home. Discovery of local model servers is off, and the pilot is the default model.
    pub(crate) fn new() -> Self {
        let home = Self { dir: TempDir::new().unwrap(), tiller: env!("CARGO_BIN_EXE_tiller").into() };
        std::fs::create_dir_all(home.project()).unwrap();
        home.settings("[agent]\ndefault_model = 'offline/pilot'\n[providers.local]\ndiscover = false\n");
        home
    }

    /// Creates a home without settings.
    pub(crate) fn empty() -> Self {
        let home = Self::new();
        std::fs::remove_dir_all(home.path().join("home")).unwrap();
        std::fs::create_dir_all(home.path().join("home")).unwrap();
        home
    }

    /// Links the program into a directory of this name beside the project.
    pub(crate) fn with_program_in(mut self, directory: &str) -> Self {
        let directory = self.path().join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        let there = directory.join("tiller");
        std::fs::hard_link(&self.tiller, &there)
            .or_else(|_| std::fs::copy(&self.tiller, &there).map(drop))
            .unwrap();
        self.tiller = there;
        self
    }

    /// The root directory, with symbolic links resolved.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// The project's directory.
    pub(crate) fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    /// The absolute path of a file of the project.
    pub(crate) fn file(&self, name: &str) -> String {
        self.project().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) {
        put(&self.project().join(name), text);
    }

    /// Reads a file of the project; `None` if it does not exist.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.project().join(name)).ok()
    }

    /// Replaces the user's settings.
    pub(crate) fn settings(&self, text: &str) {
        put(&self.path().join("home/.config/tiller/config.toml"), text);
    }

    /// `tiller` in the project, with an environment that has only this home.
    pub(crate) fn tiller(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.tiller);
        command.args(args).current_dir(self.project()).env_clear();
        command.env("PATH", std::env::var("PATH").unwrap()).env("HOME", self.path().join("home"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs `tiller` to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.tiller(args).output().unwrap()
    }
}

/// The output of a program on stdout.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The output of a program on stderr.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
