//! What connections of commands lead to.

use crate::stage::Stage;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn requests_reach_the_hosts_that_are_allowed() {
    let Some(stage) = Stage::new(None).await else { return };
    let answer = stage.run("curl -sS http://a.ok.test/x http://a.ok.test/y").await;
    assert_eq!(answer, Ok("hellohello".to_owned()));
    let arrived = stage.arrived();
    assert_eq!(arrived.len(), 2, "{arrived:?}");
    assert!(arrived[0].starts_with("GET /x HTTP/1.1\r\n") && arrived[0].contains("Host: a.ok.test\r\n"));
    let (sent, received) = stage.traffic();
    assert!(sent > 50 && received == 2 * 43, "{sent} {received}");
    assert_eq!(stage.refused(), Vec::<String>::new());
    let python = "import urllib.request as r; print(r.urlopen('http://b.ok.test/z').read().decode())";
    assert_eq!(stage.run(&format!("/usr/bin/python3 -c \"{python}\"")).await, Ok("hello\n".to_owned()));
}

/// A request that names two hosts, which curl does not send.
const TWO_HOSTS: &str = r#"bash -c 'exec 3<>/dev/tcp/ok.test/80; printf "GET / HTTP/1.1\r\nHost: ok.test\r\nHost: evil.test\r\n\r\n" >&3; grep -q "200 OK" <&3'"#;

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let Some(stage) = Stage::new(None).await else { return };
    for (line, reason) in [
        ("curl -sSf -H 'Host: evil.test' http://ok.test/", "names another host"),
        ("curl -sSf -H 'Host:' http://ok.test/", "does not name one host"),
        (TWO_HOSTS, "does not name one host"),
        ("curl -sSf --request-target http://evil.test/ http://ok.test/", "names another host"),
        ("curl -sSf -p -x http://ok.test:80 http://evil.test/", "asks for a tunnel"),
        ("curl -sSf -H 'Upgrade: x' -H 'Connection: upgrade' http://ok.test/", "another protocol"),
        ("curl -sSf -d data http://group.ok.test/", "only GET and HEAD"),
        ("curl -sSf http://other.test/", "the test says no"),
    ] {
        let output = stage.run(line).await.expect_err(line);
        let refused = stage.refused();
        assert!(refused.iter().any(|refused| refused.contains(reason)), "{line}: {output} {refused:?}");
        assert_eq!(stage.arrived(), Vec::<String>::new(), "{line}");
    }
}

#[tokio::test]
async fn tls_reaches_the_host_that_it_names() {
    let Some(stage) = Stage::new(None).await else { return };
    stage.run("curl -sS https://ok.test/").await.unwrap_err();
    let arrived = stage.arrived();
    assert!(arrived[0].starts_with("\u{16}\u{3}") && arrived[0].contains("ok.test"), "{arrived:?}");
    for (line, reason) in [
        ("curl -sS --connect-to ::ok.test:443 https://evil.test/", "asks for evil.test by TLS"),
        ("curl -sS http://ok.test:443/", "is not TLS"),
        ("curl -sS https://other.test/", "the test says no"),
    ] {
        let output = stage.run(line).await.unwrap_err();
        let refused = stage.refused();
        assert!(refused.iter().any(|refused| refused.contains(reason)), "{line}: {output} {refused:?}");
        assert!(line.contains("http:") || output.contains("access denied"), "{line}: {output}");
        assert_eq!(stage.arrived(), Vec::<String>::new(), "{line}");
    }
}

#[tokio::test]
async fn names_lead_to_checked_addresses_only() {
    let Some(stage) = Stage::new(None).await else { return };
    for (name, reason) in [
        ("rebound.ok.test", "that of this machine"),
        ("metadata.ok.test", "nothing is sent to its address"),
        ("private.ok.test", "not on the public internet"),
    ] {
        stage.run(&format!("curl -sSf http://{name}/")).await.unwrap_err();
        let refused = stage.refused();
        assert!(refused.iter().any(|refused| refused.contains(reason)), "{name}: {refused:?}");
    }
    assert_eq!(stage.arrived(), Vec::<String>::new());
    assert_eq!(stage.run("curl -sS http://local.ok.test/").await, Ok("hello".to_owned()));
    for address in ["http://169.254.169.254/", "http://93.184.216.34/", "http://[::ffff:10.0.0.5]/"] {
        stage.run(&format!("curl -sSf {address}")).await.unwrap_err();
        assert!(stage.refused()[0].ends_with("the test says no"), "{address}");
    }
    let output = stage.run("curl -sS http://denied.test/").await.unwrap_err();
    assert!(output.contains("Could not resolve host"), "{output}");
    assert_eq!(stage.refused(), ["denied.test: the test says no"]);
}

