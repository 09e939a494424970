//! Remote repositories of a project: real git in a room, a host with a password, and an `ssh` of
//! the test.

use crate::backend::{self, NAME};
use crate::stage::Stage;
use egress::GitAccess;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use system::{AbsPath, Command, LocalSystem, Output, System};
use tempfile::TempDir;

/// Stands in for `ssh`: notes its words and runs the command that is meant for the host.
const SSH: &str = "#!/bin/sh\necho \"$@\" >> \"$0.log\"\nfor last; do :; done\n[ \"$last\" = deny ] && exit 1\n\
                   echo \"$GIT_PROTOCOL\" >> \"$0.log\"\nexec sh -c \"$last\"\n";

/// The user's settings: where git finds the password.
const SETTINGS: &str = "[credential]\n\thelper = \"!f() { test $1 = get && cat >> $HOME/asked && echo username=me && echo password=secret; }; f\"\n[user]\n\tname = A\n\temail = a@b\n[init]\n\tdefaultBranch = main\n";

struct GitStage {
    stage: Stage,
    world: TempDir,
}

/// Stands in for `gpg`: its signature is the number of bytes that it was given.
const GPG: &str = "#!/bin/sh\n[ \"$1 $2\" = '--status-fd=2 -bsau' ] || exit 3\nprintf '%s' \"$3\" > \"$0.key\"\n\
                   printf -- '-----BEGIN PGP SIGNATURE-----\\n%s\\n-----END PGP SIGNATURE-----\\n' $(wc -c)\n";

impl GitStage {
    /// Creates a room with a clone of the repository `private.git`, whose remotes are `web`, `ssh`
    /// and `public`; `None` if this machine has no rooms.
    async fn new() -> Option<Self> {
        let world = tempfile::tempdir_in("/var/tmp").unwrap();
        let at = |name: &str| world.path().join(name);
        let home = at("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join(".gitconfig"), SETTINGS).unwrap();
        let (ssh, gpg) = (at("ssh"), at("gpg"));
        for (path, script) in [(&ssh, SSH), (&gpg, GPG)] {
            std::fs::write(path, script).unwrap();
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let (address, tls) = backend::serve(at("host")).await;
        let variables = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", home.to_str().unwrap().to_owned()),
            ("GIT_SSH_COMMAND", ssh.to_str().unwrap().to_owned()),
            ("GIT_DIR", "/nowhere".to_owned()),
            ("GPG_TTY", "/dev/tty".to_owned()),
        ];
        let access = GitAccess {
            tls: Box::new(move || Ok(tls.clone())),
            system: Arc::new(LocalSystem::new()),
            variables: variables.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        };
        let stage = Stage::with_host(address, Arc::default(), Some(access)).await?;
        let new = Self { stage, world };
        for name in ["private.git", "other.git", "public.git"] {
            let bare = new.host(name);
            new.outside(&["init", "-q", "--bare", bare.to_str().unwrap()], "/").await;
            new.outside(&["config", "http.receivepack", "true"], bare.to_str().unwrap()).await;
        }
        let project = new.stage.project().as_str().to_owned();
        new.outside(&["init", "-q"], &project).await;
        new.outside(&["commit", "-q", "--allow-empty", "-m", "one"], &project).await;
        let bare = new.host("private.git").to_str().unwrap().to_owned();
        for name in ["private.git", "other.git", "public.git"] {
            new.outside(&["push", "-q", new.host(name).to_str().unwrap(), "HEAD:refs/heads/main"], &project)
                .await;
        }
        for (remote, url) in [
            ("web", format!("https://{NAME}/private.git")),
            ("ssh", format!("me@{NAME}:{bare}")),
            ("public", format!("https://{NAME}/public.git")),
            ("moved", format!("https://{NAME}/moved.git")),
        ] {
            new.outside(&["remote", "add", remote, &url], &project).await;
        }
        Some(new)
    }

    fn host(&self, name: &str) -> PathBuf {
        self.world.path().join("host").join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.world.path().join(name)).unwrap_or_default()
    }

    /// Runs git outside of the room.
    async fn outside(&self, words: &[&str], directory: &str) -> String {
        let home = path(&self.world.path().join("home")).to_owned();
        run("git", words, directory, home).await.unwrap()
    }

    async fn branches(&self, name: &str) -> String {
        self.outside(&["for-each-ref", "--format=%(refname:short)"], path(&self.host(name))).await
    }
}

