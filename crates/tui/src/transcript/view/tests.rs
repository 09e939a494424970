use super::View;
use crate::{
    highlight::Highlighter,
    look::Look,
    text::row::Row,
    theme::Theme,
    transcript::{Body, Transcript, rows::Paint},
};
use agent::{
    Content, ModelResponse, SessionEvent, ToolCallDisplay, ToolCallUpdate, ToolContent, ToolKind, ToolStatus,
};
use proptest::prelude::*;
use std::time::Duration;

struct Screen {
    transcript: Transcript,
    look: Look,
    highlighter: Highlighter,
    view: View,
    height: usize,
}

impl Screen {
    fn new(height: usize) -> Self {
        let look = Look::new(Theme::terminal(), 40);
        let highlighter = Highlighter::off();
        Self { transcript: Transcript::new(None), look, highlighter, view: View::default(), height }
    }

    fn on<T>(&mut self, act: impl FnOnce(&mut View, &Paint<'_>) -> T) -> T {
        let Self { transcript, look, highlighter, view, .. } = self;
        act(view, &Paint { transcript, look, highlighter, now: Duration::ZERO })
    }

    fn rows(&mut self) -> Vec<Row> {
        let height = self.height;
        self.on(|view, paint| view.rows(height, paint))
    }

    fn lines(&mut self) -> Vec<String> {
        self.rows().iter().map(Row::plain).collect()
    }

    fn ask(&mut self, text: &str) {
        let content = vec![Content::text(text)];
        self.transcript.apply(&SessionEvent::UserMessage { id: "u".into(), content });
    }

    fn answer(&mut self, text: &str) {
        self.transcript.apply(&SessionEvent::ModelResponse(ModelResponse::from_text(
            "m".into(),
            "t".into(),
            "",
            text,
        )));
    }

    fn command(&mut self, id: &str, output: &str) {
        let display = ToolCallDisplay {
            title: Some("Run x".to_owned()),
            kind: Some(ToolKind::Execute),
            content: Some(vec![ToolContent::Content(Content::text(output))]),
            ..ToolCallDisplay::default()
        };
        let update = ToolCallUpdate { display, ..ToolCallUpdate::of(id.into(), "bash") };
        self.transcript.apply(&SessionEvent::ToolCall(update.status(ToolStatus::Completed)));
    }

    /// Ten prompts with an answer each.
    fn conversation() -> Self {
        let mut screen = Self::new(5);
        for number in 0..10 {
            screen.ask(&format!("question {number}"));
            screen.answer(&format!("answer {number}"));
        }
        screen
    }
}

#[test]
fn the_end_is_followed_until_one_scrolls_up() {
    let mut screen = Screen::conversation();
    assert_eq!(
        screen.lines(),
        ["you     question 8", "tiller  answer 8", "", "you     question 9", "tiller  answer 9"]
    );
    screen.answer("more");
    assert_eq!(screen.lines().last().unwrap(), "tiller  more");
    screen.on(|view, paint| view.scroll(-2, paint));
    let before = screen.lines();
    screen.ask("again");
    screen.answer("and again");
    assert_eq!(screen.lines(), before, "nothing moves below the reader");
    assert_eq!(screen.on(|view, paint| view.unseen(paint)), 2);
    screen.on(View::to_end);
    assert_eq!(screen.lines().last().unwrap(), "tiller  and again");
    assert_eq!(screen.on(|view, paint| view.unseen(paint)), 0);
}

#[test]
fn prompts_are_reached_by_one_key() {
    let mut screen = Screen::conversation();
    screen.rows();
    screen.on(View::to_start);
    assert_eq!(screen.lines()[0], "you     question 0");
    assert!(screen.on(|view, paint| view.to_prompt(1, paint)));
    assert!(screen.on(|view, paint| view.to_prompt(1, paint)));
    assert_eq!(screen.lines()[0], "you     question 2");
    assert!(screen.on(|view, paint| view.to_prompt(-1, paint)));
    assert_eq!(screen.lines()[0], "you     question 1");
    screen.on(View::to_start);
    assert!(!screen.on(|view, paint| view.to_prompt(-1, paint)));
}

#[test]
fn a_search_counts_its_hits_goes_round_and_unfolds_what_is_hidden() {
    let mut screen = Screen::conversation();
    let output: String =
        (0..50).map(|line| format!("line {line} {}\n", if line == 20 { "NEEDLE" } else { "" })).collect();
    screen.command("c", &output);
    screen.rows();
    assert!(screen.on(|view, paint| view.search("question", paint)));
    assert_eq!(screen.view.hits(), Some((1, 10)));
    assert!(screen.on(|view, paint| view.next_hit(-1, paint)));
    assert_eq!(screen.view.hits(), Some((10, 10)));
    assert!(screen.lines().iter().any(|line| line.ends_with("question 9")));
    assert!(screen.on(|view, paint| view.next_hit(1, paint)));
    assert!(screen.lines().iter().any(|line| line.ends_with("question 0")));
    assert!(!screen.on(|view, paint| view.search("Question", paint)), "upper case is meant");
    assert!(screen.on(|view, paint| view.search("needle", paint)));
    assert!(screen.lines().iter().any(|line| line.contains("line 20 NEEDLE")), "{:?}", screen.lines());
    let hit: Vec<_> = screen
        .rows()
        .iter()
        .flat_map(|row| row.line.spans.clone())
        .filter(|span| span.style.add_modifier.contains(ratatui_core::style::Modifier::REVERSED))
        .map(|span| span.content.into_owned())
        .collect();
    assert_eq!(hit, ["NEEDLE"]);
    assert!(!screen.on(|view, paint| view.search("", paint)));
    assert_eq!(screen.view.hits(), None);
}

#[test]
fn a_fold_shows_all_and_a_mark_copies_rows() {
    let mut screen = Screen::new(30);
    let output: String = (0..10).map(|line| format!("line {line}\n")).collect();
    screen.command("c", &output);
    assert_eq!(
        screen.lines(),
        ["  ✓ bash  x", "      … 7 lines (ctrl+o)", "      line 7", "      line 8", "      line 9"]
    );
    screen.on(View::toggle_fold);
    assert_eq!(screen.lines().len(), 11);
    assert_eq!(screen.on(View::copy).unwrap(), format!("Run x\n{}", output.trim_end()));
    screen.on(|view, paint| view.move_by(1, paint));
    screen.on(View::toggle_mark);
    screen.on(|view, paint| view.move_by(2, paint));
    assert!(screen.view.is_marking());
    assert_eq!(screen.on(View::copy).unwrap(), "      line 0\n      line 1\n      line 2");
    screen.answer("try\n```sh\nls\n```\nor\n```\ncat a\ncat b\n```\n");
    screen.on(View::to_end);
    assert_eq!(screen.on(|view, paint| view.copy_code(paint)).unwrap(), "cat a\ncat b\n");
}

#[test]
fn a_search_in_a_long_session_reads_each_cell_once_and_renders_a_screen() {
    let mut screen = Screen::new(24);
    for number in 0..5_000 {
        screen.ask(&format!("question {number}"));
        screen.command(&format!("c{number}"), "ok\n");
    }
    screen.on(View::to_start);
    assert!(screen.on(|view, paint| view.search("question 4321", paint)));
    assert_eq!(screen.view.hits(), Some((1, 1)));
    assert!(screen.lines().iter().any(|line| line.ends_with("question 4321")));
    let rendered = screen.view.rendered.len();
    assert!(rendered < 200, "{rendered} cells were rendered for a screen");
}

#[derive(Debug, Clone)]
enum Act {
    Move(isize),
    Scroll(isize),
    Page(isize),
    Start,
    End,
    Prompt(isize),
    Fold,
    Mark,
    Copy,
    Search(&'static str),
    Hit(isize),
    Ask,
    Answer,
    Command,
    Resize(usize, usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (-9_isize..9).prop_map(Act::Move),
        (-9_isize..9).prop_map(Act::Scroll),
        (-2_isize..3).prop_map(Act::Page),
        Just(Act::Start),
        Just(Act::End),
        prop::sample::select(vec![Act::Prompt(1), Act::Prompt(-1), Act::Hit(1), Act::Hit(-1)]),
        prop::sample::select(vec![Act::Fold, Act::Mark, Act::Copy, Act::Ask, Act::Answer, Act::Command]),
        prop::sample::select(vec![Act::Search("o"), Act::Search("漢"), Act::Search("none"), Act::Search("")]),
        (1_usize..60, 1_usize..12).prop_map(|(width, height)| Act::Resize(width, height)),
    ]
}

proptest! {
    #[test]
    fn any_order_of_keys_keeps_a_full_screen_with_the_cursor_on_it(acts in prop::collection::vec(act(), 1..60)) {
        let mut screen = Screen::new(6);
        for act in acts {
            match act {
                Act::Move(rows) => screen.on(|view, paint| view.move_by(rows, paint)),
                Act::Scroll(rows) => screen.on(|view, paint| view.scroll(rows, paint)),
                Act::Page(pages) => screen.on(|view, paint| view.page(pages, paint)),
                Act::Start => screen.on(View::to_start),
                Act::End => screen.on(View::to_end),
                Act::Prompt(direction) => drop(screen.on(|view, paint| view.to_prompt(direction, paint))),
                Act::Fold => screen.on(View::toggle_fold),
                Act::Mark => screen.on(View::toggle_mark),
                Act::Copy => drop(screen.on(View::copy)),
                Act::Search(query) => drop(screen.on(|view, paint| view.search(query, paint))),
                Act::Hit(direction) => drop(screen.on(|view, paint| view.next_hit(direction, paint))),
                Act::Ask => screen.ask("one two three\nfour 漢字 five"),
                Act::Answer => screen.answer("- one\n- two\n\n```\nlong code 漢字漢字漢字漢字漢字漢字漢字漢字\n```\n"),
                Act::Command => screen.command("c", "one\ntwo\nthree\nfour\nfive\n"),
                Act::Resize(width, height) => (screen.look.width, screen.height) = (width, height),
            }
            let rows = screen.rows();
            prop_assert!(rows.len() <= screen.height);
            let width = screen.look.width;
            prop_assert!(rows.iter().all(|row| row.width() <= width), "{rows:?}");
            let (top, cursor, height) = (screen.view.top, screen.view.cursor, screen.height);
            let all: usize = (0..screen.transcript.cells().len())
                .map(|cell| screen.on(|view, paint| view.rows_of(cell, paint).len()))
                .sum();
            prop_assert_eq!(rows.len(), all.min(height), "the screen is full");
            let bottom = screen.on(|view, paint| view.shifted(top, height as isize - 1, paint));
            prop_assert!(all == 0 || (top..=bottom).contains(&cursor), "{:?} {:?} {:?}", top, cursor, bottom);
            let is_user = |cell: usize| matches!(screen.transcript.cells()[cell].body, Body::User(_));
            prop_assert!(all == 0 || is_user(cursor.cell) || cursor.cell < screen.transcript.cells().len());
        }
    }
}
