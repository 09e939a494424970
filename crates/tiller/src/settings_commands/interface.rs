//! Checks the settings of the terminal interface before they are written. What they name, a theme
//! or an action, is not in the settings file.

use crate::{
    failure::{Failure, Kind},
    options::Options,
    themes,
};
use anyhow::Result;
use tui::keys::Bindings;

/// Checks the interface's settings of `options`, or only those of `names`.
pub(super) async fn check(options: &Options, names: Option<&[&str]>) -> Result<()> {
    let is_meant = |name: &str| names.is_none_or(|names| names.contains(&name));
    let interface = &options.client.interface;
    if is_meant("ui.theme")
        && let Err(problem) = themes::find(&options.directories, &interface.theme).await
    {
        return Err(Failure::new(Kind::Config, problem).next("tiller settings options ui.theme").into());
    }
    let (_, errors) = Bindings::with(&interface.keys);
    match errors.iter().find(|error| is_meant(&format!("ui.keys.{}", error.action()))) {
        Some(error) => Err(Failure::new(Kind::Config, error.to_string()).next("tiller keys").into()),
        None => Ok(()),
    }
}
