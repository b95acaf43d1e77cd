//! A recorded run in each of the other makers' formats, byte for byte.
//!
//! The expected texts were checked against the makers' own types (openai 3.49 and anthropic 2.8 for
//! Python) and documents, field by field: required fields, `null` against absent, closed sets of
//! words, the order of events, ids, usage. `clients/tests/recorded_formats.py` reads these files
//! with those types. Onyx adds `x-onyx-session-id` and, in chat, `reasoning_content`, as DeepSeek
//! and vLLM do.

use onyx_api::v1::{
    AnswerFold, AnswerHead, AnswerWriter, ChatChunks, MessageEvents, ResponseEvents, StreamUsage,
    StreamedRun, WholeFold,
};
use onyx_surface::Encoder;
use onyx_types::{Envelope, ErrorCode, Event, RunStatus, ToolUseId};
use serde_json::json;

use crate::recorded::{self, RUN, SESSION, delta, done, envelopes, error, start};

fn head() -> AnswerHead {
    AnswerHead {
        id: RUN.to_owned(),
        model: "onyx:main".to_owned(),
        created: 1_700_000_000,
        session: Some(SESSION.to_owned()),
        usage: StreamUsage::Told,
        echo: serde_json::Map::new(),
        forms: onyx_api::v1::ToolForms::default(),
    }
}

/// The recorded run with a call at its end that the client has to run.
fn run_with_a_client_call() -> Vec<Envelope> {
    let [_, call, _] = recorded::turns();
    let mut events: Vec<Event> =
        recorded::whole_run().into_iter().map(|envelope| envelope.event).collect();
    events.pop();
    events.push(Event::ToolCall {
        turn_id: call,
        agent: "main".parse().unwrap(),
        tool_use_id: ToolUseId("c1".to_owned()),
        tool: "weather".to_owned(),
        input: json!({"town": "Köln"}),
        summary: "weather".to_owned(),
        label: Box::new(onyx_types::Verb::new("read", "reading", "read").of("a.md").about_file()),
    });
    events.push(done(RunStatus::AwaitingClient));
    envelopes(events)
}

fn run_that_fails() -> Vec<Envelope> {
    let [turn, ..] = recorded::turns();
    envelopes([
        start(),
        delta(turn, "half"),
        error(ErrorCode::ProviderTruncated, "it broke off"),
        done(RunStatus::Error),
    ])
}

fn streamed(writer: impl AnswerWriter, envelopes: &[Envelope]) -> String {
    let mut encoder = StreamedRun::new(AnswerFold::new(["weather"]), writer);
    let mut bytes: Vec<u8> =
        envelopes.iter().flat_map(|envelope| encoder.encode(envelope).concat()).collect();
    bytes.extend(encoder.finish().concat());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn chat_chunks_are_exactly_these_bytes() {
    let stream = streamed(ChatChunks::new(head()), &run_with_a_client_call());
    insta::assert_snapshot!("chat_stream", stream);
    insta::assert_snapshot!("chat_failed", streamed(ChatChunks::new(head()), &run_that_fails()));
}

#[test]
fn response_events_are_exactly_these_bytes() {
    let stream = streamed(ResponseEvents::new(head()), &run_with_a_client_call());
    insta::assert_snapshot!("responses_stream", stream);
    let failed = streamed(ResponseEvents::new(head()), &run_that_fails());
    insta::assert_snapshot!("responses_failed", failed);
}

#[test]
fn message_events_are_exactly_these_bytes() {
    let stream = streamed(MessageEvents::new(head()), &run_with_a_client_call());
    insta::assert_snapshot!("messages_stream", stream);
    let failed = streamed(MessageEvents::new(head()), &run_that_fails());
    insta::assert_snapshot!("messages_failed", failed);
}

#[test]
fn whole_answers_are_exactly_these() {
    let mut fold = AnswerFold::new(["weather"]);
    let mut gathered = WholeFold::default();
    let run = run_with_a_client_call();
    let parts = run.iter().flat_map(|envelope| fold.event(envelope)).collect::<Vec<_>>();
    let answer = parts.into_iter().find_map(|part| gathered.add(part)).unwrap().unwrap();
    insta::assert_snapshot!("chat_whole", format!("{:#}", ChatChunks::whole(&head(), &answer)));
    insta::assert_snapshot!(
        "responses_whole",
        format!("{:#}", ResponseEvents::whole(&head(), &answer))
    );
    insta::assert_snapshot!(
        "messages_whole",
        format!("{:#}", MessageEvents::whole(&head(), &answer))
    );
}

#[test]
fn a_feed_that_breaks_off_is_an_error_in_every_format() {
    let [turn, ..] = recorded::turns();
    let cut = envelopes([start(), delta(turn, "half")]);
    let chat = streamed(ChatChunks::new(head()), &cut);
    assert!(chat.contains("\"code\":\"interrupted\"") && chat.ends_with("data: [DONE]\n\n"));
    assert!(streamed(ResponseEvents::new(head()), &cut).contains("event: response.failed\n"));
    assert!(streamed(MessageEvents::new(head()), &cut).contains("event: error\n"));
}
