//! Reports to the service manager that started the server: systemd, with `Type=notify` and
//! `WatchdogSec`. Without one, they do nothing.

use sd_notify::NotifyState;

/// Reports that clients can connect.
pub(super) fn ready() {
    report(NotifyState::Ready);
}

/// Reports that the server stops.
pub(super) fn stopping() {
    report(NotifyState::Stopping);
}

/// Reports that tasks run, as often as the service manager wants it.
pub(super) async fn keep_alive() {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    loop {
        report(NotifyState::Watchdog);
        tokio::time::sleep(limit / 2).await;
    }
}

fn report(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager was not reached");
    }
}
