use super::*;
use crate::{
    Compaction, Item, Message, ModelCall, ResultsLeftOut, Rewound, StopReason, Text, ToolCallRequest,
};

fn response(model: &str, text: &str, calls: &[&str]) -> SessionEvent {
    let call = |id: &&str| {
        let (provider_id, name) = (format!("p-{id}"), "bash".to_owned());
        let call = ModelCall { provider_id, name, arguments: String::new(), opaque: None };
        Item::Call(ToolCallRequest::new(ToolCallId::from(*id), call))
    };
    let text = (!text.is_empty()).then(|| Item::Text(Text::plain(text)));
    SessionEvent::ModelResponse(ModelResponse {
        id: MessageId::from("m"),
        thought_id: MessageId::from("t"),
        model: model.to_owned(),
        items: text.into_iter().chain(calls.iter().map(call)).collect(),
    })
}

fn call(id: &str, status: ToolStatus, result: Option<&str>) -> SessionEvent {
    let mut update = ToolCallUpdate::of(ToolCallId::from(id), "bash").status(status);
    update.result = result.map(ToolResult::ok);
    SessionEvent::ToolCall(update)
}

fn began(turn: &str) -> SessionEvent {
    SessionEvent::TurnStarted { turn: TurnId::from(turn), prompt: None }
}

fn said(text: &str) -> SessionEvent {
    SessionEvent::UserMessage { id: MessageId::from("u"), content: vec![Content::text(text)] }
}

fn ended(turn: &str) -> SessionEvent {
    SessionEvent::TurnEnded { turn: TurnId::from(turn), end: TurnEnd::Stopped(StopReason::EndTurn) }
}

fn compaction(step: CompactionStep) -> SessionEvent {
    SessionEvent::Compaction(Compaction { id: CompactionId::from("compaction_1"), step })
}

fn reduced(events: &[SessionEvent]) -> Conversation {
    let mut conversation = Conversation::default();
    events.iter().for_each(|event| conversation.apply(event));
    conversation
}

/// A prompt and its answer.
fn exchange(prompt: &str, answer: &str) -> Vec<SessionEvent> {
    vec![began("r"), said(prompt), response("x/y", answer, &[]), ended("r")]
}

fn results(conversation: &Conversation) -> Vec<&str> {
    let answered = conversation.history().messages().iter().filter_map(|message| match message {
        Message::Assistant(message) => Some(message.calls().map(|call| call.result.text.as_str())),
        Message::User(_) => None,
    });
    answered.flatten().collect()
}

fn texts(conversation: &Conversation) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::Assistant(message) => message.text(),
        Message::User(content) => match &content[0] {
            Content::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        },
    };
    conversation.history().messages().iter().map(text).collect()
}

#[test]
fn a_crash_leaves_no_call_without_a_result() {
    let mut conversation = reduced(&[
        began("run_1"),
        said("go"),
        response("x/y", "text", &["tool_0", "tool_1", "tool_2"]),
        call("tool_0", ToolStatus::InProgress, None),
        call("tool_0", ToolStatus::Completed, Some("done")),
        call("tool_1", ToolStatus::InProgress, None),
        call("tool_1.1", ToolStatus::Completed, Some("done")),
        call("tool_1.2", ToolStatus::InProgress, None),
        call("tool_2", ToolStatus::Pending, None),
    ]);
    let repairs = conversation.repairs();
    assert_eq!(repairs.len(), 4, "three calls and the turn: {repairs:?}");
    assert!(matches!(&repairs[3], SessionEvent::TurnEnded { turn, .. } if turn.as_str() == "run_1"));
    repairs.iter().for_each(|repair| conversation.apply(repair));
    assert_eq!(results(&conversation), ["done", INTERRUPTED, NEVER_RAN]);
    assert_eq!(conversation.repairs(), []);
    assert_eq!((conversation.next_turn().0, conversation.next_call(1).0), ("run_2".into(), "tool_4".into()));
}

#[test]
fn what_was_cut_off_and_never_closed_is_closed_by_what_follows() {
    let conversation = reduced(&[
        began("run_1"),
        said("go"),
        response("x/y", "", &["tool_0"]),
        call("tool_0", ToolStatus::InProgress, None),
        began("run_2"),
        said("on"),
    ]);
    assert_eq!(results(&conversation), [INTERRUPTED]);
    assert!(
        matches!(&conversation.repairs()[..], [SessionEvent::TurnEnded { turn, .. }] if turn.as_str() == "run_2")
    );
}

#[test]
fn an_answer_that_was_being_written_stays_cut_off() {
    let part = |text: &str, thoughts: &str| {
        SessionEvent::AnswerPart(AnswerPart {
            id: MessageId("msg_2".to_owned()),
            thought_id: MessageId("msg_3".to_owned()),
            model: "x/y".to_owned(),
            text: text.to_owned(),
            thoughts: thoughts.to_owned(),
        })
    };
    let cut = [began("run_1"), said("go"), part("", "Hm. "), part("The ", "Well."), part("begin", "")];
    for goes_on in [false, true] {
        let mut conversation = reduced(&cut);
        let repairs = if goes_on { conversation.repairs_to_go_on() } else { conversation.repairs() };
        let [SessionEvent::ModelResponse(answer), SessionEvent::TurnEnded { .. }] = &repairs[..] else {
            panic!("{repairs:?}");
        };
        assert_eq!((answer.id.as_str(), answer.model.as_str()), ("msg_2", "x/y"));
        assert_eq!(answer.thoughts(), "Hm. Well.");
        repairs.iter().for_each(|repair| conversation.apply(repair));
        assert_eq!(texts(&conversation), ["go", "The begin\n\n[cut off here: the process ended]"]);
        assert_eq!(conversation.repairs(), []);
    }
    let whole = [&cut[..], &[response("x/y", "The beginning.", &[])]].concat();
    let conversation = reduced(&whole);
    assert_eq!(texts(&conversation), ["go", "The beginning."]);
    assert!(matches!(&conversation.repairs()[..], [SessionEvent::TurnEnded { .. }]));
}

