//! The interface as lines, for screen readers and dumb terminals: messages are printed once, and
//! the user answers with whole lines.

use super::{App, Overlay, effect::Effect};
use crate::{
    client::asks::{Answer, AskId, Asked},
    composer::{Fragment, Outcome},
    driver::request::Request,
    keys::Action,
    limits::{ANSWER_PAUSE, HEARTBEAT, TYPED},
    screens::frame::{Frame, Screen},
    text::row::Row,
    transcript::rows::mark,
};
use agent::{Content, PermissionOutcome, Question, QuestionOutcome, one_line};
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
    /// Whether the user sees what is typed, because the terminal shows it.
    echoes: bool,
    /// What was typed and sent and is not part of the conversation yet.
    typed: VecDeque<Vec<Content>>,
    /// Until when the answer to a line is awaited before the next one is asked for.
    awaited: Option<Duration>,
    begun: bool,
    /// Whether the line about trying the failed turn again was printed.
    retry_offered: bool,
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

    /// Returns the questions that wait, the first one first.
    pub(super) fn asked(&self) -> &VecDeque<(AskId, Asked)> {
        &self.asked
    }

    /// Has the first question printed, because another screen showed it before.
    pub(super) fn put_again(&mut self) {
        self.put = false;
    }

    /// Returns when the next sign of life is due, or the next line is asked for.
    pub(super) fn due(&self, running: bool, screen: Screen) -> Option<Duration> {
        let sign = running.then_some(self.said + HEARTBEAT);
        sign.into_iter().chain(self.awaited).min().filter(|_| screen == Screen::Plain)
    }

    /// Notes that something came from the runtime, perhaps the answer to a line.
    pub(super) fn answered(&mut self) {
        self.awaited = None;
    }

    /// Whether a message that became part of the conversation is seen already, because the terminal
    /// showed it while it was typed.
    pub(super) fn was_typed(&mut self, content: &[Content]) -> bool {
        let at = self.typed.iter().position(|typed| typed == content);
        at.and_then(|at| self.typed.remove(at)).is_some()
    }
}

impl App {
    /// Returns the lines to print now.
    pub(super) fn plain_frame(&mut self) -> Frame {
        let mut lines: Vec<String> = Vec::new();
        if !std::mem::replace(&mut self.plain.begun, true) {
            let because = self.options.notes.plain_because.clone().unwrap_or_default();
            lines.push(format!(
                "tiller, plain lines{because}. Write a message and press Enter; /help lists commands."
            ));
        }
        let look = self.plain_look();
        let mut commit = self.step(&look, 0).commit;
        lines.append(&mut self.plain.lines);
        if let (false, Some((_, asked))) = (self.plain.put, self.plain.asked.front()) {
            self.plain.put = true;
            lines.extend(question_lines(asked));
        }
        if self.is_running() && self.now.saturating_sub(self.plain.said) >= HEARTBEAT {
            lines.push("tiller: still working".to_owned());
        }
        lines.extend(self.retry_line());
        commit.extend(lines.into_iter().map(|line| Row::logical(Line::from(line))));
        if !commit.is_empty() {
            self.plain.said = self.now;
        }
        let live = if self.awaits_line() { vec![Row::empty()] } else { Vec::new() };
        Frame { commit, live, cursor: None }
    }

    /// Returns the offer to ask again after a failed turn, once for each.
    fn retry_line(&mut self) -> Option<String> {
        let offered = !self.is_running() && !self.replaying && self.session.is_some() && self.can_retry();
        let before = std::mem::replace(&mut self.plain.retry_offered, offered);
        (offered && !before)
            .then(|| format!("the turn failed; {} asks again, /model names others", self.retry_keys()))
    }

    /// Whether the next line of the user is asked for.
    fn awaits_line(&self) -> bool {
        if self.plain.awaited.is_some_and(|until| self.now < until) {
            return false;
        }
        let chooses = matches!(self.overlay, Overlay::List(_) | Overlay::Binding(_));
        let ready = !self.is_running() && self.waiting.all().is_empty();
        let opened = self.session.is_some() && !self.replaying;
        chooses || !self.plain.asked.is_empty() || (ready && opened)
    }

    /// Sets whether the user sees what is typed in plain mode, because the terminal shows it.
    pub fn set_echo(&mut self, echoes: bool) {
        self.plain.echoes = echoes;
    }

    /// Takes a line that the user typed.
    pub(super) fn line(&mut self, line: &str) -> Vec<Effect> {
        let effects = self.take_line(line);
        self.plain.awaited = None;
        for effect in &effects {
            match effect {
                Effect::Request(Request::Send { content, .. }) if self.plain.echoes => {
                    self.plain.typed.push_back(content.clone());
                    if self.plain.typed.len() > TYPED {
                        self.plain.typed.pop_front();
                    }
                }
                // A message waits until it is part of the conversation.
                Effect::Request(Request::Send { .. } | Request::Remember(_)) => {}
                Effect::Request(_) | Effect::Answer(..) => self.plain.awaited = Some(self.now + ANSWER_PAUSE),
                _ => {}
            }
        }
        effects
    }

    fn take_line(&mut self, line: &str) -> Vec<Effect> {
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
        if let Overlay::Binding(_) = self.overlay {
            return self.line_of_binding(line.trim());
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
            let everywhere = match &request.remedy.user_rule {
                None => String::new(),
                Some(rule) => format!(", everywhere (adds {rule} to your settings)"),
            };
            lines.push(format!("Answer: yes{always}{everywhere}, no, never, or because REASON"));
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
                "everywhere" if request.remedy.user_rule.is_some() => {
                    outcome(PermissionOutcome::AllowForUser)
                }
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
