use crate::{ask, drain, streaming_request};
use onyx_test_support::{
    Answer, ErrorKind, LineEnd, Pieces, Recording, Script, ScriptFile, ScriptedCall, ScriptedModel,
    Step, Wire,
};
use serde_json::{Value, json};

fn two_calls() -> Script {
    Script::new([Step::Reasoning("hm".into()), Step::Text("let me".into())])
        .then(Step::ToolCalls(vec![
            ScriptedCall::new("a", "read_file", &json!({"path": "x.md"})).split(5),
            ScriptedCall::new("b", "list_files", &json!({})).split(1),
        ]))
        .ended(onyx_test_support::Finish::ToolCalls)
}

#[tokio::test]
async fn a_stream_holds_the_script_in_the_wires_own_frames() {
    let server = ScriptedModel::with_answers([two_calls()]).await;
    let (bytes, proper) = drain(ask(&server, &streaming_request()).await).await;
    let text = String::from_utf8(bytes).unwrap();
    let choices: Vec<Value> = text
        .split("\n\n")
        .filter_map(|frame| frame.strip_prefix("data: {"))
        .map(|rest| serde_json::from_str::<Value>(&format!("{{{rest}")).unwrap())
        .map(|body| body["choices"][0].clone())
        .collect();
    let delta = |delta: Value| json!({"index": 0, "delta": delta, "finish_reason": null});
    let start = |index: u32, id: &str, name: &str| {
        delta(json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                                     "function": {"name": name, "arguments": ""}}]}))
    };
    let piece = |index: u32, piece: &str| {
        delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    };
    let expected = vec![
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"content": "let me"})),
        start(0, "a", "read_file"),
        start(1, "b", "list_files"),
        piece(0, "{\"pat"),
        piece(1, "{"),
        piece(0, "h\":\"x"),
        piece(1, "}"),
        piece(0, ".md\"}"),
        json!({"index": 0, "delta": {}, "finish_reason": "tool_calls"}),
        Value::Null,
    ];
    assert_eq!((choices, proper), (expected, true));
    assert!(text.ends_with("data: [DONE]\n\n"));
}

#[tokio::test]
async fn pieces_and_line_ends_change_the_delivery_and_not_the_content() {
    let plain = Wire::OpenAiChat.stream(&two_calls(), &streaming_request());
    let crlf = plain.clone().with_line_end(LineEnd::Crlf).bytes();
    let server = ScriptedModel::with_answers([
        Answer::script(two_calls()).pieces(Pieces::Bytes(3)),
        Answer::script(two_calls()).pieces(Pieces::Whole).line_end(LineEnd::Crlf),
    ])
    .await;
    let first = drain(ask(&server, &streaming_request()).await).await;
    let second = drain(ask(&server, &streaming_request()).await).await;
    assert_eq!((first, second), ((plain.bytes(), true), (crlf, true)));
}

