//! What every [`System`] must do, as one suite that is run over each of them.
//!
//! A backend's tests call [`check`] with a function that makes a fresh [`Subject`]. A case that fails is named; a case that needs
//! what the subject does not have is left out, and the names of those that ran are returned.

mod folders;
pub(crate) mod processes;
mod reads;
mod writes;

/// The shell lines that a backend with [`Processes::Scripted`] must know; what each does can be read in it.
pub mod lines {
    pub use super::processes::{DIES, FAILS, FLOODS, MIXED, PRINTS, STAYS};
}

use crate::limits::CONTRACT_CASE;
use crate::{AbsPath, System};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// A backend on a workspace of its own.
pub struct Subject {
    /// The backend.
    pub system: Arc<dyn System>,
    /// A view of the same workspace that can write, to set a case up: the backend itself, where it can.
    pub setup: Arc<dyn System>,
    /// An empty folder that exists, with all links resolved.
    pub root: AbsPath,
    /// Whether the backend writes. If not, the cases that write are left out.
    pub writes: bool,
    /// Makes a symbolic link at the first path to the second, which may be relative; `None` where there are none.
    pub link: Option<Link>,
    /// What commands do there.
    pub processes: Processes,
    /// What must live as long as the subject: a temporary folder, a connection.
    pub keep: Box<dyn Any + Send + Sync>,
}

/// Makes a symbolic link at the first path to the second.
pub type Link = Box<dyn Fn(&AbsPath, &str) + Send + Sync>;

/// What the commands of a [`Subject`] do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Processes {
    /// There are none.
    None,
    /// Only the lines of this suite are known.
    Scripted,
    /// There is a POSIX shell.
    Real,
}

/// Runs every case that the subject has the means for, each on a fresh subject; returns their names.
///
/// # Panics
/// Names all cases that failed, with their messages. A case that does not end within 30 s has failed.
pub async fn check(make: impl AsyncFn() -> Subject) -> Vec<&'static str> {
    let mut ran = Vec::new();
    let mut failed = Vec::new();
    for case in [reads::CASES, writes::CASES, folders::CASES, processes::CASES].concat() {
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

/// One thing that a backend must do.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    need: Need,
    run: for<'a> fn(&'a Subject) -> BoxFuture<'a, ()>,
}

/// What a case cannot do without.
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

/// A table of cases by what they need.
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

    /// Puts a file there, whatever the backend can do.
    async fn seed(&self, relative: &str, bytes: impl AsRef<[u8]>) -> AbsPath {
        let path = self.path(relative);
        let folder = path.parent().expect("a file below the root has a folder");
        self.setup.create_dir_all(&folder).await.expect("set up a folder");
        self.setup.write(&path, bytes.as_ref()).await.expect("set up a file");
        path
    }

    /// What is on disk.
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
