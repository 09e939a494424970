//! The settings of sessions as they are now. A session keeps no copy of its own: it follows its
//! folder's, and reads them at each decision.

pub(crate) mod options;

use crate::{Models, RuntimeOptions, SessionId, Severity};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use system::AbsPath;

/// The source of the settings of every folder.
#[async_trait]
pub trait Settings: Send + Sync {
    /// What holds now for a session that would begin in a folder; of the folder that the process
    /// was started in when there is none. The error says what is wrong with the settings, and
    /// where.
    async fn of(&self, folder: Option<&AbsPath>) -> Result<Arc<RuntimeOptions>, String>;

    /// Follows the settings of a folder for a session of it, for as long as the result lives. Fails
    /// as [`Settings::of`] does.
    async fn follow(
        &self,
        session: &SessionId,
        folder: &AbsPath,
    ) -> Result<Arc<dyn FollowedSettings>, String>;
}

/// The settings of one session.
#[async_trait]
pub trait FollowedSettings: Send + Sync {
    /// What holds now. Asked before each decision, so it is fast where nothing has changed, and the
    /// same `Arc` then. Settings that cannot be read, or are wrong, change nothing.
    async fn now(&self) -> Arc<RuntimeOptions>;

    /// What is to be told to the session's user about the settings since this was last asked.
    fn news(&self) -> Vec<SettingsNews>;

    /// The models of the session, where they are not the runtime's.
    fn models(&self) -> Option<Arc<dyn Models>> {
        None
    }
}

/// Something about the settings of a running session that its user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsNews {
    /// How much it matters.
    pub severity: Severity,
    /// What has happened, in one line.
    pub title: String,
    /// More of it.
    pub description: Option<String>,
}

/// Settings that never change.
pub(crate) struct Fixed(pub(crate) Arc<RuntimeOptions>);

#[async_trait]
impl Settings for Fixed {
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
impl FollowedSettings for Fixed {
    async fn now(&self) -> Arc<RuntimeOptions> {
        self.0.clone()
    }

    fn news(&self) -> Vec<SettingsNews> {
        Vec::new()
    }
}

/// A session's settings, and how they were when they were last looked at.
pub(crate) struct Live {
    followed: Arc<dyn FollowedSettings>,
    seen: Mutex<Arc<RuntimeOptions>>,
}

impl Live {
    pub(crate) async fn new(followed: Arc<dyn FollowedSettings>) -> Self {
        let now = followed.now().await;
        Self { followed, seen: Mutex::new(now) }
    }

    /// As they were at the last look. Look again before a decision.
    pub(crate) fn seen(&self) -> Arc<RuntimeOptions> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks at them.
    pub(crate) async fn look(&self) -> Arc<RuntimeOptions> {
        let now = self.followed.now().await;
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&now);
        now
    }

    /// What is to be told of them.
    pub(crate) fn news(&self) -> Vec<SettingsNews> {
        self.followed.news()
    }

    pub(crate) fn models(&self) -> Option<Arc<dyn Models>> {
        self.followed.models()
    }
}
