//! The interface as lines, for screen readers and dumb terminals: messages are printed once, and
//! the user answers with whole lines.

use super::{App, Overlay, effect::Effect};
use crate::{
    client::asks::{Answer, AskId, Asked},
    composer::{Fragment, Outcome},
    driver::request::Request,
    keys::Action,
    limits::HEARTBEAT,
    look::Look,
    screens::frame::{Frame, Screen},
    text::row::Row,
    transcript::rows::mark,
};
use agent::{PermissionOutcome, Question, QuestionOutcome, one_line};
use ratatui_core::text::Line;
use std::{collections::VecDeque, time::Duration};

/// What plain mode still has to say, and the questions that wait.
#[derive(Debug, Default)]
pub(super) struct PlainState {
    lines: Vec<String>,
    asked: VecDeque<(AskId, Asked)>,
    /// Whether the first question was printed.
    put: bool,
    /// When something was printed last.
    said: Duration,
    /// Whether the prompt sign is on the last line.
    prompted: bool,
    begun: bool,
    /// The page of the list that was printed last, from 0.
    pub(super) page: usize,
}

impl PlainState {
    /// Prints a text that may come from outside.
    pub(super) fn say(&mut self, text: &str) {
        self.lines.extend(text.lines().map(|line| format!("{}{}", mark(line), one_line(line))));
    }

    /// Prints a line of Tiller's own.
    pub(super) fn hint(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    /// Adds a question.
    pub(super) fn ask(&mut self, id: AskId, asked: Asked) {
        self.asked.push_back((id, asked));
    }

    /// Removes a question that no longer waits.
    pub(super) fn withdraw(&mut self, id: AskId) {
        if self.asked.front().is_some_and(|(first, _)| *first == id) {
            self.put = false;
        }
        self.asked.retain(|(other, _)| *other != id);
    }

    /// Returns when the next sign of life is due.
    pub(super) fn due(&self, running: bool, screen: Screen) -> Option<Duration> {
        (running && screen == Screen::Plain).then_some(self.said + HEARTBEAT)
    }
}

impl App {
    /// Returns the lines to print now.
    pub(super) fn plain_frame(&mut self) -> Frame {
        let mut lines: Vec<String> = Vec::new();
        if !std::mem::replace(&mut self.plain.begun, true) {
            let because = self.options.plain_because.clone().unwrap_or_default();
            lines.push(format!(
                "tiller, plain lines{because}. Write a message and press Enter; /help lists commands."
            ));
        }
        let look = Look { measure: self.options.look.measure, ..Look::plain() };
        let mut commit = self.step(&look, 0).commit;
        lines.append(&mut self.plain.lines);
        if let (false, Some((_, asked))) = (self.plain.put, self.plain.asked.front()) {
            self.plain.put = true;
            lines.extend(question_lines(asked));
        }
        if self.is_running() && self.now.saturating_sub(self.plain.said) >= HEARTBEAT {
            lines.push("tiller: still working".to_owned());
        }
        commit.extend(lines.into_iter().map(|line| Row::logical(Line::from(line))));
        if !commit.is_empty() {
            self.plain.said = self.now;
            self.plain.prompted = false;
        }
        let ready = !self.is_running() && self.session.is_some() && !self.replaying;
        if ready && !self.plain.prompted {
            self.plain.prompted = true;
            if self.can_retry() {
                let keys = self.retry_keys();
                commit.push(Row::logical(Line::from(format!(
                    "the turn failed; {keys} asks again, /model names others"
                ))));
            }
            commit.push(Row::new("ready; your message:"));
        }
        Frame { commit, live: Vec::new(), cursor: None }
    }

    /// Takes a line that the user typed.
    pub(super) fn line(&mut self, line: &str) -> Vec<Effect> {
        self.plain.prompted = false;
        if let Some((id, asked)) = self.plain.asked.front() {
            let (id, answer) = (*id, answer(asked, line.trim()));
            return match answer {
                Ok(answer) => {
                    self.plain.asked.pop_front();
                    self.plain.put = false;
                    vec![Effect::Answer(id, answer)]
                }
                Err(hint) => {
                    self.plain.hint(hint);
                    Vec::new()
                }
            };
        }
        if let Overlay::List(_) = self.overlay {
            return self.line_of_list(line.trim());
        }
        if line.trim() == "/stop" {
            return vec![Effect::Request(Request::Cancel)];
        }
        self.composer.set(Fragment::text(line));
        match self.composer.act(Action::Send) {
            Outcome::Sent(sent) => self.sent(sent),
            Outcome::Ignored | Outcome::Changed => Vec::new(),
        }
    }
}

fn question_lines(asked: &Asked) -> Vec<String> {
    let mut lines = Vec::new();
    match asked {
        Asked::Permission(request) => {
            lines.extend(
                request.question.lines().map(|line| format!("permission required: {}", one_line(line))),
            );
            let always = match request.grant_label.is_empty() {
                true => String::new(),
                false => format!(", always (covers {})", one_line(&request.grant_label)),
            };
            lines.push(format!("Answer: yes{always}, no, never, or because REASON"));
        }
        Asked::Question(question) => {
            lines.push(format!("question: {}", one_line(&question.text)));
            for (number, choice) in question.choices.iter().enumerate() {
                let recommended = if choice.recommended { " (recommended)" } else { "" };
                let detail = choice.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
                lines.push(format!(
                    "{}. {}{recommended}{}",
                    number + 1,
                    one_line(&choice.label),
                    one_line(&detail)
                ));
            }
            lines.push("Answer with a number or in words, or write decline".to_owned());
        }
    }
    lines
}

/// Returns the answer that a line gives, or what can be answered.
fn answer(asked: &Asked, line: &str) -> Result<Answer, &'static str> {
    match asked {
        Asked::Permission(request) => {
            let outcome = |outcome| Ok(Answer::Permission { outcome, reason: None });
            match line {
                "yes" => outcome(PermissionOutcome::AllowOnce),
                "always" if !request.grant_label.is_empty() => outcome(PermissionOutcome::AllowAlways),
                "no" => outcome(PermissionOutcome::RejectOnce),
                "never" => outcome(PermissionOutcome::RejectAlways),
                _ => match line.strip_prefix("because ").map(str::trim).filter(|reason| !reason.is_empty()) {
                    Some(reason) => Ok(Answer::Permission {
                        outcome: PermissionOutcome::RejectOnce,
                        reason: Some(reason.to_owned()),
                    }),
                    None => Err("write yes, always, no, never, or because REASON; the request still waits"),
                },
            }
        }
        Asked::Question(question) => answer_in_words(question, line),
    }
}

fn answer_in_words(question: &Question, line: &str) -> Result<Answer, &'static str> {
    let chosen = line.parse::<usize>().ok().and_then(|number| question.choices.get(number.checked_sub(1)?));
    match (chosen, line) {
        (Some(choice), _) => Ok(Answer::Question(QuestionOutcome::Answered(choice.label.clone()))),
        (None, "") => Err("write a number or an answer, or decline; the question still waits"),
        (None, "decline") => Ok(Answer::Question(QuestionOutcome::Dismissed)),
        (None, words) => Ok(Answer::Question(QuestionOutcome::Answered(words.to_owned()))),
    }
}
