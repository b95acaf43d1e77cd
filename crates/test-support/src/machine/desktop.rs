//! A desktop with a message bus and a keyring of its own, in a temporary folder.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use crate::wait_for;

const SOON: Duration = Duration::from_secs(30);
const SERVICE: &str = "org.freedesktop.secrets";
const BUS: &str = "org.freedesktop.DBus";

#[derive(Debug)]
pub struct Desktop {
    folder: tempfile::TempDir,
    keyring: Option<Child>,
    _bus: Child,
}

impl Desktop {
    /// A bus without a keyring service, on which none is started either.
    pub async fn bare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = format!(
            "<busconfig><type>session</type><listen>{}</listen><policy context=\"default\">\
             <allow send_destination=\"*\"/><allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>",
            address(folder.path())
        );
        let file = folder.path().join("bus.conf");
        std::fs::write(&file, settings).unwrap();
        let bus = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", file.display()))
            .arg("--nofork")
            .kill_on_drop(true)
            .spawn()
            .expect("dbus-daemon is installed (scripts/setup)");
        let desktop = Self { folder, keyring: None, _bus: bus };
        // The socket exists a moment before the bus listens on it.
        wait_for("the bus", SOON, async || desktop.has_owner(BUS).await).await;
        desktop
    }

    /// Starts a desktop with a keyring that its person has opened.
    pub async fn with_keyring() -> Self {
        let mut desktop = Self::bare().await;
        desktop.log_in().await;
        desktop
    }

    pub async fn log_in(&mut self) {
        let mut keyring = Command::new("gnome-keyring-daemon")
            .args(["--foreground", "--components=secrets", "--unlock"])
            .envs(self.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("gnome-keyring-daemon is installed (scripts/setup)");
        keyring.stdin.take().unwrap().write_all(b"password").await.unwrap();
        self.keyring = Some(keyring);
        wait_for("the keyring", SOON, async || self.has_keyring().await.then_some(())).await;
    }

    pub async fn log_out(&mut self) {
        self.keyring.take().unwrap().kill().await.unwrap();
        wait_for("the keyring to end", SOON, async || (!self.has_keyring().await).then_some(()))
            .await;
    }

    pub async fn lock(&self) {
        let all = format!("array:objpath:{}", "/org/freedesktop/secrets/collection/login");
        assert!(self.send(SERVICE, "org.freedesktop.Secret.Service.Lock", &all).await.is_some());
    }

    /// The content of the keyring's own files.
    pub fn keyring_file(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("data/keyrings/login.keyring")).unwrap_or_default()
    }

    /// The address of the bus in the form of `DBUS_SESSION_BUS_ADDRESS`.
    pub fn bus_address(&self) -> String {
        address(self.folder.path())
    }

    async fn has_keyring(&self) -> bool {
        self.has_owner(SERVICE).await.unwrap()
    }

    /// Whether a name on the bus has an owner; `None` if the bus does not answer.
    async fn has_owner(&self, name: &str) -> Option<bool> {
        let asked = "org.freedesktop.DBus.NameHasOwner";
        let answer = self.send(BUS, asked, &format!("string:{name}")).await?;
        Some(answer.contains("true"))
    }

    /// The answer to a call, as a program independent of ours prints it.
    async fn send(&self, to: &str, method: &str, argument: &str) -> Option<String> {
        let path = format!("/{}", to.replace('.', "/"));
        let ran = Command::new("dbus-send")
            .args(["--session", "--print-reply", &format!("--dest={to}"), &path, method, argument])
            .envs(self.environment())
            .output()
            .await
            .unwrap();
        ran.status.success().then(|| String::from_utf8(ran.stdout).unwrap())
    }

    fn environment(&self) -> [(&'static str, PathBuf); 4] {
        let at = |name: &str| self.folder.path().join(name);
        [
            ("DBUS_SESSION_BUS_ADDRESS", address(self.folder.path()).into()),
            ("HOME", at("")),
            ("XDG_DATA_HOME", at("data")),
            ("XDG_RUNTIME_DIR", at("run")),
        ]
    }
}

fn address(folder: &Path) -> String {
    format!("unix:path={}", folder.join("bus").display())
}
