//! Where the settings, secrets and sessions of each user of a server are.

use super::Place;
use crate::{
    config::{OLLAMA_HOST, VARIABLES},
    environment::Environment,
    limits::USER_NAME_BYTES,
    options::{Directories, Options, ServedUser, SharedKeys, UserFolder, named_addresses},
    settings::Settings,
};
use ::integrations::SearchProvider;
use ::serve::auth::{TokenRow, wall_clock};
use agent::{Owner, Principal};
use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeSet, sync::Arc};
use system::{AbsPath, LocalSystem, System as _};

/// Where a user of a server works, and with what.
pub(super) struct UserPlace {
    pub(super) settings: Arc<Settings>,
    pub(super) environment: Environment,
    /// The directory of sessions for which the client names none.
    pub(super) cwd: AbsPath,
}

impl UserPlace {
    /// Returns the place of a user who is not the account of the server. Creates the directories.
    ///
    /// # Errors
    /// If the user's folder cannot be created for this account only.
    pub(super) async fn of(server: &Place, owner: &Owner) -> Result<Self> {
        let Place { settings, options, environment, cwd, .. } = server;
        let folder = created_folder(options, &[&owner.tenant, &owner.user]).await?;
        let base =
            options.directories.data.join("users").join(name_of(&owner.tenant)).join(name_of(&owner.user));
        let config = base.join("config");
        let directories = Directories {
            settings: config.join("config.toml"),
            home: folder.as_ref().map_or_else(|| base.join("home"), |folder| folder.own.clone()),
            config,
            data: base.join("data"),
            cache: base.join("cache"),
            temp: options.directories.temp.clone(),
            folder,
        };
        let served = ServedUser {
            server: options.directories.clone(),
            shared: shared_keys(options, environment),
            secrets: options.keys(),
            addresses: named_addresses(options),
        };
        let cwd = directories.folder.as_ref().map_or(cwd, |folder| &folder.own).clone();
        let names = VARIABLES.iter().map(|(variable, _)| *variable).chain([OLLAMA_HOST]);
        let environment = environment.of_served_user(names);
        environment.redactor().learn(served.secrets.iter().cloned());
        let settings = settings.of_served_user(&environment, directories, Arc::new(served), &cwd);
        Ok(Self { settings, environment, cwd })
    }
}

/// Checks where the users' folders are to be.
///
/// # Errors
/// If they would be in the server's own directories, which no command of a user can see.
pub(super) fn check_user_folders(options: &Options) -> Result<()> {
    let Some(all) = all_folders(options)? else { return Ok(()) };
    let Directories { config, data, cache, .. } = &options.directories;
    let inside = [config, data, cache].into_iter().find(|own| all.starts_with(own));
    ensure!(
        inside.is_none(),
        "serve.user_folders = \"{all}\" is inside {}, which the server keeps to itself; name another directory",
        inside.unwrap_or(data)
    );
    Ok(())
}

/// Creates the directory of the users' folders.
///
/// # Errors
/// If other users of this machine could replace the folders, or it cannot be created.
pub(super) async fn create_user_folders(options: &Options) -> Result<()> {
    created_folder(options, &[Principal::ONLY_TENANT]).await.map(drop)
}

/// Returns what the users of a server share although they should not, as a sentence for its
/// administrator; nothing if there is at most one of them.
pub(super) fn shared_files(options: &Options, tokens: &[TokenRow], others: bool) -> Option<String> {
    let now = wall_clock()();
    let valid = tokens.iter().filter(|row| row.is_valid_at(now));
    let users: BTreeSet<_> = valid.map(|row| (&row.tenant, &row.user)).collect();
    let several = users.len() > 1 || others;
    (several && options.serve.operation().user_folders.is_none()).then(|| {
        "users share the files of the account that runs the server; give each a folder: serve.user_folders, or \
         --user-folders DIR"
            .to_owned()
    })
}

fn all_folders(options: &Options) -> Result<Option<AbsPath>> {
    let folders = options.serve.operation().user_folders.as_deref();
    folders.map(AbsPath::new).transpose().context("serve.user_folders")
}

/// Creates the folder of a user, or the directory of those of a tenant, which only the account of
/// the server can access. The directory of all folders may be behind links, which are resolved, as
/// in the paths that they are compared with.
async fn created_folder(options: &Options, names: &[&str]) -> Result<Option<UserFolder>> {
    let Some(all) = all_folders(options)? else { return Ok(None) };
    let create = async {
        let system = LocalSystem::new();
        if system.metadata(&all).await.is_err() {
            system::create_private_directory(&all)?;
        }
        let all = system.resolve(&all).await?;
        let own = names.iter().fold(all.clone(), |path, name| path.join(name_of(name)));
        system::create_private_directory(&own)?;
        anyhow::Ok(UserFolder { own, all })
    };
    create.await.map(Some).with_context(|| format!("serve.user_folders = \"{all}\" cannot be used"))
}

/// Returns the keys of the server that its users may use: those that the setting names, else those
/// that are in the environment, where an administrator put them for the server.
pub(super) fn shared_keys(options: &Options, environment: &Environment) -> SharedKeys {
    let search = SearchProvider::ALL.into_iter().filter_map(|(id, provider)| {
        Some((id, provider.key_variable(), options.integrations.web.keys.get(id)?.clone()))
    });
    let named = options.serve.operation().shared_keys.as_ref();
    SharedKeys::of(&options.providers, search, |name, variable| match named {
        Some(names) => names.iter().any(|known| known == name),
        None => variable.is_some_and(|variable| environment.get(variable).is_some()),
    })
}

/// Returns the name of a tenant or a user as the name of a directory. Different names give
/// different directories, on file systems that fold case too.
fn name_of(text: &str) -> String {
    let mut name = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'@' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            other => name.push_str(&format!("%{other:02X}")),
        }
    }
    match name.len() {
        1..=USER_NAME_BYTES => name,
        _ => {
            let digest = Sha256::digest(text);
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("%{digest}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_one_directory_whatever_the_name() {
        for (name, directory) in [
            ("ada", "ada"),
            ("Ada", "%41da"),
            ("ada@example.com", "ada@example.com"),
            ("..", "%2E."),
            (".ssh", "%2Essh"),
            ("a/b", "a%2Fb"),
            ("a%2Fb", "a%252%46b"),
            ("auth0|7", "auth0%7C7"),
            ("Zoë", "%5Ao%C3%AB"),
        ] {
            assert_eq!(name_of(name), directory, "{name}");
        }
        let long = name_of(&"a".repeat(300));
        assert_eq!(long.len(), 65);
        assert_ne!(long, name_of(&"a".repeat(301)));
        assert_ne!(name_of(""), "");
    }
}
