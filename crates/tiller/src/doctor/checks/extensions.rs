//! MCP servers, integrations and the web, as far as their descriptions show it.

use super::super::{Subject, report::Check};
use crate::{integrations::Integrations, mcp::mcp_options, web};
use system::LocalSystem;

/// Checks the descriptions. Starts no server.
pub(crate) async fn extensions(subject: &Subject<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    let options = mcp_options(subject.options, subject.environment);
    let found = ::mcp::find(&LocalSystem::new(), &options.files, subject.cwd).await;
    let servers: Vec<_> = found.servers.iter().map(|server| server.name.clone()).collect();
    checks.extend(
        found
            .problems
            .iter()
            .map(|problem| Check::error("mcp", "MCP servers", problem.clone()).next("tiller mcp doctor")),
    );
    if found.problems.is_empty() {
        let detail = if servers.is_empty() { "none".to_owned() } else { servers.join(", ") };
        checks.push(Check::ok("mcp", "MCP servers", detail));
    }
    let problems = integrations(subject).await;
    checks.extend(problems.iter().map(|problem| {
        Check::error("integrations", "integrations", problem.clone()).next("tiller integrations doctor")
    }));
    if problems.is_empty() {
        checks.push(Check::ok("integrations", "integrations", "no problem"));
    }
    let web = web::Status::of(subject.options);
    checks.push(match web.problem.clone() {
        Some(problem) => Check::error("web", "web", problem).next("tiller web status"),
        None => Check::ok("web", "web", web.line()),
    });
    checks
}

/// Returns the problems of integrations: broken descriptions, and services that are enabled and not
/// installed.
async fn integrations(subject: &Subject<'_>) -> Vec<String> {
    let catalogue = Integrations::new(subject.options, subject.environment).catalogue().await;
    let broken = catalogue.broken().iter().map(|(name, why)| format!("{name}: {why}"));
    let enabled = subject.options.integrations.enabled.iter().filter(|(_, enabled)| **enabled);
    let missing = enabled
        .filter(|(name, _)| catalogue.integration(name).is_err() && !catalogue.broken().contains_key(*name));
    broken
        .chain(missing.map(|(name, _)| format!("{name}: it is enabled in the settings and not installed")))
        .collect()
}
