//! The keyring of the desktop, through the program that comes with it.
//!
//! A secret goes in over standard input and comes out over standard output; neither is ever an
//! argument, which other processes can read.

use crate::{environment::Environment, limits};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};
use system::{AbsPath, Output, Piped, PipedCommand, System};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The attribute by which the items of this program are found.
const SERVICE: &str = "tiller";

/// The variables that the program needs to find the keyring of the session.
const INHERITED: [&str; 8] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// The program of a keyring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    /// `secret-tool` of libsecret: GNOME's keyring, KWallet, KeePassXC.
    SecretTool,
    /// `security` of macOS.
    Security,
}

/// Why the keyring could not be used.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum KeyringError {
    /// There is none in this environment.
    #[error("there is no keyring here: {0}")]
    None(&'static str),
    /// Its program failed.
    #[error("the keyring did not answer: {0}")]
    Failed(String),
    /// It has no such item.
    #[error("the keyring does not have it any more")]
    Missing,
}

/// The keyring, which may be absent.
pub(crate) struct Keyring {
    program: Result<Program, &'static str>,
    system: Arc<dyn System>,
    /// The items that were read, by id. An id is never used for a second value.
    read: Mutex<HashMap<String, String>>,
    /// The last failure of a lookup and its time. It is not repeated at once: a locked keyring
    /// would ask the user each time.
    failed: Mutex<Option<(Instant, KeyringError)>>,
}

impl Keyring {
    /// Looks for the keyring of the user who started this process. Starts nothing.
    pub(crate) fn new(environment: &Environment, system: Arc<dyn System>) -> Self {
        let program = match environment.get("DBUS_SESSION_BUS_ADDRESS") {
            _ if environment.get("TILLER_KEYRING") == Some("off") => Err("TILLER_KEYRING is off"),
            _ if cfg!(target_os = "macos") => Ok(Program::Security),
            Some(_) => Ok(Program::SecretTool),
            None => Err("this process has no desktop session (DBUS_SESSION_BUS_ADDRESS)"),
        };
        Self { program, system, read: Mutex::default(), failed: Mutex::default() }
    }

