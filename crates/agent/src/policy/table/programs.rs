//! The entries of the table.

use super::{
    Operands, Program,
    search::{searches_narrowly_grep, searches_narrowly_rg},
};

/// An entry without options and with any operands, to be extended.
const fn program(name: &'static str) -> Program {
    Program {
        name,
        letters: "",
        valued: "",
        flags: &[],
        long: &[],
        operands: Operands::Any,
        reads: true,
        globs: false,
    }
}

/// An entry for a program that prints something and reads no file.
const fn says(name: &'static str) -> Program {
    Program { reads: false, ..program(name) }
}

/// An entry for a program that prints files and has no harmful option.
const fn shows(name: &'static str, letters: &'static str, valued: &'static str) -> Program {
    Program { letters, valued, globs: true, ..program(name) }
}

const CHECKSUM_FLAGS: &[&str] =
    &["check", "tag", "binary", "text", "zero", "quiet", "status", "strict", "ignore-missing"];

const fn checksum(name: &'static str) -> Program {
    Program { letters: "bctzw", flags: CHECKSUM_FLAGS, ..program(name) }
}

pub(super) static PROGRAMS: &[Program] = &[
    Program {
        flags: &[
            "all",
            "almost-all",
            "author",
            "directory",
            "escape",
            "full-time",
            "group-directories-first",
            "human-readable",
            "inode",
            "literal",
            "no-group",
            "numeric-uid-gid",
            "recursive",
            "reverse",
            "si",
            "size",
        ],
        long: &[
            "block-size",
            "color?",
            "format",
            "hide",
            "ignore",
            "indicator-style",
            "quoting-style",
            "sort",
            "time",
            "time-style",
            "width",
        ],
        ..shows("ls", "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxX1Z", "ITw")
    },
    Program { letters: "LP", operands: Operands::None, ..says("pwd") },
    Program {
        operands: Operands::All(|words| matches!(words, [folder] if !folder.starts_with('-'))),
        ..program("cd")
    },
    // `echo` prints options that it does not know.
    Program { operands: Operands::All(|_| true), ..says("echo") },
    Program { operands: Operands::All(is_plain_format), ..says("printf") },
    Program {
        flags: &[
            "number",
            "number-nonblank",
            "show-all",
            "show-ends",
            "show-nonprinting",
            "show-tabs",
            "squeeze-blank",
        ],
        ..shows("cat", "AbeEnstTuv", "")
    },
    shows("tac", "br", "s"),
    shows("rev", "", ""),
    Program {
        flags: &["quiet", "silent", "verbose", "zero-terminated"],
        long: &["bytes", "lines"],
        ..shows("head", "qvz", "cn")
    },
    Program {
        letters: "qvz",
        valued: "cn",
        flags: &["quiet", "silent", "verbose", "zero-terminated"],
        long: &["bytes", "lines"],
        ..program("tail")
    },
    Program { flags: &["bytes", "chars", "lines", "max-line-length", "words"], ..shows("wc", "cmlLw", "") },
    Program {
        flags: &["dereference", "file-system", "terse"],
        long: &["format", "printf"],
        ..shows("stat", "fLtx", "c")
    },
    Program {
        letters: "bhiLkN",
        flags: &[
            "brief",
            "dereference",
            "mime",
            "mime-encoding",
            "mime-type",
            "no-dereference",
            "keep-going",
        ],
        ..program("file")
    },
    Program {
        letters: "0abcDhHklLmsSx",
        valued: "dB",
        flags: &["all", "apparent-size", "bytes", "human-readable", "null", "summarize", "total"],
        long: &["block-size", "max-depth", "threshold", "time?"],
        ..program("du")
    },
    Program {
        letters: "ahHiklmPT",
        flags: &["all", "human-readable", "inodes", "local", "print-type", "total"],
        ..program("df")
    },
    // An operand without `+`, and the option `-s`, set the clock.
    Program {
        letters: "uR",
        valued: "dr",
        flags: &["utc", "universal", "rfc-email"],
        long: &["date", "iso-8601?", "reference", "rfc-3339"],
        operands: Operands::Each(|operand| operand.starts_with('+')),
        ..says("date")
    },
    Program {
        letters: "asnrvmpio",
        flags: &["all", "kernel-name", "kernel-release", "machine"],
        operands: Operands::None,
        ..says("uname")
    },
    Program { operands: Operands::None, ..says("whoami") },
    Program { letters: "agGnruz", operands: Operands::AtMost(1), ..says("id") },
    Program { operands: Operands::None, ..says("groups") },
    Program { operands: Operands::None, flags: &["all"], ..says("nproc") },
    Program { operands: Operands::None, ..says("arch") },
    says("true"),
    says("false"),
    says(":"),
    Program { operands: Operands::Each(is_duration), ..says("sleep") },
    Program {
        letters: "az",
        valued: "s",
        flags: &["multiple", "zero"],
        long: &["suffix"],
        ..says("basename")
    },
    Program { letters: "z", flags: &["zero"], ..says("dirname") },
    Program {
        letters: "eLmPqsz",
        flags: &[
            "canonicalize-existing",
            "canonicalize-missing",
            "logical",
            "no-symlinks",
            "physical",
            "quiet",
            "strip",
            "zero",
        ],
        long: &["relative-base", "relative-to"],
        ..program("realpath")
    },
    Program {
        letters: "efmnqsvz",
        flags: &["canonicalize", "canonicalize-existing", "canonicalize-missing", "zero"],
        ..program("readlink")
    },
    Program {
        letters: "bcdCfghiMmnruVsz",
        valued: "kt",
        flags: &[
            "check",
            "dictionary-order",
            "general-numeric-sort",
            "human-numeric-sort",
            "ignore-case",
            "ignore-leading-blanks",
            "ignore-nonprinting",
            "merge",
            "month-sort",
            "numeric-sort",
            "reverse",
            "stable",
            "unique",
            "version-sort",
            "zero-terminated",
        ],
        long: &["field-separator", "key"],
        ..program("sort")
    },
    // A second operand is an output file.
    Program {
        letters: "cdDiuz",
        valued: "fsw",
        flags: &["count", "repeated", "ignore-case", "unique", "zero-terminated"],
        long: &["check-chars", "skip-chars", "skip-fields"],
        operands: Operands::AtMost(1),
        ..program("uniq")
    },
    Program {
        flags: &["complement", "only-delimited", "zero-terminated"],
        long: &["bytes", "characters", "delimiter", "fields", "output-delimiter"],
        ..shows("cut", "nsz", "bcdf")
    },
    Program {
        letters: "cCdst",
        flags: &["complement", "delete", "squeeze-repeats", "truncate-set1"],
        operands: Operands::AtMost(2),
        ..says("tr")
    },
    shows("nl", "p", "bdfhilnsvw"),
    shows("fold", "bs", "w"),
    shows("expand", "i", "t"),
    shows("paste", "sz", "d"),
    shows("comm", "123z", ""),
    shows("od", "bcdfiosvx", "ANjtw"),
    shows("strings", "afo", "ent"),
    // A second operand is an output file.
    Program { letters: "bCeEipu", valued: "cglos", operands: Operands::AtMost(1), ..program("xxd") },
    Program { operands: Operands::All(searches_narrowly_grep), ..program("grep") },
    Program { operands: Operands::All(searches_narrowly_rg), ..program("rg") },
    Program { operands: Operands::All(finds), ..program("find") },
    Program { operands: Operands::All(prints_lines), ..program("sed") },
    Program {
        letters: "abBdiNpqstuwyEZ",
        valued: "CFILUWx",
        flags: &[
            "brief",
            "ignore-all-space",
            "ignore-blank-lines",
            "ignore-case",
            "ignore-space-change",
            "minimal",
            "no-dereference",
            "report-identical-files",
            "side-by-side",
            "strip-trailing-cr",
            "text",
            "unified",
            "suppress-common-lines",
        ],
        long: &["color?", "context?", "exclude", "ignore-matching-lines", "label", "width"],
        ..program("diff")
    },
    Program {
        letters: "bls",
        valued: "in",
        flags: &["print-bytes", "quiet", "silent", "verbose"],
        ..program("cmp")
    },
    checksum("md5sum"),
    checksum("sha1sum"),
    checksum("sha224sum"),
    checksum("sha256sum"),
    checksum("sha384sum"),
    checksum("sha512sum"),
    checksum("b2sum"),
    checksum("cksum"),
    Program {
        letters: "aCdDfFghilnNpQrsStuUvx",
        valued: "IL",
        flags: &["dirsfirst", "du", "filesfirst", "inodes", "noreport", "prune", "si"],
        long: &["charset", "filelimit", "timefmt", "sort"],
        ..program("tree")
    },
    Program { letters: "as", ..says("which") },
    Program { letters: "afptP", ..says("type") },
    // Only the form that prints what it finds reaches the table: the reader removes `command` as a
    // wrapper otherwise.
    Program { letters: "vV", ..says("command") },
    Program {
        letters: "w",
        valued: "fst",
        long: &["separator", "format"],
        flags: &["equal-width"],
        operands: Operands::Each(is_number),
        ..says("seq")
    },
    Program { operands: Operands::All(tests), ..program("test") },
    Program {
        operands: Operands::All(|words| {
            words.split_last().is_some_and(|(last, words)| *last == "]" && tests(words))
        }),
        ..program("[")
    },
    Program { operands: Operands::All(|words| matches!(words, ["--version"])), ..says("git") },
];

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'))
}

fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm']).unwrap_or(text);
    is_number(number) && !number.starts_with('-')
}

/// Whether a `printf` format assigns no variable; `%n` does in some shells.
fn is_plain_format(words: &[&str]) -> bool {
    let Some(format) = words.first().filter(|format| !format.starts_with('-')) else { return false };
    let mut rest = format.split('%').skip(1).peekable();
    while let Some(part) = rest.next() {
        let conversion =
            part.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | ' ' | '.' | '#'));
        // `%%` is a percent sign; the text after it starts a new conversion.
        if conversion.is_empty() && part.is_empty() && rest.peek().is_some() {
            rest.next();
            continue;
        }
        if !conversion.starts_with(['s', 'd', 'i', 'u', 'x', 'X', 'o', 'c', 'f', 'e', 'g', 'b', 'q']) {
            return false;
        }
    }
    true
}

/// Whether a test checks files and texts only; tests of variables and numbers evaluate their
/// operands.
fn tests(words: &[&str]) -> bool {
    let words = words.strip_prefix(&["!"]).unwrap_or(words);
    match words {
        [one] => !one.starts_with('-'),
        [operator, _] => {
            matches!(*operator, "-e" | "-f" | "-d" | "-r" | "-w" | "-x" | "-s" | "-L" | "-h" | "-z" | "-n")
        }
        [_, operator, _] => matches!(*operator, "=" | "==" | "!=" | "-nt" | "-ot" | "-ef"),
        _ => false,
    }
}

