//! The user's web browser.

use crate::{environment::Environment, limits::BROWSER_OUTPUT_BYTES, options::Options, wiring};
use std::sync::Arc;
use system::{AbsPath, Command, Confinement, System};
use tokio::task::JoinHandle;

/// Opens a web URL in the browser, if there is a display. Failures are ignored: the URL was
/// printed.
pub(crate) fn open(
    environment: &Environment,
    options: &Options,
    cwd: &AbsPath,
    url: &str,
) -> Option<JoinHandle<()>> {
    let set = |name| environment.get(name).is_some_and(|value| !value.is_empty());
    let has_display = cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY");
    let argv = command(url).filter(|_| has_display)?;
    Some(tokio::spawn(run(wiring::local_system(options), cwd.clone(), argv)))
}

/// Returns the command that opens a web URL, as separate words and never as a shell line; `None`
/// for every other URL.
fn command(url: &str) -> Option<Vec<String>> {
    let of_the_web = url.starts_with("https://") || url.starts_with("http://");
    if !of_the_web || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return None;
    }
    // `setsid` detaches the opener, so that a browser that it starts does not end with this
    // process.
    let opener: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["setsid", "-f", "xdg-open"] };
    Some(opener.iter().copied().chain([url]).map(str::to_owned).collect())
}

async fn run(system: Arc<dyn System>, cwd: AbsPath, argv: Vec<String>) {
    let mut words = argv.into_iter();
    let program = words.next().unwrap_or_default();
    let command = Command {
        confinement: Confinement::Lifted,
        ..Command::new(program, words.collect(), cwd, BROWSER_OUTPUT_BYTES)
    };
    match system.spawn(command).await {
        Ok(mut process) => drop(process.wait().await),
        Err(error) => tracing::debug!(%error, "no browser was opened"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s29_only_web_urls_are_opened_and_as_a_single_argument() {
        let argv = command("https://auth.example/a?b=c&d=$(touch%20x);e").unwrap();
        assert_eq!(argv.last().unwrap(), "https://auth.example/a?b=c&d=$(touch%20x);e");
        assert!(!argv.iter().any(|word| word.ends_with("sh") || word == "-c"), "{argv:?}");
        for url in ["file:///etc/passwd", "javascript:alert(1)", "--help", "https://a b", "https://a\nb", ""]
        {
            assert_eq!(command(url), None, "{url}");
        }
    }
}
