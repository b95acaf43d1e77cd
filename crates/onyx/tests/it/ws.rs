//! The WebSocket gateway through the real server.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use onyx_test_support::{
    Answer, DEFAULT_TOKEN, OnyxProcess, Script, ScriptedCall, ScriptedModel, Step, canary,
    wait_for, wait_until,
};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

const LIMIT: Duration = Duration::from_secs(90);

pub(crate) struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

async fn open(onyx: &OnyxProcess, headers: &[(&'static str, &str)]) -> Result<Client, Error> {
    let address = onyx.client().url("/ws").replace("http://", "ws://");
    let mut request = address.into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
    }
    connect_async(request).await.map(|(socket, _)| Client(socket))
}

async fn signed_in(onyx: &OnyxProcess) -> Client {
    let bearer = format!("Bearer {DEFAULT_TOKEN}");
    open(onyx, &[("authorization", &bearer)]).await.unwrap()
}

fn parsed(frame: &str) -> Value {
    canary::assert_absent("a frame", frame.as_bytes());
    serde_json::from_str(frame).unwrap()
}

impl Client {
    /// Connects without a credential.
    pub(crate) async fn stranger(onyx: &OnyxProcess) -> Self {
        Self::with_headers(onyx, &[]).await
    }

    pub(crate) async fn with_token(onyx: &OnyxProcess, token: &str) -> Self {
        Self::with_headers(onyx, &[("authorization", &format!("Bearer {token}"))]).await
    }

    pub(crate) async fn with_headers(onyx: &OnyxProcess, headers: &[(&'static str, &str)]) -> Self {
        open(onyx, headers).await.unwrap()
    }

    pub(crate) async fn tell(&mut self, frame: Value) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// The next frame, broadcasts included; `None` with the close code at the end.
    pub(crate) async fn next(&mut self) -> Result<Value, Option<CloseCode>> {
        loop {
            match timeout(LIMIT, self.0.next()).await.expect("a frame in time") {
                Some(Ok(Message::Text(text))) => return Ok(parsed(&text)),
                Some(Ok(Message::Close(frame))) => return Err(frame.map(|frame| frame.code)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await.expect("the connection stays");
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    pub(crate) async fn ask(&mut self, kind: &str, data: Value) -> Value {
        self.tell(json!({"type": kind, "id": "q", "data": data})).await;
        let answer = self.until(&format!("{kind}.result")).await;
        assert_eq!(answer["id"], "q");
        answer
    }

    /// Waits until no run is at work. A stop that is answered may still be on its way to the disk.
    async fn until_nothing_runs(&mut self) {
        wait_for("the end of the run", LIMIT, async || {
            let status = self.ask("status.get", json!({})).await;
            (status["data"]["runs"] == json!([])).then_some(())
        })
        .await;
    }

    /// Text and last sequence number of a run up to its end.
    async fn run_to_end(&mut self) -> (String, Value) {
        let mut text = String::new();
        loop {
            let frame = self.next().await.expect("the connection stays");
            match frame["type"].as_str().unwrap() {
                "chat.delta" => text.push_str(frame["data"]["text"].as_str().unwrap()),
                "chat.done" => return (text, frame),
                _ => {}
            }
        }
    }
}

#[test]
#[should_panic(expected = "a secret leaked into a frame")]
fn a_secret_in_a_frame_fails_the_test() {
    parsed(&json!({"type": "event", "text": DEFAULT_TOKEN}).to_string());
}

#[tokio::test]
async fn a_message_over_the_socket_is_answered_with_its_id_and_streamed() {
    let read = json!({"path": "note.md"});
    let model = ScriptedModel::with_answers([
        Answer::tool_calls([ScriptedCall::new("a", "read_file", &read)]),
        Answer::script(Script::text_pieces(["Hel", "lo"])),
    ])
    .await;
    let onyx = crate::builder(&model).file("people/owner/vault/note.md", "a note").start().await;
    let mut client = signed_in(&onyx).await;
    let answer = client.ask("chat.send", json!({"message": "hi", "agent": "main"})).await;
    let (session, run) = (answer["data"]["sessionId"].clone(), answer["data"]["runId"].clone());
    let (mut kinds, mut last) = (Vec::new(), 0);
    loop {
        let frame = client.next().await.unwrap();
        let kind = frame["type"].as_str().unwrap().to_owned();
        if kind == "event" {
            continue;
        }
        let data = &frame["data"];
        assert_eq!((&data["sessionId"], &data["runId"]), (&session, &run));
        assert_eq!(data["agent"], "main", "{frame}");
        assert!(data["seq"].as_u64().unwrap() > last, "{frame}");
        last = data["seq"].as_u64().unwrap();
        if kind == "chat.tool_call" {
            assert_eq!(data["toolUseId"], "a");
            assert_eq!(data["input"], read);
        }
        kinds.push(kind);
        if kinds.last().unwrap() == "chat.done" {
            assert_eq!(data["status"], "done");
            assert!(data["usage"]["cacheRead"].is_u64());
            break;
        }
    }
    let shown: Vec<_> = kinds.iter().filter(|kind| *kind != "chat.usage").collect();
    assert_eq!(
        shown,
        [
            "chat.start",
            "chat.tool_call",
            "chat.tool_result",
            "chat.delta",
            "chat.delta",
            "chat.done"
        ]
    );
    let page = client.ask("sessions.get", json!({"session_id": session})).await;
    let turns = page["data"]["turns"].as_array().unwrap();
    let call = turns.iter().find(|turn| turn["type"] == "tool_call").unwrap();
    assert_eq!(call["toolUseId"], "a");
    assert_eq!(page["data"]["session"]["messageCount"], 2);
    assert_eq!(page["data"]["session"]["runId"], Value::Null);
}

#[tokio::test]
async fn the_credential_is_in_the_first_frame_or_the_upgrade_and_nowhere_else() {
    let model = ScriptedModel::start().await;
    let onyx = crate::onyx(&model).await;
    let mut client = open(&onyx, &[]).await.unwrap();
    let answer = client.ask("auth", json!({"token": DEFAULT_TOKEN})).await;
    assert_eq!(answer["error"], Value::Null);
    assert_eq!(client.ask("ping", json!({})).await["data"], json!({}));
    for first in [
        json!({"type": "auth", "data": {"token": "onyx_sk_wrong"}}),
        json!({"type": "sessions.list"}),
        json!("nonsense"),
    ] {
        let mut stranger = open(&onyx, &[]).await.unwrap();
        stranger.tell(first).await;
        let refusal = stranger.next().await.unwrap();
        assert_eq!(refusal["type"], "error");
        assert_eq!(stranger.next().await, Err(Some(CloseCode::from(4401))));
    }
    let bearer = format!("Bearer {DEFAULT_TOKEN}");
    let evil = [("authorization", bearer.as_str()), ("origin", "http://evil.example")];
    let Err(Error::Http(refused)) = open(&onyx, &evil).await else { panic!("it must be refused") };
    assert_eq!(refused.status(), 403);
    let plain = onyx.get("/ws").await.expect(426);
    assert_eq!(plain.headers["upgrade"], "websocket");
    assert_eq!(plain.json()["code"], "invalid_request");
}

#[tokio::test]
async fn a_run_goes_on_without_its_client_and_is_resumed_without_gap_or_repeat() {
    let pieces: Vec<String> = (0..40).map(|n| format!("piece {n}, ")).collect();
    let model = ScriptedModel::with_answers([
        Answer::script(Script::text_pieces(pieces.clone())).delay_ms(250)
    ])
    .await;
    let onyx = crate::onyx(&model).await;
    let mut client = signed_in(&onyx).await;
    let answer = client.ask("chat.send", json!({"message": "count"})).await;
    let run = answer["data"]["runId"].as_str().unwrap().to_owned();
    let (mut text, mut after) = (String::new(), 0);
    for _ in 0..5 {
        let delta = client.until("chat.delta").await;
        text.push_str(delta["data"]["text"].as_str().unwrap());
        after = delta["data"]["seq"].as_u64().unwrap();
        drop(client);
        client = signed_in(&onyx).await;
        let status = client.ask("status.get", json!({})).await;
        assert_eq!(status["data"]["runs"][0]["runId"], run.as_str());
        client.ask("chat.resume", json!({"runId": run, "after": after})).await;
    }
    let (rest, done) = client.run_to_end().await;
    assert_eq!(text + &rest, pieces.concat());
    assert_eq!(done["data"]["status"], "done");
    // After its end the run can still be read from any number.
    client.ask("chat.resume", json!({"run_id": run, "after": after})).await;
    assert_eq!(client.run_to_end().await.0, rest);
    let unknown = "0197f3a0-0000-7000-8000-000000000001";
    let refused = client.ask("chat.resume", json!({"runId": unknown})).await;
    assert_eq!(refused["error"]["code"], "not_found");
}

#[tokio::test]
async fn words_for_a_session_at_work_are_queued_and_a_run_is_aborted() {
    let model = ScriptedModel::with_answers([
        Answer::script(
            Script::new([Step::Text("on and".to_owned()), Step::PauseMs(5_000)])
                .ended(onyx_test_support::Finish::Stop),
        ),
        Answer::text("changed"),
        Answer::script(Script::new([Step::Text("hanging".to_owned()), Step::Hang])),
    ])
    .await;
    let onyx = crate::onyx(&model).await;
    let mut client = signed_in(&onyx).await;
    let first = client.ask("chat.send", json!({"message": "go"})).await["data"].clone();
    client.until("chat.delta").await;
    let data = json!({"sessionId": first["sessionId"], "message": "rather left"});
    let steered = client.ask("chat.steer", data).await["data"].clone();
    assert_eq!(steered["runId"], first["runId"]);
    assert!(steered["queuedTurnId"].is_string(), "{steered}");
    wait_until("both messages are answered", LIMIT, || model.requests().len() == 2).await;
    client.until("event").await;
    let again = json!({"message": "more", "sessionId": first["sessionId"]});
    client.until_nothing_runs().await;
    let third = client.ask("chat.send", again).await["data"].clone();
    assert!(third["queuedTurnId"].is_null(), "{third}");
    while client.until("chat.delta").await["data"]["text"] != "hanging" {}
    let stopped = client.ask("chat.abort", json!({"runId": third["runId"]})).await;
    assert_eq!(stopped["data"], json!({"stopped": true}));
    client.until_nothing_runs().await;
    let nothing = client.ask("chat.abort", json!({"sessionId": first["sessionId"]})).await;
    assert_eq!(nothing["data"], json!({"stopped": false}));
}

#[tokio::test]
async fn words_that_a_stopped_run_never_read_are_shown_and_sent_or_discarded() {
    let model = ScriptedModel::with_answers([
        Answer::script(Script::new([Step::Text("hanging".to_owned()), Step::Hang])),
        Answer::text("both read"),
    ])
    .await;
    let onyx = crate::onyx(&model).await;
    let mut client = signed_in(&onyx).await;
    let first = client.ask("chat.send", json!({"message": "go"})).await["data"].clone();
    client.until("chat.delta").await;
    let session = first["sessionId"].clone();
    let mut said = Vec::new();
    for words in ["left", "right", "neither"] {
        let data = json!({"sessionId": session, "message": words});
        said.push(client.ask("chat.steer", data).await["data"]["queuedTurnId"].clone());
    }
    let place = format!("/v1/sessions/{}/queued", session.as_str().unwrap());
    let discard = async |turn: &Value| {
        let path = format!("{place}/{}", turn.as_str().unwrap());
        onyx.request(reqwest::Method::DELETE, &path).send().await.unwrap().status().as_u16()
    };
    assert_eq!(discard(&said[2]).await, 409, "a run at work may still read it");
    client.ask("chat.abort", json!({"runId": first["runId"]})).await;
    client.until_nothing_runs().await;
    let shown = client.ask("sessions.get", json!({"sessionId": session})).await;
    let ids = |list: &Value| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|message| message["id"].clone()).collect()
    };
    assert_eq!(ids(&shown["data"]["queued"]), said);
    assert_eq!(shown["data"]["queued"][0]["content"], "left");
    assert_eq!(discard(&said[2]).await, 204);
    assert_eq!(discard(&said[2]).await, 404);
    let left = onyx.get(&place).await.expect(200).json();
    assert_eq!(ids(&left["messages"]), said[..2]);
    let sent = client.ask("chat.send", json!({"sessionId": session, "queued": said[1]})).await;
    assert!(sent["data"]["runId"].is_string(), "{sent}");
    while client.until("chat.delta").await["data"]["text"] != "both read" {}
    let asked = model.requests().last().unwrap().body.to_string();
    assert!(asked.contains("left") && asked.contains("right") && !asked.contains("neither"));
}

#[tokio::test]
async fn another_tab_hears_of_runs_and_changes_and_the_same_key_is_sent_once() {
    let model = ScriptedModel::start().await;
    model.set_default(Answer::text("ok"));
    let onyx = crate::onyx(&model).await;
    let (mut one, mut other) = (signed_in(&onyx).await, signed_in(&onyx).await);
    other.ask("ping", json!({})).await;
    let data = json!({"message": "once", "key": "k1"});
    let first = one.ask("chat.send", data.clone()).await["data"].clone();
    let heard = other.until("event").await["data"].clone();
    let expected = json!({
        "topic": "sessions", "change": "run_started",
        "sessionId": first["sessionId"], "runId": first["runId"],
    });
    assert_eq!(heard, expected);
    assert_eq!(other.until("event").await["data"]["change"], "run_ended");
    let repeated = other.ask("chat.send", data).await["data"].clone();
    assert_eq!(repeated, first);
    assert_eq!(other.run_to_end().await.0, "ok");
    assert_eq!(model.requests().len(), 1);
    let path = format!("/v1/sessions/{}", first["sessionId"].as_str().unwrap());
    let rename = onyx.request(reqwest::Method::PATCH, &path).json(&json!({"title": "New"}));
    assert_eq!(rename.send().await.unwrap().status(), 200);
    let changed = other.until("event").await["data"].clone();
    assert_eq!(changed["change"], "changed");
    let list = other.ask("sessions.list", json!({"limit": 1})).await;
    assert_eq!(list["data"]["sessions"][0]["title"], "New");
}

#[tokio::test]
async fn what_was_said_is_found_in_the_list_with_the_turn_to_open_at() {
    let model = ScriptedModel::start().await;
    model.push(Answer::text("The marten sleeps under the ridge tiles."));
    model.set_default(Answer::text("ok"));
    let onyx = crate::onyx(&model).await;
    let mut client = signed_in(&onyx).await;
    let first = client.ask("chat.send", json!({"message": "What lives up there?"})).await;
    let session = first["data"]["sessionId"].clone();
    client.run_to_end().await;
    let again = json!({"message": "Thanks", "sessionId": session});
    client.ask("chat.send", again).await;
    client.run_to_end().await;
    client.ask("chat.send", json!({"message": "Another matter: tiles"})).await;
    client.run_to_end().await;

    let page = client.ask("sessions.get", json!({"sessionId": session})).await;
    let turns = page["data"]["turns"].as_array().unwrap();
    let answer = turns.iter().find(|turn| turn["type"] == "assistant_text").unwrap();
    // Neither its title nor its newest message contains the words, and the other conversation
    // contains only one of them.
    let list = client.ask("sessions.list", json!({"q": "ridge tile"})).await;
    let sessions = list["data"]["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{list}");
    assert_eq!(sessions[0]["id"], session);
    let found = &sessions[0]["found"];
    assert_eq!((&found["session"], &found["turn"]), (&session, &answer["id"]), "{found}");
    assert_eq!(found["author"], "main");
    let hits: Vec<&str> = found["snippet"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|part| part["hit"] == true)
        .filter_map(|part| part["text"].as_str())
        .collect();
    assert_eq!(hits, ["ridge", "tiles"]);
    let over_http = onyx.get("/v1/sessions?q=ridge%20tile").await.expect(200).json();
    assert_eq!(over_http["sessions"][0]["found"]["turn"], answer["id"]);
    let nothing = onyx.get("/v1/sessions?q=zeppelin").await.expect(200).json();
    assert_eq!(nothing, json!({"sessions": []}));
}

#[tokio::test]
async fn editing_and_asking_again_make_siblings() {
    let model = ScriptedModel::start().await;
    model.set_default(Answer::text("ok"));
    let onyx = crate::onyx(&model).await;
    let mut client = signed_in(&onyx).await;
    let first = client.ask("chat.send", json!({"message": "first"})).await["data"].clone();
    client.run_to_end().await;
    let page = client.ask("sessions.get", json!({"sessionId": first["sessionId"]})).await;
    let turns = page["data"]["turns"].as_array().unwrap();
    let user = turns.iter().find(|turn| turn["type"] == "user").unwrap()["id"].clone();
    for change in [json!({"edit": user, "message": "rather"}), json!({"regenerate": user})] {
        let mut data = change;
        data["sessionId"] = first["sessionId"].clone();
        let fork = client.ask("chat.send", data).await["data"].clone();
        assert_ne!(fork["sessionId"], first["sessionId"]);
        client.run_to_end().await;
        let page = client.ask("sessions.get", json!({"sessionId": fork["sessionId"]})).await;
        assert_eq!(page["data"]["session"]["root"], first["sessionId"]);
        assert_eq!(page["data"]["session"]["messageCount"], 2);
    }
}

#[tokio::test]
async fn wrong_frames_name_what_is_wrong_and_the_connection_stays() {
    let model = ScriptedModel::start().await;
    let onyx = crate::onyx(&model).await;
    let mut client = signed_in(&onyx).await;
    client.0.send(Message::text("{half")).await.unwrap();
    assert_eq!(client.until("error").await["error"]["code"], "invalid_request");
    for (kind, data, field) in [
        ("chat.send", json!({}), "data.message"),
        ("chat.send", json!({"message": 7}), "data.message"),
        ("chat.send", json!({"message": "x", "sessionId": "7"}), "data.sessionId"),
        ("chat.send", json!("text"), "data"),
        ("chat.abort", json!({}), "data.sessionId"),
        ("chat.resume", json!({"runId": "x"}), "data.runId"),
        ("sessions.list", json!({"limit": 100_000}), "data.limit"),
        ("logs.tail", json!({"level": "loud"}), "data.level"),
        ("logs.tail", json!({"limit": 0}), "data.limit"),
        ("chat.sing", json!({}), "type"),
    ] {
        let answer = client.ask(kind, data).await;
        assert_eq!(answer["error"]["code"], "invalid_request", "{answer}");
        assert_eq!(answer["error"]["field"], field, "{answer}");
    }
    client.0.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    assert_eq!(client.next().await, Err(Some(CloseCode::Unsupported)));
}

#[tokio::test]
async fn the_owner_reads_the_log_as_it_is_written_and_nobody_else_does() {
    let model = ScriptedModel::start().await;
    let onyx = crate::builder(&model).merge(json!({"people": ["anna"]})).start().await;
    let mut client = signed_in(&onyx).await;
    let sent = client.ask("chat.send", json!({"message": "hi"})).await;
    let first = sent["data"]["runId"].clone();
    client.run_to_end().await;
    let of_run = |run: &Value| json!({"q": run.as_str().unwrap()});
    let kept = wait_for("the line of the run", LIMIT, async || {
        let mut other = signed_in(&onyx).await;
        let answer = other.ask("logs.tail", of_run(&first)).await;
        answer["data"]["lines"].as_array().unwrap().last().cloned()
    })
    .await;
    assert_eq!((&kept["level"], &kept["fields"]["run"]), (&json!("info"), &first));
    // Asks for the lines after that one, filtered by words and level.
    let after = json!({"after": kept["seq"], "q": "run", "level": "info"});
    assert_eq!(client.ask("logs.tail", after).await["error"], Value::Null);
    client.tell(json!({"type": "chat.send", "id": "s", "data": {"message": "hi"}})).await;
    // The order of the line, the answer to the request and the run's end is not defined.
    let mut frames: Vec<Value> = Vec::new();
    let line = loop {
        frames.push(client.next().await.unwrap());
        let of = |kind: &str| frames.iter().find(move |frame| frame["type"] == kind);
        let (Some(sent), Some(_)) = (of("chat.send.result"), of("chat.done")) else { continue };
        let second = &sent["data"]["runId"];
        let is_of_second = |frame: &&Value| frame["data"]["fields"]["run"] == *second;
        let mut lines = frames.iter().filter(|frame| frame["type"] == "logs.line");
        if let Some(line) = lines.find(is_of_second) {
            break line.clone();
        }
    };
    assert_eq!(line["id"], "q");
    assert!(line["data"]["seq"].as_u64() > kept["seq"].as_u64(), "{line}");
    // No line of this level is logged.
    client.ask("logs.tail", json!({"level": "error"})).await;
    client.tell(json!({"type": "chat.send", "data": {"message": "hi"}})).await;
    loop {
        let frame = client.next().await.unwrap();
        assert_ne!(frame["type"], "logs.line", "{frame}");
        if frame["type"] == "chat.done" {
            break;
        }
    }

    let body = json!({"name": "annas", "people": ["anna"], "scopes": ["read", "chat", "admin"]});
    let token = onyx.post("/api/admin/tokens", &body).await.expect(201).json()["token"].clone();
    let bearer = format!("Bearer {}", token.as_str().unwrap());
    let mut anna = open(&onyx, &[("authorization", &bearer)]).await.unwrap();
    let refused = anna.ask("logs.tail", json!({})).await;
    assert_eq!(refused["error"]["code"], "forbidden");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_closed_with_a_code_and_the_run_ends_well() {
    let pieces: Vec<String> = (0..400).map(|n| format!("{n} {}", "x".repeat(64 * 1024))).collect();
    let model =
        ScriptedModel::with_answers([Answer::script(Script::text_pieces(pieces.clone()))]).await;
    let onyx = crate::onyx(&model).await;
    let mut client = signed_in(&onyx).await;
    let first = client.ask("chat.send", json!({"message": "flood"})).await["data"].clone();
    let session = first["sessionId"].as_str().unwrap().to_owned();
    wait_for("the run ends", LIMIT, async || {
        let reply = onyx.get(&format!("/v1/sessions/{session}")).await.json();
        (reply["last_run_status"] == "done").then_some(())
    })
    .await;
    let history = onyx.history(&session).await;
    assert_eq!(history[1]["content"], pieces.concat());
    wait_until("the queue was full for too long", LIMIT, || {
        onyx.log().contains("reads too slowly")
    })
    .await;
    let closed = loop {
        if let Err(code) = client.next().await {
            break code;
        }
    };
    assert_eq!(closed, Some(CloseCode::from(4429)));
}

#[tokio::test]
async fn tokens_guessed_in_first_frames_are_counted_where_they_come_from() {
    let model = ScriptedModel::start().await;
    let onyx = crate::onyx(&model).await;
    let mut last = Value::Null;
    // A guess is forgiven twice a second, so a slow machine needs more of them.
    for number in 0..1_000 {
        let mut client = open(&onyx, &[]).await.unwrap();
        let guess = format!("onyx_sk_guess{number}");
        client.tell(json!({"type": "auth", "data": {"token": guess}})).await;
        last = client.next().await.unwrap();
        if last["error"]["code"] == "rate_limited" {
            break;
        }
        assert_eq!(last["error"]["code"], "unauthenticated", "{last}");
    }
    assert_eq!(last["error"]["code"], "rate_limited");
    // A correct credential does not count as a guess.
    let mut client = open(&onyx, &[]).await.unwrap();
    client.tell(json!({"type": "auth", "data": {"token": DEFAULT_TOKEN}})).await;
    assert_eq!(client.next().await.unwrap()["type"], "auth.result");
}

/// Both use the same views; only the spelling of the names differs.
#[tokio::test]
async fn the_socket_shows_what_http_shows_with_names_in_camel_case() {
    let model =
        ScriptedModel::with_answers([Answer::script(Script::text_pieces(["A dot."]))]).await;
    let onyx = crate::builder(&model).start().await;
    let mut client = signed_in(&onyx).await;
    let message = json!([
        {"type": "text", "text": "What is it?"},
        {"type": "image", "mediaType": "image/png", "data": "iVBORw0KGgo="},
    ]);
    let sent = client.ask("chat.send", json!({"message": message})).await;
    client.run_to_end().await;
    let session = sent["data"]["sessionId"].as_str().unwrap();
    let page = client.ask("sessions.get", json!({"sessionId": session})).await["data"].clone();

    let turn = page["turns"].as_array().unwrap().iter().find(|turn| turn["type"] == "user");
    assert_eq!(turn.unwrap()["content"], message);
    let mut over_http = onyx.get(&format!("/v1/sessions/{session}")).await.expect(200).json();
    let siblings = over_http.as_object_mut().unwrap().remove("siblings").unwrap();
    let mut shown = page["session"].clone();
    assert_eq!(shown.as_object_mut().unwrap().remove("runId"), Some(Value::Null));
    assert_eq!(shown, in_camel_case(&over_http));
    assert_eq!(page["siblings"][0], in_camel_case(&siblings[0]));
    let agents = onyx.get("/v1/agents").await.expect(200).json();
    let status = client.ask("status.get", json!({})).await;
    assert_eq!(status["data"]["agents"][0], in_camel_case(&agents["agents"][0]));
}

#[tokio::test]
async fn a_file_of_the_vault_goes_with_a_message_as_a_part_of_its_own() {
    let model = ScriptedModel::with_answers([Answer::text("Read.")]).await;
    let onyx = crate::builder(&model).start().await;
    let mut client = signed_in(&onyx).await;
    let file = json!({"type": "file", "name": "plan.csv", "mediaType": "text/csv",
        "key": "vault/attachments/plan.csv"});
    let message = json!([{"type": "text", "text": "What is due?"}, file]);
    let sent = client.ask("chat.send", json!({"message": message})).await;
    client.run_to_end().await;
    let session = sent["data"]["sessionId"].as_str().unwrap();
    let page = client.ask("sessions.get", json!({"sessionId": session})).await["data"].clone();
    let turn = page["turns"].as_array().unwrap().iter().find(|turn| turn["type"] == "user");
    assert_eq!(turn.unwrap()["content"], message);
    let read = model.last_request().body.to_string();
    assert!(read.contains("[attached file attachments/plan.csv, text/csv]"), "{read}");
    for key in ["memory/main/MEMORY.md", "vault/../USER.md", "vault/.git/config"] {
        let file = json!({"type": "file", "name": "a", "mediaType": "text/plain", "key": key});
        let refused = client.ask("chat.send", json!({"message": [file]})).await;
        assert_eq!(refused["error"]["code"], "invalid_request", "{key}: {refused}");
    }
}

fn in_camel_case(object: &Value) -> Value {
    let camel = |name: &String| {
        let mut words = name.split('_');
        let first = words.next().unwrap().to_owned();
        words.fold(first, |whole, word| whole + &word[..1].to_uppercase() + &word[1..])
    };
    let fields = object.as_object().unwrap();
    Value::Object(fields.iter().map(|(name, value)| (camel(name), value.clone())).collect())
}

#[tokio::test]
async fn drafts_are_listed_and_decided_over_the_socket() {
    let model = crate::drafts::obedient().await;
    let onyx = crate::drafts::suggesting(&model).start().await;
    let mut client = signed_in(&onyx).await;
    let write = |name: &str| {
        let call = ("write_file", json!({"path": name, "content": "hello\n"}));
        json!({"message": crate::drafts::message(&[call])})
    };
    let (_, first) = crate::drafts::draft_of(&onyx, write("a.md")).await;
    let (_, second) = crate::drafts::draft_of(&onyx, write("b.md")).await;
    let list = client.ask("drafts.list", json!({"state": "pending"})).await;
    let listed = list["data"]["drafts"].as_array().unwrap();
    let ids: Vec<&Value> = listed.iter().map(|draft| &draft["id"]).collect();
    assert_eq!(ids, [&json!(second), &json!(first)], "{list:#}");
    assert_eq!(listed[1]["preview"]["path"], "a.md");

    let approve =
        json!({"draftId": first, "decision": "approve", "planHash": listed[1]["planHash"]});
    let done = client.ask("drafts.decide", approve.clone()).await;
    assert_eq!(
        (&done["data"]["state"], &done["data"]["decidedBy"]),
        (&json!("applied"), &json!("owner"))
    );
    assert_eq!(crate::drafts::vault(&onyx, "a.md").as_deref(), Some("hello\n"));
    let reject = json!({"draftId": second, "decision": "reject", "reason": "no"});
    let gone = client.ask("drafts.decide", reject).await;
    assert_eq!(
        (&gone["data"]["state"], &gone["data"]["reason"]),
        (&json!("rejected"), &json!("no"))
    );
    assert_eq!(crate::drafts::vault(&onyx, "b.md"), None);

    let refused = client.ask("drafts.decide", approve).await;
    assert_eq!(refused["error"]["code"], "draft_decided", "{refused:#}");
}

/// Waits for an event of this topic, and skips others.
async fn told(client: &mut Client, topic: &str) -> Value {
    loop {
        let event = client.until("event").await;
        if event["data"]["topic"] == topic {
            return event["data"].clone();
        }
    }
}

#[tokio::test]
async fn every_connection_is_told_of_changed_agents_memory_and_config() {
    let model = ScriptedModel::start().await;
    let onyx = crate::builder(&model).merge(json!({"people": ["anna"]})).start().await;
    let made = onyx.post("/api/admin/tokens", &json!({"name": "a", "people": ["anna"]})).await;
    let annas = made.json()["token"].as_str().unwrap().to_owned();
    let mut client = signed_in(&onyx).await;
    let mut other = open(&onyx, &[("authorization", &format!("Bearer {annas}"))]).await.unwrap();
    // Both clients are subscribed before anything happens.
    client.ask("ping", json!({})).await;
    other.ask("ping", json!({})).await;
    let changed = |topic: &str| json!({"topic": topic, "change": "changed"});

    let put = onyx.request(reqwest::Method::PUT, "/v1/agents/main/files/SOUL.md").body("Be kind.");
    assert_eq!(put.send().await.unwrap().status(), 204);
    assert_eq!(told(&mut client, "agents").await, changed("agents"));
    assert_eq!(told(&mut other, "agents").await, changed("agents"));

    let words = json!({"agent": "main", "text": "likes teal", "target": "daily"});
    let kept = onyx.post("/v1/memory", &words).await;
    assert!(kept.status < 300, "{}", kept.text());
    assert_eq!(told(&mut client, "memory").await, changed("memory"));

    let mut config = crate::config(&model);
    config["people"] = json!(["anna", "bert"]);
    std::fs::write(onyx.config_path(), config.to_string()).unwrap();
    assert_eq!(told(&mut client, "config").await, changed("config"));
    // No event that anna received so far was about the owner's memory.
    loop {
        let event = other.until("event").await["data"].clone();
        assert_ne!(event["topic"], "memory", "{event}");
        if event["topic"] == "config" {
            break;
        }
    }
    std::fs::write(onyx.config_path(), "{ nonsense").unwrap();
    assert_eq!(told(&mut client, "config").await, changed("config"));
}

#[tokio::test]
async fn memory_is_searched_over_the_socket_as_over_http() {
    let model = ScriptedModel::start().await;
    let onyx = crate::onyx(&model).await;
    let daily = json!({"agent": "main", "text": "Met Berta about the violin", "target": "daily"});
    let path = onyx.post("/v1/memory", &daily).await.expect(200).json()["path"].clone();
    let other = onyx.home().join("people/other/memory/main/MEMORY.md");
    std::fs::create_dir_all(other.parent().unwrap()).unwrap();
    std::fs::write(other, "the violin of somebody else").unwrap();
    let mut client = signed_in(&onyx).await;
    let found = client.ask("memory.search", json!({"query": "violin", "limit": 5})).await;
    let over_http = onyx.get("/v1/memory/search?q=violin&limit=5").await.expect(200).json();
    let (hit, there) = (&found["data"]["results"][0], &over_http["results"][0]);
    for (name, over_there) in [
        ("path", "path"),
        ("text", "text"),
        ("startLine", "start_line"),
        ("matchType", "match_type"),
        ("snippet", "snippet"),
    ] {
        assert_eq!(hit[name], there[over_there], "{name}: {found}");
        assert!(!hit[name].is_null(), "{name}: {found}");
    }
    let results = found["data"]["results"].as_array().unwrap();
    assert_eq!((results.len(), &results[0]["path"]), (1, &path));
    assert_eq!(found["data"]["degraded"], true);
    let within = json!({"q": "violin", "scope": "person"});
    let within = client.ask("memory.search", within).await;
    assert_eq!(within["data"]["results"], json!([]));
    for (data, field) in
        [(json!({"query": ""}), "q"), (json!({"query": "x", "scope": "moon"}), "scope")]
    {
        let refused = client.ask("memory.search", data).await;
        assert_eq!(refused["error"]["code"], "invalid_request", "{refused}");
        assert!(refused["error"].to_string().contains(field), "{refused}");
    }
}