/// Runs a program outside of the room. Returns what it prints; as an error if it fails.
async fn run(program: &str, words: &[&str], directory: &str, home: String) -> Result<String, String> {
    let args = words.iter().map(|word| (*word).to_owned()).collect();
    let mut command = Command::new(program, args, AbsPath::new(directory).unwrap(), 1 << 16);
    command.env = vec![("HOME".to_owned(), home)];
    let mut process = LocalSystem::new().spawn(command).await.map_err(|error| error.to_string())?;
    let mut text = String::new();
    while let Some(output) = process.next_output().await {
        if let Output::Text(more) = output {
            text.push_str(&more);
        }
    }
    let text = text.trim().to_owned();
    if process.wait().await.unwrap().success() { Ok(text) } else { Err(format!("{words:?}: {text}")) }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_repository_is_fetched_and_pushed() {
    let Some(git) = GitStage::new().await else { return };
    for (remote, subject) in [("web", "one\n"), ("ssh", "two\n")] {
        let line = format!("git fetch -q {remote} && git log -1 --format=%s {remote}/main");
        assert_eq!(git.stage.run(&line).await, Ok(subject.to_owned()), "{remote} {:?}", git.stage.refused());
        // A credential is asked about before it is used, and one for a push by the push.
        assert!(git.stage.reached().contains(&format!("{remote} true")), "{remote}");
        let line = format!(
            "git -c user.name=A -c user.email=a@b commit -q --allow-empty -m two && git push -q {remote} HEAD:{remote}-new HEAD:main"
        );
        assert_eq!(git.stage.run(&line).await, Ok(String::new()), "{remote} {:?}", git.stage.refused());
        let pushes = git.stage.pushes();
        let names: Vec<_> = pushes[0].changes.iter().map(|change| change.name.clone()).collect();
        assert_eq!((pushes.len(), pushes[0].to.name.as_str()), (1, remote));
        assert_eq!(names, ["refs/heads/main".to_owned(), format!("refs/heads/{remote}-new")]);
        assert!(pushes[0].changes[0].old.is_some() && pushes[0].changes[1].old.is_none());
        assert_eq!(pushes[0].to.directories, [git.stage.project().join(".git")]);
        assert!(git.branches("private.git").await.contains(&format!("{remote}-new")));
    }
    let log = git.read("ssh.log");
    assert!(
        log.contains(&format!("-o BatchMode=yes -o SendEnv=GIT_PROTOCOL me@{NAME} git-upload-pack")),
        "{log}"
    );
    assert!(log.contains("version=2") && log.contains("git-receive-pack"), "{log}");
    // A host that moves a repository is followed.
    git.stage.run("git ls-remote moved").await.unwrap();
    // The command has seen neither the password nor the key.
    let env = git.stage.run("env; cat ~/.gitconfig .git/config 2>&1 || true").await.unwrap();
    assert!(!env.contains("secret") && !env.contains("GIT_SSH"), "{env}");
    assert!(git.read("home/asked").contains("host=git.ok.test"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_push_changes_nothing() {
    let Some(git) = GitStage::new().await else { return };
    for remote in ["web", "ssh"] {
        let before = git.branches("private.git").await;
        let error = git.stage.run(&format!("git push {remote} HEAD:bad HEAD:good 2>&1")).await.unwrap_err();
        assert!(error.contains("the test says no"), "{error}");
        assert_eq!(git.branches("private.git").await, before);
        assert!(git.stage.refused().iter().any(|refused| refused.contains("the test says no")));
        let nothing = git.stage.run(&format!("git push {remote} HEAD:main 2>&1")).await;
        assert_eq!(nothing, Ok("Everything up-to-date\n".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_pushes_and_fetches_pass_whole() {
    let Some(git) = GitStage::new().await else { return };
    let commit = "head -c 3000000 /dev/urandom > big && git add big && git -c user.name=A -c user.email=a@b commit -qm big";
    git.stage.run(commit).await.unwrap();
    for remote in ["web", "ssh"] {
        let line = format!("git push -q {remote} HEAD:big-{remote} 2>&1");
        assert_eq!(git.stage.run(&line).await, Ok(String::new()));
        let url = git.stage.run(&format!("git remote get-url {remote}")).await.unwrap();
        let line =
            format!("git clone -q -b big-{remote} {} c-{remote} && cmp big c-{remote}/big", url.trim());
        assert_eq!(git.stage.run(&line).await, Ok(String::new()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_repositories_get_no_credential() {
    let Some(git) = GitStage::new().await else { return };
    git.stage.run("git fetch -q web").await.unwrap();
    let other = git.host("other.git").to_str().unwrap().to_owned();
    for (line, reason) in [
        ("git ls-remote http://git.tiller/git.ok.test/other.git".to_owned(), "needs a password"),
        ("git ls-remote http://git.tiller/git.ok.test/private.git/../other.git".to_owned(), "needs a password"),
        ("git push http://git.tiller/git.ok.test/other.git HEAD:x".to_owned(), "no remote that the project had"),
        ("git push http://git.tiller/git.ok.test/public2.git HEAD:x".to_owned(), "no remote"),
        (format!("git ls-remote git://git.tiller:22/me@{NAME}/{other}"), "no remote that the project had"),
        ("curl -sSf http://git.tiller/git.ok.test/private.git/HEAD".to_owned(), "403"),
        ("curl -sSf -X DELETE http://git.tiller/git.ok.test/private.git".to_owned(), "403"),
        ("curl -sSf 'http://git.tiller/git.ok.test/private.git/info/refs?service=git-upload-pack' -H 'Host: x'".to_owned(), "403"),
        ("curl -sSf http://git.tiller/evil.test/x/info/refs?service=git-upload-pack".to_owned(), "403"),
        ("git remote add later https://git.ok.test/other.git; git ls-remote later".to_owned(), ""),
    ] {
        let error = git.stage.run(&format!("({line}) 2>&1")).await.expect_err(&line);
        assert!(error.contains(reason), "{line}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
    assert_eq!(git.stage.pushes(), []);
    // One that everybody can read can be read.
    git.stage.run("git ls-remote http://git.tiller/git.ok.test/public.git").await.unwrap();
    assert!(!git.read("home/asked").contains("other"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_cannot_be_read_is_refused() {
    let Some(git) = GitStage::new().await else { return };
    let url = "http://git.tiller/git.ok.test/private.git/git-receive-pack";
    for (line, reason) in [
        (format!("printf 0003 | curl -sS --data-binary @- {url}"), "not git's protocol"),
        (format!("printf x | curl -sS -H 'Content-Encoding: gzip' --data-binary @- {url}"), "compressed"),
        (format!("printf 00 | curl -sS --data-binary @- {url}"), "ended early"),
        (
            "curl -sS -d '{\"operation\":\"upload\"}' http://git.tiller/git.ok.test/other.git/info/lfs/objects/batch"
                .to_owned(),
            "are uploaded by Git LFS",
        ),
    ] {
        let said = git.stage.run(&line).await.unwrap();
        assert!(said.contains(reason), "{line}: {said}");
    }
    assert_eq!(git.stage.pushes(), []);
    let batch = "git fetch -q web; curl -sSf -d '{\"operation\":\"upload\"}' http://git.tiller/git.ok.test/private.git/info/lfs/objects/batch";
    assert_eq!(git.stage.run(batch).await, Ok("{\"objects\":[]}".to_owned()));
    assert_eq!(git.stage.pushes()[0].changes, []);
}

/// Words for `git` by which a commit has an author.
const AUTHOR: &str = "-c user.name=A -c user.email=a@b";

#[tokio::test(flavor = "multi_thread")]
async fn commits_are_signed_outside_of_the_room() {
    let Some(git) = GitStage::new().await else { return };
    let gpg = git.world.path().join("gpg");
    git.outside(&["config", "--global", "gpg.program", path(&gpg)], "/").await;
    let line = format!("git {AUTHOR} commit -q --allow-empty -S -m signed 2>&1 && git cat-file -p HEAD");
    let commit = git.stage.run(&line).await.unwrap();
    assert!(commit.contains("gpgsig -----BEGIN PGP SIGNATURE-----"), "{commit}");
    assert_eq!(git.read("gpg.key"), "A <a@b>");
    let line = format!("git {AUTHOR} -c user.signingKey=ABC tag -s v1 -m tagged 2>&1 && git cat-file -p v1");
    let tag = git.stage.run(&line).await.unwrap();
    assert!(tag.contains("-----BEGIN PGP SIGNATURE-----"), "{tag}");
    assert_eq!(git.read("gpg.key"), "ABC");
    let line = format!("git {AUTHOR} commit -q --allow-empty -S -m bad 2>&1");
    let refused = git.stage.run(&line).await.unwrap_err();
    assert!(refused.contains("sandbox: the test says no"), "{refused}");
    // What is no commit is not signed, whatever asks.
    let line = "printf 'any text' | /run/git-signing/gpg --status-fd=2 -bsau ABC 2>&1";
    let refused = git.stage.run(line).await.unwrap_err();
    assert!(refused.contains("only commits and tags are signed"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_ssh_sign_too() {
    let Some(git) = GitStage::new().await else { return };
    let home = git.world.path().join("home");
    let made = home.join("key");
    let words = ["-q", "-t", "ed25519", "-N", "", "-f", path(&made)];
    let made = run("ssh-keygen", &words, "/", path(&home).to_owned()).await;
    // Not every machine has it.
    if made.is_err() {
        return;
    }
    let key = home.join("key.pub");
    git.outside(&["config", "--global", "user.signingKey", path(&key)], "/").await;
    let sign = |key: &str, message: &str| {
        format!(
            "git {AUTHOR} -c gpg.format=ssh -c user.signingKey={key} commit -q --allow-empty -S -m {message} 2>&1"
        )
    };
    git.stage.run(&sign(path(&key), "signed")).await.unwrap();
    let project = git.stage.project().as_str().to_owned();
    let commit = git.outside(&["cat-file", "-p", "HEAD"], &project).await;
    assert!(commit.contains("gpgsig -----BEGIN SSH SIGNATURE-----"), "{commit}");
    let signers = home.join("signers");
    let text = format!("a@b {}", std::fs::read_to_string(&key).unwrap());
    std::fs::write(&signers, text).unwrap();
    let allowed = format!("gpg.ssh.allowedSignersFile={}", path(&signers));
    git.outside(&["-c", &allowed, "verify-commit", "HEAD"], &project).await;
    let refused = git.stage.run(&sign("/etc/shadow", "signed")).await.unwrap_err();
    assert!(refused.contains("is not the user's user.signingKey"), "{refused}");
}
