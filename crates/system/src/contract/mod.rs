//! The contract of [`System`] as a test suite that runs over every backend.
//!
//! A backend's tests call [`check`] with a function that creates a fresh [`Subject`]. Failed cases
//! are reported by name. A case is skipped if the subject lacks what it needs; the names of the
//! cases that ran are returned.

mod directories;
pub(crate) mod processes;
mod reads;
mod writes;

/// The shell lines that a backend with [`Processes::Scripted`] must support; each is documented
/// with its effect.
pub mod lines {
    pub use super::processes::{FAILS, FLOODS, KILLED, MIXED, PRINTS, RUNS};
}

use crate::limits::CONTRACT_CASE;
use crate::{AbsPath, System};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// A backend under test, with its own workspace.
pub struct Subject {
    /// The backend.
    pub system: Arc<dyn System>,
    /// A writable system over the same workspace, to set up a case: the backend itself if it can
    /// write.
    pub setup: Arc<dyn System>,
    /// An existing, empty directory with all links resolved.
    pub root: AbsPath,
    /// Whether the backend can write. If not, the cases that write are skipped.
    pub writes: bool,
    /// Creates symbolic links; `None` if the backend has none.
    pub link: Option<Link>,
    /// What the backend's commands can do.
    pub processes: Processes,
    /// Values that must live as long as the subject: a temporary directory, a connection.
    pub keep: Box<dyn Any + Send + Sync>,
}

/// Creates a symbolic link at the path, pointing to the target, which may be relative.
pub type Link = Box<dyn Fn(&AbsPath, &str) + Send + Sync>;

/// What the commands of a [`Subject`] can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Processes {
    /// There are no commands.
    None,
    /// Only the lines of this suite are supported.
    Scripted,
    /// There is a POSIX shell.
    Real,
}

/// Runs every case that the subject supports, each on a fresh subject. Returns the names of these
/// cases.
///
/// # Panics
/// If a case fails or does not finish within 30 s. The message lists all failed cases.
pub async fn check(make: impl AsyncFn() -> Subject) -> Vec<&'static str> {
    let mut ran = Vec::new();
    let mut failed = Vec::new();
    for case in [reads::CASES, writes::CASES, directories::CASES, processes::CASES].concat() {
        let subject = make().await;
        if !case.need.is_met(&subject) {
            continue;
        }
        ran.push(case.name);
        let run = tokio::time::timeout(CONTRACT_CASE, (case.run)(&subject));
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => failed.push(format!("{}: did not end in time", case.name)),
            Err(panic) => failed.push(format!("{}: {}", case.name, message(&*panic))),
        }
    }
    assert!(failed.is_empty(), "{} of {} cases failed:\n{}", failed.len(), ran.len(), failed.join("\n"));
    ran
}

/// One required behaviour of a backend.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    need: Need,
    run: for<'a> fn(&'a Subject) -> BoxFuture<'a, ()>,
}

/// The requirement of a case.
#[derive(Debug, Clone, Copy)]
enum Need {
    Nothing,
    Writes,
    Links,
    LinksAndWrites,
    Scripts,
    Shell,
}

impl Need {
    fn is_met(self, subject: &Subject) -> bool {
        match self {
            Self::Nothing => true,
            Self::Writes => subject.writes,
            Self::Links => subject.link.is_some(),
            Self::LinksAndWrites => subject.writes && subject.link.is_some(),
            Self::Scripts => subject.processes >= Processes::Scripted,
            Self::Shell => subject.processes == Processes::Real,
        }
    }
}

/// Declares a table of cases, grouped by requirement.
macro_rules! cases {
    ($($need:ident: $($name:ident)*;)*) => {
        pub(super) const CASES: &[super::Case] = &[$($(super::Case {
            name: stringify!($name),
            need: super::Need::$need,
            run: |subject| Box::pin($name(subject)),
        }),*),*];
    };
}
use cases;

impl Subject {
    fn path(&self, relative: &str) -> AbsPath {
        self.root.join(relative)
    }

    /// Creates a file through `setup`.
    async fn seed(&self, relative: &str, bytes: impl AsRef<[u8]>) -> AbsPath {
        let path = self.path(relative);
        let directory = path.parent().expect("a file below the root has a directory");
        self.setup.create_dir_all(&directory).await.expect("set up a directory");
        self.setup.write(&path, bytes.as_ref()).await.expect("set up a file");
        path
    }

    /// Reads a file through `setup`.
    async fn bytes(&self, path: &AbsPath) -> Vec<u8> {
        self.setup.read(path).await.expect("the file is there")
    }

    fn make_link(&self, relative: &str, target: &str) -> AbsPath {
        let path = self.path(relative);
        let link = self.link.as_ref().expect("the case asks for links");
        link(&path, target);
        path
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
