//! The slots of running subagents: a limit for all subagents of a process.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots of a process. A subagent holds one while it runs, and gives it back while it waits for
/// its own subagents. They are granted in the order in which they were requested.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    /// The number of slots, and of those that are to be removed once they are given back.
    size: Mutex<(usize, usize)>,
}

impl Default for Slots {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(0)), size: Mutex::new((0, 0)) }
    }
}

impl Slots {
    /// Sets the number of slots; 0 means no limit. Slots in use stay in use.
    pub(super) fn resize(&self, limit: usize) {
        let limit = if limit == 0 { Semaphore::MAX_PERMITS / 2 } else { limit };
        let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let (slots, surplus) = *size;
        *size = match limit.checked_sub(slots) {
            Some(more) => {
                let kept = surplus.min(more);
                self.free.add_permits(more - kept);
                (limit, surplus - kept)
            }
            None => {
                let fewer = slots - limit;
                (limit, surplus + fewer - self.free.forget_permits(fewer))
            }
        };
    }

    async fn acquire(&self) -> OwnedSemaphorePermit {
        self.free.clone().acquire_owned().await.expect("the semaphore is never closed")
    }

    fn release(&self, permit: OwnedSemaphorePermit) {
        let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        if size.1 > 0 {
            size.1 -= 1;
            permit.forget();
        }
    }
}

/// The slot of one subagent.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    state: tokio::sync::Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    permit: Option<OwnedSemaphorePermit>,
    /// How many of the subagent's calls wait, so that it needs no slot.
    waiting: usize,
}

impl Slot {
    pub(super) fn new(slots: Arc<Slots>) -> Self {
        Self { slots, state: tokio::sync::Mutex::default() }
    }

    /// Waits for a slot. Cancel-safe.
    pub(super) async fn take(&self) {
        let mut held = self.state.lock().await;
        if held.permit.is_none() {
            held.permit = Some(self.slots.acquire().await);
        }
    }

    /// Gives the slot back when the subagent has ended.
    pub(super) async fn give_back(&self) {
        if let Some(permit) = self.state.lock().await.permit.take() {
            self.slots.release(permit);
        }
    }

    /// Gives the slot back while a call of the subagent waits. Every call is followed by one of
    /// [`Slot::go_on`].
    pub(super) async fn wait(&self) {
        let mut held = self.state.lock().await;
        held.waiting += 1;
        if held.waiting == 1
            && let Some(permit) = held.permit.take()
        {
            self.slots.release(permit);
        }
    }

    /// Ends the wait of a call. The last one takes the slot again, and may have to wait for it.
    pub(super) async fn go_on(&self) {
        let mut held = self.state.lock().await;
        held.waiting = held.waiting.saturating_sub(1);
        if held.waiting == 0 && held.permit.is_none() {
            held.permit = Some(self.slots.acquire().await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_subagent_that_waits_leaves_its_slot_to_another() {
        let slots = Arc::new(Slots::default());
        slots.resize(1);
        let (parent, child) = (Slot::new(slots.clone()), Slot::new(slots.clone()));
        parent.take().await;
        assert_eq!(slots.free.available_permits(), 0);
        parent.wait().await;
        parent.wait().await;
        child.take().await;
        child.give_back().await;
        parent.go_on().await;
        assert_eq!(slots.free.available_permits(), 1, "another call still waits");
        parent.go_on().await;
        assert_eq!(slots.free.available_permits(), 0);
    }

    #[tokio::test]
    async fn the_number_of_slots_follows_the_settings() {
        let slots = Arc::new(Slots::default());
        slots.resize(3);
        let held = [Slot::new(slots.clone()), Slot::new(slots.clone())];
        for slot in &held {
            slot.take().await;
        }
        slots.resize(1);
        assert_eq!(slots.free.available_permits(), 0);
        held[0].give_back().await;
        assert_eq!(slots.free.available_permits(), 0, "one of two was too many");
        held[1].give_back().await;
        assert_eq!(slots.free.available_permits(), 1);
        slots.resize(0);
        assert!(slots.free.available_permits() > 1_000_000);
    }
}
