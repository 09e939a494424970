//! The checks before a call, in order. Clients rely on the wording of the errors.

use crate::{
    account::Account,
    integration::{Function, Integration, Operation},
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The user's permission settings for integrations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Switches {
    /// The permission of functions without a setting of their own.
    pub default: Permission,
    /// The settings of individual integrations, by name.
    pub each: BTreeMap<String, Permissions>,
}

/// The user's settings for one integration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Whether the integration is switched on.
    pub enabled: bool,
    /// The permission of read-only functions.
    pub read: Option<Permission>,
    /// The permission of all other functions.
    pub write: Option<Permission>,
}

/// The decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Permission {
    /// The call is made.
    Allow,
    /// The user is asked, if that is possible.
    #[default]
    Ask,
    /// The call is never made.
    Deny,
}

/// The reason why a function is not called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    /// There is no such function.
    #[error("Unknown integration function: {name}{}", suggestion(.nearest))]
    Unknown {
        /// The requested name.
        name: String,
        /// The most similar function, as `provider.function`.
        nearest: Option<String>,
    },
    /// There is no such integration, or it cannot be read.
    #[error("Integration '{0}' is not installed.")]
    NotInstalled(String),
    /// It needs an authentication scheme that is not supported.
    #[error("Integration '{0}' is discoverable but is not supported by the local CLI runtime yet.")]
    NotRunnable(String),
    /// The user has not enabled the integration.
    #[error("Integration '{0}' is installed but not active. Enable it in settings first.")]
    NotActive(String),
    /// The account is incomplete.
    #[error(
        "Integration '{integration}' is missing required credentials for account '{account}'. Configure it in settings first."
    )]
    NoCredentials {
        /// The integration.
        integration: String,
        /// The account.
        account: String,
    },
    /// The user's settings deny it.
    #[error("Integration '{integration}' {} access denied. Enable it in /settings → Integrations", .operation.id())]
    Denied {
        /// The integration.
        integration: String,
        /// The kind of the function.
        operation: Operation,
    },
    /// The user's approval would be needed.
    #[error(
        "Integration '{integration}' {} requires approval. Ask the user to change the permission in /settings → Integrations", .operation.id()
    )]
    NeedsApproval {
        /// The integration.
        integration: String,
        /// The kind of the function.
        operation: Operation,
    },
    /// Required parameters are missing.
    #[error("Missing required parameter(s): {}", .0.join(", "))]
    Missing(Vec<String>),
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(". Did you mean {name}?")).unwrap_or_default()
}

impl Blocked {
    /// Returns whether the call was valid and only lacks permission.
    pub fn is_permission(&self) -> bool {
        matches!(self, Self::Denied { .. } | Self::NeedsApproval { .. })
    }
}

/// A call to be checked.
pub struct Gates<'a> {
    /// The integration.
    pub integration: &'a Integration,
    /// The function.
    pub function: &'a Function,
    /// The user's settings.
    pub switches: &'a Switches,
    /// The account.
    pub account: &'a Account,
    /// The account's name.
    pub account_name: &'a str,
}

impl Gates<'_> {
    /// Checks everything that does not depend on permissions: authentication is supported, the
    /// integration is enabled, credentials are complete.
    pub fn ready(&self) -> Result<(), Blocked> {
        let name = || self.integration.name.clone();
        if !self.integration.is_runnable(self.function) {
            return Err(Blocked::NotRunnable(name()));
        }
        if !self.switches.of(&self.integration.name).enabled {
            return Err(Blocked::NotActive(name()));
        }
        if !self.account.is_complete(self.integration, Some(self.function)) {
            return Err(Blocked::NoCredentials {
                integration: name(),
                account: self.account_name.to_owned(),
            });
        }
        Ok(())
    }

    /// Checks the permission. Returns whether it was granted by `force` alone; `force` skips a
    /// request for approval, but no denial.
    pub fn permitted(&self, force: bool) -> Result<bool, Blocked> {
        let (integration, operation) = (self.integration.name.clone(), self.function.operation);
        match self.switches.permission(&integration, operation) {
            Permission::Allow => Ok(false),
            Permission::Ask if force => Ok(true),
            Permission::Ask => Err(Blocked::NeedsApproval { integration, operation }),
            Permission::Deny => Err(Blocked::Denied { integration, operation }),
        }
    }

    /// Checks that arguments and account supply every required parameter.
    pub fn check_required(&self, arguments: &Map<String, Value>) -> Result<(), Blocked> {
        let given = |key: &str| arguments.get(key).is_some_and(|value| !value.is_null());
        let missing = self.function.parameters.iter().filter(|parameter| {
            let filled =
                || self.integration.can_fill(&parameter.key) && self.account.get(&parameter.key).is_some();
            parameter.required && !given(&parameter.key) && !filled()
        });
        let missing: Vec<_> = missing.map(|parameter| parameter.key.clone()).collect();
        if missing.is_empty() { Ok(()) } else { Err(Blocked::Missing(missing)) }
    }
}

