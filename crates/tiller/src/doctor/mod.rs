//! `tiller doctor`: checks the environment and the configuration.

mod checks;
mod report;
mod reset;
mod subject;

pub(crate) use report::DoctorReport;
pub(crate) use reset::reset_terminal;
pub(crate) use subject::Subject;

use crate::{
    answer::Answer,
    args::DoctorArgs,
    failure::{Failure, Kind},
    installation::Installation,
    options::{Options, network_word},
    sessions::health,
    settings_commands,
    table::Table,
    web, wiring,
};
use anyhow::Result;
use checks::Repair;
use report::{Check, InstallRow, Paths, State};
use serde_json::{Value, json};
use system::{LocalSystem, SandboxSupport, System as _};

/// How much is checked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent {
    /// One request to each provider.
    pub(crate) online: bool,
    /// A start of this program as an editor does it.
    pub(crate) startup: bool,
    /// Whether problems are solved that need no question.
    pub(crate) fix: bool,
    /// Only settings and providers.
    pub(crate) settings_only: bool,
}

impl From<&DoctorArgs> for Extent {
    fn from(args: &DoctorArgs) -> Self {
        Self { online: args.online, startup: args.startup, fix: args.fix, settings_only: false }
    }
}

/// Checks everything. The answer is a failure if there are errors, or with `strict` warnings. It
/// contains no secrets.
pub(crate) async fn run(subject: Subject<'_>, extent: Extent, strict: bool) -> Result<Answer> {
    let report = examine(&subject, extent).await;
    let count = |state| report.checks.iter().filter(|check| check.state == state).count();
    let (errors, warnings) = (count(State::Error), count(State::Warn));
    let text = text(&report, errors, warnings);
    let next = report.next_commands.clone();
    let answer = Answer::new(&report, text);
    if errors == 0 && (warnings == 0 || !strict) {
        return Ok(answer);
    }
    let what = match errors {
        0 => format!("{warnings} warnings"),
        1 => "1 error".to_owned(),
        errors => format!("{errors} errors"),
    };
    let failure = next.into_iter().fold(Failure::new(Kind::Config, what), Failure::next);
    Ok(answer.failed(failure))
}

/// Returns the report in the form of the native layer, in which an issue is a text.
pub(crate) async fn native_report(subject: Subject<'_>) -> Value {
    let report = examine(&subject, Extent::default()).await;
    let is_of_shell = |check: &&Check| OF_THE_SHELL.contains(&check.id);
    let checks: Vec<_> = report.checks.iter().filter(|check| !is_of_shell(check)).collect();
    let errors = checks.iter().filter(|check| check.state == State::Error);
    let issues: Vec<_> = errors.map(|check| check.detail.clone()).collect();
    let warnings = checks.iter().filter(|check| check.state == State::Warn);
    let notices: Vec<_> =
        warnings.map(|check| check.detail.clone()).chain(report.notices.iter().cloned()).collect();
    json!({
        "success": issues.is_empty(),
        "version": report.version,
        "default_provider": report.default_provider,
        "default_model": report.default_model,
        "provider_auth_status": report.provider_auth_status,
        "sandbox": report.sandbox,
        "paths": { "config": report.paths.config, "data": report.paths.data, "cache": report.paths.cache },
        "providers": report.providers,
        "web": report.web,
        "sessions": report.sessions,
        "notices": notices,
        "issues": issues,
        "next_commands": next_commands(checks.iter().copied()),
    })
}

/// The checks that are about the shell and the terminal in which the doctor was started. A program
/// that asks over a wire has neither.
const OF_THE_SHELL: [&str; 6] = ["program", "terminal", "multiplexer", "locale", "editors", "keys"];

/// Returns the commands that help, each once.
fn next_commands<'a>(checks: impl Iterator<Item = &'a Check>) -> Vec<String> {
    let mut commands = Vec::new();
    for command in checks.filter_map(Check::issue).filter_map(|issue| issue.next_command) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands
}

