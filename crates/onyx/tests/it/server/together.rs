//! Two gateways on one database: each shows, follows, stops and decides what the other does.

use std::time::{Duration, Instant};

use onyx_test_support::{
    Answer, Finish, OnyxProcess, Reply, Script, ScriptedModel, ServerPlace, Step, wait_for,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{gateway, place, start};
use crate::drafts::{message, obedient};
use crate::{SOON, said, stranger, types};

/// The specification's time limit until the sessions of a dead gateway are free.
pub(super) const FAILOVER: Duration = Duration::from_secs(20);
/// The specification's time limit until every gateway follows a change.
pub(super) const FOLLOWED: Duration = Duration::from_secs(1);
/// How often a change is made whose way to the other gateway is timed.
pub(super) const TIMED: usize = 3;

/// Checks that changes were followed in time. A busy machine may hold up one of them, but not most.
pub(super) fn assert_followed(mut took: Vec<Duration>) {
    took.sort_unstable();
    assert!(took[took.len() / 2] < FOLLOWED, "most changes took longer: {took:?}");
}

pub(super) async fn two(model: &ScriptedModel) -> (ServerPlace, OnyxProcess, OnyxProcess) {
    let place = place().await;
    let (one, two) = tokio::join!(start(&place, "one", model), start(&place, "two", model));
    (place, one, two)
}

/// Checks that a message to a session that was given back took no longer than the next one takes,
/// but for the time in which gateways must follow each other.
pub(super) async fn assert_at_once(took: Duration, onyx: &OnyxProcess, session: &str) {
    let asked = Instant::now();
    onyx.chat_stream(&json!({"message": "And now?", "session_id": session})).await;
    let usual = asked.elapsed();
    assert!(took < usual + FOLLOWED, "{took:?}, but usually {usual:?}");
}

/// Reads a run's events through a gateway, from a number to the end.
pub(super) async fn events_through(onyx: &OnyxProcess, run: &str, after: u64) -> Vec<Value> {
    let request = onyx.request(Method::GET, &format!("/api/runs/{run}/events"));
    let request = if after == 0 {
        request
    } else {
        request.header("last-event-id", format!("{run}:{after}"))
    };
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    let text = answer.text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|data| serde_json::from_str(data.trim()).unwrap()).collect()
}

/// Follows a run through a gateway.
struct Follower {
    response: reqwest::Response,
    told: String,
}

async fn follow(onyx: &OnyxProcess, run: &str) -> Follower {
    let request = onyx.request(Method::GET, &format!("/api/runs/{run}/events"));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    Follower { response, told: String::new() }
}

impl Follower {
    async fn until_told(&mut self, words: &str) {
        while !self.told.contains(words) {
            let more = self.response.chunk().await.unwrap().expect("the stream goes on");
            self.told.push_str(std::str::from_utf8(&more).unwrap());
        }
    }

    /// Reads all events from the beginning of the run to its end.
    async fn rest(mut self) -> Vec<Value> {
        while let Some(more) = self.response.chunk().await.unwrap() {
            self.told.push_str(std::str::from_utf8(&more).unwrap());
        }
        let data = self.told.lines().filter_map(|line| line.strip_prefix("data:"));
        data.map(|data| serde_json::from_str(data.trim()).unwrap()).collect()
    }
}

