//! `tiller serve` with several users: settings, keys, memories and folders are each user's own.

use crate::{
    home::Home,
    team::{Client, Server, prompt, token},
    web::{Request, Web},
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A server with two users, each with a client.
struct Stage {
    home: Home,
    server: Server,
    ada: Client,
    bob: Client,
}

impl Stage {
    /// Starts a server with further settings, which may name the home.
    fn new(settings: impl Fn(&Home) -> String, environment: &[(&str, &str)]) -> Self {
        let home = Home::new();
        let base = "[agent]\ndefault_model = 'offline/pilot'\n[providers.local]\ndiscover = false\n";
        home.settings(&format!("{base}{}", settings(&home)));
        let (ada, bob) = (token(&home, "ada", &[]), token(&home, "Bob", &[]));
        let args = ["--listen", "tcp:127.0.0.1:0", "--permission-mode", "prometheus"];
        let server = Server::start_with(&home, &args, environment);
        let ada = Client::connect(&home, Some((&server, &ada)));
        let bob = Client::connect(&home, Some((&server, &bob)));
        Self { home, server, ada, bob }
    }

    /// Returns the directory of a user's own settings and data.
    fn user(&self, name: &str) -> PathBuf {
        let users = self.home.path().join("home/.local/share/tiller/users");
        let mut tenants = std::fs::read_dir(users).unwrap();
        tenants.next().unwrap().unwrap().path().join(name)
    }
}

/// Returns the settings that give each user a folder.
fn user_folders(home: &Home) -> String {
    format!("[serve]\nuser_folders = '{}'\n", home.path().join("users").display())
}

/// Opens a session and returns its id.
fn session(client: &mut Client, cwd: &Path) -> String {
    let opened = client.request("session/new", json!({ "cwd": cwd, "mcpServers": [] })).unwrap();
    opened["sessionId"].as_str().unwrap().to_owned()
}

/// Sends a prompt and returns all updates of its turn as one text.
fn turn(client: &mut Client, session: &str, text: &str) -> String {
    let id = client.start("session/prompt", prompt(session, text));
    let mut all = String::new();
    client.until(|message| {
        all.push_str(&message.to_string());
        message["id"] == id && message.get("method").is_none()
    });
    all
}

#[test]
fn settings_keys_and_memories_are_each_users_own() {
    let mut stage = Stage::new(|_| String::new(), &[("OPENAI_API_KEY", "the-servers-canary")]);
    let project = stage.home.project();
    let (ada, bob) = (session(&mut stage.ada, &project), session(&mut stage.bob, &project));
    let before = std::fs::read_to_string(stage.home.path().join("home/.config/tiller/config.toml")).unwrap();

    let set = |session: &str, path: &str, value: Value| json!({ "sessionId": session, "scope": "global", "path": path, "value": value });
    stage.ada.request("_tiller/settings/set", set(&ada, "agent.system_prompt", "Be brief.".into())).unwrap();
    let refused =
        stage.ada.request("_tiller/settings/set", set(&ada, "serve.hosts", json!(["evil"]))).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("administrator"), "{refused}");
    let file = stage.user("ada").join("config/config.toml");
    assert!(std::fs::read_to_string(&file).unwrap().contains("Be brief."));
    assert!(!stage.user("%42ob").join("config/config.toml").exists());
    let after = std::fs::read_to_string(stage.home.path().join("home/.config/tiller/config.toml")).unwrap();
    assert_eq!(before, after, "the server's own settings stay");

    let mut configure = |who: &str, provider: &str, more: Value| {
        let (client, session) = if who == "ada" { (&mut stage.ada, &ada) } else { (&mut stage.bob, &bob) };
        let mut params = json!({ "sessionId": session, "scope": "global", "provider": provider });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.request("_tiller/providers/configure", params).unwrap()["hasApiKey"].clone()
    };
    // The key in the server's environment is for all of them, but only where the server sends it.
    assert_eq!(configure("ada", "openai", json!({ "model": "gpt-5.4-mini" })), true);
    assert_eq!(configure("ada", "openai", json!({ "baseUrl": "https://evil.example" })), false);
    assert_eq!(configure("bob", "openai", json!({ "model": "gpt-5.4-mini" })), true);
    assert_eq!(configure("bob", "anthropic", json!({ "apiKey": "bobs-canary" })), true);
    assert_eq!(configure("ada", "anthropic", json!({ "model": "claude-opus-5" })), false);

    let memory = json!({
        "sessionId": ada, "type": "user", "title": "Tabs", "content": "The user prefers tabs.",
    });
    stage.ada.request("_tiller/memories/save", memory).unwrap();
    let memories = |client: &mut Client, session: &str| {
        let listed = client.request("_tiller/memories/list", json!({ "sessionId": session })).unwrap();
        listed["memories"].as_array().unwrap().len()
    };
    assert_eq!((memories(&mut stage.ada, &ada), memories(&mut stage.bob, &bob)), (1, 0));
}

