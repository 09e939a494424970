//! Tests of the lists: what their rows show, and what they ask for.

use crate::{
    app::tests::Person,
    driver::{
        reply::{ListedSession, ModelKey, Reply},
        request::Request,
    },
    input::{Key, KeyCode},
    screens::frame::Screen,
};
use agent::{
    CommandGroup, Cost, Glance, Mode, ModelInfo, ModelLimits, PermissionMode, Price, Rates, SessionControls,
    SessionEvent, SessionId, SessionListing, SessionRecord, SessionTimes, SessionTotals, SlashCommand,
    StopReason, TurnEnd,
};
use system::AbsPath;

const HOUR: i64 = 3_600_000;

fn listed(
    id: &str,
    title: &str,
    branch: Option<&str>,
    totals: (u64, Option<u64>),
    age: i64,
) -> ListedSession {
    let (turns, cents) = totals;
    let record = SessionRecord {
        id: SessionId(id.to_owned()),
        cwd: AbsPath::new("/home/u/src/shop").expect("an absolute path"),
        additional_directories: Vec::new(),
        controls: SessionControls {
            model: "anthropic/sonnet-4-5".to_owned(),
            mode: Mode::Edit,
            permission_mode: PermissionMode::Guardian,
            effort: None,
        },
        title: Some(title.to_owned()),
        branch: branch.map(str::to_owned),
        totals: SessionTotals { turns, cost: cents.map(|cents| Cost(cents * 10_000_000_000)) },
        times: SessionTimes { created_at: 0, updated_at: 100 * HOUR - age },
        last_seq: 9,
        listing: SessionListing::default(),
    };
    ListedSession { record, excerpt: None }
}

fn sessions() -> Reply {
    let sessions = vec![
        listed("a", "Fix login loop", Some("main"), (14, Some(40)), 2 * HOUR),
        listed("b", "Auth refactor plan", Some("feat/a"), (6, None), 72 * HOUR),
        listed("c", "Look around", None, (1, None), 96 * HOUR),
    ];
    Reply::Sessions { sessions, more: false }
}

fn person(columns: u16) -> Person {
    let mut person = Person::at(Screen::Inline, (columns, 24));
    person.app.set_today(100 * HOUR);
    person.app.options.look.home = AbsPath::new("/home/u").ok();
    person.says("/sessions");
    person.reply(sessions());
    person
}

fn glance(prompt: &str, answer: &str, end: TurnEnd) -> Glance {
    Glance { prompt: Some(prompt.to_owned()), answer: Some(answer.to_owned()), end: Some(end) }
}

