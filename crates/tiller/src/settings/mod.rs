//! The owner of the settings: resolves the layers of a directory from the current files.
//!
//! Sessions follow the settings of their own directories ([`Follower`]) and read them at each
//! decision. No other part of the program keeps a copy on which to decide.

mod files;
mod follower;
mod line;
mod models;

pub(crate) use follower::Follower;
pub(crate) use line::run;

use crate::{
    config::{self, Flags, InForce, Layers, Past, ProjectLayer, Resolved, SettingsFile, Value},
    environment::Environment,
    folders,
    keys::StoredKeys,
    options::{Folders, Options},
    trust, wiring,
};
use agent::{FollowedSettings, ItemKind, RuntimeOptions, SessionId};
use anyhow::Result;
use async_trait::async_trait;
use files::Files;
use providers::Catalog;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use system::AbsPath;

/// The settings of every directory, for one process.
pub(crate) struct Settings {
    environment: Environment,
    folders: Folders,
    flags: Flags,
    /// The working directory of the process.
    start: AbsPath,
    /// The values that the user set in projects' files through this program, by directory and name.
    said: Mutex<HashMap<AbsPath, BTreeMap<String, Value>>>,
    followers: Mutex<Vec<Weak<Follower>>>,
    /// The last snapshot of each directory, as long as a session uses it.
    shared: Mutex<HashMap<AbsPath, Weak<Snapshot>>>,
    /// The model catalogues by their provider settings: first that of the process, then those of
    /// sessions
    /// with other settings.
    catalogs: Mutex<Vec<(models::Reach, Arc<Catalog>)>>,
    /// The number of changes through this program.
    changes: AtomicU64,
}

/// The resolved settings of a directory at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) options: Options,
    /// The part that sessions use for decisions.
    pub(crate) session: Arc<RuntimeOptions>,
    /// The settings that were ignored, with the reasons.
    pub(crate) notices: Vec<String>,
    /// The settings of the files.
    pub(crate) in_force: Vec<InForce>,
}

impl Snapshot {
    /// Whether both have the same content.
    fn is_like(&self, other: &Self) -> bool {
        self.options == other.options && self.notices == other.notices && self.in_force == other.in_force
    }
}

/// Whether each hook of a project, by name, was trusted before in this session. If such a hook
/// changes, it denies.
pub(crate) type CountedOn = BTreeMap<String, Arc<AtomicBool>>;

