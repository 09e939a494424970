//! Wrappers, that is programs that run another program: the wrapped command is checked in their
//! place.

use super::Reader;
use crate::policy::{
    severe,
    shell::{Certainty, Dialect, NESTING, Read, SimpleCommand, Word},
};

/// Describes how to separate a wrapper's own words from the wrapped command.
struct Wrapper {
    program: &'static str,
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with a value.
    valued: &'static [&'static str],
    /// The number of words between the options and the command.
    skipped: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        program: "sudo",
        flags: &["-n", "-E", "-H", "-b", "-k", "-S", "-A", "-P", "-B", "--preserve-env", "--non-interactive"],
        valued: &["-u", "-g", "-h", "-p", "-C", "-T", "-U", "-R", "-D", "-r", "-t", "--user", "--group"],
        skipped: 0,
    },
    Wrapper { program: "doas", flags: &["-n", "-L"], valued: &["-u", "-C", "-a"], skipped: 0 },
    Wrapper {
        program: "env",
        flags: &["-i", "-", "-0", "-v", "--ignore-environment", "--null", "--debug"],
        valued: &["-u", "-C", "--unset", "--chdir"],
        skipped: 0,
    },
    Wrapper {
        program: "timeout",
        flags: &["-v", "-f", "-p", "--foreground", "--preserve-status", "--verbose"],
        valued: &["-k", "-s", "--kill-after", "--signal"],
        skipped: 1,
    },
    Wrapper { program: "nice", flags: &[], valued: &["-n", "--adjustment"], skipped: 0 },
    Wrapper {
        program: "ionice",
        flags: &["-t", "--ignore"],
        valued: &["-c", "-n", "--class", "--classdata"],
        skipped: 0,
    },
    Wrapper {
        program: "stdbuf",
        flags: &[],
        valued: &["-i", "-o", "-e", "--input", "--output", "--error"],
        skipped: 0,
    },
    Wrapper { program: "nohup", flags: &[], valued: &[], skipped: 0 },
    Wrapper { program: "time", flags: &["-p", "-v", "-a", "-q"], valued: &["-f", "-o"], skipped: 0 },
    Wrapper { program: "command", flags: &["-p"], valued: &[], skipped: 0 },
    Wrapper { program: "builtin", flags: &[], valued: &[], skipped: 0 },
    Wrapper { program: "exec", flags: &["-c", "-l"], valued: &["-a"], skipped: 0 },
    Wrapper {
        program: "setsid",
        flags: &["-c", "-f", "-w", "--ctty", "--fork", "--wait"],
        valued: &[],
        skipped: 0,
    },
    Wrapper {
        program: "xargs",
        flags: &[
            "-0",
            "-r",
            "-t",
            "-p",
            "-x",
            "-o",
            "--null",
            "--no-run-if-empty",
            "--verbose",
            "--exit",
            "--open-tty",
        ],
        valued: &[
            "-n",
            "-I",
            "-L",
            "-P",
            "-s",
            "-d",
            "-E",
            "-a",
            "--max-args",
            "--max-lines",
            "--max-procs",
            "--max-chars",
            "--delimiter",
            "--arg-file",
            "--replace",
        ],
        skipped: 0,
    },
    Wrapper { program: "busybox", flags: &[], valued: &[], skipped: 0 },
    Wrapper { program: "toybox", flags: &[], valued: &[], skipped: 0 },
];

/// Wrappers whose syntax is not modelled: every word may begin the wrapped command or be a complete
/// line.
const LOOSE: &[&str] = &[
    "parallel",
    "watch",
    "strace",
    "ltrace",
    "gdb",
    "flock",
    "chroot",
    "unshare",
    "nsenter",
    "script",
    "su",
    "runuser",
    "pkexec",
    "systemd-run",
    "taskset",
    "chrt",
    "setarch",
    "linux32",
    "linux64",
    "prlimit",
    "numactl",
    "perf",
    "valgrind",
    "hyperfine",
    "entr",
    "rlwrap",
    "proot",
    "fakeroot",
    "firejail",
    "bwrap",
    "unbuffer",
    "chronic",
    "eatmydata",
    "faketime",
    "xvfb-run",
    "dbus-run-session",
    "caffeinate",
    "expect",
    "ssh",
    "coproc",
    "fd",
    "fdfind",
    "torsocks",
    "proxychains",
    "ts",
    "cgexec",
    "setpriv",
    "capsh",
    "catchsegv",
    "retry",
    "noglob",
    "nocorrect",
    "repeat",
    "start-stop-daemon",
    "at",
    "batch",
    "screen",
    "tmux",
    "daemonize",
    "nq",
    "dtach",
    "abduco",
    "trap",
    "mapfile",
    "readarray",
    "bind",
    "complete",
    "compgen",
];