fn text_of(events: &[Value]) -> String {
    let deltas = events.iter().filter(|event| event["type"] == "text_delta");
    deltas.map(|event| event["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_conversation_goes_on_through_either_gateway() {
    let model =
        ScriptedModel::with_answers([Answer::text("First."), Answer::text("Second.")]).await;
    let (_place, one, two) = two(&model).await;
    let events = one.chat_stream(&json!({"message": "Begin."})).await;
    let session = events[0]["session_id"].as_str().unwrap().to_owned();
    let more = json!({"message": "Go on.", "session_id": session});
    assert_eq!(said(&two.chat_stream(&more).await), "Second.");
    let history = one.history(&session).await;
    assert_eq!(history.len(), 4, "{history:#?}");
    assert_eq!(two.history(&session).await, history);
}

#[tokio::test]
async fn a_run_of_one_is_followed_through_the_other_without_gap_or_repeat() {
    let pieces: Vec<String> = (0..60).map(|n| format!("piece {n}, ")).collect();
    let model = ScriptedModel::with_answers([
        Answer::script(Script::text_pieces(pieces.clone())).delay_ms(20)
    ])
    .await;
    let (_place, one, two) = two(&model).await;
    let mut lines = one.chat_lines(&json!({"message": "count"})).await;
    let run = lines.until("start").await["run_id"].as_str().unwrap().to_owned();
    let through_other = events_through(&two, &run, 0).await;
    let numbers: Vec<u64> =
        through_other.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(text_of(&through_other), pieces.concat());
    assert_eq!(through_other.last().unwrap()["type"], "done");
    assert_eq!(lines.rest().await.last().unwrap()["type"], "done");
    // After the end, and from the middle, both gateways give the same events.
    assert_eq!(events_through(&one, &run, 0).await, through_other);
    assert_eq!(events_through(&two, &run, 10).await, through_other[10..]);
}

#[tokio::test]
async fn a_run_of_one_is_stopped_through_the_other() {
    let hanging = Script::new([Step::Text("half an answer".into()), Step::Hang]);
    let model = ScriptedModel::with_answers([hanging]).await;
    let (_place, one, two) = two(&model).await;
    let mut lines = one.chat_lines(&json!({"message": "go"})).await;
    let session = lines.until("start").await["session_id"].as_str().unwrap().to_owned();
    lines.until("text").await;
    let stopped = two.stop(&session).await.expect(200).json();
    assert_eq!(stopped["stopped"], true, "{stopped}");
    let rest = lines.rest().await;
    assert_eq!(rest.last().unwrap()["type"], "done", "{rest:#?}");
    assert!(one.history(&session).await.iter().any(|m| m.to_string().contains("half an answer")));
}

#[tokio::test]
async fn a_run_that_waits_at_one_is_answered_through_the_other() {
    let model = obedient().await;
    let (_place, one, two) = two(&model).await;
    let question = message(&[("ask_person", json!({"question": "Which colour?"}))]);
    let mut lines = one.chat_lines(&json!({"message": question})).await;
    let confirm = lines.until("confirm").await;
    let approve = format!("/api/pending-changes/{}/approve", confirm["draft_id"].as_str().unwrap());
    let _ = two.post(&approve, &json!({"reason": "blue, like the sea"})).await.expect(200);
    let rest = lines.rest().await;
    assert_eq!(rest.last().unwrap()["status"], "done", "{rest:#?}");
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("blue, like the sea"), "{heard}");
}

#[tokio::test]
async fn a_run_goes_on_when_the_notice_of_another_gateways_approval_is_lost() {
    let model = obedient().await;
    let (place, one, two) = two(&model).await;
    let question = message(&[("ask_person", json!({"question": "Which colour?"}))]);
    let mut lines = one.chat_lines(&json!({"message": question})).await;
    let confirm = lines.until("confirm").await;
    place.lose_notices().await;
    let approve = format!("/api/pending-changes/{}/approve", confirm["draft_id"].as_str().unwrap());
    let _ = two.post(&approve, &json!({"reason": "blue, like the sea"})).await.expect(200);
    let approved = Instant::now();
    let rest = lines.rest().await;
    assert!(approved.elapsed() < Duration::from_secs(10), "{:?}", approved.elapsed());
    assert_eq!(rest.last().unwrap()["status"], "done", "{rest:#?}");
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("blue, like the sea"), "{heard}");
}

#[tokio::test]
async fn of_two_who_approve_through_two_gateways_at_once_one_applies_it() {
    let (place, model) = (place().await, obedient().await);
    let suggesting = |id: &str| {
        gateway(&place, id, &model).merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
        ]}}))
    };
    let (one, two) = tokio::join!(suggesting("one").start(), suggesting("two").start());
    let write = message(&[("write_file", json!({"path": "a.md", "content": "from one"}))]);
    let events = one.chat_stream(&json!({"message": write})).await;
    let draft = events.iter().find(|event| event["type"] == "draft").expect("a draft");
    let id = draft["draft_id"].as_str().unwrap().to_owned();
    let list = two.get("/api/pending-changes").await.expect(200).text();
    assert!(list.contains(&id), "{list}");
    let approve = format!("/api/pending-changes/{id}/approve");
    let yes = json!({});
    let (left, right) = tokio::join!(two.post(&approve, &yes), one.post(&approve, &yes));
    let mut both = [left.status, right.status];
    both.sort_unstable();
    assert_eq!(both, [200, 409], "one applies it: {} {}", left.text(), right.text());
    let read = message(&[("read_file", json!({"path": "a.md"}))]);
    two.chat_stream(&json!({"message": read})).await;
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("from one"), "{heard}");
}

