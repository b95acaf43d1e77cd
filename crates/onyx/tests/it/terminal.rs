//! `onyx chat` in a real terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onyx_test_support::{DEFAULT_KEY, Script, ScriptedModel, Step, canary, wait_for, wait_until};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;
use tokio::process::{Child, Command};

use crate::{BINARY, onyx};

const PATIENCE: Duration = Duration::from_secs(20);
const UP: &str = "\x1b[A";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const PROMPT: &str = "› ";

/// A terminal with `onyx chat`, as a person uses it.
struct Terminal {
    screen: Arc<Mutex<Vec<u8>>>,
    keys: File,
    chat: Child,
    /// How much of the output was searched already.
    seen: usize,
}

impl Terminal {
    async fn open(home: &Path) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        let slave = || OpenOptions::new().read(true).write(true).custom_flags(flags).open(&name);
        // The process gets a session with this terminal, so that Ctrl-C reaches it as a signal.
        let chat = Command::new("setsid")
            .args(["--ctty", BINARY, "chat"])
            .env("ONYX_HOME", home)
            .env("MY_KEY", DEFAULT_KEY)
            .env("TERM", "xterm")
            .stdin(slave().unwrap())
            .stdout(slave().unwrap())
            .stderr(slave().unwrap())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let keys = File::from(master);
        let screen = Arc::<Mutex<Vec<u8>>>::default();
        let (reader, shown) = (keys.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || show(reader, &shown));
        let mut terminal = Self { screen, keys, chat, seen: 0 };
        terminal.wait(PROMPT).await;
        terminal
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the text appears after everything that was waited for before.
    async fn wait(&mut self, text: &str) {
        let seen = self.seen;
        let what = format!("{text:?} on the screen");
        let found = wait_for(&what, PATIENCE, async || {
            let shown = plain(&self.screen.lock().unwrap());
            shown.get(seen..)?.find(text).map(|at| seen + at + text.len())
        });
        self.seen = found.await;
    }

    async fn ended(mut self) -> ExitStatus {
        let ended = tokio::time::timeout(PATIENCE, self.chat.wait()).await;
        canary::assert_absent("the terminal", &self.screen.lock().unwrap());
        ended.expect("the chat ends").unwrap()
    }
}

/// Collects the output, and reports the cursor position as a terminal does when it is asked.
fn show(mut terminal: File, screen: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    // Reading fails when the last program has closed the terminal.
    while let Ok(count) = terminal.read(&mut bytes) {
        if count == 0 {
            return;
        }
        screen.lock().unwrap().extend_from_slice(&bytes[..count]);
        for _ in String::from_utf8_lossy(&bytes[..count]).matches("\x1b[6n") {
            let _ = terminal.write_all(b"\x1b[1;1R");
        }
    }
}

/// The words without colours and cursor movements.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\x1b' {
            plain.push(character);
        } else if rest.next() == Some('[') {
            rest.by_ref().find(|end| ('@'..='~').contains(end));
        }
    }
    plain
}

/// The last message that the model got.
fn asked(model: &ScriptedModel) -> String {
    let messages = model.last_request().body["messages"].clone();
    let last = messages.as_array().unwrap().iter().rfind(|message| message["role"] == "user");
    last.unwrap()["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_conversation_at_a_terminal_has_a_history_stops_on_ctrl_c_and_ends_on_ctrl_d() {
    let model = ScriptedModel::with_answers([
        Script::text("One answer."),
        Script::text("Another answer."),
        Script::new([Step::Text("Half an answer".into()), Step::Hang]),
        Script::text("The rest."),
    ])
    .await;
    let onyx = onyx(&model).await;
    let mut terminal = Terminal::open(&onyx.home()).await;
    terminal.press("a question\r");
    terminal.wait("One answer.").await;
    terminal.wait(PROMPT).await;
    terminal.press(UP);
    terminal.wait("a question").await;
    terminal.press("\r");
    terminal.wait("Another answer.").await;
    assert!(asked(&model).ends_with("a question"), "{}", asked(&model));
    terminal.wait(PROMPT).await;

    terminal.press("go\r");
    terminal.wait("Half an answer").await;
    terminal.press(CTRL_C);
    terminal.wait("the answer so far is kept").await;
    wait_until("the model to be let go", PATIENCE, || model.abandoned() == 1).await;
    let list = onyx.get("/v1/sessions").await.expect(200).json();
    let session = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    let messages = onyx.history(&session).await;
    let last = messages.last().unwrap();
    assert_eq!(
        (messages.len(), &last["content"], &last["status"]),
        (6, &json!("Half an answer"), &json!("cancelled"))
    );

    terminal.wait(PROMPT).await;
    terminal.press("and then\r");
    terminal.wait("The rest.").await;
    terminal.wait(PROMPT).await;
    terminal.press(CTRL_D);
    terminal.wait(&format!("onyx chat -s {session}")).await;
    assert_eq!(terminal.ended().await.code(), Some(0));
    assert_eq!(onyx.history(&session).await.len(), 8, "all of it is one conversation");

    // The input history is still there, and Ctrl-C at the prompt does not end the program.
    let mut again = Terminal::open(&onyx.home()).await;
    again.press(UP);
    again.wait("and then").await;
    again.press(CTRL_C);
    again.wait("Ctrl-D leaves").await;
    again.wait(PROMPT).await;
    again.press(CTRL_D);
    assert_eq!(again.ended().await.code(), Some(0));
}

#[tokio::test]
async fn what_needs_a_person_is_shown_and_answered_at_the_terminal() {
    let model = crate::drafts::obedient().await;
    let onyx = crate::builder(&model).file("people/owner/vault/a.md", "mine\n").start().await;
    let mut terminal = Terminal::open(&onyx.home()).await;
    let delete = crate::drafts::message(&[("delete_file", json!({"path": "a.md"}))]);
    for (key, left) in [("\r", Some("mine\n")), ("y\r", None)] {
        terminal.press(&format!("{delete}\r"));
        terminal.wait("Delete a.md").await;
        terminal.wait("-mine").await;
        terminal.wait("Approve? [y/N]").await;
        terminal.press(key);
        terminal.wait("ok").await;
        terminal.wait(PROMPT).await;
        assert_eq!(crate::drafts::vault(&onyx, "a.md").as_deref(), left, "{key:?}");
    }
    let ask = crate::drafts::message(&[("ask_person", json!({"question": "Which colour?"}))]);
    terminal.press(&format!("{ask}\r"));
    terminal.wait("Your answer:").await;
    terminal.press("blue\r");
    terminal.wait(PROMPT).await;
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("\"content\":\"blue\""), "{heard}");
    // Options are shown with numbers, and typing a number chooses the option.
    let arguments = json!({"question": "Which wood?", "options": ["oak", "larch"]});
    terminal.press(&format!("{}\r", crate::drafts::message(&[("ask_person", arguments)])));
    terminal.wait("2. larch").await;
    terminal.wait("or its number:").await;
    terminal.press("2\r");
    terminal.wait(PROMPT).await;
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("\"content\":\"larch\""), "{heard}");
    terminal.press(CTRL_D);
    assert_eq!(terminal.ended().await.code(), Some(0));
}
