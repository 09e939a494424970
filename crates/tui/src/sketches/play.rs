//! A session that is played for a picture.

use crate::{
    client::{
        asks::{AskId, Asked},
        mailbox::Letter,
    },
    driver::reply::{ListedSession, ModelKey, OpenedSession, Reply},
    input::{Key, KeyCode},
    safety::stage::Stage,
    screens::frame::Screen,
};
use agent::{
    CallPlace, Choice, CommandGroup, CommandPlace, Content, Cost, Description, Diff, Glance, Mode, ModelInfo,
    ModelResponse, PermissionMode, PermissionRequest, PlanEntry, PlanPriority, PlanStatus, Question,
    SessionControls, SessionEvent, SessionId, SessionListing, SessionRecord, SessionState, SessionTimes,
    SessionTotals, SlashCommand, StopReason, SubagentState, SubagentStatus, SwarmEvent, SwarmState,
    ToolCallUpdate, ToolContent, ToolKind, ToolStatus, TurnEnd,
};
use serde_json::json;
use std::fmt::Write as _;
use system::AbsPath;

/// The time of the pictures, in milliseconds since the epoch.
const TODAY: i64 = 1_700_000_000_000;

const HOUR: i64 = 3_600_000;

/// Plays a scene on a terminal of a size; returns what it shows.
pub(super) fn shown((columns, rows): (u16, u16), scene: impl Fn(&mut Play)) -> String {
    let mut play = Play { stage: Stage::new(Screen::Inline, (columns, rows)), asked: 0 };
    play.stage.app.set_today(TODAY);
    play.reply(opened());
    play.reply(Reply::Replayed);
    scene(&mut play);
    play.stage.draw();
    let screen = play.stage.emulator.screen();
    let lines: Vec<String> = screen.rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
    let last = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let mut out = String::new();
    let cursor = match (screen.hide_cursor(), screen.cursor_position()) {
        (true, _) => "no cursor".to_owned(),
        (false, (row, column)) => format!("cursor in row {}, column {}", row + 1, column + 1),
    };
    writeln!(out, "== {columns} × {rows}, {cursor}").expect("a string takes all");
    lines[..last].iter().for_each(|line| writeln!(out, "{line}").expect("a string takes all"));
    out
}

/// A person in front of the interface.
pub(super) struct Play {
    stage: Stage,
    asked: u64,
}

impl Play {
    pub(super) fn reply(&mut self, reply: Reply) {
        self.stage.letter(Letter::Reply(Box::new(reply)));
        self.stage.draw();
    }

    pub(super) fn event(&mut self, event: SessionEvent) {
        self.stage.letter(Letter::Event(Box::new(event)));
        self.stage.draw();
    }

    pub(super) fn key(&mut self, key: Key) {
        self.stage.key(key);
        self.stage.draw();
    }

    pub(super) fn types(&mut self, text: &str) {
        text.chars().for_each(|character| self.key(Key::plain(KeyCode::Char(character))));
    }

    /// Types a message and sends it.
    pub(super) fn says(&mut self, text: &str) {
        self.types(text);
        self.key(Key::plain(KeyCode::Enter));
    }

    /// Lets time pass in which nothing is typed.
    pub(super) fn waits(&mut self) {
        self.stage.now += std::time::Duration::from_secs(2);
        drop(self.stage.app.tick(self.stage.now));
        self.stage.draw();
    }

    pub(super) fn asks(&mut self, asked: Asked) {
        self.asked += 1;
        self.stage.letter(Letter::Asked(AskId(self.asked), Box::new(asked)));
        self.stage.draw();
    }

