use super::*;
use crate::limits::{TRUST_DEPTH, TRUST_FILE_BYTES};
use std::sync::Mutex;
use system::FakeSystem;

#[derive(Default)]
struct Records(Mutex<BTreeMap<String, TrustRecord>>);

#[async_trait]
impl TrustRecords for Records {
    async fn trusted(&self, folder: &AbsPath) -> Result<TrustRecord, String> {
        Ok(self.0.lock().unwrap().get(folder.as_str()).cloned().unwrap_or_default())
    }
}

struct Stage {
    system: Arc<FakeSystem>,
    records: Arc<Records>,
    trust: FolderTrust,
    w: AbsPath,
}

impl Stage {
    fn new() -> Self {
        let system = Arc::new(FakeSystem::new());
        system.add_dir("/w");
        let records = Arc::new(Records::default());
        let trust = FolderTrust::new(system.clone(), records.clone());
        Self { system, records, trust, w: AbsPath::new("/w").unwrap() }
    }

    async fn state(&self, item: &TrustItem) -> TrustState {
        self.trust.state(&self.w, item).await
    }

    async fn give(&self, item: &TrustItem) {
        let checked = self.trust.check(&self.w, vec![item.clone()]).await.remove(0);
        let mut all = self.records.0.lock().unwrap();
        all.entry("/w".to_owned()).or_default().items.insert(item.id(), checked.hash.unwrap());
    }

    async fn give_whole(&self) {
        let hash = directory_hash::hash(self.system.as_ref(), &self.w).await.unwrap();
        let record = TrustRecord { whole: Some(hash), ..TrustRecord::default() };
        self.records.0.lock().unwrap().insert("/w".to_owned(), record);
    }
}

fn server(name: &str, words: &[&str]) -> TrustItem {
    let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
    TrustItem {
        kind: ItemKind::Server,
        source: ".mcp.json".to_owned(),
        name: name.to_owned(),
        parts: words.clone(),
        shown: words.clone(),
        words,
        tree: None,
    }
}

#[tokio::test]
async fn p13_one_item_is_trusted_and_no_other() {
    let stage = Stage::new();
    let (a, b) = (server("a", &["run"]), server("b", &["run"]));
    stage.give(&a).await;
    assert_eq!(stage.state(&a).await, TrustState::Trusted);
    assert_eq!(stage.state(&b).await, TrustState::Untrusted);
    // The same name with another command, or from another file.
    assert_eq!(stage.state(&server("a", &["run", "more"])).await, TrustState::Changed);
    let elsewhere = TrustItem { source: ".vscode/mcp.json".to_owned(), ..a.clone() };
    assert_eq!(stage.state(&elsewhere).await, TrustState::Untrusted);
    let hook = TrustItem { kind: ItemKind::Hook, ..a.clone() };
    assert_eq!(stage.state(&hook).await, TrustState::Untrusted);
    stage.give(&b).await;
    assert_eq!(stage.state(&a).await, TrustState::Trusted, "the other's trust changes nothing");
}

#[tokio::test]
async fn s07_p13_one_changed_byte_of_a_file_ends_the_trust_of_the_items_it_belongs_to() {
    for (words, file) in [
        (&["sh", "tools/run.sh"][..], "tools/run.sh"),
        (&["./run"], "run"),
        (&["node", "--require=./x.js"], "x.js"),
        (&["sh", "-c", "cd src; . ./lib.sh && go"], "lib.sh"),
        (&["node", "$PWD/s.js"], "s.js"),
        (&["node", "${workspaceFolder}/s.js"], "s.js"),
        (&["sh", "/w/abs.sh"], "abs.sh"),
        // Every file in a helper directory belongs to an item that mentions the directory.
        (&["sh", ".tiller/hooks/check.sh"], ".tiller/hooks/lib/other.sh"),
        (&["sh", ".TILLER/hooks/check.sh"], ".tiller/hooks/lib/other.sh"),
        (&["sh", "-c", "for f in .tiller/*; do . $f; done"], ".tiller/b"),
    ] {
        let stage = Stage::new();
        stage.system.add_file(&format!("/w/{file}"), "good");
        let (item, other) = (server("a", words), server("b", &["other"]));
        stage.give(&item).await;
        stage.give(&other).await;
        assert_eq!(stage.state(&item).await, TrustState::Trusted, "{words:?}");
        stage.system.add_file(&format!("/w/{file}"), "goof");
        assert_eq!(stage.state(&item).await, TrustState::Changed, "{words:?}");
        assert_eq!(stage.state(&other).await, TrustState::Trusted, "{words:?}");
    }
    // A file that did not exist when trust was given, and appears later.
    let stage = Stage::new();
    let item = server("a", &["./run"]);
    stage.give(&item).await;
    stage.system.add_file("/w/run", "evil");
    assert_eq!(stage.state(&item).await, TrustState::Changed);
    // Settings are separate items, and files that no item names may change.
    let hook = server("h", &["sh", ".tiller/h.sh"]);
    stage.give(&hook).await;
    stage.system.add_file("/w/.tiller/config.toml", "x");
    stage.system.add_file("/w/src/main.rs", "x");
    assert_eq!(stage.state(&hook).await, TrustState::Trusted);
}

