//! The interface as a client of a session: what the runtime calls, on its own thread.
//!
//! Nothing here draws. Events and questions go into the [`Mailbox`]; the terminal's thread takes
//! them from there and answers questions with [`Screen::answer`].

pub mod asks;
pub mod mailbox;
pub mod messages;

use agent::{
    Client, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionEvent, ToolCallId,
};
use asks::{Answer, AskId, Asked, Asks};
use async_trait::async_trait;
use mailbox::{Letter, Mailbox};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The client of one session.
pub struct Screen {
    mailbox: Arc<Mailbox>,
    asks: Asks,
    /// The user's reasons for refused calls, until the model has received them.
    reasons: Mutex<HashMap<ToolCallId, String>>,
    delivery: Mutex<Delivery>,
}

/// Where events go.
#[derive(Debug, Default)]
enum Delivery {
    /// They are dropped: they are in the store, and are read from there.
    #[default]
    Dropped,
    /// They wait until the stored ones have been delivered.
    Held(Vec<SessionEvent>),
    /// They go into the mailbox.
    Direct,
}

impl Screen {
    /// Creates a client that delivers into a mailbox.
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self { mailbox, asks: Asks::default(), reasons: Mutex::default(), delivery: Mutex::default() }
    }

    /// Holds further events back until [`Screen::deliver`]; those before it were dropped.
    pub fn hold(&self, going_on: Vec<SessionEvent>) {
        *self.delivery() = Delivery::Held(going_on);
    }

    /// Delivers the events that were held back, and all further ones.
    pub fn deliver(&self) {
        let mut delivery = self.delivery();
        if let Delivery::Held(held) = std::mem::replace(&mut *delivery, Delivery::Direct) {
            held.into_iter().for_each(|event| self.mailbox.push(Letter::Event(Box::new(event))));
        }
    }

    fn delivery(&self) -> MutexGuard<'_, Delivery> {
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a question. The answer to a withdrawn question is dropped.
    pub fn answer(&self, id: AskId, answer: Answer) {
        self.asks.answer(id, answer);
    }

    /// Puts a question to the user. It is withdrawn when the caller stops waiting.
    async fn put(&self, asked: Asked) -> Option<Answer> {
        let (id, answered) = self.asks.open();
        let _withdraw = Withdraw { id, screen: self };
        self.mailbox.push(Letter::Asked(id, Box::new(asked)));
        answered.await.ok()
    }
}

/// Takes a question off the screen when its caller no longer waits, answered or not.
struct Withdraw<'a> {
    id: AskId,
    screen: &'a Screen,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.screen.asks.close(self.id);
        self.screen.mailbox.push(Letter::Withdrawn(self.id));
    }
}

#[async_trait]
impl Client for Screen {
    fn notify(&self, event: &SessionEvent) {
        match &mut *self.delivery() {
            Delivery::Dropped => {}
            Delivery::Held(held) => held.push(event.clone()),
            Delivery::Direct => self.mailbox.push(Letter::Event(Box::new(event.clone()))),
        }
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        let call = request.id.clone();
        match self.put(Asked::Permission(request)).await {
            Some(Answer::Permission { outcome, reason }) => {
                if let Some(reason) = reason.filter(|_| !outcome.allows()) {
                    self.reasons.lock().unwrap_or_else(PoisonError::into_inner).insert(call, reason);
                }
                outcome
            }
            Some(Answer::Question(_)) | None => PermissionOutcome::Cancelled,
        }
    }

    fn rejection(&self, request: &PermissionRequest) -> Option<String> {
        let reason = self.reasons.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.id)?;
        Some(format!("The user refused this call and said: {reason}"))
    }

    fn takes_questions(&self) -> bool {
        true
    }

    async fn ask(&self, question: Question) -> QuestionOutcome {
        match self.put(Asked::Question(question)).await {
            Some(Answer::Question(outcome)) => outcome,
            Some(Answer::Permission { .. }) | None => QuestionOutcome::Dismissed,
        }
    }

    async fn room(&self) {
        self.mailbox.room().await;
    }
}
