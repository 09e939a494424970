//! Skills and commands in a session: what the model gets, and what is readable.

use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Content, CreateSession, FolderTrust, LanguageModel, Message, ModelRequest, OpenSession,
    PermissionOutcome, Runtime, RuntimeOptions, SessionEvent, SessionHandle, SkillProvider, Surface,
    ToolProvider, ToolStatus, TrustRecord, TrustRecords, UserPlaces,
};
use async_trait::async_trait;
use serde_json::json;
use std::sync::Arc;
use system::{AbsPath, FakeSystem, System as _};

struct NoRecords;

#[async_trait]
impl TrustRecords for NoRecords {
    async fn trusted(&self, _folder: &AbsPath) -> Result<TrustRecord, String> {
        Ok(TrustRecord::default())
    }
}

struct Stage {
    model: Arc<FakeModel>,
    client: Arc<FakeClient>,
    system: Arc<FakeSystem>,
    runtime: Arc<Runtime>,
    session: SessionHandle,
}

fn path(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

const PDF: &str = "---\nname: pdf\ndescription: Reads PDF files\nargument-hint: file\nallowed-tools: bash\n---\nRead $1 with pdftotext.\n";

/// Opens a session of a user with one skill and one command.
async fn stage(script: Vec<Reply>) -> Stage {
    let system = Arc::new(FakeSystem::new());
    system.add_dir("/w");
    system.add_file("/home/me/.claude/skills/pdf/SKILL.md", PDF);
    system.add_file("/home/me/.claude/skills/pdf/ref/options.md", "-layout\n");
    system.add_file("/home/me/other.txt", "other\n");
    system
        .add_file("/home/me/.config/tiller/commands/git/fix.md", "---\ndescription: Fixes\n---\nFix $1 now.");
    stage_on(system, script).await
}

async fn stage_on(system: Arc<FakeSystem>, script: Vec<Reply>) -> Stage {
    let model = FakeModel::new(script);
    let client = FakeClient::new([Some(PermissionOutcome::RejectOnce), Some(PermissionOutcome::RejectOnce)]);
    let provider: Arc<dyn ToolProvider> = Arc::new(SkillProvider {
        system: system.clone(),
        user: UserPlaces { config: path("/home/me/.config/tiller"), home: path("/home/me") },
        trust: FolderTrust::new(system.clone(), Arc::new(NoRecords)),
    });
    let options =
        RuntimeOptions { tool_providers: [provider].into_iter().collect(), ..RuntimeOptions::default() };
    let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, options);
    let new = CreateSession { cwd: path("/w"), additional_directories: Vec::new(), servers: Vec::new() };
    let surface = Surface { client: client.clone(), system: system.clone() };
    let session = runtime.create(new, |_| surface).await.unwrap();
    Stage { model, client, system, runtime, session }
}

impl Stage {
    async fn prompt(&self, text: &str) {
        self.session.prompt(vec![Content::text(text)]).await.unwrap();
    }

    fn answer(&self) -> String {
        let texts = self.client.events().into_iter().filter_map(|event| match event {
            SessionEvent::ModelResponse(response) => Some(response.text()),
            _ => None,
        });
        texts.last().unwrap()
    }

    fn last_status(&self) -> Option<ToolStatus> {
        let statuses = self.client.events().into_iter().filter_map(|event| match event {
            SessionEvent::ToolCall(update) => update.status,
            _ => None,
        });
        statuses.last()
    }
}

/// Returns all texts of a request's user messages.
fn user_texts(request: &ModelRequest) -> String {
    let texts = request.messages.iter().filter_map(|message| match message {
        Message::User(content) => Some(content.iter().filter_map(|item| match item {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })),
        Message::Assistant(_) => None,
    });
    texts.flatten().collect::<Vec<_>>().join("\n")
}

