//! Contract: reading files.

use super::{Subject, cases};
use crate::{FileKind, SystemError, TextEncoding, TextRange};

cases! {
    Nothing:
        read_returns_bytes
        read_text_keeps_line_ends
        read_text_removes_the_byte_order_mark
        read_text_of_an_empty_file_is_empty
        read_text_refuses_binary_data
        read_text_decodes_unambiguous_encodings
        ranges_are_counted_from_one
        ranges_omit_the_byte_order_mark
        reading_a_missing_file_is_not_found
        reading_a_directory_is_an_error
        metadata_has_kind_and_size
        the_text_on_disk_is_optional;
}

async fn read_returns_bytes(s: &Subject) {
    for bytes in [&b""[..], b"\x00\xff\r\n", "€".as_bytes()] {
        let path = s.seed("bytes", bytes).await;
        assert_eq!(s.system.read(&path).await.expect("read"), bytes);
    }
}

async fn read_text_keeps_line_ends(s: &Subject) {
    for text in ["a\nb\n", "a\r\nb\r\n", "a\nb", "a\r\nb\n", "\n", "ü€😀\n"] {
        let path = s.seed("text", text).await;
        assert_eq!(s.system.read_text(&path, None).await.expect("read"), text);
    }
}

async fn read_text_removes_the_byte_order_mark(s: &Subject) {
    let path = s.seed("marked", "\u{feff}a\n").await;
    assert_eq!(s.system.read_text(&path, None).await.expect("read"), "a\n");
}

async fn read_text_of_an_empty_file_is_empty(s: &Subject) {
    let path = s.seed("empty", "").await;
    let range = TextRange { line: 1, limit: 5 };
    assert_eq!(s.system.read_text(&path, None).await.expect("read"), "");
    assert_eq!(s.system.read_text(&path, Some(range)).await.expect("read a range"), "");
}

async fn read_text_refuses_binary_data(s: &Subject) {
    for bytes in [&b"a\0b"[..], b"\xff\xfea\0\n", b"\x7fELF\x02\x00\xff"] {
        let path = s.seed("binary", bytes).await;
        for range in [None, Some(TextRange { line: 1, limit: 5 })] {
            let error = s.system.read_text(&path, range).await.expect_err("this is no text");
            assert!(
                matches!(error, SystemError::NotText { size, .. } if size == bytes.len() as u64),
                "{error}"
            );
        }
    }
}

async fn read_text_decodes_unambiguous_encodings(s: &Subject) {
    for (bytes, encoding) in [
        (&b"one\ncaf\xe9\n"[..], TextEncoding::Windows1252),
        (b"\xff\xfeo\0n\0e\0\n\0c\0a\0f\0\xe9\0\n\0", TextEncoding::Utf16Le),
        (b"\xfe\xff\0o\0n\0e\0\n\0c\0a\0f\0\xe9\0\n", TextEncoding::Utf16Be),
        ("one\ncafé\n".as_bytes(), TextEncoding::Utf8),
    ] {
        let path = s.seed("encoded", bytes).await;
        assert_eq!(s.system.read_text(&path, None).await.expect("read"), "one\ncafé\n", "{encoding}");
        let range = TextRange { line: 2, limit: 1 };
        let line = s.system.read_text(&path, Some(range)).await.expect("read a range");
        assert_eq!(line.trim_end(), "café", "{encoding}");
        assert_eq!(s.system.read_disk_snapshot(&path).await.encoding, encoding);
    }
}

async fn ranges_are_counted_from_one(s: &Subject) {
    let path = s.seed("lines", "one\ntwo\r\nthree\nfour").await;
    for (line, limit, expected) in [
        (1, 1, &["one"][..]),
        (2, 2, &["two", "three"]),
        (4, 10, &["four"]),
        (1, 10, &["one", "two", "three", "four"]),
        (5, 1, &[]),
        (400, 1, &[]),
        (1, 0, &[]),
    ] {
        let text = s.system.read_text(&path, Some(TextRange { line, limit })).await.expect("read a range");
        // Whether the last line of a range includes its line ending is up to the backend: editors
        // differ.
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "line {line}, limit {limit}");
    }
}

async fn ranges_omit_the_byte_order_mark(s: &Subject) {
    let path = s.seed("marked", "\u{feff}a\nb\n").await;
    let text = s.system.read_text(&path, Some(TextRange { line: 1, limit: 1 })).await.expect("read a range");
    assert_eq!(text.trim_end(), "a");
}

async fn reading_a_missing_file_is_not_found(s: &Subject) {
    let file = s.seed("file", "x").await;
    for path in [s.path("missing"), s.path("missing/below"), file.join("below")] {
        let errors = [
            s.system.read(&path).await.expect_err("read"),
            s.system.read_text(&path, None).await.expect_err("read_text"),
            s.system.metadata(&path).await.expect_err("metadata"),
            s.system.read_dir(&path).await.expect_err("read_dir"),
        ];
        for error in errors {
            assert!(error.is_not_found(), "{path}: {error}");
        }
    }
}

async fn reading_a_directory_is_an_error(s: &Subject) {
    s.seed("folder/file", "x").await;
    let path = s.path("folder");
    for error in [
        s.system.read(&path).await.expect_err("read"),
        s.system.read_text(&path, None).await.expect_err("read_text"),
    ] {
        assert!(matches!(error, SystemError::IsDirectory(_)), "{error}");
    }
}

async fn metadata_has_kind_and_size(s: &Subject) {
    let path = s.seed("folder/file", "12345").await;
    let file = s.system.metadata(&path).await.expect("metadata of a file");
    assert_eq!((file.kind, file.size), (FileKind::File, 5));
    assert!(file.modified.is_some());
    let directory = s.system.metadata(&s.path("folder")).await.expect("metadata of a directory");
    assert_eq!(directory.kind, FileKind::Directory);
}

async fn the_text_on_disk_is_optional(s: &Subject) {
    let path = s.seed("file", "\u{feff}x\r\n").await;
    let text = s.system.read_text_on_disk(&path).await.expect("read from disk");
    assert_eq!(text.as_deref(), Some("x\r\n"));
    assert_eq!(s.system.read_text_on_disk(&s.path("missing")).await.expect("no file is no error"), None);
    let snapshot = s.system.read_disk_snapshot(&path).await;
    let size = s.system.metadata(&path).await.expect("stat").size;
    assert_eq!((snapshot.text.expect("look"), snapshot.metadata.expect("look").size), (text, size));
    let each = s.system.metadata_of(&[path.clone(), s.path("missing"), path]).await;
    let sizes: Vec<_> = each.into_iter().map(|found| found.ok().map(|found| found.size)).collect();
    assert_eq!(sizes, [Some(size), None, Some(size)], "in their order");
    let snapshot = s.system.read_disk_snapshot(&s.path("missing")).await;
    assert_eq!(snapshot.text.expect("no file is no error"), None);
    snapshot.metadata.expect_err("of nothing nothing is known");
}
