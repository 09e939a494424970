//! Whether a connection's native events are sent, and under which prefix.

use super::Prefix;
use crate::Events;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The switch for native events: off until the client opts in, unless the options fix it. Once on,
/// the prefix never changes.
#[derive(Debug, Default)]
pub(crate) struct EventsSwitch {
    /// 0 for off; otherwise the index in [`Prefix::ALL`] plus one.
    prefix: AtomicU8,
    /// Whether the options decide, regardless of the client.
    fixed: bool,
    /// Whether the client speaks the KosmoKrator wire.
    kosmokrator: AtomicBool,
}

impl EventsSwitch {
    /// Creates the switch with the options' initial state.
    pub(crate) fn new(events: Events) -> Self {
        let switch = Self { fixed: events != Events::Auto, ..Self::default() };
        match events {
            Events::Auto | Events::Off => {}
            Events::Tiller => switch.store(Prefix::Tiller),
            Events::Kosmokrator => {
                switch.store(Prefix::Kosmokrator);
                switch.kosmokrator.store(true, Ordering::Relaxed);
            }
        }
        switch
    }

    /// Returns the prefix of events; `None` while they are off.
    pub(crate) fn prefix(&self) -> Option<Prefix> {
        let place = usize::from(self.prefix.load(Ordering::Relaxed)).checked_sub(1)?;
        Prefix::ALL.get(place).copied()
    }

    /// Returns whether the client speaks the KosmoKrator wire: responses then have that wire's keys
    /// beside the protocol's.
    pub(crate) fn is_kosmokrator(&self) -> bool {
        self.kosmokrator.load(Ordering::Relaxed)
    }

    /// Handles the parameters of `initialize`; `key` is the name of the member with the client's
    /// capabilities. Without that member, the client speaks the KosmoKrator wire.
    pub(crate) fn on_initialize(&self, params: &Value, key: &str) {
        if self.fixed {
            return;
        }
        match params.get(key) {
            Some(capabilities) => {
                if capabilities.pointer("/_meta/tiller/events") == Some(&Value::Bool(true)) {
                    self.store(Prefix::Tiller);
                }
            }
            None => {
                self.store(Prefix::Kosmokrator);
                self.kosmokrator.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Handles a call of a native method, which turns events on under its prefix.
    pub(crate) fn on_native_call(&self, prefix: Prefix) {
        if !self.fixed && self.prefix().is_none() {
            self.store(prefix);
        }
    }

    fn store(&self, prefix: Prefix) {
        let place = Prefix::ALL.iter().position(|known| *known == prefix).unwrap_or_default();
        self.prefix.store(u8::try_from(place + 1).unwrap_or_default(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(
        events: Events,
        params: Value,
        called: Option<Prefix>,
        expected: Option<Prefix>,
        kosmokrator: bool,
    ) {
        let switch = EventsSwitch::new(events);
        switch.on_initialize(&params, "clientCapabilities");
        called.into_iter().for_each(|prefix| switch.on_native_call(prefix));
        assert_eq!(
            (switch.prefix(), switch.is_kosmokrator()),
            (expected, kosmokrator),
            "{events:?} {params}"
        );
    }

    #[test]
    fn native_events_start_when_requested() {
        let plain = || json!({ "protocolVersion": 1, "clientCapabilities": {} });
        let asks = || json!({ "clientCapabilities": { "_meta": { "tiller": { "events": true } } } });
        let bare = || json!({ "protocolVersion": 1 });
        check(Events::Auto, plain(), None, None, false);
        check(Events::Auto, asks(), None, Some(Prefix::Tiller), false);
        check(Events::Auto, asks(), Some(Prefix::Kosmo), Some(Prefix::Tiller), false);
        check(Events::Auto, bare(), None, Some(Prefix::Kosmokrator), true);
        check(Events::Auto, bare(), Some(Prefix::Tiller), Some(Prefix::Kosmokrator), true);
        for prefix in Prefix::ALL {
            check(Events::Auto, plain(), Some(prefix), Some(prefix), false);
        }
        check(Events::Off, bare(), Some(Prefix::Tiller), None, false);
        check(Events::Off, asks(), None, None, false);
        check(Events::Tiller, bare(), Some(Prefix::Kosmo), Some(Prefix::Tiller), false);
        check(Events::Kosmokrator, asks(), Some(Prefix::Tiller), Some(Prefix::Kosmokrator), true);
    }
}
