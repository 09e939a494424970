//! How this program was installed: which file runs, who put it there, and who replaces it.

mod method;
mod path;
mod receipt;

pub(crate) use method::Method;
pub(crate) use path::{exists, in_path, is_for_desktops};
pub(crate) use receipt::Receipt;

use crate::{environment::Environment, options::Directories};
use system::{AbsPath, System};

/// The name of the program.
pub(crate) const PROGRAM: &str = "tiller";

/// The installation that this process was started from.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    /// The file that runs, with links resolved.
    pub(crate) binary: AbsPath,
    pub(crate) method: Method,
    /// The programs of this name in `PATH`, in its order.
    pub(crate) in_path: Vec<AbsPath>,
    /// The first of them that is this installation.
    own: Option<AbsPath>,
    /// What the shell installer wrote about this very file.
    pub(crate) receipt: Option<Receipt>,
}

impl Installation {
    /// Looks at the running program.
    ///
    /// # Errors
    /// If the system cannot tell which file runs.
    pub(crate) async fn of_this_process(
        system: &dyn System,
        environment: &Environment,
        directories: &Directories,
    ) -> anyhow::Result<Self> {
        let binary = path::of_this_process()?;
        Ok(Self::of(system, environment, directories, binary).await)
    }

    async fn of(
        system: &dyn System,
        environment: &Environment,
        directories: &Directories,
        binary: AbsPath,
    ) -> Self {
        let in_path = in_path(system, environment.get("PATH").unwrap_or_default(), PROGRAM).await;
        let mut own = None;
        for found in &in_path {
            if own.is_none() && system.resolve(found).await.is_ok_and(|resolved| resolved == binary) {
                own = Some(found.clone());
            }
        }
        let receipt = receipt::read(system, directories).await.ok().flatten();
        let receipt = match receipt {
            Some(receipt) if is_same(system, &receipt.binary, &binary).await => Some(receipt),
            _ => None,
        };
        let method = match &receipt {
            Some(_) => Method::Installer,
            None => method::of(system, environment, &directories.home, &binary).await,
        };
        Self { binary, method, in_path, own, receipt }
    }

    /// Programs of this name in `PATH` that are another installation.
    pub(crate) async fn others(&self, system: &dyn System) -> Vec<AbsPath> {
        let mut others = Vec::new();
        for found in &self.in_path {
            if !system.resolve(found).await.is_ok_and(|resolved| resolved == self.binary) {
                others.push(found.clone());
            }
        }
        others
    }

    /// Returns the command with which another program starts this one: the bare name if every
    /// program finds this installation by it, else the path. A program that the desktop started
    /// searches the directories of the system only.
    pub(crate) fn command(&self) -> String {
        match &self.own {
            Some(own) if self.in_path.first() == Some(own) && is_for_desktops(own) => PROGRAM.to_owned(),
            // A link in `PATH` stays when its target moves with the version.
            Some(own) => own.as_str().to_owned(),
            None => self.binary.as_str().to_owned(),
        }
    }
}

async fn is_same(system: &dyn System, one: &AbsPath, other: &AbsPath) -> bool {
    system.resolve(one).await.is_ok_and(|resolved| resolved == *other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::FakeSystem;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    fn directories() -> Directories {
        let variables = [("HOME", "/home/me"), ("TILLER_HOME", "/home/me/.tiller")];
        let environment = variables.map(|(a, b)| (a.to_owned(), b.to_owned())).into_iter().collect();
        crate::directories::resolve(&environment, &path("/")).unwrap()
    }

    async fn installation(files: &[(&str, &str)], search: &str, binary: &str) -> Installation {
        let system = FakeSystem::new();
        for (file, text) in files {
            system.add_file(file, text);
        }
        let environment = [("PATH".to_owned(), search.to_owned())].into_iter().collect();
        Installation::of(&system, &environment, &directories(), path(binary)).await
    }

    #[tokio::test]
    async fn an_entry_has_the_bare_name_only_where_every_program_finds_it() {
        for (files, search, binary, command) in [
            (&["/usr/bin/tiller"][..], "/usr/bin:/bin", "/usr/bin/tiller", "tiller"),
            (&["/usr/local/bin/tiller"], "/x:/usr/local/bin", "/usr/local/bin/tiller", "tiller"),
            // The desktop's `PATH` lacks it.
            (
                &["/home/me/.local/bin/tiller"],
                "/home/me/.local/bin:/bin",
                "/home/me/.local/bin/tiller",
                "/home/me/.local/bin/tiller",
            ),
            // Another one comes first.
            (&["/a/tiller", "/usr/bin/tiller"], "/a:/usr/bin", "/usr/bin/tiller", "/usr/bin/tiller"),
            // It is not in `PATH`.
            (&["/b/tiller"], "/usr/bin", "/b/tiller", "/b/tiller"),
            (&["/b/tiller"], "", "/b/tiller", "/b/tiller"),
        ] {
            let files: Vec<_> = files.iter().map(|file| (*file, "")).collect();
            assert_eq!(installation(&files, search, binary).await.command(), command, "{search} {binary}");
        }
    }

    #[tokio::test]
    async fn a_receipt_counts_for_its_own_file_only() {
        let receipt = r#"{"v":1,"version":"0.1.0","target":"t","binary":"/home/me/.local/bin/tiller","source":"https://example.org","key":"k"}"#;
        let files = [
            ("/home/me/.tiller/data/receipt.json", receipt),
            ("/home/me/.local/bin/tiller", ""),
            ("/home/me/.cargo/bin/tiller", ""),
        ];
        let ours = installation(&files, "", "/home/me/.local/bin/tiller").await;
        assert_eq!((ours.method, ours.receipt.is_some()), (Method::Installer, true));
        let other = installation(&files, "/home/me/.local/bin", "/home/me/.cargo/bin/tiller").await;
        assert_eq!((other.method, other.receipt.is_some()), (Method::Cargo, false));
    }
}
