use onyx_test_support::Answer;
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

    // Somebody takes the last exchange out with an editor: memory must not know better.
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
    world.say(Some(session), "three").await;
    let texts = json!(sent(&world)).to_string();
    assert!(texts.contains("ONE") && texts.contains("three") && !texts.contains("one"), "{texts}");
}
