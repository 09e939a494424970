//! `tiller token`: the tokens of `tiller serve`.

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::{Lifetime, TokenCommand},
    exit::Exit,
    server::stores::{self, AccessStores},
    session_stores::Addresses,
    table::Table,
};
use agent::Scope;
use anyhow::Result;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serve::auth::{
    AuditEvent, AuditRecord, BadToken, NewToken, Revocation, Source, TokenRow, TokenStoreError, wall_clock,
};

/// The scopes of a token for one's own sessions.
const DEFAULT_SCOPES: [Scope; 6] = [
    Scope::Connect,
    Scope::SessionCreate,
    Scope::SessionRead,
    Scope::SessionWrite,
    Scope::SessionApprove,
    Scope::SessionDelete,
];

/// The answer of `tiller token create`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CreatedToken {
    /// The token, which is shown this once.
    token: String,
    /// What is stored of it.
    #[serde(flatten)]
    info: TokenInfo,
}

/// The answer of `tiller token list`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TokenList {
    /// The tokens, oldest first.
    tokens: Vec<TokenInfo>,
}

/// A token, without its value. Also the answer of `tiller token revoke`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TokenInfo {
    /// Its id.
    id: String,
    /// What it is called.
    name: String,
    /// The tenant of its user.
    tenant: String,
    /// The user that it authenticates.
    user: String,
    /// What it permits.
    scopes: Vec<&'static str>,
    /// Whether it can be used.
    state: TokenState,
    /// When it was created, as RFC 3339.
    created: String,
    /// When it expires; null if never.
    expires: Option<String>,
    /// The hour in which it was last used; null if never.
    last_used: Option<String>,
    /// When it was revoked; null if it was not.
    revoked: Option<String>,
    /// Whether running turns of its connections were to be stopped.
    stops_turns: bool,
}

/// Whether a token can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TokenState {
    /// It can be used.
    Valid,
    /// It has expired.
    Expired,
    /// It was revoked.
    Revoked,
}

