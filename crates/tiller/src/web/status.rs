//! Whether the web can be searched, for `tiller web status` and `tiller doctor`.

use super::rows::{SearchState, WebState};
use crate::options::Options;

/// The state of searches and the hosts that may be local. Contains no secrets.
pub(crate) struct Status {
    /// The value of web.search.provider.
    pub(crate) provider: &'static str,
    /// What is missing for searches with the chosen provider.
    pub(crate) problem: Option<String>,
    local_hosts: Vec<String>,
}

impl Status {
    /// Checks the settings. Connects to nothing.
    pub(crate) fn of(options: &Options) -> Self {
        let resolved = options.integrations.web.resolved();
        let problem = resolved.search.and_then(|search| search.problem());
        Self {
            provider: options.integrations.web.search.id(),
            problem: problem.map(|problem| problem.to_string()),
            local_hosts: resolved.local_hosts,
        }
    }

    pub(crate) fn state(&self) -> WebState {
        let search = SearchState {
            provider: self.provider.to_owned(),
            ready: self.is_ready(),
            problem: self.problem.clone(),
        };
        WebState { search, local_hosts: self.local_hosts.clone() }
    }

    /// Returns one line about searches.
    pub(crate) fn line(&self) -> String {
        match &self.problem {
            None if self.provider == "hosted" => {
                "models of Anthropic, OpenAI (Responses) and Gemini 3 search by themselves".to_owned()
            }
            None if self.provider == "off" => {
                "no search provider (`tiller web configure PROVIDER`)".to_owned()
            }
            None => format!("searches with {}", self.provider),
            Some(problem) => problem.clone(),
        }
    }

    /// Returns the lines for people.
    pub(crate) fn text(&self) -> String {
        let hosts = match self.local_hosts.as_slice() {
            [] => "none".to_owned(),
            hosts => hosts.join(", "),
        };
        format!("search       {}\nlocal hosts  {hosts}\n", self.line())
    }

    fn is_ready(&self) -> bool {
        self.provider != "off" && self.problem.is_none()
    }
}