impl Switches {
    /// Returns the settings of one integration.
    pub fn of(&self, integration: &str) -> Permissions {
        self.each.get(integration).copied().unwrap_or_default()
    }

    /// Returns the permission of a function of this kind.
    pub fn permission(&self, integration: &str, operation: Operation) -> Permission {
        let settings = self.of(integration);
        let setting = match operation {
            Operation::Read => settings.read,
            Operation::Write => settings.write,
        };
        setting.unwrap_or(self.default)
    }
}

impl Permission {
    /// Every permission, with its identifier.
    pub const ALL: [(&'static str, Self); 3] =
        [("allow", Self::Allow), ("ask", Self::Ask), ("deny", Self::Deny)];

    /// Returns the identifier.
    pub fn id(self) -> &'static str {
        Self::ALL.iter().find(|(_, permission)| *permission == self).map_or("", |(word, _)| word)
    }

    /// Parses an identifier.
    pub fn from_id(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == word).map(|(_, permission)| *permission)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        auth::{Field, Scheme},
        built_in,
    };
    use serde_json::json;

    struct TestCall {
        integration: Integration,
        switches: Switches,
        account: Account,
    }

    impl TestCall {
        /// A call of `plane.list_issues` that passes every gate.
        fn allowed() -> Self {
            let integration = built_in().into_iter().find(|integration| integration.name == "plane").unwrap();
            let own = Permissions { enabled: true, read: Some(Permission::Allow), write: None };
            let fields = [("api_key", "k"), ("workspace_slug", "acme")];
            Self {
                integration,
                switches: Switches { default: Permission::Ask, each: [("plane".to_owned(), own)].into() },
                account: fields
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into_iter()
                    .collect(),
            }
        }

        fn outcome(&self, function: &str, force: bool, arguments: Value) -> String {
            let function = self.integration.function(function).unwrap();
            let gates = Gates {
                integration: &self.integration,
                function,
                switches: &self.switches,
                account: &self.account,
                account_name: "work",
            };
            let arguments = arguments.as_object().unwrap().clone();
            let passed = gates.ready().and_then(|()| gates.permitted(force));
            match passed.and_then(|forced| gates.check_required(&arguments).map(|()| forced)) {
                Ok(forced) => format!("passed{}", if forced { ", forced" } else { "" }),
                Err(blocked) => blocked.to_string(),
            }
        }
    }

