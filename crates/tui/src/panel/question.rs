//! A question of a tool that waits, and what the keys do to it.

use super::permission::Step;
use crate::client::asks::Answer;
use crate::field::Field;
use crate::input::{Key, KeyCode};
use crate::keys::Action;
use agent::{Question, QuestionOutcome};

/// A question of a tool that waits.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) question: Question,
    /// The choice that Enter answers with. None at first: Enter alone answers nothing.
    pub(super) selected: Option<usize>,
    /// An answer in the user's own words.
    pub(super) text: Field,
}

impl Asking {
    pub(super) fn new(question: Question) -> Self {
        Self { question, selected: None, text: Field::default() }
    }

    pub(super) fn act(&mut self, action: Action) -> Step {
        match action {
            Action::QuestionNext => self.select(true),
            Action::QuestionPrevious => self.select(false),
            Action::QuestionAnswer => return self.answer(),
            Action::QuestionDecline => {
                return Step::Answered(Answer::Question(QuestionOutcome::Dismissed));
            }
            Action::QuestionLeave => return Step::Leave,
            _ => {}
        }
        Step::Waits
    }

    /// Takes a typed key: a number selects a choice, other characters begin an answer in words.
    pub(super) fn key(&mut self, key: Key) {
        if let KeyCode::Char(c) = key.code
            && self.text.is_empty()
            && let Some(number) = c.to_digit(10).and_then(|digit| usize::try_from(digit).ok())
            && (1..=self.question.choices.len()).contains(&number)
        {
            self.selected = Some(number - 1);
        } else if self.text.key(key) && !self.text.is_empty() {
            self.selected = None;
        }
    }

    /// Takes a pasted text as a part of the answer.
    pub(super) fn paste(&mut self, text: &str) {
        self.text.insert(text);
        self.selected = None;
    }

    fn select(&mut self, forward: bool) {
        let many = self.question.choices.len();
        if many > 0 && self.text.is_empty() {
            self.selected = Some(match (self.selected, forward) {
                (Some(at), true) => (at + 1) % many,
                (Some(at), false) => (at + many - 1) % many,
                (None, true) => 0,
                (None, false) => many - 1,
            });
        }
    }

    fn answer(&self) -> Step {
        let words = Some(self.text.text().trim()).filter(|text| !text.is_empty());
        let choice = self.selected.and_then(|at| self.question.choices.get(at));
        match words.map(str::to_owned).or_else(|| choice.map(|choice| choice.label.clone())) {
            Some(answer) => Step::Answered(Answer::Question(QuestionOutcome::Answered(answer))),
            None => Step::Waits,
        }
    }
}
