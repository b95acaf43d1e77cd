//! A repository of the vault, and how git works on it without using the repository's settings. Each
//! call gets a new folder as `GIT_DIR`, with settings that we write. It links to the repository's
//! objects, refs and index and to nothing else in it. So git never learns of a hook, filter,
//! helper, include or other folder that a repository names.

use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use onyx_sandbox::Scratch;
use onyx_storage::{ObjectKey, ObjectMeta, Objects, StoreError};

use super::config::GitConfig;
use super::remote::{GitRemotes, RemoteAddress, Scheme};
use crate::runtime::{CommandRunner, Workspace};
use crate::{ToolCx, ToolError};

const ENTRIES: usize = 1_000;
/// The most bytes that are read of one file of a repository.
const LARGEST: u64 = 8 * 1024 * 1024;
const NO_OBJECTS: &str = "its .git holds no objects and refs";

/// The most entries that are searched for nested repositories.
const MOST_ENTRIES: usize = 500_000;

/// The parts of a repository, besides objects and index, that git reads and writes. They are linked
/// if they exist.
const LINKED: [&str; 4] = ["refs", "logs", "packed-refs", "shallow"];

/// Settings about comparing and writing files that are taken from the repository, with their
/// allowed values. None of them names a program or a path.
const COPIED: [(&str, &[&str]); 6] = [
    ("filemode", &["true", "false"]),
    ("ignorecase", &["true", "false"]),
    ("symlinks", &["true", "false"]),
    ("precomposeunicode", &["true", "false"]),
    ("autocrlf", &["true", "false", "input"]),
    ("eol", &["lf", "crlf", "native"]),
];

/// Extensions of repositories that need nothing but what is linked.
const KNOWN_EXTENSIONS: [&str; 4] = ["noop", "objectformat", "preciousobjects", "worktreeconfig"];

/// Settings with which git starts no other program, asks no person, and works in no other
/// repository.
const SETTINGS: &str = "\
[core]
\tbare = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsmonitor = false
\tcommitGraph = false
\tpager = cat
\teditor = false
\taskPass = false
\tprotectHFS = true
\tprotectNTFS = true
[credential]
\thelper =
[protocol]
\tallow = never
[http]
\tfollowRedirects = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[submodule]
\trecurse = false
[fetch]
\trecurseSubmodules = false
[push]
\trecurseSubmodules = no
\tgpgSign = false
[diff]
\tignoreSubmodules = all
[commit]
\tgpgSign = false
[log]
\tshowSignature = false
[user]
\tuseConfigOnly = true
";

pub(super) struct Repository {
    folder: Option<ObjectKey>,
    pub(super) config: GitConfig,
    /// The branch that is checked out; `None` if a commit is checked out instead.
    pub(super) branch: Option<String>,
    head: Vec<u8>,
    exclude: Vec<u8>,
}

/// The folder that is one call's `GIT_DIR`. It is deleted when this is dropped.
pub(super) struct Control {
    scratch: Scratch,
    environment: Vec<String>,
}

impl Repository {
    /// Opens a repository whose `.git` is a folder that holds everything itself. Any other form is
    /// refused.
    pub(super) async fn open(
        vault: &dyn Objects,
        folder: Option<&str>,
        cx: &ToolCx,
    ) -> Result<Self, ToolError> {
        let folder = folder.map(|folder| cx.paths.check(folder)).transpose()?;
        let name = folder.as_ref().map_or_else(|| "the vault".to_owned(), ToString::to_string);
        let none = |why: &str| no_repository(&name, why);
        let inside = |rest: &str| -> Result<ObjectKey, ToolError> {
            let path = match &folder {
                Some(folder) => format!("{folder}/.git{rest}"),
                None => format!(".git{rest}"),
            };
            crate::paths::key(&path)
        };
        // Links are not listed, so no entry that is found leads elsewhere.
        let Ok(entries) = vault.list(Some(&inside("")?), ENTRIES).await else {
            return Err(none("it has no folder .git"));
        };
        let name_of = |entry: &ObjectMeta| entry.key.parts().last().unwrap_or_default().to_owned();
        let is_file = |name: &str| entries.iter().any(|e| !e.is_folder && name_of(e) == name);
        if ["objects", "refs"].into_iter().any(is_file) {
            return Err(none(NO_OBJECTS));
        }
        let read = async |rest: &str| match vault.get(&inside(rest)?, LARGEST).await {
            Ok(object) => Ok(object.map(|object| object.bytes)),
            Err(StoreError::Refused(why)) => Err(ToolError::Refused(why)),
            Err(error) => Err(error.into()),
        };
        match read("/objects/info/alternates").await {
            Ok(None) => {}
            // A repository is refused if its objects lie elsewhere or a link leads out of it.
            Ok(Some(_)) | Err(ToolError::Refused(_)) => {
                return Err(none("its objects lie elsewhere"));
            }
            Err(error) => return Err(error),
        }
        let head = read("/HEAD").await?.ok_or_else(|| none("it has no HEAD"))?;
        let branch =
            checked_out(&head).ok_or_else(|| none("its HEAD names no branch or commit"))?;
        let config = GitConfig::parse(&read("/config").await?.unwrap_or_default())
            .map_err(|why| none(&format!("its config cannot be read, {why}")))?;
        let strange = config.names("extensions").find(|name| !KNOWN_EXTENSIONS.contains(name));
        if let Some(name) = strange {
            return Err(none(&format!("it needs extensions.{name}, which is not supported here")));
        }
        let exclude = read("/info/exclude").await.ok().flatten().unwrap_or_default();
        Ok(Self { folder, config, branch, head, exclude })
    }

