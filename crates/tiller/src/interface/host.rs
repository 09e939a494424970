//! What the terminal interface needs of this program: the user's files, settings and programs.

use super::{
    appearance, clipboard, history,
    remembered::{self, Remembered},
    settings::{self, InterfaceFlags},
};
use crate::{
    args::SettingsTo,
    environment::Environment,
    images, limits,
    opening::{Opening, OpeningError},
    options::Options,
    providers,
    redacting_writer::RedactingWriter,
    secrets::Values,
    sessions::transfer,
    settings::Settings,
    settings_commands::SettingsContext,
    setup::{self, FirstSetup},
    themes, wiring,
};
use agent::{IMAGE_BYTES, ImageFault, Runtime, SessionId, Surface};
use async_trait::async_trait;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use system::{AbsPath, LocalSystem, System, TemporaryDirectory, WalkOptions};
use tui::{
    composer::Entry,
    driver::{
        host::{Clip, Host, OpenError, Opened},
        reply::{Attachment, SetupChoice},
    },
    settings::{ListedTheme, SettingsRead},
};

/// The program around the interface.
pub(super) struct TerminalHost {
    pub(super) options: Options,
    pub(super) followed: Followed,
    pub(super) environment: Environment,
    pub(super) cwd: AbsPath,
    pub(super) system: Arc<dyn System>,
    pub(super) runtime: Arc<Runtime>,
    /// The first session, and its id if it is stored.
    pub(super) opening: Opening,
    pub(super) stored: Option<SessionId>,
    /// The model that the user took, where none was set up.
    pub(super) taken: Mutex<Option<String>>,
}

/// The settings, which the interface reads again while it runs.
pub(super) struct Followed {
    pub(super) settings: Arc<Settings>,
    pub(super) flags: InterfaceFlags,
    /// Whether prompts are kept, by the settings as they were read last.
    pub(super) keeps_history: AtomicBool,
}

impl TerminalHost {
    fn keeps_history(&self) -> bool {
        self.followed.keeps_history.load(Ordering::Relaxed)
    }

    /// Formats an error for the user, without its secrets.
    fn shown(&self, error: &anyhow::Error) -> String {
        self.environment.redactor().shown(&format!("{error:#}"))
    }

    /// Performs a part of the set-up with the settings as they are now.
    async fn with_setup<T>(&self, part: impl AsyncFnOnce(FirstSetup<'_>) -> T) -> Result<T, String> {
        let snapshot = self.followed.settings.read(&self.cwd).await.map_err(|error| format!("{error:#}"))?;
        let setup = FirstSetup { options: &snapshot.options, environment: &self.environment, cwd: &self.cwd };
        Ok(part(setup).await)
    }

    fn path(&self, given: &str) -> Result<AbsPath, String> {
        let of_address = agent::file_uri_path(given);
        let given = of_address.as_deref().unwrap_or(given);
        let path = match (given.strip_prefix("~/"), self.environment.get("HOME")) {
            (Some(rest), Some(home)) => std::path::Path::new(home).join(rest),
            _ => given.into(),
        };
        crate::environment::absolute(&self.cwd, &path).map_err(|error| format!("{error:#}"))
    }
}

#[async_trait]
impl Host for TerminalHost {
    fn system(&self) -> Arc<dyn System> {
        Arc::clone(&self.system)
    }

    fn cwd(&self) -> &AbsPath {
        &self.cwd
    }

    async fn open_first(
        &self,
        chosen: Option<SessionId>,
        take_over: bool,
        surface: Surface,
    ) -> Result<Opened, OpenError> {
        let stored = chosen.or_else(|| self.stored.clone());
        let new = stored.is_none();
        let mut opening = self.opening.clone();
        opening.take_over |= take_over;
        if let Some(model) = self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            opening.overrides.model = Some(model);
        }
        match opening.open(&self.runtime, &self.cwd, stored, surface).await {
            Ok(session) => Ok(Opened { session, new }),
            Err(OpeningError::Held { id, holder, .. }) => Err(OpenError::Held { id, holder }),
            Err(OpeningError::NoModel) => Err(OpenError::NoModel),
            Err(error) => Err(OpenError::Failed(format!("{:#}", error.into_failure()))),
        }
    }

