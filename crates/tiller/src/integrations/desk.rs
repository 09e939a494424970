//! `tiller integrations`, from the command line. What is printed holds no secret, and failures end with a code that is not 0.

use super::{
    Integrations, Store,
    accounts::Change,
    line::{self, Line},
    report::Report,
    rows::{self, Standing},
};
use crate::{
    args::{AddIntegration, Configure, IntegrationsCommand, OneFunction, SettingsScope, Word, document_file},
    config::{self, Flags},
    environment::{self, Environment},
    limits::STDIN_BYTES,
    options::Options,
    start, trust, wiring,
};
use ::integrations::{
    Accounts as _, Call, DOCUMENT_BYTES, Function, Integration, Manifest, Network, Switches, Unmade,
};
use agent::Trust;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::{fmt::Write as _, io::Read as _, sync::Arc};
use system::{AbsPath, System};

/// What the commands work with.
struct Desk<'a> {
    options: &'a Options,
    environment: &'a Environment,
    cwd: &'a AbsPath,
    integrations: Arc<Integrations>,
    switches: Arc<Switches>,
    system: Arc<dyn System>,
}

/// Does what is asked for and prints what came of it.
pub(crate) async fn run(
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    command: IntegrationsCommand,
) -> Result<u8> {
    let json = wants_json(&command);
    let desk = Desk {
        options,
        environment,
        cwd,
        integrations: Integrations::new(options, environment),
        switches: Arc::new(options.switches()),
        system: wiring::local_system(options),
    };
    let report = match desk.carry_out(command).await {
        Ok(report) => report,
        Err(error) if json => Report::new(json!({ "error": format!("{error:#}") }), "").failed(true),
        Err(error) => bail!("{}", environment.redactor().redact(&format!("{error:#}"))),
    };
    report.print(json, environment.redactor())
}

fn wants_json(command: &IntegrationsCommand) -> bool {
    use IntegrationsCommand as C;
    match command {
        C::List(named) | C::Status(named) => named.common.json,
        C::Doctor(common) | C::Search { common, .. } => common.json,
        C::Fields(one) | C::Remove(one) => one.common.json,
        C::Docs(one) | C::Schema(one) | C::Examples(one) => one.common.json,
        C::Configure(configure) => configure.common.json,
        C::Add(add) => add.common.json,
        C::Enable(switched) | C::Disable(switched) => switched.common.json,
        C::Lua(script) => script.json,
        C::Call { words } | C::Provider(words) => line::wants_json(words),
    }
}