#[tokio::test]
async fn what_a_link_leads_to_counts_and_a_link_to_the_folder_is_the_folder() {
    let stage = Stage::new();
    stage.system.add_file("/outside/run.sh", "good");
    stage.system.add_link("/w/run.sh", "/outside/run.sh");
    let item = server("a", &["run.sh"]);
    stage.give(&item).await;
    stage.system.add_link("/link", "/w");
    assert_eq!(stage.trust.state(&AbsPath::new("/link").unwrap(), &item).await, TrustState::Trusted);
    stage.system.add_file("/outside/run.sh", "evil");
    assert_eq!(stage.state(&item).await, TrustState::Changed);
}

#[tokio::test]
async fn p06_what_leads_out_of_the_folder_or_to_a_secret_is_not_read() {
    for (name, target, says) in [
        (".mcp.json", "/home/me/.config/key", "leads out of the project"),
        (".tiller/config.toml", "/w/.env", "may hold secrets"),
        (".cursor/mcp.json", "/w/key.pem", "may hold secrets"),
    ] {
        let stage = Stage::new();
        stage.system.add_file("/home/me/.config/key", "secret");
        stage.system.add_file("/w/.env", "KEY=secret");
        stage.system.add_file("/w/key.pem", "secret");
        for folder in ["/w/.tiller", "/w/.cursor"] {
            stage.system.add_dir(folder);
        }
        stage.system.add_link(&format!("/w/{name}"), target);
        let problem = stage.trust.file(&stage.w, name).await.unwrap_err();
        assert!(problem.contains(says), "{name}: {problem}");
    }
}

#[tokio::test]
async fn a_name_and_its_content_cannot_change_places() {
    let hash = async |files: &[(&str, &str)], words: &[&str]| {
        let stage = Stage::new();
        files.iter().for_each(|(name, text)| stage.system.add_file(&format!("/w/.tiller/{name}"), text));
        let mut item = server("a", words);
        item.words.push(".tiller".to_owned());
        stage.trust.check(&stage.w, vec![item]).await.remove(0).hash.unwrap()
    };
    assert_ne!(hash(&[("a", "b")], &[]).await, hash(&[("b", "a")], &[]).await);
    assert_ne!(hash(&[("a", "bc")], &[]).await, hash(&[("ab", "c")], &[]).await);
    assert_ne!(hash(&[], &["a", "b"]).await, hash(&[], &["ab"]).await);
}

#[tokio::test]
async fn p13_what_cannot_be_told_concerns_the_items_that_need_it_and_no_other() {
    let stage = Stage::new();
    let deep = "d/".repeat(TRUST_DEPTH + 1);
    stage.system.add_file(&format!("/w/.tiller/{deep}x"), "x");
    let big = "x".repeat(usize::try_from(TRUST_FILE_BYTES).unwrap() + 1);
    stage.system.add_file("/w/big", &big);
    let items = [server("helpers", &["sh", ".tiller/x"]), server("big", &["./big"]), server("fine", &["x"])];
    stage.give(&items[2]).await;
    let checked = stage.trust.check(&stage.w, items.to_vec()).await;
    let why = |at: usize| checked[at].state.problem().unwrap_or_default();
    assert!(why(0).contains("nested too deeply"), "{}", why(0));
    assert!(why(1).contains("big is larger than"), "{}", why(1));
    assert!(checked[0].hash.is_none() && checked[1].hash.is_none());
    assert!(checked[2].is_trusted());
}

