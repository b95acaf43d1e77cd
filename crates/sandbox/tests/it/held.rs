use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::time::Duration;

use onyx_sandbox::{Sandbox, SandboxKind};
use onyx_test_support::wait_until;

use crate::support::{ATTEMPTS, KINDS, Place, SENTINEL, program};

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_command_works_in_the_vault_and_says_how_it_ended() {
    for kind in KINDS {
        let place = Place::on(kind);
        let script = "cat notes.md; echo new > made.md; echo oops >&2; echo t > \"$TMPDIR/t\" && \
                      mkdir -p a/b && mv made.md a/b/ && rm notes.md; exit 3";
        let ended = place.run(script).await;
        assert_eq!(ended.code, Some(3), "{kind:?}: {}", ended.output);
        assert!(ended.output.contains("mine\n") && ended.output.contains("oops\n"), "{kind:?}");
        assert_eq!(std::fs::read_to_string(place.path("vault/a/b/made.md")).unwrap(), "new\n");
        assert!(!place.path("vault/notes.md").exists());
        let missing = place.command(&["no-such-program"]);
        let mut running = place.sandbox.start(missing, Stdio::null()).await.unwrap();
        let told = running.next_output().await.unwrap().unwrap();
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(told.contains("no-such-program cannot be run"), "{kind:?}: {told}");
    }
}

#[tokio::test]
async fn nothing_outside_can_be_read_or_listed() {
    for kind in KINDS {
        let place = Place::on(kind);
        std::os::unix::fs::symlink(place.path("onyx.json"), place.path("vault/link")).unwrap();
        let home = place.home.path().display();
        let script = format!(
            "cat link; cat ../onyx.json ../onyx.sock.key {home}/onyx.sock.key; cat {home}/onyx.json {home}/other/diary.md; \
             ls {home}/other; cat /etc/shadow; ls /root /home; cat /proc/1/environ; \
             cat /proc/{pid}/environ; ls /proc/{pid}/root; cat /proc/self/root{home}/onyx.json; \
             cat /etc/hostname; ls /var /sys; true",
            pid = std::process::id(),
        );
        let ended = place.run(&script).await;
        assert_eq!(ended.code, Some(0), "{kind:?}: {}", ended.output);
        assert!(!ended.output.contains(SENTINEL), "{kind:?}: {}", ended.output);
        assert!(!ended.output.contains("diary.md\n"), "{kind:?}: {}", ended.output);
        assert!(!ended.output.contains("root:"), "{kind:?}: {}", ended.output);
    }
}

#[tokio::test]
async fn nothing_outside_can_be_written_or_changed() {
    for kind in KINDS {
        let place = Place::on(kind);
        let home = place.home.path().display();
        let script = format!(
            "echo x > {home}/onyx.json; echo x > ../new.md; rm -rf {home}/other; \
             mv {home}/other {home}/gone; echo x > /usr/onyx-test; touch /etc/onyx-test; \
             ln {home}/onyx.json hard; mknod dev b 7 0; chmod 777 {home}/onyx.json; \
             mkdir /var/onyx-test; true"
        );
        let ended = place.run(&script).await;
        assert_eq!(ended.code, Some(0), "{kind:?}: {}", ended.output);
        assert_eq!(std::fs::read_to_string(place.path("onyx.json")).unwrap(), SENTINEL);
        assert_eq!(std::fs::read_to_string(place.path("other/diary.md")).unwrap(), SENTINEL);
        for path in ["new.md", "gone", "vault/hard", "vault/dev"] {
            assert!(!place.path(path).exists(), "{kind:?}: {path}");
        }
        for path in ["/usr/onyx-test", "/etc/onyx-test", "/var/onyx-test"] {
            assert!(!std::path::Path::new(path).exists(), "{kind:?}: {path}");
        }
    }
}

#[tokio::test]
async fn a_folder_that_may_only_be_read_stays_as_it_is() {
    for kind in KINDS {
        let place = Place::on(kind);
        let mut command =
            place.command(&["sh", "-c", "cat notes.md; echo x > notes.md; rm notes.md"]);
        command.readable = vec![place.path("vault")];
        command.writable = vec![place.path("scratch")];
        let mut running = place.sandbox.start(command, Stdio::null()).await.unwrap();
        let mut said = Vec::new();
        while let Some(more) = running.next_output().await.unwrap() {
            said.extend_from_slice(&more);
        }
        let said = String::from_utf8_lossy(&said);
        assert!(said.lines().any(|line| line == "mine"), "{kind:?}: {said}");
        assert!(!running.wait().await.unwrap().success());
        assert_eq!(std::fs::read_to_string(place.path("vault/notes.md")).unwrap(), "mine\n");
    }
}

