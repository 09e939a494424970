//! The user's own programs, which run outside of sandboxes and apart from the project: `git` for
//! credentials and for rules about addresses, and `ssh`.

use super::address::{Address, HTTPS_PORT};
use agent::Signing;
use std::sync::Arc;
use std::time::Duration;
use system::{AbsPath, Confinement, Output, Piped, PipedCommand, Process, System};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Maximum size of what a program prints, in bytes.
const OUTPUT_BYTES: u64 = 64 * 1024;

/// Maximum size of the messages of a program, in bytes.
const ERROR_BYTES: usize = 4096;

/// Maximum time for a credential, which the user may have to unlock.
const CREDENTIAL_WAIT: Duration = Duration::from_secs(60);

/// Variables by which git asks no question at a terminal.
const UNATTENDED: [(&str, &str); 4] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("GCM_INTERACTIVE", "never"),
    ("SSH_ASKPASS_REQUIRE", "force"),
];

/// Starts `ssh` as git does: by the variables and the setting that name another program.
const SSH: &str = r#"
ssh=${GIT_SSH_COMMAND:-$(git config --get core.sshCommand)}
[ -n "$ssh" ] && eval "exec $ssh"' "$@"'
exec "${GIT_SSH:-ssh}" "$@"
"#;

/// Signs what it reads with the program of the user's settings. Its own name is that of the program
/// otherwise.
const GPG: &str = r#"
case $0 in
gpg) program=$(git config --get gpg.openpgp.program || git config --get gpg.program) ;;
*) program=$(git config --get gpg.x509.program) ;;
esac
exec "${program:-$0}" --status-fd=2 -bsau "$1"
"#;

/// The same for a key of SSH: a file, or the text of a public key that the user's agent has.
const SSH_KEYGEN: &str = r#"
program=$(git config --get gpg.ssh.program)
case $1 in
key::*|ssh-*|ecdsa-*|sk-*)
  file=$(mktemp) || exit
  trap 'rm -f "$file"' EXIT
  printf '%s
' "${1#key::}" > "$file"
  "${program:-$0}" -Y sign -n git -f "$file" -U ;;
*) exec "${program:-$0}" -Y sign -n git -f "$1" ;;
esac
"#;

/// The user's programs.
pub(crate) struct Programs {
    system: Arc<dyn System>,
    variables: Vec<(String, String)>,
}

