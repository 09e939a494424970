//! The tools for memories: their messages and their effects.

use super::*;
use crate::{
    MemoryOptions, MemoryQuery, Recall, SessionStore, ToolContent, ToolContext,
    fake::MemoryStore,
    tools::{builtin, testing::call},
};
use std::sync::Arc;

/// Creates the context of a session of the project `/w` over an empty store.
pub(super) fn remembering(trusted: bool) -> (ToolContext, Arc<MemoryStore>) {
    let (mut cx, _) = context(&Memory::default());
    let store = Arc::new(MemoryStore::default());
    let options = MemoryOptions { trusted, repository: Some(path("")), ..MemoryOptions::default() };
    let sessions: Arc<dyn SessionStore> = store.clone();
    cx.session.recall = Some(Recall::new(sessions, &"own-session".into(), &path(""), &options));
    (cx, store)
}

#[tokio::test]
async fn a_memory_is_saved_found_changed_and_forgotten() {
    let (cx, _) = remembering(true);
    let save = json!({"type": "decision", "title": "Tabs", "content": "Use tabs.\nNo spaces."});
    let again = json!({"type": "project", "title": "TABS", "content": "x"});
    for (tool, arguments, expected) in [
        ("memory_search", json!({}), "No memories found."),
        ("memory_save", save, "Saved memory #1: Tabs (decision/durable)"),
        (
            "memory_save",
            again,
            "! Memory #1: Tabs (decision/durable) has the same title or content, so nothing was saved. To change it, save with its id.",
        ),
        (
            "memory_save",
            json!({"id": "#1", "class": "priority", "pinned": "true"}),
            "Updated memory #1: Tabs (decision/priority)",
        ),
        (
            "memory_search",
            json!({"query": "spaces"}),
            "#1 Tabs (decision/priority, 1970-01-01, pinned)\nUse tabs.\nNo spaces.",
        ),
        ("memory_search", json!({"query": "spaces", "type": "user"}), "No memories found."),
        ("memory_search", json!({"class": "working"}), "No memories found."),
        ("memory_forget", json!({"id": 1}), "Forgot memory #1: Tabs (decision/priority)"),
        ("memory_forget", json!({"id": 1}), "! Memory #1 not found. Use memory_search to see the numbers."),
        (
            "memory_save",
            json!({"id": 1, "title": "x"}),
            "! Memory #1 not found. Use memory_search to see the numbers.",
        ),
    ] {
        assert_eq!(text(&cx, tool, arguments.clone()).await, expected, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn invalid_arguments_save_nothing() {
    let (cx, store) = remembering(true);
    let save = |change: serde_json::Value| {
        let mut arguments = json!({"type": "project", "title": "a", "content": "b"});
        arguments.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        arguments
    };
    for (arguments, says) in [
        (json!({}), "! title cannot be empty."),
        (save(json!({"type": "fact"})), "! Invalid memory type: 'fact'. Valid: project, user, decision"),
        (save(json!({"class": "x"})), "! Invalid memory class: 'x'. Valid: durable, working, priority"),
        (
            save(json!({"id": "x"})),
            "! Invalid arguments for 'memory_save': \"x\" is not the number of a memory",
        ),
        (save(json!({"expires_days": 3_651})), "! expires_days is 3651, and the limit is 3650"),
        (save(json!({"pinned": "maybe"})), "! pinned: expected true or false"),
        (
            save(json!({"content": "password: sk-0123456789abcdefghijkl"})),
            "! The content contains what looks",
        ),
    ] {
        let result = text(&cx, "memory_save", arguments.clone()).await;
        assert!(result.starts_with(says), "{arguments}: {result}");
    }
    let bad = text(&cx, "memory_search", json!({"scope": "all"})).await;
    assert_eq!(bad, "! Invalid scope: 'all'. Valid: memories, history, both");
    let memories = store.memories().unwrap();
    assert_eq!(memories.find(MemoryQuery { limit: 9, ..MemoryQuery::default() }).await, Ok(Vec::new()));
}

#[tokio::test]
async fn the_question_shows_the_text_that_would_be_saved() {
    let (cx, _) = remembering(false);
    let tool = builtin().into_iter().find(|tool| tool.is_called("memory_save")).unwrap();
    let arguments = json!({"type": "project", "title": "Tabs", "content": "Use tabs."});
    let mut saving = tool.parse(arguments).unwrap();
    let shown = saving.prepare(&cx).await.unwrap();
    assert_eq!(shown, [ToolContent::Content(crate::Content::text("Tabs\n\nUse tabs."))]);
}

#[tokio::test]
async fn in_an_untrusted_project_only_its_own_memories_can_be_saved() {
    let (cx, _) = remembering(false);
    let user = json!({"type": "user", "title": "a", "content": "b"});
    let refused = text(&cx, "memory_save", user).await;
    assert_eq!(
        refused,
        "! /w is not trusted with memories, so only memories of the types project and decision can be saved or forgotten from it. \
         Nothing was changed. The user can trust it: `tiller memory trust`."
    );
    let project = json!({"type": "project", "title": "a", "content": "b"});
    assert_eq!(text(&cx, "memory_save", project).await, "Saved memory #1: a (project/durable)");
}

#[tokio::test]
async fn a_search_shows_a_limited_number() {
    let (cx, _) = remembering(true);
    for number in 0..25 {
        let arguments =
            json!({"type": "project", "title": format!("n{number}"), "content": format!("{number}")});
        call(&cx, "memory_save", arguments).await.unwrap();
    }
    let found = text(&cx, "memory_search", json!({})).await;
    assert_eq!(found.matches("(project/durable").count(), 20);
    assert!(found.ends_with("There are more: narrow the search with further words."), "{found}");
}

#[tokio::test]
async fn outside_a_session_there_are_no_memories() {
    let (cx, _) = context(&Memory::default());
    for (tool, arguments) in [
        ("memory_save", json!({"type": "user", "title": "a", "content": "b"})),
        ("memory_search", json!({})),
        ("memory_forget", json!({"id": 1})),
        ("session_search", json!({})),
        ("session_read", json!({"session_id": "abcdefgh"})),
    ] {
        let result = text(&cx, tool, arguments).await;
        assert_eq!(result, format!("! Tool '{tool}' works only in a session."));
    }
}
