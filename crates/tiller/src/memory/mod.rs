//! `tiller memory`: shows and changes memories.

mod edit;
mod form;
mod project;
pub(crate) mod rows;
mod transfer;

pub(crate) use project::find_project;

use crate::{
    answer::{Answer, Console, Failure, Kind, Page, numbered},
    args::{MemoryCommand, MemoryFilter, Pages},
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
use rows::MemoryRow;
use std::{
    io::{BufRead as _, Read as _, Write as _},
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
    let store = Store::new(runtime, options, environment.redactor(), directory)?;
    match command {
        MemoryCommand::List { filter, prompt: None, pages } => {
            let page = store.page(&filter, String::new(), &pages).await?;
            if page.items.is_empty() && !console.is_json() {
                console.note("No memories are stored; `tiller memory add` creates one.");
            }
            print(console, page, filter.all)
        }
        MemoryCommand::List { prompt: Some(prompt), .. } => {
            let text = store.recalled(&prompt, options).await?;
            if text.is_none() && !console.is_json() {
                console.note("A new session here is sent no memories.");
            }
            let shown = text.as_deref().map(|text| format!("{text}\n")).unwrap_or_default();
            console.print(Answer::new(rows::Recalled { text }, shown))
        }
        MemoryCommand::Show { id } => {
            let memory = store.get(id).await?;
            console.print(Answer::new(MemoryRow::of(&memory), rows::full(&memory) + "\n"))
        }
        MemoryCommand::Search { words, filter, pages } => {
            let page = store.page(&filter, words.join(" "), &pages).await?;
            if page.items.is_empty() && !console.is_json() {
                console.note("Nothing was found. Each word must occur, whole or as its beginning.");
            }
            print(console, page, filter.all)
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
            changed(console, "saved", &[memory])
        }
        MemoryCommand::Edit { id } => match edit::run(&store, environment, id).await? {
            Some(memory) => changed(console, "updated", &[memory]),
            None => {
                console.note("Nothing was changed.");
                changed(console, "unchanged", &[])
            }
        },
        MemoryCommand::Pin { id } => changed(console, "pinned", &[store.pin(id, true).await?]),
        MemoryCommand::Unpin { id } => changed(console, "unpinned", &[store.pin(id, false).await?]),
        MemoryCommand::Forget { ids } => {
            // Every number is checked before the first memory is gone.
            let mut memories = Vec::new();
            for id in ids {
                memories.push(store.get(id).await?);
            }
            for memory in &memories {
                store.memories.forget(memory.id).await?;
            }
            changed(console, "forgotten", &memories)
        }
        MemoryCommand::Export { all } => {
            let filter = MemoryFilter { all, expired: true, ..MemoryFilter::default() };
            let found = store.find(&filter, String::new()).await?;
            if console.is_json() {
                return print(console, Page { items: found, next: None }, all);
            }
            let mut stdout = RedactingWriter::data(screen::stdout(), environment.redactor().clone());
            transfer::export(&found, &mut stdout)?;
            Ok(Exit::Ok)
        }
        MemoryCommand::Import { file, here } => {
            let (saved, known) = transfer::import(&store, directory, &file, here).await?;
            let mut text = lines("saved", &saved);
            text += &format!("{} saved, {known} were there already\n", saved.len());
            let saved = saved.iter().map(MemoryRow::of).collect();
            console.print(Answer::new(rows::Imported { saved, known }, text))
        }
        MemoryCommand::Trust { revoke, yes } => {
            let (project, trusted) = store.trust(console, options, revoke, yes).await?;
            console.print(Answer::new(rows::MemoryTrust { project, trusted }, String::new()))
        }
    }
}

/// Reports what was done with memories.
fn changed(console: &Console, done: &'static str, memories: &[Memory]) -> Result<Exit> {
    let text = lines(done, memories);
    let memories = memories.iter().map(MemoryRow::of).collect();
    console.print(Answer::new(rows::MemoryChanges { done, memories }, text))
}

/// Returns a line for each memory with what was done with it.
fn lines(done: &str, memories: &[Memory]) -> String {
    memories.iter().map(|memory| rows::done(done, memory) + "\n").collect()
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

    /// Returns a page of what [`Store::find`] finds.
    async fn page(&self, filter: &MemoryFilter, text: String, pages: &Pages) -> Result<Page<Memory>> {
        let skipped: usize = numbered(pages.after.as_deref())?;
        let limit = filter.limit.unwrap_or(MEMORIES_LISTED);
        // One more shows whether there are more.
        let filter = MemoryFilter { limit: Some(skipped.saturating_add(limit + 1)), ..filter.clone() };
        Ok(Page::ranked(self.find(&filter, text).await?, skipped, limit))
    }

    async fn pin(&self, id: MemoryId, pinned: bool) -> Result<Memory> {
        let memory = self.get(id).await?;
        let note = Some(agent::MemoryNote { pinned, ..memory.note });
        self.memories.change(id, MemoryChange { note, ..MemoryChange::default() }).await?;
        self.get(id).await
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

    /// Shows what trust would send to models, asks, and trusts; or revokes the trust. Returns the
    /// project, and whether it is trusted.
    async fn trust(
        &self,
        console: &Console,
        options: &Options,
        revoke: bool,
        yes: bool,
    ) -> Result<(String, bool)> {
        // For programs only the result is printed.
        let say = |text: &str| match console.is_json() {
            true => Ok(()),
            false => screen::stdout().write_all((text.to_owned() + "\n").as_bytes()),
        };
        let memories = self.here();
        let project = memories.project();
        if revoke {
            let was = project::distrust(&options.directories, project).await?;
            let result =
                if was { "is not trusted with memories any more" } else { "was not trusted with memories" };
            say(&format!("{project} {result}"))?;
            return Ok((project.to_string(), false));
        }
        let found = self.find(&MemoryFilter::default(), String::new()).await?;
        let of_project: Vec<_> = found.iter().filter(|memory| memory.project.is_some()).collect();
        say(&format!(
            "In {project}, models may then save memories without asking, also those for every project, and these are sent to them:"
        ))?;
        if of_project.is_empty() {
            say("  none yet")?;
        }
        for memory in of_project {
            let content = memory.note.content.replace('\n', "\n    ");
            say(&format!("  {}\n    {content}", rows::line(memory, false)))?;
        }
        if !yes && !agrees(console)? {
            say("Nothing is trusted.")?;
            return Ok((project.to_string(), false));
        }
        project::trust(&options.directories, project).await?;
        say(&format!("{project} is trusted with memories"))?;
        Ok((project.to_string(), true))
    }
}

/// Asks on the terminal.
fn agrees(console: &Console) -> Result<bool> {
    if !(console.may_ask() && streams::stdout_is_terminal()) {
        let what =
            "nothing is trusted: there is no terminal to ask on; review what is shown, then pass --yes";
        return Err(Failure::new(Kind::Denied, what).into());
    }
    let mut stdout = screen::stdout();
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

fn print(console: &Console, page: Page<Memory>, with_project: bool) -> Result<Exit> {
    console.page(page, MemoryRow::of, |memory| rows::line(memory, with_project) + "\n")
}