#[test]
fn a_session_shows_age_title_branch_turns_model_and_cost_and_the_selected_one_how_it_ended() {
    let mut person = person(80);
    let asked = person.requests();
    let listing = Request::ListSessions { words: String::new(), everywhere: false };
    assert_eq!(asked, [listing, Request::Glance(SessionId("a".to_owned()))]);
    let done = TurnEnd::Stopped(StopReason::EndTurn);
    let answer = "\nall 42 tests pass\n\nThe loop is gone.";
    let first = glance("the login loops when the cookie is old\nplease", answer, done);
    person.reply(Reply::Glance(SessionId("a".to_owned()), first));
    let trimmed: String = person.live().lines().map(|line| format!("{}\n", line.trim_end())).collect();
    insta::assert_snapshot!(trimmed, @r#"
    sessions >                                       this folder · tab: all · 1 of 3
    ▸ 2 h  Fix login loop      main    14 turns  sonnet-4-5  $0.40
      3 d  Auth refactor plan  feat/a   6 turns  sonnet-4-5
      4 d  Look around                   1 turn  sonnet-4-5
      you   the login loops when the cookie is old
      last  ✓ all 42 tests pass
      in    ~/src/shop
    enter open · ctrl+f fork · ctrl+r rename · ctrl+d archive · esc back
    "#);
    // The next one is asked for when it is selected, and each only once.
    person.press(Key::plain(KeyCode::Down));
    assert_eq!(person.requests(), [Request::Glance(SessionId("b".to_owned()))]);
    assert!(person.live().contains("  you   …\n"), "{}", person.live());
    let failed = glance("go on", "I stopped", TurnEnd::Failed("no key\nat all".to_owned()));
    person.reply(Reply::Glance(SessionId("b".to_owned()), failed));
    let live = person.live();
    assert!(live.contains("  you   go on\n") && live.contains("  last  ✗ no key\n"), "{live}");
    person.press(Key::plain(KeyCode::Up));
    assert_eq!(person.requests(), []);
    assert!(person.live().contains("  last  ✓ all 42 tests pass\n"));
}

#[test]
fn the_columns_of_sessions_are_cut_to_the_width() {
    let rows =
        |columns: u16| -> Vec<String> { person(columns).live().lines().take(2).map(str::to_owned).collect() };
    insta::assert_debug_snapshot!([140, 60, 40].map(rows), @r#"
    [
        [
            "sessions >                                                                                                   this folder · tab: all · 1 of 3",
            "▸ 2 h  Fix login loop      main    14 turns  sonnet-4-5  $0.40",
        ],
        [
            "sessions >                              this folder · 1 of 3",
            "▸ 2 h  Fix login loop      main    14 turns  sonnet-4-5",
        ],
        [
            "sessions >                        1 of 3",
            "▸ 2 h  Fix login loop      main  ",
        ],
    ]
    "#);
}

#[test]
fn the_scope_is_kept_for_later_runs_and_shows_directories() {
    let mut person = person(100);
    person.requests();
    person.press(Key::plain(KeyCode::Tab));
    let listing = Request::ListSessions { words: String::new(), everywhere: true };
    assert_eq!(person.requests(), [Request::KeepScope { everywhere: true }, listing]);
    person.reply(sessions());
    let live = person.live();
    assert!(live.contains("all · tab: this folder · 1 of 3"), "{live}");
    assert!(live.lines().nth(1).unwrap_or_default().ends_with("$0.40  shop"), "{live}");
    assert!(live.contains("  in    ~/src/shop\n"), "{live}");
}

#[test]
fn a_run_begins_with_the_scope_of_the_one_before() {
    let mut person = Person::new();
    person.app.everywhere = true;
    person.says("/sessions");
    let listing = Request::ListSessions { words: String::new(), everywhere: true };
    assert_eq!(person.requests(), [listing]);
    assert!(person.live().contains("all · tab: this folder · 0 of 0"));
}

fn model(id: &str, context: u64, price: Option<(f64, f64)>) -> ModelInfo {
    let rates = |(input, output)| Rates { input, output, cache_read: None, cache_write: None };
    ModelInfo {
        id: id.to_owned(),
        limits: ModelLimits { context_size: context, ..ModelLimits::default() },
        price: price.map(|price| Price { rates: rates(price), long: None }),
        ..ModelInfo::default()
    }
}

/// Asks for the list of models, which a session's own command opens.
fn ask_for_models(person: &mut Person) {
    let command = SlashCommand {
        name: "model".into(),
        description: "Choose the model.".into(),
        hint: None,
        group: CommandGroup::BuiltIn,
    };
    person.event(SessionEvent::Commands(vec![command]));
    person.says("/model");
}

fn models(local: bool, complete: bool) -> Reply {
    let key = |name: &str| ModelKey::From(Some(name.to_owned()));
    let mut models = vec![
        (model("anthropic/claude-sonnet-4-5", 200_000, Some((3.0, 15.0))), key("ANTHROPIC_API_KEY")),
        (model("gemini/gemini-3-pro", 1_000_000, Some((2.0, 12.0))), key("keyring")),
        (
            model("openai/gpt-5.6-sol", 400_000, Some((1.25, 10.0))),
            ModelKey::Missing("tiller auth login openai".to_owned()),
        ),
    ];
    if local {
        models.insert(2, (model("local/qwen3:8b", 32_768, None), ModelKey::NotNeeded));
    }
    Reply::Models { models, complete }
}

#[test]
fn models_show_context_price_and_where_the_key_comes_from_and_servers_that_are_found_later() {
    let mut person = Person::new();
    ask_for_models(&mut person);
    assert_eq!(person.requests(), [Request::ListModels]);
    person.reply(models(false, false));
    assert!(person.live().contains("reading…"), "{}", person.live());
    person.press(Key::plain(KeyCode::Down));
    person.reply(models(true, true));
    let trimmed: String = person.live().lines().map(|line| format!("{}\n", line.trim_end())).collect();
    insta::assert_snapshot!(trimmed, @r#"
    model >                                                                   2 of 4
      anthropic/claude-sonnet-4-5  200 k  $3 / $15     key: ANTHROPIC_API_KEY
    ▸ gemini/gemini-3-pro            1 M  $2 / $12     key: keyring
      local/qwen3:8b                32 k
      openai/gpt-5.6-sol           400 k  $1.25 / $10  tiller auth login openai
    enter this session · ctrl+s also as default · esc back
    "#);
    person.press(Key::ctrl('s'));
    let id = "gemini/gemini-3-pro".to_owned();
    assert_eq!(person.requests(), [Request::SetModel { id, default: true }], "the selected one stays");
    // What is found after the list was closed opens nothing.
    person.reply(models(true, true));
    assert!(!person.live().contains("qwen3"));
}

#[test]
fn a_model_without_a_key_is_not_chosen_and_the_command_is_named() {
    let mut person = Person::new();
    ask_for_models(&mut person);
    person.reply(models(false, false));
    person.requests();
    person.press(Key::plain(KeyCode::Up));
    person.press(Key::plain(KeyCode::Enter));
    assert_eq!(person.requests(), []);
    assert!(person.live().contains("there is no key for openai/gpt-5.6-sol: tiller auth login openai"));
}

#[test]
fn a_narrow_list_of_models_keeps_the_key() {
    let mut person = Person::at(Screen::Inline, (60, 24));
    ask_for_models(&mut person);
    person.reply(models(false, false));
    let live = person.live();
    assert!(
        live.contains("anthropic/claude-sonnet-4-5") && live.contains("key: ANTHROPIC_API_KEY"),
        "{live}"
    );
    assert!(!live.contains("200 k"), "{live}");
}
