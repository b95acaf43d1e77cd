use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use onyx_sandbox::{Bounds, Network, Program, Running, Sandbox, SandboxKind, SandboxedCommand};
use tempfile::TempDir;

/// Every kind is tested; one that does not work on this machine fails its tests.
pub(crate) const KINDS: [SandboxKind; 2] = [SandboxKind::Bubblewrap, SandboxKind::Landlock];

/// The beginning of a Python script that tries to open sockets: for each way it prints `OPEN` or
/// `closed`. The ports of a TCP and a UDP listener are its first two arguments.
pub(crate) const ATTEMPTS: &str = r#"
import ctypes, socket, sys
tcp, udp = int(sys.argv[1]), int(sys.argv[2])
def attempt(name, act):
    try:
        act()
        print("OPEN", name)
    except OSError as error:
        print("closed", name, error.errno)
def connect(family, kind, to):
    def act():
        with socket.socket(family, kind) as s:
            s.settimeout(2)
            s.connect(to)
            s.send(b"hello")
    return act
libc = ctypes.CDLL(None, use_errno=True)
def ring():
    if libc.syscall(425, 8, ctypes.create_string_buffer(256)) < 0:
        raise OSError(ctypes.get_errno(), "io_uring")
attempt("io_uring", ring)
"#;

/// A text in everything that no command may see.
pub(crate) const SENTINEL: &str = "SENTINEL-51b2";

/// A home with a vault and a scratch folder, and secrets beside them.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) sandbox: Sandbox,
    pub(crate) bounds: Bounds,
}

pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
}

pub(crate) fn program() -> Program {
    let path = PathBuf::from(env!("CARGO_BIN_EXE_onyx-sandbox-child"));
    Program { path, arguments: Vec::new() }
}

impl Place {
    pub(crate) fn on(kind: SandboxKind) -> Self {
        let home = tempfile::tempdir().unwrap();
        for folder in ["vault", "scratch", "other"] {
            std::fs::create_dir(home.path().join(folder)).unwrap();
        }
        for secret in ["onyx.json", "onyx.sock.key"] {
            std::fs::write(home.path().join(secret), SENTINEL).unwrap();
        }
        std::fs::write(home.path().join("other/diary.md"), SENTINEL).unwrap();
        std::fs::write(home.path().join("vault/notes.md"), "mine\n").unwrap();
        let sandbox = Sandbox::on(kind, program());
        Self { home, sandbox, bounds: Bounds::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn command(&self, argv: &[&str]) -> SandboxedCommand {
        SandboxedCommand {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            folder: self.path("vault"),
            readable: Vec::new(),
            writable: vec![self.path("vault"), self.path("scratch")],
            scratch: self.path("scratch"),
            network: Network::None,
            input: onyx_sandbox::CommandInput::Given,
            bounds: self.bounds,
        }
    }

    pub(crate) async fn start(&self, script: &str) -> Running {
        self.sandbox.start(self.command(&["sh", "-c", script]), Stdio::null()).await.unwrap()
    }

    /// Runs a shell script to its end.
    pub(crate) async fn run(&self, script: &str) -> Ended {
        let mut running = self.start(script).await;
        let all = async {
            let mut output = Vec::new();
            while let Some(piece) = running.next_output().await.unwrap() {
                output.extend(piece);
            }
            let code = running.wait().await.unwrap().code();
            Ended { code, output: String::from_utf8_lossy(&output).into_owned() }
        };
        tokio::time::timeout(Duration::from_secs(120), all).await.expect("the command ends")
    }
}
