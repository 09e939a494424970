//! Files that functions of integrations upload.

use crate::{
    agent::Agent,
    home::{Home, stderr, stdout},
    scripts::{run_in_a_turn, turn_with},
    service::Service,
};
use serde_json::{Value, json};

/// A service that accepts every upload.
fn service() -> Service {
    Service::start(|_, _| {
        (200, "content-type: application/json\r\n".to_owned(), json!({ "took": true }).to_string())
    })
}

/// Creates a home with that service, enabled and with allowed writes.
fn stage(service: &Service) -> Home {
    let home = Home::new();
    home.settings(
        "providers.openai.wire = 'chat'\nagent.default_model = 'offline/pilot'\nproviders.local.discover = false\n\
         [integrations.up]\nenabled = true\npermissions = { read = 'allow', write = 'allow' }\n",
    );
    let binary = json!({ "type": "string", "format": "binary" });
    let one = json!({
        "type": "object", "required": ["file"],
        "properties": { "file": binary, "title": { "type": "string" }, "about": { "type": "object" } },
    });
    let many = json!({ "type": "object", "properties": {
        "pages": { "type": "array", "items": binary }, "cover": { "contentMediaType": "image/png" },
    } });
    let operation = |id: &str, schema: Value, encoding: Value| {
        let content = json!({ "multipart/form-data": { "schema": schema, "encoding": encoding } });
        json!({ "post": { "operationId": id, "requestBody": { "required": true, "content": content } } })
    };
    let document = json!({
        "openapi": "3.1.0", "info": { "title": "Up" }, "servers": [{ "url": service.url }],
        "paths": {
            "/one": operation("send", one, json!({})),
            "/many": operation("sendMany", many, json!({ "pages": { "contentType": "application/pdf" } })),
        },
    });
    home.write("up.json", &document.to_string());
    let added = home.run(&["integrations", "add", "up", "--openapi", "up.json", "--local", "--json"]);
    let printed: Value = serde_json::from_slice(&added.stdout).unwrap();
    assert_eq!((&printed["functions"], &printed["left_out"]), (&json!(2), &json!([])), "{printed}");
    home
}

/// Returns the parts of the last multipart request.
fn sent(service: &Service) -> Vec<String> {
    let asked = service.asked().pop().expect("something was sent");
    let line =
        asked.header("content-type").strip_prefix("multipart/form-data; boundary=").unwrap().to_owned();
    let line = format!("--{line}");
    let parts = asked.body.split(line.as_str()).skip(1);
    let inside =
        |part: &str| part.strip_prefix("\r\n").and_then(|part| part.strip_suffix("\r\n")).map(str::to_owned);
    parts.filter_map(inside).collect()
}

#[test]
fn a_file_is_sent_as_a_part_with_its_name_and_type() {
    let service = service();
    let home = stage(&service);
    home.write("logo.svg", "<svg/>\n");
    home.write("notes", "text\n");
    let call = |args: &[&str]| {
        let mut line = vec!["integrations", "call", "--json"];
        line.extend(args);
        let output = home.run(&line);
        serde_json::from_slice::<Value>(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
    };
    let printed = call(&["up.send", "--file=logo.svg", "--title=It", r#"--about={"a":1}"#]);
    assert_eq!((&printed["success"], &printed["data"]["took"]), (&json!(true), &json!(true)), "{printed}");
    let part = |head: &str, text: &str| format!("Content-Disposition: form-data; {head}\r\n\r\n{text}");
    assert_eq!(
        sent(&service),
        [
            part("name=\"title\"", "It"),
            part("name=\"about\"\r\nContent-Type: application/json", "{\"a\":1}"),
            part("name=\"file\"; filename=\"logo.svg\"\r\nContent-Type: image/svg+xml", "<svg/>\n"),
        ]
    );
    let many = call(&["up.send_many", r#"{"pages":["notes","logo.svg"],"cover":"notes"}"#]);
    assert_eq!(many["success"], true, "{many}");
    let parts = sent(&service).join("|");
    assert_eq!(parts.matches("name=\"pages\"").count(), 2, "{parts}");
    assert_eq!(parts.matches("Content-Type: application/pdf").count(), 2, "{parts}");
    assert!(parts.contains("name=\"cover\"; filename=\"notes\"\r\nContent-Type: image/png"), "{parts}");
    // A dry run sends nothing, and neither does a call with an unusable file.
    let dry = call(&["up.send", "--file=logo.svg", "--dry-run"]);
    assert_eq!(
        dry["data"]["body"]["files"],
        json!([{ "part": "file", "filename": "logo.svg", "type": "image/svg+xml", "bytes": 7 }]),
        "{dry}"
    );
    let large = std::fs::File::create(home.file("large")).unwrap();
    large.set_len(33 * 1024 * 1024).unwrap();
    for (file, says) in [
        ("missing.png", "cannot be read"),
        (".", "is a directory; name a file."),
        ("large", "is too large: the files of one call are limited to 32 MB in total."),
    ] {
        let printed = call(&["up.send", "--arg", &format!("file={file}")]);
        let error = printed["error"].as_str().unwrap();
        assert!(error.starts_with("Parameter 'file': ") && error.contains(says), "{error}");
    }
    assert!(service.asked().is_empty());
    let schema = home.run(&["integrations", "docs", "up.send"]);
    assert!(
        stdout(&schema).contains("`file` (string, required): (Path of the file that is sent)"),
        "{}",
        stdout(&schema)
    );
}

#[test]
fn a_model_uploads_files_it_may_read_with_the_editors_text() {
    let service = service();
    let home = stage(&service);
    home.write("a.txt", "saved\n");
    home.write(".env", "SECRET=canary-4\n");
    let (printed, _) =
        turn_with(&home, "return app.integrations.up.send{file = 'a.txt'}.took", &[("a.txt", "unsaved\n")]);
    assert_eq!(printed, "Return value: true");
    let parts = sent(&service);
    assert!(
        parts[0].ends_with("filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nunsaved\n"),
        "{parts:?}"
    );
    for file in [".env", "/etc/passwd"] {
        let code = format!("return app.integrations.up.send{{file = '{file}'}}");
        let printed = run_in_a_turn(&home, &code);
        assert!(printed.contains("Error: "), "{file}: {printed}");
        let output = home.run(&["lua", "run", "-e", &format!("app.integrations.up.send{{file = '{file}'}}")]);
        assert!(!output.status.success(), "{file}: {}", stdout(&output));
    }
    assert!(service.asked().is_empty(), "nothing was sent");
}

#[test]
fn a_program_uploads_only_files_that_may_be_read() {
    let service = service();
    let home = stage(&service);
    home.write("a.txt", "text\n");
    home.write(".env", "SECRET=canary-5\n");
    let mut agent = Agent::start(&home, &[]);
    agent.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).unwrap();
    let session = agent.new_session(&home);
    let mut call = |file: &str| {
        let params = json!({ "sessionId": session, "function": "up.send", "args": { "file": file } });
        let id = agent.post("_tiller/integrations/call", params);
        loop {
            let message = agent.receive().expect("an answer, not the end");
            if message["id"] == id && message.get("method").is_none() {
                return message["result"].clone();
            }
        }
    };
    let printed = call("a.txt");
    assert_eq!((&printed["success"], sent(&service).len()), (&json!(true), 1), "{printed}");
    for file in [".env", "/etc/passwd"] {
        let printed = call(file);
        assert_eq!(printed["success"], false, "{file}: {printed}");
    }
    assert!(service.asked().is_empty());
    agent.hang_up();
}