    /// Checks that the program answers, without storing anything.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) async fn check(&self) -> Result<(), KeyringError> {
        match self.lookup(self.program.map_err(KeyringError::None)?, "none").await {
            // An item that does not exist: the keyring answered.
            Ok(_) | Err(KeyringError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The program that is used.
    pub(crate) fn program(&self) -> Option<&'static str> {
        self.program.ok().map(Program::name)
    }

    /// Stores a value under a new id. `label` is what the user sees in the keyring's own program.
    pub(crate) async fn store(&self, label: &str, value: &str) -> Result<String, KeyringError> {
        let program = self.program.map_err(KeyringError::None)?;
        let id = new_id()?;
        let (args, input) = program.store(&id, label, value);
        self.run(program, args, &input).await?;
        // A program that reports success without a keyring behind it would lose the secret.
        if self.lookup(program, &id).await? != value {
            return Err(KeyringError::Failed("it did not return what was stored".to_owned()));
        }
        Ok(id)
    }

    /// Returns the value of an id.
    pub(crate) async fn get(&self, id: &str) -> Result<String, KeyringError> {
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let recent = self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, error)) = recent.filter(|(when, _)| when.elapsed() < limits::KEYRING_PAUSE) {
            return Err(error);
        }
        let value = match self.lookup(self.program.map_err(KeyringError::None)?, id).await {
            Err(error @ KeyringError::Failed(_)) => {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                *failed = Some((Instant::now(), error.clone()));
                return Err(error);
            }
            looked_up => looked_up?,
        };
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), value.clone());
        Ok(value)
    }

    /// Removes an id.
    pub(crate) async fn remove(&self, id: &str) -> Result<(), KeyringError> {
        let program = self.program.map_err(KeyringError::None)?;
        self.run(program, program.remove(id), "").await.map(drop)
    }

    async fn lookup(&self, program: Program, id: &str) -> Result<String, KeyringError> {
        let output = self.run(program, program.get(id), "").await?;
        program.value(&output).ok_or(KeyringError::Missing)
    }

    /// Runs the program and returns its output.
    async fn run(&self, program: Program, args: Vec<String>, input: &str) -> Result<String, KeyringError> {
        let failed = |what: String| KeyringError::Failed(format!("{} {what}", program.name()));
        let running = async {
            let command = PipedCommand {
                program: program.name().to_owned(),
                args,
                cwd: AbsPath::new("/").map_err(|error| failed(error.to_string()))?,
                inherit: INHERITED.map(str::to_owned).to_vec(),
                env: Vec::new(),
                error_limit: limits::KEYRING_OUTPUT_BYTES,
                confinement: system::Confinement::Lifted,
                apart_from: Vec::new(),
            };
            let piped =
                self.system.spawn_piped(command).await.map_err(|error| match error.is_not_found() {
                    true => KeyringError::None("its program, secret-tool (libsecret), is not installed"),
                    false => failed(error.to_string()),
                })?;
            let Piped { input: mut stdin, output: stdout, mut process } = piped;
            let exchange = async {
                // A program that reads no input closes it; its exit code tells whether it
                // succeeded.
                let _ = stdin.write_all(input.as_bytes()).await;
                let _ = stdin.shutdown().await;
                drop(stdin);
                let mut text = String::new();
                let most = limits::KEYRING_OUTPUT_BYTES as u64;
                stdout.take(most).read_to_string(&mut text).await.map(|_| text)
            };
            let complaints = async {
                let mut said = String::new();
                while let Some(output) = process.next_output().await {
                    if let Output::Text(text) = output {
                        said += &text;
                    }
                }
                said
            };
            let (output, said) = tokio::join!(exchange, complaints);
            let output = output.map_err(|error| failed(error.to_string()))?;
            let status = process.wait().await.map_err(|error| failed(error.to_string()))?;
            match (status.success(), said.trim()) {
                (true, _) => Ok(output),
                (false, "") => Err(KeyringError::Missing),
                (false, said) => Err(failed(format!("says: {}", agent::one_line(said)))),
            }
        };
        match tokio::time::timeout(limits::KEYRING_WAIT, running).await {
            Ok(result) => result,
            Err(_elapsed) => Err(failed("took too long; unlock the keyring".to_owned())),
        }
    }
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::SecretTool => "secret-tool",
            Self::Security => "security",
        }
    }

    /// Returns the arguments and the input that store a value.
    fn store(self, id: &str, label: &str, value: &str) -> (Vec<String>, String) {
        match self {
            Self::SecretTool => {
                let label = format!("--label=Tiller: {label}");
                (words(&["store", &label, "application", SERVICE, "id", id]), value.to_owned())
            }
            // Its commands are read from standard input; base64 needs no quotes.
            Self::Security => {
                let value = STANDARD.encode(value);
                let line = format!("add-generic-password -U -s {SERVICE} -a {id} -j {SERVICE} -w {value}\n");
                (words(&["-i"]), line)
            }
        }
    }

    fn get(self, id: &str) -> Vec<String> {
        match self {
            Self::SecretTool => words(&["lookup", "application", SERVICE, "id", id]),
            Self::Security => words(&["find-generic-password", "-s", SERVICE, "-a", id, "-w"]),
        }
    }

    fn remove(self, id: &str) -> Vec<String> {
        match self {
            Self::SecretTool => words(&["clear", "application", SERVICE, "id", id]),
            Self::Security => words(&["delete-generic-password", "-s", SERVICE, "-a", id]),
        }
    }

    /// Returns the value in the output of [`Self::get`].
    fn value(self, output: &str) -> Option<String> {
        match self {
            Self::SecretTool => Some(output.to_owned()).filter(|value| !value.is_empty()),
            Self::Security => String::from_utf8(STANDARD.decode(output.trim()).ok()?).ok(),
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns 16 random bytes as hexadecimal digits.
fn new_id() -> Result<String, KeyringError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| KeyringError::Failed(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_an_argument() {
        for program in [Program::SecretTool, Program::Security] {
            let (args, input) = program.store("id", "label", "a secret");
            assert!(!args.concat().contains("secret") || args.concat().contains("Tiller"), "{args:?}");
            assert!(!args.concat().contains("a secret"), "{args:?}");
            assert!(input.contains("a secret") || input.contains(&STANDARD.encode("a secret")));
        }
        assert_eq!(Program::Security.value(" YSBzZWNyZXQ=\n").as_deref(), Some("a secret"));
        assert_eq!(Program::SecretTool.value(""), None);
    }
}
