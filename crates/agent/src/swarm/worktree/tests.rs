//! Worktrees of real repositories.

#![expect(clippy::disallowed_methods, reason = "directories of the tests' own, in which a real git runs")]

use super::*;
use system::{Confinement, LocalSystem};

/// A repository with one commit, in a directory of its own that is removed in the end.
struct Repository {
    system: Arc<dyn System>,
    folder: AbsPath,
}

impl Repository {
    async fn new() -> Self {
        let system: Arc<dyn System> = Arc::new(LocalSystem::new());
        let name = format!("tiller-worktree-{}", uuid::Uuid::now_v7());
        let temp = std::env::temp_dir().join(name).join("project");
        let folder = AbsPath::new(temp.to_str().unwrap()).unwrap();
        system.create_dir_all(&folder).await.unwrap();
        let repository = Self { system, folder };
        repository.git(&["init", "--quiet", "--initial-branch=main"]).await;
        repository.write("a.txt", "one\n").await;
        repository.git(&["add", "a.txt"]).await;
        repository.git(&["commit", "--quiet", "-m", "first"]).await;
        repository
    }

    async fn git(&self, args: &[&str]) -> String {
        Git { system: self.system.clone(), cwd: self.folder.clone() }.run(args).await.unwrap()
    }

    /// Runs git as a user would, with what the repository names; returns whether it succeeded.
    async fn plain_git(&self, args: &[&str]) -> bool {
        let command = PipedCommand {
            program: "git".to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            cwd: self.folder.clone(),
            inherit: INHERITED.map(str::to_owned).to_vec(),
            env: Vec::new(),
            error_limit: GIT_OUTPUT_BYTES,
            confinement: Confinement::Lifted,
            apart_from: Vec::new(),
        };
        let mut git = self.system.spawn_piped(command).await.unwrap();
        drop((git.input, git.output));
        while git.process.next_output().await.is_some() {}
        git.process.wait().await.unwrap().success()
    }

    async fn write(&self, name: &str, text: &str) {
        self.system.write(&self.folder.join(name), text.as_bytes()).await.unwrap();
    }

    async fn create(&self, known: Option<&SubagentWorktree>) -> Result<SubagentWorktree, String> {
        create(&self.system, &self.programs(), &"0199f0c4-1234".into(), "worker", known).await
    }

    fn programs(&self) -> ProjectPrograms {
        ProjectPrograms::unconfined(self.folder.clone())
    }

    async fn exists(&self, path: &AbsPath) -> bool {
        self.system.metadata(path).await.is_ok()
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let above = self.folder.parent().unwrap();
        // A directory that stays is no reason to fail.
        let _ = std::fs::remove_dir_all(above.as_str());
    }
}

#[tokio::test]
async fn work_in_a_worktree_comes_back_as_a_branch_and_the_project_is_untouched() {
    let repository = Repository::new().await;
    let worktree = repository.create(None).await.unwrap();
    assert_eq!(worktree.branch, "tiller/worker-f0c41234");
    let system = &repository.system;
    system.write(&worktree.folder.join("a.txt"), b"one\ntwo\n").await.unwrap();
    system.write(&worktree.folder.join("new.txt"), b"new\n").await.unwrap();
    let text = hand_back(system, &repository.programs(), &worktree).await;
    assert!(text.contains("Its changes are on branch tiller/worker-f0c41234"), "{text}");
    assert!(text.contains("a.txt") && text.contains("new.txt"), "{text}");
    assert!(!repository.exists(&worktree.folder).await, "the worktree is removed");
    assert!(!repository.exists(&repository.folder.join("new.txt")).await, "nothing is merged");
    repository.git(&["merge", "--quiet", &worktree.branch]).await;
    let merged = system.read_text(&repository.folder.join("a.txt"), None).await.unwrap();
    assert_eq!(merged, "one\ntwo\n");
}

#[tokio::test]
async fn a_resumed_agent_has_its_worktree_again() {
    let repository = Repository::new().await;
    let worktree = repository.create(None).await.unwrap();
    repository.system.write(&worktree.folder.join("new.txt"), b"new\n").await.unwrap();
    hand_back(&repository.system, &repository.programs(), &worktree).await;
    assert_eq!(repository.create(Some(&worktree)).await.as_ref(), Ok(&worktree));
    assert!(repository.exists(&worktree.folder.join("new.txt")).await);
}