#[test]
fn a_user_works_in_the_own_folder_and_nowhere_else() {
    let mut stage = Stage::new(user_folders, &[("SERVER_NOTE", "a-canary-of-the-server")]);
    let outside = stage.home.file("secret.txt");
    std::fs::write(&outside, "CANARY").unwrap();
    // Without a directory of its own, a session is in the user's folder.
    let opened = stage.bob.request("session/new", json!({ "cwd": "/", "mcpServers": [] })).unwrap_err();
    assert_eq!(opened["code"], -32602, "{opened}");
    let tenant = std::fs::read_dir(stage.home.path().join("users")).unwrap().next().unwrap().unwrap().path();
    let (ada, bob) = (tenant.join("ada"), tenant.join("%42ob"));
    std::fs::write(bob.join("secret.txt"), "CANARY").unwrap();
    std::fs::create_dir(ada.join("project")).unwrap();
    std::os::unix::fs::symlink(&bob, ada.join("link")).unwrap();
    let nowhere = stage.home.path().join("nowhere");
    let a_file = bob.join("secret.txt");
    for cwd in [stage.home.project(), bob.clone(), ada.join("link"), ada.join(".."), nowhere, a_file] {
        let refused = stage.ada.request("session/new", json!({ "cwd": cwd, "mcpServers": [] })).unwrap_err();
        assert_eq!(refused["code"], -32602, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("your folder on this server"), "{refused}");
    }
    let more = json!({ "cwd": ada, "additionalDirectories": [bob], "mcpServers": [] });
    assert_eq!(stage.ada.request("session/new", more).unwrap_err()["code"], -32602);

    let session = session(&mut stage.ada, &ada.join("project"));
    turn(&mut stage.ada, &session, "create a.txt with 'mine'");
    assert_eq!(std::fs::read_to_string(ada.join("project/a.txt")).unwrap(), "mine");
    let theirs = bob.join("secret.txt");
    for text in [
        format!("show {}", theirs.display()),
        format!("show {outside}"),
        "show ../link/secret.txt".to_owned(),
        format!("run `cat {}; cat ../link/secret.txt; ls {}; env`", theirs.display(), tenant.display()),
    ] {
        let answer = turn(&mut stage.ada, &session, &text);
        assert!(!answer.contains("CANARY"), "{text}: {answer}");
        assert!(!answer.contains("a-canary-of-the-server"), "{text}: {answer}");
    }
    let home = turn(&mut stage.ada, &session, "run `echo in $HOME`");
    assert!(home.contains(&format!("in {}", ada.display())), "{home}");
    turn(&mut stage.ada, &session, &format!("create {} with 'x'", bob.join("new.txt").display()));
    assert!(!bob.join("new.txt").exists());
}

#[test]
fn a_directory_that_becomes_a_link_does_not_lead_out_of_the_users_folder() {
    // The directory of all folders may be behind a link itself.
    let mut stage = Stage::new(
        |home| {
            std::fs::create_dir(home.path().join("disk")).unwrap();
            std::os::unix::fs::symlink(home.path().join("disk"), home.path().join("users")).unwrap();
            user_folders(home)
        },
        &[],
    );
    let opened = |client: &mut Client| client.request("session/new", json!({ "cwd": "/", "mcpServers": [] }));
    opened(&mut stage.ada).unwrap_err();
    opened(&mut stage.bob).unwrap_err();
    let tenant = std::fs::read_dir(stage.home.path().join("disk")).unwrap().next().unwrap().unwrap().path();
    let (ada, bob) = (tenant.join("ada"), tenant.join("%42ob"));
    std::fs::write(bob.join("secret.txt"), "CANARY").unwrap();
    let project = ada.join("project");
    std::fs::create_dir(&project).unwrap();
    let session = session(&mut stage.ada, &project);
    assert!(turn(&mut stage.ada, &session, "create a.txt with 'mine'").contains("a.txt"));
    assert_eq!(std::fs::read_to_string(project.join("a.txt")).unwrap(), "mine");
    std::fs::rename(&project, ada.join("before")).unwrap();
    std::os::unix::fs::symlink(&bob, &project).unwrap();
    for text in ["show secret.txt", "run `cat secret.txt`", "run `cat ../../%42ob/secret.txt`"] {
        let answer = turn(&mut stage.ada, &session, text);
        assert!(!answer.contains("CANARY"), "{text}: {answer}");
    }
    turn(&mut stage.ada, &session, "create new.txt with 'x'");
    assert!(!bob.join("new.txt").exists());
}

