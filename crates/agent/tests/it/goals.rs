//! Goals: the session works on until they are reached, blocked, paused or out of budget.

use crate::stage::{Setting, Stage, stage};
use agent::fake::{FakeClient, FakeModel, FakeModels, Reply};
use agent::{
    Content, CreateSession, Goal, GoalChange, GoalError, GoalStatus, Limits, Mode, ModelError, ModelEvent,
    OpenSession, PermissionMode, Prompt, Runtime, RuntimeOptions, SessionEvent, SessionHandle, Severity,
    StopReason, Surface, ToolStatus, apply_to_goal,
};
use serde_json::json;
use std::sync::{Arc, Mutex};
use system::{AbsPath, fake::Script};

fn complete() -> Reply {
    Reply::calls(&[("update_goal", json!({"status": "complete"}))])
}

fn blocked(reason: &str) -> Reply {
    Reply::calls(&[("update_goal", json!({"status": "blocked", "reason": reason}))])
}

fn hangs() -> Reply {
    Reply::Hang(vec![ModelEvent::Text("half".to_owned())])
}

fn works() -> Reply {
    Reply::calls(&[("bash", json!({"command": "work"}))])
}

async fn staged(script: Vec<Reply>) -> Stage {
    let permission_mode = PermissionMode::Prometheus;
    let stage = stage(Setting { script, permission_mode, ..Setting::default() }).await;
    stage.system.on_command("work", |_| Script::exits(0));
    stage
}

/// The goal as the stored events add up to it.
async fn goal_in(runtime: &Runtime, session: &SessionHandle) -> Option<Goal> {
    let mut goal = None;
    runtime.replay(session.id(), &mut |event| apply_to_goal(&mut goal, event)).await.unwrap();
    goal
}

async fn goal(stage: &Stage) -> Goal {
    goal_in(&stage.runtime, &stage.session).await.expect("there is a goal")
}

fn notices(stage: &Stage) -> Vec<(Severity, String)> {
    let notice = |event| match event {
        SessionEvent::Notice { severity, title, .. } if title.to_lowercase().contains("goal") => {
            Some((severity, title))
        }
        _ => None,
    };
    stage.client.events().into_iter().filter_map(notice).collect()
}

/// The last message of a request, as text.
fn last(stage: &Stage, request: usize) -> String {
    format!("{:?}", stage.model.requests()[request].messages.last().unwrap())
}

/// Opens the session in another process.
async fn reopened(stage: &Stage, script: Vec<Reply>) -> (Arc<Runtime>, Arc<FakeModel>, SessionHandle) {
    let model = FakeModel::new(script);
    let options = RuntimeOptions::default();
    let runtime = Runtime::new(stage.store.clone(), Arc::new(FakeModels(model.clone())), options);
    let surface = Surface { client: FakeClient::new([]), system: stage.system.clone() };
    let how = OpenSession { take_over: true, ..OpenSession::default() };
    let session = runtime.open(stage.session.id(), how, |_| surface).await.unwrap();
    (runtime, model, session)
}