    /// The repository's name for people.
    pub(super) fn name(&self) -> String {
        self.folder.as_ref().map_or_else(|| "the vault".to_owned(), ToString::to_string)
    }

    pub(super) fn folder(&self) -> Option<&str> {
        self.folder.as_ref().map(ObjectKey::as_str)
    }

    /// Makes the `GIT_DIR` for one call.
    pub(super) async fn control(
        &self,
        runner: &CommandRunner,
        workspace: &Workspace,
        towards: Option<RemoteConnection<'_>>,
    ) -> Result<Control, ToolError> {
        let (tree, root) = (self.tree(workspace), runner.scratch_folder());
        let mut config = self.settings();
        if workspace.is_copy() {
            // A copy of the files does not keep which of them are executable, so git must not
            // compare that.
            config.push_str("[core]\n\tfilemode = false\n");
        }
        let mut files = Files {
            config,
            head: self.head.clone(),
            exclude: self.exclude.clone(),
            secrets: Vec::new(),
        };
        if let Some(towards) = towards {
            towards.add_to(&mut files);
        }
        let proxy_command = runner.proxy_command();
        let made =
            tokio::task::spawn_blocking(move || make(&tree, &root, &files, &proxy_command)).await;
        made.map_err(|_| ToolError::Failed("git's folder cannot be made".into()))?
            .map_err(|error| ToolError::Failed(format!("git's folder cannot be made: {error}")))?
            .ok_or_else(|| no_repository(&self.name(), NO_OBJECTS))
    }

    /// Nested repositories. When git adds changes, it asks each nested repository for its state
    /// with that repository's settings, so all of them are left out of commits.
    pub(super) async fn nested(&self, workspace: &Workspace) -> Result<Vec<String>, ToolError> {
        let tree = self.tree(workspace);
        let found = tokio::task::spawn_blocking(move || nested_in(&tree)).await;
        found
            .map_err(|_| ToolError::Failed("the repository cannot be looked through".into()))?
            .map_err(|error| ToolError::Failed(format!("the repository: {error}")))
    }

    /// The folder of the repository's files.
    fn tree(&self, workspace: &Workspace) -> PathBuf {
        let root = workspace.root();
        self.folder.as_ref().map_or(root.to_owned(), |folder| root.join(folder.as_str()))
    }

    /// Our own settings, and those of the repository's that do no harm.
    fn settings(&self) -> String {
        let mut text = SETTINGS.to_owned();
        let own = |name: &str| self.config.get("core", None, name);
        text.push_str("[core]\n");
        for (name, values) in COPIED {
            let value = own(name).map(str::to_lowercase);
            if let Some(value) = value.filter(|value| values.contains(&value.as_str())) {
                text.push_str(&format!("\t{name} = {value}\n"));
            }
        }
        match self.config.get("extensions", None, "objectformat") {
            Some(format) if format.eq_ignore_ascii_case("sha256") => text
                .push_str("\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n"),
            _ => text.push_str("\trepositoryFormatVersion = 0\n"),
        }
        self.tracking(&mut text);
        text
    }

