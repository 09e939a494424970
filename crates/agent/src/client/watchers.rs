//! All clients that drive a session at the same time, as one client: each receives every event, and
//! a question goes to all of them.

use crate::{
    AnyTool, Client, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionEvent, Surface,
};
use async_trait::async_trait;
use futures::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The surfaces of a session. Tools act through the one that joined first.
pub(crate) struct Watchers {
    state: Mutex<State>,
    /// Notified when a surface leaves.
    left: Notify,
}

struct State {
    surfaces: Vec<Surface>,
    /// Whether the first surface has left and the tools have not yet moved to the next.
    moved: bool,
    /// Whether the last surface has left; no client can join a session that is being closed.
    over: bool,
}

impl Watchers {
    /// Creates the watchers with the client that created or opened the session.
    pub(crate) fn new(surface: Surface) -> Self {
        let state = State { surfaces: vec![surface], moved: false, over: false };
        Self { state: Mutex::new(state), left: Notify::new() }
    }

    /// Adds a surface; returns false if the last one has already left.
    pub(crate) fn join(&self, surface: Surface) -> bool {
        let mut state = self.lock();
        if !state.over {
            state.surfaces.push(surface);
        }
        !state.over
    }

    /// Removes a client and returns whether any remain. It receives no further questions or events.
    pub(crate) fn leave(&self, client: &Arc<dyn Client>) -> bool {
        let mut state = self.lock();
        if let Some(at) = state.surfaces.iter().position(|surface| Arc::ptr_eq(&surface.client, client)) {
            state.moved |= at == 0;
            state.surfaces.remove(at);
        }
        state.over |= state.surfaces.is_empty();
        self.left.notify_waiters();
        !state.over
    }

    /// Whether `client` is among the watchers.
    pub(crate) fn includes(&self, client: &Arc<dyn Client>) -> bool {
        self.lock().surfaces.iter().any(|surface| Arc::ptr_eq(&surface.client, client))
    }

    /// Returns the number of watchers.
    pub(crate) fn count(&self) -> usize {
        self.lock().surfaces.len()
    }

    /// Returns the surface that tools must act through from now on, if the previous one has left.
    /// Reported once.
    pub(crate) fn moved(&self) -> Option<Surface> {
        let mut state = self.lock();
        let next = state.surfaces.first().filter(|_| state.moved).cloned();
        state.moved &= next.is_none();
        next
    }

    /// Returns the surface that tools act through.
    pub(crate) fn current(&self) -> Option<Surface> {
        self.lock().surfaces.first().cloned()
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

#[async_trait]
impl Client for Watchers {
    fn notify(&self, event: &SessionEvent) {
        self.lock().surfaces.iter().for_each(|surface| surface.client.notify(event));
    }

    /// The first answer counts and withdraws the question from the other clients. A client that
    /// disconnects or dismisses the question leaves it to the others.
    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        let clients = self.clients();
        let asked = clients.iter().map(|client| client.request_permission(request.clone()));
        let mut answers = asked.collect::<FuturesUnordered<_>>();
        while let Some(outcome) = answers.next().await {
            if outcome != PermissionOutcome::Cancelled {
                return outcome;
            }
        }
        PermissionOutcome::Cancelled
    }

    fn rejection(&self, request: &PermissionRequest) -> Option<String> {
        self.clients().iter().find_map(|client| client.rejection(request))
    }

    fn takes_questions(&self) -> bool {
        self.clients().iter().any(|client| client.takes_questions())
    }

    async fn ask(&self, question: Question) -> QuestionOutcome {
        let clients = self.clients();
        let asked = clients.iter().map(|client| client.ask(question.clone()));
        let mut answers = asked.collect::<FuturesUnordered<_>>();
        while let Some(outcome) = answers.next().await {
            if outcome != QuestionOutcome::Unavailable {
                return outcome;
            }
        }
        QuestionOutcome::Unavailable
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.clients().first().map(|client| client.tools()).unwrap_or_default()
    }

    /// Waits until all clients have room: the slowest sets the pace. A client that leaves does not
    /// delay the others.
    async fn room(&self) {
        loop {
            let mut left = std::pin::pin!(self.left.notified());
            left.as_mut().enable();
            let clients = self.clients();
            tokio::select! {
                biased;
                _ = join_all(clients.iter().map(|client| client.room())) => return,
                () = left => {}
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
            };
            assert_eq!(watchers.request_permission(request).await, expected);
        }
    }
}
