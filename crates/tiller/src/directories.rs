//! The directories for configuration, data and cache.

use crate::{
    environment::{Environment, user_directories},
    options::Directories,
};
use system::AbsPath;

/// Resolves the directories: below `TILLER_HOME` if that is set, else in the user's base
/// directories.
pub(crate) fn resolve(environment: &Environment, cwd: &AbsPath) -> anyhow::Result<Directories> {
    let temp = cwd.join(environment.get("TMPDIR").unwrap_or("/tmp"));
    let settings =
        |config: &AbsPath| environment.config_file.clone().unwrap_or_else(|| config.join("config.toml"));
    if let Some(home) = environment.get("TILLER_HOME") {
        let own = cwd.join(home);
        // `~` in settings means the user's home directory; without `HOME` it means tiller's.
        let home = match environment.get("HOME") {
            Some(home) => cwd.join(home),
            None => own.clone(),
        };
        return Ok(Directories {
            home,
            data: own.join("data"),
            cache: own.join("cache"),
            settings: settings(&own),
            config: own,
            temp,
            folder: None,
        });
    }
    let user = user_directories()?;
    if environment.get("HOME").is_none() {
        tracing::warn!(
            "HOME is not set; the home directory is {}, as the system's user database says",
            user.home
        );
    }
    let config = user.config.join("tiller");
    Ok(Directories {
        home: user.home,
        settings: settings(&config),
        config,
        data: user.data.join("tiller"),
        cache: user.cache.join("tiller"),
        temp,
        folder: None,
    })
}

/// The path of the directory of the server's audit in a data directory.
pub(crate) fn audit_directory(data: &AbsPath) -> AbsPath {
    data.join("audit")
}

/// The path of the session database in a data directory.
pub(crate) fn sessions_file(data: &AbsPath) -> AbsPath {
    data.join("sessions.db")
}

/// The path of the file of the server's tokens in a data directory.
pub(crate) fn tokens_file(data: &AbsPath) -> AbsPath {
    data.join("tokens.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiller_home_contains_every_directory() {
        let environment: Environment = [("TILLER_HOME", "/h"), ("HOME", "/home/me"), ("TMPDIR", "")]
            .map(|(a, b)| (a.into(), b.into()))
            .into_iter()
            .collect();
        let directories = resolve(&environment, &AbsPath::new("/w").unwrap()).unwrap();
        let shown = [
            &directories.home,
            &directories.config,
            &directories.data,
            &directories.cache,
            &directories.temp,
        ]
        .map(AbsPath::as_str);
        assert_eq!(shown, ["/home/me", "/h", "/h/data", "/h/cache", "/tmp"]);
    }
}
