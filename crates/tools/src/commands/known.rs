//! Programs that are known to run no other program and to obey no file, and with which options.
//! A program that is not listed counts as able to run anything. Most programs can, by an option, a
//! setting or a script that they find (`split --filter`, `git -c alias.x=!…`, `rg --pre`, `make`,
//! `go`, `pytest`), and no list of those could be complete.
//!
//! A program goes on this list only when its manual has been read for exactly that.

/// Whether a command can run other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramReach {
    OnlyItself,
    Anything,
}

enum Options {
    /// None of the program's options runs another program.
    Any,
    /// Only these options are safe, because at least one other option runs a program.
    Only {
        /// Letters of options without a value.
        plain: &'static str,
        /// Letters of options with a value.
        valued: &'static str,
        /// Long options by their full names, because an abbreviation may mean another option.
        long: &'static [&'static str],
    },
}

/// The harmless programs by their names, in order.
const HARMLESS: &[&str] = &[
    "[",
    "arch",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "basenc",
    "bzip2",
    "cal",
    "cat",
    "chmod",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cp",
    "csplit",
    "cut",
    "date",
    "dd",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expand",
    "expr",
    "factor",
    "false",
    "fgrep",
    "fmt",
    "fold",
    "free",
    "grep",
    "groups",
    "gzip",
    "head",
    "hexdump",
    "iconv",
    "id",
    "join",
    "jq",
    "link",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mktemp",
    "mv",
    "nl",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "pathchk",
    "pdfinfo",
    "pdftotext",
    "pr",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "rm",
    "rmdir",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shuf",
    "sleep",
    "stat",
    "strings",
    "sum",
    "sync",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "truncate",
    "tsort",
    "uname",
    "unexpand",
    "uniq",
    "unlink",
    "uptime",
    "wc",
    "whoami",
    "xxd",
    "xz",
    "yes",
    "zstd",
];

const FILE: Options = Options::Only {
    plain: "bEhiIkLnNprs0",
    valued: "F",
    long: &["brief", "mime", "mime-type", "mime-encoding", "dereference", "no-dereference"],
};

/// The list leaves out `--pre`, `--hostname-bin` and `--search-zip`.
const RG: Options = Options::Only {
    plain: "abcFhHiIlLnNopPqsSuUvwx0.",
    valued: "ABCeEgmMrtTd",
    long: &[
        "after-context",
        "before-context",
        "byte-offset",
        "case-sensitive",
        "color",
        "column",
        "context",
        "count",
        "count-matches",
        "files",
        "files-with-matches",
        "files-without-match",
        "fixed-strings",
        "follow",
        "glob",
        "heading",
        "hidden",
        "iglob",
        "ignore-case",
        "invert-match",
        "json",
        "line-number",
        "line-regexp",
        "max-columns",
        "max-count",
        "max-depth",
        "max-filesize",
        "multiline",
        "multiline-dotall",
        "no-filename",
        "no-heading",
        "no-ignore",
        "no-line-number",
        "null",
        "only-matching",
        "passthru",
        "pcre2",
        "quiet",
        "regexp",
        "replace",
        "smart-case",
        "sort",
        "sortr",
        "stats",
        "text",
        "trim",
        "type",
        "type-list",
        "type-not",
        "unrestricted",
        "vimgrep",
        "with-filename",
        "word-regexp",
    ],
};

/// The list leaves out `--compress-program`.
const SORT: Options = Options::Only {
    plain: "bcCdfghiMmnRrsuVz",
    valued: "koSTt",
    long: &[
        "batch-size",
        "check",
        "debug",
        "dictionary-order",
        "field-separator",
        "files0-from",
        "general-numeric-sort",
        "human-numeric-sort",
        "ignore-case",
        "ignore-leading-blanks",
        "ignore-nonprinting",
        "key",
        "merge",
        "month-sort",
        "numeric-sort",
        "output",
        "parallel",
        "random-sort",
        "reverse",
        "sort",
        "stable",
        "unique",
        "version-sort",
        "zero-terminated",
    ],
};