impl TokenState {
    fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl TokenInfo {
    fn of(row: &TokenRow, now: Timestamp) -> Self {
        let state = match row.revoked {
            Some(_) => TokenState::Revoked,
            None if !row.is_valid_at(now) => TokenState::Expired,
            None => TokenState::Valid,
        };
        let text = |time: Option<Timestamp>| time.map(|time| time.to_string());
        Self {
            id: row.id.clone(),
            name: row.name.clone(),
            tenant: row.tenant.clone(),
            user: row.user.clone(),
            scopes: row.scopes.iter().map(Scope::name).collect(),
            state,
            created: row.created.to_string(),
            expires: text(row.expires),
            last_used: text(row.last_used),
            revoked: text(row.revoked.map(|revoked| revoked.at)),
            stops_turns: row.revoked.is_some_and(|revoked| revoked.stop_turns),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(console: &Console, addresses: &Addresses<'_>, command: TokenCommand) -> Result<Exit> {
    let store = match &command {
        TokenCommand::Create { store, .. }
        | TokenCommand::List(store)
        | TokenCommand::Revoke { store, .. } => addresses.of(store.clone()).await?,
    };
    let stores = stores::open(addresses.system.clone(), addresses.directories, store.as_ref()).await?;
    let now = wall_clock()();
    let context = TokenContext { console, stores, now };
    match command {
        TokenCommand::Create { name, user, tenant, scopes, expires, store: _ } => {
            let expires = match expires {
                Lifetime::Never => None,
                Lifetime::For(time) => Some(now.checked_add(time)?),
            };
            let scopes = match scopes.as_slice() {
                [] => DEFAULT_SCOPES.into_iter().collect(),
                given => given.iter().flat_map(|scopes| scopes.iter()).collect(),
            };
            context.create(NewToken { name, tenant, user, scopes, expires }).await
        }
        TokenCommand::List(_) => context.list().await,
        TokenCommand::Revoke { id, stop, store: _ } => context.revoke(&id, stop).await,
    }
}

/// What the commands work with.
struct TokenContext<'a> {
    console: &'a Console,
    stores: AccessStores,
    now: Timestamp,
}

impl TokenContext<'_> {
    async fn create(&self, new: NewToken) -> Result<Exit> {
        let (token, row) = new.make(self.now).map_err(|error| {
            let kind = if matches!(error, BadToken::Random(_)) { Kind::Internal } else { Kind::Usage };
            Failure::new(kind, error.to_string())
        })?;
        self.stores.tokens.insert(row.clone()).await.map_err(failure)?;
        self.record(AuditEvent::TokenCreated, &row).await;
        let info = TokenInfo::of(&row, self.now);
        let until = match &info.expires {
            Some(expires) => format!("expires on {expires}"),
            None => "never expires".to_owned(),
        };
        let text = format!(
            "The token {} for {} {until}. It is not shown again; only its SHA-256 is in {}.\n",
            info.id, info.user, self.stores.place
        );
        // The value is no part of the answer: it would be redacted, as in every other output.
        let answer = Answer::new(CreatedToken { token: String::new(), info }, text);
        self.console.print_secret(answer, "token", token.expose())
    }

    async fn list(&self) -> Result<Exit> {
        let rows = self.stores.tokens.list().await.map_err(failure)?;
        let mut table = Table::new(["ID", "NAME", "USER", "STATE", "EXPIRES", "LAST USED", "SCOPES"]);
        for row in &rows {
            let info = TokenInfo::of(row, self.now);
            let moment = |time: Option<Timestamp>| {
                time.map_or_else(|| "never".to_owned(), |time| self.console.moment(time.as_millisecond()))
            };
            let user = match info.tenant.as_str() {
                agent::Principal::ONLY_TENANT => info.user,
                tenant => format!("{tenant}/{}", info.user),
            };
            table.row([
                info.id,
                info.name,
                user,
                info.state.word().to_owned(),
                moment(row.expires),
                moment(row.last_used),
                info.scopes.join(" "),
            ]);
        }
        let text = match rows.as_slice() {
            [] => "There is no token. `tiller token create NAME --user USER` creates one.\n".to_owned(),
            _ => table.text(),
        };
        let tokens = rows.iter().map(|row| TokenInfo::of(row, self.now)).collect();
        self.console.print(Answer::new(TokenList { tokens }, text))
    }

    async fn revoke(&self, id: &str, stop: bool) -> Result<Exit> {
        let revocation = Revocation { at: self.now, stop_turns: stop };
        let Some(row) = self.stores.tokens.revoke(id, revocation).await.map_err(failure)? else {
            let failure = Failure::new(Kind::NotFound, format!("no token has the id {id:?}"));
            return Err(failure.hint("an id begins with tok_").next("tiller token list").into());
        };
        self.record(AuditEvent::TokenRevoked, &row).await;
        let turns = if stop { "stops its running turns" } else { "lets its running turns go on" };
        let text = format!(
            "{} ({}) is revoked. A running server closes its connections within 5 seconds and {turns}.\n",
            row.id, row.name
        );
        self.console.print(Answer::new(TokenInfo::of(&row, self.now), text))
    }

    /// Records what was done with a token. It is done by then, so a failure is a note.
    async fn record(&self, what: AuditEvent, row: &TokenRow) {
        let record = AuditRecord {
            source: Some(Source::Unix(rustix::process::getuid().as_raw())),
            about: Some(row.id.clone()),
            ..AuditRecord::new(self.now, what, None)
        };
        if let Err(error) = self.stores.audit.record(record).await {
            self.console.note(&format!("note: this is not in the audit: {error}"));
        }
    }
}

/// Returns the failure of a command from that of the store.
fn failure(error: TokenStoreError) -> Failure {
    let kind = match &error {
        TokenStoreError::Busy { .. } => Kind::Busy,
        TokenStoreError::TooMany => Kind::Limit,
        TokenStoreError::Malformed { .. } => Kind::Config,
        TokenStoreError::File(system::SystemError::Exposed { .. }) => Kind::Denied,
        TokenStoreError::File(_) | TokenStoreError::Other(_) => Kind::Internal,
    };
    let failure = Failure::new(kind, error.to_string());
    match error {
        TokenStoreError::File(system::SystemError::Exposed { path, .. }) => {
            failure.next(format!("chmod 600 {path}"))
        }
        _ => failure,
    }
}