/// Returns the results of the calls in the last message of the model's last request.
fn results(stage: &Stage) -> Vec<String> {
    match stage.model.requests().last().unwrap().messages.last() {
        Some(Message::Assistant(message)) => message.calls().map(|call| call.result.text.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_model_gets_the_description_and_loads_the_text_when_it_needs_it() {
    let load = Reply::calls(&[("skill", json!({ "name": "pdf" }))]);
    let stage = stage(vec![load, Reply::text("done")]).await;
    stage.prompt("what is in a.pdf?").await;
    let request = &stage.model.requests()[0];
    let text = user_texts(request);
    assert!(text.contains("<skills>\n") && text.contains("- pdf: Reads PDF files\n</skills>"), "{text}");
    assert!(!text.contains("pdftotext"), "the text is loaded on demand: {text}");
    assert!(request.tools.iter().any(|tool| tool.name == "skill"));
    let expected = "<skill name=\"pdf\" directory=\"/home/me/.claude/skills/pdf\">\nRead $1 with pdftotext.\n</skill>\n\
                    Its other files. Read one with file_read when the instructions need it; relative paths in the \
                    instructions are relative to the skill's directory:\n- /home/me/.claude/skills/pdf/ref/options.md\n";
    assert_eq!(results(&stage), [expected]);
}

#[tokio::test]
async fn without_skills_there_is_no_tool_and_no_section() {
    let system = Arc::new(FakeSystem::new());
    system.add_dir("/w");
    let stage = stage_on(system, vec![Reply::text("done")]).await;
    stage.prompt("hello").await;
    let request = &stage.model.requests()[0];
    assert!(!user_texts(request).contains("skill"), "{}", user_texts(request));
    assert!(request.tools.iter().all(|tool| tool.name != "skill"));
    stage.prompt("/skills").await;
    assert!(stage.answer().starts_with("There are no skills."), "{}", stage.answer());
}

#[tokio::test]
async fn the_files_of_a_skill_are_read_without_a_question_once_it_is_in_use_and_no_others() {
    let read = |file: &str| Reply::calls(&[("file_read", json!({ "path": file }))]);
    let load = Reply::calls(&[("skill", json!({ "name": "pdf" }))]);
    let options = "/home/me/.claude/skills/pdf/ref/options.md";
    let stage =
        stage(vec![read(options), load, read(options), read("/home/me/other.txt"), Reply::text("x")]).await;
    stage.prompt("go").await;
    let asked = || {
        let events = stage.client.events();
        events.iter().filter(|event| matches!(event, SessionEvent::PermissionRequested { .. })).count()
    };
    assert_eq!(asked(), 2, "before it is loaded, and for the file outside of it");
    let requests = stage.model.requests();
    let Some(Message::Assistant(message)) = requests[3].messages.last() else { panic!("{requests:?}") };
    assert_eq!(message.calls().next().unwrap().result.text, "1\t-layout");
}

#[tokio::test]
async fn a_link_in_a_skill_opens_nothing_outside_of_it() {
    let load = Reply::calls(&[("skill", json!({ "name": "pdf" }))]);
    let read = Reply::calls(&[("file_read", json!({ "path": "/home/me/.claude/skills/pdf/link" }))]);
    let stage = stage(vec![load, read, Reply::text("x")]).await;
    stage.system.add_link("/home/me/.claude/skills/pdf/link", "/home/me/other.txt");
    stage.prompt("go").await;
    assert_eq!(stage.last_status(), Some(ToolStatus::Failed), "the user was asked and refused");
    assert!(!format!("{:?}", results(&stage)).contains("1\tother"));
}

#[tokio::test]
async fn the_tools_that_a_skill_names_are_not_allowed_by_it() {
    let load = Reply::calls(&[("skill", json!({ "name": "pdf" }))]);
    let run = Reply::calls(&[("bash", json!({ "command": "touch x" }))]);
    let stage = stage(vec![load, run, Reply::text("x")]).await;
    stage.prompt("go").await;
    let asks = |event: &SessionEvent| matches!(event, SessionEvent::PermissionRequested { .. });
    assert!(stage.client.events().iter().any(asks), "`allowed-tools: bash` loosens nothing");
    assert_eq!(stage.last_status(), Some(ToolStatus::Failed));
}

#[tokio::test]
async fn a_slash_command_starts_a_skill_or_sends_a_file_and_is_stored_as_typed() {
    let stage = stage(vec![Reply::text("one"), Reply::text("two")]).await;
    stage.prompt("/pdf a.pdf").await;
    let text = user_texts(&stage.model.requests()[0]);
    assert!(text.contains("/pdf a.pdf\n") && text.contains("Read a.pdf with pdftotext."), "{text}");
    stage.prompt("/git:fix \"the bug\"").await;
    let text = user_texts(&stage.model.requests()[1]);
    assert!(
        text.contains("The user's command /git:fix stands for this prompt:\n\nFix the bug now."),
        "{text}"
    );
    let mut prompts = Vec::new();
    let each = &mut |event: &SessionEvent| {
        if let SessionEvent::UserMessage { content, .. } = event {
            prompts.push(content.clone());
        }
    };
    stage.runtime.replay(stage.session.id(), each).await.unwrap();
    assert_eq!(prompts[0][0], Content::text("/pdf a.pdf"));
    assert_eq!(prompts[1][0], Content::text("/git:fix \"the bug\""));
    let uri = "file:///home/me/.config/tiller/commands/git/fix.md";
    assert!(
        matches!(&prompts[1][1..], [Content::Resource { uri: found, .. }] if found == uri),
        "{prompts:?}"
    );
}

#[tokio::test]
async fn a_reopened_session_may_still_read_the_files_of_the_skills_it_started() {
    let read =
        Reply::calls(&[("file_read", json!({ "path": "/home/me/.claude/skills/pdf/ref/options.md" }))]);
    let stage = stage(vec![Reply::text("one"), read, Reply::text("two")]).await;
    stage.prompt("/pdf a.pdf").await;
    stage.session.close().await;
    let surface = Surface { client: stage.client.clone(), system: stage.system.clone() };
    let session = stage.runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    session.prompt(vec![Content::text("go on")]).await.unwrap();
    assert_eq!(results(&stage), ["1\t-layout"]);
}

#[tokio::test]
async fn changes_on_disk_are_announced_with_the_next_prompt() {
    let stage = stage(vec![Reply::text("one"), Reply::text("two"), Reply::text("three")]).await;
    stage.prompt("go").await;
    stage
        .system
        .add_file("/home/me/.agents/skills/new/SKILL.md", "---\nname: new\ndescription: New\n---\nDo it\n");
    stage.prompt("go on").await;
    let requests = stage.model.requests();
    let text = user_texts(&requests[1]);
    assert!(text.contains("<skills_update>\n- new: New\n</skills_update>"), "{text}");
    assert_eq!(requests[1].tools, requests[0].tools, "the prefix stays");
    let names: Vec<_> =
        stage.session.commands().into_iter().map(|command| command.name.into_owned()).collect();
    assert!(names.contains(&"new".to_owned()) && names.contains(&"git:fix".to_owned()), "{names:?}");
    let listed = stage.client.events().into_iter().rev().find_map(|event| match event {
        SessionEvent::Commands(commands) => Some(commands.len()),
        _ => None,
    });
    assert_eq!(listed, Some(names.len()), "clients get the new list");
    stage.system.remove(&path("/home/me/.agents/skills/new")).await.unwrap();
    stage.prompt("and on").await;
    let text = user_texts(&stage.model.requests()[2]);
    assert!(text.contains("No longer there: new\n</skills_update>"), "{text}");
}

#[tokio::test]
async fn an_unknown_skill_is_refused_with_the_names_that_there_are() {
    let load = Reply::calls(&[("skill", json!({ "name": "docx" }))]);
    let stage = stage(vec![load, Reply::text("x")]).await;
    stage.prompt("go").await;
    assert_eq!(results(&stage), ["No skill 'docx' can be loaded; available: pdf."]);
}

#[tokio::test]
async fn help_and_skills_list_them_with_their_place() {
    let stage = stage(Vec::new()).await;
    stage
        .system
        .add_file("/w/.claude/skills/theirs/SKILL.md", "---\nname: theirs\ndescription: canary\n---\nx");
    stage.prompt("/help").await;
    let help = stage.answer();
    assert!(
        help.contains("Skills:\n\n- `/pdf [file]`: Reads PDF files (`/home/me/.claude/skills/pdf`)\n"),
        "{help}"
    );
    let command = "- `/git:fix`: Fixes (`/home/me/.config/tiller/commands/git/fix.md`)\n";
    assert!(help.contains(&format!("Commands from files:\n\n{command}")), "{help}");
    stage.prompt("/skills").await;
    let skills = stage.answer();
    assert!(skills.contains("- `pdf` (user, `/home/me/.claude/skills/pdf`): Reads PDF files\n"), "{skills}");
    let theirs = "- `theirs` (project, `/w/.claude/skills/theirs`) — not trusted (`tiller trust`)\n";
    assert!(skills.contains(theirs) && !skills.contains("canary"), "{skills}");
}

#[tokio::test]
async fn who_may_start_a_skill_is_up_to_the_skill() {
    let load = Reply::calls(&[("skill", json!({ "name": "mine" }))]);
    let system = Arc::new(FakeSystem::new());
    system.add_dir("/w");
    let skill = |name: &str, field: &str| {
        let text = format!("---\nname: {name}\ndescription: Is {name}\n{field}\n---\nText of {name}");
        system.add_file(&format!("/home/me/.agents/skills/{name}/SKILL.md"), text);
    };
    skill("mine", "disable-model-invocation: true");
    skill("only-model", "user-invocable: false");
    // A built-in command keeps its name.
    skill("plan", "license: MIT");
    let stage = stage_on(system.clone(), vec![load, Reply::text("x"), Reply::text("y")]).await;
    stage.prompt("go").await;
    let requests = stage.model.requests();
    assert!(
        !user_texts(&requests[0]).contains("Is mine") && user_texts(&requests[0]).contains("Is only-model")
    );
    assert!(results(&stage)[0].contains("No skill 'mine' can be loaded"), "{:?}", results(&stage));
    stage.prompt("/mine").await;
    assert!(user_texts(stage.model.requests().last().unwrap()).contains("Text of mine"));
    let names: Vec<_> =
        stage.session.commands().into_iter().map(|command| command.name.into_owned()).collect();
    assert!(names.contains(&"mine".to_owned()) && !names.contains(&"only-model".to_owned()), "{names:?}");
    assert_eq!(names.iter().filter(|name| *name == "plan").count(), 1);
}