/// The list leaves out `--filter`.
const SPLIT: Options = Options::Only {
    plain: "dxeu0123456789",
    valued: "abClnt",
    long: &[
        "additional-suffix",
        "bytes",
        "elide-empty-files",
        "hex-suffixes",
        "line-bytes",
        "lines",
        "number",
        "numeric-suffixes",
        "separator",
        "suffix-length",
        "unbuffered",
        "verbose",
    ],
};

/// The list leaves out `-R`, which starts the program again for each folder.
const TREE: Options = Options::Only {
    plain: "acdfghilnpstuADFJNQS",
    valued: "LPI",
    long: &["dirsfirst", "du", "filesfirst", "gitignore", "matchdirs", "noreport", "prune", "si"],
};

/// Whether this command can run other programs.
pub(crate) fn runs(argv: &[String]) -> ProgramReach {
    let Some((program, words)) = argv.split_first() else { return ProgramReach::Anything };
    match options(program) {
        Some(options) if options.allow(words) => ProgramReach::OnlyItself,
        Some(_) | None => ProgramReach::Anything,
    }
}

/// The known options of a program, by its name or by its path in a folder of the system.
fn options(program: &str) -> Option<Options> {
    let name = ["/usr/bin/", "/bin/"].iter().find_map(|folder| program.strip_prefix(folder));
    let name = name.unwrap_or(program);
    match name {
        "file" => Some(FILE),
        "rg" => Some(RG),
        "sort" => Some(SORT),
        "split" => Some(SPLIT),
        "tree" => Some(TREE),
        _ => HARMLESS.binary_search(&name).ok().map(|_| Options::Any),
    }
}

impl Options {
    fn allow(&self, words: &[String]) -> bool {
        let Self::Only { plain, valued, long } = self else { return true };
        // Words after `--` are never options.
        words.iter().take_while(|word| *word != "--").all(|word| {
            if let Some(option) = word.strip_prefix("--") {
                let name = option.split('=').next().unwrap_or(option);
                return long.contains(&name);
            }
            let letters = word.strip_prefix('-').unwrap_or_default();
            // The rest of the word after a letter that takes a value is the value.
            let letters = match letters.find(|letter| valued.contains(letter)) {
                Some(at) => &letters[..at],
                None => letters,
            };
            letters.chars().all(|letter| plain.contains(letter))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(HARMLESS.is_sorted());
    }

    #[test]
    fn what_does_only_its_own_work_is_known_by_program_and_options() {
        for line in [
            "ls -la",
            "/usr/bin/wc -w a.md",
            "cp a b",
            "sort -nrk2 -t, a.csv",
            "sort --key=2 a -o b",
            "split -l 100 a",
            "split -100 a",
            "rg -n --glob *.md word",
            "sort -- --compress-program=sh",
        ] {
            assert_eq!(runs(&words(line)), ProgramReach::OnlyItself, "{line}");
        }
    }

    #[test]
    fn what_is_not_known_can_run_anything() {
        for line in [
            "split --filter=sh a",
            "split --filt sh a",
            "split a --filter=sh",
            "sort --compress-program=sh a",
            "sort --compress-prog sh a",
            "rg --pre sh x",
            "rg -z x",
            "rg -e --pre",
            "rg --hostname-bin=sh x",
            "tree -R",
            "file -z a",
            "git -c alias.x=!sh x",
            "git status",
            "rsync -e sh a b:",
            "zip -TT sh a",
            "go test",
            "pytest",
            "tmux",
            "m4 a",
            "vim a",
            "find . -exec sh ;",
            "tar --to-command=sh -xf a",
            "sed e",
            "awk BEGIN{system(1)}",
            "ssh -o ProxyCommand=sh a",
            "nice ls",
            "timeout 1 ls",
            "stdbuf -o0 ls",
            "env ls",
            "xargs ls",
            "unheard-of",
            "./ls",
            "/home/me/bin/ls",
            "/usr/bin/../../home/ls",
            "LS",
        ] {
            assert_eq!(runs(&words(line)), ProgramReach::Anything, "{line}");
        }
        assert_eq!(runs(&[]), ProgramReach::Anything);
    }
}