    async fn setup_choices(&self) -> Vec<SetupChoice> {
        match self.with_setup(async |setup| setup.setup_choices().await).await {
            Ok(choices) => choices,
            Err(problem) => {
                tracing::warn!("the settings cannot be used: {problem}");
                Vec::new()
            }
        }
    }

    async fn setup_choices_of(&self, provider: &str) -> Result<Vec<SetupChoice>, String> {
        self.with_setup(async |setup| setup.models_of(provider).await).await?
    }

    async fn take_model(&self, id: &str) -> Result<String, String> {
        let done = self.with_setup(async |setup| setup.choose(id).await).await??;
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.to_owned());
        Ok(done)
    }

    async fn set_up(&self) -> Result<(), String> {
        let Some(command) = wiring::command(&["setup"]) else {
            return Err("this program cannot start itself; run `tiller setup`".to_owned());
        };
        match system::run_in_foreground(&command) {
            Ok(true) => Ok(()),
            Ok(false) => Err("nothing was set up".to_owned()),
            Err(error) => Err(format!("`tiller setup` did not start: {error}")),
        }
    }

    async fn files(&self, folder: &AbsPath) -> Result<Vec<String>, String> {
        let options = WalkOptions { limit: limits::COMPLETED_FILES, include_ignored: false };
        let files = self.system.walk(folder, options).await.map_err(|error| error.to_string())?;
        let prefix = format!("{}/", folder.as_str().trim_end_matches('/'));
        let relative = |file: AbsPath| file.as_str().strip_prefix(&prefix).map(str::to_owned);
        Ok(files.into_iter().filter_map(relative).collect())
    }

    async fn history(&self) -> Result<Vec<(Entry, bool)>, String> {
        match self.keeps_history() {
            true => history::lines(&self.options, &self.cwd).await,
            false => Ok(Vec::new()),
        }
    }

    async fn remember(&self, entry: Entry) -> Result<(), String> {
        match self.keeps_history() {
            true => history::add(&self.options, &self.cwd, entry).await,
            false => Ok(()),
        }
    }

    async fn keep_scope(&self, everywhere: bool) -> Result<(), String> {
        remembered::keep(&self.options, Remembered { everywhere }).await
    }

    async fn clipboard(&self) -> Result<Clip, String> {
        clipboard::read(self.system.as_ref(), &self.environment, &self.cwd).await
    }

    async fn copy(&self, text: &str) -> bool {
        clipboard::write(self.system.as_ref(), &self.environment, &self.cwd, text).await
    }

    async fn image(&self, path: &str) -> Result<Attachment, String> {
        let path = self.path(path)?;
        let size = self.system.metadata(&path).await.map_err(|error| error.to_string())?.size;
        let unsent = |fault: ImageFault| format!("{path} cannot be attached: {fault}");
        if size > IMAGE_BYTES as u64 {
            return Err(unsent(ImageFault::TooLarge));
        }
        let bytes = self.system.read(&path).await.map_err(|error| error.to_string())?;
        images::recognised(&bytes).map_err(unsent)
    }

    async fn export(&self, session: &SessionId, path: &str) -> Result<String, String> {
        let path = self.path(path)?;
        if self.system.metadata(&path).await.is_ok() {
            return Err(format!("{path} exists already; choose another name"));
        }
        let mut text = Vec::new();
        let mut out = RedactingWriter::data(&mut text, self.environment.redactor().clone());
        let written = transfer::as_markdown(&self.runtime, session, &mut out).await;
        drop(out);
        written.map_err(|error| self.shown(&error))?;
        self.system.write(&path, &text).await.map_err(|error| error.to_string())?;
        Ok(path.to_string())
    }

    async fn key_sources(&self) -> HashMap<String, String> {
        let system = Arc::clone(&self.system);
        let values = Values::new(self.environment.clone(), system, &self.options.directories);
        // Without the file of secrets, the variables are still known.
        let stores = values.stores().await.unwrap_or_default();
        let custom = self.options.providers.custom.keys().map(String::as_str);
        let source = |name: &str| {
            let provider = providers::provider(&self.options, name)?;
            let source = providers::key_source(name, provider, &self.environment, &stores)?;
            Some((name.to_owned(), source.name().to_owned()))
        };
        ["openai", "anthropic", "gemini"].into_iter().chain(custom).filter_map(source).collect()
    }

    async fn set_default_model(&self, id: &str) -> Result<String, String> {
        let file = crate::config::user_path(&self.options.directories);
        let value = serde_json::Value::from(id);
        setup::store_setting(&self.options, &file, "agent.default_model", &value)
            .await
            .map_err(|error| error.to_string())?;
        Ok(format!("{id} is now the model of new sessions (agent.default_model in {file})"))
    }

    async fn settings(&self) -> Result<SettingsRead, String> {
        let Followed { settings, flags, keeps_history } = &self.followed;
        let snapshot = settings.read(&self.cwd).await.map_err(|error| self.shown(&error))?;
        let options = appearance::of(&snapshot.options, &self.environment, *flags, &self.cwd).await;
        let (options, _) = options.map_err(|error| self.shown(&error))?;
        keeps_history.store(snapshot.options.client.interface.switches.history, Ordering::Relaxed);
        Ok(SettingsRead { settings: settings::all(&snapshot, &self.environment, *flags), options })
    }

    async fn change_setting(&self, name: &str, value: Option<&[String]>) -> Result<String, String> {
        // The list has no others, and the interface's are the only ones that it can put in force.
        if !name.starts_with("ui.") {
            return Err(format!("{name} is no setting of the interface; write tiller settings set {name}"));
        }
        let context = SettingsContext {
            settings: &self.followed.settings,
            environment: &self.environment,
            cwd: &self.cwd,
        };
        let to = SettingsTo::default();
        let done = match value {
            Some(words) => context.set(name, words, &to).await,
            None => context.unset(name, &to).await,
        };
        let done = done.map_err(|error| self.shown(&error))?;
        Ok(done.text().split_whitespace().collect::<Vec<_>>().join(" "))
    }

    async fn themes(&self) -> Result<Vec<ListedTheme>, String> {
        themes::all(&self.options.directories).await
    }

    async fn edit(&self, text: &str) -> Result<String, String> {
        let message = |error: &dyn std::fmt::Display| format!("the editor cannot be used: {error}");
        let directory = TemporaryDirectory::new().map_err(|error| message(&error))?;
        let file = AbsPath::from_os(directory.path()).map_err(|error| message(&error))?.join("message.md");
        let local = LocalSystem::new();
        local.write_private(&file, text.as_bytes()).await.map_err(|error| message(&error))?;
        let named = self.environment.get("VISUAL").or_else(|| self.environment.get("EDITOR"));
        let mut command: Vec<String> = named.unwrap_or("vi").split_whitespace().map(str::to_owned).collect();
        command.push(file.to_string());
        match system::run_in_foreground(&command) {
            Ok(true) => {
                let bytes = local.read(&file).await.map_err(|error| message(&error))?;
                let text = String::from_utf8(bytes);
                text.map_err(|_| "the saved text is not UTF-8; the draft is unchanged".to_owned())
            }
            Ok(false) => Err(format!("the editor {} reported a failure; the draft is unchanged", command[0])),
            Err(error) => {
                Err(format!("the editor {} did not start ({error}); set VISUAL or EDITOR", command[0]))
            }
        }
    }
}