#[test]
fn a_server_starts_no_program_that_a_client_names() {
    let mut stage = Stage::new(|_| String::new(), &[]);
    let made = stage.home.project().join("made");
    let server = json!({ "name": "theirs", "command": "/bin/sh", "args": ["-c", format!("touch {}", made.display())], "env": [] });
    let opened = json!({ "cwd": stage.home.project(), "mcpServers": [server] });
    let session = stage.ada.request("session/new", opened).unwrap()["sessionId"].clone();
    let tools = json!({ "sessionId": session, "server": "theirs", "force": true });
    let listed = format!("{:?}", stage.ada.request("_tiller/mcp/list_tools", tools));
    assert!(listed.contains("theirs") && listed.contains("starts no programs for its users"), "{listed}");
    assert!(!made.exists());
}

/// The folders of two users, with a project of Bob's that has a file of each kind that is read
/// without being asked for.
struct Folders {
    ada: PathBuf,
    theirs: PathBuf,
}

const BOBS_SETTINGS: &str = "[agent]\nsystem_prompt = 'CANARY'\n";
const BOBS_SERVERS: &str = r#"{"mcpServers":{"CANARY":{"type":"http","url":"http://127.0.0.1:1"}}}"#;

impl Folders {
    fn create(stage: &mut Stage) -> Self {
        // A user's folder is created with the first connection.
        for client in [&mut stage.ada, &mut stage.bob] {
            client.request("session/new", json!({ "cwd": "/", "mcpServers": [] })).unwrap_err();
        }
        let users = stage.home.path().join("users");
        let tenant = std::fs::read_dir(users).unwrap().next().unwrap().unwrap().path();
        let (ada, theirs) = (tenant.join("ada"), tenant.join("%42ob/project"));
        std::fs::create_dir_all(theirs.join(".tiller")).unwrap();
        std::fs::write(theirs.join(".tiller/config.toml"), BOBS_SETTINGS).unwrap();
        std::fs::write(theirs.join(".mcp.json"), BOBS_SERVERS).unwrap();
        std::fs::write(theirs.join("script.lua"), "return 'CANARY' CANARY").unwrap();
        Self { ada, theirs }
    }

    /// Uses every request that reads or writes files of a session's project. Nothing of Bob's is
    /// returned, and nothing of it changes.
    fn check(&self, client: &mut Client, session: &str, case: &str) {
        let script = self.theirs.join("script.lua");
        for (method, params) in [
            ("settings/set", json!({ "scope": "project", "path": "agent.system_prompt", "value": "mine" })),
            ("settings/set", json!({ "scope": "project", "path": "agent.mode", "value": "no such mode" })),
            ("providers/configure", json!({ "scope": "project", "provider": "openai", "model": "gpt-5" })),
            ("mcp/list_servers", json!({})),
            (
                "mcp/add_stdio_server",
                json!({ "scope": "project", "name": "mine", "command": "x", "trust": true }),
            ),
            ("lua/execute", json!({ "path": script })),
            ("lua/execute", json!({ "path": "script.lua" })),
            ("trust/list", json!({})),
            ("trust/give", json!({})),
        ] {
            let mut params = params;
            params["sessionId"] = session.into();
            let answer = format!("{:?}", client.request(&format!("_tiller/{method}"), params)).to_lowercase();
            assert!(!answer.contains("canary"), "{case}: {method}: {answer}");
            assert!(!answer.contains("method not found"), "{case}: {method}: {answer}");
        }
        let read = |name: &str| std::fs::read_to_string(self.theirs.join(name)).unwrap();
        assert_eq!(read(".tiller/config.toml"), BOBS_SETTINGS, "{case}");
        assert_eq!(read(".mcp.json"), BOBS_SERVERS, "{case}");
        let mut names: Vec<_> =
            std::fs::read_dir(&self.theirs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".mcp.json", ".tiller", "script.lua"], "{case}");
    }
}

/// Replaces a part of one project by links to another.
type Replace = fn(&Path, &Path);