#[tokio::test]
async fn a_worktree_without_changes_leaves_nothing_behind() {
    let repository = Repository::new().await;
    let worktree = repository.create(None).await.unwrap();
    assert_eq!(
        hand_back(&repository.system, &repository.programs(), &worktree).await,
        "It changed no file in its worktree."
    );
    assert_eq!(repository.git(&["branch", "--list", "tiller/*"]).await, "");
    assert!(!repository.exists(&worktree.folder.parent().unwrap()).await, "nor an empty folder");
    assert_eq!(repository.create(Some(&worktree)).await.as_ref(), Ok(&worktree), "it can go on");
}

#[tokio::test]
async fn the_folder_of_worktrees_goes_with_the_last() {
    let repository = Repository::new().await;
    let first = repository.create(None).await.unwrap();
    let system = &repository.system;
    let second =
        create(system, &repository.programs(), &"0199f0c4-5678".into(), "other", None).await.unwrap();
    let all = first.folder.parent().unwrap();
    system.write(&second.folder.join("new.txt"), b"new\n").await.unwrap();
    hand_back(system, &repository.programs(), &first).await;
    assert!(repository.exists(&second.folder.join("new.txt")).await, "one is left in it");
    hand_back(system, &repository.programs(), &second).await;
    assert!(!repository.exists(&all).await);
}

