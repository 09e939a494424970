//! `tiller memory`: shows and changes memories.

mod edit;
mod form;
mod project;
pub(crate) mod rows;
mod transfer;

pub(crate) use project::find_project;

use crate::{
    answer::Console,
    args::{MemoryCommand, MemoryFilter},
    environment::Environment,
    exit::Exit,
    options::Options,
    redacting_writer::RedactingWriter,
    screen, streams,
};
use agent::{
    Expiry, MEMORIES_LISTED, MEMORIES_RECALLED_BYTES, Memories, Memory, MemoryAuthor, MemoryChange,
    MemoryDraft, MemoryId, MemoryOptions, MemoryQuery, MemoryScope, ProjectMemories, Redactor, Runtime,
    Stored,
};
use anyhow::{Context as _, Result, bail};
use std::{
    io::{BufRead as _, IsTerminal as _, Read as _, Write as _},
    sync::Arc,
};
use system::AbsPath;

/// The memories of the store, as the user of a directory sees them.
pub(crate) struct Store {
    memories: Arc<dyn Memories>,
    options: MemoryOptions,
    directory: AbsPath,
}

/// Runs the command.
pub(crate) async fn run(
    console: &Console,
    runtime: &Runtime,
    options: &Options,
    environment: &Environment,
    directory: &AbsPath,
    command: MemoryCommand,
) -> Result<Exit> {
    let json = console.is_json();
    let store = Store::new(runtime, options, environment.redactor(), directory)?;
    let mut stdout = screen::stdout();
    match command {
        MemoryCommand::List { filter, prompt: None } => {
            let found = store.find(&filter, String::new()).await?;
            if found.is_empty() && !json {
                console.note("No memories are stored; `tiller memory add` creates one.");
            }
            print(&found, filter.all, json, environment.redactor())?;
        }
        MemoryCommand::List { prompt: Some(prompt), .. } => match store.recalled(&prompt, options).await? {
            Some(text) => writeln!(stdout, "{text}")?,
            None => console.note("A new session here is sent no memories."),
        },
        MemoryCommand::Show { id } => {
            let memory = store.get(id).await?;
            match json {
                true => print(&[memory], true, true, environment.redactor())?,
                false => writeln!(stdout, "{}", rows::full(&memory))?,
            }
        }
        MemoryCommand::Search { words, filter } => {
            let found = store.find(&filter, words.join(" ")).await?;
            if found.is_empty() && !json {
                console.note("Nothing was found. Each word must occur, whole or as its beginning.");
            }
            print(&found, filter.all, json, environment.redactor())?;
        }
        MemoryCommand::Add { title, content, kind, class, pin, expires_days } => {
            let content = match content.as_str() {
                "-" => text_of_stdin()?,
                _ => content,
            };
            let draft = MemoryDraft {
                kind: Some(kind),
                class: Some(class),
                title: Some(title),
                content: Some(content),
                pinned: Some(pin),
                expires_days,
                ..MemoryDraft::default()
            };
            let memory = store.here().save(draft, MemoryAuthor::User).await?;
            writeln!(stdout, "{}", rows::done("Saved", &memory))?;
        }
        MemoryCommand::Edit { id } => edit::run(&store, environment, id).await?,
        MemoryCommand::Pin { id } => writeln!(stdout, "{}", store.pin(id, true).await?)?,
        MemoryCommand::Unpin { id } => writeln!(stdout, "{}", store.pin(id, false).await?)?,
        MemoryCommand::Forget { ids } => {
            for id in ids {
                let memory = store.get(id).await?;
                store.memories.forget(id).await?;
                writeln!(stdout, "{}", rows::done("Forgot", &memory))?;
            }
        }
        MemoryCommand::Export { all } => {
            let filter = MemoryFilter { all, expired: true, ..MemoryFilter::default() };
            let mut stdout = RedactingWriter::new(streams::stdout(), environment.redactor().clone());
            transfer::export(&store.find(&filter, String::new()).await?, &mut stdout)?;
        }
        MemoryCommand::Import { file, here } => {
            transfer::import(&store, directory, &file, here, &mut stdout).await?;
        }
        MemoryCommand::Trust { revoke, yes } => store.trust(options, revoke, yes).await?,
    }
    Ok(Exit::Ok)
}

impl Store {
    /// Opens the memories for a directory.
    ///
    /// # Errors
    /// If the store keeps none.
    pub(crate) fn new(
        runtime: &Runtime,
        options: &Options,
        redactor: &Redactor,
        directory: &AbsPath,
    ) -> Result<Self> {
        let memories = runtime.memories().context("this store keeps no memories")?;
        let redactor = redactor.clone();
        // The user manages memories even where sessions do not use them.
        let options =
            MemoryOptions { enabled: true, redactor, ..options.session.prompt.memories.clone().into() };
        Ok(Self { memories, options, directory: directory.clone() })
    }

    /// Returns the memories that are visible in the directory.
    pub(crate) fn here(&self) -> ProjectMemories {
        self.of_project(None)
    }

