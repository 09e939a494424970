//! Calls: through the gates, to the service, and back with what it answered.

use crate::{
    account::{Account, Accounts},
    arguments::{ArgumentError, Given, merged},
    auth::Scheme,
    client::{ClientFactory, Network},
    gates::{Blocked, Gates, Switches},
    integration::{ALL_PAGES, Function, Integration},
    limits::{CALL, ITEMS, PAGES},
    outcome::Outcome,
    request::{self, Request, RequestError},
    retry,
    token::Tokens,
    upload::{self, Files},
};
use agent::Redactor;
use reqwest::Url;
use serde_json::{Map, Value};
use std::sync::Arc;
use system::AbsPath;
use tokio::time::Instant;

/// Calls functions of integrations. One for a whole run: it keeps tokens.
pub struct Caller {
    http: Arc<ClientFactory>,
    accounts: Arc<dyn Accounts>,
    redactor: Redactor,
    tokens: Tokens,
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The integration.
    pub integration: Arc<Integration>,
    /// The function.
    pub function: Arc<Function>,
    /// On whose behalf.
    pub account: String,
    /// What it is called with.
    pub given: Given,
    /// Whether questions that nobody could answer are passed over.
    pub force: bool,
    /// Whether nothing is sent.
    pub dry_run: bool,
    /// Where files are read that go along; `None` where none may.
    pub files: Option<Files>,
}

/// Why a call was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unmade {
    /// A gate is closed.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// The arguments are wrong.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
}

impl Call {
    /// The files that it sends, links not resolved. None where its arguments are wrong, so that
    /// nothing is sent.
    pub fn reads(&self) -> Vec<AbsPath> {
        let cwd = self.files.as_ref().map(|files| &files.cwd);
        let arguments = merged(&self.function, self.given.clone()).ok();
        cwd.zip(arguments).map(|(cwd, given)| self.function.files(&given, cwd)).unwrap_or_default()
    }
}

impl Caller {
    /// Calls with clients from this factory, on behalf of these accounts.
    pub fn new(http: Arc<ClientFactory>, accounts: Arc<dyn Accounts>, redactor: Redactor) -> Self {
        Self { http, accounts, redactor, tokens: Tokens::default() }
    }

    /// The user's accounts.
    pub fn accounts(&self) -> &dyn Accounts {
        self.accounts.as_ref()
    }

    /// Gets a document that describes an API. The error is for people.
    pub async fn document(&self, url: &str, network: Network) -> Result<Vec<u8>, String> {
        let url = Url::parse(url).map_err(|_| "that is no http or https address".to_owned())?;
        let client = (self.http)(url.as_str(), network)?;
        retry::document(&client, &url, network).await.map_err(|why| self.redactor.redact(&why))
    }

    /// Makes a call that no turn makes, unless it is denied by something beside the switches (`denial`, which says why). An error is a call that was
    /// wrong; what the permissions refuse, and what fails, is an outcome.
    pub async fn call(
        &self,
        call: &Call,
        switches: &Switches,
        denial: Option<String>,
    ) -> Result<Outcome, Unmade> {
        let began = Instant::now();
        let account = self.accounts.account(&call.integration.name, &call.account).await;
        let gates = gates(call, switches, &account);
        gates.ready()?;
        let mut outcome = Outcome::of(&call.function, &call.account, call.dry_run);
        if denial.is_some() {
            outcome.error = denial;
            return Ok(outcome);
        }
        match gates.permitted(call.force) {
            Ok(forced) => outcome.forced = forced,
            // Nothing is done, so nobody has to be asked.
            Err(Blocked::NeedsApproval { .. }) if call.dry_run => {}
            Err(blocked) => {
                outcome.error = Some(blocked.to_string());
                return Ok(outcome);
            }
        }
        let arguments = merged(&call.function, call.given.clone())?;
        gates.supplied(&arguments)?;
        self.carry_out(call, &account, &arguments, &mut outcome).await;
        outcome.took = began.elapsed();
        Ok(outcome)
    }

    /// Makes a call that the gate has decided about.
    pub(crate) async fn call_permitted(&self, call: &Call, switches: &Switches) -> Result<Outcome, Unmade> {
        let account = self.accounts.account(&call.integration.name, &call.account).await;
        let gates = gates(call, switches, &account);
        gates.ready()?;
        let arguments = merged(&call.function, call.given.clone())?;
        gates.supplied(&arguments)?;
        let mut outcome = Outcome::of(&call.function, &call.account, call.dry_run);
        self.carry_out(call, &account, &arguments, &mut outcome).await;
        Ok(outcome)
    }

