//! The beginning of requests to a model never changes in a session: the system prompt and the tools
//! stay the same, and each answer still follows everything that it was an answer to.

mod script;
mod stage;

use agent::{Compaction, CompactionStep, Content, Message, Mode, ModelRequest, SessionEvent};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use script::{Act, Answer, scripts};
use stage::{Asked, Stage};

/// Checks the oracle for every request: the messages that the model was sent when it gave an answer
/// are the messages before that answer, unless something was summarised or left out since.
fn append_only(asked: &[Asked]) -> Result<(), TestCaseError> {
    for (number, now) in asked.iter().enumerate() {
        for then in asked[..number].iter().filter(|then| then.model == now.model) {
            if then.request.system != now.request.system || then.request.tools != now.request.tools {
                return Err(TestCaseError::fail(format!("request {number} begins with something else")));
            }
        }
        for (place, message) in now.request.messages.iter().enumerate() {
            let Message::Assistant(answer) = message else { continue };
            let Some(then) = answer_number(&answer.text()).map(|number| &asked[number]) else { continue };
            let before = &now.request.messages[..place];
            if then.shortened == now.shortened && then.request.messages != before {
                return Err(TestCaseError::fail(format!(
                    "in request {number} the answer {:?} stands after something else:\nthen {:?}\nnow {before:?}",
                    answer.text(),
                    then.request.messages
                )));
            }
        }
    }
    Ok(())
}

/// Returns the number of the request that an answer belongs to.
fn answer_number(text: &str) -> Option<usize> {
    text.strip_prefix("answer ")?.split(' ').next()?.parse().ok()
}

fn played(acts: Vec<Act>) -> Vec<Asked> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut stage = Stage::new().await;
        for act in acts {
            stage.play(act).await;
        }
        stage.asked()
    })
}

#[test]
fn each_answer_stands_after_what_it_answered_whatever_happens_between() {
    let config = Config { cases: 120, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    runner.run(&scripts(), |acts| append_only(&played(acts))).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_oracle_sees_a_prefix_that_changes() {
    let asked = played(vec![Act::Prompt(vec![Answer::Says]), Act::Prompt(vec![Answer::Says])]);
    append_only(&asked).unwrap();
    let changed = |change: fn(&mut ModelRequest)| {
        let mut asked = asked.clone();
        change(&mut asked[1].request);
        append_only(&asked).is_err()
    };
    assert!(changed(|request| request.system.push('.')));
    assert!(changed(|request| request.tools = request.tools.iter().skip(1).cloned().collect()));
    assert!(changed(|request| {
        let Message::User(content) = &mut request.messages[0] else { panic!() };
        content.remove(0);
    }));
}

/// Thirty rounds with changes of the mode, the date, the tools, the project's instructions and the
/// process, and one compaction.
#[test]
fn thirty_rounds_begin_the_same() {
    let round = |number: usize| -> Vec<Act> {
        let change = match number % 6 {
            0 => Act::Mode(Mode::Plan),
            1 => Act::Day("2026-11-24"),
            2 => Act::Tools(vec!["mcp__s__one", "mcp__s__two"]),
            3 => Act::Mode(Mode::Edit),
            4 => Act::Instructions("Use tabs."),
            _ => Act::Tools(vec!["mcp__s__two"]),
        };
        let prompt = Act::Prompt(vec![Answer::Reads, Answer::Says]);
        match number {
            15 => vec![Act::Compact, change, prompt],
            20 => vec![Act::Restart, change, prompt],
            _ => vec![change, prompt],
        }
    };
    let asked = played((0..30).flat_map(round).collect());
    assert_eq!(asked.len(), 60);
    append_only(&asked).unwrap();
    assert_eq!(asked.last().unwrap().shortened, 1, "it was summed up once");
    let messages = format!("{:?}", asked.last().unwrap().request.messages);
    for what in
        ["Mode: Plan", "Mode: Edit", "2026-11-24", "mcp__s__two", "No longer there: mcp__s__one", "Use tabs."]
    {
        assert!(messages.contains(what), "{what}");
    }
}

#[test]
fn sessions_in_all_folders_and_modes_begin_the_same() {
    let first = |mode: Mode, cwd: &str| {
        let acts = vec![Act::Mode(mode), Act::Folder(cwd.to_owned()), Act::Prompt(vec![Answer::Says])];
        let request = played(acts).remove(0).request;
        (request.system, request.tools)
    };
    let here = first(Mode::Edit, "/w");
    assert_eq!(here, first(Mode::Plan, "/w"));
    assert_eq!(here, first(Mode::Ask, "/elsewhere"));
    assert!(!here.0.contains("/w"), "no folder is named before the tools");
}

#[test]
fn what_is_told_stands_before_what_the_user_says() {
    let asked = played(vec![
        Act::Day("2026-11-23"),
        Act::Instructions("Use tabs."),
        Act::Prompt(vec![Answer::Says]),
        Act::Mode(Mode::Plan),
        Act::Prompt(vec![Answer::Says]),
        Act::Prompt(vec![Answer::Says]),
    ]);
    let texts = |at: usize| -> Vec<String> {
        let Some(Message::User(content)) = asked[at].request.messages.last() else { panic!() };
        let text = |piece: &Content| match piece {
            Content::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        content.iter().map(text).collect()
    };
    let [briefing, said] = &texts(0)[..] else { panic!("{:?}", texts(0)) };
    for what in
        ["<environment>", "Folder: /w", "Date: 2026-11-23", "Mode: Edit", "<instructions file=\"AGENTS.md\">"]
    {
        assert!(briefing.contains(what), "{what}: {briefing}");
    }
    assert_eq!(said, "prompt");
    let [briefing, said] = &texts(1)[..] else { panic!("{:?}", texts(1)) };
    assert!(briefing.starts_with("<environment_update>") && briefing.contains("Mode: Plan"), "{briefing}");
    assert!(!briefing.contains("2026-11-23") && !briefing.contains("Use tabs."), "{briefing}");
    assert_eq!(said, "prompt");
    assert_eq!(texts(2), ["prompt"], "nothing is told twice");
}

/// Returns whether an event changes how earlier messages are sent.
fn shortens(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::Compaction(Compaction { step: CompactionStep::Completed { .. }, .. })
            | SessionEvent::ResultsLeftOut(_)
    )
}
