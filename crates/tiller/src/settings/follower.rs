//! The settings of one session, which follow their files.

use super::{
    Settings, Snapshot, TrustedHooks,
    files::{Files, Stamps},
    models::SessionModels,
};
use crate::config::{EffectiveSetting, ProjectHistory};
use agent::{
    FollowedSettings, Models, NetworkRule, RuntimeOptions, SessionId, SettingsNotice, Severity, UserRules,
};
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
    directory: AbsPath,
    state: tokio::sync::Mutex<State>,
    last_snapshot: Mutex<Arc<Snapshot>>,
    news: Mutex<Vec<SettingsNotice>>,
    models: Option<Arc<dyn Models>>,
    /// Whether rules that the session's user allows are added to the user's file.
    keeps_rules: bool,
}

/// The state of the last check.
struct State {
    /// The stamps of the files from before they were read; `None` if a later change might not alter
    /// them.
    stamps: Option<Stamps>,
    changes: u64,
    /// The last valid files.
    files: Files,
    past: ProjectHistory,
    trusted_hooks: TrustedHooks,
    /// The problem with the files that was reported last.
    problem: Option<String>,
    /// The settings that were reported as kept although the project's file no longer has them.
    kept: BTreeSet<String>,
}

impl Follower {
    /// Starts to follow. Invalid settings at the start are an error.
    pub(super) async fn new(
        settings: Arc<Settings>,
        session: &SessionId,
        directory: &AbsPath,
        keeps_rules: bool,
    ) -> Result<Self> {
        let changes = settings.changes.load(Ordering::Relaxed);
        let stamps = Stamps::now(&settings.places, directory);
        let files = Files::read(&settings.places, directory).await?;
        let (mut past, mut trusted_hooks) = (ProjectHistory::default(), TrustedHooks::new());
        let snapshot = settings.merge_layers(directory, &files, &past, &mut trusted_hooks).await?;
        past.remember(files.project.as_ref(), &snapshot.options)?;
        let snapshot = settings.shared_snapshot(directory, snapshot, &trusted_hooks);
        let stamps = Some(stamps).filter(Stamps::are_settled);
        let (problem, kept) = (None, BTreeSet::new());
        let state = State { stamps, changes, files, past, trusted_hooks, problem, kept };
        Ok(Self {
            settings,
            session: session.clone(),
            directory: directory.clone(),
            state: tokio::sync::Mutex::new(state),
            last_snapshot: Mutex::new(snapshot),
            news: Mutex::default(),
            models: None,
            keeps_rules,
        })
    }

    /// Adds models that follow the settings too.
    pub(super) fn with_models(mut self, own: Weak<Self>) -> Self {
        let catalog = self.settings.catalog(&self.last_snapshot().options);
        let models = SessionModels { settings: self.settings.clone(), follower: own, catalog };
        self.models = Some(Arc::new(models));
        self
    }

    /// Whether it belongs to that session.
    pub(super) fn is_of(&self, session: &SessionId) -> bool {
        self.session == *session
    }

    /// Whether its session is in that directory.
    pub(super) fn is_in(&self, directory: &AbsPath) -> bool {
        self.directory == *directory
    }

    /// Forgets a setting of the project because the user removed it or set it anew.
    pub(super) async fn forget(&self, name: &str) {
        self.state.lock().await.past.forget(name);
    }

    /// Returns the snapshot of the last check.
    pub(crate) fn last_snapshot(&self) -> Arc<Snapshot> {
        self.last_snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the current snapshot. Without changes this costs the stamps of the files.
    pub(crate) async fn refresh(&self) -> Arc<Snapshot> {
        let mut state = self.state.lock().await;
        let changes = self.settings.changes.load(Ordering::Relaxed);
        let stamps = Stamps::now(&self.settings.places, &self.directory);
        if state.changes == changes && state.stamps.as_ref() == Some(&stamps) {
            return self.last_snapshot();
        }
        let problem = self.reload(&mut state).await.err().map(|error| self.settings.redacted(&error));
        if let Some(problem) = problem.clone().filter(|problem| state.problem.as_ref() != Some(problem)) {
            let title = "The settings are invalid; the previous ones stay in effect";
            self.notify(Severity::Warning, title.to_owned(), Some(problem));
        }
        state.problem = problem;
        state.changes = changes;
        state.stamps = Some(stamps).filter(Stamps::are_settled);
        self.last_snapshot()
    }

    /// Reads the files and updates the state. An invalid file is an error, but the other file still
    /// applies.
    async fn reload(&self, state: &mut State) -> Result<()> {
        let State { past, trusted_hooks, files, kept, .. } = state;
        let (read, problem) = Files::read_after(&self.settings.places, &self.directory, files).await;
        let snapshot = self.settings.merge_layers(&self.directory, &read, past, trusted_hooks).await?;
        let mut more = past.clone();
        more.remember(read.project.as_ref(), &snapshot.options)?;
        ensure!(
            !more.is_full(),
            "the settings of the project have changed too often in this session; reopen it to use them"
        );
        let still = more.kept(read.project.as_ref());
        (*past, *files) = (more, read);
        let before = self.last_snapshot();
        let mut changed: BTreeSet<String> =
            before.changed_names(&snapshot).difference(&still).cloned().collect();
        // The interface has its own, which are no session's.
        changed.retain(|name| !name.starts_with("ui."));
        if !changed.is_empty() {
            let title = "Settings changed and now apply".to_owned();
            self.notify(Severity::Info, title, Some(list(&changed)));
        }
        if let fresh = still.difference(kept).cloned().collect::<BTreeSet<_>>()
            && !fresh.is_empty()
        {
            let title =
                "The project's file has become less strict; this session keeps its restrictions".to_owned();
            let what = format!("{}. Reopen the session to use the file as it is.", list(&fresh));
            self.notify(Severity::Info, title, Some(what));
        }
        *kept = still;
        if before.options != snapshot.options || before.effective != snapshot.effective {
            let snapshot = self.settings.shared_snapshot(&self.directory, snapshot, trusted_hooks);
            *self.last_snapshot.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
        }
        problem.map_or(Ok(()), Err)
    }

    fn notify(&self, severity: Severity, title: String, description: Option<String>) {
        let news = SettingsNotice { severity, title, description };
        self.news.lock().unwrap_or_else(PoisonError::into_inner).push(news);
    }
}

impl Snapshot {
    /// Returns the names of settings that differ between two snapshots.
    fn changed_names(&self, other: &Self) -> BTreeSet<String> {
        let lone = |these: &[EffectiveSetting], those: &[EffectiveSetting]| -> Vec<String> {
            let known = |this: &EffectiveSetting| {
                those.iter().any(|that| (&that.name, &that.value) == (&this.name, &this.value))
            };
            these.iter().filter(|this| !known(this)).map(|this| this.name.clone()).collect()
        };
        let (before, after) = (&self.effective, &other.effective);
        lone(before, after).into_iter().chain(lone(after, before)).collect()
    }
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[async_trait]
impl FollowedSettings for Follower {
    async fn now(&self) -> Arc<RuntimeOptions> {
        self.refresh().await.session.clone()
    }

    fn notices(&self) -> Vec<SettingsNotice> {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn models(&self) -> Option<Arc<dyn Models>> {
        self.models.clone()
    }

    fn user_rules(&self) -> Option<&dyn UserRules> {
        self.keeps_rules.then_some(self)
    }
}

#[async_trait]
impl UserRules for Follower {
    async fn allow(&self, rule: &NetworkRule) -> Result<(), String> {
        self.settings.allow(&rule.to_string()).await.map_err(|error| self.settings.redacted(&error))
    }
}