    /// Returns the memories that are visible in a project, or in the directory.
    fn of_project(&self, project: Option<&AbsPath>) -> ProjectMemories {
        let project = project.cloned().or_else(|| self.options.project.clone());
        let options = MemoryOptions { project, ..self.options.clone() };
        ProjectMemories::new(Arc::clone(&self.memories), &self.directory, options)
    }

    /// Returns a memory of any project.
    async fn get(&self, id: MemoryId) -> Result<Memory> {
        self.memories.get(id).await?.ok_or_else(|| rows::unknown(id))
    }

    async fn find(&self, filter: &MemoryFilter, text: String) -> Result<Vec<Memory>> {
        let scope = if filter.all { MemoryScope::All } else { self.here().scope() };
        let MemoryFilter { kind, class, expired, limit, .. } = *filter;
        let limit = limit.unwrap_or(MEMORIES_LISTED);
        let query = MemoryQuery { scope, kind, class, text, any_word: false, expired, limit };
        Ok(self.memories.find(query).await?)
    }

    /// Returns what a new session of the directory would be sent with a prompt.
    async fn recalled(&self, prompt: &str, options: &Options) -> Result<Option<String>> {
        if !options.session.prompt.memories.enabled {
            return Ok(None);
        }
        let recalled = self.here().recall(prompt, MEMORIES_RECALLED_BYTES).await?;
        Ok(recalled.map(|recalled| recalled.text))
    }

    async fn pin(&self, id: MemoryId, pinned: bool) -> Result<String> {
        let memory = self.get(id).await?;
        let note = Some(agent::MemoryNote { pinned, ..memory.note });
        self.memories.change(id, MemoryChange { note, ..MemoryChange::default() }).await?;
        Ok(rows::done(if pinned { "Pinned" } else { "Unpinned" }, &self.get(id).await?))
    }

    /// Replaces a memory of any project by an edited form.
    async fn replace(&self, memory: &Memory, form: &form::Form) -> Result<Memory> {
        let expires_days = transfer::days_until(form.expires)?;
        let draft = MemoryDraft { expires_days: None, ..transfer::draft(form) };
        let note = draft.complete(&self.options.redactor)?;
        let project = transfer::project_of(form, memory.project.as_ref(), || self.here().project().clone());
        // An unchanged day leaves the hour as it is.
        let unchanged = memory.times.expires_at.map(rows::day) == form.expires.map(|day| day.to_string());
        let expiry = (!unchanged).then(|| expires_days.map_or(Expiry::Never, Expiry::Days));
        let change = MemoryChange { note: Some(note), project: Some(project), expiry };
        match self.memories.change(memory.id, change).await? {
            Some(Stored::Done(memory)) => Ok(memory),
            Some(Stored::Duplicate(existing)) => {
                bail!("memory {} has the same title or content", existing.headline())
            }
            Some(Stored::Full(limit)) => bail!("there are {limit} memories of that project already"),
            None => Err(rows::unknown(memory.id)),
        }
    }

    /// Shows what trust would send to models, asks, and trusts; or revokes the trust.
    async fn trust(&self, options: &Options, revoke: bool, yes: bool) -> Result<()> {
        let mut stdout = screen::stdout();
        let memories = self.here();
        let project = memories.project();
        if revoke {
            let was = project::distrust(&options.directories, project).await?;
            let result =
                if was { "is not trusted with memories any more" } else { "was not trusted with memories" };
            writeln!(stdout, "{project} {result}")?;
            return Ok(());
        }
        let found = self.find(&MemoryFilter::default(), String::new()).await?;
        let of_project: Vec<_> = found.iter().filter(|memory| memory.project.is_some()).collect();
        writeln!(
            stdout,
            "In {project}, models may then save memories without asking, also those for every project, and these are sent to them:"
        )?;
        if of_project.is_empty() {
            writeln!(stdout, "  none yet")?;
        }
        for memory in of_project {
            let content = memory.note.content.replace('\n', "\n    ");
            writeln!(stdout, "  {}\n    {content}", rows::line(memory, false))?;
        }
        if !yes && !agrees(&mut stdout)? {
            writeln!(stdout, "Nothing is trusted.")?;
            return Ok(());
        }
        project::trust(&options.directories, project).await?;
        writeln!(stdout, "{project} is trusted with memories")?;
        Ok(())
    }
}

/// Asks on the terminal.
fn agrees(stdout: &mut impl std::io::Write) -> Result<bool> {
    if !(std::io::stdin().is_terminal() && streams::stdout_is_terminal()) {
        bail!("nothing is trusted: there is no terminal to ask on; review what is shown, then pass --yes");
    }
    write!(stdout, "Trust it? [y/N] ")?;
    stdout.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn text_of_stdin() -> Result<String> {
    let mut text = String::new();
    std::io::stdin().lock().take(transfer::BYTES).read_to_string(&mut text)?;
    Ok(text)
}

fn print(found: &[Memory], with_project: bool, json: bool, redactor: &Redactor) -> Result<()> {
    let mut stdout = streams::stdout();
    for memory in found {
        let line = match json {
            true => redactor.json_line(rows::as_json(memory)),
            false => redactor.shown(&rows::line(memory, with_project)),
        };
        if writeln!(stdout, "{line}").is_err() {
            break;
        }
    }
    Ok(())
}