/// Uses Python, because it can try every kind of socket and other tests need it too.
#[tokio::test]
async fn no_socket_of_any_kind_leads_out() {
    const TRY: &str = r#"
import os
path = sys.argv[3]
attempt("tcp", connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", tcp)))
attempt("udp", connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", udp)))
attempt("tcp6", connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", tcp)))
attempt("dns", connect(socket.AF_INET, socket.SOCK_DGRAM, ("9.9.9.9", 53)))
attempt("unix", connect(socket.AF_UNIX, socket.SOCK_STREAM, path))
attempt("abstract", connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0onyx-test"))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("name", lambda: socket.getaddrinfo("example.org", 80))
def namespace():
    if libc.unshare(0x10000000) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
attempt("namespace", namespace)
attempt("session", os.setsid)
attempt("group", lambda: os.setpgid(0, 0))
"#;
    for kind in KINDS {
        let place = Place::on(kind);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = place.path("onyx.sock");
        let _unix = UnixListener::bind(&socket).unwrap();
        std::fs::write(place.path("vault/try.py"), format!("{ATTEMPTS}{TRY}")).unwrap();
        let script = format!(
            "python3 -I try.py {} {} {}",
            tcp.local_addr().unwrap().port(),
            udp.local_addr().unwrap().port(),
            socket.display()
        );
        let ended = place.run(&script).await;
        assert_eq!(ended.output.matches("closed").count(), 13, "{kind:?}: {}", ended.output);
        assert!(!ended.output.contains("OPEN"), "{kind:?}: {}", ended.output);
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        assert!(tcp.accept().is_err() && udp.recv(&mut [0; 8]).is_err(), "{kind:?}");
    }
}

#[tokio::test]
async fn the_environment_holds_four_names_and_no_secret() {
    for kind in KINDS {
        let ended = Place::on(kind).run("env | cut -d= -f1 | sort | tr '\\n' ' '").await;
        let expected = ["HOME", "LANG", "PATH", "PWD", "TMPDIR"];
        let names: Vec<&str> =
            ended.output.split_whitespace().filter(|name| *name != "_").collect();
        assert!(names.iter().all(|name| expected.contains(name)), "{kind:?}: {names:?}");
    }
}

#[tokio::test]
async fn other_processes_can_be_neither_seen_into_nor_killed() {
    for kind in KINDS {
        let place = Place::on(kind);
        let mut bystander = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let own = std::process::id();
        let script = format!("kill -9 {} {own} $PPID; kill -9 -1; true", bystander.id());
        place.run(&script).await;
        assert!(bystander.try_wait().unwrap().is_none(), "{kind:?}");
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }
}

/// Whether a process with this mark in its arguments exists.
fn lives(mark: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let zombie = std::fs::read_to_string(entry.path().join("stat"));
        let zombie = zombie.is_ok_and(|stat| stat.contains(") Z "));
        !zombie && String::from_utf8_lossy(&line).contains(mark)
    })
}

#[tokio::test]
async fn dropping_a_job_ends_all_of_its_processes() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let place = Place::on(kind);
        // The mark is a number of seconds that no other process sleeps.
        let mark = format!("86{number}17.{}", std::process::id());
        let script =
            format!("trap '' TERM INT HUP; (sleep {mark} &) ; nohup sleep {mark} & sleep {mark}");
        let running = place.start(&script).await;
        wait_until("the sleepers", LONG, || lives(&mark)).await;
        drop(running);
        wait_until("their end", LONG, || !lives(&mark)).await;
    }
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let place = Place::on(kind);
        let mark = format!("87{number}17.{}", std::process::id());
        let script = format!("sleep {mark} >/dev/null 2>&1 & echo started");
        let ended = place.run(&script).await;
        assert_eq!((ended.code, ended.output.as_str()), (Some(0), "started\n"), "{kind:?}");
        wait_until("the sleeper's end", LONG, || !lives(&mark)).await;
    }
}

#[tokio::test]
async fn a_job_ends_when_the_process_above_it_dies() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let place = Place::on(kind);
        let mark = format!("88{number}17.{}", std::process::id());
        // Instructions from a process that is not our parent look like those whose giver died.
        let command = place.command(&["sleep", &mark]);
        let instructions = serde_json::json!({
            "kind": kind, "job": command, "parent": 1, "program": program(),
        });
        let child = std::process::Command::new(program().path)
            .args(["supervise", &instructions.to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("the process that started it is gone"), "{kind:?}: {told}");
        wait_until("its end", LONG, || !lives(&mark)).await;
    }
}

#[tokio::test]
async fn the_best_rung_is_found_and_the_caller_stays_free() {
    let sandbox = Sandbox::new(program());
    assert!(sandbox.is_likely());
    assert_eq!(sandbox.kind().await.unwrap(), SandboxKind::Bubblewrap);
    // The process that uses the sandbox is not restricted itself.
    TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::read_dir("/").unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    assert!(status.contains("Seccomp:\t0") && status.contains("NoNewPrivs:\t0"), "{status}");
}

#[tokio::test]
async fn where_the_child_cannot_be_started_nothing_runs() {
    let mut broken = program();
    broken.path = "/nonexistent/onyx".into();
    let sandbox = Sandbox::new(broken);
    let error = sandbox.kind().await.unwrap_err();
    assert!(error.to_string().contains("Install the package `bubblewrap`"), "{error}");
    let place = Place::on(SandboxKind::Landlock);
    assert!(sandbox.start(place.command(&["true"]), Stdio::null()).await.is_err());
}
