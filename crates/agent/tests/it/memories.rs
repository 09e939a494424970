//! Memories in sessions: what a model is sent, what it may save, and what the user's commands do.

use agent::fake::{FakeClient, FakeMemories, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Content, CreateSession, Expiry, LanguageModel, Memories, Memory, MemoryClass, MemoryId, MemoryKind,
    MemoryNote, MemoryOptions, MemoryQuery, ModelAbilities, ModelInfo, ModelLimits, NewMemory,
    PermissionOutcome, PromptOptions, Runtime, RuntimeOptions, SessionEvent, SessionHandle, SessionStore,
    Stored, Surface, ToolProfile,
};
use serde_json::json;
use std::sync::Arc;
use system::{AbsPath, FakeSystem};

struct Stage {
    store: Arc<MemoryStore>,
    memories: Arc<dyn Memories>,
    options: MemoryOptions,
    info: ModelInfo,
    client: Arc<FakeClient>,
}

/// A session, and its model's requests as text.
struct Opened {
    session: SessionHandle,
    model: Arc<FakeModel>,
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn stage(trusted: bool) -> Stage {
    let store = Arc::new(MemoryStore::default());
    let memories = store.memories().unwrap();
    let options = MemoryOptions { trusted, ..MemoryOptions::default() };
    let info = ModelInfo {
        id: "fake/model".to_owned(),
        name: "Fake".to_owned(),
        limits: ModelLimits { context_size: 100_000, max_output: 4_096, silence: None },
        ..ModelInfo::default()
    };
    Stage { store, memories, options, info, client: FakeClient::new([]) }
}

impl Stage {
    async fn remember(&self, project: Option<&str>, title: &str) -> Memory {
        let kind = if project.is_some() { MemoryKind::Project } else { MemoryKind::User };
        let (class, content) = (MemoryClass::Durable, format!("Content of {title}."));
        let note = MemoryNote { kind, class, title: title.to_owned(), content, pinned: false };
        let new = NewMemory { note, project: project.map(path), session: None, expiry: Expiry::Never };
        match self.memories.add(new).await.unwrap() {
            Stored::Done(memory) => memory,
            other => panic!("{other:?}"),
        }
    }

    async fn open(&self, script: Vec<Reply>) -> Opened {
        let model = FakeModel::with_info(self.info.clone(), script);
        let options = RuntimeOptions {
            prompt: PromptOptions { memories: self.options.clone(), ..PromptOptions::default() },
            ..RuntimeOptions::default()
        };
        let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
        let runtime = Runtime::new(self.store.clone(), models, options);
        let surface = Surface { client: self.client.clone(), system: Arc::new(FakeSystem::new()) };
        let new = CreateSession { cwd: path("/w"), additional_directories: Vec::new(), servers: Vec::new() };
        Opened { session: runtime.create(new, |_| surface).await.unwrap(), model }
    }

    async fn titles(&self) -> Vec<String> {
        let query = MemoryQuery { limit: 99, ..MemoryQuery::default() };
        let found = self.memories.find(query).await.unwrap();
        found.into_iter().map(|memory| memory.note.title).collect()
    }

    /// Returns the text of the last answer.
    fn answer(&self) -> String {
        let texts = self.client.events().into_iter().filter_map(|event| match event {
            SessionEvent::ModelResponse(response) => Some(response.text()),
            _ => None,
        });
        texts.last().unwrap_or_default()
    }

    fn notices(&self) -> Vec<String> {
        let notices = self.client.events().into_iter().filter_map(|event| match event {
            SessionEvent::Notice { title, .. } => Some(title),
            _ => None,
        });
        notices.collect()
    }
}

impl Opened {
    async fn prompt(&self, text: &str) {
        self.session.prompt(vec![Content::text(text)]).await.unwrap();
    }

