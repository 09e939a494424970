//! `tiller serve audit`: reads the audit, whether or not the server runs.

use super::{
    AdminPlace,
    rows::{AuditRow, AuditTrail},
    user,
};
use crate::{
    answer::{Answer, rfc3339},
    args::{Since, StoreArgs},
    exit::Exit,
    server::stores,
    table::Table,
};
use ::serve::auth::{AuditRecord, wall_clock};
use anyhow::Result;

/// Prints the records since a time, of all users or of one.
pub(super) async fn show(
    place: &AdminPlace<'_>,
    since: Since,
    only: Option<String>,
    store: StoreArgs,
) -> Result<Exit> {
    let store = place.addresses().of(store).await?;
    let stores = stores::open(place.system.clone(), place.directories, store.as_ref()).await?;
    let report = stores.audit.since(since.time(wall_clock()())).await?;
    let is_meant = |record: &AuditRecord| {
        only.as_ref().is_none_or(|user| record.who.as_ref().is_some_and(|who| who.user == *user))
    };
    let records: Vec<_> = report.records.into_iter().filter(is_meant).collect();
    let mut table = Table::new(["TIME", "WHAT", "USER", "FROM", "ABOUT"]);
    for record in &records {
        let who = record.who.as_ref().map_or_else(String::new, |who| user(Some(&who.tenant), &who.user));
        let about = [&record.session, &record.about].into_iter().flatten().cloned().collect::<Vec<_>>();
        table.row([
            rfc3339(record.at.as_millisecond()),
            record.what.name().to_owned(),
            who,
            record.source.map(|source| source.to_string()).unwrap_or_default(),
            about.join(" "),
        ]);
    }
    let mut text = match records.is_empty() {
        true => "Nothing is recorded since then.\n".to_owned(),
        false => table.text(),
    };
    if report.unreadable > 0 {
        text.push_str(&format!("{} lines cannot be read.\n", report.unreadable));
    }
    if report.has_more {
        text.push_str("There are more; pass --since with the time of the last one.\n");
    }
    let trail = AuditTrail {
        records: records.into_iter().map(row).collect(),
        unreadable: report.unreadable,
        has_more: report.has_more,
    };
    place.console.print(Answer::new(trail, text))
}

fn row(record: AuditRecord) -> AuditRow {
    let AuditRecord { at, what, who, source, session, request, about } = record;
    let who = who.map(|who| (who.tenant, who.user, who.credential));
    let (tenant, user, credential) = who.map_or((None, None, None), |(a, b, c)| (Some(a), Some(b), Some(c)));
    AuditRow {
        at: at.to_string(),
        what: what.name(),
        tenant,
        user,
        credential,
        source: source.map(|source| source.to_string()),
        session,
        request,
        about,
    }
}