impl Settings {
    /// Creates the settings of a process with this working directory, these variables and these
    /// flags.
    /// Reads no file.
    pub(crate) fn new(environment: &Environment, start: &AbsPath, flags: Flags) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            environment: environment.clone(),
            folders: folders::resolve(environment, start)?,
            flags,
            start: start.clone(),
            said: Mutex::default(),
            followers: Mutex::default(),
            shared: Mutex::default(),
            catalogs: Mutex::default(),
            changes: AtomicU64::default(),
        }))
    }

    /// Reads the current settings of a directory.
    ///
    /// # Errors
    /// If they are invalid; the message names the place.
    pub(crate) async fn read(&self, folder: &AbsPath) -> Result<Snapshot> {
        let files = Files::read(&self.folders, folder).await?;
        self.lay(folder, &files, &Past::default(), &mut CountedOn::new()).await
    }

    /// Resolves the settings of a directory without files: defaults, variables and flags.
    pub(crate) async fn without_files(&self, folder: &AbsPath) -> Result<Snapshot> {
        self.lay(folder, &Files::default(), &Past::default(), &mut CountedOn::new()).await
    }

    /// Returns the defaults, which are enough to write a settings file, even over an invalid one.
    pub(crate) fn built_in(&self) -> Options {
        Options::built_in(self.folders.clone())
    }

    /// Returns the settings of an open session.
    pub(crate) fn of_session(&self, session: &SessionId) -> Option<Arc<Follower>> {
        let followers = self.followers();
        followers.iter().rev().filter_map(Weak::upgrade).find(|follower| follower.is_of(session))
    }

    /// Records that the user set a value in a project's file through this program. It applies to
    /// running
    /// sessions, even if other items of that file wait for trust.
    pub(crate) async fn set_in_project(&self, folder: &AbsPath, name: &str, value: Value) {
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(folder.clone())
            .or_default()
            .insert(name.to_owned(), value);
        let followers: Vec<_> = self.followers().iter().filter_map(Weak::upgrade).collect();
        for follower in followers.iter().filter(|follower| follower.is_in(folder)) {
            follower.forget(name).await;
        }
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Resolves the layers.
    async fn lay(
        &self,
        folder: &AbsPath,
        files: &Files,
        past: &Past,
        counted_on: &mut CountedOn,
    ) -> Result<Snapshot> {
        let project = match &files.project {
            Some(file) => Some(self.project(folder, file.clone()).await),
            None => None,
        };
        // Unreadable keys are not an error here; they are missing when a model is used.
        let (keys, unread) = match StoredKeys::read(&self.folders) {
            Ok(keys) => (keys, None),
            Err(error) => (StoredKeys::default(), Some(error)),
        };
        let layers = Layers {
            folders: self.folders.clone(),
            user: files.user.clone(),
            past,
            project,
            environment: &self.environment,
            keys: &keys,
            flags: self.flags.clone(),
        };
        let Resolved { options, mut notices, in_force } = config::resolve(layers)?;
        notices.extend(files.refused.clone());
        notices.extend(unread.map(|error| {
            format!("{error}; no stored key is known until it is mended: correct it, or move it away and run `tiller setup`")
        }));
        self.environment.redactor().learn(options.keys());
        let session = Arc::new(wiring::sessions(&options, folder, counted_on));
        Ok(Snapshot { options, session, notices, in_force })
    }

    /// Shares one snapshot among all sessions of a directory with the same settings.
    fn share(&self, folder: &AbsPath, snapshot: Snapshot, counted_on: &CountedOn) -> Arc<Snapshot> {
        // Project hooks depend on what their session has trusted, so such snapshots are not shared.
        if !counted_on.is_empty() {
            return Arc::new(snapshot);
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = shared.get(folder).and_then(Weak::upgrade)
            && same.is_like(&snapshot)
        {
            return same;
        }
        let snapshot = Arc::new(snapshot);
        shared.retain(|_, used| used.strong_count() > 0);
        shared.insert(folder.clone(), Arc::downgrade(&snapshot));
        snapshot
    }

    /// Returns the project's settings with their trust, which is judged on the very text that was
    /// read.
    async fn project(&self, folder: &AbsPath, file: SettingsFile) -> ProjectLayer {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).get(folder).cloned();
        let said = said.unwrap_or_default();
        let mut layer = ProjectLayer { distrust: None, said, waiting: BTreeMap::new(), file };
        let items = config::trust_items(&layer.file, &self.folders).unwrap_or_else(|error| {
            layer.distrust = Some(error.to_string());
            Vec::new()
        });
        for judged in trust::folder_trust(&self.folders).judge(folder, items).await {
            let Some(why) = judged.state.problem() else { continue };
            match judged.item.kind {
                ItemKind::Hook => drop(layer.waiting.insert(judged.item.name, why)),
                ItemKind::Settings | ItemKind::Server => layer.distrust = Some(why),
            }
        }
        layer
    }

    fn followers(&self) -> MutexGuard<'_, Vec<Weak<Follower>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Formats an error without its secrets.
    fn shown(&self, error: &anyhow::Error) -> String {
        self.environment.redactor().shown(&format!("{error:#}"))
    }
}

/// Implements [`agent::Settings`] for [`Settings`].
pub(crate) struct OfFolders(pub(crate) Arc<Settings>);

#[async_trait]
impl agent::Settings for OfFolders {
    async fn of(&self, folder: Option<&AbsPath>) -> Result<Arc<RuntimeOptions>, String> {
        let snapshot = self.0.read(folder.unwrap_or(&self.0.start)).await;
        let snapshot = snapshot.map_err(|error| self.0.shown(&error))?;
        if folder.is_none_or(|folder| *folder == self.0.start) {
            self.0.renew_models(&snapshot.options);
        }
        Ok(snapshot.session)
    }

    async fn follow(
        &self,
        session: &SessionId,
        folder: &AbsPath,
    ) -> Result<Arc<dyn FollowedSettings>, String> {
        let follower = Follower::new(self.0.clone(), session, folder).await;
        let follower = follower.map_err(|error| self.0.shown(&error))?;
        if *folder == self.0.start {
            self.0.renew_models(&follower.seen().options);
        }
        let follower = Arc::new_cyclic(|own| follower.with_models(own.clone()));
        let mut followers = self.0.followers();
        followers.retain(|known| known.strong_count() > 0);
        followers.push(Arc::downgrade(&follower));
        Ok(follower)
    }
}
