//! Generated sequences of what commands and the user do in a project, and what must hold after each
//! of them.
//!
//! A command tries to make programs outside of the room run or obey a text of its own, and to print
//! a secret. Whatever the order, the spelling of a path and the moment, no such text may arrive,
//! and no edit of the user may be lost. `TILLER_GENERATED_CASES` sets the number of sequences.

use crate::folders::{outside, project, read};
use crate::sandbox::Stage;
use proptest::prelude::*;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use system::{AbsPath, LocalOptions, LocalSystem};
use tempfile::TempDir;

/// Number of sequences where the environment does not say it.
const CASES: u32 = 30;

/// A text that only commands write. It stands in everything that they try to have obeyed.
const EVIL: &str = "EVIL";

/// Parts of the sequences, by their names in `tests/wall/generated.toml`.
static PARTS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../tests/wall/generated.toml"))
        .expect("the parts are lists of texts")
});

/// Returns the parts with a name.
fn parts(name: &str) -> &'static [String] {
    &PARTS[name]
}

/// Returns one of the parts with a name.
fn part(name: &str) -> impl Strategy<Value = &'static str> {
    prop::sample::select(parts(name).iter().map(String::as_str).collect::<Vec<&'static str>>())
}

/// Creates the project's commit.
const COMMITTED: &str = r#"
chmod +x run hooks/* script.text && echo x > tracked && mkdir .githooks tools
printf '[core]\n\thooksPath = .githooks\n' > .gitsettings && git config core.hooksPath .githooks
for hook in .githooks/pre-commit tools/pre-push; do printf '#!/bin/sh\ntrue\n' > $hook; chmod +x $hook; done
git add tracked .githooks .gitsettings tools && git commit -qm t
"#;

#[derive(Debug, Clone)]
enum Step {
    /// A command that the session waits for.
    Command(String),
    /// The same in another session.
    OfOther(String),
    /// A command that runs beside the next step.
    Beside(String),
    User(&'static str),
}

fn line() -> impl Strategy<Value = String> {
    let place = prop_oneof![3 => part("obeyed"), 2 => part("of_git")];
    let write = (part("writes"), place).prop_map(|(way, file)| {
        let (dir, name) = file.rsplit_once('/').unwrap_or((".", file));
        let text = match name {
            "config" | "config.worktree" | ".gitsettings" => "config.text",
            _ => "script.text",
        };
        let line = way.replace("{file}", file).replace("{dir}", dir);
        line.replace("{name}", name).replace("{text}", text)
    });
    let other = part("others").prop_map(str::to_owned);
    let read = (part("reads"), part("secrets")).prop_map(|(way, secret)| way.replace("{file}", secret));
    let one = prop_oneof![4 => write, 3 => other, 1 => read];
    prop::collection::vec(one, 1..4).prop_map(|lines| lines.join("\n"))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => line().prop_map(Step::Command),
        1 => line().prop_map(Step::OfOther),
        1 => line().prop_map(Step::Beside),
        2 => part("of_user").prop_map(Step::User),
    ];
    prop::collection::vec(step, 1..6)
}

/// A project with programs and texts of commands, and a place that only the user's programs write.
struct World {
    stage: Stage,
    own: TempDir,
    other: LocalSystem,
    mark: PathBuf,
    home: Vec<(PathBuf, Vec<u8>)>,
    names_files: bool,
    /// The obeyed directories that exist before the first command.
    standing: Vec<&'static str>,
}

impl World {
    async fn new(names_files: bool) -> Option<Self> {
        let (mut stage, own) = project().await?;
        stage.sandbox.protected.guarded.push(stage.project.join(".git/config"));
        let mark = stage.home.join("../mark").as_std().to_owned();
        let run = format!("#!/bin/sh\ntouch {}\n", mark.display());
        let at = |name: &str| stage.project.join(name);
        fs::create_dir_all(at("hooks").as_std()).unwrap();
        let settings = format!(
            "[core]\n\tfsmonitor = {0}/run\n\thooksPath = {0}/hooks\n[alias]\n\tst = !{0}/run\n# {EVIL}\n",
            stage.project
        );
        for (name, text) in [
            ("run", run.as_str()),
            ("hooks/pre-commit", &run),
            ("hooks/post-checkout", &run),
            ("script.text", &format!("{run}# {EVIL}\n")),
            ("config.text", &settings),
        ] {
            fs::write(at(name).as_std(), text).unwrap();
        }
        assert!(outside(&stage, COMMITTED).await);
        if names_files {
            assert!(outside(&stage, &parts("naming")[0]).await);
        }
        for secret in parts("secrets").iter().filter_map(|secret| secret.strip_prefix("$HOME/")) {
            let path = stage.home.join(secret);
            fs::create_dir_all(path.as_std().parent().unwrap()).unwrap();
            fs::write(path.as_std(), "CANARY\n").unwrap();
        }
        let launcher = vec![env!("CARGO_BIN_EXE_sandbox-exec").to_owned()];
        let other = LocalSystem::with_options(LocalOptions { launcher, ..LocalOptions::default() });
        let home = files(stage.home.as_std());
        let tops = parts("obeyed").iter().filter_map(|place| place.split_once('/'));
        let standing =
            tops.map(|(top, _)| top).filter(|top| stage.project.join(top).as_std().is_dir()).collect();
        Some(Self { stage, own, other, mark, home, names_files, standing })
    }

    /// Runs a line in the other session.
    async fn run_in_other(&self, line: &str) -> String {
        let mut sandbox = self.stage.sandbox.clone();
        let top = AbsPath::from_os(self.own.path()).unwrap();
        sandbox.view.temp = Some(top.join("other/tmp"));
        sandbox.view.copies = Some(top.join("other/copies"));
        self.stage.run_as(&self.other, sandbox, line).await.unwrap().0
    }

    /// Returns what does not hold.
    async fn violation(
        &self,
        outputs: &[String],
        edits: &[(&str, String)],
        is_beside: bool,
    ) -> Option<String> {
        // A new git directory, and new files in one, are disabled some milliseconds later, at the
        // latest when their command has ended.
        let looks = &parts("looks")[0];
        let looks = match is_beside {
            true => looks.replace("{}", "printf '.\\0'"),
            false => looks.replace("{}", &parts("repositories")[0]) + &parts("commits")[0],
        };
        assert!(outside(&self.stage, &format!("{looks}\ntrue")).await);
        if self.mark.exists() {
            return Some("a program of a command ran outside of the sandbox".to_owned());
        }
        // A single file is put back when the commands that may have changed it have ended. A
        // missing directory is effective from when it appears until it is renamed, some
        // milliseconds later.
        let is_obeyed = |place: &String| self.names_files || !parts("named").contains(place);
        let obeyed = parts("obeyed").iter().filter(|place| is_obeyed(place));
        let top = |place: &'static str| place.split('/').next().unwrap_or(place);
        for top in obeyed.map(|place| top(place)).filter(|top| !is_beside || self.standing.contains(top)) {
            for (path, bytes) in files(self.stage.project.join(top).as_std()) {
                let is_aside = path.to_string_lossy().contains(".not-trusted");
                if !is_aside && String::from_utf8_lossy(&bytes).contains(EVIL) {
                    return Some(format!("{} is of a command", path.display()));
                }
            }
        }
        if let Some(output) = outputs.iter().find(|output| output.contains("CANARY")) {
            return Some(format!("a secret was printed: {output}"));
        }
        if files(self.stage.home.as_std()) != self.home {
            return Some("the home directory has changed".to_owned());
        }
        for (path, text) in edits {
            if read(&self.stage, path).as_deref() != Some(text) {
                return Some(format!("{path} is not what the user wrote: {:?}", read(&self.stage, path)));
            }
        }
        None
    }
}

/// Returns each file below a path, with its content. Links are followed once.
fn files(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(path) else {
        return fs::read(path).map(|bytes| (path.to_owned(), bytes)).into_iter().collect();
    };
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    entries
        .iter()
        .flat_map(|path| match is_link(path) && path.is_dir() {
            true => Vec::new(),
            false => files(path),
        })
        .collect()
}

/// Runs the steps; returns what did not hold, and after which step.
async fn play(steps: &[Step]) -> Option<String> {
    let is_alone = !steps.iter().any(|step| matches!(step, Step::Beside(_)));
    let world = Arc::new(World::new(is_alone).await?);
    let mut beside = None;
    let mut edits: Vec<(&str, String)> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let mut outputs = Vec::new();
        match step {
            Step::Command(line) => outputs.push(world.stage.run(line).await.unwrap().0),
            Step::OfOther(line) => outputs.push(world.run_in_other(line).await),
            Step::Beside(line) => {
                let (world, line) = (Arc::clone(&world), line.clone());
                let task = tokio::spawn(async move { world.stage.run(&line).await.unwrap().0 });
                if let Some(before) = beside.replace(task) {
                    outputs.push(before.await.unwrap());
                }
            }
            Step::User(which) => {
                let text = format!("user{at}");
                let line = which.replace("{text}", &text);
                outside(&world.stage, &line).await;
                let file = [".vscode/settings.json", ".envrc"].into_iter().find(|file| line.ends_with(file));
                if let Some(file) = file.filter(|_| line.contains("echo")) {
                    edits.retain(|(known, _)| *known != file);
                    edits.push((file, format!("{text}\n")));
                }
            }
        }
        // A command may check out another version. The user's is not lost then, git keeps it.
        if beside.is_some() || format!("{step:?}").contains("git ") {
            edits.clear();
        }
        if let Some(wrong) = world.violation(&outputs, &edits, beside.is_some()).await {
            return Some(format!("after step {at}: {wrong}"));
        }
    }
    let outputs = match beside {
        Some(task) => vec![task.await.unwrap()],
        None => Vec::new(),
    };
    if let Some(wrong) = world.violation(&outputs, &[], false).await {
        return Some(format!("after a command beside: {wrong}"));
    }
    None
}

#[test]
fn nothing_of_a_command_is_obeyed_outside() {
    let cases = std::env::var("TILLER_GENERATED_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = ProptestConfig {
        cases: cases.unwrap_or(CASES),
        max_shrink_iters: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    proptest!(config, |(steps in steps())| {
        let wrong = runtime.block_on(play(&steps));
        prop_assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    });
}

#[tokio::test]
async fn a_hook_whose_file_a_branch_lacks_is_judged() {
    let Some(world) = World::new(true).await else { return };
    let hook = world.stage.project.join(".git/hooks/pre-push");
    let restored = "git switch -q -; mkdir -p tools; git checkout -q tools";
    for line in [
        "mkdir -p tools; cat script.text > tools/pre-push",
        "mkdir x; cp script.text x/pre-push; ln -s x tools",
    ] {
        outside(&world.stage, "git switch -q other; rm -rf tools").await;
        let (output, _) = world.stage.run(line).await.unwrap();
        assert!(fs::read_to_string(hook.as_std()).is_err(), "{line}: {output}");
        outside(&world.stage, restored).await;
    }
}
