//! The answers to `/memories` and `/forget`.

use crate::{
    MemoryAuthor, MemoryError, MemoryId, MemoryQuery,
    limits::MEMORIES_LISTED,
    session::{Session, outcome::Reply},
};

/// Lists the memories that are visible in the session's project; the content of each too if words
/// are searched for.
pub(super) async fn list(session: &Session, query: String) -> String {
    let recall = session.recall();
    let listed = async {
        let memories = recall.memories()?;
        let query = MemoryQuery { text: query.clone(), limit: MEMORIES_LISTED, ..MemoryQuery::default() };
        Ok::<_, MemoryError>((memories, memories.find(query).await?))
    };
    let (memories, found) = match listed.await {
        Ok(listed) => listed,
        Err(error) => return error.to_string(),
    };
    if found.is_empty() {
        return "No memories found.".to_owned();
    }
    let mut text = format!("Memories of {} and yours; `/forget #N` deletes one:\n\n", memories.project());
    for memory in &found {
        let pinned = if memory.note.pinned { ", pinned" } else { "" };
        text.push_str(&format!("- {}{pinned}\n", memory.headline()));
        if !query.is_empty() {
            text.push_str(&format!("  {}\n", memory.note.content.replace('\n', "\n  ")));
        }
    }
    if !memories.options().trusted && found.iter().any(|memory| memory.project.is_some()) {
        text.push_str(
            "\nThe memories of the project are not sent to the model, because the project is not trusted with \
             memories: `tiller memory trust`.\n",
        );
    }
    recall.redactor.redact(&text)
}

/// Deletes a memory of the user or of the project.
pub(super) async fn forget(session: &Session, id: Option<MemoryId>) -> Reply {
    let Some(id) = id else {
        return Reply::refused(
            "Nothing was deleted: write the memory's number, as in `/forget #12`. `/memories` lists them.",
        );
    };
    let recall = session.recall();
    let forgotten = async { recall.memories()?.forget(id, MemoryAuthor::User).await };
    match forgotten.await {
        Ok(memory) => Reply::done(format!("Forgot memory {}.", memory.headline())),
        Err(MemoryError::NotFound(id)) => {
            Reply::refused(format!("Memory {id} not found. `/memories` lists them."))
        }
        Err(error) => Reply::refused(error.to_string()),
    }
}