impl Desk<'_> {
    async fn carry_out(&self, command: IntegrationsCommand) -> Result<Report> {
        use IntegrationsCommand as C;
        match command {
            C::List(named) => match named.name {
                Some(name) => self.functions_of(&name).await,
                None => Ok(self.list().await),
            },
            C::Status(named) => self.status(named.name.as_deref()).await,
            C::Doctor(_) => Ok(self.doctor().await),
            C::Fields(one) => self.fields(&one.name).await,
            C::Configure(configure) => self.configure(configure).await,
            C::Search { words, .. } => Ok(self.search(&words.join(" ")).await),
            C::Docs(one) => self.docs(&one).await,
            C::Schema(one) => self.schema(&one.name).await,
            C::Examples(one) => self.examples(&one.name).await,
            C::Call { words } => {
                let (function, rest) = line::function(&words)?;
                self.call(&function, &rest).await
            }
            C::Add(add) => self.add(add).await,
            C::Remove(one) => self.remove(&one.name).await,
            C::Enable(switched) => self.switch(&switched.name, true, &switched.scope).await,
            C::Disable(switched) => self.switch(&switched.name, false, &switched.scope).await,
            C::Lua(_) => bail!("scripts are run elsewhere"),
            C::Provider(words) => {
                let (provider, rest) = words.split_first().context("which integration?")?;
                match line::function(rest) {
                    Ok((function, rest)) => self.call(&format!("{provider}.{function}"), &rest).await,
                    Err(_) => self.functions_of(provider).await,
                }
            }
        }
    }

    async fn integration(&self, name: &str) -> Result<Arc<Integration>> {
        let catalogue = self.integrations.catalogue().await;
        match catalogue.integration(name) {
            Ok(integration) => Ok(integration.clone()),
            Err(blocked) => match catalogue.broken().get(name) {
                Some(why) => bail!("{blocked} {why}"),
                None => bail!("{blocked} `tiller integrations list` has those that are."),
            },
        }
    }

    async fn function(&self, name: &str) -> Result<(Arc<Integration>, Arc<Function>)> {
        let catalogue = self.integrations.catalogue().await;
        let (integration, function) = catalogue.function(name)?;
        Ok((integration.clone(), function.clone()))
    }

    async fn standing(&self, integration: &Integration) -> Standing {
        Standing::of(&self.integrations, integration, &self.switches).await
    }

    async fn list(&self) -> Report {
        let catalogue = self.integrations.catalogue().await;
        let (mut rows, mut text) = (Vec::new(), String::new());
        for integration in catalogue.all() {
            let standing = self.standing(integration).await;
            let count = integration.functions.len();
            let _ = writeln!(
                text,
                "{:<24} {:<18} {count:>4} functions  {}",
                integration.name,
                standing.word(),
                integration.title
            );
            rows.push(rows::provider(integration, &standing));
        }
        for (name, why) in catalogue.broken() {
            let _ = writeln!(text, "problem: {name}: {why}");
        }
        Report::new(json!({ "integrations": rows, "broken": catalogue.broken() }), text)
    }

    async fn functions_of(&self, name: &str) -> Result<Report> {
        let integration = self.integration(name).await?;
        let standing = self.standing(&integration).await;
        let mut text = String::new();
        for function in integration.functions.values() {
            let _ = writeln!(
                text,
                "{:<44} {:<6} {}",
                function.full_name(),
                function.operation.id(),
                function.title
            );
        }
        if !integration.left_out.is_empty() {
            let _ = writeln!(
                text,
                "{} operations of the document are left out; `tiller integrations doctor` has them",
                integration.left_out.len()
            );
        }
        let functions: Vec<_> =
            integration.functions.values().map(|f| rows::function(&integration, f, &standing)).collect();
        let provider = rows::provider(&integration, &standing);
        Ok(Report::new(json!({ "integration": provider, "functions": functions }), text))
    }

    async fn status(&self, name: Option<&str>) -> Result<Report> {
        let catalogue = self.integrations.catalogue().await;
        let one = match name {
            Some(name) => vec![self.integration(name).await?],
            None => catalogue.all().cloned().collect(),
        };
        let (mut rows, mut text) = (Vec::new(), String::new());
        for integration in one {
            let standing = self.standing(&integration).await;
            let own = self.switches.of(&integration.name);
            let said = |permission: Option<::integrations::Permission>| {
                permission.unwrap_or(self.switches.default).id()
            };
            let (read, write) = (said(own.read), said(own.write));
            let accounts = if standing.accounts.is_empty() {
                "no account".to_owned()
            } else {
                standing.accounts.join(", ")
            };
            let _ = writeln!(
                text,
                "{:<24} {:<18} read {read}, write {write}; {accounts}",
                integration.name,
                standing.word()
            );
            let mut row = rows::provider(&integration, &standing);
            row["permissions"] = json!({ "read": read, "write": write });
            rows.push(row);
        }
        Ok(Report::new(json!({ "integrations": rows }), text))
    }

    async fn doctor(&self) -> Report {
        let catalogue = self.integrations.catalogue().await;
        let mut issues: Vec<String> =
            catalogue.broken().iter().map(|(name, why)| format!("{name}: {why}")).collect();
        let mut left_out = Vec::new();
        let mut ready = 0;
        for integration in catalogue.all() {
            let standing = self.standing(integration).await;
            ready += usize::from(standing.word() == "ready");
            if standing.active && !standing.configured {
                let name = &integration.name;
                issues.push(format!(
                    "{name}: it is on and lacks credentials; `tiller integrations configure {name}`"
                ));
            }
            left_out.extend(integration.left_out.iter().map(|why| format!("{}: {why}", integration.name)));
        }
        for (name, own) in &self.switches.each {
            if own.enabled && catalogue.integration(name).is_err() && !catalogue.broken().contains_key(name) {
                issues.push(format!("{name}: the settings switch it on, and it is not installed"));
            }
        }
        let mut text = format!("{ready} integrations can be called\n");
        issues.iter().for_each(|issue| {
            let _ = writeln!(text, "problem: {issue}");
        });
        left_out.iter().for_each(|operation| {
            let _ = writeln!(text, "left out: {operation}");
        });
        let failed = !issues.is_empty();
        Report::new(json!({ "ready": ready, "issues": issues, "left_out": left_out }), text).failed(failed)
    }

    async fn fields(&self, name: &str) -> Result<Report> {
        let integration = self.integration(name).await?;
        let rows = rows::fields(&integration);
        let mut accounts = serde_json::Map::new();
        for name in self.integrations.accounts.names(&integration.name).await {
            let account = self.integrations.accounts.account(&integration.name, &name).await;
            accounts.insert(name, json!(account.fields()));
        }
        let mut text = String::new();
        for row in &rows {
            let kind = if row["secret"] == true { "secret" } else { "" };
            let needed = if row["required"] == true { "needed" } else { "" };
            let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            let _ = writeln!(text, "{:<20} {kind:<7} {needed:<7} {}", word("name"), word("description"));
        }
        for (name, fields) in &accounts {
            let fields: Vec<_> = fields.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let _ = writeln!(text, "account {name} has {}", fields.join(", "));
        }
        Ok(Report::new(
            json!({ "integration": integration.name, "fields": rows, "accounts": accounts }),
            text,
        ))
    }

    async fn search(&self, query: &str) -> Report {
        let catalogue = self.integrations.catalogue().await;
        let found = catalogue.search(query);
        let mut text = String::new();
        for function in &found {
            let _ = writeln!(
                text,
                "{:<44} {:<6} {}",
                function.full_name(),
                function.operation.id(),
                function.title
            );
        }
        if found.is_empty() {
            text.push_str("No function fits. Try other or fewer words.\n");
        }
        let row = |f: &&Arc<Function>| json!({ "function": f.full_name(), "title": f.title, "operation": f.operation.id() });
        Report::new(json!({ "functions": found.iter().map(row).collect::<Vec<_>>() }), text)
    }

    async fn docs(&self, one: &OneFunction) -> Result<Report> {
        if !one.name.contains('.') {
            let integration = self.integration(&one.name).await?;
            let mut text = format!("# {}\n\n{}\n\n", integration.title, integration.description);
            for function in integration.functions.values() {
                let _ = writeln!(text, "- `{}`: {}", function.full_name(), function.title);
            }
            return Ok(Report::new(json!({ "page": integration.name, "text": text }), text));
        }
        let (integration, function) = self.function(&one.name).await?;
        let standing = self.standing(&integration).await;
        let filled = rows::filled(&integration, &standing);
        let schema = function.input_schema(&filled);
        let mut text = format!(
            "# {}\n\n{}\n\n{} ({} {})\n",
            function.full_name(),
            function.description,
            function.operation.id(),
            function.method,
            function.path
        );
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (at, (name, own)) in schema["properties"].as_object().into_iter().flatten().enumerate() {
            if at == 0 {
                text.push_str("\nParameters:\n");
            }
            let kind = own["type"].as_str().unwrap_or("any");
            let needed = if required.iter().any(|known| known == name) { ", required" } else { "" };
            let _ = writeln!(
                text,
                "- `{name}` ({kind}{needed}): {}",
                own["description"].as_str().unwrap_or_default()
            );
        }
        Ok(Report::new(json!({ "page": function.full_name(), "text": text }), text))
    }

    async fn schema(&self, name: &str) -> Result<Report> {
        let (integration, function) = self.function(name).await?;
        let standing = self.standing(&integration).await;
        let row = rows::function(&integration, &function, &standing);
        let text = format!("{:#}\n", row["input_schema"]);
        Ok(Report::new(json!({ "function": row }), text))
    }

    async fn examples(&self, name: &str) -> Result<Report> {
        let (integration, function) = self.function(name).await?;
        let standing = self.standing(&integration).await;
        let arguments = rows::example(&function, &rows::filled(&integration, &standing));
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let flags: String = arguments
            .iter()
            .map(|(name, value)| format!(" --{}='{}'", name.replace('_', "-"), plain(value)))
            .collect();
        let lua: Vec<_> =
            arguments.iter().map(|(name, value)| format!("[\"{name}\"] = {}", lua_of(value))).collect();
        let (provider, name) = (&integration.name, &function.name);
        let json = Value::Object(arguments);
        let examples = [
            format!("tiller integrations:{provider} {name}{flags}"),
            format!("tiller integrations call {provider}.{name} '{json}' --json"),
            format!("tiller integrations call {provider}.{name}{flags} --dry-run"),
            format!("app.integrations.{provider}.{name}{{{}}}", lua.join(", ")),
        ];
        let text = examples.iter().map(|example| format!("{example}\n")).collect::<String>();
        Ok(Report::new(json!({ "function": function.full_name(), "examples": examples }), text))
    }

    async fn call(&self, name: &str, words: &[String]) -> Result<Report> {
        let (integration, function) = self.function(name).await?;
        let Line { given, account, force, dry_run, help, .. } = line::read(words, &function, &mut stdin)?;
        if help {
            return self.docs(&OneFunction { name: name.to_owned(), common: Default::default() }).await;
        }
        let account = account.unwrap_or_else(|| ::integrations::DEFAULT_ACCOUNT.to_owned());
        let call = Call { integration, function, account, given, force, dry_run };
        let denial = self.integrations.denial(self.options, self.cwd, &call).await;
        let outcome = match self.integrations.caller.call(&call, &self.switches, denial).await {
            Ok(outcome) => outcome,
            Err(Unmade::Blocked(blocked)) => bail!("{blocked}{}", self.hint(&blocked, &call)),
            Err(error) => return Err(error.into()),
        };
        let text = match (&outcome.error, &outcome.data) {
            (Some(error), _) => bail_text(error, &call, self),
            (None, Value::String(text)) => format!("{}\n", text.trim_end()),
            (None, data) => format!("{data:#}\n"),
        };
        Ok(Report::new(outcome.to_json(), text).failed(!outcome.success()))
    }

    /// What to type, after a text that callers know.
    fn hint(&self, blocked: &::integrations::Blocked, call: &Call) -> String {
        use ::integrations::Blocked as B;
        let name = &call.integration.name;
        match blocked {
            B::NotActive(_) => format!(" (`tiller integrations enable {name}`)"),
            B::NoCredentials { account, .. } => {
                let fields: Vec<_> =
                    call.integration.fields().iter().map(|field| field.name.clone()).collect();
                format!(
                    " (`tiller integrations configure {name} --account {account}`: {})",
                    fields.join(", ")
                )
            }
            _ => String::new(),
        }
    }

    async fn configure(&self, configure: Configure) -> Result<Report> {
        let integration = self.integration(&configure.name).await?;
        let (name, account) = (&integration.name, &configure.account);
        let fields = integration.fields();
        if configure.forget {
            let found = self.integrations.accounts.forget(name, Some(account)).await?;
            anyhow::ensure!(found, "Integration '{name}' has no account '{account}'");
        }
        let mut change = Change::new();
        for given in &configure.set {
            let (field, value) = pair(given, "--set")?;
            if fields.iter().any(|known| known.name == field && known.secret) {
                bail!(
                    "{field} is a secret, which does not belong on a command line; use --stdin {field} or --env {field}=VARIABLE"
                );
            }
            change.insert(field, Some(value));
        }
        for given in &configure.env {
            let (field, variable) = pair(given, "--env")?;
            let value = self.environment.get(&variable);
            let value = value.with_context(|| format!("the variable {variable} is not set"))?;
            change.insert(field, Some(value.to_owned()));
        }
        let field = configure.stdin.clone().or_else(|| configure.api_key_stdin.then(|| "api_key".to_owned()));
        if let Some(field) = field {
            let value = stdin()?.trim_end_matches(['\n', '\r']).to_owned();
            anyhow::ensure!(!value.is_empty(), "the value on stdin is empty");
            change.insert(field, Some(value));
        }
        if configure.stdin_json {
            let given: Value = serde_json::from_str(&stdin()?).context("stdin is no JSON object")?;
            for (field, value) in given.as_object().context("stdin is no JSON object")? {
                let value = value.as_str().with_context(|| format!("the field {field} is no text"))?;
                change.insert(field.clone(), Some(value.to_owned()));
            }
        }
        change.extend(configure.unset.iter().map(|field| (field.clone(), None)));
        let secret: Vec<String> = change
            .iter()
            .filter(|(name, _)| fields.iter().any(|field| field.name == **name && field.secret))
            .filter_map(|(_, value)| value.clone())
            .collect();
        self.environment.redactor().learn(secret);
        self.integrations.accounts.change(name, account, &fields, change).await?;
        let store = self.store(&configure.scope);
        let enabled = match (configure.enable, configure.disable) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        if let Some(enabled) = enabled {
            store.set(&format!("integrations.{name}.enabled"), &json!(enabled)).await?;
        }
        for (operation, word) in [("read", configure.read), ("write", configure.write)] {
            if let Some(word) = word {
                let word = match word {
                    Word::Allow => "allow",
                    Word::Ask => "ask",
                    Word::Deny => "deny",
                };
                store.set(&format!("integrations.{name}.permissions.{operation}"), &json!(word)).await?;
            }
        }
        self.configured(&integration, account, &configure.scope).await
    }

    async fn switch(&self, name: &str, on: bool, scope: &SettingsScope) -> Result<Report> {
        // What is broken, or gone, can be switched off.
        if on {
            self.integration(name).await?;
        }
        self.store(scope).set(&format!("integrations.{name}.enabled"), &json!(on)).await?;
        match self.integration(name).await {
            Ok(integration) => self.configured(&integration, ::integrations::DEFAULT_ACCOUNT, scope).await,
            Err(_) => {
                Ok(Report::new(json!({ "integration": name, "enabled": on }), format!("{name} is off\n")))
            }
        }
    }

    /// What holds now.
    async fn configured(
        &self,
        integration: &Integration,
        account: &str,
        scope: &SettingsScope,
    ) -> Result<Report> {
        let now = start::resolved(self.environment, self.cwd, Flags::default()).await?.options.switches();
        let standing = Standing::of(&self.integrations, integration, &now).await;
        let keys = self.integrations.accounts.account(&integration.name, account).await.fields();
        let own = now.of(&integration.name);
        let said = |permission: Option<::integrations::Permission>| permission.unwrap_or(now.default).id();
        let (read, write) = (said(own.read), said(own.write));
        let note = match trust::folder_trust(&self.options.folders).of(self.cwd).await {
            Trust::Trusted(_) | Trust::Empty => "",
            _ if scope.project => " The project's settings count once the folder is trusted: `tiller trust`.",
            _ => "",
        };
        let json = json!({
            "integration": integration.name,
            "account": account,
            "scope": if scope.project { "project" } else { "global" },
            "enabled": own.enabled,
            "credentialScope": "global",
            "credentialKeys": keys,
            "permissions": { "read": read, "write": write },
            "status": standing.word(),
        });
        let has = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
        let text = format!(
            "{} is {}; read {read}, write {write}; account {account} has {has}.{note}\n",
            integration.name,
            standing.word()
        );
        Ok(Report::new(json, text))
    }

    fn store(&self, scope: &SettingsScope) -> Store<'_> {
        let folders = &self.options.folders;
        let path = if scope.project { config::project_path(self.cwd) } else { config::user_path(folders) };
        Store { system: self.system.clone(), folders, path }
    }

    async fn add(&self, add: AddIntegration) -> Result<Report> {
        let network = if add.local { Network::Private } else { Network::Public };
        let (source, bytes) = match document_file(&add.openapi) {
            Some(file) => {
                let path = environment::absolute(self.cwd, &file)?;
                (path.to_string(), self.system.read(&path).await?)
            }
            None => {
                let fetched = self.integrations.caller.document(&add.openapi, network).await;
                (add.openapi.clone(), fetched.map_err(anyhow::Error::msg)?)
            }
        };
        anyhow::ensure!(
            bytes.len() <= DOCUMENT_BYTES,
            "the document has more than {} MB",
            DOCUMENT_BYTES / 1024 / 1024
        );
        let document: Value = serde_json::from_slice(&bytes)
            .map_err(|error| ::integrations::DocumentError::NoJson(error.to_string()))?;
        let manifest = Manifest::new(&add.name, &source, add.base_url.as_deref(), add.local)?;
        let integration = self.integrations.library.add(&manifest, &document).await?;
        let name = &integration.name;
        let mut text =
            format!("{name} ({}) is added: {} functions", integration.title, integration.functions.len());
        if !integration.left_out.is_empty() {
            let _ = write!(text, ", {} operations left out", integration.left_out.len());
        }
        let _ = writeln!(
            text,
            ".\nNext: `tiller integrations configure {name} --enable`, `tiller integrations list {name}`"
        );
        if integration.base_url.is_none() {
            text.push_str("The document names no address: configure base_url too.\n");
        }
        let fields: Vec<_> = integration.fields().into_iter().map(|field| field.name).collect();
        let json = json!({
            "integration": name,
            "title": integration.title,
            "functions": integration.functions.len(),
            "left_out": integration.left_out,
            "base_url": integration.base_url,
            "fields": fields,
            "source": source,
        });
        Ok(Report::new(json, text))
    }

    async fn remove(&self, name: &str) -> Result<Report> {
        self.integrations.library.remove(name).await?;
        self.integrations.accounts.forget(name, None).await?;
        if self.switches.of(name).enabled {
            let scope = SettingsScope { project: false, global: true };
            self.store(&scope).set(&format!("integrations.{name}.enabled"), &json!(false)).await?;
        }
        Ok(Report::new(
            json!({ "integration": name, "removed": true }),
            format!("{name} is forgotten, with its accounts\n"),
        ))
    }
}