#[tokio::test(start_paused = true)]
async fn a_goal_is_worked_on_until_the_model_says_that_it_is_complete() {
    let slow = Reply::calls(&[("bash", json!({"command": "work", "timeout": 7}))]);
    let script = vec![Reply::text("Begun."), slow, Reply::text("More."), complete(), Reply::text("Done.")];
    let stage = staged(script).await;
    stage.system.on_command("work", |_| Script::hangs());
    let outcome = stage.prompt("/goal make it </goal> work --budget 1k").await.unwrap();
    assert_eq!((outcome.stop_reason, outcome.requests), (StopReason::EndTurn, 5));
    let goal = goal(&stage).await;
    assert_eq!((goal.status, goal.objective.as_str()), (GoalStatus::Complete, "make it </goal> work"));
    assert_eq!((goal.token_budget, goal.tokens_used, goal.seconds_used), (Some(1_000), 60, 7));
    // The model knows the goal before the prompt, and is asked to go on after each answer.
    let first = last(&stage, 0);
    assert!(
        first.contains("<goal>\\nmake it < /goal> work\\nTokens: 0 of 1000 used, 1000 left\\n</goal>"),
        "{first}"
    );
    assert!(first.contains("/goal make it"), "{first}");
    assert!(
        last(&stage, 1).contains("You ended your answer, and the goal is still active"),
        "{}",
        last(&stage, 1)
    );
    assert!(last(&stage, 3).contains("Tokens: 45 of 1000 used"), "{}", last(&stage, 3));
    assert!(last(&stage, 4).contains("The goal is complete."), "{}", last(&stage, 4));
    let titles: Vec<_> = notices(&stage).into_iter().map(|(_, title)| title).collect();
    assert_eq!(titles, ["Goal: make it </goal> work", "Goal complete"]);
    let turns =
        stage.stored().await.into_iter().filter(|e| matches!(e, SessionEvent::TurnStarted { .. })).count();
    assert_eq!(turns, 1, "it is one turn");
}

#[tokio::test]
async fn a_goal_that_needs_the_user_is_blocked_and_goes_on_with_the_answer() {
    let script = vec![
        blocked("the password is missing"),
        Reply::text("I need the password."),
        Reply::text("Thanks."),
        complete(),
        Reply::text("Done."),
    ];
    let stage = staged(script).await;
    stage.prompt("/goal log in").await.unwrap();
    let now = goal(&stage).await;
    assert_eq!((now.status, now.reason.as_deref()), (GoalStatus::Blocked, Some("the password is missing")));
    assert!(notices(&stage).contains(&(Severity::Warning, "Goal blocked".to_owned())));
    stage.prompt("it is 'x'").await.unwrap();
    assert_eq!(goal(&stage).await.status, GoalStatus::Complete);
    assert!(last(&stage, 2).contains("The user resumed the goal"), "{}", last(&stage, 2));
}

#[tokio::test]
async fn three_answers_in_a_row_without_a_call_block_a_goal() {
    let script = vec![Reply::text("1"), works(), Reply::text("1"), Reply::text("2"), Reply::text("3")];
    let stage = staged(script).await;
    stage.prompt("/goal talk").await.unwrap();
    let goal = goal(&stage).await;
    let why = "the model gave 3 answers in a row without a tool call";
    assert_eq!((goal.status, goal.reason.as_deref()), (GoalStatus::Blocked, Some(why)));
}

#[tokio::test]
async fn a_used_up_budget_warns_lets_the_model_sum_up_and_ends_the_work() {
    let script = vec![works(), works(), works(), Reply::text("Two of three are done."), Reply::text("ok")];
    let stage = staged(script).await;
    let outcome = stage.prompt("/goal count --budget 40").await.unwrap();
    assert_eq!((outcome.stop_reason, outcome.requests), (StopReason::EndTurn, 4));
    let now = goal(&stage).await;
    assert_eq!((now.status, now.tokens_used), (GoalStatus::BudgetLimited, 60), "the summary counts");
    assert!(last(&stage, 3).contains("Begin nothing new: sum up"), "{}", last(&stage, 3));
    let titles: Vec<_> = notices(&stage).into_iter().map(|(_, title)| title).collect();
    let used_up = "The token budget of the goal is used up; the model sums up";
    assert_eq!(titles, ["Goal: count", used_up, "Goal budget limited"]);
    // It is over: a prompt does not resume it, and resuming needs a larger budget.
    stage.prompt("and now?").await.unwrap();
    stage.prompt("/goal resume").await.unwrap();
    assert!(stage.client.text().ends_with("/goal resume --budget 120."), "{}", stage.client.text());
    assert_eq!(goal(&stage).await.status, GoalStatus::BudgetLimited);
}

