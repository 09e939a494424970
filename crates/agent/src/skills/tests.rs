//! Tests of finding skills and commands.

use super::*;
use crate::{CheckedItem, FolderTrust, TrustRecord, TrustRecords, limits::SKILLS};
use async_trait::async_trait;
use std::sync::{Arc, Mutex};
use system::{AbsPath, FakeSystem};

#[derive(Default)]
struct Records(Mutex<TrustRecord>);

#[async_trait]
impl TrustRecords for Records {
    async fn trusted(&self, _folder: &AbsPath) -> Result<TrustRecord, String> {
        Ok(self.0.lock().unwrap().clone())
    }
}

struct Stage {
    system: Arc<FakeSystem>,
    records: Arc<Records>,
    finder: SkillFinder,
}

fn path(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

impl Stage {
    fn new() -> Self {
        let system = Arc::new(FakeSystem::new());
        system.add_dir("/w");
        system.add_dir("/home/me");
        let records = Arc::new(Records::default());
        let finder = SkillFinder {
            system: system.clone(),
            user: Some(UserPlaces { config: path("/home/me/.config/tiller"), home: path("/home/me") }),
            trust: FolderTrust::new(system.clone(), records.clone()),
            project: path("/w"),
        };
        Self { system, records, finder }
    }

    fn skill(&self, directory: &str, about: &str) {
        let name = directory.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: {about}\n---\nBody of {about}\n");
        self.system.add_file(&format!("{directory}/SKILL.md"), text);
    }

    async fn trust_all(&self) -> Vec<CheckedItem> {
        let (items, problems) = project_skills(&self.finder).await;
        assert_eq!(problems, [""; 0]);
        let mut record = self.records.0.lock().unwrap();
        record.items.extend(items.iter().map(|judged| (judged.item.id(), judged.hash.clone().unwrap())));
        items
    }

    /// Returns the path and the state of each skill and command.
    async fn states(&self) -> Vec<(String, &'static str)> {
        let set = find_skills(&self.finder).await;
        let skills = set.skills.iter().map(|found| (found.path.to_string(), found.state.word()));
        let commands = set.commands.iter().map(|found| (found.path.to_string(), found.state.word()));
        skills.chain(commands).collect()
    }
}

fn states(all: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    all.iter().map(|(path, state)| ((*path).to_owned(), *state)).collect()
}

#[tokio::test]
async fn skills_of_the_user_are_found_in_all_places_and_the_first_of_a_name_is_used() {
    let stage = Stage::new();
    stage.skill("/home/me/.claude/skills/pdf", "from claude");
    stage.skill("/home/me/.agents/skills/pdf", "from agents");
    stage.skill("/home/me/.config/tiller/skills/notes", "notes");
    stage.system.add_file("/home/me/.agents/skills/README.md", "no skill");
    stage.system.add_dir("/home/me/.agents/skills/empty");
    stage.skill("/home/me/.agents/skills/.hidden", "hidden");
    let expected = [
        ("/home/me/.config/tiller/skills/notes", "used"),
        ("/home/me/.agents/skills/pdf", "used"),
        ("/home/me/.claude/skills/pdf", "hidden"),
    ];
    assert_eq!(stage.states().await, states(&expected));
    let set = find_skills(&stage.finder).await;
    let problem = set.skills[2].state.problem().unwrap();
    assert_eq!(problem, "hidden by /home/me/.agents/skills/pdf, which has the same name");
}

#[tokio::test]
async fn p13_a_skill_of_the_project_is_used_only_while_every_file_of_it_is_trusted() {
    let stage = Stage::new();
    stage.skill("/w/.claude/skills/a", "a");
    stage.system.add_file("/w/.claude/skills/a/scripts/run.sh", "good");
    stage.skill("/w/.tiller/skills/b", "b");
    let (a, b) = ("/w/.claude/skills/a", "/w/.tiller/skills/b");
    assert_eq!(stage.states().await, states(&[(b, "untrusted"), (a, "untrusted")]));
    let items = stage.trust_all().await;
    let ids: Vec<_> = items.iter().map(|judged| judged.item.id()).collect();
    assert_eq!(ids, ["skill:.tiller/skills/b/SKILL.md#b", "skill:.claude/skills/a/SKILL.md#a"]);
    assert_eq!(stage.states().await, states(&[(b, "used"), (a, "used")]));
    stage.system.add_file("/w/.claude/skills/a/scripts/run.sh", "evil");
    assert_eq!(stage.states().await, states(&[(b, "used"), (a, "changed")]));
    stage.system.add_file("/w/.claude/skills/a/scripts/run.sh", "good");
    stage.skill("/w/.claude/skills/a", "another text");
    assert_eq!(stage.states().await, states(&[(b, "used"), (a, "changed")]));
    let set = find_skills(&stage.finder).await;
    assert!(set.skills[1].content.is_none(), "its text is not used");
}

#[tokio::test]
async fn p13_a_skill_of_the_project_replaces_none_of_the_users() {
    let stage = Stage::new();
    stage.skill("/w/.agents/skills/pdf", "the project's");
    stage.skill("/home/me/.claude/skills/pdf", "the user's");
    stage.trust_all().await;
    let (users, projects) = ("/home/me/.claude/skills/pdf", "/w/.agents/skills/pdf");
    assert_eq!(stage.states().await, states(&[(users, "used"), (projects, "hidden")]));
}

#[tokio::test]
async fn a_skill_that_is_linked_from_another_place_is_one_skill() {
    let stage = Stage::new();
    stage.skill("/w/.agents/skills/a", "a");
    stage.system.add_dir("/w/.claude/skills");
    stage.system.add_link("/w/.claude/skills/a", "/w/.agents/skills/a");
    stage.trust_all().await;
    assert_eq!(stage.states().await, states(&[("/w/.agents/skills/a", "used")]));
    // The user's own links may lead anywhere.
    stage.skill("/home/me/dotfiles/skills/mine", "mine");
    stage.system.add_dir("/home/me/.claude");
    stage.system.add_link("/home/me/.claude/skills", "/home/me/dotfiles/skills");
    let set = find_skills(&stage.finder).await;
    assert_eq!(set.skills[0].name, "mine");
    assert_eq!(set.skills[0].content.as_ref().unwrap().directory, path("/home/me/dotfiles/skills/mine"));
}

#[tokio::test]
async fn p06_what_leads_out_of_the_project_or_of_a_skill_is_not_read() {
    let stage = Stage::new();
    stage.skill("/home/me/secret", "canary");
    stage.system.add_dir("/w/.claude/skills");
    stage.system.add_link("/w/.claude/skills/out", "/home/me/secret");
    stage.system.add_dir("/w/.tiller/skills/file");
    stage.system.add_link("/w/.tiller/skills/file/SKILL.md", "/home/me/secret/SKILL.md");
    stage.system.add_link("/w/.agents", "/home/me");
    stage.system.add_dir("/home/me/skills");
    let (items, problems) = project_skills(&stage.finder).await;
    assert_eq!(items, []);
    assert_eq!(problems.iter().filter(|why| why.contains("leads out")).count(), 3, "{problems:?}");
    assert!(!format!("{:?}", find_skills(&stage.finder).await).contains("canary"));
    // Even a recorded item is not read through such a link.
    let id = "skill:.claude/skills/out/SKILL.md#out".to_owned();
    stage.records.0.lock().unwrap().items.insert(id, "hash".to_owned());
    let set = find_skills(&stage.finder).await;
    assert!(!format!("{set:?}").contains("canary"), "{set:?}");
    assert!(set.skills.iter().any(|found| found.state.word() == "invalid"), "{set:?}");
    // A file of the user's skill that is a link out of it.
    stage.system.add_dir("/home/me/.claude/skills/linked");
    stage.system.add_link("/home/me/.claude/skills/linked/SKILL.md", "/home/me/secret/SKILL.md");
    let set = find_skills(&stage.finder).await;
    assert!(!format!("{set:?}").contains("canary"), "{set:?}");
}

#[tokio::test]
async fn a_file_that_is_no_skill_is_listed_with_the_reason() {
    let stage = Stage::new();
    stage.system.add_file("/home/me/.claude/skills/a/SKILL.md", "# no front matter");
    stage.system.add_file("/home/me/.claude/skills/b/SKILL.md", "x".repeat(300 * 1024));
    stage.system.add_file("/home/me/.claude/skills/c/SKILL.md", [0xff, 0xfe]);
    let set = find_skills(&stage.finder).await;
    let problems: Vec<_> = set.skills.iter().map(|found| found.state.problem().unwrap()).collect();
    for (problem, why) in problems.iter().zip(["front matter", "larger than", "not UTF-8"]) {
        assert!(problem.contains(why), "{problem}");
    }
}

#[tokio::test]
async fn the_number_of_skills_and_commands_is_limited() {
    let stage = Stage::new();
    for n in 0..=SKILLS {
        stage.skill(&format!("/home/me/.claude/skills/s{n:04}"), "s");
        stage.system.add_file(&format!("/home/me/.config/tiller/commands/c{n:04}.md"), "Do it");
    }
    let set = find_skills(&stage.finder).await;
    assert_eq!((set.skills.len(), set.commands.len()), (SKILLS, SKILLS));
    assert_eq!(set.problems.len(), 2, "{:?}", set.problems);
    assert!(set.problems[0].contains("more than 200 skills"), "{:?}", set.problems);
}

#[tokio::test]
async fn commands_are_named_by_their_paths_and_those_of_the_project_need_trust() {
    let stage = Stage::new();
    stage.system.add_file("/home/me/.config/tiller/commands/fix.md", "---\ndescription: Fixes\n---\nFix $1");
    stage.system.add_file("/w/.claude/commands/fix.md", "Project's");
    stage.system.add_file("/w/.tiller/commands/git/all/commit.md", "Commit it");
    stage.system.add_file("/w/.tiller/commands/notes.txt", "no command");
    stage.system.add_file("/w/.tiller/commands/1/2/3/4/5/deep.md", "too deep");
    let user = "/home/me/.config/tiller/commands/fix.md";
    let (fix, commit) = ("/w/.claude/commands/fix.md", "/w/.tiller/commands/git/all/commit.md");
    assert_eq!(stage.states().await, states(&[(user, "used"), (commit, "untrusted"), (fix, "untrusted")]));
    let items = stage.trust_all().await;
    assert_eq!(items[0].item.id(), "command:.tiller/commands/git/all/commit.md#git:all:commit");
    assert_eq!(stage.states().await, states(&[(user, "used"), (commit, "used"), (fix, "hidden")]));
    stage.system.add_file(commit, "Commit and push it");
    assert_eq!(stage.states().await, states(&[(user, "used"), (commit, "changed"), (fix, "hidden")]));
}

#[tokio::test]
async fn a_skill_lists_its_files_without_links_and_git() {
    let stage = Stage::new();
    stage.skill("/home/me/.claude/skills/a", "a");
    for file in ["ref/one.md", "scripts/.run", ".git/config"] {
        stage.system.add_file(&format!("/home/me/.claude/skills/a/{file}"), "x");
    }
    stage.system.add_file("/home/me/key", "canary");
    stage.system.add_link("/home/me/.claude/skills/a/link", "/home/me/key");
    let skill = check_skill(stage.system.as_ref(), &path("/home/me/.claude/skills/a")).await.unwrap();
    let (files, is_cut) = skill.files(stage.system.as_ref()).await;
    let files: Vec<_> = files.iter().map(|file| file.relative_to(&skill.directory).unwrap()).collect();
    assert_eq!((files, is_cut), (vec!["ref/one.md", "scripts/.run"], false));
}
