//! Counts the connection's running tasks, so that closing can wait for them.

use futures::FutureExt;
use std::{panic::AssertUnwindSafe, pin::Pin, sync::Arc, task::Poll};
use tokio::sync::watch;

/// Runs tasks beside the dispatch loop.
#[derive(Debug, Clone)]
pub(crate) struct Tasks(Arc<watch::Sender<usize>>);

impl Default for Tasks {
    fn default() -> Self {
        Self(Arc::new(watch::channel(0).0))
    }
}

impl Tasks {
    /// Runs a future.
    ///
    /// Its first step runs now, so that requests are handled in the order of arrival; the rest runs
    /// in its own task. A panic ends only this future: dropping its reply answers the request with
    /// an internal error.
    pub(crate) async fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work: Pin<Box<_>> = Box::pin(AssertUnwindSafe(work).catch_unwind());
        let first = std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        match first {
            Poll::Ready(done) => log_panic(done),
            Poll::Pending => {
                let running = Running::new(self.0.clone());
                tokio::spawn(async move {
                    log_panic(work.await);
                    drop(running);
                });
            }
        }
    }

    /// Waits until no task runs.
    pub(crate) async fn all_settled(&self) {
        let mut running = self.0.subscribe();
        // We own the sender, so the channel cannot close while we wait.
        let _ = running.wait_for(|count| *count == 0).await;
    }
}

struct Running(Arc<watch::Sender<usize>>);

impl Running {
    fn new(count: Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

fn log_panic(done: Result<(), Box<dyn std::any::Any + Send>>) {
    if let Err(panic) = done {
        tracing::error!(
            text = agent::panic_text(panic.as_ref()),
            "a request's handler panicked; the connection continues"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::{mpsc, oneshot};

    #[tokio::test]
    async fn runs_first_steps_in_order_and_survives_a_panic() {
        let tasks = Tasks::default();
        let (steps, mut taken) = mpsc::unbounded_channel();
        let (go, wait) = oneshot::channel::<()>();
        let sender = steps.clone();
        tasks
            .run(async move {
                sender.send(1).unwrap();
                wait.await.unwrap();
                sender.send(3).unwrap();
            })
            .await;
        tasks.run(async { panic!("on purpose") }).await;
        tasks.run(async move { steps.send(2).unwrap() }).await;
        assert_eq!((taken.recv().await, taken.recv().await), (Some(1), Some(2)));
        go.send(()).unwrap();
        tasks.all_settled().await;
        assert_eq!(taken.recv().await, Some(3));
    }
}
