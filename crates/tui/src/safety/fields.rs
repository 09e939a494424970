//! A text in every field of every letter that reaches the interface.

use super::corpus::events;
use crate::{
    client::{
        asks::{AskId, Asked},
        mailbox::Letter,
    },
    composer::{Entry, EntryPart},
    driver::{
        reply::{Attachment, ListedSession, ModelKey, OpenedSession, Reply, SetupChoice},
        request::PromptId,
    },
};
use agent::{
    CallPlace, Checkpoint, Choice, CommandGroup, Content, Cost, Description, Diff, Glance, LeaseHolder, Mode,
    ModelInfo, PermissionMode, PermissionRequest, Question, SessionControls, SessionId, SessionListing,
    SessionRecord, SessionState, SessionTimes, SessionTotals, SlashCommand, ToolContent, ToolKind, TurnEnd,
    TurnError,
};
use serde_json::json;
use system::AbsPath;

/// Returns a path with a text as its last part.
pub(super) fn path(text: &str) -> AbsPath {
    AbsPath::new(format!("/w/{}", text.replace(['\0', '/'], "_"))).expect("an absolute path")
}

/// Returns the answer that opens a session.
pub(super) fn opened(text: &str) -> Reply {
    let state = SessionState {
        mode: Mode::Edit,
        permission_mode: PermissionMode::Guardian,
        model: text.to_owned(),
        effort: None,
        title: Some(text.to_owned()),
        branch: Some(text.to_owned()),
        additional_directories: Vec::new(),
        sandbox: text.to_owned(),
        busy: false,
    };
    let commands = vec![SlashCommand {
        name: text.to_owned().into(),
        description: text.to_owned().into(),
        hint: Some(text.to_owned().into()),
        group: CommandGroup::File(text.to_owned()),
    }];
    Reply::Opened(Box::new(OpenedSession {
        id: SessionId(text.to_owned()),
        cwd: path(text),
        state,
        commands,
        new: true,
        held: None,
    }))
}

/// Returns permission requests: for a command, for a tool without content, and for files.
pub(super) fn permissions(text: &str) -> Vec<Asked> {
    let request = |kind, content: Vec<ToolContent>| {
        Asked::Permission(PermissionRequest {
            id: text.into(),
            name: text.to_owned(),
            description: Description { title: text.to_owned(), kind, locations: Vec::new() },
            question: text.to_owned(),
            brief: format!("{text}? {text}"),
            place: CallPlace { directory: Some(path(text)), facts: vec![text.to_owned(), text.to_owned()] },
            content,
            raw_input: json!({ "command": text, text: [text] }),
            grant_label: text.to_owned(),
            remedy: agent::Remedy::default(),
        })
    };
    let diff = |old: Option<&str>| {
        ToolContent::Diff(Diff {
            path: path(text),
            old_text: old.map(str::to_owned),
            new_text: Some(format!("{text}\n{text}x\n")),
        })
    };
    let texts = vec![
        ToolContent::Content(Content::text(text)),
        ToolContent::Content(Content::Resource {
            uri: text.to_owned(),
            mime_type: Some(text.to_owned()),
            text: text.to_owned(),
        }),
        ToolContent::Content(Content::ResourceLink { uri: text.to_owned(), name: text.to_owned() }),
        ToolContent::Content(Content::Image { mime_type: text.to_owned(), data: String::new() }),
    ];
    vec![
        request(ToolKind::Execute, texts),
        request(ToolKind::Other, Vec::new()),
        request(ToolKind::Edit, vec![diff(Some(text)), diff(None)]),
    ]
}

/// Returns a question with choices.
pub(super) fn question(text: &str) -> Asked {
    let choice = |recommended| Choice { label: text.to_owned(), detail: Some(text.to_owned()), recommended };
    Asked::Question(Question {
        id: text.into(),
        text: text.to_owned(),
        choices: vec![choice(true), choice(false)],
    })
}

/// Returns every answer of the runtime that has text, apart from the one that opens a session.
pub(super) fn replies(text: &str) -> Vec<Reply> {
    let owned = || text.to_owned();
    let controls = SessionControls {
        model: owned(),
        mode: Mode::Edit,
        permission_mode: PermissionMode::Guardian,
        effort: None,
    };
    let record = SessionRecord {
        id: SessionId(owned()),
        cwd: path(text),
        additional_directories: Vec::new(),
        controls,
        title: Some(owned()),
        branch: Some(owned()),
        totals: SessionTotals { turns: 2, cost: Some(Cost(1)) },
        times: SessionTimes { created_at: 0, updated_at: 0 },
        last_seq: 1,
        listing: SessionListing::default(),
    };
    let session = ListedSession { record, excerpt: Some(owned()) };
    let glance = Glance { prompt: Some(owned()), answer: Some(owned()), end: Some(TurnEnd::Failed(owned())) };
    let model = ModelInfo {
        id: owned(),
        name: owned(),
        description: Some(owned()),
        disclosure: Some(owned()),
        limits: Default::default(),
        price: None,
        abilities: Default::default(),
        dialect: Default::default(),
    };
    let keys = [ModelKey::From(Some(owned())), ModelKey::Missing(owned())];
    let entry = Entry { parts: vec![EntryPart::Text(owned()), EntryPart::File(owned())] };
    vec![
        Reply::History(vec![(entry, true)]),
        Reply::Files(vec![owned(), format!("{text}.rs")]),
        Reply::Models { models: keys.map(|key| (model.clone(), key)).into(), complete: false },
        Reply::SetupChoices(vec![SetupChoice { name: owned(), about: owned(), ..SetupChoice::default() }]),
        Reply::Sessions { sessions: vec![session], more: true },
        Reply::Glance(SessionId(owned()), glance),
        Reply::Turns(vec![Checkpoint { turn: 1, prompt: owned(), files: vec![path(text)] }]),
        Reply::SubagentTranscript(events(text)),
        Reply::Image(Box::new(Attachment { mime_type: owned(), data: String::new(), width: 1, height: 1 })),
        Reply::Paste(owned()),
        Reply::Settled(PromptId(1), Err(TurnError::Closed)),
        Reply::Done(owned()),
        Reply::Failed(owned()),
    ]
}

/// Returns all letters, in an order in which each is shown.
pub(super) fn letters(text: &str) -> Vec<Letter> {
    let reply = |reply| Letter::Reply(Box::new(reply));
    let mut letters = vec![reply(opened(text)), reply(Reply::Replayed)];
    letters.extend(events(text).into_iter().map(|event| Letter::Event(Box::new(event))));
    for (id, asked) in permissions(text).into_iter().chain([question(text)]).enumerate() {
        letters.push(Letter::Asked(AskId(id as u64), Box::new(asked)));
    }
    letters.extend((0..4).map(|id| Letter::Withdrawn(AskId(id))));
    letters.extend(replies(text).into_iter().map(reply));
    let holder = LeaseHolder { pid: 7, host: text.to_owned(), since: text.to_owned() };
    let mut held = opened(text);
    if let Reply::Opened(opened) = &mut held {
        opened.held = Some(holder.clone());
    }
    letters.extend([held, Reply::Replayed, Reply::HeldBy(Some(holder))].map(reply));
    letters
}
