//! File work on the thread pool.

/// Runs file work on the blocking thread pool, one hop per operation.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down and drops this future with it.
            Err(_) => std::future::pending().await,
        },
    }
}
