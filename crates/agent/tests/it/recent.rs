use onyx_test_support::{Answer, Finish, Script, ScriptedUsage, Step};
use onyx_types::Limits;
use serde_json::json;

use crate::world::World;

fn sent(world: &World) -> Vec<serde_json::Value> {
    world.model.last_request().body["messages"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_is_kept_in_memory_is_what_the_log_says() {
    let world = World::new(Vec::<Answer>::new()).await;
    world.model.set_default(Answer::text("ok"));
    let (session, _) = world.say(None, "one").await;
    for text in ["two", "three"] {
        world.say(Some(session), text).await;
    }
    let kept = sent(&world);
    let home = world.folder.path().join("home");
    let log = home.join(format!("people/ana/sessions/main/{session}.jsonl"));
    let whole = std::fs::read_to_string(&log).unwrap();

    // Somebody removes the last exchange with an editor, so the cached history must not be used.
    let lines: Vec<&str> = whole.lines().collect();
    std::fs::write(&log, format!("{}\n", lines[..lines.len() - 4].join("\n"))).unwrap();
    world.say(Some(session), "four").await;
    let texts = json!(sent(&world)).to_string();
    assert!(texts.contains("two") && texts.contains("four") && !texts.contains("three"));
    assert_eq!(sent(&world)[..4], kept[..4], "and what is left is the same, byte for byte");
}

#[tokio::test]
async fn an_edit_that_keeps_the_length_of_the_log_is_noticed() {
    let world = World::new(Vec::<Answer>::new()).await;
    world.model.set_default(Answer::text("ok"));
    let (session, _) = world.say(None, "one").await;
    world.say(Some(session), "two").await;
    let home = world.folder.path().join("home");
    let log = home.join(format!("people/ana/sessions/main/{session}.jsonl"));
    let edited = std::fs::read_to_string(&log).unwrap().replacen("one", "ONE", 1);
    std::fs::write(&log, edited).unwrap();
    // A person needs longer than the few milliseconds that some file systems do not tell apart.
    let file = std::fs::File::options().write(true).open(&log).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_modified(written + std::time::Duration::from_secs(1)).unwrap();
    world.say(Some(session), "three").await;
    let texts = json!(sent(&world)).to_string();
    assert!(texts.contains("ONE") && texts.contains("three") && !texts.contains("one"), "{texts}");
}

#[tokio::test]
async fn a_conversation_that_is_read_in_part_begins_with_a_question() {
    let agents = json!({"list": [{"id": "main", "tier": "act", "model": "mine/small"}]});
    let world = World::with_agents(Vec::<Answer>::new(), agents, Limits::default()).await;
    world.model.set_default(Answer::text("ok"));
    let words = "word ".repeat(150);
    let (session, _) = world.say(None, &words).await;
    for n in 0..40 {
        world.say(Some(session), &format!("message {n} {words}")).await;
    }
    let home = world.folder.path().join("home");
    let log = home.join(format!("people/ana/sessions/main/{session}.jsonl"));
    let whole = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    // A page of the log may begin at any turn.
    for cut in 1..=4 {
        std::fs::write(&log, format!("{}\n", lines[..lines.len() - cut].join("\n"))).unwrap();
        world.say(Some(session), "last").await;
        let messages = sent(&world);
        let first = messages.iter().find(|message| message["role"] != "system").unwrap();
        assert_eq!(first["role"], "user", "{cut} lines cut");
        assert!(!first.to_string().contains("message 0 "), "all of it was sent");
    }
}

/// The model reports less than half of what the rule estimates, so twice the rule's window fits.
#[tokio::test]
async fn as_much_is_read_from_the_log_as_the_model_itself_has_room_for() {
    let agents = json!({"list": [{"id": "main", "tier": "act", "model": "mine/small"}]});
    let world = World::with_agents(Vec::<Answer>::new(), agents, Limits::default()).await;
    world.model.respond_with(|request| {
        let input = request.raw.len() as u64 * 11 / 100;
        let usage = ScriptedUsage { input, output: 1, ..ScriptedUsage::default() };
        let ok = [Step::Text("ok".into()), Step::Usage(usage), Step::Finish(Finish::Stop)];
        Answer::script(Script::new(ok))
    });
    let words = "word ".repeat(80);
    let (session, _) = world.say(None, &format!("first {words}")).await;
    for n in 0..117 {
        world.say(Some(session), &format!("message {n} {words}")).await;
    }
    // The log is changed by another writer, so that it is read again.
    let home = world.folder.path().join("home");
    let log = home.join(format!("people/ana/sessions/main/{session}.jsonl"));
    std::fs::write(&log, std::fs::read(&log).unwrap()).unwrap();
    world.say(Some(session), "last").await;
    let texts = json!(sent(&world)).to_string();
    assert!(texts.contains("last") && texts.contains("first word"), "{}", texts.len());
}
