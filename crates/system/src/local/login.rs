//! The variables of the user's login shell that are needed to find programs.
//!
//! An editor that is started from the desktop has a `PATH` without what the user's shell adds, and
//! this process inherits it: `cargo`, `node` and `npx` are not found. The login shell is queried
//! once, when the first command or server needs it, in the user's home directory and never in a
//! project's directory. The result is passed to commands and never shown.

use crate::limits::{LOGIN_SHELL_BYTES, LOGIN_SHELL_VALUE_BYTES, LOGIN_SHELL_WAIT};
use crate::{AbsPath, Piped, PipedCommand, SystemError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::sync::OnceCell;

/// The system's program directories. A `PATH` with no others contains nothing that the user's shell
/// added.
const SYSTEM_DIRECTORIES: [&str; 11] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/usr/games",
    "/usr/local/games",
    "/snap/bin",
    "/Library/Apple/usr/bin",
    "/System/Cryptexes/App/usr/bin",
];

/// The variables that are taken from the shell: where programs are, and where they keep their
/// files. None of them holds a secret.
const VARIABLES: [&str; 32] = [
    "PATH",
    "MANPATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "JAVA_HOME",
    "ANDROID_HOME",
    "SDKMAN_DIR",
    "NVM_DIR",
    "NVM_BIN",
    "FNM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_INSTALL",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "HOMEBREW_PREFIX",
    "HOMEBREW_CELLAR",
    "HOMEBREW_REPOSITORY",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
];

/// The variables of this process that the shell inherits, so that its start-up files work as at a
/// login.
const INHERITED: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// Set while the shell is queried, so that its start-up files can skip slow parts.
const QUERY_VARIABLE: &str = "TILLER_RESOLVING_ENVIRONMENT";

/// The user's login shell, queried once for the variables that are needed to find programs. Clones
/// share the result. The default is no shell: commands get the variables of this process.
#[derive(Debug, Clone, Default)]
pub struct LoginShell(Option<Arc<Query>>);

#[derive(Debug)]
struct Query {
    shell: AbsPath,
    home: AbsPath,
    /// Whether to run the shell interactively, so that it also reads `.zshrc` or `.bashrc`.
    interactive: bool,
    wait: Duration,
    answer: OnceCell<Vec<(String, String)>>,
}

impl PartialEq for LoginShell {
    /// Whether both share one result.
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().map(Arc::as_ptr) == other.0.as_ref().map(Arc::as_ptr)
    }
}

impl Eq for LoginShell {}

impl LoginShell {
    /// Creates a handle without querying the shell. `interactive` must not be set if this process
    /// has a terminal, because the shell would take control of it.
    pub fn new(shell: AbsPath, home: AbsPath, interactive: bool) -> Self {
        Self(Some(Arc::new(Query {
            shell,
            home,
            interactive,
            wait: LOGIN_SHELL_WAIT,
            answer: OnceCell::new(),
        })))
    }

    /// Returns whether a `PATH` consists of system directories only, as that of a program started
    /// from the desktop does.
    pub fn has_system_directories_only(path: &str) -> bool {
        path.split(':').all(|directory| directory.is_empty() || SYSTEM_DIRECTORIES.contains(&directory))
    }

    /// Adds the shell's variables to those of a command; the command's own values win. The first
    /// call queries the shell, which takes at most [`LOGIN_SHELL_WAIT`].
    /// `start` starts the shell.
    pub(super) async fn complete<F>(
        &self,
        env: &mut Vec<(String, String)>,
        start: impl FnOnce(PipedCommand) -> F,
    ) where
        F: Future<Output = Result<Piped, SystemError>>,
    {
        let Some(query) = &self.0 else { return };
        let answer = query.answer.get_or_init(|| query.run(start)).await;
        let lacks = |name: &str| !env.iter().any(|(own, _)| own == name);
        let added: Vec<_> = answer.iter().filter(|(name, _)| lacks(name)).cloned().collect();
        env.splice(0..0, added);
    }
}

impl Query {
    /// Queries the shell; returns no variables if it fails or times out.
    async fn run<F>(&self, start: impl FnOnce(PipedCommand) -> F) -> Vec<(String, String)>
    where
        F: Future<Output = Result<Piped, SystemError>>,
    {
        let mark = format!("{:016x}", RandomState::new().build_hasher().finish());
        let reading = tokio::time::timeout(self.wait, self.read(&mark, start));
        let problem = match reading.await {
            Ok(Ok(printed)) => match between(&printed, &mark) {
                Some(printed) => return select_variables(printed, |name| std::env::var(name).ok()),
                None => "it did not print them".to_owned(),
            },
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it took longer than {} s", self.wait.as_secs()),
        };
        tracing::warn!(
            shell = %self.shell, %problem,
            "the login shell did not report its variables, so commands get this process's PATH; \
             set env.login_shell = \"never\" to stop querying it"
        );
        Vec::new()
    }

