//! The settings of one session, which follow their files.

use super::{
    CountedOn, Settings, Snapshot,
    files::{Files, Stamps},
    models::OfSession,
};
use crate::config::{InForce, Past};
use agent::{FollowedSettings, Models, RuntimeOptions, SessionId, SettingsNews, Severity};
use anyhow::{Result, ensure};
use async_trait::async_trait;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError, Weak, atomic::Ordering},
};
use system::AbsPath;

/// Follows the settings of a session's directory.
///
/// The user's own file applies as it is. The project's file applies where it tightens and where it
/// is trusted; what it has forbidden since the session began stays forbidden.
pub(crate) struct Follower {
    settings: Arc<Settings>,
    session: SessionId,
    folder: AbsPath,
    state: tokio::sync::Mutex<State>,
    seen: Mutex<Arc<Snapshot>>,
    news: Mutex<Vec<SettingsNews>>,
    models: Option<Arc<dyn Models>>,
}

/// The state of the last check.
struct State {
    /// The stamps of the files from before they were read; `None` if a later change might not alter
    /// them.
    stamps: Option<Stamps>,
    changes: u64,
    /// The last valid files.
    files: Files,
    past: Past,
    counted_on: CountedOn,
    /// The problem with the files that was reported last.
    problem: Option<String>,
    /// The settings that were reported as kept although the project's file no longer has them.
    kept: BTreeSet<String>,
}

impl Follower {
    /// Starts to follow. Invalid settings at the start are an error.
    pub(super) async fn new(settings: Arc<Settings>, session: &SessionId, folder: &AbsPath) -> Result<Self> {
        let changes = settings.changes.load(Ordering::Relaxed);
        let stamps = Stamps::now(&settings.folders, folder);
        let files = Files::read(&settings.folders, folder).await?;
        let (mut past, mut counted_on) = (Past::default(), CountedOn::new());
        let snapshot = settings.lay(folder, &files, &past, &mut counted_on).await?;
        past.remember(files.project.as_ref(), &snapshot.options)?;
        let snapshot = settings.share(folder, snapshot, &counted_on);
        let stamps = Some(stamps).filter(Stamps::are_settled);
        let (problem, kept) = (None, BTreeSet::new());
        let state = State { stamps, changes, files, past, counted_on, problem, kept };
        Ok(Self {
            settings,
            session: session.clone(),
            folder: folder.clone(),
            state: tokio::sync::Mutex::new(state),
            seen: Mutex::new(snapshot),
            news: Mutex::default(),
            models: None,
        })
    }

    /// Adds models that follow the settings too.
    pub(super) fn with_models(mut self, own: Weak<Self>) -> Self {
        let catalog = self.settings.catalog(&self.seen().options);
        let models = OfSession { settings: self.settings.clone(), follower: own, catalog };
        self.models = Some(Arc::new(models));
        self
    }

    /// Whether it belongs to that session.
    pub(super) fn is_of(&self, session: &SessionId) -> bool {
        self.session == *session
    }

    /// Whether its session is in that directory.
    pub(super) fn is_in(&self, folder: &AbsPath) -> bool {
        self.folder == *folder
    }

    /// Forgets a setting of the project because the user removed it or set it anew.
    pub(super) async fn forget(&self, name: &str) {
        self.state.lock().await.past.forget(name);
    }

    /// Returns the snapshot of the last check.
    pub(crate) fn seen(&self) -> Arc<Snapshot> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the current snapshot. Without changes this costs the stamps of four files.
    pub(crate) async fn look(&self) -> Arc<Snapshot> {
        let mut state = self.state.lock().await;
        let changes = self.settings.changes.load(Ordering::Relaxed);
        let stamps = Stamps::now(&self.settings.folders, &self.folder);
        if state.changes == changes && state.stamps.as_ref() == Some(&stamps) {
            return self.seen();
        }
        let problem = self.read_anew(&mut state).await.err().map(|error| self.settings.shown(&error));
        if let Some(problem) = problem.clone().filter(|problem| state.problem.as_ref() != Some(problem)) {
            let title = "The settings cannot be used as they are; what held before goes on to hold";
            self.tell(Severity::Warning, title.to_owned(), Some(problem));
        }
        state.problem = problem;
        state.changes = changes;
        state.stamps = Some(stamps).filter(Stamps::are_settled);
        self.seen()
    }

    /// Reads the files and updates the state. An invalid file is an error, but the other file still
    /// applies.
    async fn read_anew(&self, state: &mut State) -> Result<()> {
        let State { past, counted_on, files, kept, .. } = state;
        let (read, problem) = Files::read_after(&self.settings.folders, &self.folder, files).await;
        let snapshot = self.settings.lay(&self.folder, &read, past, counted_on).await?;
        let mut more = past.clone();
        more.remember(read.project.as_ref(), &snapshot.options)?;
        ensure!(
            !more.is_full(),
            "the settings of the project have changed too often in this session; open it anew to use them"
        );
        let still = more.kept(read.project.as_ref());
        (*past, *files) = (more, read);
        let before = self.seen();
        let changed: BTreeSet<String> = before.differing(&snapshot).difference(&still).cloned().collect();
        if !changed.is_empty() {
            let title = "Settings have changed, and hold from now on".to_owned();
            self.tell(Severity::Info, title, Some(list(&changed)));
        }
        if let fresh = still.difference(kept).cloned().collect::<BTreeSet<_>>()
            && !fresh.is_empty()
        {
            let title = "The project's file has become looser; this session keeps what it forbade".to_owned();
            let what = format!("{}. Open the session anew to have it as the file says.", list(&fresh));
            self.tell(Severity::Info, title, Some(what));
        }
        *kept = still;
        if before.options != snapshot.options || before.in_force != snapshot.in_force {
            let snapshot = self.settings.share(&self.folder, snapshot, counted_on);
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
        }
        problem.map_or(Ok(()), Err)
    }

    fn tell(&self, severity: Severity, title: String, description: Option<String>) {
        let news = SettingsNews { severity, title, description };
        self.news.lock().unwrap_or_else(PoisonError::into_inner).push(news);
    }
}

impl Snapshot {
    /// Returns the names of settings that differ between two snapshots.
    fn differing(&self, other: &Self) -> BTreeSet<String> {
        let lone = |these: &[InForce], those: &[InForce]| -> Vec<String> {
            let known = |this: &InForce| {
                those.iter().any(|that| (&that.name, &that.value) == (&this.name, &this.value))
            };
            these.iter().filter(|this| !known(this)).map(|this| this.name.clone()).collect()
        };
        let (before, after) = (&self.in_force, &other.in_force);
        lone(before, after).into_iter().chain(lone(after, before)).collect()
    }
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[async_trait]
impl FollowedSettings for Follower {
    async fn now(&self) -> Arc<RuntimeOptions> {
        self.look().await.session.clone()
    }

    fn news(&self) -> Vec<SettingsNews> {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn models(&self) -> Option<Arc<dyn Models>> {
        self.models.clone()
    }
}