#[test]
fn an_ordered_log_needs_no_repair() {
    let conversation = reduced(&[
        began("run_1"),
        said("go"),
        response("x/y", "text", &["tool_0"]),
        call("tool_0", ToolStatus::Completed, Some("done")),
        response("x/y", "text", &[]),
        ended("run_1"),
    ]);
    assert_eq!(conversation.repairs(), []);
    assert_eq!(conversation.history().messages().len(), 3);
}

#[test]
fn slash_commands_and_refused_prompts_are_no_part_of_the_conversation() {
    let before = exchange("one", "two");
    for (what, events) in [
        ("a command", vec![said("/help"), response("", "Commands", &[])]),
        ("a command that was cancelled", vec![said("/rewind 1")]),
        ("a refused prompt", vec![said("no"), response("", "A hook says no.", &[])]),
    ] {
        let events = [before.clone(), vec![began("r")], events, vec![ended("r")]].concat();
        assert_eq!(texts(&reduced(&events)), ["one", "two"], "{what}");
    }
    // A message sent to a running turn goes to the model, and so does one that was not a command
    // when it was sent.
    let steered = [before.clone(), vec![began("r"), said("three"), said("/help")]].concat();
    assert_eq!(texts(&reduced(&steered)), ["one", "two", "three", "/help"]);
    let other = [before, vec![began("r"), said("/help"), response("x/y", "four", &[])]].concat();
    assert_eq!(texts(&reduced(&other)), ["one", "two", "/help", "four"]);
}

#[test]
fn what_is_kept_is_counted_without_the_command_that_asked_for_it() {
    let mut events = [exchange("1", "a"), exchange("2", "b"), exchange("3", "c")].concat();
    let completed = CompactionStep::Completed { summary: "sum".to_owned(), kept: 3 };
    events.extend([began("r"), said("/compact"), compaction(completed)]);
    assert_eq!(texts(&reduced(&events)), ["sum", "b", "3", "c"], "while it runs");
    events.extend([response("", "Done.", &[]), ended("r")]);
    assert_eq!(texts(&reduced(&events)), ["sum", "b", "3", "c"], "and when it is over");
    let nothing = CompactionStep::Completed { summary: "sum".to_owned(), kept: 0 };
    let events = [exchange("1", "a"), vec![began("r"), said("/compact"), compaction(nothing)]].concat();
    assert_eq!(texts(&reduced(&events)), ["sum"]);
}

#[test]
fn results_are_left_out_by_the_id_of_their_call() {
    let mut events = vec![began("r"), said("go"), response("x/y", "", &["tool_0", "tool_1"])];
    events.extend(["tool_0", "tool_1"].map(|id| call(id, ToolStatus::Completed, Some("long"))));
    let left = |id: &str| {
        let calls = vec![ToolCallId::from(id)];
        SessionEvent::ResultsLeftOut(ResultsLeftOut { calls, instead: "(left out)".to_owned() })
    };
    events.extend([left("tool_1"), left("unknown")]);
    assert_eq!(results(&reduced(&events)), ["long", "(left out)"]);
}

#[test]
fn numbers_that_were_left_out_are_not_given_again() {
    let events = vec![
        began("r"),
        said("go"),
        response("x/y", "", &["tool_4"]),
        call("tool_4", ToolStatus::Completed, Some("done")),
    ];
    assert_eq!(reduced(&events).next_call(0).0, "tool_5");
}

#[test]
fn attempts_to_sum_up_are_counted_until_one_works() {
    let failed = || compaction(CompactionStep::Failed("busy".to_owned()));
    let mut events = vec![failed(), failed(), compaction(CompactionStep::Cancelled)];
    assert_eq!(reduced(&events).failures(), 2);
    let asked = [events.clone(), vec![began("r"), said("/compact"), failed()]].concat();
    assert_eq!(reduced(&asked).failures(), 1, "what the user asks for is tried again");
    events.push(compaction(CompactionStep::Completed { summary: "sum".to_owned(), kept: 0 }));
    let conversation = reduced(&events);
    assert_eq!((conversation.failures(), conversation.next_compaction().0), (0, "compaction_5".into()));
}

#[test]
fn what_the_provider_counted_comes_back_with_the_log() {
    let mut events = exchange("one", "two");
    let counted = |tokens| {
        SessionEvent::Usage(UsageUpdate {
            model: "x/y".to_owned(),
            context_used: 300,
            context_size: 1_000,
            total: Usage::default(),
            turn: Usage::default(),
            counted: tokens,
            subagents: Usage::default(),
        })
    };
    events.insert(3, counted(Some(250)));
    assert_eq!(reduced(&events).used(0), 251, "what was counted, and the answer");
    events.push(counted(None));
    assert_eq!((reduced(&events).used(0), reduced(&events).context_used()), (251, 300));
    events.push(compaction(CompactionStep::Completed { summary: "sum".to_owned(), kept: 0 }));
    assert!(reduced(&events).is_uncounted());
    let rewound = Rewound { to: Some(1), files: Vec::new() };
    events.push(SessionEvent::Rewound(rewound));
    assert_eq!(texts(&reduced(&events)), ["sum"], "a rewind that changed nothing says nothing");
}