/// Why a call failed, and what helps.
fn bail_text(error: &str, call: &Call, desk: &Desk<'_>) -> String {
    let permission = desk.switches.permission(&call.integration.name, call.function.operation);
    let waits = permission == ::integrations::Permission::Ask && !call.force && !call.dry_run;
    let (name, operation) = (&call.integration.name, call.function.operation.id());
    let hint =
        format!("`tiller integrations configure {name} --{operation} allow`, or --force for this call\n");
    if waits { format!("{error}\n{hint}") } else { format!("{error}\n") }
}

/// `FIELD=VALUE`.
fn pair(given: &str, option: &str) -> Result<(String, String)> {
    let (name, value) = given.split_once('=').with_context(|| format!("{option} is NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn stdin() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(STDIN_BYTES + 1).read_to_end(&mut bytes).context("stdin cannot be read")?;
    anyhow::ensure!(bytes.len() as u64 <= STDIN_BYTES, "what is on stdin has more than {STDIN_BYTES} bytes");
    String::from_utf8(bytes).context("what is on stdin is not UTF-8 text")
}

fn lua_of(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("{{{}}}", items.iter().map(lua_of).collect::<Vec<_>>().join(", ")),
        Value::Object(_) => "{}".to_owned(),
        other => other.to_string(),
    }
}
