//! `onyx service` with a systemctl that records its calls.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use onyx_test_support::ScriptedModel;
use serde_json::{Value, json};

use crate::{BINARY, Ran, command, onyx};

/// Answers every question with yes, records each call, and knows whether the service runs.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >> "$STATE/calls"
case "$*" in
  *is-active*) cat "$STATE/active" 2>/dev/null || { echo inactive; exit 3; } ;;
  *is-enabled*) echo enabled ;;
  *enable\ --now*|*restart*) echo active > "$STATE/active" ;;
  *disable*) rm -f "$STATE/active" ;;
  *broken*) exit 1 ;;
esac
"#;

struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let machine = Self { folder };
        for name in ["bin", "config", "home", "state"] {
            std::fs::create_dir(machine.path(name)).unwrap();
        }
        let program = machine.path("bin/systemctl");
        std::fs::write(&program, SYSTEMCTL).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn run(&self, home: &Path, arguments: &[&str]) -> Ran {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut command = command(home, arguments);
        command
            .env("PATH", path)
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("STATE", self.path("state"))
            .env_remove("SUDO_USER");
        command.output().await.unwrap().into()
    }

    fn calls(&self) -> Vec<String> {
        let path = self.path("state/calls");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        text.lines().filter(|call| !call.contains("is-")).map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn a_user_installs_looks_at_and_removes_the_service() {
    let machine = Machine::new();
    let home = machine.path("home");
    let unit = machine.path("config/systemd/user/onyx.service");
    let none = machine.run(&home, &["service", "status"]).await;
    assert_eq!(none.code, Some(4), "{none:?}");
    let none = machine.run(&home, &["service", "uninstall"]).await;
    assert_eq!(
        (none.code, none.err.contains("no service is installed")),
        (Some(4), true),
        "{none:?}"
    );

    let done = machine.run(&home, &["service", "install"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(machine.calls(), ["--user daemon-reload", "--user enable --now onyx.service"]);
    let text = std::fs::read_to_string(&unit).unwrap();
    assert!(text.starts_with("# Written by `onyx service install`."), "{text}");
    assert!(text.contains(&format!("\nExecStart=\"{BINARY}\" serve\n")), "{text}");
    assert!(text.contains(&format!("\nEnvironment=\"ONYX_HOME={}\"\n", home.display())), "{text}");
    assert!(
        text.contains("\nNoNewPrivileges=yes\n") && text.contains("\nWantedBy=default.target\n")
    );

    let status = machine.run(&home, &["service", "status", "--json"]).await;
    let told: Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!(
        told,
        json!({"installed": true, "unit": unit, "enabled": "enabled", "active": "active"})
    );
    assert_eq!(status.code, Some(0));

    // A second install, as after an upgrade, restarts the running service.
    machine.calls();
    machine.run(&home, &["service", "install"]).await;
    let again =
        ["--user daemon-reload", "--user enable onyx.service", "--user restart onyx.service"];
    assert_eq!(machine.calls(), again);

    let gone = machine.run(&home, &["service", "uninstall"]).await;
    assert_eq!((gone.code, unit.exists()), (Some(0), false), "{gone:?}");
    assert_eq!(machine.calls(), ["--user disable --now onyx.service", "--user daemon-reload"]);
}

#[tokio::test]
async fn a_unit_of_somebody_else_is_left_alone() {
    let machine = Machine::new();
    let unit = machine.path("config/systemd/user/onyx.service");
    std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
    std::fs::write(&unit, "[Service]\nExecStart=/my/own\n").unwrap();
    for command in ["install", "uninstall"] {
        let ran = machine.run(&machine.path("home"), &["service", command]).await;
        assert_eq!(
            (ran.code, ran.err.contains("was not written by `onyx service install`")),
            (Some(1), true),
            "{ran:?}"
        );
    }
    assert_eq!(machine.calls(), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(&unit).unwrap(), "[Service]\nExecStart=/my/own\n");
}

#[tokio::test]
async fn a_service_of_a_machine_runs_as_a_user_and_is_held() {
    let machine = Machine::new();
    let root = machine.path("image");
    std::fs::create_dir_all(root.join("etc")).unwrap();
    std::fs::write(
        root.join("etc/passwd"),
        "root:x:0:0::/root:/bin/sh\nmara:x:1000:1000::/home/mara:/bin/sh\n",
    )
    .unwrap();
    let image = root.to_str().unwrap();
    let home = machine.path("home");
    for (user, says) in [
        (None, "needs a user"),
        (Some("root"), "needs a user"),
        (Some("nobody"), "has no user nobody"),
    ] {
        let mut arguments = vec!["service", "install", "--system", "--root", image];
        arguments.extend(user.iter().flat_map(|user| ["--user", user]));
        let ran = machine.run(&home, &arguments).await;
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains(says) && ran.err.contains("hint:"), "{ran:?}");
    }
    let done = machine
        .run(&home, &["service", "install", "--system", "--root", image, "--user", "mara"])
        .await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(machine.calls(), [format!("--root {image} enable onyx.service")]);
    let text = std::fs::read_to_string(root.join("etc/systemd/system/onyx.service")).unwrap();
    for line in [
        "User=mara",
        "ProtectSystem=strict",
        "CapabilityBoundingSet=",
        "WantedBy=multi-user.target",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    let writable = format!("ReadWritePaths=\"{}\" ", home.display());
    assert!(
        text.contains(&writable) && text.contains("\"-/home/mara/.local/share/onyx\""),
        "{text}"
    );
    let odd = machine.run(&home, &["service", "install", "--root", image]).await;
    assert_eq!(odd.code, Some(2), "an image has no user's service: {odd:?}");
}

#[tokio::test]
async fn a_home_that_is_served_already_is_not_given_a_second_server() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let machine = Machine::new();
    let ran = machine.run(&onyx.home(), &["service", "install"]).await;
    assert_eq!((ran.code, ran.err.contains("stop it first")), (Some(3), true), "{ran:?}");
    assert!(!machine.path("config/systemd/user/onyx.service").exists());
    assert_eq!(machine.calls(), Vec::<String>::new());
}

#[tokio::test]
async fn without_systemd_it_says_what_to_do() {
    let machine = Machine::new();
    let mut command = command(&machine.path("home"), &["service", "install"]);
    command.env("PATH", machine.path("state")).env("XDG_CONFIG_HOME", machine.path("config"));
    let ran: Ran = command.output().await.unwrap().into();
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("systemd is not here") && ran.err.contains("onyx serve"), "{ran:?}");
}
