//! Files that a person's own programs run or obey only because they are there: the inside of a
//! repository, build files, start-up files of shells and editors. Such content leaves the sandbox
//! the next time the person opens the folder, so a tainted run needs an approval to write it.
//!
//! The list is data: one entry for each kind, with the reason that a person is shown.

/// One kind of files. All names are in lower case, because paths are compared in lower case.
struct Kind {
    /// The last parts of a path, such as `makefile` or `info/attributes`.
    files: &'static [&'static str],
    /// Beginnings or endings of file names.
    beginnings: &'static [&'static str],
    endings: &'static [&'static str],
    /// Folders by their last parts, wherever they are. All their content counts, and also a file or
    /// link of that name.
    folders: &'static [&'static str],
    folder_endings: &'static [&'static str],
    /// What a program does with the file, as a sentence to be put after the path.
    why: &'static str,
}

const NOTHING: Kind =
    Kind { files: &[], beginnings: &[], endings: &[], folders: &[], folder_endings: &[], why: "" };

const KINDS: &[Kind] = &[
    Kind {
        files: &[
            "head",
            "config",
            "config.worktree",
            "commondir",
            "gitdir",
            "packed-refs",
            "info/attributes",
            "info/grafts",
            "objects/info/alternates",
            ".gitattributes",
            ".gitconfig",
            ".gitmodules",
        ],
        folders: &[".git"],
        folder_endings: &[".git"],
        why: "git takes it for a part of a repository, and a repository can name programs to run.",
        ..NOTHING
    },
    Kind {
        files: &[
            "hooks/applypatch-msg",
            "hooks/commit-msg",
            "hooks/fsmonitor-watchman",
            "hooks/post-applypatch",
            "hooks/post-checkout",
            "hooks/post-commit",
            "hooks/post-index-change",
            "hooks/post-merge",
            "hooks/post-receive",
            "hooks/post-rewrite",
            "hooks/post-update",
            "hooks/pre-applypatch",
            "hooks/pre-auto-gc",
            "hooks/pre-commit",
            "hooks/pre-merge-commit",
            "hooks/pre-push",
            "hooks/pre-rebase",
            "hooks/pre-receive",
            "hooks/prepare-commit-msg",
            "hooks/proc-receive",
            "hooks/push-to-checkout",
            "hooks/reference-transaction",
            "hooks/sendemail-validate",
            "hooks/update",
            ".overcommit.yml",
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
        ],
        beginnings: &["lefthook.", ".lefthook."],
        folders: &[".githooks", ".husky", ".lefthook"],
        why: "git runs it as a hook, or it says which hooks run.",
        ..NOTHING
    },
    Kind {
        files: &[
            ".aliases",
            ".bash_aliases",
            ".bash_login",
            ".bash_logout",
            ".bash_profile",
            ".bashrc",
            ".cshrc",
            ".env",
            ".envrc",
            ".inputrc",
            ".kshrc",
            ".login",
            ".logout",
            ".mise.toml",
            ".profile",
            ".tcshrc",
            ".tool-versions",
            ".xinitrc",
            ".xprofile",
            ".xsession",
            ".xsessionrc",
            ".zlogin",
            ".zlogout",
            ".zprofile",
            ".zshenv",
            ".zshrc",
            "config.fish",
            "mise.toml",
        ],
        folders: &[".direnv", ".config/fish", ".config/mise", ".mise"],
        why: "a shell runs it when it starts or when a person enters the folder.",
        ..NOTHING
    },
    Kind {
        files: &[
            ".dir-locals-2.el",
            ".dir-locals.el",
            ".emacs",
            ".exrc",
            ".gvimrc",
            ".nanorc",
            ".nvim.lua",
            ".nvimrc",
            ".vimrc",
            "init.vim",
        ],
        endings: &[".code-workspace", ".sublime-project"],
        folders: &[
            ".emacs.d",
            ".fleet",
            ".helix",
            ".idea",
            ".obsidian",
            ".vim",
            ".vs",
            ".vscode",
            ".zed",
            "logseq/custom.js",
        ],
        why: "an editor obeys it when the folder is opened, and it can name programs to run.",
        ..NOTHING
    },
    Kind {
        files: &[
            ".gdbinit",
            ".ghci",
            ".irbrc",
            ".lldbinit",
            ".ocamlinit",
            ".octaverc",
            ".pdbrc",
            ".pryrc",
            ".psqlrc",
            ".pythonrc",
            ".rprofile",
            ".screenrc",
            ".sqliterc",
            ".tmux.conf",
            ".wezterm.lua",
        ],
        why: "a terminal, debugger or interpreter runs it when it starts in the folder.",
        ..NOTHING
    },
    Kind {
        files: &[
            ".bazelrc",
            "brewfile",
            "build",
            "build.bazel",
            "build.ninja",
            "cakefile",
            "capfile",
            "cmakelists.txt",
            "cmakepresets.json",
            "cmakeuserpresets.json",
            "configure",
            "configure.ac",
            "earthfile",
            "fastfile",
            "gnumakefile",
            "guardfile",
            "jakefile",
            ".justfile",
            "justfile",
            "magefile.go",
            "makefile",
            "meson.build",
            "module.bazel",
            "procfile",
            "rakefile",
            "sconscript",
            "sconstruct",
            "snakefile",
            "thorfile",
            "tiltfile",
            "vagrantfile",
            "workspace",
            "wscript",
        ],
        beginnings: &["makefile.", "taskfile."],
        endings: &[".bzl", ".cmake", ".mk", ".ninja"],
        why: "make or a program like it runs the commands in it.",
        ..NOTHING
    },
    Kind {
        files: &[
            ".npmrc",
            ".pnpmfile.cjs",
            ".yarnrc",
            ".yarnrc.yml",
            "bunfig.toml",
            "deno.json",
            "deno.jsonc",
            "lerna.json",
            "nx.json",
            "package-lock.json",
            "package.json",
            "pnpm-lock.yaml",
            "pnpm-workspace.yaml",
            "turbo.json",
            "yarn.lock",
        ],
        beginnings: &[
            ".babelrc",
            ".eslintrc",
            ".mocharc",
            ".prettierrc",
            "gruntfile.",
            "gulpfile.",
        ],
        endings: &[".config.cjs", ".config.js", ".config.mjs", ".config.mts", ".config.ts"],
        folders: &[".yarn", "node_modules/.bin"],
        why: "npm, node or a tool around them runs what it names.",
        ..NOTHING
    },
    Kind {
        files: &[
            "conftest.py",
            "dodo.py",
            "fabfile.py",
            "noxfile.py",
            "pipfile",
            "poetry.toml",
            "pyproject.toml",
            "pytest.ini",
            "setup.cfg",
            "setup.py",
            "sitecustomize.py",
            "tasks.py",
            "tox.ini",
            "usercustomize.py",
        ],
        endings: &[".pth"],
        why: "python, pytest or pip runs it, or what it names.",
        ..NOTHING
    },
    Kind {
        files: &[
            "build.gradle",
            "build.gradle.kts",
            "build.rs",
            "build.sbt",
            "build.xml",
            "cargo.toml",
            "composer.json",
            "default.nix",
            "directory.build.props",
            "directory.build.targets",
            "flake.nix",
            "gemfile",
            "gradle.properties",
            "gradlew",
            "gradlew.bat",
            "mix.exs",
            "mvnw",
            "mvnw.cmd",
            "nuget.config",
            "package.swift",
            "pom.xml",
            "rebar.config",
            "rust-toolchain",
            "rust-toolchain.toml",
            "settings.gradle",
            "settings.gradle.kts",
            "setup.hs",
            "shell.nix",
        ],
        endings: &[".csproj", ".fsproj", ".gemspec", ".targets", ".vbproj"],
        folders: &[".bundle", ".cargo", ".mvn", "gradle/wrapper"],
        why: "a build runs it, or what it names.",
        ..NOTHING
    },
    Kind {
        files: &[".devcontainer.json", "containerfile", "devcontainer.json", "dockerfile"],
        beginnings: &["compose.", "containerfile.", "docker-compose.", "dockerfile."],
        endings: &[".dockerfile"],
        folders: &[".devcontainer"],
        why: "docker or an editor builds and starts containers from it.",
        ..NOTHING
    },
    Kind {
        files: &[
            ".drone.yml",
            ".gitlab-ci.yml",
            ".travis.yml",
            "appveyor.yml",
            "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
            "cloudbuild.yaml",
            "jenkinsfile",
        ],
        folders: &[
            ".buildkite",
            ".circleci",
            ".forgejo/workflows",
            ".gitea/workflows",
            ".github/actions",
            ".github/workflows",
            ".woodpecker",
        ],
        why: "a build server runs it with the repository's own rights.",
        ..NOTHING
    },
    Kind {
        files: &["autorun.inf", "desktop.ini"],
        endings: &[".command", ".desktop", ".lnk", ".scf", ".service", ".timer"],
        folders: &[
            ".config/autostart",
            ".config/systemd",
            ".gnupg",
            ".local/bin",
            ".ssh",
            "launchagents",
        ],
        why: "the desktop or the system runs what it names when it is opened or at sign-in.",
        ..NOTHING
    },
    Kind {
        files: &[
            ".clinerules",
            ".cursorrules",
            ".goosehints",
            ".mcp.json",
            ".windsurfrules",
            "claude.local.md",
            "claude.md",
            "copilot-instructions.md",
            "gemini.md",
            "mcp.json",
        ],
        folders: &[".claude", ".codex", ".cursor", ".gemini"],
        why: "other agents take it for their instructions or start the programs it names.",
        ..NOTHING
    },
];

