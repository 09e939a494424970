//! Contract: directories, links and walks.

use super::{Subject, cases};
use crate::{AbsPath, FileKind, WalkOptions};

cases! {
    Nothing:
        read_dir_is_sorted
        resolve_keeps_missing_components
        walk_is_sorted_and_limited
        walk_skips_ignored_files
        walk_of_a_file_is_the_file
        walk_of_a_missing_path_is_not_found;
    Links:
        resolve_follows_links
        read_dir_and_walk_do_not_follow_links
        a_dangling_link_is_of_another_kind;
}

async fn walk(s: &Subject, root: &AbsPath, limit: usize, include_ignored: bool) -> Vec<String> {
    let files = s.system.walk(root, WalkOptions { limit, include_ignored }).await.expect("walk");
    files.iter().map(|file| file.relative_to(root).expect("it lies below the root").to_owned()).collect()
}

async fn read_dir_is_sorted(s: &Subject) {
    for file in ["b", "a/file", "B", ".hidden", "c"] {
        s.seed(file, "").await;
    }
    let entries = s.system.read_dir(&s.root).await.expect("list");
    let found: Vec<_> =
        entries.iter().map(|entry| (entry.path.file_name().expect("it has a name"), entry.kind)).collect();
    let (file, directory) = (FileKind::File, FileKind::Directory);
    assert_eq!(found, [(".hidden", file), ("B", file), ("a", directory), ("b", file), ("c", file)]);
    assert_eq!(entries[0].path, s.path(".hidden"));
}

async fn resolve_keeps_missing_components(s: &Subject) {
    let file = s.seed("folder/file", "").await;
    for path in [file.clone(), s.path("folder/new"), s.path("new/deep/er"), file.join("below")] {
        assert_eq!(s.system.resolve(&path).await.expect("resolve"), path);
    }
}

async fn walk_is_sorted_and_limited(s: &Subject) {
    for file in ["b/z", "b/a", "a", "b-side", "c/d/e"] {
        s.seed(file, "").await;
    }
    let all = ["a", "b/a", "b/z", "b-side", "c/d/e"];
    assert_eq!(walk(s, &s.root, 100, false).await, all);
    assert_eq!(walk(s, &s.root, 3, false).await, all[..3]);
    assert_eq!(walk(s, &s.path("b"), 100, false).await, ["a", "z"]);
}

async fn walk_skips_ignored_files(s: &Subject) {
    for (file, text) in [
        (".gitignore", "*.log\n/build/\n!keep.log\n"),
        (".ignore", "notes\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("notes", ""),
        ("build/out", ""),
        ("src/build/in", ""),
        ("src/.gitignore", "!a.log\nlocal\n"),
        ("src/a.log", ""),
        ("src/local", ""),
        ("src/main", ""),
        (".hidden/file", ""),
        ("node_modules/x/y", ""),
        ("src/vendor/z", ""),
        ("target/debug/t", ""),
    ] {
        s.seed(file, text).await;
    }
    let visible = ["keep.log", "src/a.log", "src/build/in", "src/main"];
    assert_eq!(walk(s, &s.root, 100, false).await, visible);
    assert_eq!(walk(s, &s.root, 100, true).await.len(), 15);
    // A directory that the caller names is walked, but ignore rules from above it apply.
    assert_eq!(walk(s, &s.path("target"), 100, false).await, ["debug/t"]);
    s.seed("deep/er/b.log", "").await;
    assert_eq!(walk(s, &s.path("deep"), 100, false).await, Vec::<String>::new());
}

async fn walk_of_a_file_is_the_file(s: &Subject) {
    let file = s.seed("folder/file", "").await;
    let found = s.system.walk(&file, WalkOptions { limit: 5, include_ignored: false }).await.expect("walk");
    assert_eq!(found, [file]);
}

async fn walk_of_a_missing_path_is_not_found(s: &Subject) {
    let options = WalkOptions { limit: 5, include_ignored: false };
    let error = s.system.walk(&s.path("missing"), options).await.expect_err("there is nothing");
    assert!(error.is_not_found(), "{error}");
}

async fn resolve_follows_links(s: &Subject) {
    let file = s.seed("real/deep/file", "").await;
    s.make_link("link", "real/deep");
    s.make_link("out", "/outside-of-everything");
    s.make_link("up", "link/../new");
    s.make_link("loop", "loop");
    for (path, expected) in [
        ("link/file", file.clone()),
        ("link/new", s.path("real/deep/new")),
        ("up", s.path("real/new")),
        ("out/x", AbsPath::new("/outside-of-everything/x").expect("absolute")),
    ] {
        assert_eq!(s.system.resolve(&s.path(path)).await.expect("resolve"), expected, "{path}");
    }
    s.system.resolve(&s.path("loop/x")).await.expect_err("a loop has no end");
    assert_eq!(s.system.read(&s.path("link/file")).await.expect("read through a link"), b"");
}

async fn read_dir_and_walk_do_not_follow_links(s: &Subject) {
    s.seed("real/file", "").await;
    s.make_link("link", "real");
    s.make_link("link-to-file", "real/file");
    let kinds: Vec<_> =
        s.system.read_dir(&s.root).await.expect("list").into_iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [FileKind::Other, FileKind::Other, FileKind::Directory]);
    assert_eq!(walk(s, &s.root, 100, false).await, ["real/file"]);
}

async fn a_dangling_link_is_of_another_kind(s: &Subject) {
    let link = s.make_link("link", "missing");
    assert_eq!(s.system.metadata(&link).await.expect("metadata").kind, FileKind::Other);
    assert!(s.system.read(&link).await.expect_err("there is no file").is_not_found());
}
