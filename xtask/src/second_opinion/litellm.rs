//! LiteLLM's proxy: installed from PyPI below the target directory, and run on loopback.

use crate::leftovers;
use crate::process::{command, command_line, target_dir};
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The package to install.
const REQUIREMENT: &str = "litellm[proxy]==1.106.2";
/// How long it may take to start; its imports are slow.
const START_TIME: Duration = Duration::from_secs(300);
/// Log lines that are shown after a failure.
const LAST_LINES: usize = 30;

/// The running proxy, which is killed when dropped.
pub(super) struct Litellm {
    child: Child,
    port: u16,
    key: String,
    /// The installation directory.
    directory: PathBuf,
    keep: bool,
}

impl Litellm {
    /// Installs it if necessary, and starts it in front of a model server, whose model gets the
    /// name `alias`. Unless `keep` is set, it is removed at the end.
    pub(super) fn start(upstream: &str, model: &str, alias: &str, keep: bool) -> Result<Self> {
        let directory = target_dir().join("eval/second-opinion");
        let program = install(&directory)?;
        let key = format!("sk-{}", secret()?);
        // Always translate to Chat Completions, even if the server supports other formats.
        let settings = format!(
            "model_list:\n  - model_name: {alias}\n    litellm_params:\n      model: hosted_vllm/{model}\n      \
             api_base: {upstream}\n      api_key: none\n      use_chat_completions_api: true\n\
             general_settings:\n  master_key: {key}\n"
        );
        let config = directory.join("config.yaml");
        std::fs::write(&config, settings)?;
        let log = std::fs::File::create(directory.join("log"))?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut litellm = command(program);
        litellm.arg("--config").arg(config).args(["--host", "127.0.0.1", "--port", &port.to_string()]);
        litellm.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("HOME", &directory);
        litellm.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut litellm, 0);
        let child = litellm.spawn().with_context(|| command_line(&litellm))?;
        let mut litellm = Self { child, port, key, directory, keep };
        litellm.wait()?;
        Ok(litellm)
    }

    /// Waits until it responds.
    fn wait(&mut self) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < START_TIME {
            if alive(self.port).unwrap_or(false) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("LiteLLM ended with {status}:\n{}", self.last_words());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        bail!("LiteLLM did not answer within {} s:\n{}", START_TIME.as_secs(), self.last_words())
    }

    /// Returns its URL without a path.
    pub(super) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the API key that it requires.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the end of its log.
    pub(super) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Litellm {
    fn drop(&mut self) {
        leftovers::kill_group(self.child.id());
        self.child.wait().ok();
        if !self.keep {
            leftovers::remove(&self.directory);
        }
    }
}

/// Returns the program, which is installed if necessary.
fn install(directory: &Path) -> Result<PathBuf> {
    let (done, bin) = (directory.join("installed"), directory.join("venv/bin"));
    if std::fs::read_to_string(&done).is_ok_and(|was| was == REQUIREMENT) {
        return Ok(bin.join("litellm"));
    }
    println!("second-opinion: installing {REQUIREMENT} into {}", directory.display());
    std::fs::create_dir_all(directory)?;
    let mut venv = command("python3");
    venv.args(["-m", "venv"]).arg(directory.join("venv"));
    let mut pip = command(bin.join("pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", REQUIREMENT]);
    for mut step in [venv, pip] {
        if !step.status().with_context(|| command_line(&step))?.success() {
            bail!("`{}` failed", command_line(&step));
        }
    }
    std::fs::write(done, REQUIREMENT)?;
    Ok(bin.join("litellm"))
}

/// Returns a random key, because other users of this machine can reach the port.
fn secret() -> Result<String> {
    let mut bytes = [0; 24];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns whether the proxy reports to be alive.
fn alive(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(b"GET /health/liveliness HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")?;
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    Ok(&head == b"HTTP/1.1 200")
}
