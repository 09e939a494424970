//! Whose request it is.

use crate::{
    auth::{
        Audit, AuditEvent, AuditRecord, AuthFailure, Credentials, Ended, Permit, QuotaExceeded, QuotaLimits,
        Quotas, Source, Ticket, TicketError, Tickets, wall_clock,
    },
    http::Problem,
};
use agent::Principal;
use axum::http::{HeaderMap, StatusCode, header};
use std::sync::Arc;

/// How requests are authenticated: users of this machine by the Unix socket, others by tokens and
/// tickets.
pub struct Access {
    credentials: Arc<Credentials>,
    tickets: Tickets,
    quotas: Quotas,
    audit: Option<Arc<dyn Audit>>,
    /// Returns the principal of a user of this machine, by its id.
    local: Box<dyn Fn(u32) -> Principal + Send + Sync>,
}

impl Access {
    /// Creates the access of a server. `local` returns the principal of a user of this machine,
    /// who connected to the Unix socket, by its id.
    pub fn new(
        credentials: Arc<Credentials>,
        local: impl Fn(u32) -> Principal + Send + Sync + 'static,
    ) -> Self {
        Self {
            credentials,
            tickets: Tickets::default(),
            quotas: Quotas::new(QuotaLimits::default(), QuotaLimits::unlimited()),
            audit: None,
            local: Box::new(local),
        }
    }

    /// Counts what users have against these quotas.
    #[must_use]
    pub fn limited(mut self, quotas: Quotas) -> Self {
        self.quotas = quotas;
        self
    }

    /// Records who connects, and who is refused.
    #[must_use]
    pub fn audited(mut self, audit: Arc<dyn Audit>) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Forgets what users had that counts no longer.
    pub(crate) fn sweep(&self) {
        self.quotas.sweep(tokio::time::Instant::now(), wall_clock()());
    }

    /// Counts a new connection, and records it. Users of this machine have as many as they want.
    pub(crate) async fn admit(
        &self,
        principal: &Principal,
        source: Source,
    ) -> Result<Option<Permit>, Problem> {
        let permit = match source {
            Source::Unix(_) => None,
            Source::Address(_) => match self.quotas.connection(&principal.owner()) {
                Ok(permit) => Some(permit),
                Err(exceeded) => {
                    let about = Some(exceeded.quota.name());
                    self.record_about(AuditEvent::QuotaRefused, Some(principal), source, about).await;
                    return Err(exceeded.into());
                }
            },
        };
        self.record(AuditEvent::Authenticated, Some(principal), source).await;
        Ok(permit)
    }

    /// Appends to the audit. What cannot be recorded is in the log.
    async fn record(&self, what: AuditEvent, who: Option<&Principal>, source: Source) {
        self.record_about(what, who, source, None).await;
    }

    async fn record_about(
        &self,
        what: AuditEvent,
        who: Option<&Principal>,
        source: Source,
        about: Option<&str>,
    ) {
        let Some(audit) = &self.audit else { return };
        let record = AuditRecord {
            source: Some(source),
            about: about.map(str::to_owned),
            ..AuditRecord::new(wall_clock()(), what, who)
        };
        if let Err(error) = audit.record(record).await {
            tracing::error!(%error, "an event is missing in the audit");
        }
    }

    /// Records what an administrator does, before it is done.
    ///
    /// # Errors
    /// If it cannot be recorded: then it must not be done.
    pub(crate) async fn record_first(
        &self,
        what: AuditEvent,
        who: &Principal,
        source: Source,
        about: &str,
    ) -> Result<(), Problem> {
        let Some(audit) = &self.audit else { return Ok(()) };
        let record = AuditRecord {
            source: Some(source),
            about: Some(about.to_owned()),
            ..AuditRecord::new(wall_clock()(), what, Some(who))
        };
        audit.record(record).await.map_err(|error| {
            tracing::error!(%error, "an administrator's request is refused, since it cannot be recorded");
            Problem::overloaded(format!("nothing was done, since it cannot be recorded: {error}"))
        })
    }

    /// Returns whose request it is, by its `Authorization` header, or by the socket that it came
    /// from.
    pub(crate) async fn authenticate(
        &self,
        headers: &HeaderMap,
        source: Source,
    ) -> Result<Principal, Problem> {
        if let Source::Unix(uid) = source {
            return Ok((self.local)(uid));
        }
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let authorization = match (given.next(), given.next()) {
            (Some(_), Some(_)) => {
                return Err(Problem::bad_request("the request has several Authorization headers"));
            }
            (given, _) => given.map(|value| value.to_str().unwrap_or_default()),
        };
        match self.credentials.authenticate(authorization, source).await {
            Ok(principal) => Ok(principal),
            Err(failure) => {
                let why = failure.problem().reason;
                metrics::counter!("tiller_auth_failures_total", "why" => why).increment(1);
                // A source that is throttled has been recorded ten times already.
                if !matches!(failure, AuthFailure::Throttled { .. }) {
                    self.record(AuditEvent::Refused, None, source).await;
                }
                Err(failure.into())
            }
        }
    }

    /// Returns whose ticket it is, and uses it up.
    pub(crate) fn redeem(&self, ticket: &Ticket, origin: Option<&str>) -> Result<Principal, Problem> {
        Ok(self.tickets.redeem(ticket, origin)?)
    }

    /// Issues a ticket that opens one WebSocket, for a browser that cannot set headers.
    pub(crate) fn issue(&self, principal: &Principal, origin: Option<&str>) -> Result<Ticket, Problem> {
        Ok(self.tickets.issue(principal, origin)?)
    }

    /// Completes when the principal's credential is revoked or expires. Returns whether its turns
    /// must stop as well.
    pub(crate) async fn until_invalid(&self, principal: &Principal) -> bool {
        matches!(self.credentials.watch_validity(principal).await, Ended::Revoked { stop_turns: true })
    }
}

impl From<QuotaExceeded> for Problem {
    fn from(exceeded: QuotaExceeded) -> Self {
        Self {
            retry_after: exceeded.retry_after,
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "quota", exceeded.to_string())
        }
    }
}

impl From<AuthFailure> for Problem {
    fn from(failure: AuthFailure) -> Self {
        let details = failure.problem();
        Self {
            status: StatusCode::from_u16(details.status).unwrap_or(StatusCode::UNAUTHORIZED),
            reason: details.reason,
            detail: format!("{}: {}", details.title, details.detail),
            retry_after: failure.retry_after(),
            challenge: failure.www_authenticate(),
        }
    }
}

impl From<TicketError> for Problem {
    fn from(error: TicketError) -> Self {
        let detail = error.to_string();
        match error {
            TicketError::Malformed | TicketError::Invalid => {
                Self::new(StatusCode::UNAUTHORIZED, "credential_invalid", detail)
            }
            TicketError::TooMany => Self::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail),
            TicketError::Random(_) => Self::overloaded(detail),
        }
    }
}
