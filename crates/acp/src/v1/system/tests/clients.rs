//! Tests with clients that decode files differently, delay writes, or reject requests.

use super::*;
use crate::testing::Decoding;

/// Creates an editor that works on the files of the fake disk.
fn over_files(decoding: Decoding) -> EditorScript {
    EditorScript::full().saving().decoding(decoding)
}

/// Edits a file as the tools do: reads the text from the client and replaces a part.
async fn edit(stage: &Stage, file: &str, old: &str, new: &str) -> Result<(), SystemError> {
    let file = path(file);
    let text = stage.system.read_text(&file, None).await?;
    assert!(!text.starts_with('\u{feff}'), "the mark is no part of the text");
    stage.system.replace_text(&file, Some(&text), &text.replace(old, new)).await
}

#[tokio::test(start_paused = true)]
async fn byte_order_mark_and_line_endings_survive_any_client() {
    for (decoding, most) in [(Decoding::Proper, 1), (Decoding::Raw, 1), (Decoding::Plain, 2)] {
        for (before, after) in [
            ("\u{feff}one\ntwo\n", "\u{feff}1\ntwo\n"),
            ("one\r\ntwo\r\n", "1\r\ntwo\r\n"),
            ("\u{feff}one\r\ntwo", "\u{feff}1\r\ntwo"),
        ] {
            let stage = stage_over(over_files(decoding), |disk| disk.add_file("/w/a", before)).await;
            edit(&stage, "/w/a", "one", "1").await.unwrap();
            assert_eq!(stage.disk.text_of("/w/a").as_deref(), Some(after), "{decoding:?} {before:?}");
            let writes = stage.editor().calls("fs/write_text_file").len();
            assert!(writes <= most, "{decoding:?} {before:?}: {writes}");
            // The tools see the text without a mark, and a second edit keeps everything too.
            edit(&stage, "/w/a", "two", "2").await.unwrap();
            let after = after.replace("two", "2");
            assert_eq!(stage.disk.text_of("/w/a"), Some(after), "{decoding:?} {before:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_ordinary_file_is_compared_and_written_once() {
    for decoding in [Decoding::Proper, Decoding::Raw, Decoding::Plain] {
        let stage = stage_over(over_files(decoding), |disk| disk.add_file("/w/a", "one\nü\n")).await;
        edit(&stage, "/w/a", "one", "1").await.unwrap();
        assert_eq!(
            stage.editor().methods(),
            ["fs/read_text_file", "fs/read_text_file", "fs/write_text_file"],
            "{decoding:?}"
        );
    }
}

/// A client that keeps the text in a buffer may know how to save the file.
#[tokio::test(start_paused = true)]
async fn the_form_of_an_unsaved_buffer_is_not_restored() {
    let stage = stage_over(EditorScript::full(), |disk| disk.add_file("/w/a", "\u{feff}one\r\n")).await;
    edit(&stage, "/w/a", "one", "1").await.unwrap();
    assert_eq!(stage.editor().calls("fs/write_text_file").len(), 1);
    assert_eq!(stage.disk.text_of("/w/a").as_deref(), Some("\u{feff}one\r\n"));
}

/// A client that decodes other bytes as UTF-8 shows a text that differs from the file, even if the
/// file is text in another encoding; such a text must not be edited.
#[tokio::test]
async fn files_that_are_not_text_are_refused_as_locally() {
    for (name, bytes, is_text) in [
        ("png", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], false),
        ("latin1", b"caf\xe9\n", true),
        ("utf16", b"\xff\xfea\0b\0", true),
    ] {
        let file = format!("/w/{name}");
        let stage = stage_over(over_files(Decoding::Raw), |disk| disk.add_file(&file, bytes)).await;
        assert_eq!(stage.disk.read_text(&path(&file), None).await.is_ok(), is_text, "{name}");
        for range in [None, Some(TextRange { line: 1, limit: 10 })] {
            let error = stage.system.read_text(&path(&file), range).await.unwrap_err();
            assert!(
                matches!(error, SystemError::NotText { size, .. } if size == bytes.len() as u64),
                "{name}: {error}"
            );
        }
        assert_eq!(stage.system.routes().read_text, Route::Client);
    }
    // A text may legitimately contain the replacement character.
    let stage = stage_over(over_files(Decoding::Raw), |disk| disk.add_file("/w/a", "\u{fffd}\n")).await;
    assert_eq!(stage.system.read_text(&path("/w/a"), None).await.unwrap(), "\u{fffd}\n");
}

/// A client that cannot decode a file has no text of it, so the file is read and written here.
#[tokio::test]
async fn a_file_that_the_client_cannot_decode_is_edited_here() {
    for (before, after) in
        [(&b"caf\xe9 one\n"[..], &b"caf\xe9 1\n"[..]), (b"\xff\xfeo\0n\0e\0", b"\xff\xfe1\0")]
    {
        let fault = Fault::Error(-32603, "stream did not contain valid UTF-8");
        let script = EditorScript::full().fault("fs/read_text_file", fault);
        let stage = stage_over(script, |disk| disk.add_file("/w/a", before)).await;
        edit(&stage, "/w/a", "one", "1").await.unwrap();
        assert_eq!(stage.disk.read(&path("/w/a")).await.unwrap(), after);
        assert!(stage.editor().calls("fs/write_text_file").is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_under_review_is_awaited_without_a_timeout() {
    let review = Fault::Late(Duration::from_secs(3 * 60 * 60));
    let stage = stage(EditorScript::full().fault("fs/write_text_file", review)).await;
    stage.system.replace_text(&path("/w/a"), None, "text").await.unwrap();
    assert_eq!(stage.editor().text_of("/w/a").as_deref(), Some("text"));
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_write_cancels_its_request() {
    let stage = stage(EditorScript::full().fault("fs/write_text_file", Fault::Silence)).await;
    let file = path("/w/a");
    let write = stage.system.replace_text(&file, None, "text");
    tokio::time::timeout(Duration::from_secs(60), write).await.unwrap_err();
    stage.editor().until(|editor| editor.methods().contains(&"$/cancel_request".to_owned())).await;
}

/// A client that has opened terminals cannot have none: the command may have run.
#[tokio::test(start_paused = true)]
async fn a_late_unknown_method_runs_nothing_again() {
    let script = EditorScript::full()
        .named(crate::testing::ClientName::As("acpx", "0.19.1"))
        .start_terminal(Arc::new(|_| TerminalScript::exits("", 0)))
        // The calls before it open and release the first terminal, and settle the stage.
        .fault_at(4, Fault::Error(-32601, "Method not found"));
    let stage = stage_over(script, |disk| {
        disk.add_dir("/w");
        disk.on_command("x", |_| Script::exits(0));
    })
    .await;
    drop(stage.system.spawn(command("x")).await.unwrap());
    stage.settle().await;
    let error = stage.system.spawn(command("x")).await.err().map(|error| error.to_string());
    let error = error.unwrap();
    assert!(error.contains("may have run"), "{error}");
    assert_eq!(stage.spawned(), 0);
    drop(stage.system.spawn(command("x")).await.unwrap());
    assert_eq!(stage.spawned(), 1, "later commands run here");
}

#[tokio::test(start_paused = true)]
async fn only_unknown_methods_fall_back_to_the_local_system() {
    for code in [-32000, -32603, -32602, -32002, -32800, 1] {
        for method in ["fs/write_text_file", "terminal/create"] {
            let script = EditorScript::full().fault(method, Fault::Error(code, "the user said no"));
            let stage = stage_over(script, |disk| {
                disk.add_dir("/w");
                disk.on_command("x", |_| Script::exits(0));
            })
            .await;
            for _ in 0..2 {
                let error = match method {
                    "terminal/create" => stage.system.spawn(command("x")).await.err().map(|e| e.to_string()),
                    _ => {
                        stage.system.replace_text(&path("/w/a"), None, "x").await.err().map(|e| e.to_string())
                    }
                };
                assert!(error.is_some_and(|error| error.contains("the user said no")), "{method} {code}");
            }
            assert_eq!((stage.spawned(), stage.disk.text_of("/w/a")), (0, None), "{method} {code}");
            assert_eq!(stage.editor().calls(method).len(), 2, "{method} {code}");
        }
    }
    // A read also fails, unless the client only reports that it does not know the file.
    let script = EditorScript::full().fault("fs/read_text_file", Fault::Error(-32603, "the user said no"));
    let stage = stage_over(script, |disk| disk.add_file("/w/a", "disk")).await;
    for _ in 0..2 {
        let error = stage.system.read_text(&path("/w/a"), None).await.unwrap_err().to_string();
        assert!(error.contains("the user said no"), "{error}");
    }
    assert_eq!(stage.system.routes().read_text, Route::Client);
}

/// A rejected poll or wait does not end the command, and nothing runs locally.
#[tokio::test(start_paused = true)]
async fn a_refused_output_request_does_not_end_the_command() {
    let script = EditorScript::full()
        .command("x", TerminalScript::exits("hidden", 3))
        .fault("terminal/output", Fault::Error(-32603, "the user said no"));
    let stage = stage(script).await;
    let mut process = stage.system.spawn(command("x")).await.unwrap();
    assert_eq!(process.wait().await.unwrap().code, Some(3));
    assert_eq!(output(&mut process).await, "");
    drop(process);
    stage.settle().await;
    assert_eq!((stage.spawned(), stage.system.routes().spawn), (0, Route::Client));
}
