//! The keys of the terminal interface.

use super::super::{report::Check, subject::Subject};
use tui::keys::Bindings;

/// Checks the lines of `[ui.keys]`: the interface does not open with one that cannot be used, and a
/// key that two actions have reaches only one of them.
pub(crate) fn keys(subject: &Subject<'_>) -> Vec<Check> {
    const TITLE: &str = "keys";
    let bound = &subject.options.client.interface.keys;
    let (bindings, errors) = Bindings::with(bound);
    let error = |error: &dyn ToString| Check::error("keys", TITLE, error.to_string());
    let errors = errors.iter().map(|wrong| error(wrong).next("tiller settings edit"));
    let clashes = bindings.clashes();
    let clashes = clashes.iter().map(|clash| Check::warning("keys", TITLE, clash.to_string()));
    let found: Vec<_> = errors.chain(clashes.map(|check| check.next("tiller keys"))).collect();
    match (found.is_empty(), bound.len()) {
        (false, _) => found,
        (true, 0) => vec![Check::ok("keys", TITLE, "the default ones")],
        (true, count) => vec![Check::ok("keys", TITLE, format!("{count} actions have keys of your own"))],
    }
}