    async fn carry_out(
        &self,
        call: &Call,
        account: &Account,
        arguments: &Map<String, Value>,
        outcome: &mut Outcome,
    ) {
        let done = tokio::time::timeout(CALL, self.send(call, account, arguments)).await;
        let done = done.unwrap_or_else(|_| Err(format!("The call took longer than {} s.", CALL.as_secs())));
        match done {
            Ok((data, pages)) => {
                outcome.data = self.without_secrets(data);
                outcome.pages = pages;
            }
            Err(why) => outcome.error = Some(self.redactor.redact(&why)),
        }
    }

    /// A service may say back what it was told.
    fn without_secrets(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redactor.redact(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.without_secrets(item)).collect(),
            Value::Object(members) => {
                members.into_iter().map(|(name, value)| (name, self.without_secrets(value))).collect()
            }
            plain => plain,
        }
    }

    async fn send(
        &self,
        call: &Call,
        account: &Account,
        arguments: &Map<String, Value>,
    ) -> Result<(Value, Option<usize>), String> {
        let Call { integration, function, .. } = call;
        let words = |error: RequestError| error.to_string();
        let schemes = account.satisfied(integration, function).unwrap_or_default();
        let (_, network) = request::place(integration, account).map_err(words)?;
        let uploads = upload::read(function, arguments, call.files.as_ref()).await?;
        let mut request =
            request::build(integration, function, account, arguments, &uploads).map_err(words)?;
        if call.dry_run {
            return Ok((request.shown(&schemes), None));
        }
        self.redactor.learn(Request::written(&schemes, account));
        let token = self.token(call, &schemes, account, network).await?;
        request.authorise(&schemes, account, token.as_deref(), network).map_err(words)?;
        let client = (self.http)(request.url.as_str(), network)?;
        let again = function.is_idempotent();
        let all = arguments.get(ALL_PAGES) == Some(&Value::Bool(true));
        let Some(pages) = function.pages.as_ref().filter(|_| all) else {
            return Ok((retry::send(&client, &request, again, network).await?.data, None));
        };
        let mut items = Vec::new();
        let mut number = 0;
        loop {
            let answer = retry::send(&client, &request, again, network).await?;
            number += 1;
            let Some(more) = pages.items(&answer.data) else {
                // No list: there is nothing to gather.
                return Ok((if number == 1 { answer.data } else { Value::Array(items) }, Some(number)));
            };
            items.extend(more.iter().cloned());
            let next = pages.next(&request, &answer, number);
            match next.filter(|_| number < PAGES && items.len() < ITEMS) {
                None => break,
                // What says who calls is in the headers; a key in the query is in the address of the request in hand.
                Some(next) => request = self.with_keys(next, &schemes, account),
            }
        }
        items.truncate(ITEMS);
        Ok((Value::Array(items), Some(number)))
    }

    /// An address that a service gave for the next page may lack the key of the query.
    fn with_keys(&self, mut request: Request, schemes: &[&Scheme], account: &Account) -> Request {
        for scheme in schemes {
            if let Scheme::KeyInQuery { field, parameter } = scheme
                && !request.url.query_pairs().any(|(name, _)| name == parameter.as_str())
            {
                request.url.query_pairs_mut().append_pair(parameter, account.get(field).unwrap_or_default());
            }
        }
        request
    }

    async fn token(
        &self,
        call: &Call,
        schemes: &[&Scheme],
        account: &Account,
        network: Network,
    ) -> Result<Option<String>, String> {
        let whose = format!("{}.{}", call.integration.name, call.account);
        for scheme in schemes {
            let token = self.tokens.get(&whose, scheme, account, network, self.http.as_ref(), &self.redactor);
            if let Some(token) = token.await? {
                return Ok(Some(token));
            }
        }
        Ok(None)
    }
}

fn gates<'a>(call: &'a Call, switches: &'a Switches, account: &'a Account) -> Gates<'a> {
    Gates {
        integration: &call.integration,
        function: &call.function,
        switches,
        account,
        account_name: &call.account,
    }
}