#[test]
fn a_project_that_leads_out_of_the_users_folder_is_neither_read_nor_changed() {
    let mut stage = Stage::new(user_folders, &[]);
    let folders = Folders::create(&mut stage);
    let cases: [(&str, Replace); 4] = [
        ("the project is a link", |own, theirs| {
            std::fs::rename(own, own.with_extension("before")).unwrap();
            std::os::unix::fs::symlink(theirs, own).unwrap();
        }),
        ("the directory of settings is a link", |own, theirs| {
            std::os::unix::fs::symlink(theirs.join(".tiller"), own.join(".tiller")).unwrap();
            std::os::unix::fs::symlink(theirs.join(".mcp.json"), own.join(".mcp.json")).unwrap();
        }),
        ("the file of settings is a link", |own, theirs| {
            std::fs::create_dir(own.join(".tiller")).unwrap();
            let file = ".tiller/config.toml";
            std::os::unix::fs::symlink(theirs.join(file), own.join(file)).unwrap();
            std::os::unix::fs::symlink(theirs.join("script.lua"), own.join("script.lua")).unwrap();
        }),
        ("a link leads to a new file", |own, theirs| {
            std::os::unix::fs::symlink(theirs.join("new"), own.join(".tiller")).unwrap();
            std::os::unix::fs::symlink(theirs.join("new.json"), own.join(".mcp.json")).unwrap();
        }),
    ];
    for (number, (case, replace)) in cases.into_iter().enumerate() {
        let own = folders.ada.join(number.to_string());
        std::fs::create_dir(&own).unwrap();
        let session = session(&mut stage.ada, &own);
        replace(&own, &folders.theirs);
        folders.check(&mut stage.ada, &session, case);
    }
}

#[test]
fn the_directory_of_an_editor_on_another_machine_is_none_of_this_one() {
    let mut stage = Stage::new(user_folders, &[]);
    let folders = Folders::create(&mut stage);
    let token = token(&stage.home, "ada", &[]);
    let mut editor = Client::editor(&stage.home, &stage.server, &token);
    // Whether it exists on the server makes no difference.
    for cwd in [folders.theirs.clone(), folders.theirs.join("new"), PathBuf::from("/nowhere")] {
        let session = session(&mut editor, &cwd);
        folders.check(&mut editor, &session, &cwd.display().to_string());
    }
}

#[test]
fn the_requests_of_a_user_reach_no_local_address_that_the_server_does_not_name() {
    let answer =
        |_: &Request, _: &str| (200, vec![("content-type", "application/json".to_owned())], "{}".to_owned());
    let (inside, named) = (Web::start(answer), Web::start(answer));
    let house = named.url("/v1");
    let house = format!("[providers.custom.house]\nbase_url = '{house}'\napi_key_env = 'HOUSE'\n");
    let settings = |home: &Home| user_folders(home) + &house;
    let mut stage = Stage::new(settings, &[("HOUSE", "a-key-of-the-house")]);
    let Folders { ada, .. } = Folders::create(&mut stage);
    let port = inside.address.port();
    for host in ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "169.254.169.254", "127.1"] {
        let url = format!("http://{host}:{port}/v1");
        let client = &mut stage.ada;
        let own = session(client, &ada);
        let configure = json!({
            "sessionId": own, "scope": "global", "provider": "openai", "baseUrl": url,
            "apiKey": "a-key-of-ada", "model": "openai/gpt-5",
        });
        client.request("_tiller/providers/configure", configure).unwrap();
        // A name is looked up again a few times, which takes long.
        if host != "localhost" {
            let asked = session(client, &ada);
            let refused = turn(client, &asked, "hello");
            assert!(refused.contains("not on the public internet"), "{host}: {refused}");
        }

        let server = json!({ "type": "http", "name": "theirs", "url": url, "headers": [] });
        let opened = json!({ "cwd": ada, "mcpServers": [server] });
        let opened = client.request("session/new", opened).unwrap()["sessionId"].clone();
        let tools = json!({ "sessionId": opened, "server": "theirs", "force": true });
        let listed = format!("{:?}", client.request("_tiller/mcp/list_tools", tools));
        assert!(listed.contains("not on the public internet"), "{host}: {listed}");
    }
    assert_eq!(inside.requests().len(), 0);

    let client = &mut stage.bob;
    let bob = ada.with_file_name("%42ob");
    let own = session(client, &bob);
    let configure =
        json!({ "sessionId": own, "scope": "global", "provider": "house", "model": "house/gpt-5" });
    client.request("_tiller/providers/configure", configure).unwrap();
    let asked = session(client, &bob);
    turn(client, &asked, "hello");
    assert!(named.requests().iter().any(|request| request.path.starts_with("/v1")));
}
