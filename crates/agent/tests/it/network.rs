//! Connections of commands: which of them ask, what the answers cover, and what results say.

use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    CommandNetwork, ConnectionJudge, Content, CreateSession, Destination, FollowedSettings, HostUse,
    LanguageModel, NetworkOptions, NetworkRule, NetworkUse, Offer, PermissionOptions, PermissionOutcome,
    PermissionRules, ProjectPrograms, Push, RefChange, RemoteRepository, Runtime, RuntimeOptions,
    SandboxOptions, SessionEvent, SessionHandle, SessionId, SessionScope, Settings, SettingsNotice, Signing,
    Surface, ToolCallId, ToolProvider, ToolSource, ToolStatus, UserRules,
};
use async_trait::async_trait;
use serde_json::json;
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use system::{AbsPath, FakeSystem, Network, SandboxSupport, fake::Script};

/// A server of the network that keeps the judge of the last session.
#[derive(Default)]
struct KeptJudge(Mutex<Option<Arc<dyn ConnectionJudge>>>);

impl std::fmt::Debug for KeptJudge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeptJudge")
    }
}

impl CommandNetwork for KeptJudge {
    fn attach(&self, session: &AbsPath, judge: Arc<dyn ConnectionJudge>) -> Box<dyn Any + Send + Sync> {
        assert!(session.as_str().starts_with("/var/tmp/t/"));
        *self.0.lock().unwrap() = Some(judge);
        Box::new(())
    }
}

