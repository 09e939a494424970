//! The descriptions of the settings of a server.

use super::{About, DefaultValue, Item, Takes};

/// Describes a quota of a server; `None` is unlimited.
const fn quota(name: &'static str, most: Option<i64>, text: &'static str) -> About {
    let default = match most {
        Some(most) => DefaultValue::Number(most),
        None => DefaultValue::Described("unlimited"),
    };
    About { name, takes: Takes::Count, default, text }
}

/// Describes a text among the settings of a server.
const fn text(name: &'static str, default: &'static str, text: &'static str) -> About {
    About { name, takes: Takes::Text, default: DefaultValue::Described(default), text }
}

pub(super) const ABOUT: &[About] = &[
    About {
        name: "serve.listen",
        takes: Takes::List(Item::Argument),
        default: DefaultValue::Described("`unix:` with the path of the user's own socket"),
        text: "Where [`tiller serve`](serve.md) listens: `unix:PATH` or `tcp:ADDRESS:PORT`.",
    },
    About {
        name: "serve.hosts",
        takes: Takes::List(Item::Argument),
        default: DefaultValue::EmptyList,
        text: "Values of `Host` that the server accepts over TCP beside those of loopback, such as \
               `agents.example:443`.",
    },
    About {
        name: "serve.origins",
        takes: Takes::List(Item::Argument),
        default: DefaultValue::EmptyList,
        text: "Origins of web pages that may use the server, such as `https://app.example`.",
    },
    About {
        name: "serve.behind_proxy",
        takes: Takes::List(Item::Argument),
        default: DefaultValue::EmptyList,
        text: "Networks of reverse proxies in CIDR notation. Only from them `X-Forwarded-For` and \
               `X-Forwarded-Proto` are read.",
    },
    text("serve.tls_cert", "none", "The PEM file with the server's certificate and its intermediates."),
    text("serve.tls_key", "none", "The PEM file with the private key of the server's certificate."),
    About {
        name: "serve.unix_users",
        takes: Takes::List(Item::Argument),
        default: DefaultValue::EmptyList,
        text: "Ids of other users of this machine that may connect to the server's Unix socket.",
    },
    About {
        name: "serve.detached",
        takes: Takes::Word(&["run", "cancel"]),
        default: DefaultValue::Text("run"),
        text: "What happens to a running turn when its last client is gone.",
    },
    About {
        name: "serve.resume_grace",
        takes: Takes::Seconds { most: None },
        default: DefaultValue::Number(300),
        text: "How long a connection without a socket can be resumed, in seconds.",
    },
    About {
        name: "serve.linger",
        takes: Takes::Seconds { most: None },
        default: DefaultValue::Number(600),
        text: "How long a session with neither a client nor a turn stays open, in seconds.",
    },
    quota("serve.quota.user.connections", Some(32), "Connections of a user at the same time."),
    quota("serve.quota.user.open_sessions", Some(64), "Open sessions of a user at the same time."),
    quota(
        "serve.quota.user.running_turns",
        Some(8),
        "Running turns of a user at the same time; more of them wait.",
    ),
    quota(
        "serve.quota.user.queued_turns",
        Some(32),
        "Turns of a user that wait for others to end; more of them are refused.",
    ),
    quota("serve.quota.user.prompts_per_minute", Some(20), "Prompts of a user within a minute."),
    quota(
        "serve.quota.user.tokens_per_day",
        None,
        "Tokens of a user within a day of UTC, without those read from a cache.",
    ),
    quota(
        "serve.quota.user.contents_mib",
        Some(10 * 1024),
        "Contents of files that a user's sessions store to undo changes, in MiB.",
    ),
    quota(
        "serve.quota.user.cost_per_day",
        None,
        "Cost of the models of a user within a day of UTC, in US cents, as far as prices are known.",
    ),
    quota(
        "serve.quota.tenant.connections",
        None,
        "Connections of all users of a tenant together at the same time.",
    ),
    quota(
        "serve.quota.tenant.open_sessions",
        None,
        "Open sessions of all users of a tenant together at the same time.",
    ),
    quota(
        "serve.quota.tenant.running_turns",
        None,
        "Running turns of all users of a tenant together at the same time; more of them wait.",
    ),
    quota(
        "serve.quota.tenant.queued_turns",
        None,
        "Turns of all users of a tenant together that wait for others to end; more of them are refused.",
    ),
    quota(
        "serve.quota.tenant.prompts_per_minute",
        None,
        "Prompts of all users of a tenant together within a minute.",
    ),
    quota(
        "serve.quota.tenant.tokens_per_day",
        None,
        "Tokens of all users of a tenant together within a day of UTC, without those read from a cache.",
    ),
    quota(
        "serve.quota.tenant.contents_mib",
        None,
        "Contents of files that the sessions of all users of a tenant together store to undo changes, in MiB.",
    ),
    quota(
        "serve.quota.tenant.cost_per_day",
        None,
        "Cost of the models of all users of a tenant together within a day of UTC, in US cents, as far as prices are known.",
    ),
    About {
        name: "serve.model_concurrency",
        takes: Takes::Count,
        default: DefaultValue::Described("unlimited"),
        text: "Requests of a server to one provider of models at the same time; others wait, and users \
               take turns.",
    },
    text(
        "serve.retention",
        "never",
        "How long the server keeps a session after its last use, such as `90d`: a number and `h`, `d` or `w`. \
               [Older ones are deleted](serve.md#how-long-sessions-are-kept), those of all users.",
    ),
    text(
        "serve.metrics_listen",
        "none",
        "Where the server offers its [metrics](serve.md#health-and-metrics) over TCP: \
               `tcp:ADDRESS:PORT`.",
    ),
    text(
        "serve.user_folders",
        "none",
        "The directory of the [users' folders](serve.md#users): the sessions of each user stay below \
         `DIRECTORY/TENANT/USER`. Without it, users share the files of the account that runs the server.",
    ),
    About {
        name: "serve.shared_keys",
        takes: Takes::List(Item::Argument),
        default: DefaultValue::Described("those in the server's environment"),
        text: "The providers of models and of searches whose keys all users may use, without seeing them.",
    },
    text(
        "serve.otel.endpoint",
        "none",
        "The URL of an OpenTelemetry collector that receives the server's \
         [traces](serve.md#traces) by OTLP over HTTP. Builds with the feature `otel` only.",
    ),
    About {
        name: "serve.otel.content",
        takes: Takes::Flag,
        default: DefaultValue::Flag(false),
        text: "Whether traces have prompts, answers, and the arguments and results of tool calls.",
    },
    text(
        "serve.node.listen",
        "none",
        "Where the server listens for [other nodes](serve.md#several-nodes): `tcp:ADDRESS:PORT`.",
    ),
    text(
        "serve.node.address",
        "the address it listens on",
        "Where other nodes reach this one: `HOST:PORT`, with a host that is in its certificate.",
    ),
    text("serve.node.cert", "none", "The PEM file with the certificate of this node."),
    text("serve.node.key", "none", "The PEM file with the private key of the node's certificate."),
    text(
        "serve.node.ca",
        "none",
        "The PEM file of the authority of all nodes. Its certificates speak for every user.",
    ),
    text(
        "serve.node.folders",
        "an id of the machine",
        "The name of the folders that sessions work in. Nodes that share a file system have the same name; \
               `any` is for nodes whose clients bring their own files.",
    ),
    About {
        name: "serve.after_death",
        takes: Takes::Word(&["stop", "continue"]),
        default: DefaultValue::Text("stop"),
        text: "What happens to a turn whose node died: it ends, or it goes on at another node once. Started \
               calls are interrupted and never run again.",
    },
    text(
        "serve.oidc.issuer",
        "none",
        "The URL of an OpenID Connect provider whose tokens are accepted, exactly as in their claim \
               `iss`.",
    ),
    text(
        "serve.oidc.audience",
        "none",
        "The id of this server at the provider; the claim `aud` of a token must name it.",
    ),
    About {
        name: "serve.oidc.user_claim",
        takes: Takes::Text,
        default: DefaultValue::Text("sub"),
        text: "The claim with the name of the user. An `email` must be verified.",
    },
    text(
        "serve.oidc.tenant_claim",
        "none; all users are of one tenant",
        "The claim with the tenant of the user.",
    ),
    About {
        name: "serve.oidc.groups_claim",
        takes: Takes::Text,
        default: DefaultValue::Text("groups"),
        text: "The claim with the groups of the user.",
    },
    About {
        name: "serve.oidc.groups",
        takes: Takes::List(Item::Argument),
        default: DefaultValue::EmptyList,
        text: "What each group permits, as `GROUP=SCOPE,SCOPE`, such as `admins=connect,session:read,admin`.",
    },
    About {
        name: "serve.oidc.scopes",
        takes: Takes::List(Item::Argument),
        default: DefaultValue::EmptyList,
        text: "What every user of the provider may do, without a group. A user without any scope is refused.",
    },
    About {
        name: "serve.oidc.local",
        takes: Takes::Flag,
        default: DefaultValue::Flag(false),
        text: "Whether the provider may be on this machine or in a private network.",
    },
];
