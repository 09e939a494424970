//! The one owner of settings: it lays the layers of a folder over each other, for whoever asks, as
//! their files are at that moment.
//!
//! Sessions follow the settings of their own folders ([`Follower`]) and read them at each decision.
//! Nothing else of the program keeps a copy to decide by.

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

/// The settings of every folder, as one process sees them.
pub(crate) struct Settings {
    environment: Environment,
    folders: Folders,
    flags: Flags,
    /// The folder that the process was started in.
    start: AbsPath,
    /// What the user has set in projects' files through this program, by folder and name.
    said: Mutex<HashMap<AbsPath, BTreeMap<String, Value>>>,
    followers: Mutex<Vec<Weak<Follower>>>,
    /// The last snapshot of each folder, as long as a session uses it.
    shared: Mutex<HashMap<AbsPath, Weak<Snapshot>>>,
    /// How models are reached: first those of the process, then those of sessions that reach them
    /// otherwise.
    catalogs: Mutex<Vec<(models::Reach, Arc<Catalog>)>>,
    /// How often something was set through this program.
    changes: AtomicU64,
}

/// What the settings of a folder come to at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) options: Options,
    /// What of it sessions decide by.
    pub(crate) session: Arc<RuntimeOptions>,
    /// What was ignored, and why.
    pub(crate) notices: Vec<String>,
    /// What the files set.
    pub(crate) in_force: Vec<InForce>,
}

impl Snapshot {
    /// Whether both are made of the same settings.
    fn is_like(&self, other: &Self) -> bool {
        self.options == other.options && self.notices == other.notices && self.in_force == other.in_force
    }
}

/// Whether each hook of a project, by name, was trusted before in a session: one that was and is
/// another now denies.
pub(crate) type CountedOn = BTreeMap<String, Arc<AtomicBool>>;

impl Settings {
    /// The settings of a process that was started in a folder with these variables and flags. Reads
    /// no file.
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

    /// What the settings of a folder come to now. What is wrong with them is an error that says
    /// where.
    pub(crate) async fn read(&self, folder: &AbsPath) -> Result<Snapshot> {
        let files = Files::read(&self.folders, folder).await?;
        self.lay(folder, &files, &Past::default(), &mut CountedOn::new()).await
    }

    /// What the settings of a folder come to without any file: built-in values, variables and flags.
    pub(crate) async fn without_files(&self, folder: &AbsPath) -> Result<Snapshot> {
        self.lay(folder, &Files::default(), &Past::default(), &mut CountedOn::new()).await
    }

    /// What holds where no file says anything: enough to write one, right or wrong as it is.
    pub(crate) fn built_in(&self) -> Options {
        Options::built_in(self.folders.clone())
    }

    /// The settings of an open session.
    pub(crate) fn of_session(&self, session: &SessionId) -> Option<Arc<Follower>> {
        let followers = self.followers();
        followers.iter().rev().filter_map(Weak::upgrade).find(|follower| follower.is_of(session))
    }

    /// The user has set something, through this program, in the file of the project in a folder. It
    /// counts for what is running too, and whatever of the file waits for trust.
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

    /// Lays the layers over each other.
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
        // Keys that cannot be read are missed where a model is asked, and end nothing before.
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

    /// One snapshot for all sessions of a folder whose settings are the same.
    fn share(&self, folder: &AbsPath, snapshot: Snapshot, counted_on: &CountedOn) -> Arc<Snapshot> {
        // A hook of a project is judged by what its session has trusted.
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

    /// The project's settings, and what of them may do more than tighten: what was judged is what
    /// is read.
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

    /// An error without secrets.
    fn shown(&self, error: &anyhow::Error) -> String {
        self.environment.redactor().shown(&format!("{error:#}"))
    }
}

/// [`Settings`], for the runtime.
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
