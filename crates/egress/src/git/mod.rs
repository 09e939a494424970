//! Git at the wire. Commands reach the remote repositories of the project through Tiller, which
//! adds the user's credentials outside of the sandbox and asks the user about each push.
//!
//! In a room, git finds the address of a repository in the variables `GIT_CONFIG_*`: one at the
//! host [`HOST`], whose connections arrive here. Behind an address of HTTPS, requests are passed
//! on; see `web.rs`. An address of SSH is served by git's own protocol, and the user's `ssh` talks
//! to the host; see `ssh.rs`.
//!
//! Only repositories that the project's configuration named before the session's first command get
//! a credential, so that a command cannot read others of the user.

mod address;
mod programs;
mod push;
mod sign;
mod ssh;
mod web;

pub(crate) use ssh::serve as serve_ssh;
pub(crate) use web::serve as serve_web;

use crate::dial::Dialer;
use address::Address;
use agent::{Push, RefChange, RemoteRepository, SignCommits};
use programs::{Programs, Rewrites};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use system::{AbsPath, GIT_SIGNING, GitRemote, System};

/// The name of the host, in rooms only.
pub(crate) const HOST: &str = "git.tiller";

/// Maximum number of remote repositories of a session.
const REMOTES: usize = 256;

/// The access to remote repositories of git.
pub struct GitAccess {
    /// Returns the settings of connections by TLS, or why there are none. Called once, when the
    /// first is needed.
    pub tls: Box<dyn Fn() -> Result<rustls::ClientConfig, String> + Send + Sync>,
    /// The system that starts the user's `git` and `ssh`, outside of sandboxes.
    pub system: Arc<dyn System>,
    /// The variables of these.
    pub variables: Vec<(String, String)>,
}

/// The remote repositories of all sessions.
pub(crate) struct Git {
    tls: Box<dyn Fn() -> Result<rustls::ClientConfig, String> + Send + Sync>,
    built: OnceLock<Result<Arc<rustls::ClientConfig>, String>>,
    programs: Programs,
    sessions: Mutex<HashMap<AbsPath, Arc<Repositories>>>,
}

/// The remote repositories of a session.
pub(crate) struct Repositories {
    /// The directories whose programs are not those of the user.
    roots: Vec<AbsPath>,
    /// The remotes and the setting that the others are made of.
    remotes: Vec<GitRemote>,
    signs: SignCommits,
    by_key: HashMap<String, Repository>,
    variables: Vec<(String, String)>,
    /// The values of `Authorization` for repositories that need one, by their keys.
    credentials: Mutex<HashMap<String, String>>,
    /// The paths to which hosts have moved repositories, by their keys.
    moved: Mutex<HashMap<String, String>>,
}

/// A remote repository.
#[derive(Clone)]
pub(crate) struct Repository {
    address: Address,
    /// Its name in the configuration.
    remote: String,
    /// The git directories whose configurations name it.
    directories: Vec<AbsPath>,
    /// The value of `Authorization` in the configuration.
    authorization: Option<String>,
}

impl Repository {
    /// Returns the repository as questions name it.
    fn named(&self) -> RemoteRepository {
        RemoteRepository {
            address: self.address.to_string(),
            name: self.remote.clone(),
            directories: self.directories.clone(),
        }
    }

    /// Returns the push of some changes to the repository.
    fn push(&self, changes: Vec<RefChange>) -> Push {
        Push { to: self.named(), changes }
    }
}

/// What serves a connection of git.
pub(crate) struct Session<'a> {
    pub(crate) git: &'a Git,
    pub(crate) repositories: &'a Repositories,
    pub(crate) dialer: &'a dyn Dialer,
}

/// Returns the variables by which git has some settings in all of its processes, and does not clean
/// up in the background, where it would be ended with the command.
pub(crate) fn variables(settings: Vec<(String, String)>) -> Vec<(String, String)> {
    let in_front =
        ["gc.autoDetach", "maintenance.autoDetach"].map(|name| (name.to_owned(), "false".to_owned()));
    let mut variables = Vec::new();
    for (at, (name, value)) in settings.into_iter().chain(in_front).enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{at}"), name));
        variables.push((format!("GIT_CONFIG_VALUE_{at}"), value));
    }
    variables.push(("GIT_CONFIG_COUNT".to_owned(), (variables.len() / 2).to_string()));
    variables
}