    /// Runs the shell and reads its output up to the second mark.
    async fn read<F>(&self, mark: &str, start: impl FnOnce(PipedCommand) -> F) -> Result<Vec<u8>, SystemError>
    where
        F: Future<Output = Result<Piped, SystemError>>,
    {
        // This syntax works in every shell. Not every `env` supports `-0`.
        let print = "/usr/bin/env -0 2>/dev/null || /usr/bin/env";
        let line = format!("printf %s {mark}; {print}; printf %s {mark}");
        let interactive = self.interactive.then_some("-i");
        let command = PipedCommand {
            program: self.shell.to_string(),
            args: ["-l"].into_iter().chain(interactive).chain(["-c", &line]).map(str::to_owned).collect(),
            cwd: self.home.clone(),
            inherit: INHERITED.map(str::to_owned).to_vec(),
            env: [("TERM", "dumb"), (QUERY_VARIABLE, "1")]
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .to_vec(),
            error_limit: 0,
            confinement: crate::Confinement::Lifted,
            apart_from: Vec::new(),
        };
        let piped = start(command).await?;
        // Dropped at the end of this function: a shell that is still running is killed.
        let _process = piped.process;
        drop(piped.input);
        let mut output = piped.output.take(LOGIN_SHELL_BYTES);
        let (mut printed, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            // A background program started by the shell may keep the pipe open, so do not wait for
            // its end.
            if between(&printed, mark).is_some() {
                return Ok(printed);
            }
            match output.read(&mut piece).await {
                Ok(0) => return Ok(printed),
                Ok(length) => printed.extend(&piece[..length]),
                Err(source) => return Err(SystemError::from_io("read from", &self.shell, source)),
            }
        }
    }
}

/// Returns the bytes between two marks.
fn between<'a>(printed: &'a [u8], mark: &str) -> Option<&'a [u8]> {
    let find = |text: &[u8]| text.windows(mark.len()).position(|window| window == mark.as_bytes());
    let rest = &printed[find(printed)? + mark.len()..];
    Some(&rest[..find(rest)?])
}

/// Selects the variables to take from the output of `env`. `own` looks up variables of this
/// process: they win, except for `PATH`, whose directories are appended to the shell's.
fn select_variables(printed: &[u8], own: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let separator = if printed.contains(&0) { 0 } else { b'\n' };
    let lines = printed.split(|byte| *byte == separator).filter_map(|line| std::str::from_utf8(line).ok());
    let pairs = lines.filter_map(|line| line.split_once('='));
    let sound = |value: &str| {
        !value.is_empty() && value.len() <= LOGIN_SHELL_VALUE_BYTES && !value.contains(char::is_control)
    };
    pairs
        .filter(|(name, value)| VARIABLES.contains(name) && sound(value))
        .filter_map(|(name, value)| {
            match (name, own(name)) {
                ("PATH", own) => Some(join_paths(value, &own.unwrap_or_default())),
                (_, Some(_)) => None,
                (_, None) => Some(value.to_owned()),
            }
            .map(|value| (name.to_owned(), value))
        })
        .collect()
}

