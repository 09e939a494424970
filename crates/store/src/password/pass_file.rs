//! The file of passwords of PostgreSQL's programs: a line for each database, as
//! `HOST:PORT:DATABASE:USER:PASSWORD`.

use super::PasswordSources;
use agent::StoreError;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use system::{AbsPath, SystemError};
use tokio_postgres::{Config, config::Host};

/// The port of a URL that names none.
const PORT: u16 = 5432;
/// The directories of sockets that a file of passwords calls `localhost`.
const SOCKETS: [&str; 3] = ["/tmp", "/run/postgresql", "/var/run/postgresql"];
/// The parameter of a URL that names a file.
const PARAMETER: &str = "passfile";

/// Returns a URL with its password, and without the name of a file.
pub(super) fn complete(url: &str, sources: &PasswordSources) -> Result<String, StoreError> {
    let (url, named) = split(url);
    let config: Config = url.parse().map_err(|_: tokio_postgres::Error| {
        // The cause may quote a part of the password.
        StoreError::Format(
            "the URL of the session database is not valid; write postgres://USER@HOST/DATABASE".to_owned(),
        )
    })?;
    if config.get_password().is_some() {
        return Ok(url);
    }
    let password = match &sources.password {
        Some(password) => Some(password.clone()),
        None => {
            let named =
                named.map(|path| sources.directory.join(&path)).or_else(|| sources.named_file.clone());
            match named {
                Some(path) => in_file(&path, true, &config, sources)?,
                None => match &sources.usual_file {
                    Some(path) => in_file(path, false, &config, sources)?,
                    None => None,
                },
            }
        }
    };
    Ok(match password {
        None => url,
        Some(password) => {
            let separator = if url.contains('?') { '&' } else { '?' };
            format!("{url}{separator}password={}", utf8_percent_encode(&password, NON_ALPHANUMERIC))
        }
    })
}

/// Returns the file that a URL names.
pub(super) fn named(url: &str, directory: &AbsPath) -> Option<AbsPath> {
    split(url).1.map(|path| directory.join(path))
}

/// Takes the name of a file out of a URL.
fn split(url: &str) -> (String, Option<String>) {
    let Some((before, parameters)) = url.split_once('?') else { return (url.to_owned(), None) };
    let mut file = None;
    let kept: Vec<&str> = parameters
        .split('&')
        .filter(|parameter| match parameter.split_once('=') {
            Some((PARAMETER, path)) => {
                file = Some(percent_decode_str(path).decode_utf8_lossy().into_owned());
                false
            }
            _ => true,
        })
        .collect();
    match kept.is_empty() {
        true => (before.to_owned(), file),
        false => (format!("{before}?{}", kept.join("&")), file),
    }
}

/// Returns the password that a file has for a database.
fn in_file(
    path: &AbsPath,
    must_exist: bool,
    config: &Config,
    sources: &PasswordSources,
) -> Result<Option<String>, StoreError> {
    let bytes = match system::read_private(path) {
        Ok(bytes) => bytes,
        Err(SystemError::NotFound(_)) if !must_exist => return Ok(None),
        Err(error) => {
            return Err(StoreError::Format(format!(
                "the file of database passwords cannot be used: {error}"
            )));
        }
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| StoreError::Format(format!("the file of database passwords {path} is not UTF-8")))?;
    let mut found: Vec<String> =
        wanted(config, sources.user.as_deref()).iter().filter_map(|database| find(&text, database)).collect();
    found.sort_unstable();
    found.dedup();
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(StoreError::Format(format!(
            "{path} has different passwords for the hosts of the session database; give them one, since a server uses it for all"
        ))),
    }
}

/// Returns host, port, database and user of each host, as a file of passwords names them.
fn wanted(config: &Config, user: Option<&str>) -> Vec<[String; 4]> {
    let user = config.get_user().or(user).unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let mut hosts: Vec<String> = config.get_hosts().iter().map(host).collect();
    if hosts.is_empty() {
        hosts = config.get_hostaddrs().iter().map(ToString::to_string).collect();
    }
    let ports = config.get_ports();
    let port = |nth: usize| match ports {
        [] => PORT,
        [one] => *one,
        many => many.get(nth).copied().unwrap_or(PORT),
    };
    hosts
        .into_iter()
        .enumerate()
        .map(|(nth, host)| [host, port(nth).to_string(), database.to_owned(), user.to_owned()])
        .collect()
}

fn host(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => match path.to_string_lossy() {
            usual if SOCKETS.contains(&&*usual) => "localhost".to_owned(),
            other => other.into_owned(),
        },
    }
}

/// Returns the password of the first line for a database.
fn find(text: &str, database: &[String; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        for value in database {
            rest = after(rest, value)?;
        }
        let mut password = String::with_capacity(rest.len());
        let mut characters = rest.chars();
        while let Some(c) = characters.next() {
            password.push(if c == '\\' { characters.next().unwrap_or(c) } else { c });
        }
        (!password.is_empty()).then_some(password)
    })
}

