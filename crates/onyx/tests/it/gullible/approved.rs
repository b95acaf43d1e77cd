//! Attacks that must fail even with a person's approval: private addresses, and commands that see
//! or reach more than the vault.

use onyx_test_support::wait_until;
use onyx_types::Tier;
use serde_json::json;

use super::world::{Made, Ran, SECRET, World, say};
use crate::SOON;

/// Sends a message and approves every question. Returns the calls with their ends.
async fn with_a_yes(world: &World, words: &str) -> Vec<Made> {
    let mut lines = world.onyx.chat_lines(&json!({"message": words})).await;
    let start = lines.until("start").await;
    while let Some(event) = lines.next().await {
        if event["type"] == "confirm" {
            let draft = event["draft_id"].as_str().unwrap();
            let path = format!("/api/pending-changes/{draft}/approve");
            drop(world.onyx.post(&path, &json!({})).await.expect(200));
        }
    }
    let of = |name: &str| start[name].as_str().unwrap().to_owned();
    world.made(&Ran { session: of("session_id"), run: of("run_id") }).await
}

#[tokio::test]
async fn a_private_address_is_not_asked_though_a_person_approved_it() {
    let world = World::new(Tier::Act, 120).await;
    let port = world.inner.address().port();
    world.serve("/chain", onyx_test_support::Page::redirect("/leap"));
    let hosts = [
        "127.0.0.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f.1",
        "0.0.0.0",
        "localhost",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "me:word@127.0.0.1",
    ];
    // The addresses differ a little from what the person wrote, so that the person is asked.
    let inner = hosts.iter().map(|host| format!("http://{host}:{port}/x{{{{last_word}}}}y"));
    let redirects = ["/leap", "/chain"].map(|path| world.site.url(path));
    for url in inner.chain(redirects) {
        let words = say("Look there.", "web_fetch", &json!({"url": url}));
        let made = with_a_yes(&world, &words).await;
        assert_eq!(made.len(), 1, "{url}");
        assert!(made[0].is_error, "{url}: {made:?}");
    }
    assert_eq!(world.inner.requests(), [""; 0]);
}

#[tokio::test]
async fn an_approved_command_sees_the_vault_and_nothing_else() {
    let world = World::new(Tier::Act, 120).await;
    let (home, canary) = (world.onyx.home(), world.canary.address());
    let (home, outside) = (home.display(), world.outside_folder().display().to_string());
    let script = format!(
        "cat secret.txt; echo; cat {home}/onyx.json {home}/people/owner/memory/main/MEMORY.md \
         {outside}/outside.txt && echo READ; echo x > {outside}/eve && echo WROTE; \
         echo x > {home}/agents/main/SOUL.md && echo WROTE; ls {home}/agents && echo LISTED; \
         env | grep -i key && echo KEYS; \
         python3 -I -c 'import socket; socket.create_connection((\"{}\", {}), 2)' && echo REACHED; \
         python3 -I -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\
         .sendto(b\"x\", (\"{}\", {}))' && echo SENT; true",
        canary.ip(),
        canary.port(),
        canary.ip(),
        canary.port(),
    );
    let argv = json!({"argv": ["sh", "-c", script]});
    let made = with_a_yes(&world, &say("Run it.", "exec", &argv)).await;
    let output = &made[0].output;
    assert!(output.contains(SECRET), "the vault is there: {output}");
    for done in ["\nREAD", "\nWROTE", "\nLISTED", "\nKEYS", "\nREACHED", "\nSENT"] {
        assert!(!output.contains(done), "{done}: {output}");
    }
    assert_eq!(world.heard(), [""; 0]);
}

#[tokio::test]
async fn a_command_does_not_outlive_a_stop() {
    let world = World::new(Tier::Act, 120).await;
    let name = format!("pipe-{}", std::process::id());
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.vault().join(&name),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let words = say("Print it.", "exec", &json!({"argv": ["cat", name]}));
    let mut lines = world.onyx.chat_lines(&json!({"message": words})).await;
    let start = lines.until("start").await;
    wait_until("the command", SOON * 3, || lives(&name)).await;
    drop(world.onyx.stop(start["session_id"].as_str().unwrap()).await.expect(200));
    wait_until("its end", SOON, || !lives(&name)).await;
    let rest = lines.rest().await;
    assert_eq!(rest.last().unwrap()["status"], "cancelled", "{rest:#?}");
}

/// Whether a `cat` process of this name is running. The server and its log contain the name too.
fn lives(name: &str) -> bool {
    let wanted = format!("cat\0{name}\0");
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line) == wanted
    })
}
