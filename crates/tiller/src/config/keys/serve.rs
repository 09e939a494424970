//! The settings of a server.

use super::super::{InProject, Key, Value, ValueError, key::joined};
use crate::{
    args::Lifetime,
    options::{OidcSettings, Options},
};
use ::serve::auth::QuotaLimits;
use agent::Scope;
use system::AbsPath;

const SERVE: &str = "a project must not open this machine to others";

/// Millionths of a dollar in a cent.
const MICRODOLLARS_IN_CENT: u64 = 10_000;

/// Returns the key of a setting of a server.
const fn server(name: &'static str, set: fn(&mut Options, &str, &Value) -> Result<(), ValueError>) -> Key {
    Key { name, in_project: InProject::Never(SERVE), set }
}

/// The limits of each `user`, or of all users of a `tenant`.
macro_rules! quotas {
    ($of:ident, $($name:ident => $set:expr;)*) => {
        [$(server(concat!("serve.quota.", stringify!($of), ".", stringify!($name)), |o, _, v| {
            let set: fn(&mut QuotaLimits, &Value) -> Result<(), ValueError> = $set;
            set(&mut o.serve.operation_mut().$of, v)
        }),)*]
    };
    ($of:ident) => {
        quotas! { $of,
            connections => |limits, v| Ok(limits.connections = v.count()?);
            open_sessions => |limits, v| Ok(limits.open_sessions = v.count()?);
            running_turns => |limits, v| Ok(limits.running_turns = v.count()?);
            queued_turns => |limits, v| Ok(limits.queued_turns = v.count()?);
            prompts_per_minute => |limits, v| Ok(limits.prompts_per_minute = v.count()?);
            tokens_per_day => |limits, v| Ok(limits.tokens_per_day = Some(v.count()?));
            contents_mib => |limits, v| Ok(limits.contents_mib = Some(v.count()?));
            cost_per_day => |limits, v| {
                let microdollars = v.count::<u64>()?.saturating_mul(MICRODOLLARS_IN_CENT);
                Ok(limits.microdollars_per_day = Some(microdollars))
            };
        }
    };
}

/// The settings of a server, in the order of their descriptions.
pub(super) const KEYS: &[Key] = &joined::<Key, { CONNECTIONS.len() + LATER.len() }>(CONNECTIONS, LATER);
const LATER: &[Key] = &joined::<Key, { QUOTAS.len() + OPERATION.len() }>(QUOTAS, OPERATION);
const QUOTAS: &[Key] =
    &joined::<Key, { USER_QUOTAS.len() + TENANT_QUOTAS.len() }>(USER_QUOTAS, TENANT_QUOTAS);
const USER_QUOTAS: &[Key] = &quotas!(user);
const TENANT_QUOTAS: &[Key] = &quotas!(tenant);

const CONNECTIONS: &[Key] = &[
    server("serve.listen", |o, _, v| Ok(o.serve.listen = v.texts()?)),
    server("serve.hosts", |o, _, v| Ok(o.serve.hosts = v.texts()?)),
    server("serve.origins", |o, _, v| Ok(o.serve.origins = v.texts()?)),
    server("serve.behind_proxy", |o, _, v| Ok(o.serve.behind_proxy = v.texts()?)),
    server("serve.tls_cert", |o, _, v| Ok(o.serve.tls_cert = Some(v.text()?))),
    server("serve.tls_key", |o, _, v| Ok(o.serve.tls_key = Some(v.text()?))),
    server("serve.unix_users", |o, _, v| {
        let ids = v.texts()?.into_iter().map(|text| text.parse());
        Ok(o.serve.unix_users = ids.collect::<Result<_, _>>().map_err(ValueError::invalid)?)
    }),
    server("serve.detached", |o, _, v| {
        Ok(o.serve.turns_go_on = v.one_of(&[("run", true), ("cancel", false)])?)
    }),
    server("serve.resume_grace", |o, _, v| Ok(o.serve.resume_grace = v.seconds()?)),
    server("serve.linger", |o, _, v| Ok(o.serve.linger = v.seconds()?)),
];

const OPERATION: &[Key] = &[
    server("serve.model_concurrency", |o, _, v| {
        Ok(o.serve.operation_mut().model_concurrency = Some(v.count()?))
    }),
    server("serve.retention", |o, _, v| {
        let lifetime = v.text()?.parse::<Lifetime>().map_err(ValueError::invalid)?;
        Ok(o.serve.operation_mut().retention = lifetime.time())
    }),
    server("serve.metrics_listen", |o, _, v| Ok(o.serve.operation_mut().metrics_listen = Some(v.text()?))),
    server("serve.user_folders", |o, _, v| {
        let text = v.text()?;
        let path = match text.strip_prefix("~/") {
            Some(rest) => o.directories.home.join(rest),
            None => AbsPath::new(&text).map_err(ValueError::invalid)?,
        };
        Ok(o.serve.operation_mut().user_folders = Some(path.to_string()))
    }),
    server("serve.shared_keys", |o, _, v| Ok(o.serve.operation_mut().shared_keys = Some(v.texts()?))),
    server("serve.otel.endpoint", |o, _, v| Ok(o.serve.otel_mut().endpoint = Some(v.text()?))),
    server("serve.otel.content", |o, _, v| Ok(o.serve.otel_mut().content = v.flag()?)),
    server("serve.node.listen", |o, _, v| Ok(o.serve.nodes_mut().listen = Some(v.text()?))),
    server("serve.node.address", |o, _, v| Ok(o.serve.nodes_mut().address = Some(v.text()?))),
    server("serve.node.cert", |o, _, v| Ok(o.serve.nodes_mut().cert = Some(v.text()?))),
    server("serve.node.key", |o, _, v| Ok(o.serve.nodes_mut().key = Some(v.text()?))),
    server("serve.node.ca", |o, _, v| Ok(o.serve.nodes_mut().ca = Some(v.text()?))),
    server("serve.node.folders", |o, _, v| Ok(o.serve.nodes_mut().folders = Some(v.text()?))),
    server("serve.after_death", |o, _, v| {
        Ok(o.serve.nodes_mut().goes_on_after_death = v.one_of(&[("stop", false), ("continue", true)])?)
    }),
    server("serve.oidc.issuer", |o, _, v| Ok(o.serve.oidc_mut().issuer = Some(v.text()?))),
    server("serve.oidc.audience", |o, _, v| Ok(o.serve.oidc_mut().audience = Some(v.text()?))),
    server("serve.oidc.user_claim", |o, _, v| Ok(o.serve.oidc_mut().user_claim = v.text()?)),
    server("serve.oidc.tenant_claim", |o, _, v| Ok(o.serve.oidc_mut().tenant_claim = Some(v.text()?))),
    server("serve.oidc.groups_claim", |o, _, v| Ok(o.serve.oidc_mut().groups_claim = v.text()?)),
    server("serve.oidc.groups", |o, _, v| {
        let groups = v.texts()?.into_iter().map(|text| OidcSettings::group(&text));
        Ok(o.serve.oidc_mut().groups = groups.collect::<Result<_, _>>().map_err(ValueError::invalid)?)
    }),
    server("serve.oidc.scopes", |o, _, v| {
        let scopes = v.texts()?.into_iter().map(|name| name.parse::<Scope>());
        Ok(o.serve.oidc_mut().scopes = scopes.collect::<Result<_, _>>().map_err(ValueError::invalid)?)
    }),
    server("serve.oidc.local", |o, _, v| Ok(o.serve.oidc_mut().is_local = v.flag()?)),
];
