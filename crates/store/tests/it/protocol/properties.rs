//! The properties of the protocol, in every reachable state.

use super::{Action, Event, LeaseState, Outcome, Part, Protocol};
use stateright::{Checker as _, HasDiscoveries, Model as _, Property};

const NO_TWO_WRITERS: &str = "no append with an old lease is stored";
const ACKNOWLEDGED_IS_STORED: &str = "acknowledged events are in the log at the acknowledged position";
const HOLDER_KEEPS_SESSION: &str = "a live holder loses the session only to a takeover";
const CAN_BE_ACQUIRED: &str = "the session can be acquired again";

pub(super) fn all() -> Vec<Property<Protocol>> {
    vec![
        Property::always(NO_TWO_WRITERS, |_, state: &LeaseState| state.no_write_after_a_takeover()),
        Property::always(ACKNOWLEDGED_IS_STORED, |_, state: &LeaseState| {
            state.nothing_acknowledged_is_lost()
        }),
        Property::always(HOLDER_KEEPS_SESSION, |_, state: &LeaseState| !state.lost_session),
        Property::always(CAN_BE_ACQUIRED, |protocol, state| protocol.can_be_taken(state)),
        // These ensure that the properties above do not hold only because nothing happens.
        Property::sometimes("all events are acknowledged", |protocol, state: &LeaseState| {
            state.acknowledged.len() == usize::from(protocol.events)
        }),
        Property::sometimes("a takeover meets an append on its way", |_, state: &LeaseState| {
            state.in_flight.is_some_and(|in_flight| in_flight.epoch < state.epoch)
        }),
    ]
}

impl Protocol {
    /// Returns whether every running process can get the session: immediately, or after 60 s if the
    /// holder is elsewhere; by a takeover if the holder is alive.
    fn can_be_taken(&self, state: &LeaseState) -> bool {
        let taken = |state: &LeaseState, action| matches!(self.step(state, action).1, Outcome::Taken(_));
        (0..self.processes).filter(|process| state.processes[*process].runs).all(|process| {
            let after_silence = || {
                let (asked, _) = self.step(state, Action::Acquire(process));
                taken(&self.step(&asked, Action::Silence).0, Action::Acquire(process))
            };
            let holder_is_dead = state.others_lease(process).is_none_or(|holder| !state.is_alive(holder));
            taken(state, Action::TakeOver(process))
                && (!holder_is_dead || taken(state, Action::Acquire(process)) || after_silence())
        })
    }
}

impl LeaseState {
    /// Returns whether each event was stored while its lease was current: after the start of its
    /// epoch, and before the start of the next one.
    fn no_write_after_a_takeover(&self) -> bool {
        self.log.iter().enumerate().all(|(at, event)| {
            let epoch = usize::from(event.epoch);
            self.epoch_starts[epoch] <= at && self.epoch_starts.get(epoch + 1).is_none_or(|next| at < *next)
        })
    }

    fn nothing_acknowledged_is_lost(&self) -> bool {
        let kept = |(seq, event): &(u64, Event)| self.log.get(*seq as usize - 1) == Some(event);
        self.acknowledged.iter().all(kept)
    }
}

/// Checks the properties in every state that is reachable within the bounds.
fn check(protocol: &Protocol) {
    let checked = protocol.clone().checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
    let states = checked.unique_state_count();
    assert!(states > 30_000, "{states} states of {protocol:?}: the bounds leave too little");
}

#[test]
fn the_lease_protocol_holds_between_two_processes() {
    check(&Protocol::of(2, 0));
    check(&Protocol { events: 3, crashes: 0, ..Protocol::of(2, 0) });
    check(&Protocol { epochs: 4, crashes: 1, ..Protocol::of(2, 0) });
}

#[test]
fn the_lease_protocol_holds_between_three_processes() {
    check(&Protocol { crashes: 1, ..Protocol::of(3, 0) });
}

#[test]
fn the_lease_protocol_holds_between_two_machines() {
    check(&Protocol::of(2, 1));
    check(&Protocol { crashes: 1, ..Protocol::of(3, 1) });
}

/// A property that cannot fail proves nothing: each one fails once the part it depends on is
/// removed.
#[test]
fn each_part_of_the_lease_protocol_is_needed() {
    for (part, broken) in [
        (Part::Fence, NO_TWO_WRITERS),
        (Part::Flush, ACKNOWLEDGED_IS_STORED),
        (Part::Refusal, HOLDER_KEEPS_SESSION),
        (Part::EndOfProcess, CAN_BE_ACQUIRED),
        (Part::Clamp, CAN_BE_ACQUIRED),
    ] {
        let protocol = Protocol { without: Some(part), ..Protocol::of(2, 1) };
        let protocol = Protocol { elsewhere: usize::from(part == Part::Clamp), ..protocol };
        let checked = protocol.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
        let found = checked.discovery(broken);
        assert!(found.is_some(), "without {part:?}, {broken:?} still holds");
    }
}
