//! Standing rules: commands that run without an approval each time. A rule is the exact beginning
//! of an argument list.
//!
//! A rule for a program that is known to run no other program covers only commands without options
//! that change this. A rule for any other program applies only while the run has read nothing from
//! outside, and a warning about it is shown. Shells, interpreters and wrappers cannot be in a rule,
//! because they run any program that they are given.

use onyx_types::{ErrorCode, Fault, Taint};

use super::{ProgramReach, runs};
use crate::text::argv::quoted;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandRule {
    words: Vec<String>,
    runs: ProgramReach,
}

const SHELLS: [&str; 14] = [
    "ash",
    "bash",
    "busybox",
    "cmd",
    "csh",
    "dash",
    "elvish",
    "fish",
    "ksh",
    "nu",
    "powershell",
    "pwsh",
    "sh",
    "zsh",
];

const INTERPRETERS: [&str; 30] = [
    "awk",
    "bun",
    "deno",
    "ed",
    "emacs",
    "ex",
    "gawk",
    "gdb",
    "groovy",
    "java",
    "julia",
    "lua",
    "luajit",
    "mawk",
    "nawk",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pypy",
    "python",
    "rscript",
    "ruby",
    "scala",
    "sed",
    "sqlite",
    "tclsh",
    "vi",
    "vim",
];

/// Programs that run another program, or commands from a file.
const WRAPPERS: [&str; 52] = [
    "ansible",
    "bundle",
    "bwrap",
    "cargo",
    "chpst",
    "chroot",
    "chrt",
    "docker",
    "doas",
    "env",
    "exec",
    "expect",
    "find",
    "firejail",
    "flock",
    "gmake",
    "ionice",
    "ltrace",
    "make",
    "man",
    "nice",
    "nohup",
    "npm",
    "npx",
    "nsenter",
    "parallel",
    "perf",
    "pipx",
    "pkexec",
    "podman",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "sg",
    "ssh",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tar",
    "time",
    "timeout",
    "unshare",
    "uvx",
    "watch",
    "xargs",
    "yarn",
];

impl CommandRule {
    pub(crate) fn new(words: &[String]) -> Result<Self, Fault> {
        let program = words.first().map(String::as_str).unwrap_or_default();
        if program.trim().is_empty() {
            return Err(invalid("tools.commands holds an empty command".to_owned()));
        }
        if runs_anything(program) {
            return Err(invalid(format!(
                "tools.commands names {program:?}, which runs any program it is given"
            ))
            .with_hint("Name the program itself; shells, interpreters and wrappers always ask."));
        }
        if !comes_with_the_system(program) {
            return Err(invalid(format!(
                "tools.commands names {program:?}, which an agent could rewrite"
            ))
            .with_hint("Name a program of the system: by its bare name, or by its path in /usr."));
        }
        Ok(Self { words: words.to_vec(), runs: runs(words) })
    }

    /// The warning for the author of the rule, if there is one.
    pub(crate) fn warning(&self) -> Option<String> {
        match self.runs {
            ProgramReach::OnlyItself => None,
            ProgramReach::Anything => Some(format!(
                "tools.commands allows `{}`, and this program can run anything: by an option, a \
                 setting or a file that it finds. The rule stands only until a run has read \
                 something from outside; after that it asks",
                quoted(&self.words)
            )),
        }
    }

    pub(crate) fn permits(&self, argv: &[String], taint: Taint) -> bool {
        let stands = match self.runs {
            ProgramReach::OnlyItself => runs(argv) == ProgramReach::OnlyItself,
            ProgramReach::Anything => taint == Taint::Clean,
        };
        stands && argv.starts_with(&self.words)
    }
}

/// Whether the program is found by its name alone, or in a folder that commands can only read.
fn comes_with_the_system(program: &str) -> bool {
    let folders = ["/usr/", "/bin/", "/sbin/", "/opt/", "/nix/"];
    let by_path = folders.iter().any(|folder| program.starts_with(folder));
    let climbs = program.split('/').any(|part| part == "..");
    !program.contains('/') || (by_path && !climbs)
}

/// Whether the program is an interpreter or wrapper, by its file name without a version:
/// `/usr/bin/python3.11` is `python`.
fn runs_anything(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let listed = |name: &str| {
        SHELLS.contains(&name) || INTERPRETERS.contains(&name) || WRAPPERS.contains(&name)
    };
    listed(name) || listed(bare)
}