#[tokio::test]
async fn other_ports_of_hosts_are_unreachable() {
    let Some(stage) = Stage::new(None).await else { return };
    let serve = "/usr/bin/python3 -m http.server 3000 >/dev/null 2>&1 & \
                 until curl -sf http://127.0.0.1:3000/ >/dev/null; do :; done; ";
    let output = stage.run(&format!("{serve} curl -sS http://ok.test:3000/")).await.unwrap_err();
    assert!(output.contains("Failed to connect") || output.contains("connect to ok.test"), "{output}");
    let direct = stage.run("curl -sS --max-time 5 http://127.0.0.1:80/").await;
    assert!(direct.is_err(), "{direct:?}");
    assert_eq!(stage.arrived(), Vec::<String>::new());
}

#[tokio::test]
async fn a_host_may_speak_first() {
    let Some(stage) = Stage::new(Some("SSH-2.0-test\n")).await else { return };
    let line =
        "bash -c 'exec 3<>/dev/tcp/ok.test/22; read -r line <&3; echo $line; echo reply >&3; head -c0 <&3'";
    assert_eq!(stage.run(line).await, Ok("SSH-2.0-test\n".to_owned()));
}

#[tokio::test]
async fn a_connection_waits_for_the_answer() {
    let Some(stage) = Stage::new(None).await else { return };
    let (answer, ()) = tokio::join!(stage.run("curl -sS http://held.test/"), async {
        stage.asked().await;
        assert_eq!(stage.arrived(), Vec::<String>::new());
        stage.answer();
    });
    assert_eq!(answer, Ok("hello".to_owned()));
}

#[tokio::test]
async fn commands_get_no_proxy() {
    let Some(stage) = Stage::new(None).await else { return };
    let line = "env | grep -i _proxy= ; echo $npm_config_fetch_retry_maxtimeout";
    assert_eq!(stage.run(line).await, Ok("4000\n".to_owned()));
}

#[tokio::test]
async fn commands_reach_a_service_of_this_machine() {
    let Some(stage) = Stage::new(None).await else { return };
    for address in ["127.0.0.1", "[::1]", "localhost", "$(uname -n)"] {
        let answer = stage.run(&format!("curl -sS http://{address}:5432/")).await;
        assert_eq!(answer, Ok("hello".to_owned()), "{address}");
    }
    stage.run("curl -sS http://ok.test:5432/").await.unwrap_err();
    stage.run("curl -sS http://127.0.0.1:22/").await.unwrap_err();
    assert_eq!(stage.arrived().len(), 4);
}

#[tokio::test]
async fn this_machine_reaches_servers_of_commands() {
    let Some(stage) = Stage::new(None).await else { return };
    for (bind, port) in [("127.0.0.1", 29_431), ("::1", 29_432)] {
        let line = format!(
            "echo inside > file; exec 3< <(/usr/bin/python3 -m http.server --bind {bind} {port} 2>&1); \
             while [ ! -e stop ]; do read -t 0.1 <&3; done; rm stop; kill $!"
        );
        let line = format!("bash -c '{line}'");
        let (output, ()) = tokio::join!(stage.run(&line), async {
            let addresses = stage.servers(&[port]).await;
            // More connections than there are sockets at a time.
            for _ in 0..80 {
                let mut stream = TcpStream::connect(addresses[0]).await.unwrap();
                stream.write_all(b"GET /file HTTP/1.0\r\n\r\n").await.unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                assert!(answer.ends_with("inside\n"), "{answer}");
            }
            // Only root can try it as another user.
            let other = "setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS -m 5";
            let refused = stage.outside(&format!("{other} http://{}/file", addresses[0])).await;
            assert!(refused.is_err(), "another user of the machine is refused");
            stage.write("stop");
        });
        assert!(output.is_ok(), "{output:?}");
        let ended = stage.servers(&[]).await;
        assert_eq!(ended, []);
    }
}
