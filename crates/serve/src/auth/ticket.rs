//! Tickets: how a browser, which cannot set headers on WebSockets, presents its credential.

use super::{
    Digest, limits,
    token::{is_random_text, random_text},
};
use agent::Principal;
use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// What a ticket begins with in the header `Sec-WebSocket-Protocol`.
const OFFER: &str = "acp-ticket.";

/// A ticket: 256 random bits, good for one use within 30 seconds.
#[derive(Clone)]
pub struct Ticket(String);

/// Why a ticket is not issued or not accepted. The ticket is not in the error, and a ticket that
/// was used, has expired or never existed is answered in the same way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// It does not have the form of a ticket, or the header offers several.
    #[error("not a ticket; `POST /acp/ticket` returns one")]
    Malformed,
    /// It is not valid, or not for this Origin.
    #[error("the ticket is not valid; a ticket can be used once, within 30 seconds, from its own Origin")]
    Invalid,
    /// Too many tickets wait for their use.
    #[error("too many tickets are unused; try again in a few seconds")]
    TooMany,
    /// The operating system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

impl Ticket {
    /// How long a ticket is good for.
    pub const LIFETIME: Duration = limits::TICKET_LIFETIME;

    /// Reads the ticket of a `Sec-WebSocket-Protocol` header, `acp.v1, acp-ticket.TICKET`; `None`
    /// if it offers none. The server selects another protocol of the list, so that the ticket is
    /// not repeated in its answer.
    ///
    /// # Errors
    /// [`TicketError::Malformed`] if it offers several, or something that is no ticket.
    pub fn offered(protocols: &str) -> Result<Option<Self>, TicketError> {
        let mut tickets = protocols.split(',').filter_map(|offer| offer.trim().strip_prefix(OFFER));
        match (tickets.next(), tickets.next()) {
            (None, _) => Ok(None),
            (Some(text), None) if is_random_text(text) => Ok(Some(Self(text.to_owned()))),
            _ => Err(TicketError::Malformed),
        }
    }

    /// Returns the value, for the one answer that it is sent in.
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket(..)")
    }
}

/// The tickets of this process that wait for their use.
#[derive(Default)]
pub struct Tickets {
    issued: Mutex<HashMap<[u8; 32], Issued>>,
}

/// What a ticket is good for. Its value is not kept: the key of the map is its digest.
struct Issued {
    principal: Principal,
    origin: Option<String>,
    until: Instant,
}

impl Tickets {
    /// Issues a ticket to a principal, for a connection from the same Origin (or without one, as
    /// this request is without one). It is good for [`Ticket::LIFETIME`].
    ///
    /// # Errors
    /// [`TicketError::TooMany`] if this user or this node has too many unused ones.
    pub fn issue(&self, principal: &Principal, origin: Option<&str>) -> Result<Ticket, TicketError> {
        let now = Instant::now();
        let ticket = Ticket(random_text()?);
        let mut issued = self.issued();
        issued.retain(|_, issued| issued.until > now);
        let own = issued.values().filter(|issued| issued.principal.is_same_user(principal)).count();
        if issued.len() >= limits::TICKETS || own >= limits::TICKETS_PER_USER {
            return Err(TicketError::TooMany);
        }
        let origin = origin.map(str::to_owned);
        let entry = Issued { principal: principal.clone(), origin, until: now + Ticket::LIFETIME };
        issued.insert(ticket.digest().bytes(), entry);
        Ok(ticket)
    }

    /// Redeems a ticket for the principal that it was issued to. It is used up then, also if the
    /// Origin is a wrong one. The principal's credential may have been revoked meanwhile:
    /// `Credentials::watch_validity` reports that at once.
    ///
    /// # Errors
    /// [`TicketError::Invalid`] if it is not valid.
    pub fn redeem(&self, ticket: &Ticket, origin: Option<&str>) -> Result<Principal, TicketError> {
        let found = self.issued().remove(&ticket.digest().bytes()).ok_or(TicketError::Invalid)?;
        match found.until > Instant::now() && found.origin.as_deref() == origin {
            true => Ok(found.principal),
            false => Err(TicketError::Invalid),
        }
    }

    fn issued(&self) -> MutexGuard<'_, HashMap<[u8; 32], Issued>> {
        self.issued.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").field("unused", &self.issued().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::time::advance;

