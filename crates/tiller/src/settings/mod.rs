//! The owner of the settings: resolves the layers of a directory from the current files.
//!
//! Sessions follow the settings of their own directories ([`Follower`]) and read them at each
//! decision. No other part of the program keeps a copy on which to decide.

mod files;
mod follower;
mod models;

pub(crate) use follower::Follower;

use crate::{
    config::{
        self, EffectiveSetting, Flags, Layers, ProjectHistory, ProjectLayer, Resolved, SettingsFile, Value,
    },
    directories,
    environment::Environment,
    memory,
    options::{Directories, Options, Providers, ServedUser},
    secrets::Keyring,
    setup,
    stored_keys::StoredKeys,
    trust,
    wiring::{self, TrustedHooks},
};
use agent::{FollowedSettings, ItemKind, RuntimeOptions, SessionId};
use anyhow::Result;
use async_trait::async_trait;
use files::{FilePlaces, Files};
use providers::Catalog;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};
use system::{AbsPath, LocalSystem};

/// The settings of every directory, for one process.
pub(crate) struct Settings {
    environment: Environment,
    places: FilePlaces,
    /// The user of a server whose settings these are.
    served: Option<Arc<ServedUser>>,
    keyring: Keyring,
    flags: Flags,
    /// The working directory of the process.
    start: AbsPath,
    /// The values that the user set in projects' files through this program, by directory and name.
    user_set: Mutex<HashMap<AbsPath, BTreeMap<String, Value>>>,
    followers: Mutex<Vec<Weak<Follower>>>,
    /// The last snapshot of each directory, as long as a session uses it.
    shared: Mutex<HashMap<AbsPath, Weak<Snapshot>>>,
    /// The model catalogues by their provider settings: first that of the process, then those of
    /// sessions
    /// with other settings.
    catalogs: Mutex<Vec<(Providers, Arc<Catalog>)>>,
    /// The number of changes through this program.
    changes: AtomicU64,
    /// Serialises changes of the user's file by answers.
    writing: tokio::sync::Mutex<()>,
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
    pub(crate) effective: Vec<EffectiveSetting>,
}

impl Snapshot {
    /// Whether both have the same content.
    fn has_same_content(&self, other: &Self) -> bool {
        self.options == other.options && self.notices == other.notices && self.effective == other.effective
    }
}

impl Settings {
    /// Creates the settings of a process with this working directory, these variables and these
    /// flags.
    /// Reads no file.
    pub(crate) fn new(environment: &Environment, start: &AbsPath, flags: Flags) -> Result<Arc<Self>> {
        let directories = directories::resolve(environment, start)?;
        Ok(Self::with(environment, FilePlaces { directories, server: None }, None, start, flags))
    }

    /// Creates the settings of a user of a server: the server's file and flags apply, below and
    /// above those of the user.
    pub(crate) fn of_served_user(
        &self,
        environment: &Environment,
        directories: Directories,
        served: Arc<ServedUser>,
        start: &AbsPath,
    ) -> Arc<Self> {
        let places = FilePlaces { directories, server: Some(served.server.clone()) };
        Self::with(environment, places, Some(served), start, self.flags.clone())
    }

    fn with(
        environment: &Environment,
        places: FilePlaces,
        served: Option<Arc<ServedUser>>,
        start: &AbsPath,
        flags: Flags,
    ) -> Arc<Self> {
        Arc::new(Self {
            environment: environment.clone(),
            places,
            served,
            keyring: Keyring::new(environment, Arc::new(LocalSystem::new())),
            flags,
            start: start.clone(),
            user_set: Mutex::default(),
            followers: Mutex::default(),
            shared: Mutex::default(),
            catalogs: Mutex::default(),
            changes: AtomicU64::default(),
            writing: tokio::sync::Mutex::default(),
        })
    }

    /// Reads the current settings of a directory.
    ///
    /// # Errors
    /// If they are invalid; the message names the place.
    pub(crate) async fn read(&self, directory: &AbsPath) -> Result<Snapshot> {
        let files = Files::read(&self.places, directory).await?;
        self.merge_layers(directory, &files, &ProjectHistory::default(), &mut TrustedHooks::new()).await
    }