#[tokio::test]
async fn p13_an_older_record_counts_for_exactly_what_it_was_given_for() {
    let stage = Stage::new();
    stage.system.add_file("/w/.mcp.json", "{}");
    stage.system.add_file("/w/.tiller/h.sh", "x");
    let item = server("a", &["run"]);
    stage.give_whole().await;
    assert_eq!(stage.state(&item).await, TrustState::Trusted);
    stage.system.add_file("/w/.envrc", "x");
    assert_eq!(stage.state(&item).await, TrustState::Changed);
    stage.give(&item).await;
    assert_eq!(stage.state(&item).await, TrustState::Trusted);
    assert_eq!(stage.state(&server("b", &["run"])).await, TrustState::Changed);
}

fn skill(name: &str) -> TrustItem {
    let tree = AbsPath::new(format!("/w/.claude/skills/{name}")).unwrap();
    TrustItem {
        kind: ItemKind::Skill,
        source: format!(".claude/skills/{name}/SKILL.md"),
        name: name.to_owned(),
        parts: Vec::new(),
        words: Vec::new(),
        shown: Vec::new(),
        tree: Some(tree),
    }
}

#[tokio::test]
async fn p13_every_file_of_a_skill_and_the_target_of_every_link_belongs_to_it() {
    for change in ["edited", "added", "removed", "link moved"] {
        let stage = Stage::new();
        let system = &stage.system;
        system.add_file("/w/.claude/skills/a/SKILL.md", "text");
        system.add_file("/w/.claude/skills/a/scripts/.run", "good");
        system.add_file("/w/.claude/skills/b/SKILL.md", "text");
        system.add_file("/w/one", "1");
        system.add_file("/w/two", "2");
        system.add_link("/w/.claude/skills/a/link", "/w/one");
        let (a, b) = (skill("a"), skill("b"));
        stage.give(&a).await;
        stage.give(&b).await;
        system.add_file("/w/one", "not followed");
        assert_eq!(stage.state(&a).await, TrustState::Trusted, "a link is not followed");
        match change {
            "edited" => system.add_file("/w/.claude/skills/a/scripts/.run", "evil"),
            "added" => system.add_file("/w/.claude/skills/a/new", ""),
            "removed" => {
                system.remove(&AbsPath::new("/w/.claude/skills/a/scripts/.run").unwrap()).await.unwrap();
            }
            _ => {
                system.remove(&AbsPath::new("/w/.claude/skills/a/link").unwrap()).await.unwrap();
                system.add_link("/w/.claude/skills/a/link", "/w/two");
            }
        }
        assert_eq!(stage.state(&a).await, TrustState::Changed, "{change}");
        assert_eq!(stage.state(&b).await, TrustState::Trusted, "{change}");
    }
}

#[tokio::test]
async fn p13_an_older_record_of_a_whole_folder_covers_no_skill_and_no_command() {
    let stage = Stage::new();
    stage.system.add_file("/w/.claude/skills/a/SKILL.md", "text");
    stage.give_whole().await;
    assert_eq!(stage.state(&server("a", &["run"])).await, TrustState::Trusted);
    assert_eq!(stage.state(&skill("a")).await, TrustState::Untrusted);
    let command = TrustItem { kind: ItemKind::Command, tree: None, ..skill("a") };
    assert_eq!(stage.state(&command).await, TrustState::Untrusted);
}

#[tokio::test]
async fn p06_a_skill_that_leads_out_of_the_folder_is_not_read() {
    let stage = Stage::new();
    stage.system.add_file("/home/me/.ssh/key", "secret");
    stage.system.add_dir("/w/.claude/skills");
    stage.system.add_link("/w/.claude/skills/a", "/home/me/.ssh");
    let state = stage.state(&skill("a")).await;
    assert!(matches!(&state, TrustState::Unknown(why) if why.contains("leads out")), "{state:?}");
}
