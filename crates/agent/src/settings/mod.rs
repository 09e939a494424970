//! The current settings of sessions. A session keeps no copy of its own: it follows the settings of
//! its directory and reads them before each decision.

pub(crate) mod options;

use crate::{Models, NetworkRule, RuntimeOptions, SessionId, Severity};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use system::AbsPath;

/// The source of the settings of every directory.
#[async_trait]
pub trait Settings: Send + Sync {
    /// Returns the settings of a session that would begin in a directory now; `None` means the
    /// directory that the process was started in.
    ///
    /// # Errors
    ///
    /// The message says what is wrong with the settings, and where.
    async fn of(&self, folder: Option<&AbsPath>) -> Result<Arc<RuntimeOptions>, String>;

    /// Follows the settings of a directory for one of its sessions, as long as the result lives.
    ///
    /// # Errors
    ///
    /// Fails as [`Settings::of`] does.
    async fn follow(
        &self,
        session: &SessionId,
        folder: &AbsPath,
    ) -> Result<Arc<dyn FollowedSettings>, String>;
}

/// The settings of one session.
#[async_trait]
pub trait FollowedSettings: Send + Sync {
    /// Returns the current settings. Called before each decision, so it must be fast, and return
    /// the same `Arc`, if nothing has changed. Unreadable or invalid settings change nothing.
    async fn now(&self) -> Arc<RuntimeOptions>;

    /// Returns the news about the settings since the last call, for the session's user.
    fn notices(&self) -> Vec<SettingsNotice>;

    /// Returns the models of the session, if they differ from the runtime's.
    fn models(&self) -> Option<Arc<dyn Models>> {
        None
    }

    /// Returns the rules of the session's user; `None` if answers of the user do not change them.
    fn user_rules(&self) -> Option<&dyn UserRules> {
        None
    }
}

/// The rules in a user's settings.
#[async_trait]
pub trait UserRules: Send + Sync {
    /// Adds a rule that allows hosts. It applies from the next decision on.
    ///
    /// # Errors
    ///
    /// The message says why the settings cannot be changed, and where they are.
    async fn allow(&self, rule: &NetworkRule) -> Result<(), String>;
}

/// News about the settings of a running session, for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsNotice {
    /// How severe it is.
    pub severity: Severity,
    /// What happened, in one line.
    pub title: String,
    /// Details.
    pub description: Option<String>,
}

/// Settings that never change.
pub(crate) struct FixedSettings(pub(crate) Arc<RuntimeOptions>);

#[async_trait]
impl Settings for FixedSettings {
    async fn of(&self, _folder: Option<&AbsPath>) -> Result<Arc<RuntimeOptions>, String> {
        Ok(self.0.clone())
    }

    async fn follow(
        &self,
        _session: &SessionId,
        _folder: &AbsPath,
    ) -> Result<Arc<dyn FollowedSettings>, String> {
        Ok(Arc::new(Self(self.0.clone())))
    }
}

#[async_trait]
impl FollowedSettings for FixedSettings {
    async fn now(&self) -> Arc<RuntimeOptions> {
        self.0.clone()
    }

    fn notices(&self) -> Vec<SettingsNotice> {
        Vec::new()
    }
}

/// A session's settings, with the values last loaded.
pub(crate) struct LiveSettings {
    followed: Arc<dyn FollowedSettings>,
    seen: Mutex<Arc<RuntimeOptions>>,
}

impl LiveSettings {
    pub(crate) async fn new(followed: Arc<dyn FollowedSettings>) -> Self {
        let now = followed.now().await;
        Self { followed, seen: Mutex::new(now) }
    }

    /// Returns the values last loaded. Call [`LiveSettings::reload`] before a decision.
    pub(crate) fn seen(&self) -> Arc<RuntimeOptions> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reloads and returns the settings.
    pub(crate) async fn reload(&self) -> Arc<RuntimeOptions> {
        let now = self.followed.now().await;
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&now);
        now
    }

    /// Returns the news for the user.
    pub(crate) fn notices(&self) -> Vec<SettingsNotice> {
        self.followed.notices()
    }

    pub(crate) fn models(&self) -> Option<Arc<dyn Models>> {
        self.followed.models()
    }

    pub(crate) fn user_rules(&self) -> Option<&dyn UserRules> {
        self.followed.user_rules()
    }
}
