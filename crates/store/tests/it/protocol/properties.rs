//! The properties of the protocol, in every reachable state.

use super::{Action, Event, Outcome, Part, Protocol, World};
use stateright::{Checker as _, HasDiscoveries, Model as _, Property};

const NO_TWO_WRITERS: &str = "no append with an old lease is stored";
const NOTHING_LOST: &str = "what was acknowledged is in the log, where it was said to be";
const NOBODY_ROBBED: &str = "a holder that lives loses the session to a takeover only";
const NEVER_STUCK: &str = "the session can be taken again";

pub(super) fn all() -> Vec<Property<Protocol>> {
    vec![
        Property::always(NO_TWO_WRITERS, |_, world: &World| world.nobody_wrote_after_a_takeover()),
        Property::always(NOTHING_LOST, |_, world: &World| world.nothing_acknowledged_is_lost()),
        Property::always(NOBODY_ROBBED, |_, world: &World| !world.robbed),
        Property::always(NEVER_STUCK, |protocol, world| protocol.can_be_taken(world)),
        // These ensure that the properties above do not hold only because nothing happens.
        Property::sometimes("all events are acknowledged", |protocol, world: &World| {
            world.acknowledged.len() == usize::from(protocol.events)
        }),
        Property::sometimes("a takeover meets an append on its way", |_, world: &World| {
            world.late.is_some_and(|late| late.epoch < world.epoch)
        }),
    ]
}

impl Protocol {
    /// Returns whether every running process can get the session: immediately, or after 60 s if the
    /// holder is elsewhere; by a takeover if the holder is alive.
    fn can_be_taken(&self, world: &World) -> bool {
        let taken = |world: &World, action| matches!(self.step(world, action).1, Outcome::Taken(_));
        (0..self.processes).filter(|process| world.processes[*process].runs).all(|process| {
            let in_the_end = || {
                let (asked, _) = self.step(world, Action::Acquire(process));
                taken(&self.step(&asked, Action::Silence).0, Action::Acquire(process))
            };
            let nobody_lives = world.others_lease(process).is_none_or(|holder| !world.lives(holder));
            taken(world, Action::TakeOver(process))
                && (!nobody_lives || taken(world, Action::Acquire(process)) || in_the_end())
        })
    }
}

impl World {
    /// Returns whether each event was stored while its lease was current: after the start of its
    /// epoch, and before the start of the next one.
    fn nobody_wrote_after_a_takeover(&self) -> bool {
        self.log.iter().enumerate().all(|(at, event)| {
            let epoch = usize::from(event.epoch);
            self.begun[epoch] <= at && self.begun.get(epoch + 1).is_none_or(|next| at < *next)
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
fn the_protocol_of_leases_keeps_its_promises_between_two_processes() {
    check(&Protocol::of(2, 0));
    check(&Protocol { events: 3, crashes: 0, ..Protocol::of(2, 0) });
    check(&Protocol { epochs: 4, crashes: 1, ..Protocol::of(2, 0) });
}

#[test]
fn the_protocol_of_leases_keeps_its_promises_between_three_processes() {
    check(&Protocol { crashes: 1, ..Protocol::of(3, 0) });
}

#[test]
fn the_protocol_of_leases_keeps_its_promises_between_two_machines() {
    check(&Protocol::of(2, 1));
    check(&Protocol { crashes: 1, ..Protocol::of(3, 1) });
}

/// A property that cannot fail proves nothing: each one fails once the part it depends on is
/// removed.
#[test]
fn each_part_of_the_protocol_is_needed() {
    for (part, broken) in [
        (Part::Fence, NO_TWO_WRITERS),
        (Part::Flush, NOTHING_LOST),
        (Part::Refusal, NOBODY_ROBBED),
        (Part::EndOfProcess, NEVER_STUCK),
        (Part::Clamp, NEVER_STUCK),
    ] {
        let protocol = Protocol { without: Some(part), ..Protocol::of(2, 1) };
        let protocol = Protocol { elsewhere: usize::from(part == Part::Clamp), ..protocol };
        let checked = protocol.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
        let found = checked.discovery(broken);
        assert!(found.is_some(), "without {part:?}, {broken:?} still holds");
    }
}