    fn last_request(&self) -> String {
        format!("{:?}", self.model.requests().last().unwrap().messages)
    }
}

#[tokio::test]
async fn a_session_is_sent_memories_once_and_its_user_is_notified() {
    let stage = stage(true);
    let tabs = stage.remember(Some("/w"), "Tabs").await;
    let tea = stage.remember(None, "Tea").await;
    stage.remember(Some("/elsewhere"), "Elsewhere").await;
    let opened = stage.open(vec![Reply::text("a"), Reply::text("b"), Reply::text("c")]).await;
    opened.prompt("hello").await;
    let request = opened.last_request();
    assert!(
        request.contains("# Memories") && request.contains("Content of Tabs.") && request.contains("Tea")
    );
    assert!(!request.contains("Elsewhere"), "{request}");
    assert_eq!(stage.notices(), ["Memories that the model was given: #1, #2"]);
    for id in [tabs.id, tea.id] {
        let memory = stage.memories.get(id).await.unwrap().unwrap();
        assert!(memory.times.surfaced_at.is_some(), "{id}");
    }
    // What is saved later is for later sessions.
    stage.remember(Some("/w"), "Later").await;
    opened.prompt("again").await;
    let request = opened.last_request();
    assert_eq!(request.matches("# Memories").count(), 1, "{request}");
    assert!(!request.contains("Later"), "{request}");
    opened.prompt("/context").await;
    assert!(stage.answer().contains("Memories among them: #1, #2."), "{}", stage.answer());
    opened.prompt("third").await;
    assert_eq!(stage.notices().len(), 1);
}

#[tokio::test]
async fn nothing_of_an_untrusted_project_is_sent() {
    let stage = stage(false);
    stage.remember(Some("/w"), "Tabs").await;
    stage.remember(None, "Tea").await;
    let opened = stage.open(vec![Reply::text("a")]).await;
    opened.prompt("hello").await;
    let request = opened.last_request();
    assert!(request.contains("Content of Tea.") && !request.contains("Tabs"), "{request}");
}

#[tokio::test]
async fn without_memories_a_session_has_neither_the_tools_nor_the_text() {
    let mut stage = stage(true);
    stage.remember(Some("/w"), "Tabs").await;
    stage.options.enabled = false;
    let script = vec![
        Reply::calls(&[("memory_save", json!({"type": "user", "title": "a", "content": "b"}))]),
        Reply::text("b"),
    ];
    let opened = stage.open(script).await;
    opened.prompt("hello").await;
    let request = &opened.model.requests()[0];
    assert!(!format!("{:?}", request.messages).contains("Memories"));
    assert!(request.tools.iter().all(|tool| !tool.name.starts_with("memory_")));
    assert!(opened.last_request().contains("Tool 'memory_save' not found."), "{}", opened.last_request());
    assert_eq!(stage.titles().await, ["Tabs"]);
    opened.prompt("/memories").await;
    assert!(stage.answer().contains("context.memories"), "{}", stage.answer());
}

#[tokio::test]
async fn a_small_model_is_sent_no_memories() {
    let mut stage = stage(true);
    stage.remember(Some("/w"), "Tabs").await;
    stage.info.abilities = ModelAbilities { profile: ToolProfile::Small, ..ModelAbilities::default() };
    let opened = stage.open(vec![Reply::text("a")]).await;
    opened.prompt("hello").await;
    assert!(!opened.last_request().contains("Memories"), "{}", opened.last_request());
}

#[tokio::test]
async fn a_store_that_fails_costs_only_the_memories() {
    let stage = stage(true);
    stage.remember(Some("/w"), "Tabs").await;
    stage.store.fake_memories().fail(true);
    let opened = stage.open(vec![Reply::text("a")]).await;
    opened.prompt("hello").await;
    assert!(!opened.last_request().contains("Memories"));
    let failing: &FakeMemories = stage.store.fake_memories();
    failing.fail(false);
    assert_eq!(stage.titles().await, ["Tabs"]);
}

#[tokio::test]
async fn a_model_saves_without_a_question_only_in_a_trusted_project() {
    let save = json!({"type": "decision", "title": "Tabs", "content": "Use tabs."});
    for (trusted, answer, saved) in [
        (true, None, true),
        (false, Some(PermissionOutcome::AllowOnce), true),
        (false, Some(PermissionOutcome::RejectOnce), false),
    ] {
        let mut stage = stage(trusted);
        stage.client = FakeClient::new(answer.map(Some));
        let script = vec![Reply::calls(&[("memory_save", save.clone())]), Reply::text("b")];
        let opened = stage.open(script).await;
        opened.prompt("remember it").await;
        assert_eq!(!stage.titles().await.is_empty(), saved, "{trusted} {answer:?}");
        let request = opened.last_request();
        assert_eq!(request.contains("Saved memory #1: Tabs (decision/durable)"), saved, "{request}");
        let asked = stage.client.events().into_iter().find_map(|event| match event {
            SessionEvent::PermissionRequested { question, .. } => Some(question),
            _ => None,
        });
        let question = "This project is not trusted with memories. Allow 'memory_save' to change them?";
        assert_eq!(asked.as_deref(), answer.map(|_| question));
    }
}

#[tokio::test]
async fn a_model_saves_nothing_in_plan_mode() {
    let stage = stage(true);
    let save = json!({"type": "decision", "title": "Tabs", "content": "Use tabs."});
    let opened = stage.open(vec![Reply::calls(&[("memory_save", save)]), Reply::text("b")]).await;
    opened.session.set_mode(agent::Mode::Plan).await.unwrap();
    opened.prompt("remember it").await;
    let denial = "Tool 'memory_save' is not available in Plan mode. Switch to Edit mode to use write tools.";
    assert!(opened.last_request().contains(denial), "{}", opened.last_request());
    assert_eq!(stage.titles().await, [""; 0]);
}

#[tokio::test]
async fn the_users_commands_list_and_forget() {
    let stage = stage(false);
    stage.remember(Some("/w"), "Tabs").await;
    stage.remember(None, "Tea").await;
    stage.remember(Some("/elsewhere"), "Elsewhere").await;
    let opened = stage.open(Vec::new()).await;
    opened.prompt("/memories").await;
    assert_eq!(
        stage.answer(),
        "Memories of /w and yours; `/forget #N` deletes one:\n\n- #1: Tabs (project/durable)\n- #2: Tea (user/durable)\n\n\
         The memories of the project are not sent to the model, because the project is not trusted with memories: `tiller memory trust`.\n"
    );
    opened.prompt("/memories content tea").await;
    assert!(stage.answer().ends_with("- #2: Tea (user/durable)\n  Content of Tea.\n"), "{}", stage.answer());
    opened.prompt("/memories nothing").await;
    assert_eq!(stage.answer(), "No memories found.");
    opened.prompt("/forget #2").await;
    assert_eq!(stage.answer(), "Forgot memory #2: Tea (user/durable).");
    for id in ["#2", "3"] {
        opened.prompt(&format!("/forget {id}")).await;
        let number = id.trim_start_matches('#');
        assert_eq!(stage.answer(), format!("Memory #{number} not found. `/memories` lists them."));
    }
    assert_eq!(stage.memories.get(MemoryId(1)).await.unwrap().unwrap().note.title, "Tabs");
    assert_eq!(stage.titles().await, ["Elsewhere", "Tabs"]);
}