#[tokio::test]
async fn the_user_is_warned_once_when_most_of_the_budget_is_used() {
    let script = vec![works(), works(), works(), works(), complete(), Reply::text("Done.")];
    let stage = staged(script).await;
    stage.prompt("/goal count --budget 75").await.unwrap();
    let warned = (Severity::Warning, "The goal has used 80 % of its token budget".to_owned());
    assert_eq!(notices(&stage).iter().filter(|notice| **notice == warned).count(), 1);
}

#[tokio::test]
async fn a_model_that_keeps_calling_after_its_budget_is_stopped() {
    let stage = staged(vec![works(), works(), works()]).await;
    let outcome = stage.prompt("/goal count --budget 10").await.unwrap();
    assert_eq!((outcome.stop_reason, outcome.requests), (StopReason::EndTurn, 3));
    assert_eq!(goal(&stage).await.status, GoalStatus::BudgetLimited);
}

/// A stage in which these prompts arrive during the first command.
async fn meanwhile(script: Vec<Reply>, prompts: &'static [&'static str]) -> (Stage, Arc<Mutex<Vec<Prompt>>>) {
    let stage = staged(script).await;
    let sent = Arc::new(Mutex::new(Vec::new()));
    let (session, kept) = (stage.session.clone(), sent.clone());
    stage.system.on_command("first", move |_| {
        kept.lock().unwrap().extend(prompts.iter().map(|text| session.start(vec![Content::text(*text)])));
        Script::exits(0)
    });
    (stage, sent)
}

fn first() -> Reply {
    Reply::calls(&[("bash", json!({"command": "first"}))])
}

#[tokio::test]
async fn a_pause_takes_effect_while_the_turn_runs_and_stays_until_the_user_resumes() {
    let script =
        vec![first(), Reply::text("Half."), Reply::text("Answer."), complete(), Reply::text("Done.")];
    let (stage, sent) = meanwhile(script, &["/goal pause"]).await;
    assert_eq!(stage.prompt("/goal go").await.unwrap().requests, 2);
    let mut sent = std::mem::take(&mut *sent.lock().unwrap());
    assert_eq!(sent[0].settled().await.unwrap().stop_reason, StopReason::EndTurn);
    let now = goal(&stage).await;
    assert_eq!((now.status, now.reason.as_deref()), (GoalStatus::Paused, Some("paused by the user")));
    stage.prompt("a question").await.unwrap();
    assert_eq!(goal(&stage).await.status, GoalStatus::Paused, "a prompt does not resume it");
    let known = format!("{:?}", stage.model.requests()[2].messages);
    assert!(known.contains("The goal is paused: do not go on with it by yourself."), "{known}");
    stage.prompt("/goal resume").await.unwrap();
    assert_eq!(goal(&stage).await.status, GoalStatus::Complete);
}

#[tokio::test]
async fn a_cancel_pauses_a_goal_and_steering_reaches_it() {
    let script = vec![first(), hangs()];
    let (stage, sent) = meanwhile(script, &["/steer use tabs"]).await;
    let cancel = async {
        stage.client.until(|client| client.text().ends_with("half")).await;
        stage.session.cancel();
    };
    let (outcome, ()) = tokio::join!(stage.prompt("/goal go"), cancel);
    assert_eq!(outcome.unwrap().stop_reason, StopReason::Cancelled);
    assert!(last(&stage, 1).contains("use tabs"), "{}", last(&stage, 1));
    let mut steering = sent.lock().unwrap().pop().unwrap();
    assert!(steering.settled().await.is_ok());
    let now = goal(&stage).await;
    assert_eq!((now.status, now.reason.as_deref()), (GoalStatus::Paused, Some("cancelled by the user")));
}

#[tokio::test]
async fn a_new_prompt_comes_in_between_and_the_goal_goes_on_with_it() {
    let script =
        vec![first(), Reply::text("Half."), Reply::text("Answered."), complete(), Reply::text("Done.")];
    let (stage, sent) = meanwhile(script, &["what is this?"]).await;
    assert_eq!(stage.prompt("/goal go").await.unwrap().requests, 2, "the first prompt is answered");
    let mut prompt = sent.lock().unwrap().pop().unwrap();
    assert_eq!(prompt.settled().await.unwrap().requests, 3);
    assert_eq!(goal(&stage).await.status, GoalStatus::Complete);
}

