//! Requests to change the goal while a turn runs. The turn applies them between two requests to the
//! model, so that it alone changes the goal.

use crate::session::message::GoalRequest;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// The requests that the running turn has not applied yet.
#[derive(Default)]
pub(crate) struct GoalRequests(Mutex<VecDeque<GoalRequest>>);

impl GoalRequests {
    pub(crate) fn push(&self, request: GoalRequest) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(request);
    }

    /// Takes the next request.
    pub(crate) fn next(&self) -> Option<GoalRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