/// Returns the settings by which git signs commits and tags, or does not. Pushes are not signed,
/// because a signed list of references cannot be refused in part.
fn signing(signs: SignCommits) -> Vec<(String, String)> {
    let program = |name: &str| format!("{GIT_SIGNING}/{name}");
    let settings = match signs {
        SignCommits::Never => vec![
            ("commit.gpgSign", "false".to_owned()),
            ("tag.gpgSign", "false".to_owned()),
            ("tag.forceSignAnnotated", "false".to_owned()),
        ],
        SignCommits::Ask | SignCommits::Always => vec![
            ("gpg.program", program("gpg")),
            ("gpg.ssh.program", program("ssh-keygen")),
            ("gpg.x509.program", program("gpgsm")),
        ],
    };
    let all = settings.into_iter().chain([("push.gpgSign", "false".to_owned())]);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Repositories {
    fn new(roots: &[AbsPath], mut remotes: Vec<GitRemote>, rewrites: &Rewrites, signs: SignCommits) -> Self {
        remotes.truncate(REMOTES);
        let (mut by_key, mut settings) = (HashMap::<String, Repository>::new(), signing(signs));
        for remote in &remotes {
            let mut inside = |url: &str| {
                let Some(address) = Address::parse(url) else { return url.to_owned() };
                let (key, inside) = (address.key(), address.inside());
                let new = || Repository {
                    address,
                    remote: remote.name.clone(),
                    directories: Vec::new(),
                    authorization: remote.authorization.clone(),
                };
                let directories = &mut by_key.entry(key).or_insert_with(new).directories;
                if !directories.contains(&remote.directory) {
                    directories.push(remote.directory.clone());
                }
                inside
            };
            let fetched = inside(&rewrites.fetched(&remote.url));
            let pushed = inside(&rewrites.pushed(&remote.url));
            if fetched != remote.url {
                settings.push((format!("url.{fetched}.insteadOf"), remote.url.clone()));
            }
            if pushed != fetched {
                settings.push((format!("url.{pushed}.pushInsteadOf"), remote.url.clone()));
            }
        }
        settings.sort();
        settings.dedup();
        Self {
            roots: roots.to_vec(),
            remotes,
            signs,
            by_key,
            variables: variables(settings),
            credentials: Mutex::default(),
            moved: Mutex::default(),
        }
    }

    fn get(&self, key: &str) -> Option<&Repository> {
        self.by_key.get(key)
    }

    fn moved(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn credentials(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Git {
    pub(crate) fn new(access: GitAccess) -> Self {
        let GitAccess { tls, system, variables } = access;
        let programs = Programs::new(system, variables);
        Self { tls, built: OnceLock::new(), programs, sessions: Mutex::default() }
    }

    fn tls(&self) -> Result<Arc<rustls::ClientConfig>, String> {
        self.built.get_or_init(|| (self.tls)().map(Arc::new)).clone()
    }

    /// Notes the remote repositories of a session, and returns the variables by which git in its
    /// commands reaches them.
    pub(crate) async fn variables(
        &self,
        session: &AbsPath,
        roots: &[AbsPath],
        remotes: Vec<GitRemote>,
        signs: SignCommits,
    ) -> Vec<(String, String)> {
        let is_same = |known: &Arc<Repositories>| {
            (&known.roots[..], &known.remotes, known.signs) == (roots, &remotes, signs)
        };
        if let Some(known) = self.of(session).filter(is_same) {
            return known.variables.clone();
        }
        let rewrites = match remotes.is_empty() {
            true => Rewrites::default(),
            false => self.programs.rewrites(roots).await,
        };
        let all = Arc::new(Repositories::new(roots, remotes, &rewrites, signs));
        self.lock().insert(session.clone(), Arc::clone(&all));
        all.variables.clone()
    }

    /// Returns the remote repositories of a session.
    pub(crate) fn of(&self, session: &AbsPath) -> Option<Arc<Repositories>> {
        self.lock().get(session).cloned()
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: &AbsPath) {
        self.lock().remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AbsPath, Arc<Repositories>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(name: &str, url: &str, directory: &str) -> GitRemote {
        let directory = AbsPath::new(directory).unwrap();
        GitRemote { name: name.to_owned(), url: url.to_owned(), directory, authorization: None }
    }

    #[test]
    fn each_remote_has_an_address_in_the_room() {
        let rewrites = Rewrites::parse(
            "url.git@h:.pushinsteadof\nhttps://h/\0url.https://h/.insteadof\ngh:\0url.x.insteadof\nzz:\0",
        );
        let all = Repositories::new(
            &[],
            vec![
                remote("origin", "https://h/me/x", "/a/.git"),
                remote("up", "gh:me/x", "/b/.git"),
                remote("local", "../x", "/a/.git"),
            ],
            &rewrites,
            SignCommits::Ask,
        );
        let settings: Vec<_> = all.variables.chunks(2).map(|pair| (&*pair[0].1, pair.get(1))).collect();
        let text = format!("{settings:?}");
        let http = "url.http://git.tiller/h/me/x.insteadOf";
        assert_eq!(text.matches(http).count(), 2, "{text}");
        assert!(text.contains("url.git://git.tiller:22/git@h/me/x.pushInsteadOf"), "{text}");
        assert_eq!(all.variables.last().unwrap(), &("GIT_CONFIG_COUNT".to_owned(), "9".to_owned()));
        let found = all.get("/h/me/x").unwrap();
        assert_eq!((found.remote.as_str(), found.directories.len()), ("origin", 2));
        assert!(all.get("/h/me/y").is_none());
    }
}