    #[test]
    fn the_gates_are_checked_in_order_with_their_known_messages() {
        let (list, create) = ("plane.list_issues", "create_issue");
        let arguments = json!({ "project_id": "p" });
        assert_eq!(TestCall::allowed().outcome(list, false, arguments.clone()), "passed");
        let denied = |call: &mut TestCall| {
            call.switches.each.get_mut("plane").unwrap().read = Some(Permission::Deny);
        };
        type Change = fn(&mut TestCall);
        let changes: [(Change, &str); 5] = [
            (
                |call| {
                    call.integration
                        .auth
                        .schemes
                        .insert("key".to_owned(), Scheme::Unsupported("mutualTLS".to_owned()));
                },
                "Integration 'plane' is discoverable but is not supported by the local CLI runtime yet.",
            ),
            (
                |call| call.switches.each.clear(),
                "Integration 'plane' is installed but not active. Enable it in settings first.",
            ),
            (
                |call| call.account = Account::default(),
                "Integration 'plane' is missing required credentials for account 'work'. Configure it in settings first.",
            ),
            (
                |call| call.switches.each.get_mut("plane").unwrap().read = Some(Permission::Ask),
                "Integration 'plane' read requires approval. Ask the user to change the permission in /settings → Integrations",
            ),
            (|_| {}, "Missing required parameter(s): project_id"),
        ];
        // Gates have an order: if all later checks would fail too, the first one determines the
        // error.
        for first in 0..changes.len() {
            let mut call = TestCall::allowed();
            for (change, _) in changes[first..].iter().rev() {
                change(&mut call);
            }
            assert_eq!(call.outcome(list, false, json!({})), changes[first].1);
        }
        let mut call = TestCall::allowed();
        denied(&mut call);
        for force in [false, true] {
            let expected = "Integration 'plane' read access denied. Enable it in /settings → Integrations";
            assert_eq!(call.outcome(list, force, arguments.clone()), expected, "force passes over no denial");
        }
        let expected = "Integration 'plane' write requires approval. Ask the user to change the permission in /settings → Integrations";
        assert_eq!(TestCall::allowed().outcome(create, false, arguments.clone()), expected);
        assert_eq!(
            TestCall::allowed().outcome(create, true, arguments),
            "Missing required parameter(s): name"
        );
        let arguments = json!({ "project_id": "p", "name": "n" });
        assert_eq!(TestCall::allowed().outcome(create, true, arguments), "passed, forced");
        let mut call = TestCall::allowed();
        call.integration.auth.settings.clear();
        let expected = "Missing required parameter(s): workspace_slug, project_id";
        assert_eq!(call.outcome(list, false, json!({ "project_id": null })), expected, "a null is nothing");
    }

    #[test]
    fn unknown_functions_and_integrations_are_reported() {
        let unknown = |nearest| Blocked::Unknown { name: "a.b".to_owned(), nearest };
        assert_eq!(unknown(None).to_string(), "Unknown integration function: a.b");
        let message = unknown(Some("a.c".to_owned())).to_string();
        assert_eq!(message, "Unknown integration function: a.b. Did you mean a.c?");
        assert_eq!(Blocked::NotInstalled("a".to_owned()).to_string(), "Integration 'a' is not installed.");
    }

    #[test]
    fn a_set_of_schemes_is_satisfied_as_a_whole() {
        let mut call = TestCall::allowed();
        let basic = Scheme::Basic { username: "user".to_owned(), password: "pass".to_owned() };
        call.integration.auth.schemes.insert("basic".to_owned(), basic);
        let mut function = (**call.integration.function("list_issues").unwrap()).clone();
        call.integration.auth.settings =
            vec![Field { required: false, ..call.integration.auth.settings[0].clone() }];
        let account = |fields: &[&str]| -> Account {
            fields.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect()
        };
        for (sets, fields, ids) in [
            (&[&["key", "basic"][..]][..], &["api_key", "user"][..], None),
            (&[&["key", "basic"]], &["api_key", "user", "pass"], Some(vec!["api_key", "basic"])),
            (&[&["basic"], &["key"]], &["api_key"], Some(vec!["api_key"])),
            (&[&[], &["key"]], &["api_key"], Some(vec!["api_key"])),
            (&[&[], &["key"]], &[], Some(vec![])),
            (&[&["gone"]], &["api_key"], None),
        ] {
            function.endpoint.security =
                sets.iter().map(|set| set.iter().map(|name| (*name).to_owned()).collect()).collect();
            let account = account(fields);
            let found = account.satisfied(&call.integration, &function);
            let found = found.map(|schemes| schemes.iter().map(|scheme| scheme.id()).collect::<Vec<_>>());
            assert_eq!(found, ids, "{sets:?} {fields:?}");
            assert_eq!(account.is_complete(&call.integration, Some(&function)), ids.is_some());
        }
    }
}