/// Joins the directories of both, without duplicates. Relative ones are dropped, because they would
/// be looked up in a project.
fn join_paths(first: &str, second: &str) -> String {
    let mut all: Vec<&str> = Vec::new();
    for directory in first.split(':').chain(second.split(':')) {
        if Path::new(directory).is_absolute() && !all.contains(&directory) {
            all.push(directory);
        }
    }
    all.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, LocalOptions, LocalSystem, Output, System};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// A home directory with a shell that reads no start-up files but runs `profile` first, and
    /// records the directory and arguments of each call.
    struct Home {
        dir: tempfile::TempDir,
    }

    impl Home {
        fn new(profile: &str) -> Self {
            let home = Self { dir: tempfile::tempdir().unwrap() };
            let script = format!(
                "#!/bin/sh\necho \"$PWD $*\" >> '{0}/asked'\necho welcome\n{profile}\n\
                 for last do :; done\neval \"$last\"\n",
                home.path()
            );
            fs::write(home.shell().as_std(), script).unwrap();
            fs::set_permissions(home.shell().as_std(), fs::Permissions::from_mode(0o755)).unwrap();
            home
        }

        fn path(&self) -> AbsPath {
            AbsPath::from_os(&self.dir.path().canonicalize().unwrap()).unwrap()
        }

        fn shell(&self) -> AbsPath {
            self.path().join("shell")
        }

        fn query(&self) -> Vec<String> {
            let query = fs::read_to_string(self.path().join("asked").as_std()).unwrap_or_default();
            query.lines().map(str::to_owned).collect()
        }

        fn login(&self, wait: Duration) -> LoginShell {
            let answer = OnceCell::new();
            let (shell, home) = (self.shell(), self.path());
            LoginShell(Some(Arc::new(Query { shell, home, interactive: true, wait, answer })))
        }

        fn system(&self, wait: Duration) -> LocalSystem {
            LocalSystem::with_options(LocalOptions { login: self.login(wait), ..LocalOptions::default() })
        }
    }

    async fn printed(system: &LocalSystem, line: &str, env: &[(&str, &str)]) -> String {
        let mut command = Command::shell(line, AbsPath::new("/").unwrap(), 1 << 16);
        command.env = env.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let mut process = system.spawn(command).await.unwrap();
        let mut printed = String::new();
        while let Some(output) = process.next_output().await {
            if let Output::Text(text) = output {
                printed.push_str(&text);
            }
        }
        printed
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn commands_and_servers_find_programs_of_the_users_profile() {
        let home = Home::new(
            "PATH=\"$HOME_OF_TEST/bin:./node_modules/.bin:relative:$PATH\"; ASDF_DATA_DIR=/p; API_TOKEN=secret\n\
             export PATH ASDF_DATA_DIR API_TOKEN",
        );
        let script = fs::read_to_string(home.shell().as_std()).unwrap();
        fs::write(home.shell().as_std(), script.replace("$HOME_OF_TEST", home.path().as_str())).unwrap();
        let tool = home.path().join("bin/tool-of-the-profile");
        fs::create_dir(tool.parent().unwrap().as_std()).unwrap();
        fs::write(tool.as_std(), "#!/bin/sh\necho found\n").unwrap();
        fs::set_permissions(tool.as_std(), fs::Permissions::from_mode(0o755)).unwrap();
        let system = home.system(LONG);
        assert_eq!(home.query(), Vec::<String>::new(), "nothing is asked before something needs it");
        let line = "tool-of-the-profile; echo \"$ASDF_DATA_DIR ${API_TOKEN:-none}\"; echo \"$PATH\"";
        let output = printed(&system, line, &[]).await;
        assert!(output.starts_with("found\n/p none\n"), "{output}");
        let path = output.lines().last().unwrap();
        assert!(path.split(':').all(|directory| directory.starts_with('/')), "{path}");
        let own = std::env::var("PATH").unwrap();
        assert!(own.split(':').all(|directory| path.split(':').any(|there| there == directory)), "{path}");
        // A value that the command sets itself wins.
        assert_eq!(printed(&system, "echo $ASDF_DATA_DIR", &[("ASDF_DATA_DIR", "/mine")]).await, "/mine\n");
        let server = PipedCommand {
            program: "tool-of-the-profile".to_owned(),
            args: Vec::new(),
            cwd: AbsPath::new("/").unwrap(),
            inherit: vec!["PATH".to_owned()],
            env: Vec::new(),
            error_limit: 1024,
            confinement: crate::Confinement::Lifted,
            apart_from: Vec::new(),
        };
        let mut server = system.spawn_piped(server).await.unwrap();
        let mut output = String::new();
        server.output.read_to_string(&mut output).await.unwrap();
        assert_eq!(output, "found\n");
        let query = home.query();
        assert_eq!(query.len(), 1, "{query:?}");
        assert!(query[0].starts_with(&format!("{} -l -i -c ", home.path())), "{query:?}");
    }

    #[tokio::test]
    async fn a_login_shell_that_times_out_is_not_queried_again() {
        for profile in ["exec sleep 600", "exit 1", "exec echo nothing"] {
            let home = Home::new(profile);
            let system = home.system(Duration::from_millis(500));
            for _ in 0..2 {
                assert_eq!(printed(&system, "echo ${PATH:+path}", &[]).await, "path\n", "{profile}");
            }
            assert_eq!(home.query().len(), 1, "{profile}");
        }
    }

    #[tokio::test]
    async fn a_background_program_of_the_profile_does_not_delay_commands() {
        let home = Home::new("sleep 600 &");
        let waiting = tokio::time::timeout(Duration::from_secs(30), async {
            printed(&home.system(LONG), "echo done", &[]).await
        });
        assert_eq!(waiting.await.expect("the answer was there"), "done\n");
    }

    #[test]
    fn variables_are_read_by_line_where_env_lacks_nul_output() {
        let own = |name: &str| (name == "LANG").then(|| "C".to_owned());
        for printed in
            [&b"PATH=/a:b\nLANG=de\nX=y\nGOPATH=/go\n"[..], b"PATH=/a:b\0LANG=de\0X=y\nz\0GOPATH=/go\0"]
        {
            let pairs = [("PATH", "/a"), ("GOPATH", "/go")].map(|(a, b)| (a.to_owned(), b.to_owned()));
            assert_eq!(select_variables(printed, own), pairs);
        }
        assert_eq!(select_variables(b"PATH=/a\x1b[31m", own), Vec::new());
        assert_eq!(between(b"noise mPATH=/am more", "m"), Some(&b"PATH=/a"[..]));
        assert_eq!(between(b"noise m", "m"), None);
    }

    #[test]
    fn a_path_with_a_user_directory_has_not_only_system_directories() {
        for (path, missing) in [
            ("/usr/bin:/bin:/usr/sbin:/sbin", true),
            ("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games:/snap/bin", true),
            ("", true),
            ("/home/me/.cargo/bin:/usr/bin", false),
            ("/opt/homebrew/bin:/usr/bin", false),
        ] {
            assert_eq!(LoginShell::has_system_directories_only(path), missing, "{path}");
        }
    }
}
