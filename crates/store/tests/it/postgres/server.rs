//! A real PostgreSQL server for a test: its own data directory, a Unix socket only, fsync on.
//!
//! The programs are those of the machine, or of Debian's packages, unpacked below the target
//! directory. The server ends with the thread that started it, however that ends: the kernel sends
//! it a signal. So a test starts it on its own thread, and a killed test leaves nothing.

use std::{
    env,
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// The user that the server runs as if the tests run as root, which it refuses.
const NOBODY: u32 = 65_534;
/// How long a server that starts may be silent.
const START: Duration = Duration::from_secs(60);
/// How often it is started: after a kill, the first ones may find children of the killed one.
const STARTS: usize = 50;

/// A running server. It is stopped when this is dropped.
pub(crate) struct Server {
    directory: TempDir,
    programs: PathBuf,
    child: Option<Child>,
}

impl Server {
    /// Starts a server; `None` if this machine has none and cannot get one. That fails where it
    /// is required.
    pub(crate) fn start() -> Option<Self> {
        let programs = match programs() {
            Ok(programs) => programs,
            Err(why) => {
                let is_required =
                    ["CI", "TILLER_REQUIRE_POSTGRES"].into_iter().find(|name| env::var_os(name).is_some());
                assert!(
                    is_required.is_none(),
                    "{} requires PostgreSQL: {why}",
                    is_required.unwrap_or_default()
                );
                // To the terminal, whether or not the output of tests is shown.
                let _ = writeln!(std::io::stderr(), "SKIPPED: this test needs PostgreSQL: {why}");
                return None;
            }
        };
        let directory = tempfile::Builder::new().prefix("tiller-postgres-").tempdir().unwrap();
        give_away(directory.path());
        let mut server = Self { directory, programs, child: None };
        server.initialise();
        server.run();
        Some(server)
    }

    /// Returns the URL of a database, which may not exist.
    pub(crate) fn url(&self, database: &str) -> String {
        let host = self.directory.path().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}/{database}")
    }

    /// Returns the path of the socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join(".s.PGSQL.5432")
    }

    /// Kills the server and its children with SIGKILL, as a crash of the machine would end them,
    /// and starts it again.
    pub(crate) fn kill_and_start(&mut self) {
        let mut child = self.child.take().unwrap();
        // The children end by themselves when they notice; the next start waits for that.
        child.kill().unwrap();
        child.wait().unwrap();
        self.run();
    }

    /// Stops the server. It can be started again with [`Server::run`].
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // SIGQUIT ends it at once; what was committed is recovered by the next start.
            let pid = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
            let _ = child.wait();
        }
    }

    /// Starts the server and waits until it answers.
    pub(crate) fn run(&mut self) {
        let mut said = Vec::new();
        for _ in 0..STARTS {
            let mut command = self.command("postgres", "QUIT");
            command.arg("-D").arg(self.data()).arg("-k").arg(self.directory.path());
            for setting in ["listen_addresses=", "fsync=on", "max_connections=60", "shared_buffers=32MB"] {
                command.arg("-c").arg(setting);
            }
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let log = BufReader::new(child.stderr.take().unwrap());
            self.child = Some(child);
            let (tell, lines) = mpsc::channel();
            // It ends with the last of the server's processes.
            thread::spawn(move || log.lines().map_while(Result::ok).for_each(|line| drop(tell.send(line))));
            loop {
                match lines.recv_timeout(START) {
                    Ok(line) if line.contains("ready to accept connections") => return,
                    Ok(line) => said.push(line),
                    // After a kill, the children of the last one may still be there.
                    Err(_) => break,
                }
            }
            self.stop();
        }
        panic!("the server did not start: {said:#?}");
    }

    fn initialise(&self) {
        let template = template(&self.programs);
        checked(Command::new("cp").arg("-a").arg(template).arg(self.data()));
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn command(&self, program: &str, at_the_end: &str) -> Command {
        command(&self.programs, program, at_the_end)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns a data directory that was initialised once for all tests, to be copied.
fn template(programs: &Path) -> PathBuf {
    let target = target();
    let lock = File::create(target.join("postgres-template.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let version = checked(
        Command::new(programs.join("postgres")).arg("--version").env("LD_LIBRARY_PATH", libraries(programs)),
    );
    let version: String = String::from_utf8(version.stdout)
        .unwrap()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '.')
        .collect();
    let template = target.join(format!("postgres-template-{version}"));
    if template.exists() {
        return template;
    }
    let directory = tempfile::Builder::new().prefix("tiller-initdb-").tempdir().unwrap();
    give_away(directory.path());
    let data = directory.path().join("data");
    let mut initdb = command(programs, "initdb", "KILL");
    // The copies are made of it while nothing runs on it, so only its rename must be whole.
    initdb
        .args([
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--pgdata",
        ])
        .arg(&data);
    checked(&mut initdb);
    let unfinished = target.join("postgres-template.unfinished");
    let _ = fs::remove_dir_all(&unfinished);
    checked(Command::new("cp").arg("-a").arg(&data).arg(&unfinished));
    fs::rename(&unfinished, &template).unwrap();
    template
}

/// Returns a command that runs as a user that the server accepts, and ends with this thread.
fn command(programs: &Path, program: &str, at_the_end: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", at_the_end]);
    if rustix::process::geteuid().is_root() {
        let nobody = NOBODY.to_string();
        command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]);
    }
    command.arg("--").arg(programs.join(program));
    command
        .env("LD_LIBRARY_PATH", libraries(programs))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .current_dir("/");
    command
}

