//! Chooses the account for a call that names none, and explains what is missing for a call.

use super::Integrations;
use ::integrations::{Account, Accounts as _, Blocked, DEFAULT_ACCOUNT, Function, Integration, Switches};

/// The accounts of an integration.
pub(crate) struct AccountAdvice {
    /// The accounts that have fields, with their fields.
    known: Vec<(String, Account)>,
}

impl AccountAdvice {
    pub(crate) async fn of(integrations: &Integrations, integration: &str) -> Self {
        let mut known = Vec::new();
        for name in integrations.accounts.names(integration).await {
            let account = integrations.accounts.account(integration, &name).await;
            known.push((name, account));
        }
        Self { known }
    }

    /// Returns the names of all accounts but the default one.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|(name, _)| name.as_str()).filter(|name| *name != DEFAULT_ACCOUNT)
    }

    /// Returns the account for a call that names none: the only account if there is just one, else
    /// the
    /// default account.
    pub(crate) fn default_account(&self) -> &str {
        match self.known.as_slice() {
            [(only, _)] => only,
            _ => DEFAULT_ACCOUNT,
        }
    }

    /// Explains which credentials an account lacks for a function, and which command sets them;
    /// `None` if
    /// nothing is missing.
    pub(crate) fn missing_credentials(
        &self,
        integration: &Integration,
        function: &Function,
        account: &str,
    ) -> Option<String> {
        let none = Account::default();
        let own = self.known.iter().find(|(name, _)| name == account).map_or(&none, |(_, own)| own);
        let missing = own.missing(integration, function);
        if missing.is_empty() {
            return None;
        }
        let name = &integration.name;
        let secret: Vec<&str> = missing.iter().filter(|f| f.secret).map(|f| f.name.as_str()).collect();
        let mut words = format!("tiller integrations configure {name}");
        if account != DEFAULT_ACCOUNT {
            words.push_str(&format!(" --account {account}"));
        }
        let stdin = match secret.as_slice() {
            [] => "",
            [one] => {
                words.push_str(&format!(" --stdin {one}"));
                ", with the secret on its standard input"
            }
            _ => {
                words.push_str(" --stdin-json");
                ", with the secrets as a JSON object on its standard input"
            }
        };
        for field in missing.iter().filter(|field| !field.secret) {
            words.push_str(&format!(" --set {}=VALUE", field.name));
        }
        let lacks: Vec<_> = missing.iter().map(|field| field.name.as_str()).collect();
        let blocked = Blocked::NoCredentials { integration: name.clone(), account: account.to_owned() };
        let complete = |(_, own): &&(String, Account)| own.missing(integration, function).is_empty();
        let others: Vec<_> = self.known.iter().filter(complete).map(|(name, _)| name.as_str()).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!(" Or name an account that has it: {}.", others.join(", ")),
        };
        Some(format!("{blocked} It lacks {}: run `{words}`{stdin}.{others}", lacks.join(", ")))
    }
}

/// Explains why a function below `app.integrations` does not exist, and what to do; `None` if the
/// reason is unknown.
pub(crate) async fn explain(
    integrations: &Integrations,
    switches: &Switches,
    path: &[String],
) -> Option<String> {
    let (provider, function) = (path.first()?, path.last()?);
    let catalogue = integrations.catalogue().await;
    if let Some(why) = catalogue.broken().get(provider) {
        return Some(format!("{} {why}", Blocked::NotInstalled(provider.clone())));
    }
    let integration = catalogue.integration(provider).ok()?;
    if !switches.of(provider).enabled {
        let off = Blocked::NotActive(provider.clone());
        return Some(format!("{off} Run `tiller integrations enable {provider}`."));
    }
    if path.len() == 3
        && !AccountAdvice::of(integrations, provider).await.known.iter().any(|(name, _)| *name == path[1])
    {
        let account = &path[1];
        return Some(format!(
            "Integration '{provider}' has no account '{account}'. Run `tiller integrations configure {provider} --account {account}`, or leave the \
             account out."
        ));
    }
    match integration.functions.get(function) {
        Some(known) if !integration.is_runnable(known) => {
            Some(Blocked::NotRunnable(provider.clone()).to_string())
        }
        Some(_) => None,
        None => {
            let nearest = lua::path_step(&integration.nearest(function)?.name);
            let path = path.join(".");
            Some(format!(
                "Unknown function: app.integrations.{path}. Did you mean app.integrations.{provider}{nearest}? Use lua_list_docs to discover \
                 available functions."
            ))
        }
    }
}
