//! `tiller doctor`: what this machine and these settings give, and what is wrong with them.

use crate::{
    args::DoctorArgs,
    exit::Exit,
    options::{NO_ALLOW_LIST, Network, Options},
    screen,
    sessions::health::{self, Sessions},
    wiring,
};
use anyhow::Result;
use serde_json::{Value, json};
use std::io::Write;
use system::{MIN_LANDLOCK_ABI, SandboxLevel, SandboxSupport};

/// Prints the report; the exit code says whether there is a problem. No secret is ever part of it.
pub(crate) async fn run(options: &Options, notices: &[String], args: &DoctorArgs) -> Result<Exit> {
    let support = wiring::local_system(options).sandbox_support().await;
    let sessions = health::look(options).await;
    let mut problems = problems(options, support);
    problems.extend(sessions.problems.iter().cloned());
    let code = if problems.is_empty() { Exit::Ok } else { Exit::Error };
    let mut stdout = screen::stdout();
    if args.json {
        let report = as_json(options, notices, support, &sessions, &problems);
        writeln!(stdout, "{}", agent::escaped_json(&report.to_string()))?;
        return Ok(code);
    }
    writeln!(stdout, "tiller {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(stdout, "config     {}", options.folders.config)?;
    writeln!(stdout, "data       {}", options.folders.data)?;
    writeln!(stdout, "sessions   {}", sessions.line())?;
    sessions.notes().try_for_each(|note| writeln!(stdout, "note       {note}"))?;
    writeln!(stdout, "sandbox    {}, network {}", options.sandbox.id(), options.network.id())?;
    writeln!(stdout, "kernel     {}", kernel(support))?;
    for (name, key, base) in providers(options) {
        let key = if key { "key set" } else { "no key" };
        writeln!(stdout, "{name:<10} {key}, {}", base.as_deref().unwrap_or("the vendor's own address"))?;
    }
    notices.iter().try_for_each(|notice| writeln!(stdout, "note       {notice}"))?;
    problems.iter().try_for_each(|problem| writeln!(stdout, "problem    {problem}"))?;
    Ok(code)
}

/// The report for programs. No secret is ever part of it.
pub(crate) async fn report(options: &Options, notices: &[String]) -> Value {
    let support = wiring::local_system(options).sandbox_support().await;
    let sessions = health::look(options).await;
    let mut problems = problems(options, support);
    problems.extend(sessions.problems.iter().cloned());
    as_json(options, notices, support, &sessions, &problems)
}

fn as_json(
    options: &Options,
    notices: &[String],
    support: SandboxSupport,
    sessions: &Sessions,
    problems: &[String],
) -> Value {
    let providers = providers(options);
    json!({
        "success": problems.is_empty(),
        "version": env!("CARGO_PKG_VERSION"),
        "sandbox": {
            "level": options.sandbox.id(),
            "network": options.network.id(),
            "landlock_abi": support.landlock_abi,
            "seccomp": support.seccomp,
            "namespaces": support.namespaces,
            "processes": support.processes,
            "applies": support.applies(),
            "holds": support.holds(),
        },
        "paths": { "config": options.folders.config.as_str(), "data": options.folders.data.as_str(), "cache": options.folders.cache.as_str() },
        "providers": providers.iter().map(|(name, key, base)| json!({ "name": name, "key": key, "base_url": base })).collect::<Vec<_>>(),
        "sessions": sessions.as_json(),
        "notices": notices,
        "issues": problems,
    })
}

fn providers(options: &Options) -> [(&'static str, bool, Option<String>); 2] {
    [("openai", &options.openai), ("anthropic", &options.anthropic)]
        .map(|(name, provider)| (name, provider.api_key.is_some(), provider.base_url.clone()))
}

fn kernel(support: SandboxSupport) -> String {
    let landlock = match support.landlock_abi {
        0 => "no Landlock".to_owned(),
        abi => format!("Landlock {abi}"),
    };
    let has = |has: bool| if has { "" } else { "no " };
    format!(
        "{landlock}, {}system call filter, {}namespaces for mounts and the network, {}namespace for processes",
        has(support.seccomp),
        has(support.namespaces),
        has(support.processes)
    )
}

fn problems(options: &Options, support: SandboxSupport) -> Vec<String> {
    let mut problems = Vec::new();
    if options.network == Network::AllowList {
        problems.push(NO_ALLOW_LIST.to_owned());
    }
    if options.sandbox != SandboxLevel::Off && !support.applies() {
        problems.push(format!(
            "commands cannot be confined here ({}), so all but those that only look ask; \
             set sandbox.level to \"off\" if that is what you want",
            match support.landlock_abi {
                abi if abi < MIN_LANDLOCK_ABI =>
                    format!("Landlock {MIN_LANDLOCK_ABI} is needed, there is {abi}"),
                _ => "the launcher could not install the system call filter".to_owned(),
            }
        ));
    } else if options.sandbox != SandboxLevel::Off && !support.holds() {
        problems.push(
            "commands are confined, but without namespaces git hooks and secret files of a project are in their reach, \
             so all but those that only look ask; allow unprivileged user namespaces to change that"
                .to_owned(),
        );
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_the_kernel_gives() {
        let whole = SandboxSupport {
            landlock_abi: 6,
            seccomp: true,
            namespaces: true,
            processes: true,
            launcher: true,
            in_client: false,
        };
        assert_eq!(
            kernel(whole),
            "Landlock 6, system call filter, namespaces for mounts and the network, namespace for processes"
        );
        assert_eq!(
            kernel(SandboxSupport::default()),
            "no Landlock, no system call filter, no namespaces for mounts and the network, no namespace for processes"
        );
    }
}
