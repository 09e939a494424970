//! Web pages in a real browser that try to use `tiller serve`: of a listed origin, of another site,
//! and of a name that was rebound to the server's address (DNS rebinding).
//!
//! Every page knows a valid token and a valid ticket, so that nothing but the checks of the host
//! and of the origin protects the server.

mod front;

use crate::{
    home::{Home, stdout},
    team::{Server, token},
    web::Web,
};
use front::Front;
use serde_json::Value;
use std::{
    env,
    io::Write as _,
    process::{Child, Command, Stdio},
    sync::mpsc::channel,
    time::Duration,
};
use tempfile::TempDir;

const PAGE: &str = include_str!("page.html");
const WAIT: Duration = Duration::from_secs(120);
/// The name that the settings list, and one that an attacker owns. The browser resolves both to
/// loopback.
const LISTED: &str = "agents.example";
const FOREIGN: &str = "evil.example";

/// A browser that ends with the test.
struct Browser {
    child: Child,
    _profile: TempDir,
}

impl Browser {
    /// Opens a page; `None` if this machine has no browser. That fails where it is required.
    fn open(url: &str) -> Option<Self> {
        let is_required = env::var_os("TILLER_REQUIRE_CHROMIUM").is_some();
        let profile = tempfile::tempdir().unwrap();
        let rules = format!("MAP {LISTED} 127.0.0.1, MAP {FOREIGN} 127.0.0.1");
        for program in ["chromium", "chromium-browser", "google-chrome"] {
            let mut command = Command::new(program);
            command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
            command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
            command.arg(format!("--host-resolver-rules={rules}"));
            command.arg(format!("--user-data-dir={}", profile.path().display()));
            // It runs until it is killed.
            command.args(["--remote-debugging-port=0", url]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if let Ok(child) = command.spawn() {
                return Some(Self { child, _profile: profile });
            }
        }
        assert!(!is_required, "TILLER_REQUIRE_CHROMIUM requires Chromium, and there is none");
        // To the terminal, whether or not the output of tests is shown.
        let _ = writeln!(std::io::stderr(), "SKIPPED: this test needs Chromium");
        None
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a ticket for a page of an origin.
fn ticket(server: &Server, host: &str, token: &str, origin: &str) -> String {
    let headers = [("authorization", format!("Bearer {token}")), ("origin", origin.to_owned())];
    let answer = front::post(server.place(), host, "/acp/ticket", &headers);
    let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"));
    answer["ticket"].as_str().unwrap().to_owned()
}

/// Returns how many connections the server has.
fn connections(home: &Home) -> usize {
    let status = home.run(&["serve", "status", "--json"]);
    let status: Value =
        serde_json::from_slice(&status.stdout).unwrap_or_else(|_| panic!("{}", stdout(&status)));
    status["connections"].as_array().unwrap().len()
}

/// Opens the page under a name. Returns what it reports of requests to its own origin and to the
/// listed one, and how many connections the server has afterwards.
fn visit(name: &str) -> Option<(Value, usize)> {
    let home = Home::new();
    let (sender, reports) = channel();
    let report = Web::start(move |request, _| {
        let _ = sender.send(request.body.clone());
        (204, Vec::new(), String::new())
    });
    let front = Front::bind();
    let listed = format!("{LISTED}:{}", front.port());
    home.settings(&format!("[serve]\nhosts = ['{listed}']\norigins = ['http://{listed}']\n"));
    let token = token(&home, "ada", &[]);
    let server = Server::start(&home, &["--listen", "tcp:127.0.0.1:0"]);
    let origin = format!("http://{listed}");
    let tickets = [(); 2].map(|()| ticket(&server, &listed, &token, &origin));
    let page = PAGE
        .replace("@TOKEN@", &token)
        .replace("@OWN_TICKET@", &tickets[0])
        .replace("@OTHER_TICKET@", &tickets[1])
        .replace("@OTHER@", &origin)
        .replace("@REPORT@", &report.url("/report"));
    front.serve(page, server.place());
    let _browser = Browser::open(&format!("http://{name}:{}/page", front.port()))?;
    let reported = reports.recv_timeout(WAIT).expect("the page reports");
    let reported = serde_json::from_str(&reported).unwrap();
    Some((reported, connections(&home)))
}

#[test]
fn a_page_of_a_listed_origin_uses_the_server() {
    let Some((reported, connections)) = visit(LISTED) else { return };
    let own = &reported["own"];
    let expected = [
        ("initialize", "200"),
        ("initialize_without_token", "401"),
        ("simple_request", "401"),
        ("ticket", "200"),
        ("content", "404"),
        ("another_path", "404"),
        ("events", "failed"),
        ("socket", "initialized"),
        ("form", "sent"),
    ];
    for (what, expected) in expected {
        assert_eq!(own[what], expected, "{what}: {reported}");
    }
    assert_eq!(reported["other"], *own, "both names are the same");
    assert!(connections > 0);
}

#[test]
fn a_page_of_another_site_and_of_a_rebound_name_gets_nothing() {
    let Some((reported, connections)) = visit(FOREIGN) else { return };
    // The browser takes the rebound server for the page's own, and lets it see the refusals.
    let own = [
        ("initialize", "403"),
        ("initialize_without_token", "403"),
        ("simple_request", "403"),
        ("ticket", "403"),
        ("content", "403"),
        ("another_path", "403"),
        ("events", "failed"),
        ("socket", "failed"),
        ("form", "sent"),
    ];
    for (what, expected) in own {
        assert_eq!(reported["own"][what], expected, "{what}: {reported}");
        let expected = if what == "form" { "sent" } else { "failed" };
        assert_eq!(reported["other"][what], expected, "{what}: {reported}");
    }
    assert_eq!(connections, 0);
}