#[tokio::test]
async fn what_is_written_through_one_is_found_and_read_through_the_other() {
    let model = obedient().await;
    let (_place, one, two) = two(&model).await;
    let write = async |onyx: &OnyxProcess, words: &str| {
        let call = ("write_file", json!({"path": "birds.md", "content": words}));
        let events = onyx.chat_stream(&json!({"message": message(&[call])})).await;
        assert_eq!(events.last().unwrap()["status"], "done", "{events:#?}");
    };
    let found = async |onyx: &OnyxProcess, word: &str| {
        wait_for("the file to be found", SOON, async || {
            let found = onyx.get(&format!("/v1/memory/search?q={word}")).await.expect(200).text();
            found.contains("birds.md").then_some(())
        })
        .await;
    };
    write(&one, "A heron stood in the marsh near Ribe.").await;
    found(&two, "heron").await;
    write(&two, "A bittern boomed in the reeds.").await;
    found(&one, "bittern").await;
    let read = message(&[("read_file", json!({"path": "birds.md"}))]);
    one.chat_stream(&json!({"message": read})).await;
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("bittern"), "{heard}");
}

#[tokio::test]
async fn a_token_that_is_revoked_at_one_opens_nothing_at_the_other_within_a_second() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    let mut took = Vec::new();
    for number in 0..TIMED {
        let new = json!({"name": format!("program {number}"), "scopes": ["read"]});
        let made = one.post("/api/admin/tokens", &new).await;
        assert!(made.status < 300, "{}", made.text());
        let made = made.json();
        let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
        let at_two = async || {
            let request = stranger().get(two.url("/v1/sessions")).bearer_auth(token);
            request.send().await.unwrap().status().as_u16()
        };
        assert_eq!(at_two().await, 200, "it is good at once");
        let gone = one.delete(&format!("/api/admin/tokens/{id}")).await;
        assert!(gone.status < 300, "{}", gone.text());
        let revoked = Instant::now();
        wait_for("the token to be refused", SOON, async || (at_two().await == 401).then_some(()))
            .await;
        took.push(revoked.elapsed());
    }
    assert_followed(took);
}

#[tokio::test]
async fn the_config_is_one_for_all_and_followed_within_a_second() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    let agents = async |onyx: &OnyxProcess| onyx.get("/v1/agents").await.expect(200).text();
    let put = async |onyx: &OnyxProcess, tag: &str, text: &str| {
        let request = onyx.request(Method::PUT, "/api/admin/config").header("if-match", tag);
        Reply::of(request.json(&json!({"text": text}))).await
    };
    let mut took = Vec::new();
    for (before, after) in [("main", "helper"), ("helper", "keeper"), ("keeper", "gardener")] {
        let shown = one.get("/api/admin/config").await.expect(200);
        let tag = shown.headers["etag"].to_str().unwrap().to_owned();
        let shown = shown.json();
        let text = shown["text"].as_str().unwrap();
        assert!(!text.contains("postgres") && !text.contains("\"id\": \"one\""), "{text}");
        let changed = text.replace(&format!("\"{before}\""), &format!("\"{after}\""));
        let written = put(&one, &tag, &changed).await;
        assert!(written.status < 300, "{}", written.text());
        let changed_at = Instant::now();
        assert!(agents(&one).await.contains(after));
        wait_for("the other to follow", SOON, async || {
            agents(&two).await.contains(after).then_some(())
        })
        .await;
        took.push(changed_at.elapsed());
        // A change that is based on the old version is refused.
        let stale = put(&two, &tag, &changed).await;
        assert_eq!(stale.status, 412, "{}", stale.text());
    }
    assert_followed(took);
    let file = std::fs::read_to_string(two.config_path()).unwrap();
    assert!(file.contains("\"main\""), "its own file stays as it was");
}

#[tokio::test]
async fn a_session_of_a_gateway_that_was_killed_goes_on_at_another_within_twenty_seconds() {
    let hanging = Script::new([Step::Text("half an answer".into()), Step::Hang]);
    let model = ScriptedModel::with_answers([hanging]).await;
    let (place, mut one, two) = two(&model).await;
    let mut lines = one.chat_lines(&json!({"message": "go"})).await;
    let start = lines.until("start").await;
    let (session, run) = (start["session_id"].as_str().unwrap(), start["run_id"].as_str().unwrap());
    lines.until("text").await;
    let mut follower = follow(&two, run).await;
    follower.until_told("half an answer").await;
    let noted = "SELECT count(*) FROM live_texts WHERE position($1::BYTEA IN pieces) > 0";
    let sql = place.sql().await;
    wait_for("what was said to be noted", SOON, async || {
        let found = sql.query_one(noted, &[&b"half an answer".as_slice()]).await.unwrap();
        (found.get::<_, i64>(0) > 0).then_some(())
    })
    .await;
    one.kill().await;
    let killed = Instant::now();
    let events = follower.rest().await;
    assert!(killed.elapsed() < FAILOVER, "{:?}", killed.elapsed());
    assert_eq!(events.last().unwrap()["type"], "done", "{events:#?}");
    assert_eq!(events.last().unwrap()["status"], "interrupted", "{events:#?}");
    model.push(Answer::text("Here I am."));
    let more = json!({"message": "Still there?", "session_id": session});
    let answered = two.chat_stream(&more).await;
    assert_eq!(said(&answered), "Here I am.", "{:?}", types(&answered));
    let history = two.history(session).await;
    assert!(history.iter().any(|m| m.to_string().contains("half an answer")), "{history:#?}");
}

