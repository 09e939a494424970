//! All clients that drive a session at the same time, as one client: each receives every event, and
//! a question goes to all of them.

use crate::limits::QUESTION_WAIT;
use crate::{
    AnyTool, Client, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionEvent, Surface,
};
use async_trait::async_trait;
use futures::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The surfaces of a session. Tools act through the one that joined first.
pub(crate) struct Watchers {
    state: Mutex<State>,
    /// Notified when a surface joins or leaves.
    changed: Notify,
}

struct State {
    surfaces: Vec<Surface>,
    /// The last surface, after it was detached: the session goes on without one.
    detached: Option<Surface>,
    /// Whether the first surface has left and the tools have not yet moved to the next.
    moved: bool,
    /// Whether the last surface has left; no client can join a session that is being closed.
    over: bool,
    /// How many questions wait for an answer.
    asking: usize,
}

/// Counts a question until it is dropped.
struct Asking<'a>(&'a Watchers);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.lock().asking -= 1;
    }
}

impl Watchers {
    /// Creates the watchers with the client that created or opened the session.
    pub(crate) fn new(surface: Surface) -> Self {
        let state = State { surfaces: vec![surface], detached: None, moved: false, over: false, asking: 0 };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// Adds a surface; returns false if the last one has already left.
    pub(crate) fn join(&self, surface: Surface) -> bool {
        let mut state = self.lock();
        if state.over {
            return false;
        }
        state.surfaces.push(surface);
        state.detached = None;
        drop(state);
        self.changed.notify_waiters();
        true
    }

    /// Removes a client and returns whether any remain. It receives no further questions or events.
    pub(crate) fn leave(&self, client: &Arc<dyn Client>) -> bool {
        let remains = {
            let mut state = self.lock();
            state.remove(client);
            state.over |= state.surfaces.is_empty();
            !state.over
        };
        self.changed.notify_waiters();
        remains
    }

    /// Removes a client, and leaves the session without one if it was the last.
    pub(crate) fn detach(&self, client: &Arc<dyn Client>) {
        {
            let mut state = self.lock();
            let removed = state.remove(client);
            if state.surfaces.is_empty() && removed.is_some() {
                state.detached = removed;
            }
        }
        self.changed.notify_waiters();
    }

    /// Ends a session without a client; returns false if one has joined. No client can join after
    /// that.
    pub(crate) fn end_if_detached(&self) -> bool {
        let mut state = self.lock();
        state.over |= state.surfaces.is_empty();
        state.over
    }

    /// Completes when a client is there.
    pub(crate) async fn joined(&self) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.count() > 0 {
                return;
            }
            changed.await;
        }
    }

    /// Whether `client` is among the watchers.
    pub(crate) fn includes(&self, client: &Arc<dyn Client>) -> bool {
        self.lock().surfaces.iter().any(|surface| Arc::ptr_eq(&surface.client, client))
    }

    /// Returns the number of watchers.
    pub(crate) fn count(&self) -> usize {
        self.lock().surfaces.len()
    }

    /// Whether a question waits for an answer.
    pub(crate) fn is_asking(&self) -> bool {
        self.lock().asking > 0
    }

    /// Returns the surface that tools must act through from now on, if the previous one has left.
    /// Reported once.
    pub(crate) fn moved(&self) -> Option<Surface> {
        let mut state = self.lock();
        let next = state.surfaces.first().filter(|_| state.moved).cloned();
        state.moved &= next.is_none();
        next
    }

    /// Returns the surface that tools act through; the last one if it was detached.
    pub(crate) fn current(&self) -> Option<Surface> {
        let state = self.lock();
        state.surfaces.first().or(state.detached.as_ref()).cloned()
    }

    /// Asks every client that is there, and every one that joins before there is an answer. The
    /// first outcome that is not `dismissed` counts and withdraws the question from the others.
    /// Returns `dismissed` once every client that is there has dismissed it. Without a client it
    /// waits for one, at most [`QUESTION_WAIT`].
    async fn ask_all<T: PartialEq + Clone, A: Future<Output = T> + Send>(
        &self,
        dismissed: T,
        ask: impl Fn(Arc<dyn Client>) -> A + Send,
    ) -> T {
        self.lock().asking += 1;
        let _asking = Asking(self);
        let mut asked: Vec<Arc<dyn Client>> = Vec::new();
        let mut answers = FuturesUnordered::new();
        let since = Instant::now();
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let mut clients = self.clients();
            clients.retain(|client| client.answers());
            for client in &clients {
                if !asked.iter().any(|asked| Arc::ptr_eq(asked, client)) {
                    asked.push(client.clone());
                    let (number, answer) = (asked.len() - 1, ask(client.clone()));
                    answers.push(async move { (number, answer.await) });
                }
            }
            if answers.is_empty() && !clients.is_empty() {
                return dismissed;
            }
            tokio::select! {
                biased;
                Some((number, outcome)) = answers.next() => {
                    // A client that has left has dismissed nothing.
                    if outcome != dismissed && self.includes(&asked[number]) {
                        return outcome;
                    }
                }
                () = changed => {}
                () = sleep_until(since + QUESTION_WAIT), if clients.is_empty() => return dismissed,
            }
        }
    }

    fn clients(&self) -> Vec<Arc<dyn Client>> {
        self.lock().surfaces.iter().map(|surface| surface.client.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state stays valid if a client panics in `notify`, so a poisoned lock is used as it
        // is.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remove(&mut self, client: &Arc<dyn Client>) -> Option<Surface> {
        let at = self.surfaces.iter().position(|surface| Arc::ptr_eq(&surface.client, client))?;
        self.moved |= at == 0;
        Some(self.surfaces.remove(at))
    }
}