fn give_away(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// Returns the directory of the server's programs.
fn programs() -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut found: Vec<PathBuf> = env::split_paths(&path).collect();
    found.extend(installed("/usr/lib/postgresql".as_ref()));
    let has_all =
        |directory: &PathBuf| ["postgres", "initdb"].iter().all(|program| directory.join(program).exists());
    // Links lead to the directory that has all of them.
    let real = found
        .iter()
        .filter_map(|directory| directory.join("postgres").canonicalize().ok()?.parent().map(Path::to_owned));
    if let Some(directory) = real.chain(found.iter().cloned()).find(has_all) {
        return Ok(directory);
    }
    let unpacked = target().join("postgres-packages");
    download(&unpacked)?;
    let found = installed(&unpacked.join("usr/lib/postgresql")).into_iter().find(has_all);
    found.ok_or_else(|| format!("the packages in {} have no server", unpacked.display()))
}

/// Returns the directories of programs, the newest version first.
fn installed(root: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<PathBuf> =
        fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let number = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()).unwrap_or_default()
    };
    versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
    versions.into_iter().map(|path| path.join("bin")).collect()
}

/// The libraries of unpacked packages; nothing for installed ones.
fn libraries(programs: &Path) -> PathBuf {
    let root = programs.ancestors().nth(5).unwrap_or(programs);
    let libraries = root.join(format!("usr/lib/{}-linux-gnu", env::consts::ARCH));
    if root.ends_with("postgres-packages") { libraries } else { PathBuf::new() }
}

/// Downloads the newest server that the package manager of Debian knows, with its libraries, and
/// unpacks it. Nothing is installed.
fn download(unpacked: &Path) -> Result<(), String> {
    let lock = File::create(target().join("postgres-packages.lock")).map_err(|error| error.to_string())?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).map_err(|error| error.to_string())?;
    if unpacked.exists() {
        return Ok(());
    }
    let output = |command: &mut Command| -> Result<String, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let output = command.output().map_err(|error| format!("{name}: {error}"))?;
        let text =
            String::from_utf8_lossy(if output.status.success() { &output.stdout } else { &output.stderr })
                .into_owned();
        if output.status.success() { Ok(text) } else { Err(format!("{name}: {}", text.trim())) }
    };
    let names = output(Command::new("apt-cache").args(["pkgnames", "postgresql-"]))?;
    let version = |name: &str| name.strip_prefix("postgresql-")?.parse::<u32>().ok();
    let newest =
        names.lines().filter_map(version).max().ok_or("apt knows no server; run `apt-get update`")?;
    let server = format!("postgresql-{newest}");
    let depends = output(Command::new("apt-cache").args([
        "depends",
        "--recurse",
        "--no-recommends",
        "--no-suggests",
        "--no-conflicts",
        "--no-breaks",
        "--no-replaces",
        "--no-enhances",
        &server,
    ]))?;
    let mut packages: Vec<String> = depends
        .lines()
        .filter(|line| {
            line.starts_with("lib")
                && !line.starts_with("libc6")
                && !line.starts_with("libllvm")
                && !line.contains("perl")
        })
        .map(str::to_owned)
        .collect();
    packages.push(server);
    let parts = unpacked.with_extension("unfinished");
    let _ = fs::remove_dir_all(&parts);
    fs::create_dir_all(&parts).map_err(|error| error.to_string())?;
    output(Command::new("apt-get").args(["download", "-q"]).args(packages).current_dir(&parts))?;
    for package in fs::read_dir(&parts).map_err(|error| error.to_string())?.flatten() {
        if package.path().extension().is_some_and(|extension| extension == "deb") {
            output(Command::new("dpkg").arg("-x").arg(package.path()).arg(&parts))?;
            let _ = fs::remove_file(package.path());
        }
    }
    fs::rename(&parts, unpacked).map_err(|error| error.to_string())
}

/// The directory for files of tests: below the target directory, which unit tests do not know.
fn target() -> PathBuf {
    let directory = option_env!("CARGO_TARGET_TMPDIR").map_or_else(env::temp_dir, PathBuf::from);
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn checked(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
