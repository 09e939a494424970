//! `tiller doctor`: checks the environment and the configuration.

mod checks;
mod report;
mod reset;

pub(crate) use report::DoctorReport;
pub(crate) use reset::reset_terminal;

use crate::{
    answer::Answer,
    args::DoctorArgs,
    environment::Environment,
    failure::{Failure, Kind},
    options::Options,
    secrets::{Store, Values},
    sessions::health,
    table::Table,
    web, wiring,
};
use ::providers::Catalog;
use anyhow::Result;
use checks::Repair;
use report::{Check, InstallRow, Paths, State};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use system::{AbsPath, LocalSystem, MIN_LANDLOCK_ABI, SandboxLevel, SandboxSupport, System as _};

/// The configuration to check, and the problems that are known beforehand.
pub(crate) struct Subject<'a> {
    pub(crate) options: &'a Options,
    pub(crate) environment: &'a Environment,
    pub(crate) cwd: &'a AbsPath,
    pub(crate) catalog: &'a Catalog,
    pub(crate) values: &'a Values,
    /// Where the secrets are.
    pub(crate) stores: &'a BTreeMap<String, Store>,
    /// The settings that were ignored, with the reasons.
    pub(crate) notices: &'a [String],
    /// Why the settings files cannot be used; the options are then those without the files.
    pub(crate) settings_problem: Option<&'a str>,
}

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
    let report = DoctorReport::of(&subject, extent).await;
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
    let report = DoctorReport::of(&subject, Extent::default()).await;
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
const OF_THE_SHELL: [&str; 4] = ["program", "terminal", "multiplexer", "locale"];

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

impl DoctorReport {
    async fn of(subject: &Subject<'_>, extent: Extent) -> Self {
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
            all.push(checks::disk(subject));
            all.push(checks::install(subject));
            all.extend(checks::terminal(subject));
        }
        if extent.startup {
            all.push(checks::startup(subject).await);
        }
        let issues: Vec<_> = all.iter().filter_map(Check::issue).collect();
        let next_commands = next_commands(all.iter());
        let directories = &options.directories;
        let provider = health.default.as_deref().and_then(|id| id.split_once('/'));
        Self {
            version: env!("CARGO_PKG_VERSION"),
            install: InstallRow {
                method: checks::own_method(),
                path: crate::environment::program().map(|path| path.to_string()),
                others_in_path: checks::others_in_path(subject),
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
            web: web::Status::of(options).to_json(),
            sessions: sessions.as_json(),
        }
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
            system.write(path, crate::settings::commands::schema().as_bytes()).await?;
        }
    }
    Ok(())
}

fn sandbox_row(options: &Options, support: SandboxSupport) -> Value {
    json!({
        "level": options.commands.sandbox.id(),
        "network": options.commands.network.id(),
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

/// Describes the sandbox features of the kernel.
fn kernel(support: SandboxSupport, is_linux: bool) -> String {
    if !is_linux {
        return "no sandbox on this system".to_owned();
    }
    let landlock = match support.landlock_abi {
        0 => "no Landlock".to_owned(),
        abi => format!("Landlock {abi}"),
    };
    if !support.launcher {
        return format!("{landlock}, and no command could be confined");
    }
    let has = |has: bool| if has { "" } else { "no " };
    format!(
        "{landlock}, {}system call filter, {}namespaces for mounts and the network, {}namespace for processes",
        has(support.seccomp),
        has(support.namespaces),
        has(support.processes)
    )
}

/// Describes what this machine lacks for the configured sandbox, and the consequence.
///
/// This is not an issue: permission requests take the place of the sandbox.
fn shortcoming(level: SandboxLevel, support: SandboxSupport, is_linux: bool) -> Option<String> {
    if level == SandboxLevel::Off || support.holds() {
        return None;
    }
    if support.applies() {
        return Some(
            "commands are confined, but without namespaces they can reach a project's git hooks and secret files, so all but read-only commands need approval; allow unprivileged user namespaces to change that"
                .to_owned(),
        );
    }
    let why = match support.landlock_abi {
        _ if !is_linux => "this system has no sandbox".to_owned(),
        0 => "this kernel has no Landlock, so there is no sandbox".to_owned(),
        abi if abi < MIN_LANDLOCK_ABI => {
            format!("there is no sandbox: it needs Landlock {MIN_LANDLOCK_ABI}, and this kernel has {abi}")
        }
        _ => "there is no sandbox: Landlock is available, but a confined test command did not run \
              (containers often forbid system call filters)"
            .to_owned(),
    };
    Some(format!("{why}; commands run with your rights, and all but read-only commands need approval"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_the_sandbox_features_of_the_kernel() {
        let whole = SandboxSupport {
            landlock_abi: 6,
            seccomp: true,
            namespaces: true,
            processes: true,
            launcher: true,
            in_client: false,
        };
        assert_eq!(
            kernel(whole, true),
            "Landlock 6, system call filter, namespaces for mounts and the network, namespace for processes"
        );
        let partly = SandboxSupport { namespaces: false, processes: false, ..whole };
        assert_eq!(
            kernel(partly, true),
            "Landlock 6, system call filter, no namespaces for mounts and the network, no namespace for processes"
        );
        let none = SandboxSupport::default();
        assert_eq!(kernel(none, true), "no Landlock, and no command could be confined");
        assert_eq!(kernel(none, false), "no sandbox on this system");
    }

    #[test]
    fn a_sandbox_shortcoming_is_described_consistently() {
        let none = SandboxSupport::default();
        let old = SandboxSupport { landlock_abi: 2, ..none };
        let refused = SandboxSupport { landlock_abi: 6, ..none };
        let partly = SandboxSupport { seccomp: true, launcher: true, ..refused };
        let level = SandboxLevel::WorkspaceWrite;
        for (support, is_linux, says) in [
            (none, false, "this system has no sandbox; commands run with your rights"),
            (none, true, "this kernel has no Landlock"),
            (old, true, "it needs Landlock 3, and this kernel has 2"),
            (refused, true, "Landlock is available, but a confined test command did not run"),
            (partly, true, "without namespaces"),
        ] {
            let shortcoming_text = shortcoming(level, support, is_linux).unwrap();
            assert!(
                shortcoming_text.contains(says)
                    && shortcoming_text.contains("all but read-only commands need approval"),
                "{shortcoming_text}"
            );
            assert!(is_linux || !shortcoming_text.contains("Landlock"), "{shortcoming_text}");
            assert_eq!(shortcoming_text.contains("needs Landlock"), support == old, "{shortcoming_text}");
            assert_eq!(shortcoming(SandboxLevel::Off, support, is_linux), None);
        }
        let whole = SandboxSupport { namespaces: true, ..partly };
        assert_eq!(shortcoming(level, whole, true), None);
    }
}
