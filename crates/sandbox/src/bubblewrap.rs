//! The arguments of bubblewrap: a file system made of the system's programs and the command's
//! folders, and new namespaces for everything.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Network, SandboxedCommand};

/// The fixed paths of bubblewrap. If the path came from the environment, its author could replace
/// bubblewrap.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// Entries of the root: links if the system merged them into /usr, else folders.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// The path of the child inside the sandbox.
pub(crate) const CHILD: &str = "/.onyx-child";

const TMP_BYTES: &str = "268435456";

pub(crate) fn program() -> Option<PathBuf> {
    PLACES.iter().map(PathBuf::from).find(|path| path.is_file())
}

/// The arguments before the command's own.
pub(crate) fn arguments(sandboxed: &SandboxedCommand, child: &Path) -> Vec<OsString> {
    let mut all = Arguments::default();
    all.words(&["--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]);
    all.words(&["--hostname", "sandbox", "--ro-bind", "/usr", "/usr"]);
    for folder in SYSTEM {
        match std::fs::read_link(folder) {
            Ok(target) => all.paths("--symlink", &target, Path::new(folder)),
            Err(_) => all.words(&["--ro-bind-try", folder, folder]),
        }
    }
    for path in crate::child::SYSTEM_FILES {
        all.words(&["--ro-bind-try", path, path]);
    }
    if sandboxed.network == Network::Proxied {
        for path in crate::child::NETWORK_FILES {
            all.words(&["--ro-bind-try", path, path]);
        }
    }
    all.words(&["--proc", "/proc", "--dev", "/dev", "--size", TMP_BYTES, "--tmpfs", "/tmp"]);
    for folder in &sandboxed.readable {
        all.paths("--ro-bind", folder, folder);
    }
    for folder in &sandboxed.writable {
        all.paths("--bind", folder, folder);
    }
    all.paths("--ro-bind", child, Path::new(CHILD));
    all.words(&["--chdir"]);
    all.0.push(sandboxed.folder.clone().into());
    all.words(&["--"]);
    all.0
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn paths(&mut self, option: &str, from: &Path, to: &Path) {
        self.0.extend([option.into(), from.into(), to.into()]);
    }
}
