//! `tiller serve check`: everything that a server needs, without starting it. All problems are
//! reported, not only the first.

use crate::{
    answer::{Answer, Console},
    directories::sessions_file,
    environment::Environment,
    exit::Exit,
    limits::{CERTIFICATE_EXPIRES_SOON, EXPIRES_SOON},
    options::Options,
    server::{
        listeners::{self, Place},
        oidc, stores, user_place,
    },
    table::Table,
    wiring,
};
use ::serve::{
    CertificateFiles,
    auth::{TokenRow, wall_clock},
};
use anyhow::Result;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use store::{CheckDepth, StoreAddress};
use system::SandboxLevel;

/// What was checked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServerChecks {
    /// Every check, in order.
    checks: Vec<CheckRow>,
}

/// One check.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckRow {
    /// What was checked.
    subject: &'static str,
    /// What was found.
    state: CheckState,
    /// The finding in words, with what to do.
    detail: String,
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CheckState {
    /// Nothing to do.
    Ok,
    /// The server starts, but something needs attention.
    Warning,
    /// The server does not start, or not safely.
    Problem,
}

/// What the checks are about.
pub(crate) struct Checked<'a> {
    pub(crate) options: &'a Options,
    pub(crate) environment: &'a Environment,
    pub(crate) store: Option<&'a StoreAddress>,
    /// What is wrong with the settings files, if they cannot be used.
    pub(crate) settings_problem: Option<String>,
}

/// Runs all checks. Exit code 1 if there is a problem.
pub(crate) async fn run(console: &Console, checked: Checked<'_>) -> Result<Exit> {
    let mut report = Report::default();
    match &checked.settings_problem {
        Some(problem) => report.problem("settings", problem),
        None => report.ok("settings", "they can be used"),
    }
    let rows = access(&checked, &mut report).await;
    listening(&checked, &rows, &mut report);
    certificate(&checked, &mut report);
    users(&checked, &rows, &mut report).await;
    store(&checked, &mut report).await;
    let Report(checks) = report;
    let mut table = Table::plain();
    for row in &checks {
        let word = match row.state {
            CheckState::Ok => "ok",
            CheckState::Warning => "warning",
            CheckState::Problem => "PROBLEM",
        };
        table.row([word.to_owned(), row.subject.to_owned(), row.detail.clone()]);
    }
    let is_bad = checks.iter().any(|row| row.state == CheckState::Problem);
    let text = table.text();
    let answer = Answer::new(ServerChecks { checks }, text);
    console.print(answer.failed_if(is_bad, "the server would not start, or not safely"))
}

#[derive(Default)]
struct Report(Vec<CheckRow>);

impl Report {
    fn ok(&mut self, subject: &'static str, detail: impl ToString) {
        self.push(subject, CheckState::Ok, detail);
    }

    fn warning(&mut self, subject: &'static str, detail: impl ToString) {
        self.push(subject, CheckState::Warning, detail);
    }

    fn problem(&mut self, subject: &'static str, detail: impl ToString) {
        self.push(subject, CheckState::Problem, detail);
    }

    fn push(&mut self, subject: &'static str, state: CheckState, detail: impl ToString) {
        self.0.push(CheckRow { subject, state, detail: detail.to_string() });
    }
}

/// Checks the tokens and the audit, and returns the tokens; none if they cannot be read.
async fn access(checked: &Checked<'_>, report: &mut Report) -> Vec<TokenRow> {
    const SUBJECT: &str = "tokens";
    let system = wiring::local_system(checked.options);
    let stores = match stores::open(system, &checked.options.directories, checked.store).await {
        Ok(stores) => stores,
        Err(error) => {
            report.problem(SUBJECT, format!("{error:#}"));
            return Vec::new();
        }
    };
    match stores.audit.since(wall_clock()()).await {
        Ok(_) => report.ok("audit", "it can be read"),
        Err(error) => report.problem("audit", error),
    }
    let rows = match stores.tokens.list().await {
        Ok(rows) => rows,
        Err(error) => {
            report.problem(SUBJECT, error);
            return Vec::new();
        }
    };
    let now = wall_clock()();
    let valid = rows.iter().filter(|row| row.is_valid_at(now));
    let is_soon = |row: &&TokenRow| {
        row.expires.is_some_and(|expires| now.checked_add(EXPIRES_SOON).is_ok_and(|soon| expires < soon))
    };
    for row in valid.clone().filter(is_soon) {
        let expires = row.expires.map(|expires| expires.to_string()).unwrap_or_default();
        report.warning(SUBJECT, format!("{} ({}) of {} expires on {expires}", row.id, row.name, row.user));
    }
    report.ok(SUBJECT, format!("{} can be used", valid.count()));
    rows
}

