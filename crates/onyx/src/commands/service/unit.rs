//! The unit file, filled in. The two templates lie in `packaging/systemd`; the package of Debian uses the
//! same one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use onyx_types::{ErrorCode, Fault};

const OF_USER: &str = include_str!("../../../../../packaging/systemd/onyx-user.service");
const OF_MACHINE: &str = include_str!("../../../../../packaging/systemd/onyx.service");

pub(super) struct Unit {
    pub(super) onyx: PathBuf,
    pub(super) home: PathBuf,
    /// Where keys lie in files; `None` leaves them where they usually are.
    pub(super) keys: Option<PathBuf>,
    /// Of a service of the machine.
    pub(super) account: Option<Account>,
}

/// A user of the machine.
pub(super) struct Account {
    pub(super) name: String,
    pub(super) folder: PathBuf,
}

impl Account {
    /// As `/etc/passwd` has them; `root` is the folder of an image.
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
            .with_hint("Make one: adduser --system --group --home /var/lib/onyx onyx")
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

    /// The home, keys, and where backups go when nobody says where. A minus: it need not be there.
    fn writable(&self) -> String {
        let data = self.account.as_ref().map(|account| account.folder.join(".local/share/onyx"));
        let optional = self.keys.iter().chain(data.as_ref());
        let optional = optional.map(|folder| format!("-{}", folder.display()));
        let all = std::iter::once(self.home.display().to_string()).chain(optional);
        all.map(|folder| quoted(&folder)).collect::<Vec<_>>().join(" ")
    }
}

/// As systemd reads a word: quotes and backslashes are its own, and % begins a specifier.
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
