//! Calling functions: permission checks, the request, and the response.

use crate::{
    account::{Account, Accounts},
    arguments::{ArgumentError, RawArguments, merge},
    auth::Scheme,
    client::{ClientFactory, Network},
    gates::{Blocked, Gates, Switches},
    integration::{ALL_PAGES, Function, Integration},
    limits::{CALL, ITEMS, PAGES},
    outcome::Outcome,
    pages,
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

/// Calls functions of integrations. Shared for the whole run, because it caches tokens.
pub struct Caller {
    http: Arc<ClientFactory>,
    accounts: Arc<dyn Accounts>,
    redactor: Redactor,
    tokens: Tokens,
}

/// A call of a function.
#[derive(Debug, Clone)]
pub struct Call {
    /// The integration.
    pub integration: Arc<Integration>,
    /// The function.
    pub function: Arc<Function>,
    /// The name of the account.
    pub account: String,
    /// The arguments.
    pub raw_arguments: RawArguments,
    /// Whether to proceed where approval would be needed but cannot be requested.
    pub force: bool,
    /// Whether to build the request without sending it.
    pub dry_run: bool,
    /// The source of uploaded files; `None` if no files may be sent.
    pub files: Option<Files>,
}

/// The reason why a call was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// A gate blocked the call.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// The arguments are invalid.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
}

impl Call {
    /// Returns the paths of the files that the call would send, with symbolic links unresolved.
    /// Empty if the arguments are invalid, because then nothing is sent.
    pub fn reads(&self) -> Vec<AbsPath> {
        let cwd = self.files.as_ref().map(|files| &files.cwd);
        let arguments = merge(&self.function, self.raw_arguments.clone()).ok();
        cwd.zip(arguments).map(|(cwd, arguments)| self.function.files(&arguments, cwd)).unwrap_or_default()
    }
}

impl Caller {
    /// Creates a caller with this factory for HTTP clients and these accounts.
    pub fn new(http: Arc<ClientFactory>, accounts: Arc<dyn Accounts>, redactor: Redactor) -> Self {
        Self { http, accounts, redactor, tokens: Tokens::default() }
    }

    /// Returns the user's accounts.
    pub fn accounts(&self) -> &dyn Accounts {
        self.accounts.as_ref()
    }

    /// Downloads an API description. The error is text for people.
    pub async fn document(&self, url: &str, network: Network) -> Result<Vec<u8>, String> {
        let url = Url::parse(url).map_err(|_| "that is not a valid http or https URL".to_owned())?;
        let client = (self.http)(url.as_str(), network)?;
        retry::document(&client, &url, network).await.map_err(|why| self.redactor.redact(&why))
    }

    /// Makes a call outside a turn. `denial` is a refusal that does not come from the switches.
    ///
    /// # Errors
    ///
    /// Fails if the call itself is invalid. Denied permission and a failed request are part of the
    /// outcome.
    pub async fn call(
        &self,
        call: &Call,
        switches: &Switches,
        denial: Option<String>,
    ) -> Result<Outcome, CallError> {
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
            Ok(forced) => outcome.meta.forced = forced,
            // A dry run sends nothing, so it needs no approval.
            Err(Blocked::NeedsApproval { .. }) if call.dry_run => {}
            Err(blocked) => {
                outcome.error = Some(blocked.to_string());
                return Ok(outcome);
            }
        }
        let arguments = merge(&call.function, call.raw_arguments.clone())?;
        gates.check_required(&arguments)?;
        self.execute(call, &account, &arguments, &mut outcome).await;
        outcome.took = began.elapsed();
        Ok(outcome)
    }

    /// Makes a call that the permission gate has already decided.
    pub(crate) async fn call_permitted(
        &self,
        call: &Call,
        switches: &Switches,
    ) -> Result<Outcome, CallError> {
        let account = self.accounts.account(&call.integration.name, &call.account).await;
        let gates = gates(call, switches, &account);
        gates.ready()?;
        let arguments = merge(&call.function, call.raw_arguments.clone())?;
        gates.check_required(&arguments)?;
        let mut outcome = Outcome::of(&call.function, &call.account, call.dry_run);
        self.execute(call, &account, &arguments, &mut outcome).await;
        Ok(outcome)
    }

    async fn execute(
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
                outcome.meta.pages = pages;
            }
            Err(why) => outcome.error = Some(self.redactor.redact(&why)),
        }
    }

    /// Redacts a response: a service may echo what it was sent.
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
        let message = |error: RequestError| error.to_string();
        let schemes = account.satisfied(integration, function).unwrap_or_default();
        let (_, network) = request::base_url(integration, account).map_err(message)?;
        let uploads = upload::read(function, arguments, call.files.as_ref()).await?;
        let mut request =
            request::build(integration, function, account, arguments, &uploads).map_err(message)?;
        if call.dry_run {
            return Ok((request.shown(&schemes), None));
        }
        self.redactor.learn(Request::sent_credentials(&schemes, account));
        let token = self.token(call, &schemes, account, network).await?;
        request.authorise(&schemes, account, token.as_deref(), network).map_err(message)?;
        let client = (self.http)(request.url.as_str(), network)?;
        let repeatable = function.is_idempotent();
        let all = arguments.get(ALL_PAGES) == Some(&Value::Bool(true));
        let Some(pages) = function.endpoint.pages.as_ref().filter(|_| all) else {
            return Ok((retry::send(&client, &request, repeatable, network).await?.data, None));
        };
        let mut items = Vec::new();
        let mut number = 0;
        loop {
            let response = retry::send(&client, &request, repeatable, network).await?;
            number += 1;
            let Some(more) = pages::items(pages, &response.data) else {
                // The response holds no list, so there are no items to collect.
                return Ok((if number == 1 { response.data } else { Value::Array(items) }, Some(number)));
            };
            items.extend(more.iter().cloned());
            let next = pages::next(pages, &request, &response, number);
            match next.filter(|_| number < PAGES && items.len() < ITEMS) {
                None => break,
                // Credentials in headers are kept; a key in the query must be in the new URL too.
                Some(next) => request = self.with_keys(next, &schemes, account),
            }
        }
        items.truncate(ITEMS);
        Ok((Value::Array(items), Some(number)))
    }

    /// Adds a missing query key to the URL of the next page, which may come from the service.
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
        let account_id = format!("{}.{}", call.integration.name, call.account);
        for scheme in schemes {
            let token =
                self.tokens.get(&account_id, scheme, account, network, self.http.as_ref(), &self.redactor);
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