    /// Adds which remote branch each branch follows, so that the status can compare them.
    fn tracking(&self, text: &mut String) {
        for remote in self.config.subsections("remote").into_iter().filter(|name| is_plain(name)) {
            text.push_str(&format!(
                "[remote \"{remote}\"]\n\turl = https://remote.invalid/\n\
                 \tfetch = +refs/heads/*:refs/remotes/{remote}/*\n"
            ));
        }
        for branch in self.config.subsections("branch").into_iter().filter(|name| is_plain(name)) {
            let get = |name| self.config.get("branch", Some(branch), name);
            let merge = get("merge").and_then(|merge| merge.strip_prefix("refs/heads/"));
            if let (Some(remote), Some(merge)) = (get("remote"), merge)
                && is_plain(remote)
                && is_plain(merge)
            {
                text.push_str(&format!(
                    "[branch \"{branch}\"]\n\tremote = {remote}\n\tmerge = refs/heads/{merge}\n"
                ));
            }
        }
    }
}

fn no_repository(name: &str, why: &str) -> ToolError {
    ToolError::Refused(format!("{name} is no repository of its own: {why}"))
}

/// The remote of a call, and the credential for it.
pub(super) struct RemoteConnection<'a> {
    pub(super) address: &'a RemoteAddress,
    pub(super) remotes: &'a GitRemotes,
    pub(super) credential: Option<String>,
}

/// The files that are written into a `GIT_DIR`.
struct Files {
    config: String,
    head: Vec<u8>,
    exclude: Vec<u8>,
    /// Files with secrets for ssh.
    secrets: Vec<(&'static str, String)>,
}

const SSH_KEY: &str = "onyx-ssh-key";
const SSH_HOSTS: &str = "onyx-ssh-hosts";

impl RemoteConnection<'_> {
    fn add_to(&self, files: &mut Files) {
        let scheme = self.address.scheme.name();
        files.config.push_str(&format!("[protocol \"{scheme}\"]\n\tallow = always\n"));
        match self.address.scheme {
            Scheme::Https | Scheme::Http => {
                if let Some(credential) = &self.credential {
                    let server = self.address.server();
                    files.config.push_str(&format!(
                        "[http \"{server}\"]\n\textraHeader = \"Authorization: Basic {}\"\n",
                        basic(credential)
                    ));
                }
            }
            Scheme::Ssh => {
                let hosts = self.remotes.known_hosts().join("\n");
                files.secrets.push((SSH_HOSTS, format!("{hosts}\n")));
                if let Some(key) = &self.credential {
                    files.secrets.push((SSH_KEY, format!("{}\n", key.trim_end())));
                }
            }
        }
    }
}

/// The value of basic authentication. A credential without a user is a token, which any user name
/// may go with.
fn basic(credential: &str) -> String {
    let has_user = credential.contains(':');
    let whole = if has_user { credential.to_owned() } else { format!("git:{credential}") };
    base64::engine::general_purpose::STANDARD.encode(whole)
}