fn invalid(message: String) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_rule_is_the_exact_beginning_of_an_argument_list() {
        let rule = CommandRule::new(&words("git status")).unwrap();
        for argv in ["git status", "git status --short"] {
            assert!(rule.permits(&words(argv), Taint::Clean), "{argv}");
        }
        for argv in
            ["git", "git push", "git statusx", "/usr/bin/git status", "Git status", "x git status"]
        {
            assert!(!rule.permits(&words(argv), Taint::Clean), "{argv}");
        }
    }

    #[test]
    fn a_rule_for_what_only_does_its_own_work_lets_no_option_out() {
        for (rule, argv) in [
            ("split", "split -l 5 a"),
            ("sort", "sort -n a"),
            ("rg", "rg -n word"),
            ("ls", "ls -l"),
        ] {
            let rule = CommandRule::new(&words(rule)).unwrap();
            assert_eq!(rule.warning(), None);
            for taint in [Taint::Clean, Taint::Tainted] {
                assert!(rule.permits(&words(argv), taint), "{argv}");
            }
        }
        for (rule, argv) in [
            ("split", "split --filter=sh a"),
            ("split -l", "split -l 5 a --filter=sh"),
            ("sort", "sort --compress-program=sh -S1 a"),
            ("rg", "rg --pre sh word"),
        ] {
            let rule = CommandRule::new(&words(rule)).unwrap();
            for taint in [Taint::Clean, Taint::Tainted] {
                assert!(!rule.permits(&words(argv), taint), "{argv}");
            }
        }
    }

    #[test]
    fn a_rule_for_what_can_run_anything_says_so_and_ends_with_taint() {
        for line in [
            "git -c alias.x=!sh x",
            "git status",
            "go test",
            "m4",
            "pytest",
            "rsync",
            "some-new-program",
            "split --filter=sh",
            "tmux",
            "zip -TT",
        ] {
            let rule = CommandRule::new(&words(line)).unwrap();
            let warning = rule.warning().unwrap();
            assert!(warning.contains("this program can run anything"), "{line}: {warning}");
            let argv = words(&format!("{line} more"));
            assert!(rule.permits(&argv, Taint::Clean), "{line}");
            assert!(!rule.permits(&argv, Taint::Tainted), "{line}");
        }
    }

    #[test]
    fn what_runs_anything_can_never_be_allowed() {
        for program in [
            "",
            " ",
            "sh",
            "/bin/bash",
            "BASH",
            "python3",
            "python3.11",
            "/usr/bin/env",
            "node-20",
            "perl5",
            "sudo",
            "xargs",
            "find",
            "cmd.exe",
            "C:\\x\\powershell.exe",
            "sqlite3",
            "./check",
            "tools/check",
            "/home/me/vault/check",
            "/usr/../home/me/vault/check",
        ] {
            assert!(CommandRule::new(&[program.to_owned()]).is_err(), "{program}");
        }
        assert!(CommandRule::new(&[]).is_err());
        assert!(CommandRule::new(&words("ls -l")).is_ok());
    }

    /// A rule covers only commands that begin as it does, no shells, and in a tainted run no
    /// command that could run another program.
    #[test]
    fn no_rule_stands_for_more_than_it_says() {
        let words =
            ["\0", "sh", "-c", "git", "cat", "--", "find", "-exec", "/usr/bin/", "..", "ls", " "];
        let fuzz = onyx_test_support::Fuzz::new(env!("CARGO_MANIFEST_DIR"), "argv");
        fuzz.words(words).seed("cat\0\0cat\0notes.md").seed("git\0log\0\0git\0log\0-p").run(
            |bytes| {
                let text = String::from_utf8_lossy(bytes);
                let (rule, argv) = text.split_once("\0\0").unwrap_or((&text, &text));
                let list = |text: &str| text.split('\0').map(str::to_owned).collect::<Vec<_>>();
                let (rule, argv) = (list(rule), list(argv));
                let Ok(rule) = CommandRule::new(&rule) else { return };
                for taint in [Taint::Clean, Taint::Tainted] {
                    if rule.permits(&argv, taint) {
                        assert!(argv.starts_with(&rule.words), "{argv:?}");
                        assert!(!runs_anything(&argv[0]), "{argv:?}");
                        assert!(
                            taint == Taint::Clean || runs(&argv) == ProgramReach::OnlyItself,
                            "{argv:?}"
                        );
                    }
                }
            },
        );
    }
}