/// Options of `find` with the number of words that each takes.
const FIND: &[(&str, usize)] = &[
    ("-name", 1),
    ("-iname", 1),
    ("-path", 1),
    ("-ipath", 1),
    ("-wholename", 1),
    ("-regex", 1),
    ("-iregex", 1),
    ("-regextype", 1),
    ("-type", 1),
    ("-xtype", 1),
    ("-size", 1),
    ("-mtime", 1),
    ("-mmin", 1),
    ("-atime", 1),
    ("-ctime", 1),
    ("-newer", 1),
    ("-perm", 1),
    ("-maxdepth", 1),
    ("-mindepth", 1),
    ("-user", 1),
    ("-group", 1),
    ("-links", 1),
    ("-empty", 0),
    ("-executable", 0),
    ("-readable", 0),
    ("-writable", 0),
    ("-print", 0),
    ("-print0", 0),
    ("-ls", 0),
    ("-printf", 1),
    ("-prune", 0),
    ("-quit", 0),
    ("-depth", 0),
    ("-xdev", 0),
    ("-mount", 0),
    ("-not", 0),
    ("!", 0),
    ("-a", 0),
    ("-and", 0),
    ("-o", 0),
    ("-or", 0),
    ("(", 0),
    (")", 0),
    ("-true", 0),
    ("-false", 0),
    ("-follow", 0),
    ("-H", 0),
    ("-L", 0),
    ("-P", 0),
];

fn finds(words: &[&str]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let known = FIND.iter().find(|(name, _)| name == word);
        match known {
            Some((_, values)) if *values > 0 && words.nth(values - 1).is_none() => return false,
            Some(_) => {}
            None if word.starts_with('-') || word.is_empty() => return false,
            None => {}
        }
    }
    true
}

/// Whether the words are `sed -n '10,20p' FILE`, which prints lines by number.
fn prints_lines(words: &[&str]) -> bool {
    let [options @ .., script, file] = words else { return false };
    let script_is_plain = !script.is_empty()
        && script.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | ';' | 'p' | 'q' | ' '));
    let prints_only = matches!(options, ["-n" | "--quiet" | "--silent"] | []);
    prints_only && script_is_plain && !file.starts_with('-')
}
