//! The user's own themes of the terminal interface.

use super::super::{report::Check, subject::Subject};
use crate::themes;
use tui::theme::Role;

/// Checks that the theme of the settings exists, that every theme of the user can be read, and that
/// each has enough contrast. The terminal itself is asked nothing, so its background is not known.
pub(crate) async fn themes(subject: &Subject<'_>) -> Vec<Check> {
    const TITLE: &str = "themes";
    let directories = &subject.options.directories;
    let chosen = subject.options.client.interface.theme.as_str();
    let warning = |detail: String| Check::warning("themes", TITLE, detail);
    let all = match themes::all(directories).await {
        Ok(all) => all,
        Err(problem) => return vec![warning(problem)],
    };
    let mut checks = Vec::new();
    for listed in all.iter().filter(|listed| listed.file.is_some()) {
        let what = match &listed.theme {
            Err(problem) => problem.clone(),
            Ok(theme) => match themes::faint_roles(theme) {
                Some((background, roles)) => {
                    let roles: Vec<_> = roles.into_iter().map(Role::id).collect();
                    let file = listed.file.as_deref().unwrap_or_default();
                    let roles = roles.join(", ");
                    format!("{file}: the contrast to a {background} background is below 4.5:1 for {roles}")
                }
                None => continue,
            },
        };
        checks.push(warning(what));
    }
    if !all.iter().any(|listed| listed.name == chosen)
        && let Err(problem) = themes::find(directories, chosen).await
    {
        checks.push(warning(problem).next("tiller settings options ui.theme"));
    }
    let own = all.iter().filter(|listed| listed.file.is_some()).count();
    match (checks.is_empty(), own) {
        (false, _) => checks,
        (true, 0) => vec![Check::ok("themes", TITLE, format!("{chosen:?}; none of your own"))],
        (true, own) => vec![Check::ok("themes", TITLE, format!("{chosen:?}; {own} of your own"))],
    }
}
