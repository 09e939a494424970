//! The session that a command line asks for: a new one, or one that continues, with what flags
//! change of it. Headless runs and the interface open it in the same way.

use crate::{
    answer::{Console, Failure, Kind},
    question, sessions,
};
use agent::{
    CreateSession, LeaseHolder, OpenSession, Runtime, SessionError, SessionHandle, SessionId, SessionRecord,
    StoreError, Surface,
};
use std::sync::Arc;
use system::{AbsPath, LocalSystem};

/// The reason why nothing was opened without a model. The pilot runs a prompt only if it was chosen
/// explicitly: it understands few prompts, and would report success without doing anything.
const NO_MODEL: &str = "no model is set up, so no request was sent. Run `tiller setup`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a model \
                        server on this machine (Ollama, llama.cpp, LM Studio, vLLM). `tiller models` lists what can be chosen, and \
                        `-m offline/pilot` uses the built-in pilot, which is not a language model.";

/// A session to open.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    pub(crate) choice: SessionChoice,
    /// Whether to take a continued session over from another process that holds its lease.
    pub(crate) take_over: bool,
    /// Whether to continue in a copy of the session.
    pub(crate) fork: bool,
    /// Further directories of the session.
    pub(crate) directories: Vec<AbsPath>,
    /// What flags set; it applies to a continued session too.
    pub(crate) overrides: Overrides,
    /// Whether to fail where no language model is set up, rather than to use the pilot.
    pub(crate) needs_model: bool,
    /// Whether the first prompt brings images, which the model must take.
    pub(crate) has_images: bool,
}

/// Which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionChoice {
    /// A new one.
    New,
    /// The most recent one of the directory.
    Last,
    /// The one with this id, or whose id begins with it.
    This(SessionId),
}

