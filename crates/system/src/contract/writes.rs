//! Contract: changing files.

use super::{Subject, cases};
use crate::SystemError;

cases! {
    Writes:
        write_replaces_bytes
        write_requires_the_directory
        write_text_does_not_change_the_text
        write_text_keeps_the_byte_order_mark
        write_text_keeps_the_encoding
        write_text_creates_directories
        a_text_that_has_changed_is_not_replaced
        a_write_that_fails_changes_nothing
        remove_removes_files_and_directories
        rename_replaces_nothing
        an_existing_directory_is_not_an_error;
    LinksAndWrites:
        writes_follow_links
        remove_removes_the_link_only;
}

async fn write_replaces_bytes(s: &Subject) {
    let path = s.path("file");
    for bytes in [&b"a longer content"[..], b"\xff\x00", b""] {
        s.system.write(&path, bytes).await.expect("write");
        assert_eq!(s.bytes(&path).await, bytes);
    }
}

async fn write_requires_the_directory(s: &Subject) {
    let error = s.system.write(&s.path("missing/file"), b"x").await.expect_err("there is no folder");
    assert!(error.is_not_found(), "{error}");
    assert!(s.setup.metadata(&s.path("missing")).await.is_err());
}

async fn write_text_does_not_change_the_text(s: &Subject) {
    let path = s.path("file");
    let mut was = None;
    for text in ["a\r\nb", "", "a\n", "no end", "ü\n\n"] {
        s.system.replace_text(&path, was, text).await.expect("write");
        assert_eq!(s.bytes(&path).await, text.as_bytes());
        assert_eq!(s.system.read_text(&path, None).await.expect("read"), text);
        was = Some(text);
    }
}

async fn write_text_keeps_the_byte_order_mark(s: &Subject) {
    let path = s.seed("marked", "\u{feff}old").await;
    for (was, text) in [("old", "new"), ("new", "\u{feff}new")] {
        s.system.replace_text(&path, Some(was), text).await.expect("write");
        assert_eq!(s.bytes(&path).await, "\u{feff}new".as_bytes());
    }
}

async fn write_text_keeps_the_encoding(s: &Subject) {
    for (before, after) in [
        (&b"caf\xe9\n"[..], &b"th\xe9\n"[..]),
        (b"\xff\xfea\0\n\0", b"\xff\xfet\0h\0\xe9\0\n\0"),
        (b"\xfe\xff\0a\0\n", b"\xfe\xff\0t\0h\0\xe9\0\n"),
    ] {
        let path = s.seed("encoded", before).await;
        let was = s.system.read_text_on_disk(&path).await.expect("read");
        s.system.replace_text(&path, was.as_deref(), "thé\n").await.expect("write");
        assert_eq!(s.bytes(&path).await, after);
    }
    let path = s.seed("latin", b"caf\xe9\n").await;
    let error =
        s.system.replace_text(&path, Some("café\n"), "→\n").await.expect_err("it has no such character");
    // Where a client writes, the error comes from the client.
    assert!(error.to_string().contains("'→' (U+2192)"), "{error}");
    assert_eq!(s.bytes(&path).await, b"caf\xe9\n");
}

async fn write_text_creates_directories(s: &Subject) {
    let path = s.path("a/b/file");
    s.system.replace_text(&path, None, "x").await.expect("write");
    assert_eq!(s.bytes(&path).await, b"x");
}

async fn a_text_that_has_changed_is_not_replaced(s: &Subject) {
    let path = s.seed("file", "now\n").await;
    let missing = s.path("folder/missing");
    for (path, was) in [(&path, Some("then\n")), (&path, Some("")), (&path, None), (&missing, Some("now\n"))]
    {
        let error = s.system.replace_text(path, was, "new\n").await.expect_err("it is another text");
        assert!(matches!(&error, SystemError::Changed(at) if at == path), "{was:?}: {error}");
    }
    assert_eq!(s.bytes(&path).await, b"now\n");
    assert!(s.setup.metadata(&s.path("folder")).await.is_err(), "a folder was left");
    s.system.replace_text(&path, Some("now\n"), "new\n").await.expect("write");
    assert_eq!(s.bytes(&path).await, b"new\n");
}