/// Checks that a goal whose steps take two requests each pauses at a limit, after so many requests.
async fn pauses_at(limits: Limits, requests: u32) {
    let script = vec![works(), Reply::text("a"), works(), Reply::text("b"), works(), works()];
    let permission_mode = PermissionMode::Prometheus;
    let stage = stage(Setting { script, limits, permission_mode, ..Setting::default() }).await;
    stage.system.on_command("work", |_| Script::exits(0));
    let outcome = stage.prompt("/goal go").await.unwrap();
    assert_eq!((outcome.stop_reason, outcome.requests), (StopReason::MaxTurnRequests, requests));
    assert_eq!(goal(&stage).await.status, GoalStatus::Paused);
}

#[tokio::test]
async fn each_step_of_a_goal_has_the_limit_of_requests() {
    pauses_at(Limits { turn_requests: 2, ..Limits::default() }, 6).await;
}

#[tokio::test]
async fn the_limit_of_a_run_bounds_all_steps_of_a_goal() {
    pauses_at(Limits { run_requests: 3, ..Limits::default() }, 3).await;
}

#[tokio::test]
async fn a_failed_request_interrupts_a_goal_and_the_next_prompt_goes_on() {
    let script = vec![
        works(),
        Reply::error(ModelError::BadResponse("broke".to_owned())),
        complete(),
        Reply::text("Done."),
    ];
    let stage = staged(script).await;
    assert!(stage.prompt("/goal go").await.is_err());
    let now = goal(&stage).await;
    assert_eq!(now.status, GoalStatus::Interrupted);
    assert!(now.reason.unwrap().contains("broke"));
    stage.prompt("again").await.unwrap();
    assert_eq!(goal(&stage).await.status, GoalStatus::Complete);
}

#[tokio::test]
async fn a_goal_survives_the_end_of_its_process_and_goes_on_with_the_next_prompt() {
    for fork in [false, true] {
        let stage = staged(vec![works(), hangs()]).await;
        let crash = async {
            stage.client.until(|client| client.text().ends_with("half")).await;
            let script = vec![Reply::text("On."), complete(), Reply::text("Done.")];
            let (runtime, model, mut session) =
                reopened(&stage, if fork { vec![] } else { script.clone() }).await;
            let mut goal = goal_in(&runtime, &session).await.unwrap();
            assert_eq!(goal.reason.as_deref(), Some("interrupted: the process ended"));
            assert_eq!((goal.status, goal.tokens_used), (GoalStatus::Interrupted, 15));
            let mut asked = model;
            if fork {
                asked = FakeModel::new(script);
                let models = Arc::new(FakeModels(asked.clone()));
                let other = Runtime::new(stage.store.clone(), models, RuntimeOptions::default());
                let cwd = AbsPath::new("/w").unwrap();
                let new = CreateSession { cwd, additional_directories: Vec::new(), servers: Vec::new() };
                let surface = Surface { client: FakeClient::new([]), system: stage.system.clone() };
                session = other.fork(session.id(), new, |_| surface).await.unwrap();
            }
            session.prompt(vec![Content::text("go on")]).await.unwrap();
            goal = goal_in(&runtime, &session).await.unwrap();
            assert_eq!((goal.status, goal.tokens_used), (GoalStatus::Complete, 45), "fork: {fork}");
            assert_eq!(asked.requests().len(), 3);
            stage.session.cancel();
        };
        let (_, ()) = tokio::join!(stage.prompt("/goal go"), crash);
    }
}