#[async_trait]
impl Client for Watchers {
    fn notify(&self, event: &SessionEvent) {
        self.lock().surfaces.iter().for_each(|surface| surface.client.notify(event));
    }

    fn notify_written(&self, written: &SessionEvent, shown: &SessionEvent) {
        self.lock().surfaces.iter().for_each(|surface| surface.client.notify_written(written, shown));
    }

    fn stored(&self, number: u64) {
        self.lock().surfaces.iter().for_each(|surface| surface.client.stored(number));
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        let ask = |client: Arc<dyn Client>| {
            let request = request.clone();
            async move { client.request_permission(request).await }
        };
        self.ask_all(PermissionOutcome::Cancelled, ask).await
    }

    fn rejection(&self, request: &PermissionRequest) -> Option<String> {
        self.clients().iter().find_map(|client| client.rejection(request))
    }

    fn takes_questions(&self) -> bool {
        let state = self.lock();
        let surfaces = state.surfaces.iter().chain(&state.detached);
        surfaces.into_iter().any(|surface| surface.client.takes_questions())
    }

    async fn ask(&self, question: Question) -> QuestionOutcome {
        let ask = |client: Arc<dyn Client>| {
            let question = question.clone();
            async move { client.ask(question).await }
        };
        self.ask_all(QuestionOutcome::Unavailable, ask).await
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.current().map(|surface| surface.client.tools()).unwrap_or_default()
    }

    /// Waits until all clients have room: the slowest sets the pace. A client that leaves does not
    /// delay the others.
    async fn room(&self) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let clients = self.clients();
            tokio::select! {
                biased;
                _ = join_all(clients.iter().map(|client| client.room())) => return,
                () = changed => {}
            }
        }
    }

    async fn flush(&self) {
        for client in self.clients() {
            client.flush().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::FakeSystem;

    /// A client that answers immediately.
    struct Says(PermissionOutcome);

    #[async_trait]
    impl Client for Says {
        fn notify(&self, _event: &SessionEvent) {}

        async fn request_permission(&self, _request: PermissionRequest) -> PermissionOutcome {
            self.0
        }
    }

    fn surface(outcome: PermissionOutcome) -> Surface {
        Surface { client: Arc::new(Says(outcome)), system: Arc::new(FakeSystem::new()) }
    }

    #[test]
    fn tools_move_on_once_and_nobody_joins_what_is_over() {
        let [first, second, third] = [(); 3].map(|()| surface(PermissionOutcome::AllowOnce));
        let watchers = Watchers::new(first.clone());
        assert!(watchers.join(second.clone()) && watchers.join(third.clone()));
        assert!(watchers.leave(&second.client) && watchers.moved().is_none());
        assert!(watchers.leave(&first.client) && !watchers.includes(&first.client));
        assert!(Arc::ptr_eq(&watchers.moved().unwrap().system, &third.system));
        assert!(watchers.moved().is_none(), "it is said once");
        assert!(watchers.leave(&first.client), "leaving twice changes nothing");
        assert!(!watchers.leave(&third.client) && !watchers.join(second) && watchers.count() == 0);
    }

    #[tokio::test]
    async fn whoever_dismisses_a_question_leaves_it_to_the_others() {
        use PermissionOutcome::{AllowOnce, Cancelled, RejectOnce};
        for (answers, expected) in [
            (vec![Cancelled, AllowOnce], AllowOnce),
            (vec![RejectOnce, Cancelled], RejectOnce),
            (vec![Cancelled, Cancelled], Cancelled),
        ] {
            let mut surfaces = answers.into_iter().map(surface);
            let watchers = Watchers::new(surfaces.next().unwrap());
            surfaces.for_each(|surface| assert!(watchers.join(surface)));
            let request = PermissionRequest {
                id: "tool_0".into(),
                name: "bash".to_owned(),
                description: crate::Description {
                    title: String::new(),
                    kind: crate::ToolKind::Execute,
                    locations: Vec::new(),
                },
                question: String::new(),
                brief: String::new(),
                place: crate::CallPlace::default(),
                content: Vec::new(),
                raw_input: serde_json::Value::Null,
                grant_label: String::new(),
                remedy: crate::Remedy::default(),
            };
            assert_eq!(watchers.request_permission(request).await, expected);
        }
    }
}
