//! A record as a line of JSON.

use super::{AuditEvent, AuditRecord, AuditedPrincipal};
use crate::auth::{Source, limits};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The version of the format.
const VERSION: u32 = 1;

/// The form of a line.
#[derive(Serialize, Deserialize)]
struct Line {
    v: u32,
    at: String,
    what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credential: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<String>,
}

/// Returns the line of a record, with its line break.
pub(super) fn written(record: AuditRecord) -> Vec<u8> {
    let AuditRecord { at, what, who, source, session, request, about } = record;
    let bounded = |text: Option<String>| text.map(bounded);
    let who = who.map(|who| (who.tenant, who.user, who.credential));
    let (tenant, user, credential) = who.map_or((None, None, None), |(a, b, c)| (Some(a), Some(b), Some(c)));
    let line = Line {
        v: VERSION,
        at: at.to_string(),
        what: what.name().to_owned(),
        tenant: bounded(tenant),
        user: bounded(user),
        credential: bounded(credential),
        source: source.map(Source::to_text),
        session: bounded(session),
        request: bounded(request),
        about: bounded(about),
    };
    let mut line = serde_json::to_vec(&line).expect("a line has string keys only");
    line.push(b'\n');
    line
}

/// Reads a line; `None` if it is damaged, or from a later version.
pub(super) fn read(line: &[u8]) -> Option<AuditRecord> {
    let line: Line = serde_json::from_slice(line).ok()?;
    let who = match (line.tenant, line.user, line.credential) {
        (Some(tenant), Some(user), Some(credential)) => Some(AuditedPrincipal { tenant, user, credential }),
        _ => None,
    };
    let source = match line.source {
        None => None,
        Some(text) => Some(Source::from_text(&text)?),
    };
    let what = AuditEvent::named(&line.what)?;
    let known = line.v == VERSION;
    known.then_some(AuditRecord {
        at: line.at.parse::<Timestamp>().ok()?,
        what,
        who,
        source,
        session: line.session,
        request: line.request,
        about: line.about,
    })
}

/// Cuts an id that a client chose.
pub(super) fn bounded(mut text: String) -> String {
    text.truncate(agent::floor_char_boundary(&text, limits::AUDIT_TEXT_BYTES));
    text
}
