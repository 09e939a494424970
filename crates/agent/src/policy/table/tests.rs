use super::*;
use crate::policy::shell::{Dialect, Shell, parse};
use proptest::prelude::*;

fn passes(line: &str) -> bool {
    match parse(line, Dialect::Unknown) {
        Shell::Commands(commands) => {
            !commands.is_empty() && commands.iter().all(|command| lookup(command).is_some())
        }
        Shell::Unknown { .. } => false,
    }
}

#[test]
fn p02_what_only_looks_passes() {
    for line in [
        "ls",
        "ls -la src",
        "ls --color=never",
        "pwd",
        "cat a b",
        "cat -n a",
        "head -n 5 a",
        "head -20 a",
        "head -n5 a",
        "tail -n +3 a",
        "wc -l a",
        "cd x && ls",
        "stat -c %s a",
        "file -b a",
        "du -sh .",
        "df -h",
        "date",
        "date +%F",
        "date -u +%s",
        "uname -a",
        "whoami",
        "id -u",
        "true",
        "basename a/b .c",
        "realpath a",
        "sort a",
        "sort -k2,2 -n a",
        "sort -t, -k1 a",
        "uniq -c a",
        "cut -d: -f1 a",
        "tr a-z A-Z",
        "nl a",
        "grep -n x a",
        "grep -rn --include='*.rs' x src",
        "grep -rl x .",
        "grep -A3 -e x a",
        "rg -t rust x",
        "rg -n x src/main.rs",
        "rg -l x",
        "find . -name '*.rs' -type f",
        "find . -maxdepth 2 -not -path './target/*'",
        "diff a b",
        "diff -u a b",
        "cmp a b",
        "md5sum a",
        "sha256sum -c sums",
        "tree -L 2",
        "which ls",
        "seq 1 5",
        "test -f a && cat a",
        "[ -d a ] && ls a",
        "echo -n hi",
        "printf '%s\\n' a",
        "sed -n '10,20p' a",
        "sed -n 5p a",
        "git --version",
        "cat *.rs",
        "ls src/*.toml",
        "cat a | sort | uniq -c",
        "command -v ls",
        "ls 2>/dev/null",
        "ls 2>&1 | head -3",
        "sleep 1",
        "xxd a",
        "od -c a",
        "tail -5 a",
    ] {
        assert!(passes(line), "{line}");
    }
}

#[test]
fn p02_what_is_not_in_the_table_does_not_pass() {
    for line in [
        "git difftool -y -x CMD HEAD",
        "git status",
        "git log",
        "git diff",
        "git branch -v -D x",
        "git --version -c a=b",
        "sort --ou=F",
        "sort --output=F a",
        "sort -oF a",
        "sort --compress-prog=P a",
        "sort --files0-from=x",
        "sort -T x a",
        "sort -rof a",
        "uniq - F",
        "uniq a b",
        "uniq -c -- a b",
        "cargo tree",
        "cargo metadata",
        "cargo --version",
        "npm view x",
        "npm ls",
        "node --version",
        "python3 --version",
        "rustc --version",
        "go version",
        "date -s 0",
        "date 01010000",
        "date --se=0",
        "tail -f a",
        "tail -F a",
        "tail --fol a",
        "tail --pid=1 a",
        "file -C -m x",
        "file -m x a",
        "file --comp",
        "rg --pre x y",
        "rg --pre=x y",
        "rg -z x",
        "rg --hostname-bin=x y",
        "rg x",
        "rg --hidden -t rust x",
        "rg -uuu -l x",
        "grep -r x .",
        "grep -rf x .",
        "grep -f x a",
        "find . -delete",
        "find . -exec ls {} ;",
        "find . -fprint x",
        "find . -fls x",
        "find . -okdir x ;",
        "tree -o x",
        "tree --out x",
        "xxd -r a b",
        "xxd a b",
        "printf -v PATH x",
        "printf %n 'a[$(id)]'",
        "printf '%1$n' x",
        "test -v 'a[$(id)]'",
        "[ -v 'a[x]' ]",
        "[[ -f a ]]",
        "sed -i s/a/b/ a",
        "sed -n w\\ x a",
        "sed 's/a/b/e' a",
        "sed -n '1e id' a",
        "awk 1 a",
        "jq . a",
        "env",
        "printenv",
        "xargs ls",
        "env ls",
        "nice ls",
        "timeout 5 ls",
        "nohup ls",
        "busybox ls",
        "./ls",
        "/bin/ls",
        "~/ls",
        "cat < a",
        "cat <<E\na\nE",
        "cat <<< a",
        "ls > x",
        "ls >> x",
        "ls 2> x",
        "ls &",
        "sort *",
        "tail *",
        "find *",
        "cat $X",
        "cat `x`",
        "cat {a,b}",
        "ls --colo=never",
        "head --lin=3 a",
        "less a",
        "more a",
        "man ls",
        "vi a",
        "curl x",
        "ssh x",
        "make",
        "hostname x",
        "command ls",
        "exec ls",
        "type -x",
        "sha256sum --tag --bina x --chec",
        "du --files0-from=x",
        "wc --files0-from=x",
        "ps aux",
        "cd x y",
    ] {
        assert!(!passes(line), "{line}");
    }
}

/// Options that write, run or send something and that the table must not list.
const HARMFUL: &[(&str, &[&str], &str)] = &[
    (
        "sort",
        &[
            "--output=x",
            "--compress-program=x",
            "--temporary-directory=x",
            "--files0-from=x",
            "--random-source=x",
        ],
        "oTSR",
    ),
    ("tail", &["--follow", "--pid=1", "--retry"], "fF"),
    ("date", &["--set=0"], "s"),
    ("file", &["--compile", "--magic-file=x", "--uncompress"], "Cmz"),
    ("rg", &["--pre=x", "--hostname-bin=x", "--search-zip", "--hidden", "--no-ignore", "--file=x"], "zuf."),
    ("tree", &["--output=x"], "oR"),
    (
        "find",
        &[
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-delete",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        ],
        "",
    ),
    ("grep", &["--file=x", "--devices=read", "--directories=recurse"], "fdD"),
];

/// A harmful option as an attacker would hide it: abbreviated, in a cluster, at any position.
fn smuggled() -> impl Strategy<Value = String> {
    let of = prop::sample::select(HARMFUL);
    (of, any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3usize, any::<bool>()).prop_map(
        |((program, longs, letters), which, cut, place, cluster)| {
            let option = match (cluster && !letters.is_empty(), longs) {
                (true, _) => {
                    let all: Vec<char> = letters.chars().collect();
                    let letter = all[which.index(all.len())];
                    let known = if program == "date" { "u" } else { "" };
                    format!("-{known}{letter}")
                }
                (false, longs) => {
                    let long = longs[which.index(longs.len())];
                    let (name, value) =
                        long.split_once('=').map_or((long, String::new()), |(n, v)| (n, format!("={v}")));
                    // An unambiguous abbreviation or the full name.
                    let least = if long.starts_with("--") { 4.min(name.len()) } else { name.len() };
                    format!("{}{value}", &name[..least + cut.index(name.len() - least + 1)])
                }
            };
            let mut words = vec!["a", "b"];
            words.insert(place.min(words.len()), &option);
            format!("{program} {}", words.join(" "))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn p02_no_way_to_write_a_harmful_option_passes(line in smuggled()) {
        prop_assert!(!passes(&line), "{}", line);
    }
}