/// Why a path is one of these files; `None` if it is not. The parts are in lower case.
pub(crate) fn why(parts: &[String]) -> Option<&'static str> {
    KINDS.iter().find(|kind| kind.holds(parts)).map(|kind| kind.why)
}

impl Kind {
    fn holds(&self, parts: &[String]) -> bool {
        let Some(name) = parts.last() else { return false };
        let in_folder = |length: usize| {
            let folder = &parts[..length];
            let last = &folder[length - 1];
            self.folders.iter().any(|tail| ends_with(folder, tail))
                || self.folder_endings.iter().any(|ending| last.ends_with(ending))
        };
        self.files.iter().any(|tail| ends_with(parts, tail))
            || self.beginnings.iter().any(|beginning| name.starts_with(beginning))
            || self.endings.iter().any(|ending| name.ends_with(ending))
            || (1..=parts.len()).any(in_folder)
    }
}

/// Whether the path ends with these parts.
fn ends_with(parts: &[String], tail: &str) -> bool {
    let mut parts = parts.iter().rev();
    tail.rsplit('/').all(|part| parts.next().is_some_and(|own| own == part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Option<&'static str> {
        why(&path.split('/').map(str::to_lowercase).collect::<Vec<_>>())
    }

    #[test]
    fn every_kind_says_why_in_a_sentence() {
        for kind in KINDS {
            assert!(kind.why.ends_with('.') && kind.why.len() > 20, "{}", kind.why);
        }
    }

    #[test]
    fn the_inside_of_a_repository_is_known_wherever_it_stands() {
        for path in [
            ".git",
            ".git/config",
            "a/.git/hooks/x",
            "x/HEAD",
            "x/config",
            "x/info/attributes",
            "x/hooks/pre-commit",
            "mine.git/description",
            "x/worktrees/y/gitdir",
            "x/commondir",
            "sub/.gitmodules",
        ] {
            assert!(of(path).is_some_and(|why| why.contains("git")), "{path}");
        }
    }

    #[test]
    fn what_programs_run_by_being_there_is_known() {
        for path in [
            ".envrc",
            "a/.vscode/tasks.json",
            ".idea/workspace.xml",
            "GNUmakefile",
            "sub/Makefile",
            "web/package.json",
            ".npmrc",
            ".bashrc",
            "x.desktop",
            "tests/conftest.py",
            "pyproject.toml",
            "setup.py",
            "tox.ini",
            ".pre-commit-config.yaml",
            "justfile",
            "Rakefile",
            "CMakeLists.txt",
            "build.rs",
            ".cargo/config.toml",
            ".gitattributes",
            ".github/workflows/ci.yml",
            ".husky/pre-push",
            "Dockerfile.dev",
            "compose.yaml",
            ".devcontainer/devcontainer.json",
            ".vimrc",
            ".exrc",
            ".tmux.conf",
            "my.code-workspace",
            "vite.config.ts",
            ".obsidian/plugins/x/main.js",
            "CLAUDE.md",
        ] {
            assert!(of(path).is_some(), "{path}");
        }
    }

    #[test]
    fn ordinary_files_are_not() {
        for path in [
            "notes.md",
            "head/notes.md",
            "config/notes.md",
            "config.json",
            "src/hooks/useThing.ts",
            "objects/a.md",
            "refs/a.md",
            "digit.md",
            "my.github.md",
            "workflows/plan.md",
            "information/attributes",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