    /// A turn up to the tests that run.
    pub(super) fn turn(&mut self) {
        let call = |id: &str, name: &str, title: &str, kind, status| {
            let mut call = ToolCallUpdate::of(id.into(), name).status(status);
            call.display.title = Some(title.to_owned());
            call.display.kind = Some(kind);
            call
        };
        let answer = "The last page is lost when the total divides evenly.";
        let edit = call("c1", "file_edit", "Edit src/page.rs", ToolKind::Edit, ToolStatus::Completed);
        let mut bash =
            call("c2", "bash", "Run cargo test -p pager", ToolKind::Execute, ToolStatus::InProgress);
        bash.display.place = Some(CommandPlace::Sandbox);
        let output: String = (0..40).map(|number| format!("test page::number_{number} ... ok\n")).collect();
        let mut printed = ToolCallUpdate::of("c2".into(), "bash");
        printed.output = Some(agent::LiveOutput::Text(output));
        let said = "fix the off-by-one in src/page.rs and run the tests";
        for event in [
            SessionEvent::TurnStarted { turn: "run_1".into(), prompt: None },
            SessionEvent::UserMessage { id: "u".into(), content: vec![Content::text(said)] },
            SessionEvent::ModelResponse(ModelResponse::from_text("m".into(), "t".into(), "m", answer)),
            SessionEvent::ToolCall(edit.content(vec![ToolContent::Diff(diff())])),
            SessionEvent::ToolCall(bash),
            SessionEvent::ToolCall(printed),
        ] {
            self.event(event);
        }
    }

    /// A plan, and subagents at work.
    pub(super) fn plan(&mut self) {
        let entry = |content: &str, status| PlanEntry {
            content: content.to_owned(),
            priority: PlanPriority::Medium,
            status,
        };
        self.event(SessionEvent::Plan(vec![
            entry("read pager", PlanStatus::Completed),
            entry("fix last page", PlanStatus::Completed),
            entry("run tests", PlanStatus::InProgress),
            entry("changelog", PlanStatus::Pending),
        ]));
        let agent = |id: &str, kind: &str, task: &str, status| {
            let mut agent = SubagentState { id: id.to_owned(), ..SubagentState::default() };
            agent.request.kind = kind.to_owned();
            agent.request.task = task.to_owned();
            agent.progress.status = status;
            agent
        };
        let agents = vec![
            agent("docs-audit", "explore", "Find pages without a title.", SubagentStatus::Running),
            agent("review", "general", "Review the change.", SubagentStatus::QueuedGlobal),
        ];
        self.event(SessionEvent::Swarm(SwarmEvent::State(SwarmState { agents, ..SwarmState::default() })));
    }
}

fn path(path: &str) -> AbsPath {
    AbsPath::new(path).expect("an absolute path")
}

fn diff() -> Diff {
    let old = format!("{}let last = total / size;\nlast\n", "line\n".repeat(40));
    let new = old.replace("total / size", "total.div_ceil(size)");
    Diff { path: path("/w/shop/src/page.rs"), old_text: Some(old), new_text: Some(new) }
}

fn opened() -> Reply {
    let state = SessionState {
        mode: Mode::Edit,
        permission_mode: PermissionMode::Guardian,
        model: "lab/model-2".to_owned(),
        effort: None,
        title: None,
        branch: Some("main".to_owned()),
        additional_directories: Vec::new(),
        sandbox: String::new(),
        busy: false,
    };
    let command = |name: &'static str, description: &'static str| SlashCommand {
        name: name.into(),
        description: description.into(),
        hint: None,
        group: CommandGroup::BuiltIn,
    };
    let commands = vec![
        command("compact", "Summarises older messages"),
        command("context", "Shows what fills the context"),
        command("model", "Chooses the model"),
    ];
    let (id, cwd) = (SessionId("s".to_owned()), path("/w/shop"));
    Reply::Opened(Box::new(OpenedSession { id, cwd, state, commands, new: true, held: None }))
}

