//! The web: the state that sessions share, and the commands of `tiller web`.

mod commands;
mod rows;
mod status;

pub(crate) use commands::run;
pub(crate) use rows::{FetchedPage, WebConfigured, WebResults, WebState};
pub(crate) use status::Status;

use crate::{environment::Environment, options::Options, settings::Settings, wiring};
use ::integrations::{Web, WebOptions, WebTools};
use std::sync::Arc;

/// Creates the state that lives as long as the program. Connects to nothing.
pub(crate) fn state(options: &Options, environment: &Environment) -> Arc<Web> {
    Arc::new(Web::new(wiring::service_clients(options), environment.redactor().clone()))
}

/// Returns the provider of the tools, which follow each session's settings.
pub(crate) fn tools(web: Arc<Web>, settings: Arc<Settings>) -> WebTools {
    WebTools::new(web, move |session| {
        let (settings, session) = (settings.clone(), session.id.clone());
        Arc::new(move || match settings.of_session(&session) {
            Some(follower) => Arc::new(follower.last_snapshot().options.integrations.web.resolved()),
            // A session without a follower has ended.
            None => Arc::new(WebOptions::default()),
        })
    })
}
