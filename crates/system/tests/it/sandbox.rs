//! What a confined command can and cannot do. On a kernel that cannot confine, the tests verify
//! that nothing runs.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::time::Instant;
use system::{
    AbsPath, Command, Confined, Confinement, ExitStatus, LocalOptions, LocalSystem, Output, Pins,
    ProtectedPaths, Sandbox, SandboxLevel, SandboxSupport, SecretPaths, System, SystemError, View,
};
use tempfile::TempDir;

const OUTPUT: usize = 1 << 16;

/// A project, a home directory beside it, and a system that confines commands.
pub(crate) struct Stage {
    _dir: TempDir,
    pub(crate) project: AbsPath,
    pub(crate) home: AbsPath,
    pub(crate) local: LocalSystem,
    pub(crate) sandbox: Sandbox,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let (project, home) = (top.join("project"), top.join("home"));
        for directory in [project.join(".git/hooks"), home.join(".ssh"), home.join(".config/tiller")] {
            fs::create_dir_all(directory.as_std()).unwrap();
        }
        for (path, text) in [
            (project.join(".mcp.json"), "{}"),
            (project.join(".env"), "CANARY=1"),
            (project.join(".env.example"), "EXAMPLE=1"),
            (project.join("a.txt"), "a"),
            (home.join(".ssh/id_rsa"), "CANARY"),
            (home.join("note"), "note"),
        ] {
            fs::write(path.as_std(), text).unwrap();
        }
        let launcher = vec![env!("CARGO_BIN_EXE_sandbox-exec").to_owned()];
        let local = LocalSystem::with_options(LocalOptions { launcher, ..LocalOptions::default() });
        let guarded = [".git/hooks", ".mcp.json"].map(|name| project.join(name));
        let sandbox = Sandbox {
            level: SandboxLevel::WorkspaceWrite,
            view: View { roots: vec![project.clone()], readable: vec![home.join("note")], ..View::default() },
            protected: ProtectedPaths { guarded: guarded.to_vec(), ..ProtectedPaths::default() },
            secret: SecretPaths {
                hidden: Vec::new(),
                patterns: vec!["*.env".to_owned(), "*.env.*".to_owned()],
                exceptions: vec!["*.env.example".to_owned()],
                hide: vec!["*.env".to_owned(), "*.env.*".to_owned()],
                blanked: Vec::new(),
            },
            ..Sandbox::default()
        };
        Self { _dir: dir, project, home, local, sandbox }
    }

    /// Returns what this machine can enforce. The suite is meant for kernels that support
    /// everything; elsewhere the callers skip the assertions that need more.
    pub(crate) async fn support(&self) -> SandboxSupport {
        self.local.sandbox_support().await
    }

    /// Runs a line confined and returns its output and exit status. `None` if nothing can be
    /// confined here; then nothing has run.
    pub(crate) async fn run(&self, line: &str) -> Option<(String, ExitStatus)> {
        self.run_as(&self.local, self.sandbox.clone(), line).await
    }

    /// The same, by another process and in another sandbox.
    pub(crate) async fn run_as(
        &self,
        local: &LocalSystem,
        sandbox: Sandbox,
        line: &str,
    ) -> Option<(String, ExitStatus)> {
        let system = Confined::new(Arc::new(local.clone()), sandbox);
        let line = line.replace("$HOME", self.home.as_str());
        match system.spawn(Command::shell(line, self.project.clone(), OUTPUT)).await {
            Ok(mut process) => {
                let mut output = String::new();
                while let Some(piece) = process.next_output().await {
                    if let Output::Text(text) = piece {
                        output.push_str(&text);
                    }
                }
                Some((output, process.wait().await.unwrap()))
            }
            Err(SystemError::NoSandbox(_)) => {
                assert!(!self.support().await.applies());
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn check(&self, line: &str, works: bool) {
        if let Some((output, status)) = self.run(line).await {
            assert_eq!(status.success(), works, "{line}: {output}");
        }
    }
}

/// S-06: writes succeed below the writable directories and nowhere else.
#[tokio::test]
async fn s06_a_confined_command_writes_below_its_roots_only() {
    let stage = Stage::new();
    for line in [
        "echo x > new.txt && mkdir -p deep/er && mv new.txt deep/er/ && rm -r deep",
        "echo x > /dev/null",
        "cat a.txt $HOME/note",
        "echo y >> a.txt && test \"$(cat a.txt)\" = ay",
        "(exit 0) & wait",
    ] {
        stage.check(line, true).await;
    }
    for line in [
        "echo x > $HOME/x",
        "mkdir -p $HOME/.config/tiller-late && echo > $HOME/.config/tiller-late/config.toml",
        "echo x > $HOME/.config/tiller/config.toml",
        "rm $HOME/note",
        "mv $HOME/note .",
        "ln $HOME/note hard && echo x > hard",
        "ln -s $HOME/note soft && echo x > soft",
        "truncate -s 0 $HOME/note",
        "chmod 777 /etc/hostname",
    ] {
        let before = fs::read_to_string(stage.home.join("note").as_std()).unwrap();
        if !line.starts_with("chmod") {
            stage.check(line, false).await;
        }
        assert_eq!(fs::read_to_string(stage.home.join("note").as_std()).unwrap(), before, "{line}");
    }
}

/// S-06: files that control what other programs execute cannot be created either, and no
/// placeholders are left.
#[tokio::test]
async fn s06_guarded_names_cannot_be_taken_from_inside() {
    let mut stage = Stage::new();
    if !stage.support().await.holds() {
        return assert!(!stage.support().await.namespaces, "guards need namespaces; there are none here");
    }
    let project = stage.project.clone();
    fs::remove_file(project.join(".mcp.json").as_std()).unwrap();
    fs::remove_dir(project.join(".git/hooks").as_std()).unwrap();
    let below = |names: &[&str]| names.iter().map(|name| project.join(name)).collect::<Vec<_>>();
    let names = [".mcp.json", ".envrc", ".tiller", ".vscode", ".git/hooks"];
    stage.sandbox.protected.reserved = below(&names);
    for line in [
        "echo x > .mcp.json",
        "echo x >> .envrc",
        "cp a.txt .mcp.json",
        "cp a.txt b && mv b .mcp.json",
        "ln -sf a.txt .mcp.json",
        "mkdir -p .tiller && echo x > .tiller/config.toml",
        "mkdir -p .vscode && echo x > .vscode/mcp.json",
        "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
        "mkdir t && echo x > t/config.toml && mv -T t .tiller",
        "ln -s a.txt evil && mv -T evil .envrc",
        "mkdir .tiller; cd .tiller; echo x > config.toml; cd ..; mv .tiller.not-trusted .tiller",
        "for i in $(seq 1000); do echo x > .envrc; done 2>/dev/null",
    ] {
        let (output, _) = stage.run(line).await.unwrap();
        for name in names {
            assert!(!project.join(name).as_std().exists(), "{line}: {name} is there: {output}");
        }
        assert!(output.contains("not-trusted"), "{line}: {output}");
    }
    let (_, status) = stage.run("while true; do echo x > .envrc; done").await.unwrap();
    assert!(!status.success(), "one that goes on trying is killed");
    // No placeholders exist: a program that lists the directory sees only real files.
    stage.check("test -z \"$(ls -A | grep -v not-trusted | grep -E 'mcp|envrc|tiller|vscode')\"", true).await;
}

/// S-08: a hard link to a secret file is secret too.
#[tokio::test]
async fn s08_a_hard_link_to_a_secret_is_a_secret() {
    let stage = Stage::new();
    let project = &stage.project;
    fs::hard_link(project.join(".env").as_std(), project.join("ok.txt").as_std()).unwrap();
    fs::hard_link(project.join(".env").as_std(), project.join("key.txt").as_std()).unwrap();
    fs::hard_link(project.join("a.txt").as_std(), project.join("b.txt").as_std()).unwrap();
    let pins = Pins { places: Vec::new(), secrets: stage.sandbox.clone() };
    let pinned = stage.local.pinned(pins).unwrap();
    for name in ["ok.txt", "key.txt"] {
        let path = project.join(name);
        assert!(matches!(pinned.read(&path).await, Err(SystemError::Blocked(_))), "{name}");
        assert!(matches!(pinned.read_text(&path, None).await, Err(SystemError::Blocked(_))), "{name}");
        assert!(
            matches!(pinned.replace_text(&path, None, "x").await, Err(SystemError::Blocked(_))),
            "{name}"
        );
    }
    assert_eq!(pinned.read(&project.join("b.txt")).await.unwrap(), b"a");
    if stage.support().await.holds() {
        for name in ["ok.txt", "key.txt"] {
            let (output, _) = stage.run(&format!("cat {name}")).await.unwrap();
            assert!(!output.contains("CANARY"), "{name}: {output}");
        }
        stage.check("grep -q a b.txt", true).await;
    }
}

#[tokio::test]
async fn s05_guarded_files_of_the_project_stay_as_they_are() {
    let stage = Stage::new();
    if !stage.support().await.holds() {
        return assert!(!stage.support().await.namespaces, "guards need namespaces; there are none here");
    }
    for line in [
        "echo x > .mcp.json",
        "echo x > .git/hooks/pre-commit",
        "cp a.txt .git/hooks/post-checkout",
        "rm .mcp.json",
        "mv a.txt .mcp.json",
        "mv .git/hooks .git/old",
        "rm -r .git/hooks",
        "umount .mcp.json; echo x > .mcp.json",
        "mount -o remount,rw .git/hooks; echo x > .git/hooks/x",
        "unshare -Urm sh -c 'umount .mcp.json; echo x > .mcp.json'",
    ] {
        stage.check(line, false).await;
    }
    stage.check("echo x > .git/description", true).await;
    assert_eq!(fs::read_to_string(stage.project.join(".mcp.json").as_std()).unwrap(), "{}");
    assert_eq!(fs::read_dir(stage.project.join(".git/hooks").as_std()).unwrap().count(), 0);
}

#[tokio::test]
async fn secrets_cannot_be_read() {
    let stage = Stage::new();
    symlink(stage.home.join(".ssh").as_std(), stage.project.join("innocent").as_std()).unwrap();
    for line in ["cat $HOME/.ssh/id_rsa", "cat innocent/id_rsa", "cp $HOME/.ssh/id_rsa stolen"] {
        stage.check(line, false).await;
    }
    stage.check("grep -q EXAMPLE .env.example", true).await;
    if stage.support().await.holds() {
        stage.check("test -z \"$(cat .env)\"", true).await;
        stage.check("test -z \"$(cat $PWD/../project/.env)\"", true).await;
    }
    assert_eq!(fs::read_to_string(stage.project.join(".env").as_std()).unwrap(), "CANARY=1");
}

/// S-22, S-18: the network is off for every program, including name resolution.
#[tokio::test]
async fn s22_s18_the_network_is_off_and_so_are_local_sockets() {
    let stage = Stage::new();
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let socket = stage.project.join("daemon.sock");
    let _daemon = UnixListener::bind(socket.as_std()).unwrap();
    // The listener is on this machine's loopback interface; the command has its own.
    stage.check(&format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"), false).await;
    stage.check("bash -c 'exec 3<>/dev/udp/192.0.2.1/53 && echo x >&3'", false).await;
    let connect = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('daemon.sock')";
    stage.check(&format!("python3 -c \"{connect}\""), false).await;
    if stage.support().await.holds() {
        let loopback = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())";
        let python = stage.run("python3 --version").await.is_some_and(|(_, status)| status.success());
        if python {
            stage.check(&format!("python3 -c \"{loopback}\""), true).await;
        }
    }
    let mut open = stage;
    open.sandbox.network = system::Network::Open;
    open.check(&format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"), true).await;
    open.check(&format!("python3 -c \"{connect}\""), false).await;
}

#[tokio::test]
async fn unix_sockets_lead_to_commands_only() {
    let stage = Stage::new();
    if !stage.support().await.holds() {
        return;
    }
    let python = |code: &str| {
        format!("python3 -c \"import socket as s, os; u = lambda: s.socket(s.AF_UNIX); {code}\"")
    };
    let own = "a = u(); a.bind('own.sock'); a.listen(); b = u(); b.connect('own.sock'); a.accept(); os.remove('own.sock')";
    if !stage.run(&python("")).await.is_some_and(|(_, status)| status.success()) {
        return;
    }
    stage.check(&python(own), true).await;
    let own = own.replace("os.remove('own.sock')", "0").replace("own.sock", "\\0own");
    stage.check(&python(&own), true).await;
    stage.check(&python("s.socketpair(s.AF_UNIX, s.SOCK_DGRAM)"), true).await;
    fs::create_dir(stage.project.join("a b").as_std()).unwrap();
    let paths = [stage.project.join("daemon.sock"), stage.project.join("a b/daemon.sock")];
    let _daemons = paths.each_ref().map(|path| UnixListener::bind(path.as_std()).unwrap());
    let _outside = UnixListener::bind(stage.home.join("outside.sock").as_std()).unwrap();
    let hidden = SocketAddr::from_abstract_name("tiller-test").unwrap();
    let _hidden = UnixListener::bind_addr(&hidden).unwrap();
    // A program names its socket as it is seen from its own directory.
    let bind = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('./rel.sock'); s.listen(); print(flush=True); s.accept()";
    let line = format!("exec python3 -c \"{bind}\"");
    let mut relative = stage.local.spawn(Command::shell(line, stage.project.clone(), OUTPUT)).await.unwrap();
    relative.next_output().await.unwrap();
    fs::hard_link(stage.home.join("outside.sock").as_std(), stage.project.join("linked.sock").as_std())
        .unwrap();
    for code in [
        "u().connect('linked.sock')",
        "u().connect('daemon.sock')",
        "u().connect('a b/daemon.sock')",
        "u().connect('rel.sock')",
        "u().connect('\\0tiller-test')",
        "os.link('daemon.sock', 'other'); u().connect('other')",
        "os.rename('a b', 'c'); u().connect('c/daemon.sock')",
        "os.rename('daemon.sock', 'other'); u().connect('other')",
        "os.open('daemon.sock', os.O_PATH); d = os.open('.', os.O_PATH); u().connect('/proc/self/fd/%d/daemon.sock' % d)",
        "s.socket(s.AF_UNIX, s.SOCK_DGRAM).sendto(b'x', 'daemon.sock')",
    ] {
        stage.check(&python(code), false).await;
    }
    relative.kill().await;
}

#[tokio::test]
async fn other_processes_cannot_be_signalled() {
    let stage = Stage::new();
    let own = std::process::id();
    stage.check(&format!("cat /proc/{own}/environ"), false).await;
    stage.check(&format!("kill -0 {own}"), stage.support().await.landlock_abi < 6).await;
    stage.check("sudo -n true", false).await;
    if let Some((output, _)) = stage.run("grep -E 'NoNewPrivs|Seccomp:' /proc/self/status; ulimit -c").await {
        assert_eq!(output.split_whitespace().collect::<Vec<_>>(), ["NoNewPrivs:", "1", "Seccomp:", "2", "0"]);
    }
}

#[tokio::test]
async fn the_read_only_sandbox_writes_nothing() {
    let mut stage = Stage::new();
    stage.sandbox.level = SandboxLevel::ReadOnly;
    stage.check("cat a.txt > /dev/null", true).await;
    for line in ["echo x > new", "rm a.txt", "mkdir d"] {
        stage.check(line, false).await;
    }
}

/// S-36: if the required sandbox cannot be applied, that is an error before anything runs.
#[tokio::test]
async fn s36_without_a_launcher_nothing_runs() {
    let stage = Stage::new();
    let gone = LocalOptions { launcher: vec!["/nowhere/launcher".to_owned()], ..LocalOptions::default() };
    // A launcher that does not confine is detected by the probe, because it does not understand the
    // order.
    let liar = LocalOptions { launcher: vec!["sh".to_owned()], ..LocalOptions::default() };
    for options in [LocalOptions::default(), gone, liar] {
        let system = LocalSystem::with_options(options);
        assert!(!system.sandbox_support().await.applies());
        let mut command = Command::shell("echo x > ran", stage.project.clone(), OUTPUT);
        command.confinement = Confinement::Required(stage.sandbox.clone());
        assert!(matches!(system.spawn(command).await.err(), Some(SystemError::NoSandbox(_))));
    }
    assert!(fs::metadata(stage.project.join("ran").as_std()).is_err());
}

/// Prints the cost for the decision record. The bound is generous, for a busy machine.
#[tokio::test]
async fn the_sandbox_starts_within_milliseconds() {
    let stage = Stage::new();
    if !stage.support().await.applies() {
        return assert_eq!(stage.run("true").await, None);
    }
    let mut confined = Vec::new();
    let mut plain = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        stage.run("true").await;
        confined.push(start.elapsed());
        let start = Instant::now();
        let command = Command::shell("true", stage.project.clone(), OUTPUT);
        stage.local.spawn(command).await.unwrap().wait().await.unwrap();
        plain.push(start.elapsed());
    }
    confined.sort_unstable();
    plain.sort_unstable();
    println!("median start: confined {:?}, plain {:?}", confined[10], plain[10]);
    assert!(confined[10] < plain[10] + std::time::Duration::from_millis(250));
}