/// Settings of a user who can add rules.
#[derive(Clone, Default)]
struct OwnSettings {
    options: Arc<RuntimeOptions>,
    /// The rules that were added.
    added: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Settings for OwnSettings {
    async fn of(&self, _folder: Option<&AbsPath>) -> Result<Arc<RuntimeOptions>, String> {
        Ok(self.options.clone())
    }

    async fn follow(&self, _: &SessionId, _folder: &AbsPath) -> Result<Arc<dyn FollowedSettings>, String> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl FollowedSettings for OwnSettings {
    async fn now(&self) -> Arc<RuntimeOptions> {
        self.options.clone()
    }

    fn notices(&self) -> Vec<SettingsNotice> {
        Vec::new()
    }

    fn user_rules(&self) -> Option<&dyn UserRules> {
        Some(self)
    }
}

#[async_trait]
impl UserRules for OwnSettings {
    async fn allow(&self, rule: &NetworkRule) -> Result<(), String> {
        let rule = rule.to_string();
        if rule.contains("b.org") {
            return Err("the file is read-only".to_owned());
        }
        self.added.lock().unwrap().push(rule);
        Ok(())
    }
}

/// A provider without tools that keeps the place of the last session's programs.
#[derive(Clone, Default)]
struct KeptPrograms(Arc<Mutex<Option<ProjectPrograms>>>);

impl ToolProvider for KeptPrograms {
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource> {
        *self.0.lock().unwrap() = Some(session.programs.clone());
        Arc::new(self.clone())
    }
}

#[async_trait]
impl ToolSource for KeptPrograms {
    async fn offer(&self) -> Offer {
        Offer::default()
    }
}

struct Stage {
    programs: KeptPrograms,
    /// The rules that were added to the user's settings.
    added: Arc<Mutex<Vec<String>>>,
    session: SessionHandle,
    client: Arc<FakeClient>,
    network: Arc<KeptJudge>,
    /// Each destination that commands tried, with what came of it.
    tried: Arc<Mutex<Vec<String>>>,
}

/// Runs commands that connect to the hosts that their words name, one after the other.
async fn stage(commands: &[&str], answers: Vec<Option<PermissionOutcome>>) -> Stage {
    stage_with(commands, answers, PermissionRules::default()).await
}

/// The same, with rules of the settings.
async fn stage_with(
    commands: &[&str],
    answers: Vec<Option<PermissionOutcome>>,
    rules: PermissionRules,
) -> Stage {
    let calls = commands.iter().map(|line| ("bash", json!({ "command": line, "timeout": 100 })));
    let calls: Vec<_> = calls.collect();
    let mut script: Vec<_> = calls.chunks(1).map(Reply::calls).collect();
    script.push(Reply::text("done"));
    let network = Arc::new(KeptJudge::default());
    let tried = Arc::<Mutex<Vec<String>>>::default();
    let system = FakeSystem::new().with_sandbox(SandboxSupport {
        landlock_abi: 6,
        seccomp: true,
        namespaces: true,
        processes: true,
        launcher: true,
        in_client: false,
    });
    system.add_dir("/w");
    let (judges, log) = (Arc::clone(&network), Arc::clone(&tried));
    system.on_command("connect", move |command| {
        let line = command.args.last().unwrap().clone();
        let (judge, log) = (judges.0.lock().unwrap().clone().unwrap(), Arc::clone(&log));
        tokio::spawn(async move {
            for word in line.split_whitespace().skip(1) {
                if let Ok(port) = word.parse() {
                    judge.forwarded(port, ([127, 0, 0, 1], port + 1).into());
                    continue;
                }
                if let Some(push) = word.strip_prefix("push:") {
                    let pushed = judge.push(&to_origin(push)).await;
                    log.lock().unwrap().push(format!("{push} {}", pushed.err().unwrap_or("ok".to_owned())));
                    continue;
                }
                if let Some(host) = word.strip_prefix("reach:") {
                    let (host, as_user) = host.strip_suffix('!').map_or((host, false), |host| (host, true));
                    let destination = Destination::host(host, 443).unwrap();
                    let reached = judge.reach(&origin(), &destination, as_user).await;
                    log.lock().unwrap().push(format!("{host} {}", reached.err().unwrap_or("ok".to_owned())));
                    continue;
                }
                if let Some(key) = word.strip_prefix("sign:") {
                    let signed = judge.sign(&by_key(key)).await;
                    log.lock().unwrap().push(format!("{key} {}", signed.err().unwrap_or("ok".to_owned())));
                    continue;
                }
                if let Some(name) = word.strip_prefix("lookup:") {
                    judge.looked_up(name);
                    continue;
                }
                if let Some(host) = word.strip_prefix("upload:") {
                    let traffic = judge.connected(&Destination::host(host, 443).unwrap());
                    (0..300).take_while(|_| !traffic.is_exhausted()).for_each(|_| traffic.add_sent(1_000));
                    continue;
                }
                if let Some(host) = word.strip_prefix("gone:") {
                    let waits = connect(judge.as_ref(), host);
                    assert!(tokio::time::timeout(Duration::from_secs(5), waits).await.is_err());
                    log.lock().unwrap().push(word.to_owned());
                    continue;
                }
                let line = connect(judge.as_ref(), word).await;
                log.lock().unwrap().push(line);
            }
        });
        Script::hangs()
    });
    let client = FakeClient::new(answers);
    let options = RuntimeOptions {
        sandbox: SandboxOptions {
            temp: Some(AbsPath::new("/var/tmp/t").unwrap()),
            network: NetworkOptions { network: Network::Session, ..NetworkOptions::default() },
            ..SandboxOptions::default()
        },
        command_network: Some(network.clone()),
        permissions: PermissionOptions { rules, ..PermissionOptions::default() },
        ..RuntimeOptions::default()
    };
    let models = Arc::new(FakeModels(FakeModel::new(script) as Arc<dyn LanguageModel>));
    let settings = OwnSettings { options: Arc::new(options), ..OwnSettings::default() };
    let added = Arc::clone(&settings.added);
    let store = Arc::new(MemoryStore::default());
    let programs = KeptPrograms::default();
    let providers = std::iter::once(Arc::new(programs.clone()) as Arc<dyn ToolProvider>).collect();
    let runtime = Runtime::with_settings(store, models, Arc::new(settings), providers);
    let surface = Surface { client: client.clone(), system: Arc::new(system) };
    let cwd = AbsPath::new("/w").unwrap();
    let new = CreateSession { cwd, additional_directories: Vec::new(), servers: Vec::new() };
    let session = runtime.create(new, |_| surface).await.unwrap();
    Stage { programs, added, session, client, network, tried }
}

/// Returns the push of a branch that is new, or of one that loses commits if the word begins with
/// `+`, or its deletion if it begins with `:`.
fn to_origin(word: &str) -> Push {
    let name = format!("refs/heads/{}", word.trim_start_matches(['+', ':']));
    let id = |is_there: bool| is_there.then(|| "1".repeat(40));
    let change = RefChange { name, old: id(word.starts_with(['+', ':'])), new: id(!word.starts_with(':')) };
    Push { to: origin(), changes: vec![change] }
}

fn origin() -> RemoteRepository {
    RemoteRepository {
        address: "https://h/me/x".to_owned(),
        name: "origin".to_owned(),
        directories: vec![AbsPath::new("/w/.git").unwrap()],
    }
}

/// Returns a commit that is to be signed with a key.
fn by_key(key: &str) -> Signing {
    Signing {
        program: "gpg".to_owned(),
        key: key.to_owned(),
        kind: "commit",
        subject: "Subject".to_owned(),
        object: "tree\n\nSubject".to_owned(),
    }
}

async fn connect(judge: &dyn ConnectionJudge, host: &str) -> String {
    let destination = match host.strip_prefix("local:") {
        Some(port) => Destination::Local(port.parse().unwrap()),
        None => Destination::host(host, 443).unwrap(),
    };
    match judge.judge(&destination).await {
        Ok(()) => {
            judge.connected(&destination).add_received(1_500);
            format!("{host} ok")
        }
        Err(reason) => {
            judge.refused(&destination, &reason);
            format!("{host} {reason}")
        }
    }
}

impl Stage {
    /// Runs the prompt; returns what came of the connections.
    async fn run(&self) -> Vec<String> {
        self.session.prompt(vec![Content::text("go")]).await.unwrap();
        self.tried.lock().unwrap().clone()
    }

    fn questions(&self) -> Vec<String> {
        self.client.requests().into_iter().map(|request| request.question).collect()
    }

    /// Returns the notes about the network in the results of calls.
    fn notes(&self) -> Vec<String> {
        let text = format!(
            "{:?}",
            self.client
                .events()
                .iter()
                .filter(|event| {
                    matches!(event, SessionEvent::ToolCall(update) if update.result.is_some())
                })
                .collect::<Vec<_>>()
        );
        let notes = text.match_indices("(network: ").map(|(at, _)| {
            let rest = &text[at..];
            rest[..=rest.find(')').unwrap()].to_owned()
        });
        let mut notes: Vec<_> = notes.collect();
        notes.dedup();
        notes
    }
}

#[tokio::test(start_paused = true)]
async fn one_answer_covers_a_group_for_a_command() {
    let line = "connect registry.npmjs.org registry.yarnpkg.com registry.npmjs.org";
    let answers = vec![Some(PermissionOutcome::AllowOnce), Some(PermissionOutcome::RejectOnce)];
    let stage = stage(&[line, "connect registry.npmjs.org"], answers).await;
    assert_eq!(
        stage.run().await,
        [
            "registry.npmjs.org ok",
            "registry.yarnpkg.com ok",
            "registry.npmjs.org ok",
            "registry.npmjs.org the user said no",
        ]
    );
    assert_eq!(
        stage.questions(),
        [
            "Let `connect registry.npmjs.org registry.yarnpkg.com registry.npmjs.org` connect to registry.npmjs.org (group npm)? It can send there what it can read.",
            "Let `connect registry.npmjs.org` connect to registry.npmjs.org (group npm)? It can send there what it can read.",
        ]
    );
    assert_eq!(
        stage.notes(),
        [
            "(network: registry.npmjs.org sent 3.0 kB and received 0 B; registry.yarnpkg.com sent 1.5 kB and received 0 B.)",
            "(network: registry.npmjs.org was refused: the user said no.)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_use_of_the_network_is_recorded() {
    let answers = vec![Some(PermissionOutcome::AllowOnce), Some(PermissionOutcome::RejectOnce)];
    let stage = stage(&["connect npmjs.org npmjs.org example.com", "connect lookup:a.org"], answers).await;
    stage.run().await;
    let events = stage.client.events();
    let used = events.iter().filter_map(|event| match event {
        SessionEvent::NetworkUsed(used) => Some(used.clone()),
        _ => None,
    });
    let host = |name| Destination::host(name, 443).unwrap();
    let refused = HostUse {
        destination: host("example.com"),
        connections: 0,
        sent: 0,
        received: 0,
        refused: Some("the user said no".to_owned()),
        rule: None,
    };
    let connected = HostUse {
        destination: host("npmjs.org"),
        connections: 2,
        received: 3_000,
        refused: None,
        rule: Some("the user's answer".to_owned()),
        ..refused.clone()
    };
    let expected = NetworkUse { call: ToolCallId("tool_0".to_owned()), hosts: vec![refused, connected] };
    assert_eq!(used.collect::<Vec<_>>(), [expected]);
    stage.session.prompt(vec![Content::text("/network")]).await.unwrap();
    let said = format!("{:?}", stage.client.events().last_chunk::<4>());
    assert!(said.contains("- `npmjs.org`: 2 connections, 0 B sent, 3.0 kB received, allowed by"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn always_covers_the_session() {
    let answers = vec![Some(PermissionOutcome::AllowAlways), Some(PermissionOutcome::RejectAlways)];
    let stage = stage(&["connect a.org b.org", "connect a.org b.org"], answers).await;
    let one = ["a.org ok", "b.org the user said no"];
    assert_eq!(stage.run().await, [one, one].concat());
    assert_eq!(stage.questions().len(), 2);
    let judge = stage.network.0.lock().unwrap().clone().unwrap();
    assert_eq!(connect(judge.as_ref(), "a.org").await, "a.org ok");
    let idle = connect(judge.as_ref(), "c.org").await;
    assert_eq!(idle, "c.org the user is asked only while a command's call runs");
}

#[tokio::test(start_paused = true)]
async fn a_server_of_the_project_is_asked_about() {
    let answers = vec![Some(PermissionOutcome::AllowOnce), Some(PermissionOutcome::RejectOnce), None];
    let stage = stage(&["connect"], answers).await;
    let programs = stage.programs.0.lock().unwrap().clone().unwrap();
    let of_commands = stage.network.0.lock().unwrap().clone();
    let (_place, _attached) = programs.of_server("words", "npx words");
    let judge = std::mem::replace(&mut *stage.network.0.lock().unwrap(), of_commands).unwrap();
    let early = connect(judge.as_ref(), "c.org").await;
    assert_eq!(early, "c.org no turn ran within 60 s in which the user could be asked");
    let server = Arc::clone(&judge);
    let connecting = tokio::spawn(async move {
        let mut said = Vec::new();
        for host in ["registry.npmjs.org", "registry.yarnpkg.com", "b.org", "b.org", "d.org"] {
            said.push(connect(server.as_ref(), host).await);
        }
        said
    });
    let ending = async {
        stage.client.until(|client| client.requests().len() == 3).await;
        stage.session.cancel();
    };
    tokio::join!(stage.run(), ending);
    assert_eq!(
        connecting.await.unwrap(),
        [
            "registry.npmjs.org ok",
            "registry.yarnpkg.com ok",
            "b.org the user said no",
            "b.org the user said no",
            // The turn has ended.
            "d.org the question was dismissed",
        ]
    );
    assert_eq!(
        stage.questions(),
        [
            "Let the project's server `words` connect to registry.npmjs.org (group npm)? It can send there what it can read.",
            "Let the project's server `words` connect to b.org? It can send there what it can read.",
            "Let the project's server `words` connect to d.org? It can send there what it can read.",
        ]
    );
    let requests = stage.client.requests();
    assert!(requests.iter().all(|asked| asked.brief == asked.question), "{requests:?}");
    assert_eq!(requests[1].description.title, "[words] Connect to b.org");
    let states = |events: Vec<SessionEvent>| {
        let state = |event| match event {
            SessionEvent::ToolCall(update) if update.name == "server" => update.status,
            _ => None,
        };
        events.into_iter().filter_map(state).collect::<Vec<_>>()
    };
    use ToolStatus::{Completed, Failed, Pending};
    assert_eq!(
        states(stage.client.events()),
        [Pending, Pending, Completed, Pending, Pending, Failed, Pending, Pending, Failed]
    );
    // What it used is recorded with the call that ends next.
    let used = stage.client.events().into_iter().find_map(|event| match event {
        SessionEvent::NetworkUsed(used) => Some(used),
        _ => None,
    });
    let used = used.unwrap();
    assert_eq!((used.call.as_str(), used.hosts.len()), ("server_words", 4));
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_all_sessions_adds_a_rule() {
    let answers = vec![Some(PermissionOutcome::AllowForUser); 3];
    let asks = vec!["network(host:asked.org)".parse().unwrap()];
    let network = agent::NetworkRules { ask: asks, ..agent::NetworkRules::default() };
    let rules = PermissionRules { network, ..PermissionRules::default() };
    let line = "connect registry.npmjs.org b.org asked.org registry.npmjs.org b.org";
    let stage = stage_with(&[line], answers, rules).await;
    assert!(stage.run().await.iter().all(|line| line.ends_with(" ok")));
    assert_eq!(*stage.added.lock().unwrap(), ["network(group:npm)"]);
    let offered: Vec<_> = stage
        .client
        .requests()
        .into_iter()
        .map(|request| request.remedy.user_rule)
        .map(|rule| rule.map(|rule| rule.to_string()))
        .collect();
    let expected = ["network(group:npm)", "network(host:b.org)"].map(|rule| Some(rule.to_owned()));
    assert_eq!(offered[..2], expected);
    assert_eq!(offered[2], None, "a rule that allows does not override one that asks");
    let told = stage.client.events().into_iter().find_map(|event| match event {
        SessionEvent::Notice { title, description, .. } => Some(format!("{title}: {}", description?)),
        _ => None,
    });
    let expected = "network(host:b.org) was not added to your settings; it is allowed in this session: the file is read-only";
    assert_eq!(told.as_deref(), Some(expected));
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_is_refused() {
    let stage = stage(&["connect a.org"], vec![None]).await;
    assert_eq!(stage.run().await, ["a.org there was no answer within 60 s"]);
}

#[tokio::test(start_paused = true)]
async fn a_command_asks_eight_times_at_most() {
    let hosts: Vec<_> = (0..10).map(|n| format!("h{n}.org")).collect();
    let line = format!("connect {}", hosts.join(" "));
    let stage = stage(&[&line], vec![Some(PermissionOutcome::AllowOnce); 8]).await;
    let tried = stage.run().await;
    assert_eq!(tried.iter().filter(|line| line.ends_with("ok")).count(), 8);
    assert_eq!(tried[9], "h9.org 8 questions were asked for this command");
}

#[tokio::test(start_paused = true)]
async fn a_service_of_this_machine_is_asked_about() {
    let answers = vec![Some(PermissionOutcome::AllowAlways), Some(PermissionOutcome::RejectOnce)];
    let stage = stage(&["connect local:5432 local:5432 local:6379"], answers).await;
    assert_eq!(stage.run().await, ["local:5432 ok", "local:5432 ok", "local:6379 the user said no"]);
    assert_eq!(
        stage.questions()[0],
        "Let `connect local:5432 local:5432 local:6379` connect to port 5432 of this machine? It can send there what it can read."
    );
    let hosts: Vec<_> =
        stage.client.requests().iter().map(|asked| asked.remedy.hosts[0].to_string()).collect();
    assert_eq!(hosts, ["network(local:5432)", "network(local:6379)"]);
}

#[tokio::test(start_paused = true)]
async fn the_address_of_a_server_is_told() {
    let stage = stage(&["connect 3000"], Vec::new()).await;
    stage.run().await;
    assert_eq!(stage.notes(), ["(network: port 3000 is http://127.0.0.1:3001 for the user.)"]);
    let told = stage.client.events().into_iter().find_map(|event| match event {
        SessionEvent::Notice { title, .. } => Some(title),
        _ => None,
    });
    assert_eq!(told.unwrap(), "Port 3000 of a command in the sandbox is http://127.0.0.1:3001");
}

#[tokio::test(start_paused = true)]
async fn a_host_at_a_closed_port_is_told() {
    let line = "connect lookup:db.corp lookup:a.org a.org";
    let stage = stage(&[line], vec![Some(PermissionOutcome::AllowOnce)]).await;
    stage.run().await;
    let notes = stage.notes();
    let told = "db.corp was looked up, and no connection to it arrived: only the ports 22, 80, 443";
    assert!(notes[0].contains(told) && notes[0].ends_with("network(host:db.corp:5432)"), "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn uploads_to_a_group_are_asked_about() {
    let line = "connect pypi.org upload:pypi.org pypi.org upload:pypi.org files.pythonhosted.org";
    let other = "connect a.org upload:a.org a.org npmjs.org";
    let allow = Some(PermissionOutcome::AllowOnce);
    let refuse = Some(PermissionOutcome::RejectOnce);
    let stage = stage(&[line, other], vec![allow, refuse, allow, allow, allow]).await;
    assert_eq!(
        stage.run().await,
        [
            "pypi.org ok",
            "pypi.org the user said no",
            "files.pythonhosted.org ok",
            "a.org ok",
            "a.org ok",
            "npmjs.org ok"
        ]
    );
    let questions = stage.questions();
    assert_eq!(questions.len(), 5, "{questions:?}");
    let asked = "Commands of this session sent 263.0 kB to the hosts of the group pypi and received 1.5 kB: more than downloads send.";
    assert!(questions[1].starts_with(asked), "{}", questions[1]);
}

#[tokio::test(start_paused = true)]
async fn the_call_is_shown_again_after_the_answer() {
    let stage = stage(&["connect a.org"], vec![Some(PermissionOutcome::AllowOnce)]).await;
    stage.run().await;
    let events = stage.client.events();
    let answered = events.iter().rposition(|event| matches!(event, SessionEvent::PermissionResolved { .. }));
    let SessionEvent::ToolCall(update) = &events[answered.unwrap() + 1] else { panic!("{events:?}") };
    assert_eq!(update.status, Some(ToolStatus::InProgress));
    assert_eq!(update.display.title.as_deref(), Some("Run connect a.org"));
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_its_connection() {
    let stage = stage(&["connect gone:a.org a.org"], vec![None, Some(PermissionOutcome::AllowOnce)]).await;
    assert_eq!(stage.run().await, ["gone:a.org", "a.org ok"]);
    assert_eq!(stage.questions().len(), 2);
    let events = stage.client.events();
    let resolved = events.iter().filter_map(|event| match event {
        SessionEvent::PermissionResolved { rule, .. } => Some(rule.as_str()),
        _ => None,
    });
    assert_eq!(resolved.collect::<Vec<_>>(), ["Guardian", "the command has closed the connection", "user"]);
}

#[tokio::test(start_paused = true)]
async fn a_push_is_asked_about_each_time() {
    let answers = vec![Some(PermissionOutcome::AllowAlways), Some(PermissionOutcome::RejectOnce)];
    let stage = stage(&["connect push:main push:main push:+main push::main"], answers).await;
    let tried = stage.run().await;
    assert_eq!(tried[..2], ["main ok", "main the user said no"]);
    for (tried, line) in
        [(&tried[2], "git push --force origin main"), (&tried[3], "git push --delete origin main")]
    {
        assert!(tried.contains(&format!("is refused (`{line}`)")), "{tried}");
    }
    let asked = "Let `connect push:main push:main push:+main push::main` push to https://h/me/x: new main at 1111111?";
    assert_eq!(stage.questions(), [asked, asked]);
    let requests = stage.client.requests();
    assert_eq!(requests[0].grant_label, "");
    assert_eq!(requests[0].remedy.rules[0].to_string(), "bash(git push origin main)");
}

#[tokio::test(start_paused = true)]
async fn rules_for_commands_are_rules_for_pushes() {
    let rules = |allow: &[&str], deny: &[&str]| {
        let parse = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
        PermissionRules { allow: parse(allow), deny: parse(deny), ..PermissionRules::default() }
    };
    let line = "connect push:main push:other push:+main";
    let allowed = rules(&["bash(git push origin main)", "bash(git push --force origin main)"], &[]);
    let stage = stage_with(&[line], vec![Some(PermissionOutcome::RejectOnce)], allowed).await;
    assert_eq!(stage.run().await, ["main ok", "other the user said no", "+main ok"]);
    let denied = rules(&["bash(git push *)"], &["bash(git push * main)"]);
    let stage = stage_with(&[line], Vec::new(), denied).await;
    let tried = stage.run().await;
    assert!(tried[0].contains("permissions.deny has 'bash(git push * main)'"), "{tried:?}");
    assert_eq!(tried[1], "other ok");
    assert_eq!(stage.questions(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_signature_is_asked_about_once_for_a_key() {
    let answers = vec![Some(PermissionOutcome::AllowAlways), Some(PermissionOutcome::RejectOnce)];
    let stage = stage(&["connect sign:K", "connect sign:K sign:L"], answers).await;
    let refused = "L the user said no; the setting sandbox.sign_commits decides about signatures";
    assert_eq!(stage.run().await, ["K ok", "K ok", refused]);
    let asked = "Let `connect sign:K` sign the commit “Subject” with your key K?";
    assert_eq!(stage.questions()[0], asked);
    assert_eq!(stage.client.requests()[0].grant_label, "signatures with the key K in this session");
}

#[tokio::test(start_paused = true)]
async fn a_repository_is_reached_after_one_question() {
    let (once, no) = (Some(PermissionOutcome::AllowOnce), Some(PermissionOutcome::RejectOnce));
    // The answer for the repository covers its host, and the credential.
    let first = "connect reach:a.org reach:a.org! reach:a.org!";
    let second = "connect reach:a.org! a.org";
    let stage = stage(&[first, second], vec![once, no, no]).await;
    let refused = "a.org the user said no";
    assert_eq!(stage.run().await, ["a.org ok", "a.org ok", "a.org ok", refused, refused]);
    let asked = format!("Let `{first}` reach https://h/me/x with your credentials?");
    assert_eq!(stage.questions()[0], asked);
    assert_eq!(stage.client.requests()[0].remedy.rules[0].to_string(), "bash(git fetch origin)");
}

#[tokio::test(start_paused = true)]
async fn rules_for_fetches_and_hosts_reach_repositories() {
    let rules = PermissionRules {
        allow: vec!["bash(git fetch origin)".parse().unwrap()],
        network: agent::NetworkRules {
            deny: vec!["network(host:evil.org)".parse().unwrap()],
            ..agent::NetworkRules::default()
        },
        ..PermissionRules::default()
    };
    let stage = stage_with(&["connect reach:a.org! reach:a.org reach:evil.org!"], Vec::new(), rules).await;
    let denied = "evil.org the setting permissions.deny has 'network(host:evil.org)'";
    assert_eq!(stage.run().await, ["a.org ok", "a.org ok", denied]);
    assert_eq!(stage.questions(), Vec::<String>::new());
}