/// Returns what follows a field, if it stands for a value: a star for any, and a backslash before
/// what is taken as it is.
fn after<'a>(line: &'a str, value: &str) -> Option<&'a str> {
    if let Some(rest) = line.strip_prefix("*:") {
        return Some(rest);
    }
    let mut expected = value.chars();
    let mut characters = line.char_indices();
    while let Some((at, c)) = characters.next() {
        let c = match c {
            ':' => return expected.next().is_none().then(|| &line[at + 1..]),
            '\\' => characters.next()?.1,
            c => c,
        };
        if expected.next() != Some(c) {
            return None;
        }
    }
    None
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write files of their own")]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    fn database(host: &str, port: u16, name: &str, user: &str) -> [String; 4] {
        [host.to_owned(), port.to_string(), name.to_owned(), user.to_owned()]
    }

    #[test]
    fn the_first_line_for_a_database_has_its_password() {
        let file = "# db:5432:tiller:anna:a comment\n\
                    \n\
                    db:5433:*:*:of the port\n\
                    db:5432:tiller:anna:with \\: and \\\\ and \u{fc}:s\n\
                    db:5432:tiller:anna:too late\r\n\
                    \\:\\:1:*:a\\\\b:*:of IPv6\n\
                    *:*:*:ben:bens\r\n\
                    db:5432:tiller:no one:\n\
                    incomplete:5432\n";
        for (wanted, expected) in [
            (database("db", 5433, "x", "y"), Some("of the port")),
            (database("db", 5432, "tiller", "anna"), Some("with : and \\ and \u{fc}:s")),
            (database("::1", 5432, "a\\b", "y"), Some("of IPv6")),
            (database("anywhere", 1, "x", "ben"), Some("bens")),
            (database("db", 5432, "tille", "anna"), None),
            (database("db", 5432, "tillers", "anna"), None),
            (database("db", 5432, "tiller", "no one"), None),
            (database("incomplete", 5432, "tiller", "y"), None),
        ] {
            assert_eq!(find(file, &wanted).as_deref(), expected, "{wanted:?}");
        }
    }

    #[test]
    fn a_url_is_looked_up_with_what_it_leaves_out() {
        let of = |url: &str| wanted(&url.parse().unwrap(), Some("me"));
        assert_eq!(of("postgres://anna@db/tiller"), [database("db", 5432, "tiller", "anna")]);
        assert_eq!(of("postgres://db"), [database("db", 5432, "me", "me")]);
        assert_eq!(
            of("postgres://a@%2Fvar%2Frun%2Fpostgresql/d"),
            [database("localhost", 5432, "d", "a")],
            "as PostgreSQL's programs call the usual socket"
        );
        assert_eq!(
            of("postgres://a@%2Fother:1,db:2/d"),
            [database("/other", 1, "d", "a"), database("db", 2, "d", "a")]
        );
    }

    #[test]
    fn a_password_is_taken_from_the_first_place_that_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = AbsPath::from_os(directory.path()).unwrap();
        let write = |name: &str, text: &str, mode: u32| {
            let path = root.join(name);
            fs::write(path.as_std(), text).unwrap();
            fs::set_permissions(path.as_std(), fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let sources = PasswordSources {
            password: None,
            named_file: None,
            usual_file: Some(write("usual", "*:*:*:anna:usual & co\n", 0o600)),
            user: None,
            directory: root.clone(),
        };
        let named = PasswordSources {
            named_file: Some(write("named", "one:*:*:*:1\ntwo:*:*:*:2\n", 0o400)),
            ..sources.clone()
        };
        let variable = PasswordSources { password: Some("v".to_owned()), ..named.clone() };
        write("of url", "*:*:*:*:u\n", 0o600);
        write("open", "*:*:*:*:o\n", 0o640);
        let password = |url: &str, sources: &PasswordSources| {
            let config: Config = complete(url, sources)?.parse().unwrap();
            let password = config.get_password().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            Ok::<_, StoreError>(password)
        };
        for (url, sources, expected) in [
            ("postgres://anna@db/d", &sources, Some("usual & co")),
            ("postgres://anna@db/d?connect_timeout=3", &sources, Some("usual & co")),
            ("postgres://ben@db/d", &sources, None),
            ("postgres://anna@one/d", &named, Some("1")),
            ("postgres://anna@db/d", &named, None),
            ("postgres://anna@one/d?passfile=of%20url", &named, Some("u")),
            ("postgres://anna@one/d?passfile=of%20url&connect_timeout=3", &variable, Some("v")),
            ("postgres://anna:mine@one/d?passfile=missing", &variable, Some("mine")),
        ] {
            assert_eq!(password(url, sources).unwrap().as_deref(), expected, "{url}");
        }
        let missing = PasswordSources { usual_file: Some(root.join("missing")), ..sources.clone() };
        assert_eq!(password("postgres://anna@db/d", &missing).unwrap(), None);
        for (url, sources, says) in [
            ("postgres://anna@db/d?passfile=missing", &sources, "missing"),
            ("postgres://anna@db/d?passfile=open", &sources, "chmod 600"),
            ("postgres://anna@one,two/d", &named, "different passwords"),
            ("postgres://anna:s3cret@db:port/d", &sources, "postgres://USER"),
        ] {
            let error = password(url, sources).unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains("s3cret"), "{url}: {error}");
        }
    }
}