/// The flags that change a continued session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<agent::Mode>,
    pub(crate) permission_mode: Option<agent::PermissionMode>,
    pub(crate) effort: Option<agent::Effort>,
}

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpeningError {
    /// No model is set up.
    #[error("{NO_MODEL}")]
    NoModel,
    /// Another process holds the session.
    #[error("{message}")]
    Held {
        /// The session.
        id: SessionId,
        /// Who holds it, and what to do.
        message: String,
        /// The process.
        holder: LeaseHolder,
    },
    /// Anything else.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

impl From<SessionError> for OpeningError {
    fn from(error: SessionError) -> Self {
        Self::Other(error.into())
    }
}

impl OpeningError {
    /// Returns the failure of a command, with what to do next.
    pub(crate) fn into_failure(self) -> anyhow::Error {
        match self {
            Self::NoModel => {
                Failure::new(Kind::Config, NO_MODEL).next("tiller setup").next("tiller models").into()
            }
            Self::Held { message, .. } => Failure::new(Kind::Busy, format!("{message} with --take-over"))
                .hint("--fork continues in a copy instead")
                .into(),
            Self::Other(error) => error,
        }
    }
}

impl Opening {
    /// Returns the id of the stored session to open; `None` for a new one.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) async fn find(
        &self,
        runtime: &Runtime,
        cwd: &AbsPath,
    ) -> Result<Option<SessionId>, anyhow::Error> {
        match &self.choice {
            SessionChoice::New => Ok(None),
            SessionChoice::This(id) => {
                sessions::resolve_session_id(runtime, id.as_str(), cwd).await.map(Some)
            }
            SessionChoice::Last => {
                if let Some(last) = sessions::last_of_folder(runtime, cwd).await? {
                    return Ok(Some(last));
                }
                let failure = Failure::new(Kind::NotFound, format!("no session to continue in {cwd}"));
                Err(sessions::with_gone(failure, runtime, &LocalSystem::new(), cwd).await.into())
            }
        }
    }

    /// Asks whether a session whose folder does not exist any more moves to `cwd`, and moves it.
    /// Does nothing where nothing can be asked.
    ///
    /// # Errors
    /// If it was not moved: the answer was no, or it is in use.
    pub(crate) async fn rebind(
        &self,
        runtime: &Runtime,
        console: &Console,
        cwd: &AbsPath,
        stored: Option<&SessionId>,
    ) -> Result<(), anyhow::Error> {
        let Some(id) = stored.filter(|_| console.may_ask() && !self.fork) else { return Ok(()) };
        let Ok(record) = runtime.record(id).await else { return Ok(()) };
        let system = LocalSystem::new();
        let Some(failure) = sessions::gone(&system, &record, self.moving(&record), cwd).await else {
            return Ok(());
        };
        let what = if self.choice == SessionChoice::Last { "the sessions of this folder" } else { "it" };
        let question = format!("{failure}. Move {what} to {cwd}, and continue it there? [y/N] ");
        match question::ask(&question, |line| Ok(matches!(line.to_lowercase().as_str(), "y" | "yes")))? {
            true if self.choice == SessionChoice::Last => {
                sessions::move_folder(runtime, &record.cwd, cwd).await.map(drop)
            }
            true => Ok(runtime.move_session(id, cwd).await?),
            false => Err(failure.into()),
        }
    }

    /// Returns what moves if the session's folder was moved: the session if it was named, otherwise
    /// all sessions of the folder.
    fn moving<'a>(&self, record: &'a SessionRecord) -> &'a str {
        match self.choice {
            SessionChoice::Last => record.cwd.as_str(),
            _ => record.id.as_str(),
        }
    }

    /// Opens the session that [`Self::find`] returned, with a model that takes what the prompt
    /// brings; `cwd` is the directory of a new one.
    ///
    /// # Errors
    /// If no model is set up or it takes no images, another process holds the session, or there is
    /// no such session.
    pub(crate) async fn open(
        &self,
        runtime: &Arc<Runtime>,
        cwd: &AbsPath,
        stored: Option<SessionId>,
        surface: Surface,
    ) -> Result<SessionHandle, OpeningError> {
        if self.has_images {
            self.check_images(runtime, cwd, stored.as_ref()).await?;
        }
        let Some(id) = stored else {
            return self.create(runtime, cwd, surface).await;
        };
        if let Ok(record) = runtime.record(&id).await
            && let Some(failure) =
                sessions::gone(surface.system.as_ref(), &record, self.moving(&record), cwd).await
        {
            return Err(OpeningError::Other(failure.into()));
        }
        let opened = match self.fork {
            true => {
                let record = sessions::record(runtime, &id).await?;
                let directories = match self.directories.is_empty() {
                    true => record.additional_directories,
                    false => self.directories.clone(),
                };
                let new = CreateSession {
                    cwd: record.cwd,
                    additional_directories: directories,
                    servers: Vec::new(),
                };
                runtime.fork(&id, new, |_| surface).await
            }
            false => {
                let more = (!self.directories.is_empty()).then(|| self.directories.clone());
                let how = OpenSession {
                    take_over: self.take_over,
                    additional_directories: more,
                    ..OpenSession::default()
                };
                runtime.open(&id, how, |_| surface).await
            }
        };
        let session = match opened {
            Ok(session) => session,
            Err(SessionError::Store(StoreError::NotFound(_))) => {
                return Err(sessions::not_found(runtime, &id).await.into());
            }
            Err(SessionError::Store(StoreError::Held { session, holder })) => {
                let message =
                    StoreError::Held { session: session.clone(), holder: holder.clone() }.to_string();
                return Err(OpeningError::Held { id: session, message, holder });
            }
            Err(error) => return Err(error.into()),
        };
        self.change(runtime, cwd, &session).await?;
        Ok(session)
    }

    async fn check_images(
        &self,
        runtime: &Runtime,
        cwd: &AbsPath,
        stored: Option<&SessionId>,
    ) -> Result<(), OpeningError> {
        let model = match (&self.overrides.model, stored) {
            (Some(model), _) => model.clone(),
            (None, Some(id)) => sessions::record(runtime, id).await?.controls.model,
            (None, None) => runtime.default_model_in(Some(cwd)).await,
        };
        let Some(refusal) = runtime.refuses_images(&model).await else { return Ok(()) };
        let failure = Failure::new(Kind::Usage, refusal).hint("--model names another model");
        Err(OpeningError::Other(failure.next("tiller models").into()))
    }

    async fn create(
        &self,
        runtime: &Arc<Runtime>,
        cwd: &AbsPath,
        surface: Surface,
    ) -> Result<SessionHandle, OpeningError> {
        if self.needs_model && self.overrides.model.is_none() && runtime.is_unconfigured(cwd).await {
            return Err(OpeningError::NoModel);
        }
        let new = CreateSession {
            cwd: cwd.clone(),
            additional_directories: self.directories.clone(),
            servers: Vec::new(),
        };
        let session = runtime.create(new, |_| surface).await?;
        // A model that was chosen after the start is no setting of the process.
        if let Some(model) = self.overrides.model.as_ref().filter(|model| **model != session.state().model) {
            session.set_model(model).await?;
        }
        // The other flags are settings of the process, with which every new session begins.
        if let Some(effort) = self.overrides.effort {
            session.set_effort(Some(effort)).await?;
        }
        Ok(session)
    }

    /// Applies the flags to a session that continues.
    async fn change(
        &self,
        runtime: &Runtime,
        cwd: &AbsPath,
        session: &SessionHandle,
    ) -> Result<(), OpeningError> {
        let Overrides { model, mode, permission_mode, effort } = &self.overrides;
        if self.needs_model
            && model.is_none()
            && session.state().model == providers::pilot::ID
            && runtime.is_unconfigured(cwd).await
        {
            return Err(OpeningError::NoModel);
        }
        if let Some(model) = model {
            session.set_model(model).await?;
        }
        if let Some(mode) = mode {
            session.set_mode(*mode).await?;
        }
        if let Some(mode) = permission_mode {
            session.set_permission_mode(*mode).await?;
        }
        if let Some(effort) = effort {
            session.set_effort(Some(*effort)).await?;
        }
        Ok(())
    }
}