impl Programs {
    /// Creates access to programs with these variables. Of git's own, they get only those that name
    /// programs and files of the user.
    pub(super) fn new(system: Arc<dyn System>, mut variables: Vec<(String, String)>) -> Self {
        const OF_GIT: [&str; 4] = ["GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];
        variables.retain(|(name, _)| !name.starts_with("GIT_") || OF_GIT.contains(&name.as_str()));
        // A program that asks at the terminal would disturb the interface.
        variables.retain(|(name, _)| name != "GPG_TTY");
        variables.extend(UNATTENDED.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Self { system, variables }
    }

    /// Returns the user's rules for addresses.
    pub(super) async fn rewrites(&self, apart: &[AbsPath]) -> Rewrites {
        let pattern = r"^url\..*\.(insteadof|pushinsteadof)$";
        let args = ["config", "--null", "--get-regexp", pattern];
        match self.git(&args, "", apart).await {
            Ok(text) => Rewrites::parse(&text),
            // There are none.
            Err(_) => Rewrites::default(),
        }
    }

    /// Returns the value of `Authorization` for a repository.
    ///
    /// # Errors
    /// What git says if it has no credential.
    pub(super) async fn credential(&self, address: &Address, apart: &[AbsPath]) -> Result<String, String> {
        let Address::Https { host, port, path, user, password } = address else {
            return Err("it has no password".to_owned());
        };
        if let (Some(user), Some(password)) = (user, password) {
            return Ok(basic(user, password));
        }
        let host = if *port == HTTPS_PORT { host.clone() } else { format!("{host}:{port}") };
        let path = path.trim_start_matches('/');
        let mut input = format!("protocol=https\nhost={host}\npath={path}\n");
        if let Some(user) = user {
            input.push_str(&format!("username={user}\n"));
        }
        let answer = self.git(&["credential", "fill"], &input, apart).await?;
        let value = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        match (value("username"), value("password")) {
            (Some(user), Some(password)) if !password.is_empty() => Ok(basic(user, password)),
            _ => Err("git has no password for it".to_owned()),
        }
    }

    /// Starts `ssh`, which runs `command` on the host of an address. Its messages are the output of
    /// the process.
    ///
    /// # Errors
    /// The reason why it does not start.
    pub(super) async fn ssh(
        &self,
        address: &Address,
        command: &str,
        version: Option<u8>,
        apart: &[AbsPath],
    ) -> Result<Piped, String> {
        let Address::Ssh { host, port, user, .. } = address else {
            return Err("it is no address of SSH".to_owned());
        };
        let mut args: Vec<_> = ["-c", SSH, "sh", "-o", "BatchMode=yes"].map(str::to_owned).to_vec();
        let mut env = Vec::new();
        if let Some(version) = version {
            args.extend(["-o", "SendEnv=GIT_PROTOCOL"].map(str::to_owned));
            env.push(("GIT_PROTOCOL".to_owned(), format!("version={version}")));
        }
        if let Some(port) = port {
            args.extend(["-p".to_owned(), port.to_string()]);
        }
        let target = user.as_ref().map_or_else(|| host.clone(), |user| format!("{user}@{host}"));
        args.extend([target, command.to_owned()]);
        self.start("sh", args, env, apart).await
    }

    /// Returns a signature in the form that git keeps.
    ///
    /// # Errors
    /// What the program says if it does not sign.
    pub(super) async fn signature(&self, signing: &Signing, apart: &[AbsPath]) -> Result<String, String> {
        let Signing { program, key, object, .. } = signing;
        let script = match program.as_str() {
            "gpg" | "gpgsm" => GPG,
            "ssh-keygen" => {
                self.expect_own_key(key, apart).await?;
                SSH_KEYGEN
            }
            other => return Err(format!("{other} is no program that signs")),
        };
        let text = self.run("sh", &["-c", script, program, key], object, apart).await?;
        if text.is_empty() { Err(format!("{program} made no signature")) } else { Ok(text) }
    }

    /// Checks that a key for SSH is the one of the user's settings: its program reads a file of
    /// that name.
    async fn expect_own_key(&self, key: &str, apart: &[AbsPath]) -> Result<(), String> {
        let mut known = Vec::new();
        for kind in [&["--type=path"][..], &[]] {
            let words = [&["config"], kind, &["--get", "user.signingKey"]].concat();
            known.extend(self.git(&words, "", apart).await.map(|text| text.trim().to_owned()));
        }
        let own = |own: &str| own.trim_start_matches("key::") == key.trim_start_matches("key::");
        match known.iter().any(|known| own(known)) {
            true => Ok(()),
            false => Err(format!("{key} is not the user's user.signingKey")),
        }
    }

    async fn git(&self, args: &[&str], input: &str, apart: &[AbsPath]) -> Result<String, String> {
        self.run("git", args, input, apart).await
    }

    async fn run(
        &self,
        program: &str,
        args: &[&str],
        input: &str,
        apart: &[AbsPath],
    ) -> Result<String, String> {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let Piped { input: mut to, output, mut process } =
            self.start(program, args, Vec::new(), apart).await?;
        let talk = async {
            let mut text = String::new();
            to.write_all(input.as_bytes()).await?;
            to.shutdown().await?;
            drop(to);
            output.take(OUTPUT_BYTES).read_to_string(&mut text).await?;
            Ok::<_, std::io::Error>(text)
        };
        let text = match timeout(CREDENTIAL_WAIT, talk).await {
            Ok(text) => text.map_err(|error| error.to_string())?,
            Err(_) => {
                process.kill().await;
                return Err(format!("{program} did not answer within {} s", CREDENTIAL_WAIT.as_secs()));
            }
        };
        let said = messages(process.as_mut()).await;
        match process.wait().await {
            Ok(status) if status.success() => Ok(text),
            _ => Err(said),
        }
    }

    async fn start(
        &self,
        program: &str,
        args: Vec<String>,
        more: Vec<(String, String)>,
        apart: &[AbsPath],
    ) -> Result<Piped, String> {
        let command = PipedCommand {
            program: program.to_owned(),
            args,
            // No project's settings apply there.
            cwd: AbsPath::new("/").map_err(|error| error.to_string())?,
            inherit: Vec::new(),
            env: self.variables.iter().map(|variable| without(variable, apart)).chain(more).collect(),
            error_limit: ERROR_BYTES,
            confinement: Confinement::Lifted,
            apart_from: apart.to_vec(),
        };
        self.system.spawn_piped(command).await.map_err(|error| error.to_string())
    }
}

/// Returns a variable; of `PATH`, only absolute directories that are in none of `apart`. A script
/// and the programs that it starts find others by it.
fn without((name, value): &(String, String), apart: &[AbsPath]) -> (String, String) {
    let is_kept = |directory: &&str| {
        AbsPath::new(directory).is_ok_and(|path| !apart.iter().any(|root| path.starts_with(root)))
    };
    let value = match name == "PATH" {
        true => value.split(':').filter(is_kept).collect::<Vec<_>>().join(":"),
        false => value.clone(),
    };
    (name.clone(), value)
}

/// Returns what a program says until it ends.
pub(super) async fn messages(process: &mut dyn Process) -> String {
    let mut text = String::new();
    while let Some(output) = process.next_output().await {
        if let Output::Text(more) = output {
            text.push_str(&more);
        }
    }
    text.trim().to_owned()
}

fn basic(user: &str, password: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// The user's rules for addresses: `url.BASE.insteadOf` and `url.BASE.pushInsteadOf`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rewrites {
    /// Bases with what they stand for.
    all: Vec<(String, String)>,
    /// The same for pushes alone.
    pushes: Vec<(String, String)>,
}

impl Rewrites {
    /// Reads what `git config --null --get-regexp` prints.
    pub(super) fn parse(text: &str) -> Self {
        let mut rewrites = Self::default();
        for (name, value) in text.split('\0').filter_map(|entry| entry.split_once('\n')) {
            let Some((base, kind)) = name.strip_prefix("url.").and_then(|name| name.rsplit_once('.')) else {
                continue;
            };
            let rules = if kind == "insteadof" { &mut rewrites.all } else { &mut rewrites.pushes };
            rules.push((base.to_owned(), value.to_owned()));
        }
        rewrites
    }

    /// Returns the address from which is fetched.
    pub(super) fn fetched(&self, url: &str) -> String {
        rewritten(&self.all, url).unwrap_or_else(|| url.to_owned())
    }

    /// Returns the address to which is pushed.
    pub(super) fn pushed(&self, url: &str) -> String {
        rewritten(&self.pushes, url).unwrap_or_else(|| self.fetched(url))
    }
}

/// Applies the rule for the longest beginning of an address.
fn rewritten(rules: &[(String, String)], url: &str) -> Option<String> {
    let of = rules.iter().filter(|(_, start)| url.starts_with(start));
    let (base, start) = of.max_by_key(|(_, start)| start.len())?;
    Some(format!("{base}{}", &url[start.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_the_project_are_not_found() {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let apart = [AbsPath::new("/w").unwrap()];
        let path = variable("PATH", "/usr/bin:.:/w/bin:node_modules/.bin::/w:/work/bin:/usr/../w/x");
        assert_eq!(without(&path, &apart), variable("PATH", "/usr/bin:/work/bin"));
        let other = variable("HOME", "/w");
        assert_eq!(without(&other, &apart), other);
    }
}