/// Checks where the server would listen, and whether that is safe.
fn listening(checked: &Checked<'_>, tokens: &[TokenRow], report: &mut Report) {
    const SUBJECT: &str = "listeners";
    let settings = &checked.options.serve;
    let identities = match oidc::verifier(settings.oidc(), wall_clock()) {
        Ok(identities) => identities.is_some(),
        Err(error) => {
            report.problem("identity provider", format!("{error:#}"));
            false
        }
    };
    if identities {
        report.ok("identity provider", "its settings are complete; it was not asked");
    }
    if let Err(error) = listeners::proxies(settings) {
        report.problem(SUBJECT, format!("{error:#}"));
    }
    match listeners::places(settings, checked.environment, &checked.options.directories) {
        Err(error) => report.problem(SUBJECT, format!("{error:#}")),
        Ok(places) => {
            for problem in listeners::dangers(&places, settings, tokens, identities) {
                report.problem(SUBJECT, problem);
            }
            let names: Vec<_> = places.iter().map(Place::to_string).collect();
            report.ok(SUBJECT, names.join(", "));
        }
    }
}

/// Checks what keeps the users of the server apart.
async fn users(checked: &Checked<'_>, tokens: &[TokenRow], report: &mut Report) {
    const SUBJECT: &str = "users";
    let options = checked.options;
    let others = options.serve.oidc().issuer.is_some() || !options.serve.unix_users.is_empty();
    match (user_place::check_user_folders(options), user_place::shared_files(options, tokens, others)) {
        (Err(error), _) => report.problem(SUBJECT, format!("{error:#}")),
        (Ok(()), Some(warning)) => report.warning(SUBJECT, warning),
        (Ok(()), None) => report
            .ok(SUBJECT, "commands run as the account of the server, apart from each other by its sandbox"),
    }
    let support = wiring::local_system(options).sandbox_support().await;
    match () {
        () if options.commands.sandbox == SandboxLevel::Off => {
            report.warning("sandbox", "sandbox.level is \"off\": users' commands are not confined");
        }
        () if !support.applies() => {
            report.warning(
                "sandbox",
                "this machine cannot confine commands: users' commands can read all files of the account",
            );
        }
        () if !support.holds() => {
            report.warning(
                "sandbox",
                "there are no namespaces: users' commands can see other processes and their names",
            );
        }
        () => report.ok("sandbox", "it confines users' commands"),
    }
    if system::memory_use().is_none() {
        report.warning(
            "limits",
            "no control group limits the memory of the server and its commands; run it with MemoryMax= (systemd) or --memory (containers)",
        );
    }
    let shared = user_place::shared_keys(options, checked.environment).names();
    let names = if shared.is_empty() { "none".to_owned() } else { shared.join(", ") };
    report.ok("shared keys", format!("{names} (serve.shared_keys)"));
}

fn certificate(checked: &Checked<'_>, report: &mut Report) {
    const SUBJECT: &str = "certificate";
    let files = match listeners::certificate(&checked.options.serve) {
        Ok(Some(files)) => files,
        Ok(None) => return,
        Err(error) => return report.problem(SUBJECT, format!("{error:#}")),
    };
    match CertificateFiles::validity(&files) {
        Err(error) => report.problem(SUBJECT, error),
        Ok((begins, ends)) => {
            let now = wall_clock()();
            let soon = now.checked_add(CERTIFICATE_EXPIRES_SOON).unwrap_or(Timestamp::MAX);
            let file = files.certificate.display();
            match () {
                () if begins > now => report.problem(SUBJECT, format!("{file} is valid from {begins} on")),
                () if ends <= now => {
                    report.problem(SUBJECT, format!("{file} expired on {ends}; renew it"));
                }
                () if ends < soon => report.warning(SUBJECT, format!("{file} expires on {ends}; renew it")),
                () => report.ok(SUBJECT, format!("{file} is valid until {ends}, and its key matches")),
            }
        }
    }
}

async fn store(checked: &Checked<'_>, report: &mut Report) {
    const SUBJECT: &str = "store";
    let own = || StoreAddress::Sqlite(sessions_file(&checked.options.directories.data).as_std().to_owned());
    let address = checked.store.cloned().unwrap_or_else(own);
    match &address {
        StoreAddress::Sqlite(path) => match store::examine(path, CheckDepth::Quick) {
            Ok(None) => report.ok(SUBJECT, format!("{address} is created at the start")),
            Ok(Some(found)) if found.problems.is_empty() => report.ok(SUBJECT, &address),
            Ok(Some(found)) => {
                for problem in found.problems {
                    report.problem(SUBJECT, format!("{address}: {problem}; run: tiller sessions repair"));
                }
            }
            Err(error) => report.problem(SUBJECT, format!("{address}: {error}")),
        },
        StoreAddress::Postgres(url) => match store::server::status(url).await {
            Err(error) => report.problem(SUBJECT, format!("{address}: {error}")),
            Ok(status) if status.problems.is_empty() => {
                let schema = status.schema.unwrap_or_default();
                let detail = format!("{address}: PostgreSQL {}, schema {schema}", status.server);
                report.ok(SUBJECT, detail);
            }
            Ok(status) => {
                for problem in status.problems {
                    report.problem(SUBJECT, format!("{address}: {problem}"));
                }
            }
        },
    }
}