#[tokio::test]
async fn without_stream_the_same_script_is_one_body() {
    let server = ScriptedModel::with_answers([two_calls()]).await;
    let body: Value = ask(&server, &json!({"model": "m"})).await.json().await.unwrap();
    let expected = json!({
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [{
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "let me",
                "reasoning_content": "hm",
                "tool_calls": [
                    {"id": "a", "type": "function",
                     "function": {"name": "read_file", "arguments": "{\"path\":\"x.md\"}"}},
                    {"id": "b", "type": "function",
                     "function": {"name": "list_files", "arguments": "{}"}},
                ],
            },
            "finish_reason": "tool_calls",
        }],
        "usage": {
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn the_queue_goes_before_the_function_and_the_function_before_the_default() {
    let server = ScriptedModel::with_answers([Answer::text("queued")]).await;
    let mut said = Vec::new();
    said.push(one_text(&server).await);
    said.push(one_text(&server).await);
    server.respond_with(|request| Answer::text(format!("for {}", request.body["model"])));
    said.push(one_text(&server).await);
    assert_eq!(said, ["queued", "ok", "for \"m\""]);
    assert_eq!((server.request_count(), server.requests().len()), (3, 3));
    server.set_recording(Recording::Last(1));
    assert_eq!(server.requests().len(), 1);
    assert_eq!(server.last_request().header("Content-Type"), Some("application/json"));
}

#[tokio::test]
async fn errors_before_the_stream_carry_status_headers_and_body() {
    let limited = Answer::error(ErrorKind::RateLimited).header("Retry-After", "7");
    let server = ScriptedModel::with_answers([limited, Answer::status(529, "busy")]).await;
    let first = ask(&server, &streaming_request()).await;
    assert_eq!(
        (first.status().as_u16(), first.headers()["retry-after"].as_bytes()),
        (429, b"7".as_slice())
    );
    let body: Value = first.json().await.unwrap();
    assert_eq!(body["error"]["code"], "rate_limit_exceeded");
    let second = ask(&server, &streaming_request()).await;
    assert_eq!((second.status().as_u16(), second.text().await.unwrap()), (529, "busy".into()));
}

#[tokio::test]
async fn the_model_list_is_served_beside_the_wire() {
    let server = ScriptedModel::start().await;
    server.set_models(["one", "two"]);
    let url = format!("{}/models", server.base_url());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body: Value = client.get(url).send().await.unwrap().json().await.unwrap();
    let ids: Vec<&Value> =
        body["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, ["one", "two"]);
    assert_eq!(server.request_count(), 0);
}

#[test]
fn a_script_file_says_all_that_the_builders_say() {
    let file: ScriptFile = serde_json::from_value(json!({
        "answers": [
            {"script": {"steps": [{"text": "a"}, {"pause_ms": 5}, "hang"], "terminator": "withheld"},
             "delivery": {"pieces": {"bytes": 1}, "delay_ms": 1000, "line_end": "crlf"},
             "fault": {"close_at": 7}},
            {"error": {"kind": "auth", "message": "no"}, "headers": [["x", "y"]]},
            {"status": {"code": 529, "body": "busy"}, "fault": "hang_before_head"},
        ],
    }))
    .unwrap();
    let first = Script::new([Step::Text("a".into()), Step::PauseMs(5), Step::Hang]);
    let mut second = Answer::error(ErrorKind::Auth).header("x", "y");
    second.content = onyx_test_support::Content::Error(onyx_test_support::ScriptedError::new(
        ErrorKind::Auth,
        "no",
    ));
    let expected = [
        Answer::script(first.without_terminator())
            .one_byte_a_second()
            .line_end(LineEnd::Crlf)
            .fault(onyx_test_support::Fault::CloseAt(7)),
        second,
        Answer::status(529, "busy").fault(onyx_test_support::Fault::HangBeforeHead),
    ];
    assert_eq!(file.answers, expected);
    assert_eq!(file.default, Answer::text("ok"));
}

#[tokio::test]
async fn rules_answer_by_what_a_request_holds_as_often_as_they_say() {
    let file: ScriptFile = serde_json::from_value(json!({
        "rules": [
            {"contains": ["red", "round"], "answer": {"script": {"steps": [{"text": "apple"}]}}},
            {"contains": ["red"], "times": 1, "answer": {"status": {"code": 429, "body": "wait"}}},
        ],
        "default": {"script": {"steps": [{"text": "nothing"}]}},
    }))
    .unwrap();
    let server = ScriptedModel::start().await;
    server.load(file);
    let said = async |words: &str| {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": words}]});
        let reply = ask(&server, &body).await;
        (reply.status().as_u16(), reply.text().await.unwrap())
    };
    assert!(said("red and round").await.1.contains("apple"));
    assert_eq!(said("red").await, (429, "wait".to_owned()));
    assert!(said("red").await.1.contains("nothing"));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let control = |path: &str| format!("http://{}{path}", server.address());
    let counts: Value = client.get(control("/_counts")).send().await.unwrap().json().await.unwrap();
    assert_eq!(counts, json!({"received": 3, "answering": 0, "abandoned": 0}));
    let script = json!({"default": {"script": {"steps": [{"text": "other"}]}}});
    let loaded = client.post(control("/_script")).json(&script).send().await.unwrap();
    assert_eq!(loaded.status(), 200);
    assert!(said("red and round").await.1.contains("other"));
}

async fn one_text(server: &ScriptedModel) -> String {
    let body: Value = ask(server, &json!({"model": "m"})).await.json().await.unwrap();
    body["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}
