use super::{super::update::ChunkKind, *};
use agent_client_protocol::v1::schema as acp;
use std::time::Duration;

fn text(id: &str, text: &str) -> Update<acp::SessionUpdate> {
    Update::Chunk { kind: ChunkKind::Message, id: id.into(), text: text.to_owned() }
}

fn output(call: &str, text: &str) -> Update<acp::SessionUpdate> {
    let fields = acp::ToolCallUpdateFields::new().title(text.to_owned());
    Update::Output {
        call: call.into(),
        update: Box::new(acp::SessionUpdate::ToolCallUpdate(acp::ToolCallUpdate::new(
            call.to_owned(),
            fields,
        ))),
    }
}

fn urgent(title: &str) -> Update<acp::SessionUpdate> {
    Update::Urgent(Box::new(acp::SessionUpdate::ToolCall(acp::ToolCall::new("x", title))))
}

fn shown(updates: Vec<QueuedUpdate<acp::SessionUpdate>>) -> Vec<String> {
    updates
        .into_iter()
        .map(|waiting| match waiting.update {
            Update::Chunk { id, text, .. } => format!("{id}:{text}"),
            Update::Output { call, update } => match *update {
                acp::SessionUpdate::ToolCallUpdate(update) => {
                    format!("{call}={}", update.fields.title.unwrap())
                }
                other => panic!("{other:?}"),
            },
            Update::Display { call, data } => format!("{call}+{data}"),
            Update::Urgent(update) => match *update {
                acp::SessionUpdate::ToolCall(call) => format!("!{}", call.title),
                other => panic!("{other:?}"),
            },
            Update::Native(_) | Update::State(..) => "native".to_owned(),
        })
        .collect()
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn at_reading_speed_every_chunk_is_sent_immediately() {
    let (mut coalescer, start) = (Coalescer::default(), Instant::now());
    for i in 0..100 {
        let now = start + ms(6) * i;
        coalescer.push(text("m", "x"), 1, None, now);
        assert_eq!(shown(coalescer.due(now, 0)), ["m:x"], "chunk {i}");
    }
}

#[test]
fn a_burst_is_merged_into_a_few_messages_without_loss() {
    let (mut coalescer, start) = (Coalescer::default(), Instant::now());
    let (mut messages, mut all) = (0, String::new());
    for i in 0..5000_u64 {
        let now = start + Duration::from_micros(i * 10);
        coalescer.push(text("m", "x"), 1, None, now);
        for update in shown(coalescer.due(now, 0)) {
            messages += 1;
            all.push_str(&update[2..]);
        }
    }
    for update in shown(coalescer.flush()) {
        messages += 1;
        all.push_str(&update[2..]);
    }
    assert_eq!(all.len(), 5000);
    assert!((3..=14).contains(&messages), "{messages} messages");
}

#[test]
fn a_flood_is_limited_to_25_messages_a_second() {
    let (mut coalescer, start) = (Coalescer::default(), Instant::now());
    let mut messages = 0;
    for i in 0..10_000 {
        let now = start + ms(1) * i;
        coalescer.push(text("m", "x"), 1, None, now);
        messages += coalescer.due(now, 0).len();
    }
    assert!((240..=270).contains(&messages), "{messages} messages in 10 s");
}

#[test]
fn chunks_merge_while_the_writer_is_busy_and_are_sent_once_it_is_idle() {
    let (mut coalescer, now) = (Coalescer::default(), Instant::now());
    coalescer.push(text("m", "a"), 1, None, now);
    assert_eq!(shown(coalescer.due(now, 0)), ["m:a"]);
    coalescer.push(text("m", "b"), 1, None, now + ms(6));
    assert!(coalescer.due(now + ms(6), 1).is_empty());
    coalescer.push(text("m", "c"), 1, None, now + ms(7));
    assert_eq!(coalescer.deadline(), Some(now + ms(40)));
    assert_eq!(shown(coalescer.due(now + ms(8), 0)), ["m:bc"]);
}

#[test]
fn a_client_that_does_not_read_receives_only_the_flush() {
    let (mut coalescer, now) = (Coalescer::default(), Instant::now());
    for _ in 0..10 {
        coalescer.push(text("m", &"x".repeat(30 * 1024)), 1, None, now);
    }
    coalescer.push(urgent("t"), 1, None, now);
    assert!(coalescer.due(now + ms(1000), UPDATES_IN_FLIGHT).is_empty());
    let all = shown(coalescer.flush());
    assert_eq!(all.len(), 6, "five of 60 KiB and the call");
    assert_eq!(all[5], "!t");
    assert!(!coalescer.is_waiting());
}

#[test]
fn another_kind_of_event_flushes_text_in_order() {
    let (mut coalescer, now) = (Coalescer::default(), Instant::now());
    for _ in 0..20 {
        coalescer.push(text("m", "x"), 1, None, now);
        coalescer.due(now, 1);
    }
    coalescer.push(urgent("t"), 1, None, now);
    coalescer.push(text("n", "y"), 1, None, now);
    let out = shown(coalescer.due(now, 1));
    assert_eq!(out.len(), 2);
    assert!(out[0].starts_with("m:x") && out[1] == "!t", "{out:?}");
    assert_eq!(shown(coalescer.due(now + ms(41), 1)), ["n:y"]);
}

#[test]
fn live_output_replaces_queued_output_at_a_pace_per_call() {
    let (mut coalescer, now) = (Coalescer::default(), Instant::now());
    coalescer.push(output("a", "1"), 1, None, now);
    assert_eq!(shown(coalescer.due(now, 0)), ["a=1"]);
    coalescer.push(output("a", "2"), 1, None, now + ms(10));
    coalescer.push(output("a", "3"), 1, None, now + ms(20));
    assert!(coalescer.due(now + ms(20), 0).is_empty());
    assert_eq!(coalescer.deadline(), Some(now + ms(200)));
    coalescer.push(output("b", "1"), 1, None, now + ms(21));
    assert_eq!(shown(coalescer.due(now + ms(40), 0)), ["b=1"], "one call does not wait for another");
    assert_eq!(shown(coalescer.due(now + ms(200), 0)), ["a=3"]);
    coalescer.push(output("a", "4"), 1, None, now + ms(201));
    coalescer.push(urgent("end"), 1, None, now + ms(202));
    assert_eq!(shown(coalescer.due(now + ms(202), 0)), ["a=4", "!end"]);
}

#[test]
fn states_have_their_own_pace_and_delay_nothing_else() {
    let (mut coalescer, now) = (Coalescer::<acp::SessionUpdate>::default(), Instant::now());
    let state = |kind| Update::State(kind, Box::new(Frame { run: None, event: None }));
    let (mut trees, mut dashboards) = (0, 0);
    for tick in 0..100 {
        let at = now + ms(tick * 20);
        coalescer.push(state(StateKind::Tree), 1, None, at);
        coalescer.push(state(StateKind::Dashboard), 1, None, at);
        for QueuedUpdate { update, .. } in coalescer.due(at, 0) {
            match update {
                Update::State(StateKind::Tree, _) => trees += 1,
                _ => dashboards += 1,
            }
        }
    }
    assert_eq!((trees, dashboards), (8, 2), "in two seconds");
    assert!(coalescer.flush().is_empty() && coalescer.is_waiting());
    assert_eq!(coalescer.deadline(), Some(now + ms(2_000)), "the last state goes out by itself");
    coalescer.push(urgent("end"), 1, None, now + ms(1_981));
    let due = coalescer.due(now + ms(1_981), 0);
    assert!(matches!(due[..], [QueuedUpdate { update: Update::Urgent(_), .. }]));
}

#[test]
fn queued_bytes_are_counted_until_they_are_taken() {
    let (mut coalescer, now) = (Coalescer::default(), Instant::now());
    for bytes in [1, 10] {
        assert_eq!(coalescer.push(text("m", "x"), bytes, None, now), 0);
    }
    assert_eq!(coalescer.push(output("a", "1"), 100, None, now), 0);
    assert_eq!(coalescer.push(output("a", "2"), 1_000, None, now), 100, "what is replaced does not wait");
    assert_eq!(coalescer.push(urgent("t"), 10_000, None, now), 0);
    assert_eq!(coalescer.bytes(), 11_011);
    let out: Vec<_> = coalescer.due(now, 0).into_iter().map(|waiting| waiting.bytes).collect();
    assert_eq!((out, coalescer.bytes()), (vec![11, 1_000, 10_000], 0));
}

#[test]
fn replacing_live_output_is_sent_less_often_with_age() {
    let (mut coalescer, now) = (Coalescer::default(), Instant::now());
    let mut went = 0;
    for tick in 0..60_000 / 10 {
        coalescer.push(output("a", "x"), 1, None, now + ms(tick * 10));
        went += coalescer.due(now + ms(tick * 10), 0).len();
    }
    assert!((8..=20).contains(&went), "{went} updates in a minute");
}

#[test]
fn appended_live_output_merges_in_order_at_25_messages_a_second() {
    let (mut coalescer, now) = (Coalescer::<acp::SessionUpdate>::default(), Instant::now());
    let (mut messages, mut all, mut expected) = (0, String::new(), String::new());
    for tick in 0..10_000_u32 {
        let data = format!("{tick} ");
        expected.push_str(&data);
        let at = now + ms(u64::from(tick));
        coalescer.push(Update::Display { call: "a".into(), data }, 1, None, at);
        for QueuedUpdate { update, .. } in coalescer.due(at, 0) {
            let Update::Display { data, .. } = update else { panic!("{update:?}") };
            all.push_str(&data);
            messages += 1;
        }
    }
    for QueuedUpdate { update, .. } in coalescer.flush() {
        let Update::Display { data, .. } = update else { panic!("{update:?}") };
        all.push_str(&data);
    }
    assert_eq!(all, expected);
    assert!((25..=100).contains(&messages), "{messages} messages in ten seconds");
}