#[tokio::test]
async fn a_repository_runs_no_program_when_a_worktree_is_made() {
    let repository = Repository::new().await;
    let ran = repository.folder.join("ran");
    let hook = format!("#!/bin/sh\ntouch '{ran}'\n");
    let hooks = repository.folder.join(".git/hooks");
    for name in ["post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change"] {
        repository.system.write(&hooks.join(name), hook.as_bytes()).await.unwrap();
        std::fs::set_permissions(
            hooks.join(name).as_str(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    }
    repository.git(&["config", "core.fsmonitor", &format!("touch '{ran}'")]).await;
    let worktree = repository.create(None).await.unwrap();
    repository.system.write(&worktree.folder.join("new.txt"), b"new\n").await.unwrap();
    hand_back(&repository.system, &repository.programs(), &worktree).await;
    assert!(!repository.exists(&ran).await);
    repository.git(&["config", "extensions.worktreeConfig", "true"]).await;
    for place in ["--worktree", "--local"] {
        repository.git(&["config", place, "filter.x.smudge", &format!("touch '{ran}'")]).await;
        let error = repository.create(None).await.unwrap_err();
        assert!(error.contains("names a filter (filter.x.smudge)"), "{place}: {error}");
        repository.git(&["config", place, "--unset", "filter.x.smudge"]).await;
    }
    // A configuration that is too long to be read hides nothing.
    let many = "[many]\n".to_owned() + &"name = value\n".repeat(20_000);
    repository.system.write(&repository.folder.join("long"), many.as_bytes()).await.unwrap();
    repository.git(&["config", "include.path", "../long"]).await;
    let error = repository.create(None).await.unwrap_err();
    assert!(error.contains("wrote more than"), "{error}");
    assert!(!repository.exists(&ran).await);
}

/// Commits a file whose content is then missing, as in a partial clone; the promised remote is a
/// program that leaves a mark when it runs.
async fn with_missing_content(repository: &Repository, mark: &AbsPath) {
    repository.write("b.txt", "only at the remote\n").await;
    repository.git(&["add", "b.txt"]).await;
    repository.git(&["commit", "--quiet", "-m", "second"]).await;
    let object = repository.git(&["rev-parse", "HEAD:b.txt"]).await;
    let (folder, file) = object.trim_end().split_at(2);
    let path = repository.folder.join(".git/objects").join(folder).join(file);
    std::fs::remove_file(path.as_str()).unwrap();
    for (name, value) in [
        ("remote.origin.url", format!("ext::sh -c touch% {mark}")),
        ("remote.origin.promisor", "true".to_owned()),
        ("extensions.partialClone", "origin".to_owned()),
        ("core.repositoryFormatVersion", "1".to_owned()),
        // The repository itself permits every transport.
        ("protocol.allow", "always".to_owned()),
        ("protocol.ext.allow", "always".to_owned()),
    ] {
        repository.git(&["config", name, &value]).await;
    }
}

#[tokio::test]
async fn missing_content_is_not_fetched_by_a_program_of_the_repository() {
    let repository = Repository::new().await;
    let ran = repository.folder.join("ran");
    with_missing_content(&repository, &ran).await;
    let error = repository.create(None).await.unwrap_err();
    assert!(error.contains("git worktree failed"), "{error}");
    assert!(!repository.exists(&ran).await, "no transport ran");
    // The same command as a user would run it does start the program.
    assert!(!repository.plain_git(&["worktree", "add", "--detach", "../plain"]).await);
    assert!(repository.exists(&ran).await);
}

#[tokio::test]
async fn every_transport_is_refused() {
    let repository = Repository::new().await;
    let ran = repository.folder.join("ran");
    repository.git(&["config", "protocol.allow", "always"]).await;
    let git = Git { system: repository.system.clone(), cwd: repository.folder.clone() };
    let of_program = format!("ext::sh -c touch% {ran}");
    for url in
        [of_program.as_str(), ".", "https://localhost:1/x", "ssh://localhost:1/x", "git://localhost:1/x"]
    {
        let error = git.run(&["fetch", url]).await.unwrap_err();
        assert!(error.contains("not allowed"), "{url}: {error}");
    }
    assert!(!repository.exists(&ran).await);
}

#[tokio::test]
async fn submodules_are_not_checked_out() {
    let (repository, module) = (Repository::new().await, Repository::new().await);
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", module.folder.as_str(), "module"];
    assert!(repository.plain_git(&add).await);
    repository.git(&["commit", "--quiet", "-m", "a submodule"]).await;
    repository.git(&["config", "submodule.recurse", "true"]).await;
    repository.git(&["config", "submodule.module.update", "checkout"]).await;
    let worktree = repository.create(None).await.unwrap();
    assert!(repository.exists(&worktree.folder.join("a.txt")).await);
    assert!(!repository.exists(&worktree.folder.join("module/a.txt")).await, "the submodule is empty");
    repository.system.write(&worktree.folder.join("new.txt"), b"new\n").await.unwrap();
    let text = hand_back(&repository.system, &repository.programs(), &worktree).await;
    assert!(text.contains("new.txt"), "{text}");
}

#[tokio::test]
async fn the_filters_of_a_repository_in_the_path_of_a_submodule_do_not_run() {
    let (repository, module) = (Repository::new().await, Repository::new().await);
    module.write(".gitattributes", "a.txt filter=x\n").await;
    module.git(&["add", ".gitattributes"]).await;
    module.git(&["commit", "--quiet", "-m", "a filter for a.txt"]).await;
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", module.folder.as_str(), "module"];
    assert!(repository.plain_git(&add).await);
    repository.git(&["commit", "--quiet", "-m", "a submodule"]).await;
    let worktree = repository.create(None).await.unwrap();
    let (path, ran) = (worktree.folder.join("module"), repository.folder.join("ran"));
    let clone = ["clone", "--quiet", module.folder.as_str(), path.as_str()];
    assert!(repository.plain_git(&clone).await);
    let inside = Git { system: repository.system.clone(), cwd: path.clone() };
    inside.run(&["config", "filter.x.clean", &format!("touch '{ran}'; cat")]).await.unwrap();
    repository.system.write(&path.join("a.txt"), b"ONE\n").await.unwrap();
    let text = hand_back(&repository.system, &repository.programs(), &worktree).await;
    assert!(text.contains("the submodule module holds a repository"), "{text}");
    assert!(!repository.exists(&ran).await, "no filter ran");
    assert!(repository.exists(&worktree.folder).await, "its work is still there");
    // The command that is left out does run it.
    let plain = Git { system: repository.system.clone(), cwd: worktree.folder.clone() };
    plain.run(&["add", "--all"]).await.unwrap();
    assert!(repository.exists(&ran).await);
}

#[tokio::test]
async fn a_worktree_that_git_does_not_remove_stays_and_the_branch_has_its_work() {
    let repository = Repository::new().await;
    let worktree = repository.create(None).await.unwrap();
    let nested = worktree.folder.join("nested");
    let clone = ["clone", "--quiet", repository.folder.as_str(), nested.as_str()];
    assert!(repository.plain_git(&clone).await);
    repository.system.write(&worktree.folder.join("new.txt"), b"new\n").await.unwrap();
    let text = hand_back(&repository.system, &repository.programs(), &worktree).await;
    assert!(text.contains("Its changes are on branch") && text.contains("new.txt"), "{text}");
    assert!(text.contains(&format!("Its worktree {} stays", worktree.folder)), "{text}");
    assert!(repository.exists(&nested.join("a.txt")).await);
}

#[tokio::test]
async fn without_a_repository_or_a_commit_the_reason_is_clear() {
    let repository = Repository::new().await;
    let outside = repository.folder.parent().unwrap();
    let error =
        create(&repository.system, &ProjectPrograms::unconfined(outside.clone()), &"s".into(), "a", None)
            .await
            .unwrap_err();
    assert!(error.contains("needs a git repository"), "{error}");
}
