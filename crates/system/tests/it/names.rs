//! File names that are valid but unusual.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use system::{AbsPath, LocalSystem, System, SystemError};
use tempfile::TempDir;

fn directory() -> (TempDir, AbsPath) {
    let directory = tempfile::tempdir().unwrap();
    let root = AbsPath::from_os(&directory.path().canonicalize().unwrap()).unwrap();
    (directory, root)
}

#[tokio::test]
async fn unusual_names_work_also_if_they_are_not_utf8() {
    let (keep, root) = directory();
    let system = LocalSystem::new();
    let longest = "n".repeat(255);
    // Two spellings of é, and two of the letter a: each is a separate file on this file system.
    let names = ["--force", "a\nb", "\u{202e}txt.exe", &longest, "a.txt", "A.txt", "\u{e9}", "e\u{301}"];
    for name in names {
        system.replace_text(&root.join(name), None, name).await.unwrap();
    }
    let bytes = keep.path().canonicalize().unwrap().join(OsStr::from_bytes(b"\xff\xfe"));
    std::fs::write(&bytes, "x").unwrap();
    let odd = AbsPath::from_os(&bytes).unwrap();
    assert_eq!(system.read_text(&odd, None).await.unwrap(), "x");
    system.replace_text(&odd, Some("x"), "y").await.unwrap();
    assert_eq!(std::fs::read_to_string(&bytes).unwrap(), "y");
    let listed = system.read_dir(&root).await.unwrap();
    let mut listed: Vec<_> = listed.iter().map(|entry| entry.path.clone()).collect();
    let mut expected: Vec<_> = names.iter().map(|name| root.join(name)).chain([odd.clone()]).collect();
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
    for name in names {
        assert_eq!(system.read_text(&root.join(name), None).await.unwrap(), name);
    }
    system.rename(&odd, &root.join("even")).await.unwrap();
    system.remove(&root.join("even")).await.unwrap();
    assert!(matches!(system.read(&odd).await, Err(SystemError::NotFound(_))));
}

#[tokio::test]
async fn every_operation_fails_for_a_path_that_is_too_long() {
    let (_keep, root) = directory();
    let system = LocalSystem::new();
    for path in [root.join("x".repeat(256)), root.join("deep/".repeat(1_000)).join("file")] {
        assert!(system.read_text(&path, None).await.is_err());
        assert!(system.write(&path, b"x").await.is_err());
        assert!(system.metadata(&path).await.is_err());
        assert!(system.remove(&path).await.is_err());
    }
    assert_eq!(system.read_dir(&root).await.unwrap().len(), 0, "nothing was made of them");
}

/// A file that not even root can write.
#[tokio::test]
async fn a_read_only_file_is_unchanged_and_reported() {
    let system = LocalSystem::new();
    let path = AbsPath::new("/proc/sys/kernel/ostype").unwrap();
    let before = system.read_text(&path, None).await.unwrap();
    for error in [
        system.write(&path, b"x").await.unwrap_err(),
        system.replace_text(&path, Some(&before), "x").await.unwrap_err(),
    ] {
        assert!(matches!(error, SystemError::Io { .. }), "{error:?}");
        assert!(error.to_string().contains("/proc/sys/kernel/ostype"), "{error}");
    }
    assert_eq!(system.read_text(&path, None).await.unwrap(), before);
}
