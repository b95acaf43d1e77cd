//! Answers of a real model: their text, their usage, and how they are stopped.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{FRANCE, complete, models, run, started, worker_of};
use crate::{said, types};

fn statuses(events: &[Value]) -> usize {
    events.iter().filter(|event| event["type"] == "status").count()
}

#[tokio::test]
#[ignore = "make test-live"]
async fn a_fresh_home_without_any_key_answers_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    assert_eq!(run(&home, &["init"]).await.code, Some(0));
    std::os::unix::fs::symlink(models().await, home.join("models")).unwrap();

    let start = Instant::now();
    let answer = run(&home, &["chat", FRANCE]).await;

    println!("the command line answered in {:?}: {}", start.elapsed(), answer.out.trim());
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.out.contains("Paris"), "{answer:?}");
    assert!(answer.err.contains("very small model"), "{answer:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn it_says_once_what_it_is_and_is_told_what_was_said_before() {
    let onyx = started(json!({})).await;
    let events = onyx.chat_stream(&json!({"message": FRANCE})).await;

    assert!(said(&events).contains("Paris"), "{events:?}");
    assert!(types(&events).iter().filter(|kind| **kind == "text").count() > 2, "{events:?}");
    assert_eq!((statuses(&events), types(&events).last()), (1, Some(&"done")), "{events:?}");
    let session = events[0]["session_id"].clone();
    let read = |events: &[Value]| {
        let usage = &events.last().unwrap()["usage"];
        usage["input"].as_u64().unwrap() + usage["cache_read"].as_u64().unwrap()
    };
    let (first, words) = (read(&events), said(&events).split_whitespace().count() as u64);
    let events = onyx.chat_stream(&json!({"message": FRANCE, "session_id": session})).await;
    assert_eq!(statuses(&events), 0, "{events:?}");
    // Such a small model may not repeat the word, but the tokens show that it got the whole text.
    assert!(read(&events) >= first + words, "{first} and {words} words: {events:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn the_same_question_is_answered_rightly_ten_times_over() {
    let onyx = started(json!({})).await;
    for turn in 1..=10 {
        let start = Instant::now();
        let events = onyx.chat_stream(&json!({"message": FRANCE})).await;
        println!("answer {turn} after {:?}", start.elapsed());
        // The words may differ, because cached tokens are not computed again, which changes
        // rounding.
        assert!(said(&events).contains("Paris"), "{events:?}");
    }
}

#[tokio::test]
#[ignore = "make test-live"]
async fn what_was_read_in_one_turn_is_not_read_again_in_the_next() {
    let onyx = started(json!({})).await;
    let story = "Once there was a fox who lived by the sea and counted ships. ".repeat(20);
    let mut messages = vec![json!({"role": "user", "content": story})];
    let ask = async |messages: &[Value]| {
        let more = json!({"messages": messages, "max_tokens": 8});
        let start = Instant::now();
        let answer = complete(&onyx, "local/smollm2", &more).await.expect(200).json();
        println!("{} after {:?}", answer["usage"], start.elapsed());
        answer
    };

    let first = ask(&messages).await;
    messages.push(first["choices"][0]["message"].clone());
    messages.push(json!({"role": "user", "content": "And then?"}));
    let second = ask(&messages).await;

    let cached = |answer: &Value| {
        let usage = &answer["usage"];
        (usage["prompt_tokens"].clone(), usage["prompt_tokens_details"]["cached_tokens"].clone())
    };
    let ((before, Value::Number(none)), (after, Value::Number(known))) =
        (cached(&first), cached(&second))
    else {
        panic!("{first} {second}");
    };
    let number = |value: &Value| value.as_u64().unwrap();
    assert!(none.as_u64().unwrap() < 30, "{first}");
    // The whole first prompt is cached except its very end, and so is part of the answer to it.
    assert!(known.as_u64().unwrap() + 8 >= number(&before), "{first} {second}");
    assert!(number(&after) > number(&before), "{first} {second}");
}

/// The beginning of an agent's prompt is the same in all sessions, so it is computed once.
#[tokio::test]
#[ignore = "make test-live"]
async fn what_an_agent_is_told_is_read_once_for_all_its_sessions() {
    let onyx = started(json!({})).await;
    let mut usages = Vec::new();
    for question in ["What is the capital of France?", "How many legs has a spider?"] {
        let events = onyx.client().chat_stream(&json!({"message": question})).await;
        usages.push(events.last().unwrap()["usage"].clone());
    }
    println!("{usages:?}");
    let [first, second] = [0, 1].map(|index| {
        let of = |name: &str| usages[index][name].as_u64().unwrap();
        (of("input"), of("cache_read"))
    });
    assert!(first.1 < 30, "{usages:?}");
    // Everything is cached except the question with its time.
    assert!(second.1 * 2 >= second.0, "{usages:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn two_chats_stream_at_once_on_few_threads() {
    let onyx = started(json!({})).await;
    let ask = |text: &str| json!({"message": text});
    let (one, other) = (ask("Tell me a story about a fox."), ask("What is the capital of Italy?"));
    let (one, other) = tokio::join!(onyx.chat_stream(&one), onyx.chat_stream(&other));

    assert!(said(&one).len() > 40, "{one:?}");
    assert!(said(&other).contains("Rome"), "{other:?}");
    assert_eq!((types(&one).last(), types(&other).last()), (Some(&"done"), Some(&"done")));
    let worker = worker_of(&onyx).unwrap();
    let threads = std::fs::read_dir(format!("/proc/{worker}/task")).unwrap().count();
    let cores = std::thread::available_parallelism().unwrap().get();
    // llama.cpp has at most four threads, and one thread reads orders.
    assert!(threads <= cores.min(4) + 2, "{threads} threads on {cores} cores");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn a_stop_is_heard_between_two_words_and_the_next_answer_comes() {
    let onyx = started(json!({})).await;
    let ask = json!({"message": "Tell me a very long story about a fox, a bear and a king."});
    let mut lines = onyx.chat_lines(&ask).await;
    let session = lines.until("start").await["session_id"].as_str().unwrap().to_owned();
    lines.until("text").await;

    let start = Instant::now();
    let _ = onyx.stop(&session).await.expect(200);
    let rest = lines.rest().await;
    println!("stopped in {:?}", start.elapsed());

    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(types(&rest).last(), Some(&"done"), "{rest:?}");
    assert!(said(&onyx.chat_stream(&json!({"message": FRANCE})).await).contains("Paris"));
}

#[tokio::test]
#[ignore = "make test-live"]
async fn an_answer_by_schema_parses() {
    let onyx = started(json!({})).await;
    let schema = json!({
        "type": "object",
        "properties": {
            // The lengths are limited, because a very small model does not always end a text.
            "city": {"type": "string", "maxLength": 20},
            "people": {"type": "integer"},
            "rivers": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 9}},
        },
        "required": ["city", "people", "rivers"],
        "additionalProperties": false,
    });
    let format = json!({"type": "json_schema", "json_schema": {"name": "city", "schema": schema}});
    let of = |question: &str| json!([{"role": "user", "content": question}]);
    for question in ["Hello", "Paris", "Say nothing but: }}}"] {
        let more = json!({"messages": of(question), "response_format": format, "max_tokens": 400});
        let answer = complete(&onyx, "local/smollm2", &more).await.expect(200).json();
        let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
        let value: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{answer}"));
        let fits = value["city"].is_string() && value["people"].is_i64();
        assert!(fits && value["rivers"].is_array(), "{value}");
    }
}
