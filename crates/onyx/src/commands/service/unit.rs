//! Fills in the unit file. Its two templates are in `packaging/systemd`; the Debian package uses the same
//! template.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use onyx_types::{ErrorCode, Fault};

const OF_USER: &str = include_str!("../../../../../packaging/systemd/onyx-user.service");
const OF_MACHINE: &str = include_str!("../../../../../packaging/systemd/onyx.service");

pub(super) struct Unit {
    pub(super) onyx: PathBuf,
    pub(super) home: PathBuf,
    /// The folder of key files; `None` for the default one.
    pub(super) keys: Option<PathBuf>,
    /// The user to run as, for a service of the machine.
    pub(super) account: Option<Account>,
}

/// A user of the machine.
pub(super) struct Account {
    pub(super) name: String,
    pub(super) folder: PathBuf,
}

impl Account {
    /// Reads the user from `/etc/passwd`; `root` is the folder of an image.
    pub(super) fn named(name: &str, root: Option<&Path>) -> Result<Self> {
        let path = root.unwrap_or(Path::new("/")).join("etc/passwd");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let line = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let fields = line.into_iter().find(|fields| fields.first() == Some(&name));
        match fields.as_deref() {
            Some([_, _, _, _, _, folder, ..]) => {
                Ok(Self { name: name.to_owned(), folder: PathBuf::from(folder) })
            }
            _ => Err(Fault::new(
                ErrorCode::NotFound,
                format!("{} has no user {name}", path.display()),
            )
            .with_hint("Create one: adduser --system --group --home /var/lib/onyx onyx")
            .into()),
        }
    }
}

impl Unit {
    pub(super) fn text(&self) -> String {
        let template = if self.account.is_some() { OF_MACHINE } else { OF_USER };
        let user = self.account.as_ref().map_or("", |account| &account.name);
        template
            .replace("@ONYX@", &quoted(&self.onyx.to_string_lossy()))
            .replace("@ENVIRONMENT@", &self.environment())
            .replace("@USER@", user)
            .replace("@WRITABLE@", &self.writable())
    }

    fn environment(&self) -> String {
        let set = |name: &str, folder: &Path| {
            format!("Environment={}", quoted(&format!("{name}={}", folder.display())))
        };
        let keys = self.keys.iter().map(|keys| set("ONYX_KEYS", keys));
        std::iter::once(set("ONYX_HOME", &self.home)).chain(keys).collect::<Vec<_>>().join("\n")
    }

    /// The home, keys, and the default folder of backups. A minus marks a folder that may be missing.
    fn writable(&self) -> String {
        let data = self.account.as_ref().map(|account| account.folder.join(".local/share/onyx"));
        let optional = self.keys.iter().chain(data.as_ref());
        let optional = optional.map(|folder| format!("-{}", folder.display()));
        let all = std::iter::once(self.home.display().to_string()).chain(optional);
        all.map(|folder| quoted(&folder)).collect::<Vec<_>>().join(" ")
    }
}

/// Quotes a word for systemd, which interprets quotes, backslashes and `%`.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(account: Option<Account>) -> Unit {
        Unit {
            onyx: PathBuf::from("/opt/on yx/onyx"),
            home: PathBuf::from("/srv/100%/home"),
            keys: account.is_some().then(|| PathBuf::from("/srv/keys")),
            account,
        }
    }

    #[test]
    fn nothing_is_left_to_fill_in_and_paths_are_as_systemd_reads_them() {
        let machine =
            unit(Some(Account { name: "mara".to_owned(), folder: PathBuf::from("/home/mara") }));
        for unit in [unit(None), machine] {
            let text = unit.text();
            let settings = text.lines().filter(|line| !line.starts_with('#'));
            let left: Vec<_> =
                settings.filter(|line| line.contains("=@") && !line.contains("~@")).collect();
            assert_eq!(left, Vec::<&str>::new());
            assert!(text.contains("\nExecStart=\"/opt/on yx/onyx\" serve\n"), "{text}");
            assert!(text.contains("\nEnvironment=\"ONYX_HOME=/srv/100%%/home\"\n"), "{text}");
        }
    }

    #[test]
    fn a_service_of_the_machine_writes_to_its_own_folders_only() {
        let text =
            unit(Some(Account { name: "mara".to_owned(), folder: PathBuf::from("/home/mara") }))
                .text();
        let wanted =
            "ReadWritePaths=\"/srv/100%%/home\" \"-/srv/keys\" \"-/home/mara/.local/share/onyx\"\n";
        assert!(text.contains(wanted) && text.contains("\nUser=mara\n"), "{text}");
        assert!(
            text.contains("\nProtectSystem=strict\n") && text.contains("\nNoNewPrivileges=yes\n")
        );
    }
}
