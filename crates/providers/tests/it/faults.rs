use crate::support::{
    ask, assert_nothing_executable, class_of, failure_of, hello, model, model_with, parallel_calls,
    registry, text_of,
};
use futures::StreamExt;
use onyx_test_support::{
    Answer, ErrorKind, Fault, LineEnd, Pieces, Script, ScriptedError, ScriptedModel, Step,
    wait_until,
};
use onyx_types::{Cancel, FinishReason, ModelEvent, ModelFailureClass};
use serde_json::json;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_request_reaches_the_server_with_key_and_headers() {
    let server = ScriptedModel::start().await;
    let model = model_with(&server, json!({"headers": {"X-Team": "blue"}}));
    let events = ask(&model).await;
    assert_eq!((text_of(&events).as_str(), events.len()), ("ok", 3));
    let request = server.last_request();
    let header = |name| request.header(name).map(str::to_owned);
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(header("authorization"), Some(format!("Bearer {}", crate::support::KEY)));
    assert_eq!(header("x-team").as_deref(), Some("blue"));
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    assert_eq!(request.body["model"], "some-model");
}

#[tokio::test]
async fn errors_before_the_answer_have_the_class_of_their_status() {
    let second = Some(Duration::from_secs(1));
    let cases = [
        (
            Answer::error(ErrorKind::RateLimited).header("retry-after", "1"),
            ModelFailureClass::RateLimited { retry_after: second },
        ),
        (
            Answer::status(529, "busy").header("retry-after", "1"),
            ModelFailureClass::Overloaded { retry_after: second },
        ),
        (Answer::error(ErrorKind::Overloaded), ModelFailureClass::Overloaded { retry_after: None }),
        (Answer::error(ErrorKind::Auth), ModelFailureClass::Auth),
        (Answer::error(ErrorKind::ContextLength), ModelFailureClass::ContextLength),
        (Answer::error(ErrorKind::InvalidRequest), ModelFailureClass::InvalidRequest),
        (Answer::error(ErrorKind::ContentFilter), ModelFailureClass::ContentFilter),
        (Answer::error(ErrorKind::Server), ModelFailureClass::Unavailable),
        (Answer::status(502, "<html>bad gateway"), ModelFailureClass::Unavailable),
        (
            Answer::status(307, "").header("location", "http://127.0.0.1:9/"),
            ModelFailureClass::InvalidRequest,
        ),
        (Answer::text("x").fault(Fault::CloseBeforeHead), ModelFailureClass::Transport),
        (Answer::error(ErrorKind::Auth).fault(Fault::CloseAt(5)), ModelFailureClass::Auth),
    ];
    let server = ScriptedModel::start().await;
    let model = model(&server);
    for (answer, class) in cases {
        server.push(answer.clone());
        let events = ask(&model).await;
        assert_eq!((events.len(), class_of(&events)), (1, class), "{answer:?}");
    }
}

#[tokio::test]
async fn errors_inside_the_answer_have_the_class_of_their_frame() {
    let cases = [
        (ErrorKind::RateLimited, ModelFailureClass::RateLimited { retry_after: None }),
        (ErrorKind::Overloaded, ModelFailureClass::Overloaded { retry_after: None }),
        (ErrorKind::Auth, ModelFailureClass::Auth),
        (ErrorKind::ContextLength, ModelFailureClass::ContextLength),
        (ErrorKind::InvalidRequest, ModelFailureClass::InvalidRequest),
        (ErrorKind::ContentFilter, ModelFailureClass::ContentFilter),
        (ErrorKind::Server, ModelFailureClass::Unavailable),
    ];
    let server = ScriptedModel::start().await;
    let model = model(&server);
    for (kind, class) in cases {
        let mut script = parallel_calls();
        // The error is inserted before the finish reason, so that the reason and `[DONE]` still
        // follow.
        let error = Step::Error(ScriptedError::new(kind, "scripted"));
        script.steps.insert(script.steps.len() - 1, error);
        server.push(script);
        let events = ask(&model).await;
        assert_nothing_executable(&events);
        assert_eq!(class_of(&events), class);
        assert_eq!(text_of(&events), "Let me look — gleich.");
    }
}

#[tokio::test]
async fn no_server_at_all_is_unavailable() {
    let server = ScriptedModel::start().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let model = model_with(&server, json!({"baseUrl": format!("http://{free}/v1")}));
    assert_eq!(class_of(&ask(&model).await), ModelFailureClass::Unavailable);
}

#[tokio::test]
async fn a_web_page_in_place_of_a_model_is_said_to_be_one() {
    let server = ScriptedModel::start().await;
    let page = Answer::status(200, "<html>");
    server.push(page.clone().header("content-type", "text/html; charset=utf-8"));
    server.push(page);
    let model = model(&server);
    let failure = failure_of(&ask(&model).await);
    assert_eq!(failure.class, ModelFailureClass::Transport);
    assert!(failure.message.contains("web page"), "{failure}");
    // With another content type the body counts as a stream without a single event.
    assert_eq!(class_of(&ask(&model).await), ModelFailureClass::Truncated);
}