#[tokio::test]
async fn a_gateway_that_is_stopped_in_order_gives_its_sessions_back_at_once() {
    let hanging = Script::new([Step::Text("half an answer".into()), Step::Hang]);
    let model = ScriptedModel::with_answers([hanging]).await;
    let (_place, mut one, two) = two(&model).await;
    let mut lines = one.chat_lines(&json!({"message": "go"})).await;
    let session = lines.until("start").await["session_id"].as_str().unwrap().to_owned();
    lines.until("text").await;
    one.terminate().await;
    let stopped = Instant::now();
    model.push(Answer::text("Here I am."));
    let more = json!({"message": "Still there?", "session_id": session});
    assert_eq!(said(&two.chat_stream(&more).await), "Here I am.");
    assert_at_once(stopped.elapsed(), &two, &session).await;
    let history = two.history(&session).await;
    assert!(history.iter().any(|m| m.to_string().contains("half an answer")), "{history:#?}");
}

#[tokio::test]
async fn a_gateway_that_was_frozen_past_its_lease_writes_nothing_and_says_why() {
    let pieces = Script::new([
        Step::Text("said before the frost".into()),
        Step::PauseMs(3_000),
        Step::Text(" and said after it".into()),
    ])
    .ended(Finish::Stop);
    let model = ScriptedModel::with_answers([pieces]).await;
    let (place, one, two) = two(&model).await;
    let mut lines = one.chat_lines(&json!({"message": "go"})).await;
    let session = lines.until("start").await["session_id"].as_str().unwrap().to_owned();
    lines.until("text").await;
    one.freeze();
    model.push(Answer::text("Here I am."));
    let more = json!({"message": "Still there?", "session_id": session});
    // Until the frozen gateway has lost its lease, requests are told that the session is busy.
    let answered = wait_for("the other to take over", FAILOVER, async || {
        let answer = two.post("/api/agent/chat", &more).await;
        (answer.status == 200).then_some(answer)
    })
    .await;
    assert!(answered.text().contains("Here I am."), "{}", answered.text());
    let rows = async || {
        let all = "SELECT count(*) FROM turns";
        place.sql().await.query_one(all, &[]).await.unwrap().get::<_, i64>(0)
    };
    let before = (two.history(&session).await, rows().await);
    one.thaw();
    let rest = lines.rest().await;
    assert!(rest.iter().all(|event| event["status"] != "done"), "{rest:#?}");
    wait_for("the log to say why", SOON, async || {
        one.log().contains("silent for longer than its life").then_some(())
    })
    .await;
    assert_eq!((two.history(&session).await, rows().await), before);
    assert_eq!(one.history(&session).await, before.0, "it serves again, with what is true");
}

#[tokio::test]
async fn nobody_but_a_gateway_finds_the_ways_between_gateways() {
    let model = ScriptedModel::start().await;
    let place = place().await;
    let one = start(&place, "one", &model).await;
    let missing = one.post("/internal/gateways/nowhere", &json!({})).await;
    for path in ["/internal/gateways/orders", "/internal/gateways/events"] {
        for reply in [one.post(path, &json!({"person": "owner"})).await, one.get(path).await] {
            assert!(reply.status == 404 || reply.status == 405, "{path}: {}", reply.status);
        }
        let forged = one
            .request(Method::POST, path)
            .header("x-onyx-gateway", "two")
            .header("x-onyx-expires", "99999999999999")
            .header("x-onyx-nonce", "n")
            .header("x-onyx-proof", "0".repeat(64))
            .json(&json!({"person": "owner", "order": {"order": "stop_run"}}));
        assert_eq!(forged.send().await.unwrap().status(), 404);
    }
    assert!(missing.status >= 400);
}
