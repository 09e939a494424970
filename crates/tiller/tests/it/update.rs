//! `tiller update`: releases from a server on loopback, signed with a key of the test.

use crate::home::{Home, stderr, stdout};
use flate2::{Compression, write::GzEncoder};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

const TARGET: &str = "test-target";

/// The files of a release, served on loopback; returns the URL of their directory.
fn serve(files: BTreeMap<String, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/latest", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            // Wait for the end of the request.
            lines.find(|line| line.is_empty());
            let name = first.split(' ').nth(1).unwrap_or_default().trim_start_matches("/latest/").to_owned();
            let (status, body) = files.get(&name).map_or((404, &[][..]), |body| (200, body.as_slice()));
            let head =
                format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok();
        }
    });
    url
}

/// A key for releases.
struct Key(Ed25519KeyPair);

const NUMBER: [u8; 8] = *b"tillerno";

impl Key {
    fn new(seed: u8) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }

    /// The public key in the format of minisign.
    fn public(&self) -> String {
        base64(&[b"Ed", &NUMBER[..], self.0.public_key().as_ref()].concat())
    }

    /// A signature in the format of minisign.
    fn sign(&self, bytes: &[u8]) -> String {
        let signature = self.0.sign(blake2b_simd::blake2b(bytes).as_bytes());
        let comment = "a release";
        let whole = self.0.sign(&[signature.as_ref(), comment.as_bytes()].concat());
        let signature = base64(&[b"ED", &NUMBER[..], signature.as_ref()].concat());
        format!("untrusted comment: x\n{signature}\ntrusted comment: {comment}\n{}\n", base64(whole.as_ref()))
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(bytes)
}

/// The files of a version whose program is a script.
fn release(version: &str, script: &str, key: &Key) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_ustar();
    header.set_size(script.len() as u64);
    header.set_mode(0o755);
    archive.append_data(&mut header, format!("tiller-{version}-{TARGET}/tiller"), script.as_bytes()).unwrap();
    let archive = archive.into_inner().unwrap().finish().unwrap();
    let sum: String = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("tiller-{version}-{TARGET}.tar.gz");
    let sums = format!("{sum}  {name}\n").into_bytes();
    let signature = key.sign(&sums).into_bytes();
    [("SHA256SUMS".to_owned(), sums), ("SHA256SUMS.minisig".to_owned(), signature), (name, archive)].into()
}

fn script(version: &str) -> String {
    format!("#!/bin/sh\necho tiller {version}\n")
}