/// Makes the checks.
async fn examine(subject: &Subject<'_>, extent: Extent) -> DoctorReport {
    let options = subject.options;
    let mut fixed = Vec::new();
    if extent.fix {
        let (_, found) = checks::files(subject).await;
        let (_, secret) = checks::secrets(subject).await;
        for repair in found.into_iter().chain(secret) {
            match apply(&repair).await {
                Ok(()) => fixed.push(repair.done()),
                Err(error) => tracing::warn!("not repaired: {error:#}"),
            }
        }
    }
    let (mut all, _) = checks::files(subject).await;
    all.push(checks::secrets(subject).await.0);
    let health = checks::models(subject, extent.online).await;
    all.extend(health.checks);
    if extent.online {
        all.extend(checks::online(subject).await);
    }
    let system = LocalSystem::new();
    let installation =
        Installation::of_this_process(&system, subject.environment, &options.directories).await.ok();
    let others = match &installation {
        Some(installation) => installation.others(&system).await,
        None => Vec::new(),
    };
    let support = wiring::local_system(options).sandbox_support().await;
    let sessions = health::check(options).await;
    let mut notices = health.notices;
    notices.extend(sessions.notes());
    if !extent.settings_only {
        all.extend(checks::sandbox(subject, support));
        all.extend(checks::extensions(subject).await);
        all.extend(match sessions.problems.as_slice() {
            [] => vec![Check::ok("sessions", "sessions", sessions.line())],
            problems => problems
                .iter()
                .map(|problem| {
                    Check::error("sessions", "sessions", problem.clone())
                        .next("tiller sessions repair --check")
                })
                .collect(),
        });
        all.push(checks::leases(subject).await);
        all.push(checks::disk(subject));
        all.extend(checks::server(subject));
        all.extend(checks::editors(subject).await);
        all.push(checks::install(installation.as_ref(), &others));
        all.extend(checks::terminal(subject));
        all.extend(checks::keys(subject));
        all.extend(checks::themes(subject).await);
    }
    if extent.startup {
        all.push(checks::startup(subject).await);
    }
    let issues: Vec<_> = all.iter().filter_map(Check::issue).collect();
    let next_commands = next_commands(all.iter());
    let directories = &options.directories;
    let provider = health.default.as_deref().and_then(|id| id.split_once('/'));
    DoctorReport {
        version: env!("CARGO_PKG_VERSION"),
        install: InstallRow {
            method: installation.as_ref().map_or("unknown", |found| found.method.id()),
            path: installation.as_ref().map(|found| found.binary.to_string()),
            others_in_path: others.iter().map(ToString::to_string).collect(),
        },
        paths: Paths {
            config: directories.config.to_string(),
            data: directories.data.to_string(),
            cache: directories.cache.to_string(),
        },
        default_provider: provider.map(|(provider, _)| provider.to_owned()),
        default_model: health.default.clone(),
        provider_auth_status: health.credentials,
        checks: all,
        issues,
        next_commands,
        notices,
        fixed,
        sandbox: sandbox_row(options, support),
        providers: checks::providers(subject, subject.stores),
        web: web::Status::of(options).state(),
        sessions: sessions.as_json(),
    }
}

/// Solves a problem that needs no question.
async fn apply(repair: &Repair) -> Result<()> {
    let system = LocalSystem::new();
    match repair {
        Repair::SecretsMode(path) => {
            let bytes = system.read(path).await?;
            system.write_private(path, &bytes).await?;
        }
        Repair::Schema(path) => {
            system.write(path, settings_commands::schema().as_bytes()).await?;
        }
    }
    Ok(())
}

fn sandbox_row(options: &Options, support: SandboxSupport) -> Value {
    json!({
        "level": options.commands.sandbox.id(),
        "network": network_word(options.commands.network.network),
        "landlock_abi": support.landlock_abi,
        "seccomp": support.seccomp,
        "namespaces": support.namespaces,
        "processes": support.processes,
        "applies": support.applies(),
        "holds": support.holds(),
    })
}

fn text(report: &DoctorReport, errors: usize, warnings: usize) -> String {
    let mut text = format!("tiller {}", report.version);
    if let Some(path) = &report.install.path {
        text += &format!("  {path} ({})", report.install.method);
    }
    text += "\n\n";
    let mut table = Table::plain();
    for check in &report.checks {
        table.row([check.state.word().to_owned(), check.title.to_owned(), check.detail.clone()]);
    }
    text += &table.text();
    report.fixed.iter().for_each(|fixed| text += &format!("fixed: {fixed}\n"));
    report.notices.iter().for_each(|notice| text += &format!("note: {notice}\n"));
    text += &match (errors, warnings) {
        (0, 0) => "\nNo problem was found.\n".to_owned(),
        (errors, warnings) => {
            let counted = |count: usize, what: &str| {
                let ending = if count == 1 { "" } else { "s" };
                format!("{count} {what}{ending}")
            };
            format!("\n{}, {}.\n", counted(errors, "error"), counted(warnings, "warning"))
        }
    };
    report.next_commands.iter().for_each(|command| text += &format!("  try: {command}\n"));
    text
}
