//! `scripts/package`: the packages that people install, made from this program and inspected.
//! Without a container builder, the image is compared with the folder that it is made from, and its
//! scripts are run from there.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use onyx_test_support::wait_for;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::{BINARY, SOON};

const DOCKERFILE: &str = include_str!("../../../../../packaging/docker/Dockerfile");
const COMPOSE: &str = include_str!("../../../../../packaging/docker/compose.yaml");
const CONFIG: &str = include_str!("../../../../../packaging/docker/onyx.json");

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A small program that starts the tested binary. Packing the unstripped binary would take minutes
/// and test nothing more.
fn small_binary(folder: &Path) -> PathBuf {
    let path = folder.join("onyx");
    std::fs::write(&path, format!("#!/bin/sh\nexec {BINARY} \"$@\"\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

async fn package(kind: &str, folder: &Path, out: &str) -> Vec<PathBuf> {
    let output = Command::new(repository().join("scripts/package"))
        .arg(kind)
        .env("BINARY", small_binary(folder))
        .env("OUT", folder.join(out))
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .env("COMPRESS", "no")
        .env_remove("TARGET")
        .output()
        .await
        .unwrap();
    let text = told(output);
    text.lines().map(PathBuf::from).collect()
}

fn told(output: Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

async fn ask(program: &str, arguments: &[&str]) -> String {
    told(Command::new(program).args(arguments).output().await.unwrap())
}

#[tokio::test]
async fn the_packages_hold_the_program_its_pages_completions_and_unit() {
    let folder = tempfile::tempdir().unwrap();
    let made = package("all", folder.path(), "first").await;
    let [tarball, deb] = made.as_slice() else { panic!("{made:?}") };
    let deb = deb.to_str().unwrap();

    let listed = ask("dpkg-deb", &["--contents", deb]).await;
    for path in [
        "./usr/bin/onyx",
        "./usr/lib/systemd/system/onyx.service",
        "./usr/share/man/man1/onyx.1.gz",
        "./usr/share/man/man1/onyx-service-install.1.gz",
        "./usr/share/bash-completion/completions/onyx",
        "./usr/share/zsh/vendor-completions/_onyx",
        "./usr/share/fish/vendor_completions.d/onyx.fish",
        "./usr/share/doc/onyx/copyright",
        "./usr/share/doc/onyx/LICENSE-MIT",
    ] {
        let line = listed.lines().find(|line| line.ends_with(path));
        let line = line.unwrap_or_else(|| panic!("{path} is not in\n{listed}"));
        assert!(line.contains(" root/root "), "{line}");
        assert_eq!(line.starts_with("-rwxr-xr-x"), path.ends_with("bin/onyx"), "{line}");
    }
    assert!(!listed.contains("docker"), "{listed}");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(ask("dpkg-deb", &["--field", deb, "Package"]).await, "onyx\n");
    assert_eq!(ask("dpkg-deb", &["--field", deb, "Version"]).await, format!("{version}\n"));
    let unpacked = folder.path().join("unpacked");
    ask("dpkg-deb", &["--raw-extract", deb, unpacked.to_str().unwrap()]).await;
    let unit =
        std::fs::read_to_string(unpacked.join("usr/lib/systemd/system/onyx.service")).unwrap();
    for line in
        ["ExecStart=/usr/bin/onyx serve", "User=onyx", "StateDirectory=onyx", "ProtectHome=yes"]
    {
        assert!(unit.lines().any(|found| found == line), "{line} is not in\n{unit}");
    }
    let left = unit
        .lines()
        .find(|line| !line.starts_with('#') && line.contains('@') && !line.contains("~@"));
    assert_eq!(left, None);
    for script in ["postinst", "prerm", "postrm"] {
        ask("sh", &["-n", unpacked.join("DEBIAN").join(script).to_str().unwrap()]).await;
    }

    let listed = ask("tar", &["--list", "--file", tarball.to_str().unwrap()]).await;
    for name in ["onyx", "README.md", "man/man1/onyx.1.gz", "completions/_onyx", "LICENSE-MIT"] {
        assert!(listed.lines().any(|line| line.ends_with(&format!("/{name}"))), "{name}: {listed}");
    }
    let sums = tarball.parent().unwrap();
    let check = format!("cd {} && sha256sum --check --quiet *.sha256", sums.display());
    ask("sh", &["-c", &check]).await;

    // The same sources give identical packages.
    let again = package("all", folder.path(), "second").await;
    for (first, second) in made.iter().zip(&again) {
        assert!(std::fs::read(first).unwrap() == std::fs::read(second).unwrap(), "{first:?}");
    }
}

#[test]
fn the_image_is_made_of_the_packages_folder_and_runs_without_root() {
    let steps: Vec<&str> = DOCKERFILE.lines().map(str::trim).collect();
    assert!(steps.contains(&"RUN ./scripts/package root"));
    assert!(steps.contains(&"COPY --from=build /src/target/package/root/ /"));
    let after = |word: &str| DOCKERFILE.rfind(word).unwrap_or_else(|| panic!("no {word}"));
    // The last stage is the image, which drops its rights before anything starts.
    assert!(
        after("\nUSER onyx") > after("\nFROM ") && after("\nENTRYPOINT ") > after("\nUSER onyx")
    );
    for volume in ["/var/lib/onyx/home", "/var/lib/onyx/keys", "/var/lib/onyx/home/models"] {
        assert!(DOCKERFILE[after("\nVOLUME ")..].contains(&format!("\"{volume}\"")), "{volume}");
        assert!(COMPOSE.contains(&format!(":{volume}\n")), "{volume} is not in compose.yaml");
    }
    for service in ["onyx", "searxng", "ollama"] {
        assert!(COMPOSE.contains(&format!("\n  {service}:\n")), "{service}");
    }
    // The compose file sets every variable of the config.
    let named: Vec<&str> =
        CONFIG.split("${").skip(1).filter_map(|rest| rest.split('}').next()).collect();
    assert_eq!(named.len(), 3, "{named:?}");
    for name in named {
        assert!(COMPOSE.contains(&format!("\n      {name}: ")), "compose.yaml does not set {name}");
    }
}

#[tokio::test]
async fn the_images_own_scripts_make_a_home_serve_it_and_find_it_healthy() {
    let folder = tempfile::tempdir().unwrap();
    let root = package("root", folder.path(), "out").await.remove(0);
    let scripts = root.join("usr/share/onyx/docker");
    for word in ["entrypoint", "healthcheck"] {
        assert!(DOCKERFILE.contains(&format!("[\"/usr/share/onyx/docker/{word}\"]")), "{word}");
    }
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let start = |token: Option<&str>, arguments: &[&str]| {
        let mut command = Command::new(scripts.join("entrypoint"));
        command
            .args(arguments)
            .env("PATH", format!("{}:/usr/bin:/bin", root.join("usr/bin").display()))
            .env("ONYX_HOME", &home)
            .env("ONYX_KEYS", folder.path().join("keys"))
            .env("OLLAMA_URL", "http://127.0.0.1:9")
            .env("SEARXNG_URL", "http://127.0.0.1:9")
            .env_remove("ONYX_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command.envs(token.map(|token| ("ONYX_TOKEN", token)));
        command
    };
    let refused = start(None, &["onyx", "serve"]).output().await.unwrap();
    assert!(
        !refused.status.success()
            && String::from_utf8_lossy(&refused.stderr).contains("ONYX_TOKEN")
    );
    assert!(!home.join("onyx.json").exists());

    let token = Some("onyx_sk_of_the_image");
    told(start(token, &["true"]).output().await.unwrap());
    let config = std::fs::read_to_string(home.join("onyx.json")).unwrap();
    assert_eq!(config, CONFIG);
    assert!(home.join("agents/main/AGENTS.md").exists());
    // The server listens on this machine only, and a second start keeps existing files.
    std::fs::write(home.join("onyx.json"), config.replace("0.0.0.0", "127.0.0.1")).unwrap();
    let doctor = start(token, &["onyx", "doctor"]).output().await.unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("✓ config: ") && !doctor.contains("! config"), "{doctor}");

    let mut server = start(token, &["onyx", "serve", "--port", "0"]).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(SOON * 3, lines.next_line()).await.unwrap().unwrap().unwrap();
    let port = line.rsplit(':').next().unwrap().to_owned();
    let healthy = async || {
        let check = Command::new(scripts.join("healthcheck"))
            .arg(&port)
            .stderr(Stdio::null())
            .status()
            .await;
        check.unwrap().success()
    };
    wait_for("a healthy server", SOON, async || healthy().await.then_some(())).await;
    server.kill().await.unwrap();
    assert!(!healthy().await, "nobody answers any more");
}