/// A home whose program was installed by the shell installer from a URL.
fn installed(url: &str, key: Option<String>) -> (Home, PathBuf) {
    let home = Home::empty().with_program_in("home/.local/bin");
    let program = home.path().join("home/.local/bin/tiller");
    let receipt = json!({
        "v": 1, "version": env!("CARGO_PKG_VERSION"), "target": TARGET, "binary": program,
        "source": url, "key": key, "previous": null,
    });
    let file = home.path().join("home/.local/share/tiller/receipt.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, receipt.to_string()).unwrap();
    (home, program)
}

/// What changes with each write of a file: reading a debug binary takes long.
fn stamp(file: &Path) -> (u64, u64, i64) {
    let metadata = file.metadata().unwrap();
    (metadata.ino(), metadata.len(), metadata.mtime_nsec())
}

fn receipt(home: &Home) -> Value {
    let text = fs::read_to_string(home.path().join("home/.local/share/tiller/receipt.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Runs with `--json`; the program must be unchanged if it fails.
fn answer(home: &Home, args: &[&str]) -> Value {
    let output = home.run(&[args, &["--json"]].concat());
    let answer: Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_eq!(answer["success"], output.status.success(), "{answer}");
    answer
}

#[test]
fn a_newer_release_replaces_the_program_and_can_be_taken_back() {
    let key = Key::new(1);
    let (home, program) = installed(&serve(release("99.1.2", &script("99.1.2"), &key)), Some(key.public()));
    let before = fs::read(&program).unwrap();
    let check = answer(&home, &["update", "--check"]);
    assert_eq!((&check["latest"], &check["changed"]), (&"99.1.2".into(), &false.into()), "{check}");
    assert_eq!(
        (&check["method"], &check["command"]),
        (&"installer".into(), &"tiller update".into()),
        "{check}"
    );
    assert!(fs::read(&program).unwrap() == before);

    let update = answer(&home, &["update"]);
    assert_eq!((&update["latest"], &update["changed"]), (&"99.1.2".into(), &true.into()), "{update}");
    assert_eq!(fs::read_to_string(&program).unwrap(), script("99.1.2"));
    assert_eq!(program.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(
        (&receipt(&home)["version"], &receipt(&home)["previous"]),
        (&"99.1.2".into(), &env!("CARGO_PKG_VERSION").into())
    );
    let kept = home.path().join("home/.local/share/tiller/previous-tiller");
    assert!(fs::read(kept).unwrap() == before);
    let files: Vec<_> =
        fs::read_dir(program.parent().unwrap()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(files, ["tiller"]);

    // The script cannot go back, so the new version is played by this one.
    fs::write(&program, &before).unwrap();
    let back = answer(&home, &["update", "--rollback"]);
    assert_eq!(back["changed"], true, "{back}");
    assert_eq!(receipt(&home)["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(receipt(&home)["previous"], "99.1.2");
}

#[test]
fn the_newest_version_is_not_replaced() {
    let key = Key::new(1);
    for version in [env!("CARGO_PKG_VERSION"), "0.0.1"] {
        let (home, program) = installed(&serve(release(version, &script(version), &key)), Some(key.public()));
        let before = stamp(&program);
        let answer = answer(&home, &["update"]);
        assert_eq!((&answer["changed"], &answer["latest"]), (&false.into(), &version.into()), "{answer}");
        assert_eq!(stamp(&program), before);
    }
}

#[test]
fn a_release_that_is_not_what_was_signed_changes_nothing() {
    let (key, other) = (Key::new(1), Key::new(2));
    let good = || release("99.0.0", &script("99.0.0"), &key);
    let name = format!("tiller-99.0.0-{TARGET}.tar.gz");
    let with = |file: &str, bytes: Vec<u8>| {
        let mut files = good();
        files.insert(file.to_owned(), bytes);
        files
    };
    let mut without = good();
    without.remove("SHA256SUMS.minisig");
    let mut damaged = good()[&name].clone();
    damaged[20] ^= 1;
    let other_sums = release("99.0.0", "#!/bin/sh\necho evil\n", &key)["SHA256SUMS"].clone();
    for (files, says) in [
        (release("99.0.0", &script("99.0.0"), &other), "not signed with the key"),
        (with("SHA256SUMS", other_sums), "not signed with the key"),
        (with("SHA256SUMS.minisig", b"nonsense".to_vec()), "malformed"),
        (without, "404"),
        (with(&name, damaged), "was signed"),
        (release("99.0.0", &script("98.0.0"), &key), "does not work on this machine"),
        (release("99.0.0", "#!/no/such/interpreter\n", &key), "on this machine"),
    ] {
        let (home, program) = installed(&serve(files), Some(key.public()));
        let before = stamp(&program);
        let answer = answer(&home, &["update"]);
        assert!(answer["error"].as_str().unwrap().contains(says), "{says}: {answer}");
        assert_eq!(stamp(&program), before, "{says}");
        let left: Vec<_> =
            fs::read_dir(home.path().join("home/.local/share/tiller")).unwrap().flatten().collect();
        assert!(left.iter().all(|entry| entry.file_name() != "next-tiller"), "{left:?}");
    }
    let (home, _) = installed("https://example.invalid/latest", None);
    assert!(answer(&home, &["update"])["error"].as_str().unwrap().contains("names no key"));
    let (home, _) = installed("http://example.invalid/latest", Some(key.public()));
    assert!(answer(&home, &["update"])["error"].as_str().unwrap().contains("not an https URL"));
}

#[test]
fn an_open_session_prevents_the_update_unless_it_is_forced() {
    let key = Key::new(1);
    let (home, program) = installed(&serve(release("99.0.0", &script("99.0.0"), &key)), Some(key.public()));
    home.settings("[agent]\ndefault_model = 'offline/pilot'\n[providers.local]\ndiscover = false\n");
    let mut agent = crate::agent::Agent::start(&home, &[]);
    agent.initialize(json!({}));
    agent.new_session(&home);
    let refused = answer(&home, &["update"]);
    assert_eq!(
        (&refused["kind"], &refused["next_commands"][0]),
        (&"busy".into(), &"tiller update --yes".into()),
        "{refused}"
    );
    assert_eq!(answer(&home, &["update", "--yes"])["changed"], true);
    assert_eq!(fs::read_to_string(&program).unwrap(), script("99.0.0"));
    assert!(agent.hang_up().0.success());
}

#[test]
fn another_installer_is_named_and_nothing_is_contacted() {
    let home = Home::empty().with_program_in("home/.cargo/bin");
    let answer = answer(&home, &["update"]);
    assert_eq!((&answer["method"], &answer["changed"]), (&"cargo".into(), &false.into()), "{answer}");
    assert_eq!(answer["command"], "cargo install tiller --locked");
    let refused = home.run(&["update", "--rollback"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    let loose = Home::empty().with_program_in("somewhere");
    assert!(stdout(&loose.run(&["update"])).contains("not from our installer"));
}
