//! The commands of `tiller web`.

use super::{FetchedPage, Status, WebConfigured, WebResults, rows::WebResult};
use crate::{
    answer::{Answer, Console},
    args::{SearchWord, WebCommand, WebConfigure, WebSearchArgs},
    config,
    environment::Environment,
    exit::Exit,
    failure::{Failure, Kind, usage},
    input::read_stdin,
    integrations::Store,
    options::{Options, SearchChoice},
    secrets::Values,
    stored_keys::search_secret_name,
    wiring,
};
use ::integrations::{Domains, Fetch, Fetched, Search, SearchError, Web, WebTools, WebUrl};
use agent::AnyTool;
use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};
use std::sync::Arc;
use system::AbsPath;

struct CommandContext<'a> {
    options: &'a Options,
    environment: &'a Environment,
    cwd: &'a AbsPath,
    web: Arc<Web>,
}

/// Runs the command and prints its answer.
pub(crate) async fn run(
    console: &Console,
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    command: WebCommand,
) -> Result<Exit> {
    let context = CommandContext { options, environment, cwd, web: super::state(options, environment) };
    console.print(context.carry_out(command).await?)
}

impl CommandContext<'_> {
    async fn carry_out(&self, command: WebCommand) -> Result<Answer> {
        match command {
            WebCommand::Fetch { url, raw } => self.fetch(&url, raw).await,
            WebCommand::Search(search) => self.search(&search).await,
            WebCommand::Status => Ok(self.status(false)),
            WebCommand::Doctor => Ok(self.status(true)),
            WebCommand::Configure(configure) => self.configure(&configure).await,
        }
    }

    fn status(&self, fails: bool) -> Answer {
        let status = Status::of(self.options);
        Answer::new(status.state(), status.text())
            .failed_if(fails && status.problem.is_some(), "the search provider cannot be used")
    }

    async fn fetch(&self, url: &str, raw: bool) -> Result<Answer> {
        let url = WebUrl::parse(url).map_err(|error| usage(error.to_string()))?;
        let [tool, _] = self.tools();
        self.check(tool.as_ref(), json!({ "url": url.as_str() })).await?;
        let fetched = self.web.fetch(&Fetch { url, raw }, &self.options.integrations.web.resolved()).await?;
        let page = match fetched {
            Fetched::Page(page) => page,
            Fetched::Elsewhere { from, to, .. } => bail!(
                "{} redirects to another server, which was not contacted: {}",
                from.as_str(),
                to.as_str()
            ),
        };
        let text = format!("{}\n", page.text.trim_end());
        let page = FetchedPage {
            url: page.url.as_str().to_owned(),
            title: page.title.clone(),
            media_type: page.media.clone(),
            text: page.text.clone(),
            whole: page.is_whole,
        };
        Ok(Answer::new(page, text))
    }

    async fn search(&self, given: &WebSearchArgs) -> Result<Answer> {
        if self.options.integrations.web.search == SearchChoice::Hosted {
            bail!(
                "with web.search.provider = \"hosted\" only models search; choose another provider with `tiller web configure`"
            );
        }
        let [_, tool] = self.tools();
        let query = given.query.join(" ");
        self.check(tool.as_ref(), json!({ "query": query })).await?;
        let domains = |names: &[String]| Domains::parse(names).map_err(usage);
        let search = Search {
            query,
            limit: given.limit,
            allowed_domains: domains(&given.allowed)?,
            blocked_domains: domains(&given.blocked)?,
        };
        let options = self.options.integrations.web.resolved();
        let found = self.web.search(&search, &options).await.map_err(search_failure)?;
        let rows: Vec<_> = found
            .iter()
            .map(|found| WebResult {
                title: found.title.clone(),
                url: found.url.clone(),
                snippet: found.snippet.clone(),
            })
            .collect();
        let lines =
            found.iter().map(|found| format!("{}\n  {}\n  {}\n", found.title, found.url, found.snippet));
        let text = if found.is_empty() { "no results\n".to_owned() } else { lines.collect() };
        Ok(Answer::new(WebResults { query: search.query, results: rows }, text))
    }

    fn tools(&self) -> [Arc<dyn AnyTool>; 2] {
        WebTools::direct(&self.web, self.options.integrations.web.resolved())
    }

    /// Checks the rules. The user typed the command, so nothing needs approval; denials apply.
    async fn check(&self, tool: &dyn AnyTool, arguments: Value) -> Result<()> {
        let call = tool.parse(arguments).map_err(|error| usage(error.to_string()))?;
        let outside = wiring::outside(self.options, self.cwd, true);
        outside.check_call(tool, call.as_ref()).await.map_err(|refusal| anyhow!("{refusal}"))?;
        Ok(())
    }

    async fn configure(&self, given: &WebConfigure) -> Result<Answer> {
        let name = match given.provider {
            SearchWord::Off => "off",
            SearchWord::Brave => "brave",
            SearchWord::Tavily => "tavily",
            SearchWord::Searxng => "searxng",
            SearchWord::Hosted => "hosted",
        };
        self.change_key(name, given).await?;
        let directories = &self.options.directories;
        let path = match given.scope.project {
            true => config::project_path(self.cwd),
            false => config::user_path(directories),
        };
        let store = Store { system: wiring::local_system(self.options), directories, path: path.clone() };
        store.set("web.search.provider", &json!(name)).await?;
        if let Some(url) = &given.url {
            store.set("web.search.url", &json!(url)).await?;
        }
        let text = format!("web.search.provider = \"{name}\" in {path}\n");
        Ok(Answer::new(
            WebConfigured { provider: name.to_owned(), path: path.to_string(), key_stored: given.key_stdin },
            text,
        ))
    }

    /// Stores or removes the provider's key.
    async fn change_key(&self, name: &str, given: &WebConfigure) -> Result<()> {
        if !given.key_stdin && !given.forget_key {
            return Ok(());
        }
        let choice = SearchChoice::ALL.iter().find(|(id, _)| *id == name).map(|(_, choice)| *choice);
        let needs_key =
            matches!(choice, Some(SearchChoice::Provider(provider)) if provider.key_variable().is_some());
        if !needs_key {
            return Err(usage(format!("the search provider {name} has no key")));
        }
        let system = wiring::local_system(self.options);
        let values = Values::new(self.environment.clone(), system, &self.options.directories);
        let mut secrets = values.secrets().await?;
        if given.key_stdin {
            let key = read_stdin()?.trim_end_matches(['\n', '\r']).to_owned();
            if key.is_empty() {
                return Err(usage("the key on stdin is empty"));
            }
            self.environment.redactor().learn([key.clone()]);
            secrets.insert(search_secret_name(name), key);
        } else {
            secrets.remove(&search_secret_name(name));
        }
        values.store(&secrets).await
    }
}

/// Returns the failure of a search, with the command that sets up what is missing.
fn search_failure(error: SearchError) -> Failure {
    let text = error.to_string();
    let kind = match error {
        SearchError::NotConfigured | SearchError::NoUrl(_) | SearchError::Url(_) => Kind::Config,
        SearchError::NoKey(..) => Kind::Auth,
        SearchError::Failed(_) => return Failure::new(Kind::Provider, text),
    };
    Failure::new(kind, text).next("tiller web configure")
}