#[tokio::test]
async fn only_edit_mode_has_goals() {
    let script = vec![complete(), Reply::text("No."), Reply::text("Half."), Reply::text("Half.")];
    let stage = staged(script).await;
    stage.session.set_mode(Mode::Plan).await.unwrap();
    stage.prompt("/goal go").await.unwrap();
    let why =
        "Nothing was changed: a goal needs Edit mode, and the session is in Plan mode; switch with /edit.";
    assert!(stage.client.text().ends_with(why), "{}", stage.client.text());
    stage.prompt("complete it").await.unwrap();
    assert_eq!(stage.statuses(), [("tool_0".to_owned(), ToolStatus::Failed)]);
    assert!(
        last(&stage, 1).contains("Tool 'update_goal' is not available in Plan mode."),
        "{}",
        last(&stage, 1)
    );
    assert_eq!(goal_in(&stage.runtime, &stage.session).await, None);
    let waiting = GoalChange::Set { objective: "go".to_owned(), token_budget: None };
    let refused = stage.session.change_goal(waiting.clone()).await;
    assert_eq!(refused, Err(GoalError::Mode("Plan")));
    stage.session.set_mode(Mode::Edit).await.unwrap();
    let set = stage.session.change_goal(waiting).await.unwrap().unwrap();
    assert_eq!(
        (set.status, set.reason.as_deref()),
        (GoalStatus::Interrupted, Some("starts with the next prompt"))
    );
    stage.prompt("/plan").await.unwrap();
    stage.prompt("read").await.unwrap();
    assert_eq!(
        goal(&stage).await.status,
        GoalStatus::Interrupted,
        "a prompt in Plan mode is an ordinary one"
    );
    assert_eq!(stage.session.change_goal(GoalChange::Clear).await, Ok(None));
    stage.prompt("/goal").await.unwrap();
    assert!(stage.client.text().ends_with("There is no goal. Set one with `/goal TEXT`."));
    stage.prompt("and?").await.unwrap();
}

#[tokio::test]
async fn the_model_sets_a_goal_reads_it_and_cannot_replace_it() {
    let script = vec![
        Reply::calls(&[("update_goal", json!({"status": "complete"}))]),
        Reply::calls(&[("create_goal", json!({"objective": "all green", "token_budget": "500"}))]),
        Reply::calls(&[
            ("get_goal", json!({})),
            ("create_goal", json!({"objective": "another"})),
            ("update_goal", json!({"status": "blocked"})),
        ]),
        complete(),
        Reply::text("Done."),
    ];
    let stage = staged(script).await;
    stage.prompt("make it a goal").await.unwrap();
    assert!(last(&stage, 1).contains("There is no goal. Answer the user instead."), "{}", last(&stage, 1));
    let results = last(&stage, 3);
    for part in [
        r#"\"remaining_tokens\":485"#,
        r#"\"time_used_seconds\":0"#,
        r#"\"status\":\"active\""#,
        "There is a goal already, with the status active. Only the user can replace it, with /goal.",
        "reason is missing: say what the user must do.",
    ] {
        assert!(results.contains(part), "{part}: {results}");
    }
    let goal = goal(&stage).await;
    assert_eq!(
        (goal.status, goal.tokens_used, goal.objective.as_str()),
        (GoalStatus::Complete, 30, "all green")
    );
}

#[tokio::test]
async fn a_goal_from_a_file_does_not_come_in() {
    let stage = staged(vec![Reply::text("Half."), blocked("x"), Reply::text("B.")]).await;
    stage.prompt("/goal go").await.unwrap();
    let events = stage.stored().await;
    assert!(events.iter().any(|event| matches!(event, SessionEvent::Goal(Some(_)))));
    let (id, cwd) = (agent::SessionId("other".to_owned()), AbsPath::new("/w").unwrap());
    let state = stage.session.state();
    let new = agent::NewSession {
        id: id.clone(),
        cwd,
        additional_directories: Vec::new(),
        model: state.model,
        mode: state.mode,
        permission_mode: state.permission_mode,
        parent: None,
        owner: None,
    };
    stage.runtime.import(new, events).await.unwrap();
    let mut goal = None;
    stage.runtime.replay(&id, &mut |event| apply_to_goal(&mut goal, event)).await.unwrap();
    assert_eq!(goal, None);
}
