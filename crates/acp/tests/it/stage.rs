//! The test fixture: an editor, an agent and a small project.

use acp::{
    AcpOptions, AfterEnd, Link, OnDisconnect,
    testing::{Editor, EditorScript},
};
use agent::{
    PermissionMode, Runtime, RuntimeOptions, SessionStart, SessionStore,
    fake::{FakeModel, FakeModels, MemoryStore, Reply},
};
use std::{sync::Arc, time::Duration};
use system::{AbsPath, FakeSystem};

/// A transport whose turns go on without the client.
struct Detached;

impl Link for Detached {
    fn after_end(&self, _wanted: Option<OnDisconnect>) -> AfterEnd {
        AfterEnd::GoOn(Duration::from_secs(60))
    }
}

/// The parts of a test.
pub(crate) struct Stage {
    pub(crate) editor: Editor,
    pub(crate) disk: Arc<FakeSystem>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) model: Arc<FakeModel>,
    runtime: Arc<Runtime>,
    options: AcpOptions,
}

impl Stage {
    /// Connects another editor to the same runtime.
    pub(crate) fn join(&self, script: EditorScript) -> Editor {
        crate::transport::connect(self.runtime.clone(), self.options.clone(), script.over(self.disk.clone()))
    }
}

/// Creates an agent in the permission mode Argus, where every change needs approval, over the
/// project `/w` with `a.txt`.
pub(crate) fn stage(script: EditorScript, replies: impl IntoIterator<Item = Reply>) -> Stage {
    stage_with(Arc::default(), script, replies, |_| {})
}

/// As [`stage`], over an existing store, with changed options.
pub(crate) fn stage_with(
    store: Arc<MemoryStore>,
    script: EditorScript,
    replies: impl IntoIterator<Item = Reply>,
    change: impl FnOnce(&mut AcpOptions),
) -> Stage {
    stage_on(FakeModel::new(replies), store, script, change)
}

/// As [`stage`], over a transport whose turns go on without the client.
pub(crate) fn detached(script: EditorScript, replies: impl IntoIterator<Item = Reply>) -> Stage {
    stage_with(Arc::default(), script, replies, |options| options.link = Arc::new(Detached))
}

/// As [`stage_with`], on a given model.
pub(crate) fn stage_on(
    model: Arc<FakeModel>,
    store: Arc<MemoryStore>,
    script: EditorScript,
    change: impl FnOnce(&mut AcpOptions),
) -> Stage {
    let disk = FakeSystem::new();
    disk.add_file("/w/a.txt", "one\ntwo\n");
    let disk = Arc::new(disk);
    let options = RuntimeOptions {
        start: SessionStart { permission_mode: PermissionMode::Argus, ..SessionStart::default() },
        ..RuntimeOptions::default()
    };
    let runtime =
        Runtime::new(store.clone() as Arc<dyn SessionStore>, Arc::new(FakeModels(model.clone())), options);
    let mut options = AcpOptions::new(disk.clone(), "0.1.0", AbsPath::new("/w").expect("an absolute path"));
    change(&mut options);
    let editor = crate::transport::connect(runtime.clone(), options.clone(), script.over(disk.clone()));
    Stage { editor, disk, store, model, runtime, options }
}