/// Builtins that evaluate subscripts in their words, including command substitutions:
/// `test -v 'a[$(id)]'`.
const EVALUATING: &[&str] = &[
    "let", "printf", "test", "read", "unset", "declare", "typeset", "local", "export", "readonly", "getopts",
    "wait",
];

/// The maximum number of words of a loose wrapper that are tried as the beginning of a command.
const SUFFIXES: usize = 64;

/// Shells, which take a line after `-c`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish"];

const SETS_VARIABLES: &str = "it sets variables for the command";

impl Reader<'_> {
    /// Removes wrappers and adds the wrapped commands.
    pub(super) fn unwrap(&mut self, command: SimpleCommand) {
        self.unwrapped(command, 0);
    }

    fn unwrapped(&mut self, mut command: SimpleCommand, depth: usize) {
        for _ in 0..NESTING {
            let program = command.program().to_owned();
            if SHELLS.contains(&program.as_str()) {
                return self.shell_script(command);
            }
            match program.as_str() {
                "eval" => return self.evaluated(command),
                "source" | "." => {
                    self.unknown("it runs a script");
                    break;
                }
                "find" => return self.found(command, depth),
                "git" => {
                    self.of_git(&command);
                    break;
                }
                // This form only prints the command's location.
                "command"
                    if command
                        .args()
                        .first()
                        .is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) =>
                {
                    break;
                }
                "alias" | "unalias" | "hash" | "enable" | "shopt" | "set" => {
                    self.unknown("it changes what later commands mean");
                    break;
                }
                program if LOOSE.contains(&program) => return self.loose(command, depth),
                program if EVALUATING.contains(&program) => {
                    self.subscripts(&command);
                    break;
                }
                _ => {}
            }
            let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.program == program) else { break };
            command.elevated |= matches!(program.as_str(), "sudo" | "doas");
            let Some(mut at) = wrapper.command(&command.words) else {
                return self.loose(command, depth);
            };
            if matches!(program.as_str(), "env" | "sudo" | "doas") {
                while command.words.get(at).is_some_and(|word| word.text.contains('=')) {
                    self.unknown(SETS_VARIABLES);
                    at += 1;
                }
            }
            if program == "xargs" {
                self.unknown("xargs runs a command with arguments that are only known when it runs");
                command.words.push(Word { text: "…".to_owned(), certainty: Certainty::Many });
            }
            if at >= command.words.len() || program == "xargs" && at + 1 >= command.words.len() {
                break;
            }
            command.words.drain(..at);
            command.wrapped = true;
            // In `time ! ls` and `time { ls; }`, the rest is shell syntax.
            if program == "time"
                && !command.words[0].text.chars().all(|c| c.is_ascii_alphanumeric() || "./_-".contains(c))
            {
                self.unknown("it holds something this check does not know");
            }
        }
        self.commands.push(command);
    }

    /// Handles a wrapper whose words may all begin the wrapped command.
    fn loose(&mut self, command: SimpleCommand, depth: usize) {
        self.unknown("it runs another command, and it cannot be told which");
        if depth > NESTING {
            return self.too_much();
        }
        let words: Vec<_> = command.words.iter().skip(1).take(SUFFIXES).cloned().collect();
        for (at, word) in words.iter().enumerate() {
            let name = word.text.rsplit('/').next().unwrap_or_default();
            if word.text.contains([' ', ';']) {
                let inner = Read::of(&word.text, self.dialect, self.depth + 1);
                self.inner(inner, &command);
            } else if !name.starts_with('-') {
                let inner = SimpleCommand { words: words[at..].to_vec(), wrapped: true, ..command.clone() };
                match severe::is_decided(name) || runs_others(name) {
                    true => self.unwrapped(inner, depth + 1),
                    // For the rules of the settings, which may name any program.
                    false => self.commands.push(inner),
                }
            }
        }
        self.commands.push(command);
    }

    /// Adds the commands in words that a builtin evaluates even when they are quoted.
    pub(super) fn subscripts(&mut self, command: &SimpleCommand) {
        for word in command.args().iter().filter(|word| word.text.contains("$(") || word.text.contains('`')) {
            self.unknown("it evaluates text that holds a command");
            let inner = Read::of(&format!("true {}", word.text), self.dialect, self.depth + 1);
            self.inner(inner, command);
        }
    }

    /// Adds `find` itself and the commands that it runs for each file.
    fn found(&mut self, command: SimpleCommand, depth: usize) {
        let mut rest = command.args();
        while let Some(at) =
            rest.iter().position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
        {
            rest = &rest[at + 1..];
            let end =
                rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(rest.len());
            if end > 0 {
                let words = rest[..end].to_vec();
                let inner = SimpleCommand { words, wrapped: true, writes: Vec::new(), ..command.clone() };
                if depth > NESTING {
                    return self.too_much();
                }
                self.unwrapped(inner, depth + 1);
            }
            rest = &rest[end..];
        }
        self.commands.push(command);
    }

    /// Adds the commands in git's arguments: those run for each commit or submodule, and aliases
    /// defined in the line itself.
    fn of_git(&mut self, command: &SimpleCommand) {
        for word in command.args() {
            let text = word.text.as_str();
            let value = text.split_once('=').map_or(text, |(_, value)| value);
            let line = value.strip_prefix('!').unwrap_or(value);
            if line.contains(' ') && severe::is_decided(first_program(line)) {
                let inner = Read::of(line, Dialect::Unknown, self.depth + 1);
                self.inner(inner, command);
            }
        }
        let runs = |word: &Word| matches!(word.text.as_str(), "foreach" | "run");
        if let Some(at) = command.words.iter().position(runs) {
            let words: Vec<_> = command.words[at + 1..].to_vec();
            self.commands.push(SimpleCommand { words, wrapped: true, ..command.clone() });
        }
    }

    /// Adds the commands of `eval WORDS`, which runs its words as a line.
    fn evaluated(&mut self, command: SimpleCommand) {
        self.unknown("it runs text as commands");
        let line = command.args().iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let inner = Read::of(&line, self.dialect, self.depth + 1);
        self.inner(inner, &command);
        self.commands.push(command);
    }

    /// Adds the commands of `sh -c LINE`. Any other form runs a script, which is not read.
    fn shell_script(&mut self, command: SimpleCommand) {
        let is_option = |word: &&Word| word.text.starts_with('-') && !word.text.starts_with("--");
        let at = command.words.iter().skip(1).position(|word| is_option(&word) && word.text.contains('c'));
        let Some(line) = at.and_then(|at| command.words.get(at + 2..)) else {
            self.unknown("it runs a script");
            return self.commands.push(command);
        };
        let dialect = if command.program() == "bash" { Dialect::Bash } else { Dialect::Unknown };
        // Further options may follow `-c`; the line is the first word that is not an option.
        let Some(line) =
            line.iter().find(|word| !is_option(word) && word.text != "--" && !word.text.starts_with("+"))
        else {
            self.unknown("it runs a script");
            return self.commands.push(command);
        };
        if at != Some(0)
            || !matches!(command.words[1].text.as_str(), "-c" | "-lc" | "-ec" | "-lec" | "-euc" | "-xc")
        {
            self.unknown("it gives a shell options that this check does not know");
        }
        let inner = Read::of(&line.text, dialect, self.depth + 1);
        self.inner(inner, &command);
        if line.is_open() {
            // The line is known only at run time.
            self.commands.push(command);
        }
    }
}

