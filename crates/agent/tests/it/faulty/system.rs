//! A system that fails.

use super::Plan;
use async_trait::async_trait;
use std::sync::Arc;
use system::{
    AbsPath, Claim, Command, Entry, ExitStatus, FakeSystem, Metadata, Output, Piped, PipedCommand, Process,
    Routes, System, SystemError, TerminalId, TextRange, WalkOptions,
};

/// A system whose operations and processes fail.
pub(crate) struct FaultySystem {
    pub(crate) inner: Arc<FakeSystem>,
    pub(crate) plan: Arc<Plan>,
}

fn broken(path: &AbsPath) -> SystemError {
    SystemError::from_io("use", path, std::io::Error::other("as the test wanted"))
}

fn any_path() -> AbsPath {
    AbsPath::new("/as/the/test/wanted").unwrap()
}

macro_rules! failing {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        #[async_trait]
        impl System for FaultySystem {
            $(async fn $name(&self, $($argument: $type),*) -> Result<$result, SystemError> {
                self.plan.through(self.inner.$name($($argument),*), || broken(&any_path())).await
            })*

            async fn claim(&self, paths: &[AbsPath]) -> Result<Claim, SystemError> {
                self.inner.claim(paths).await
            }

            async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError> {
                let started = self.plan.through(self.inner.spawn(command), || broken(&any_path())).await?;
                Ok(Box::new(FaultyProcess { inner: started, plan: self.plan.clone() }))
            }

            async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
                self.inner.spawn_piped(command).await
            }

            fn routes(&self) -> Routes {
                self.inner.routes()
            }
        }
    };
}

failing! {
    read(path: &AbsPath) -> Vec<u8>;
    read_text(path: &AbsPath, range: Option<TextRange>) -> String;
    write(path: &AbsPath, bytes: &[u8]) -> ();
    replace_text(path: &AbsPath, was: Option<&str>, text: &str) -> ();
    metadata(path: &AbsPath) -> Metadata;
    read_dir(path: &AbsPath) -> Vec<Entry>;
    create_dir_all(path: &AbsPath) -> ();
    remove(path: &AbsPath) -> ();
    rename(from: &AbsPath, to: &AbsPath) -> ();
    resolve(path: &AbsPath) -> AbsPath;
    walk(root: &AbsPath, options: WalkOptions) -> Vec<AbsPath>;
    read_text_on_disk(path: &AbsPath) -> Option<String>;
}

/// A process whose output ends early, or whose exit is not reported.
struct FaultyProcess {
    inner: Box<dyn Process>,
    plan: Arc<Plan>,
}

#[async_trait]
impl Process for FaultyProcess {
    fn terminal(&self) -> Option<&TerminalId> {
        self.inner.terminal()
    }

    async fn next_output(&mut self) -> Option<Output> {
        let lost = || ();
        let next = async { self.inner.next_output().await.ok_or(()) };
        self.plan.through(next, lost).await.ok()
    }

    async fn wait(&mut self) -> Result<ExitStatus, SystemError> {
        self.plan.through(self.inner.wait(), || broken(&any_path())).await
    }

    /// Always returns, as the interface requires.
    async fn kill(&mut self) {
        self.inner.kill().await;
    }
}