    /// Reads the current settings of a directory. If they are invalid, returns those without files,
    /// and the problem without its secrets.
    ///
    /// # Errors
    /// If variables or flags are invalid, too.
    pub(crate) async fn read_or_defaults(&self, directory: &AbsPath) -> Result<(Snapshot, Option<String>)> {
        match self.read(directory).await {
            Ok(snapshot) => Ok((snapshot, None)),
            Err(error) => Ok((self.without_files(directory).await?, Some(self.redacted(&error)))),
        }
    }

    /// Returns the settings of a directory as they would be with a changed file.
    ///
    /// # Errors
    /// If they would be invalid; the message names the place.
    pub(crate) async fn preview(&self, directory: &AbsPath, changed: &SettingsFile) -> Result<Snapshot> {
        config::check(changed, &self.places.directories)?;
        let (mut files, _other_problem) = Files::read_after(&self.places, directory, &Files::default()).await;
        match changed.path == config::user_path(&self.places.directories) {
            true => files.user = Some(changed.clone()),
            false => files.project = Some(changed.clone()),
        }
        self.merge_layers(directory, &files, &ProjectHistory::default(), &mut TrustedHooks::new()).await
    }

    /// Like [`Self::read_or_defaults`] for the working directory of the process. Valid settings
    /// apply to the models of the process.
    pub(crate) async fn refresh(&self) -> Result<(Snapshot, Option<String>)> {
        let (snapshot, problem) = self.read_or_defaults(&self.start).await?;
        if problem.is_none() {
            self.update_models(&snapshot.options);
        }
        Ok((snapshot, problem))
    }

    /// Resolves the settings of a directory without files: defaults, variables and flags.
    async fn without_files(&self, directory: &AbsPath) -> Result<Snapshot> {
        self.merge_layers(directory, &Files::default(), &ProjectHistory::default(), &mut TrustedHooks::new())
            .await
    }

    /// Returns the defaults, which are enough to write a settings file, even over an invalid one.
    pub(crate) fn built_in(&self) -> Options {
        Options::built_in(self.places.directories.clone())
    }

    /// Returns the directories of the program and of the user.
    pub(crate) fn directories(&self) -> &Directories {
        &self.places.directories
    }

    /// Returns the working directory of the process.
    pub(crate) fn start(&self) -> &AbsPath {
        &self.start
    }

    /// Returns the settings of an open session.
    pub(crate) fn of_session(&self, session: &SessionId) -> Option<Arc<Follower>> {
        let followers = self.followers();
        followers.iter().rev().filter_map(Weak::upgrade).find(|follower| follower.is_of(session))
    }

