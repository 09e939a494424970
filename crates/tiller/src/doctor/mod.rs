//! `tiller doctor`: checks the environment and the configuration.

mod model;

use crate::{
    answer::Console,
    exit::Exit,
    options::{NO_ALLOW_LIST, Network, Options},
    screen,
    sessions::health::{self, Sessions},
    web, wiring,
};
use anyhow::Result;
use model::ModelHealth;
use providers::Catalog;
use serde_json::{Value, json};
use std::io::Write;
use system::{MIN_LANDLOCK_ABI, SandboxLevel, SandboxSupport};

/// Linux is the only system with a sandbox.
const IS_LINUX: bool = cfg!(target_os = "linux");

/// The configuration to check, and the problems that are known beforehand.
pub(crate) struct Subject<'a> {
    pub(crate) options: &'a Options,
    pub(crate) catalog: &'a Catalog,
    /// The settings that were ignored, with the reasons.
    pub(crate) notices: &'a [String],
    /// Why the settings files cannot be used; the options are then those without the files.
    pub(crate) settings_problem: Option<&'a str>,
}

/// Prints the report. The exit code is 0 if there are no issues. The report contains no secrets.
pub(crate) async fn run(subject: Subject<'_>, console: &Console) -> Result<Exit> {
    let report = Report::of(&subject).await;
    let code = if report.issues.is_empty() { Exit::Ok } else { Exit::Error };
    let mut stdout = screen::stdout();
    if console.is_json() {
        writeln!(stdout, "{}", agent::escaped_json(&report.as_json(subject.options).to_string()))?;
        return Ok(code);
    }
    let options = subject.options;
    let Report { support, sessions, model, web, notices, issues, next_commands } = &report;
    writeln!(stdout, "tiller {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(stdout, "config     {}", options.directories.config)?;
    writeln!(stdout, "data       {}", options.directories.data)?;
    writeln!(stdout, "sessions   {}", sessions.line())?;
    writeln!(stdout, "model      {}", model.default.as_deref().unwrap_or("none"))?;
    writeln!(
        stdout,
        "sandbox    {}, network {}",
        options.commands.sandbox.id(),
        options.commands.network.id()
    )?;
    writeln!(stdout, "kernel     {}", kernel(*support, IS_LINUX))?;
    writeln!(stdout, "web        {}", web.line())?;
    for (name, key, base) in providers(options) {
        let key = if key { "key set" } else { "no key" };
        writeln!(stdout, "{name:<10} {key}, {}", base.as_deref().unwrap_or("the vendor's own address"))?;
    }
    let notes = notices.iter().cloned().chain(sessions.notes()).chain(model.notes.iter().cloned());
    notes.into_iter().try_for_each(|note| writeln!(stdout, "note       {note}"))?;
    issues.iter().try_for_each(|issue| writeln!(stdout, "issue      {issue}"))?;
    next_commands.iter().try_for_each(|command| writeln!(stdout, "next       {command}"))?;
    if issues.is_empty() {
        writeln!(stdout, "no issues")?;
    }
    Ok(code)
}

/// Returns the report as JSON. It contains no secrets.
pub(crate) async fn report(subject: Subject<'_>) -> Value {
    Report::of(&subject).await.as_json(subject.options)
}

/// The result of all checks.
struct Report {
    support: SandboxSupport,
    sessions: Sessions,
    model: ModelHealth,
    web: web::Status,
    notices: Vec<String>,
    issues: Vec<String>,
    next_commands: Vec<String>,
}

impl Report {
    async fn of(subject: &Subject<'_>) -> Self {
        let options = subject.options;
        let support = wiring::local_system(options).sandbox_support().await;
        let sessions = health::check(options).await;
        let model = model::check(options, subject.catalog).await;
        let network = (options.commands.network == Network::AllowList).then(|| NO_ALLOW_LIST.to_owned());
        let settings = subject
            .settings_problem
            .map(|problem| format!("the settings are invalid, and this report ignores them: {problem}"));
        let web = web::Status::of(options);
        let issues = settings
            .into_iter()
            .chain(network)
            .chain(web.problem.clone())
            .chain(sessions.problems.iter().cloned());
        let mut next_commands = Vec::new();
        if subject.settings_problem.is_some() {
            next_commands.push("tiller config list".to_owned());
        }
        if !sessions.problems.is_empty() {
            next_commands.push("tiller sessions repair --check".to_owned());
        }
        if web.problem.is_some() {
            next_commands.push("tiller web status".to_owned());
        }
        next_commands.extend(model.next_commands.iter().cloned());
        Self {
            issues: issues.chain(model.issues.iter().cloned()).collect(),
            notices: notices_with_shortcoming(options, subject.notices, support),
            support,
            sessions,
            model,
            web,
            next_commands,
        }
    }

    fn as_json(&self, options: &Options) -> Value {
        let Self { support, sessions, model, web, notices, issues, next_commands } = self;
        let providers = providers(options);
        json!({
            "success": issues.is_empty(),
            "version": env!("CARGO_PKG_VERSION"),
            "default_provider": model.default.as_deref().and_then(|id| id.split_once('/')).map(|(provider, _)| provider),
            "default_model": model.default,
            "provider_auth_status": model.credentials,
            "sandbox": {
                "level": options.commands.sandbox.id(),
                "network": options.commands.network.id(),
                "landlock_abi": support.landlock_abi,
                "seccomp": support.seccomp,
                "namespaces": support.namespaces,
                "processes": support.processes,
                "applies": support.applies(),
                "holds": support.holds(),
            },
            "paths": { "config": options.directories.config.as_str(), "data": options.directories.data.as_str(), "cache": options.directories.cache.as_str() },
            "providers": providers.iter().map(|(name, key, base)| json!({ "name": name, "key": key, "base_url": base })).collect::<Vec<_>>(),
            "web": web.to_json(),
            "sessions": sessions.as_json(),
            "notices": notices.iter().chain(&model.notes).collect::<Vec<_>>(),
            "issues": issues,
            "next_commands": next_commands,
        })
    }
}

/// Returns the ignored settings, and what this machine lacks for the sandbox.
fn notices_with_shortcoming(options: &Options, notices: &[String], support: SandboxSupport) -> Vec<String> {
    notices.iter().cloned().chain(shortcoming(options.commands.sandbox, support, IS_LINUX)).collect()
}

fn providers(options: &Options) -> [(&'static str, bool, Option<String>); 3] {
    [
        ("openai", &options.providers.openai),
        ("anthropic", &options.providers.anthropic),
        ("gemini", &options.providers.gemini),
    ]
    .map(|(name, provider)| (name, provider.api_key.is_some(), provider.base_url.clone()))
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