#[tokio::test]
async fn every_deadline_ends_the_call_in_a_timeout() {
    // The deadlines are long enough for the request itself, because the server has to see it go.
    let stalled = Script::new([Step::Text("a".into()), Step::Hang]);
    let slow = Answer::text("slow").pieces(Pieces::Bytes(1)).delay_ms(20);
    let cases = [
        (Answer::text("x").fault(Fault::HangBeforeHead), json!({"firstByteSeconds": 0.5})),
        (Answer::text("x").fault(Fault::HangAfterHead), json!({"firstByteSeconds": 0.5})),
        (Answer::text("x").first_delay_ms(5_000), json!({"firstByteSeconds": 0.5})),
        (Answer::script(stalled.clone()), json!({"idleSeconds": 0.5})),
        (Answer::text("x").fault(Fault::HangAt(20)), json!({"idleSeconds": 0.5})),
        (slow, json!({"idleSeconds": 3, "totalSeconds": 0.5})),
        (Answer::text("x").one_byte_a_second(), json!({"totalSeconds": 0.5})),
        (Answer::script(stalled), json!({"totalSeconds": 0.5})),
    ];
    for (answer, timeouts) in cases {
        let server = ScriptedModel::with_answers([answer]).await;
        let model = model_with(&server, json!({"timeouts": timeouts}));
        let start = Instant::now();
        let events = ask(&model).await;
        assert_eq!(class_of(&events), ModelFailureClass::Timeout, "{timeouts}");
        assert!(start.elapsed() < LONG, "{timeouts}");
        wait_until("the connection to be dropped", LONG, || server.abandoned() == 1).await;
    }
}

#[tokio::test]
async fn slow_small_pieces_within_the_deadlines_are_an_answer() {
    let server = ScriptedModel::start().await;
    let model = model_with(&server, json!({"timeouts": {"idleSeconds": 1}}));
    for line_end in [LineEnd::Lf, LineEnd::Crlf, LineEnd::Cr] {
        let answer = Answer::script(parallel_calls()).pieces(Pieces::Bytes(1)).line_end(line_end);
        server.push(answer);
        let events = ask(&model).await;
        assert_eq!(text_of(&events), "Let me look — gleich.");
        assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::ToolCalls)));
    }
}

#[tokio::test]
async fn cancelling_drops_the_connection_at_once_in_every_phase() {
    let stalled = Script::new([Step::Text("a".into()), Step::Hang]);
    let answers = [
        Answer::text("x").fault(Fault::HangBeforeHead),
        Answer::text("x").fault(Fault::HangAfterHead),
        Answer::script(stalled),
    ];
    for answer in answers {
        let server = ScriptedModel::with_answers([answer.clone()]).await;
        let cancel = Cancel::new();
        let mut events = model(&server).stream(hello(), cancel.clone());
        let spoke = answer.fault.is_none();
        let patience = if spoke { LONG } else { SHORT };
        let (first, ()) = tokio::join!(tokio::time::timeout(patience, events.next()), async {
            server.wait_for_requests(1).await;
        });
        assert_eq!(first.is_ok(), spoke);
        cancel.cancel();
        let rest: Vec<ModelEvent> = events.collect().await;
        assert_eq!((rest.len(), class_of(&rest)), (1, ModelFailureClass::Cancelled));
        wait_until("the connection to be dropped", LONG, || server.abandoned() == 1).await;
    }
}

#[tokio::test]
async fn dropping_the_stream_drops_the_connection() {
    let stalled = Script::new([Step::Text("a".into()), Step::Hang]);
    let server = ScriptedModel::with_answers([stalled]).await;
    let mut events = model(&server).stream(hello(), Cancel::new());
    assert_eq!(events.next().await, Some(ModelEvent::TextDelta("a".into())));
    drop(events);
    wait_until("the connection to be dropped", LONG, || server.abandoned() == 1).await;
}

#[tokio::test]
async fn a_finished_answer_leaves_its_connection_for_the_next() {
    let server = ScriptedModel::start().await;
    let model = model(&server);
    for _ in 0..20 {
        ask(&model).await;
    }
    assert_eq!((server.request_count(), server.connections()), (20, 1));
}

#[tokio::test]
async fn two_hundred_streams_at_once_all_end_well() {
    let server = ScriptedModel::start().await;
    server.set_default(Answer::script(parallel_calls()).delay_ms(5));
    let registry = registry(&server, json!({}));
    let model = registry.model("mine/some-model").unwrap();
    let streams: Vec<_> = (0..200)
        .map(|_| tokio::spawn(model.stream(hello(), Cancel::new()).collect::<Vec<_>>()))
        .collect();
    for stream in streams {
        let events = stream.await.unwrap();
        assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::ToolCalls)));
    }
}

#[tokio::test]
async fn an_endless_answer_is_cut_at_a_bound() {
    let server = ScriptedModel::start().await;
    let megabyte = format!("data: {{\"x\":\"{}\"}}\n\n", "x".repeat(1024 * 1024));
    server.push(Script::new((0..80).map(|_| Step::Raw(megabyte.clone()))));
    let failure = failure_of(&ask(&model(&server)).await);
    assert_eq!(failure.class, ModelFailureClass::Transport);
}
