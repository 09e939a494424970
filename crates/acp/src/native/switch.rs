//! Whether a connection's events are told, and in which spelling.

use super::Prefix;
use crate::Events;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Off until the client opts in, unless the options say otherwise; never changes the spelling once it is on.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    /// 0: off; otherwise one more than the place in [`Prefix::ALL`].
    prefix: AtomicU8,
    /// The options decide, whatever the client does.
    fixed: bool,
    /// The client is one of the KosmoKrator wire.
    seed: AtomicBool,
}

impl Switch {
    /// As the options have it.
    pub(crate) fn new(events: Events) -> Self {
        let switch = Self { fixed: events != Events::Auto, ..Self::default() };
        match events {
            Events::Auto | Events::Off => {}
            Events::Tiller => switch.store(Prefix::Tiller),
            Events::Kosmokrator => {
                switch.store(Prefix::Kosmokrator);
                switch.seed.store(true, Ordering::Relaxed);
            }
        }
        switch
    }

    /// The spelling of events; `None` while they are off.
    pub(crate) fn prefix(&self) -> Option<Prefix> {
        let place = usize::from(self.prefix.load(Ordering::Relaxed)).checked_sub(1)?;
        Prefix::ALL.get(place).copied()
    }

    /// Whether the client is one of the KosmoKrator wire: answers have that wire's keys beside the protocol's.
    pub(crate) fn is_seed(&self) -> bool {
        self.seed.load(Ordering::Relaxed)
    }

    /// The client introduced itself with these parameters; `key` names its capabilities.
    pub(crate) fn introduced(&self, params: &Value, key: &str) {
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
                self.seed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// The client called a method of this layer.
    pub(crate) fn called(&self, prefix: Prefix) {
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

    fn check(events: Events, params: Value, called: Option<Prefix>, expected: Option<Prefix>, seed: bool) {
        let switch = Switch::new(events);
        switch.introduced(&params, "clientCapabilities");
        called.into_iter().for_each(|prefix| switch.called(prefix));
        assert_eq!((switch.prefix(), switch.is_seed()), (expected, seed), "{events:?} {params}");
    }

    #[test]
    fn events_begin_when_they_are_asked_for() {
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