fn permission(title: &str, kind: ToolKind, content: Vec<ToolContent>, input: serde_json::Value) -> Asked {
    Asked::Permission(PermissionRequest {
        id: "c9".into(),
        name: if kind == ToolKind::Edit { "file_edit" } else { "bash" }.to_owned(),
        description: Description { title: title.to_owned(), kind, locations: Vec::new() },
        question: format!("{title} outside the sandbox, in ~/shop? It publishes."),
        brief: "Run this outside the sandbox, in ~/shop? It publishes; asks in every mode.".to_owned(),
        place: match kind {
            ToolKind::Edit => CallPlace { directory: Some(path("/w/shop")), facts: Vec::new() },
            _ => CallPlace {
                directory: Some(path("/w/shop")),
                facts: vec!["outside the sandbox".to_owned(), "network".to_owned()],
            },
        },
        content,
        raw_input: input,
        grant_label: "`git push …` in this session".to_owned(),
        remedy: agent::Remedy::default(),
    })
}

/// A request to publish.
pub(super) fn push() -> Asked {
    let command = "git push origin main";
    permission("Run git push origin main", ToolKind::Execute, Vec::new(), json!({ "command": command }))
}

/// A request to change a file.
pub(super) fn edit() -> Asked {
    permission("Edit src/page.rs", ToolKind::Edit, vec![ToolContent::Diff(diff())], json!({}))
}

/// A question of the model.
pub(super) fn question() -> Asked {
    let choice = |label: &str, detail: &str, recommended| Choice {
        label: label.to_owned(),
        detail: Some(detail.to_owned()),
        recommended,
    };
    Asked::Question(Question {
        id: "q".into(),
        text: "Which database should the new tables be in?".to_owned(),
        choices: vec![
            choice("SQLite", "one file, no server", true),
            choice("PostgreSQL", "the server of the tests", false),
        ],
    })
}

/// The sessions of a directory.
pub(super) fn sessions() -> Reply {
    let session =
        |id: &str, title: &str, hours: i64, branch: &str, turns, excerpt: Option<&str>| ListedSession {
            record: SessionRecord {
                id: SessionId(id.to_owned()),
                cwd: path("/w/shop"),
                additional_directories: Vec::new(),
                controls: SessionControls {
                    model: "lab/model-2".to_owned(),
                    mode: Mode::Edit,
                    permission_mode: PermissionMode::Guardian,
                    effort: None,
                },
                title: Some(title.to_owned()),
                branch: Some(branch.to_owned()),
                totals: SessionTotals { turns, cost: Some(Cost(turns * 30_000_000_000)) },
                times: SessionTimes { created_at: 0, updated_at: TODAY - hours * HOUR },
                last_seq: 1,
                listing: SessionListing::default(),
            },
            excerpt: excerpt.map(str::to_owned),
        };
    let excerpt = Some("the login loops when the cookie is old");
    let sessions = vec![
        session("0190aaaa", "Fix login loop", 2, "main", 14, None),
        session("0190bbbb", "Auth refactor plan", 72, "feat/a", 6, excerpt),
        session("0190cccc", "Changelog", 240, "main", 1, None),
    ];
    Reply::Sessions { sessions, more: false }
}

/// How the second session ended.
pub(super) fn glance() -> Reply {
    let glance = Glance {
        prompt: Some("the login loops when the cookie is old".to_owned()),
        answer: Some("all 42 tests pass".to_owned()),
        end: Some(TurnEnd::Stopped(StopReason::EndTurn)),
    };
    Reply::Glance(SessionId("0190bbbb".to_owned()), glance)
}

/// The models that can be chosen.
pub(super) fn models() -> Reply {
    let model = |id: &str, description: &str, key| {
        let model = ModelInfo {
            id: id.to_owned(),
            name: id.to_owned(),
            description: Some(description.to_owned()),
            disclosure: None,
            limits: Default::default(),
            price: None,
            abilities: Default::default(),
            dialect: Default::default(),
        };
        (model, key)
    };
    let missing = ModelKey::Missing("tiller auth login labor".to_owned());
    let models = vec![
        model("lab/model-2", "the default", ModelKey::From(Some("LAB_API_KEY".to_owned()))),
        model("labor/model-1", "quick", missing),
        model("local/qwen", "on this machine", ModelKey::NotNeeded),
    ];
    Reply::Models { models, complete: false }
}