    const HERE: Option<&str> = Some("https://tiller.example");

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_good_once_within_its_time_from_its_origin() {
        let (tickets, ada) = (Tickets::default(), Principal::local("ada"));
        let ticket = tickets.issue(&ada, HERE).unwrap();
        advance(Ticket::LIFETIME - Duration::from_millis(1)).await;
        assert_eq!(tickets.redeem(&ticket, HERE), Ok(ada.clone()));
        assert_eq!(tickets.redeem(&ticket, HERE), Err(TicketError::Invalid), "used");

        let ticket = tickets.issue(&ada, HERE).unwrap();
        advance(Ticket::LIFETIME).await;
        assert_eq!(tickets.redeem(&ticket, HERE), Err(TicketError::Invalid), "expired");

        for (issued, used) in [
            (HERE, Some("https://other.example")),
            (HERE, None),
            (None, HERE),
            (HERE, Some("https://tiller.example:443")),
        ] {
            let ticket = tickets.issue(&ada, issued).unwrap();
            assert_eq!(tickets.redeem(&ticket, used), Err(TicketError::Invalid));
            assert_eq!(tickets.redeem(&ticket, issued), Err(TicketError::Invalid), "used up");
        }
        let ticket = tickets.issue(&ada, None).unwrap();
        assert_eq!(tickets.redeem(&ticket, None), Ok(ada));
    }

    #[tokio::test(start_paused = true)]
    async fn unused_tickets_are_bounded_by_user_and_in_all_and_leave_when_they_expire() {
        let tickets = Tickets::default();
        let fill = |user: &str| {
            let user = Principal::local(user);
            (0..limits::TICKETS_PER_USER).try_for_each(|_| tickets.issue(&user, HERE).map(drop))
        };
        fill("ada").unwrap();
        assert_eq!(tickets.issue(&Principal::local("ada"), HERE).unwrap_err(), TicketError::TooMany);
        let full = (0..).map(|number| fill(&format!("user{number}"))).find(Result::is_err).unwrap();
        assert_eq!(full, Err(TicketError::TooMany));
        assert_eq!(tickets.issued().len(), limits::TICKETS);
        advance(Ticket::LIFETIME).await;
        tickets.issue(&Principal::local("ada"), HERE).unwrap();
        assert_eq!(tickets.issued().len(), 1);
    }

    #[test]
    fn one_ticket_is_read_from_the_offered_protocols() {
        let text = random_text().unwrap();
        let offer = |protocols: String| {
            Ticket::offered(&protocols).map(|ticket| ticket.map(|ticket| ticket.expose().to_owned()))
        };
        assert_eq!(offer(format!("acp.v1, acp-ticket.{text}")), Ok(Some(text.clone())));
        assert_eq!(offer(format!("acp-ticket.{text},acp.v2")), Ok(Some(text.clone())));
        assert_eq!(offer("acp.v1".to_owned()), Ok(None));
        assert_eq!(offer(String::new()), Ok(None));
        for bad in [
            "acp-ticket.".to_owned(),
            format!("acp-ticket.{text}x"),
            format!("acp-ticket.{}", &text[1..]),
            format!("acp-ticket.{text}, acp-ticket.{text}"),
        ] {
            assert_eq!(offer(bad.clone()), Err(TicketError::Malformed), "{bad}");
        }
    }

    #[test]
    fn a_ticket_is_in_no_debug_output() {
        let tickets = Tickets::default();
        let ticket = tickets.issue(&Principal::local("ada"), HERE).unwrap();
        let printed = format!("{ticket:?} {tickets:?}");
        assert!(!printed.contains(ticket.expose()), "{printed}");
        assert!(printed.contains("unused: 1"), "{printed}");
    }

    proptest! {
        #[test]
        fn no_header_panics_and_an_error_repeats_none_of_it(header in "(acp-ticket.)?\\PC{0,60}") {
            match Ticket::offered(&header) {
                Ok(Some(ticket)) => prop_assert!(header.contains(ticket.expose())),
                Ok(None) => prop_assert!(!header.split(',').any(|one| one.trim().starts_with(OFFER))),
                Err(error) => prop_assert_eq!(error, TicketError::Malformed),
            }
        }
    }
}
