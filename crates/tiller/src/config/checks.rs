//! Checks of settings' values, and which of two values is tighter.

use super::{Value, ValueError};
use crate::limits::IDLE_TIMEOUT_MAX;
use crate::options::{Directories, Options, Rule};
use ::integrations::WebUrl;
use std::time::Duration;

/// Parses the idle timeout of a model server.
pub(super) fn silence(value: &Value) -> Result<Duration, ValueError> {
    let given = value.seconds()?;
    if given > IDLE_TIMEOUT_MAX {
        return Err(ValueError::TooLong(IDLE_TIMEOUT_MAX));
    }
    Ok(given)
}

/// The strictness of the mode: `ask` allows less than `plan`, and `plan` less than `edit`.
pub(super) fn order_of_mode(options: &Options) -> usize {
    agent::Mode::ALL.iter().position(|mode| *mode == options.session.mode).unwrap_or_default()
}

/// Whether `after` offers no server anything that `before` did not.
pub(super) fn offers_no_more(before: &Options, after: &Options) -> bool {
    let known = |name: &String, offer| {
        before.permissions.offers.get(name).is_some_and(|offers| offers.contains(offer))
    };
    after.permissions.offers.iter().all(|(name, offers)| offers.iter().all(|offer| known(name, offer)))
}

pub(super) fn order_of_permission(options: &Options) -> u8 {
    match options.session.permission_mode {
        agent::PermissionMode::Prometheus => 0,
        agent::PermissionMode::Guardian => 1,
        agent::PermissionMode::Argus => 2,
    }
}

pub(super) fn rules(directories: &Directories, value: &Value) -> Result<Vec<Rule>, ValueError> {
    let home = &directories.home;
    let rule = |text: &String| {
        let rule = text.parse::<Rule>().map_err(ValueError::invalid)?;
        rule.check_tool().map_err(ValueError::invalid)?;
        Ok(rule.at_home(home))
    };
    value.texts()?.iter().map(rule).collect()
}

/// Checks names of tools: a misspelt name would protect nothing.
pub(super) fn checked(
    names: Vec<String>,
    check: fn(&str) -> Result<(), String>,
) -> Result<Vec<String>, ValueError> {
    names.iter().try_for_each(|name| check(name)).map_err(ValueError::Invalid)?;
    Ok(names)
}

/// Parses hosts, in the form in which a URL has them.
pub(super) fn hosts(value: &Value) -> Result<Vec<String>, ValueError> {
    let host = |text: &String| {
        // A colon separates a port, except within the brackets of an IPv6 address.
        let is_address = text.starts_with('[') && text.ends_with(']');
        let others = |c: char| c.is_whitespace() || "/@?#\\".contains(c) || (c == ':' && !is_address);
        let url = WebUrl::parse(&format!("http://{text}/")).ok().filter(|_| !text.contains(others));
        url.map(|url| url.host().to_owned()).ok_or_else(|| ValueError::Unexpected {
            expected: "a host without scheme and port, such as localhost or 10.0.0.5",
            given: format!("{text:?}"),
        })
    };
    value.texts()?.iter().map(host).collect()
}

/// Checks the names of hosts on private networks.
pub(super) fn local_hosts(names: Vec<String>) -> Result<Vec<String>, ValueError> {
    let name = |text: String| match agent::Destination::host(&text, 443) {
        Some(agent::Destination::Host { name, .. }) => Ok(name),
        _ => Err(ValueError::Unexpected {
            expected: "the name of a host, such as packages.corp",
            given: format!("{text:?}"),
        }),
    };
    names.into_iter().map(name).collect()
}

/// Checks a model's full id.
pub(super) fn model(id: String) -> Result<String, ValueError> {
    match id.split_once('/') {
        Some((provider, name)) if !provider.is_empty() && !name.is_empty() => Ok(id),
        _ => Err(ValueError::Unexpected {
            expected: "PROVIDER/NAME, such as offline/pilot",
            given: format!("{id:?}"),
        }),
    }
}

/// Converts mebibytes to bytes.
pub(super) fn megabytes(count: u64) -> u64 {
    count.saturating_mul(1 << 20)
}