/// Whether a program runs other programs that its words name.
pub(super) fn runs_others(program: &str) -> bool {
    SHELLS.contains(&program)
        || LOOSE.contains(&program)
        || WRAPPERS.iter().any(|wrapper| wrapper.program == program)
        || matches!(program, "eval" | "find")
}

fn first_program(line: &str) -> &str {
    let word = line.split_whitespace().next().unwrap_or_default();
    word.rsplit('/').next().unwrap_or_default()
}

impl Wrapper {
    /// Returns the index of the wrapped command's first word; `None` if it cannot be determined.
    fn command(&self, words: &[Word]) -> Option<usize> {
        let mut at = 1;
        while let Some(word) = words.get(at) {
            if !word.is_exact() {
                return None;
            }
            let text = word.text.as_str();
            if text == "--" {
                at += 1;
                break;
            }
            if !text.starts_with('-') || (text == "-" && !self.flags.contains(&"-")) {
                break;
            }
            at += self.option(text)?;
        }
        Some(at + self.skipped)
    }

    /// Returns the number of words of an option including its value; `None` if the option is
    /// unknown.
    fn option(&self, text: &str) -> Option<usize> {
        if self.flags.contains(&text) {
            return Some(1);
        }
        if self.valued.contains(&text) {
            return Some(2);
        }
        if let Some((name, _)) = text.split_once('=').filter(|_| text.starts_with("--")) {
            return self.valued.contains(&name).then_some(1);
        }
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
        let number = letters.bytes().all(|byte| byte.is_ascii_digit());
        if number && self.program == "nice" {
            return Some(1);
        }
        for (at, letter) in letters.char_indices() {
            let option = format!("-{letter}");
            if self.valued.contains(&option.as_str()) {
                let attached = at + letter.len_utf8() < letters.len();
                return Some(if attached { 1 } else { 2 });
            }
            if !self.flags.contains(&option.as_str()) {
                return None;
            }
        }
        Some(1)
    }
}