    /// Records that the user set a value in a project's file through this program. It applies to
    /// running
    /// sessions, even if other items of that file wait for trust.
    pub(crate) async fn set_in_project(&self, directory: &AbsPath, name: &str, value: Value) {
        self.user_set
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(directory.clone())
            .or_default()
            .insert(name.to_owned(), value);
        let followers: Vec<_> = self.followers().iter().filter_map(Weak::upgrade).collect();
        for follower in followers.iter().filter(|follower| follower.is_in(directory)) {
            follower.forget(name).await;
        }
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds a rule to `permissions.allow` in the user's file.
    async fn allow(&self, rule: &str) -> Result<()> {
        let _one_at_a_time = self.writing.lock().await;
        let path = config::user_path(&self.places.directories);
        setup::add_to_list(&self.built_in(), &path, "permissions.allow", rule).await?;
        self.changes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Resolves the layers.
    async fn merge_layers(
        &self,
        directory: &AbsPath,
        files: &Files,
        past: &ProjectHistory,
        trusted_hooks: &mut TrustedHooks,
    ) -> Result<Snapshot> {
        let project = match &files.project {
            Some(file) => Some(self.project(directory, file.clone()).await),
            None => None,
        };
        // Unreadable keys are not an error here; they are missing when a model is used.
        let (keys, unread) = match StoredKeys::read(&self.places.directories, &self.keyring).await {
            Ok(keys) => (keys, None),
            Err(error) => (StoredKeys::default(), Some(error)),
        };
        let layers = Layers {
            directories: self.places.directories.clone(),
            served: self.served.clone(),
            server: files.server.clone(),
            user: files.user.clone(),
            past,
            project,
            environment: &self.environment,
            keys: &keys,
            flags: self.flags.clone(),
        };
        let Resolved { mut options, mut notices, effective } = config::resolve(layers)?;
        memory::find_project(&mut options, directory).await;
        notices.extend(files.refused.clone());
        notices.extend(unread.map(|error| {
            format!("{error}; no stored key is available until it is repaired: correct it, or move it away and run `tiller setup`")
        }));
        notices.extend(keys.missing().iter().map(|why| {
            format!("{why}; store it in the file instead: `tiller secrets set NAME --store file`")
        }));
        self.environment.redactor().learn(options.keys());
        let mut session = wiring::sessions(&options, directory, trusted_hooks);
        session.prompt.memories.redactor = self.environment.redactor().clone();
        let session = Arc::new(session);
        Ok(Snapshot { options, session, notices, effective })
    }

    /// Shares one snapshot among all sessions of a directory with the same settings.
    fn shared_snapshot(
        &self,
        directory: &AbsPath,
        snapshot: Snapshot,
        trusted_hooks: &TrustedHooks,
    ) -> Arc<Snapshot> {
        // Project hooks depend on what their session has trusted, so such snapshots are not shared.
        if !trusted_hooks.is_empty() {
            return Arc::new(snapshot);
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = shared.get(directory).and_then(Weak::upgrade)
            && same.has_same_content(&snapshot)
        {
            return same;
        }
        let snapshot = Arc::new(snapshot);
        shared.retain(|_, used| used.strong_count() > 0);
        shared.insert(directory.clone(), Arc::downgrade(&snapshot));
        snapshot
    }

    /// Returns the project's settings with their trust, which is judged on the very text that was
    /// read.
    async fn project(&self, directory: &AbsPath, file: SettingsFile) -> ProjectLayer {
        let user_set = self.user_set.lock().unwrap_or_else(PoisonError::into_inner).get(directory).cloned();
        let user_set = user_set.unwrap_or_default();
        let mut layer = ProjectLayer { distrust: None, user_set, untrusted_hooks: BTreeMap::new(), file };
        let items = config::trust_items(&layer.file, &self.places.directories).unwrap_or_else(|error| {
            layer.distrust = Some(error.to_string());
            Vec::new()
        });
        for judged in trust::directory_trust(&self.places.directories).check(directory, items).await {
            let Some(why) = judged.state.problem() else { continue };
            match judged.item.kind {
                ItemKind::Hook => drop(layer.untrusted_hooks.insert(judged.item.name, why)),
                ItemKind::Settings | ItemKind::Server | ItemKind::Skill | ItemKind::Command => {
                    layer.distrust = Some(why)
                }
            }
        }
        layer
    }

    fn followers(&self) -> MutexGuard<'_, Vec<Weak<Follower>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Formats an error without its secrets.
    fn redacted(&self, error: &anyhow::Error) -> String {
        self.environment.redactor().shown(&format!("{error:#}"))
    }
}

/// Implements [`agent::Settings`] for [`Settings`].
pub(crate) struct DirectorySettings {
    pub(crate) settings: Arc<Settings>,
    /// Whether rules that a session's user allows are added to the user's file.
    pub(crate) keeps_rules: bool,
}

#[async_trait]
impl agent::Settings for DirectorySettings {
    async fn of(&self, directory: Option<&AbsPath>) -> Result<Arc<RuntimeOptions>, String> {
        let snapshot = self.settings.read(directory.unwrap_or(&self.settings.start)).await;
        let snapshot = snapshot.map_err(|error| self.settings.redacted(&error))?;
        if directory.is_none_or(|directory| *directory == self.settings.start) {
            self.settings.update_models(&snapshot.options);
        }
        Ok(snapshot.session)
    }

    async fn follow(
        &self,
        session: &SessionId,
        directory: &AbsPath,
    ) -> Result<Arc<dyn FollowedSettings>, String> {
        let follower = Follower::new(self.settings.clone(), session, directory, self.keeps_rules).await;
        let follower = follower.map_err(|error| self.settings.redacted(&error))?;
        if *directory == self.settings.start {
            self.settings.update_models(&follower.last_snapshot().options);
        }
        let follower = Arc::new_cyclic(|own| follower.with_models(own.clone()));
        let mut followers = self.settings.followers();
        followers.retain(|known| known.strong_count() > 0);
        followers.push(Arc::downgrade(&follower));
        Ok(follower)
    }
}
