//! The first run without a model: the choices, and what each does.

use super::{Person, sent};
use crate::{
    app::{FirstMessage, effect::Effect},
    driver::{
        reply::{Reply, SetupChoice, SetupStep},
        request::{Request, When},
    },
    input::{Key, KeyCode},
    screens::frame::Screen,
};

const ENTER: Key = Key::plain(KeyCode::Enter);

fn person(screen: Screen) -> Person {
    let first = FirstMessage { prompt: Some("hello".to_owned()), images: Vec::new() };
    Person::without_session(screen, (80, 24), first)
}

fn choice(name: &str, step: SetupStep, is_ready: bool) -> SetupChoice {
    SetupChoice { name: name.to_owned(), about: format!("about {name}"), step, is_ready }
}

/// What is offered where nothing was found.
fn nothing_found() -> Vec<SetupChoice> {
    let pilot = SetupStep::Take("offline/pilot".to_owned());
    vec![
        choice("a key", SetupStep::SetUp, false),
        choice("this machine", SetupStep::Look, false),
        choice("the pilot", pilot, true),
    ]
}

#[test]
fn the_choice_that_can_be_taken_at_once_is_preselected_and_the_prompt_is_kept() {
    let mut person = person(Screen::Inline);
    person.reply(Reply::SetupChoices(nothing_found()));
    let live = person.live();
    assert!(live.contains("no model is set up") && live.contains("▸ the pilot"), "{live}");
    person.press(ENTER);
    assert_eq!(person.requests(), [Request::TakeModel("offline/pilot".to_owned())]);
    person.press(ENTER);
    assert_eq!(person.requests(), [], "nothing can be chosen until the answer comes");
    person.opens_session();
    assert!(!person.live().contains("no model is set up"));
    let requests = person.requests();
    assert!(requests.contains(&sent("hello", 1, When::After)), "{requests:?}");
}

#[test]
fn a_server_that_was_started_meanwhile_is_found_by_looking_again() {
    let mut person = person(Screen::Inline);
    person.reply(Reply::SetupChoices(nothing_found()));
    person.press(Key::plain(KeyCode::Up));
    person.press(ENTER);
    assert_eq!(person.requests(), [Request::FindSetupChoices]);
    let mut choices = nothing_found();
    choices[1] = choice("local/small", SetupStep::Take("local/small".to_owned()), true);
    person.reply(Reply::SetupChoices(choices));
    person.press(ENTER);
    assert_eq!(person.requests(), [Request::TakeModel("local/small".to_owned())]);
}

#[test]
fn a_key_leads_to_the_models_of_its_provider_or_to_the_reason_why_not() {
    let mut person = person(Screen::Inline);
    let choices = vec![choice("OpenRouter", SetupStep::ModelsOf("openrouter".to_owned()), true)];
    person.reply(Reply::SetupChoices(choices.clone()));
    person.press(ENTER);
    assert_eq!(person.requests(), [Request::SetupChoicesOf("openrouter".to_owned())]);
    person.reply(Reply::SetupChoices(choices));
    person.reply(Reply::Failed("openrouter refused the credentials (401): no such key".to_owned()));
    let live = person.live();
    assert!(live.contains("refused the credentials (401)") && live.contains("▸ OpenRouter"), "{live}");
    person.press(ENTER);
    person.requests();
    let models = ["openrouter/a", "openrouter/b"];
    person.reply(Reply::SetupChoices(
        models.map(|id| choice(id, SetupStep::Take(id.to_owned()), true)).to_vec(),
    ));
    person.press(Key::plain(KeyCode::Down));
    person.press(ENTER);
    assert_eq!(person.requests(), [Request::TakeModel("openrouter/b".to_owned())]);
}

#[test]
fn a_key_is_typed_in_the_set_up_of_the_program() {
    let mut person = person(Screen::Inline);
    person.reply(Reply::SetupChoices(nothing_found()));
    person.types("key");
    person.press(ENTER);
    assert_eq!(person.effects, [Effect::SetUp]);
}

#[test]
fn closing_the_setup_choices_quits() {
    for key in [Key::plain(KeyCode::Esc), Key::ctrl('c')] {
        let mut person = person(Screen::Inline);
        person.reply(Reply::SetupChoices(nothing_found()));
        assert!(person.live().contains("esc quit"));
        person.press(key);
        assert_eq!(person.effects, [Effect::Quit]);
    }
}

#[test]
fn what_is_looked_at_meanwhile_leads_back_to_the_setup_choices() {
    let mut person = person(Screen::Inline);
    person.reply(Reply::SetupChoices(nothing_found()));
    person.press(Key::ctrl('o'));
    assert!(!person.live().contains("▸ the pilot"));
    person.press(Key::ctrl('o'));
    assert!(person.live().contains("▸ the pilot"));
    person.press(Key::ctrl('t'));
    assert!(person.live().contains("▸ the pilot"), "there is neither a plan nor a subagent");
}

#[test]
fn the_list_of_sessions_comes_before_the_setup_choices() {
    let mut person = Person::without_session(Screen::Inline, (80, 24), FirstMessage::default());
    let effects = person.app.choose_session();
    person.effects.extend(effects);
    person.reply(Reply::SetupChoices(nothing_found()));
    person.reply(Reply::Sessions { sessions: Vec::new(), more: false });
    assert!(person.live().contains("no session matches"));
    person.press(Key::plain(KeyCode::Esc));
    assert!(person.live().contains("▸ the pilot"));
}

#[test]
fn in_plain_mode_the_setup_choices_are_numbered() {
    let mut person = person(Screen::Plain);
    person.reply(Reply::SetupChoices(nothing_found()));
    person.frame();
    let said = person.committed.join("\n");
    assert!(said.contains("no model is set up; begin with one of these:\n1. a key, about a key\n"), "{said}");
    assert!(said.contains("3. the pilot") && said.contains("(Enter alone: 3)"), "{said}");
    person.line("7");
    person.line("2");
    assert_eq!(person.requests(), [Request::FindSetupChoices]);
    person.reply(Reply::SetupChoices(nothing_found()));
    person.line("");
    assert_eq!(person.requests(), [Request::TakeModel("offline/pilot".to_owned())]);
    person.reply(Reply::SetupChoices(nothing_found()));
    person.line("cancel");
    assert_eq!(person.effects, [Effect::Quit]);
}
