//! A session that another process holds: its events are read as far as they are stored, until the
//! user takes it over or opens another.

use super::{
    Driver,
    reply::{OpenedSession, Reply},
    request::Which,
};
use crate::client::mailbox::Letter;
use agent::{LeaseHolder, SessionId, SessionState};

/// A session that is read.
pub(super) struct Watched {
    pub(super) id: SessionId,
    /// How it was to be opened.
    which: Which,
    /// The number of the last event that was delivered.
    last: u64,
    /// The process that holds it.
    holder: Option<LeaseHolder>,
    /// Whether it could not be read, so that no further attempt is made.
    is_broken: bool,
}

impl Driver {
    /// Leaves the open session and shows one that another process holds.
    pub(super) async fn watch(&mut self, id: SessionId, holder: LeaseHolder, which: Which) {
        let record = match self.runtime.record(&id).await {
            Ok(record) => record,
            Err(error) => return self.reply(Reply::Failed(error.to_string())),
        };
        self.leave().await;
        let state = SessionState::of(&record);
        self.reply(Reply::Opened(Box::new(OpenedSession {
            id: id.clone(),
            cwd: record.cwd,
            state,
            commands: Vec::new(),
            new: false,
            held: Some(holder.clone()),
        })));
        self.watched = Some(Watched { id, which, last: 0, holder: Some(holder), is_broken: false });
        self.read_on().await;
        self.reply(Reply::Replayed);
    }

    /// Whether a session is read that another process may write.
    pub(super) fn is_watching(&self) -> bool {
        self.watched.as_ref().is_some_and(|watched| !watched.is_broken)
    }

    /// Delivers what the other process has stored since, and says when it lets the session go.
    pub(super) async fn follow(&mut self) {
        self.read_on().await;
        let Some(watched) = &self.watched else { return };
        let holder = self.runtime.holder(&watched.id).await;
        if let (Ok(holder), Some(watched)) = (holder, &mut self.watched)
            && holder != watched.holder
        {
            watched.holder.clone_from(&holder);
            self.reply(Reply::HeldBy(holder));
        }
    }

    async fn read_on(&mut self) {
        loop {
            let Some(watched) = &mut self.watched else { return };
            match self.runtime.shown_after(&watched.id, watched.last).await {
                Ok((_, last)) if last == watched.last => return,
                Ok((events, last)) => {
                    watched.last = last;
                    events.into_iter().for_each(|event| self.mailbox.push(Letter::Event(Box::new(event))));
                    self.mailbox.room().await;
                }
                Err(error) => {
                    watched.is_broken = true;
                    return self.reply(Reply::Failed(error.to_string()));
                }
            }
        }
    }

    /// Takes the session that is read over.
    pub(super) async fn take_over(&mut self) {
        match &self.watched {
            Some(watched) => {
                let which = watched.which.clone().taken_over();
                self.open(which).await;
            }
            None => self.reply(Reply::Failed("no other process holds this session".to_owned())),
        }
    }
}
