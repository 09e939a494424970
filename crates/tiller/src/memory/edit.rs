//! `tiller memory edit`: opens the user's editor on a memory.

use super::{Store, form};
use crate::{editor, environment::Environment};
use agent::{Memory, MemoryId};
use anyhow::{Context as _, Result, bail};
use system::{AbsPath, LocalSystem, System as _, TemporaryDirectory};

/// Opens the editor on the form of a memory, and stores what it saved. Returns the changed memory;
/// `None` if the text is as it was.
pub(super) async fn run(store: &Store, environment: &Environment, id: MemoryId) -> Result<Option<Memory>> {
    let memory = store.get(id).await?;
    let directory = TemporaryDirectory::new()?;
    let file = AbsPath::from_os(directory.path())?.join("memory.md");
    let system = LocalSystem::new();
    let before = form::text(&memory);
    system.write(&file, before.as_bytes()).await?;
    editor::open(environment, &file)?;
    let after = String::from_utf8(system.read(&file).await?).context("the text is not UTF-8")?;
    if after == before {
        return Ok(None);
    }
    match apply(store, &memory, &after).await {
        Ok(changed) => Ok(Some(changed)),
        Err(error) => {
            let kept = directory.keep();
            bail!("{error:#}; nothing was changed, and your text is in {}", kept.join("memory.md").display());
        }
    }
}

async fn apply(store: &Store, memory: &Memory, text: &str) -> Result<Memory> {
    match form::read(text)?.as_slice() {
        [form] => store.replace(memory, form).await,
        forms => bail!("the file has {} memories, and one is edited at a time", forms.len()),
    }
}