impl Control {
    pub(super) fn folder(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    /// The argument list of a git command that works only in this folder.
    pub(super) fn argv(&self, command: &[String]) -> Vec<String> {
        let before = ["env".to_owned()].into_iter().chain(self.environment.iter().cloned());
        before.chain(["git".to_owned()]).chain(command.iter().cloned()).collect()
    }
}

/// Makes the folder. `None` if the repository has no objects or refs, or they lead elsewhere.
#[allow(clippy::disallowed_methods, reason = "a folder of ours, made new for one command")]
fn make(
    tree: &Path,
    root: &Path,
    files: &Files,
    proxy_command: &str,
) -> std::io::Result<Option<Control>> {
    let scratch = Scratch::make(root)?;
    let (own, repository) = (scratch.path(), tree.join(".git"));
    // These must be folders and not links, so that nothing in the repository leads elsewhere.
    let kind = |name: &str| repository.join(name).symlink_metadata().map(|meta| meta.file_type());
    if !["objects", "refs"].into_iter().all(|name| kind(name).is_ok_and(|kind| kind.is_dir())) {
        return Ok(None);
    }
    write(&own.join("config"), files.config.as_bytes())?;
    write(&own.join("HEAD"), &files.head)?;
    std::fs::create_dir(own.join("info"))?;
    write(&own.join("info/exclude"), &files.exclude)?;
    let is_there = |name: &&str| kind(name).is_ok_and(|kind| kind.is_dir() || kind.is_file());
    for name in LINKED.into_iter().filter(is_there) {
        symlink(repository.join(name), own.join(name))?;
    }
    for (name, secret) in &files.secrets {
        write(&own.join(name), secret.as_bytes())?;
    }
    let environment = environment(own, tree, &repository, proxy_command);
    Ok(Some(Control { scratch, environment }))
}

#[allow(clippy::disallowed_methods, reason = "looks for a fixed name; no model chose the path")]
fn nested_in(tree: &Path) -> std::io::Result<Vec<String>> {
    let (mut found, mut folders, mut seen) = (Vec::new(), vec![tree.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            seen += 1;
            if seen > MOST_ENTRIES {
                return Err(std::io::Error::other("it holds too many files"));
            }
            let is_inside = folder != tree;
            if entry.file_name() == ".git" {
                if let (true, Ok(path)) = (is_inside, folder.strip_prefix(tree)) {
                    found.push(path.display().to_string());
                }
            } else if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(found)
}

/// Writes a file that only its owner can read, because it may hold a credential.
#[allow(clippy::disallowed_methods, reason = "a file of a folder of ours, made new")]
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
    std::io::Write::write_all(&mut file, bytes)
}

/// The environment of git. Ssh uses the proxy, which allows one server; without the proxy it has no
/// network.
fn environment(own: &Path, tree: &Path, repository: &Path, proxy_command: &str) -> Vec<String> {
    let at = |path: PathBuf| path.display().to_string();
    let quoted = |path: PathBuf| at(path).replace('\'', r"'\''");
    let ssh = format!(
        "ssh -F /dev/null -oBatchMode=yes -oStrictHostKeyChecking=yes -oGlobalKnownHostsFile=none \
         -oUserKnownHostsFile='{hosts}' -oIdentitiesOnly=yes -oIdentityAgent=none \
         -oIdentityFile='{key}' -oForwardAgent=no -oClearAllForwardings=yes -oProxyCommand='{proxy_command}' \
         -oPermitLocalCommand=no -oUpdateHostKeys=no",
        hosts = quoted(own.join(SSH_HOSTS)),
        key = quoted(own.join(SSH_KEY)),
    );
    [
        ("GIT_DIR", at(own.to_owned())),
        ("GIT_WORK_TREE", at(tree.to_owned())),
        ("GIT_OBJECT_DIRECTORY", at(repository.join("objects"))),
        ("GIT_INDEX_FILE", at(repository.join("index"))),
        ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
        ("GIT_CONFIG_SYSTEM", "/dev/null".to_owned()),
        ("GIT_ATTR_NOSYSTEM", "1".to_owned()),
        ("GIT_TERMINAL_PROMPT", "0".to_owned()),
        ("GIT_NOGLOB_PATHSPECS", "1".to_owned()),
        // Previews must show the commits themselves and not objects that replace them.
        ("GIT_NO_REPLACE_OBJECTS", "1".to_owned()),
        ("GIT_SSH_VARIANT", "ssh".to_owned()),
        ("GIT_SSH_COMMAND", ssh),
    ]
    .map(|(name, value)| format!("{name}={value}"))
    .to_vec()
}

/// What HEAD names: `Some(None)` if it is a commit, `None` if it is no valid HEAD.
#[allow(clippy::option_option, reason = "no HEAD and no branch are two things")]
fn checked_out(head: &[u8]) -> Option<Option<String>> {
    let head = std::str::from_utf8(head).ok()?.trim_end();
    if let Some(branch) = head.strip_prefix("ref: refs/heads/") {
        return is_plain(branch).then(|| Some(branch.to_owned()));
    }
    let is_id = matches!(head.len(), 40 | 64) && head.chars().all(|c| c.is_ascii_hexdigit());
    is_id.then_some(None)
}

/// Whether this is the plain name of a remote or branch: no option, no address, no mapping.
pub(super) fn is_plain(name: &str) -> bool {
    let known = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    let ends_oddly = name.ends_with(['/', '.']) || name.ends_with(".lock");
    !name.is_empty()
        && name.len() <= 200
        && !name.starts_with(['-', '/', '.'])
        && !ends_oddly
        && !["..", "//", "/."].iter().any(|odd| name.contains(odd))
        && name.chars().all(known)
}