async fn a_write_that_fails_changes_nothing(s: &Subject) {
    let file = s.seed("folder/file", "original").await;
    let directory = s.path("folder");
    for (path, what) in [(directory.clone(), "a directory"), (file.join("below"), "below a file")] {
        s.system.write(&path, b"x").await.expect_err(what);
        let error = s.system.replace_text(&path, None, "x").await.expect_err(what);
        assert_eq!(matches!(error, SystemError::IsDirectory(_)), path == directory, "{what}: {error}");
    }
    assert_eq!(s.bytes(&file).await, b"original");
    let names = s.setup.read_dir(&directory).await.expect("list");
    assert_eq!(names.len(), 1, "a temporary file was left: {names:?}");
}

async fn remove_removes_files_and_directories(s: &Subject) {
    let file = s.seed("folder/deep/file", "x").await;
    let other = s.seed("folder-other/file", "x").await;
    s.system.remove(&file).await.expect("remove a file");
    assert!(s.system.remove(&file).await.expect_err("it is gone").is_not_found());
    s.system.remove(&s.path("folder")).await.expect("remove a directory");
    assert!(s.system.metadata(&s.path("folder")).await.expect_err("it is gone").is_not_found());
    assert_eq!(s.bytes(&other).await, b"x");
}

async fn rename_replaces_nothing(s: &Subject) {
    let (from, to, taken) = (s.seed("from", "new").await, s.path("to"), s.seed("taken", "old").await);
    let error = s.system.rename(&from, &taken).await.expect_err("there is a file");
    assert!(matches!(&error, SystemError::Exists(path) if *path == taken), "{error}");
    assert_eq!((s.bytes(&from).await, s.bytes(&taken).await), (b"new".to_vec(), b"old".to_vec()));
    s.system.rename(&from, &to).await.expect("rename");
    assert_eq!(s.bytes(&to).await, b"new");
    assert!(s.system.rename(&from, &to).await.expect_err("it is gone").is_not_found());
    s.seed("folder/deep/file", "x").await;
    s.system.rename(&s.path("folder"), &s.path("moved")).await.expect("rename a directory");
    assert_eq!(s.bytes(&s.path("moved/deep/file")).await, b"x");
    let missing = s.path("missing/file");
    let error = s.system.rename(&to, &missing).await.expect_err("there is no folder");
    assert!(matches!(&error, SystemError::NotFound(path) if *path == missing), "{error}");
}

async fn an_existing_directory_is_not_an_error(s: &Subject) {
    let path = s.path("a/b");
    for _ in 0..2 {
        s.system.create_dir_all(&path).await.expect("create directories");
    }
    let file = s.seed("file", "x").await;
    s.system.create_dir_all(&file).await.expect_err("a file is in the way");
    assert_eq!(s.bytes(&file).await, b"x");
}

async fn writes_follow_links(s: &Subject) {
    let target = s.seed("real/file", "old").await;
    let link = s.make_link("link", "real/file");
    s.system.replace_text(&link, Some("old"), "by text").await.expect("write text through a link");
    assert_eq!(s.bytes(&target).await, b"by text");
    s.system.write(&link, b"by bytes").await.expect("write bytes through a link");
    assert_eq!(s.bytes(&target).await, b"by bytes");
    assert_eq!(s.system.resolve(&link).await.expect("resolve"), target, "the link is still a link");
    let dangling = s.make_link("dangling", "real/new");
    s.system.replace_text(&dangling, None, "new").await.expect("write through a dangling link");
    assert_eq!(s.bytes(&s.path("real/new")).await, b"new");
}

async fn remove_removes_the_link_only(s: &Subject) {
    let target = s.seed("real/file", "x").await;
    let link = s.make_link("link", "real");
    s.system.remove(&link).await.expect("remove a link");
    assert_eq!(s.bytes(&target).await, b"x");
    assert!(s.system.metadata(&link).await.expect_err("it is gone").is_not_found());
}
