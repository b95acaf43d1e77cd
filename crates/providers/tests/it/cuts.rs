use crate::support::{
    ask, assert_nothing_executable, class_of, failure_of, model, parallel_calls, text_of,
};
use onyx_providers::wire::openai_chat::OpenAiChatDecoder;
use onyx_providers::wire::{BodyForm, Decoder};
use onyx_test_support::{Answer, Fault, Frames, LineEnd, ScriptedModel, Wire};
use onyx_types::{FinishReason, ModelEvent, ModelFailureClass, ToolUseId, Usage};
use serde_json::{Value, json};

fn frames() -> Frames {
    let request = json!({"model": "some-model", "stream_options": {"include_usage": true}});
    Wire::OpenAiChat.stream(&parallel_calls(), &request)
}

fn recorded(line_end: LineEnd) -> Vec<u8> {
    frames().with_line_end(line_end).bytes()
}

/// The events of the whole answer that come with its end.
fn ending() -> Vec<ModelEvent> {
    let end = |index: u32, id: &str, name: &str, arguments: Value| ModelEvent::ToolCallEnd {
        index,
        id: ToolUseId(id.into()),
        name: name.into(),
        arguments,
        provider_data: None,
    };
    vec![
        end(0, "call_a", "read_file", json!({"path": "größe.md"})),
        end(1, "call_b", "list_files", json!({"path": "notes", "deep": true})),
        ModelEvent::Usage(Usage { input: 10, output: 5, ..Usage::default() }),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ]
}

/// The position of the first byte after the finish reason's JSON: from there on the answer is
/// complete.
fn said_all(bytes: &[u8]) -> usize {
    let text = str::from_utf8(bytes).unwrap();
    let finish = text.find("\"finish_reason\":\"tool_calls\"").unwrap();
    finish + text[finish..].find(['\r', '\n']).unwrap()
}

#[test]
fn the_whole_answer_ends_with_its_calls_usage_and_finish() {
    let mut decoder = OpenAiChatDecoder::new(BodyForm::Stream);
    let mut events = decoder.push(&recorded(LineEnd::Lf));
    events.extend(decoder.end());
    assert_eq!(text_of(&events), "Let me look — gleich.");
    assert_eq!(events[events.len() - 4..], ending());
    assert!(decoder.push(b"data: {}\n\n").is_empty());
    assert!(decoder.end().is_empty());
}

#[test]
fn an_answer_cut_at_any_byte_before_its_finish_is_truncated_and_runs_nothing() {
    for line_end in [LineEnd::Lf, LineEnd::Crlf, LineEnd::Cr] {
        let bytes = recorded(line_end);
        let said_all = said_all(&bytes);
        for cut in 0..said_all {
            let mut decoder = OpenAiChatDecoder::new(BodyForm::Stream);
            let before = decoder.push(&bytes[..cut]);
            assert_nothing_executable(&before);
            assert!(!before.iter().any(|event| matches!(event, ModelEvent::Failed(_))));
            let end = decoder.end();
            assert_nothing_executable(&end);
            assert_eq!(class_of(&end), ModelFailureClass::Truncated, "cut at {cut}");
        }
        // From here on the answer is complete; only its usage may be missing.
        for cut in said_all..=bytes.len() {
            let mut decoder = OpenAiChatDecoder::new(BodyForm::Stream);
            let mut events = decoder.push(&bytes[..cut]);
            let done = events.iter().any(|event| matches!(event, ModelEvent::Finish(_)));
            assert!(!done || cut > bytes.len() - 3, "finished before [DONE], at {cut}");
            events.extend(decoder.end());
            events.retain(|event| !matches!(event, ModelEvent::Usage(_)));
            let mut expected = ending();
            expected.remove(2);
            assert_eq!(events[events.len() - 3..], expected, "cut at {cut}");
        }
    }
}

#[test]
fn chunks_of_any_size_give_the_same_events() {
    for line_end in [LineEnd::Lf, LineEnd::Crlf, LineEnd::Cr] {
        let bytes = recorded(line_end);
        let mut decoder = OpenAiChatDecoder::new(BodyForm::Stream);
        let mut whole = decoder.push(&bytes);
        whole.extend(decoder.end());
        for size in 1..=bytes.len() {
            let mut decoder = OpenAiChatDecoder::new(BodyForm::Stream);
            let mut events: Vec<ModelEvent> =
                bytes.chunks(size).flat_map(|chunk| decoder.push(chunk)).collect();
            events.extend(decoder.end());
            assert_eq!(events, whole, "chunks of {size}, {line_end:?}");
        }
    }
}

#[tokio::test]
async fn a_connection_cut_at_each_frame_boundary_is_a_transport_failure() {
    let server = ScriptedModel::start().await;
    let model = model(&server);
    let done_said = frames().bytes().len();
    for boundary in frames().boundaries() {
        for at in [boundary - 1, boundary, boundary + 1] {
            for fault in [Fault::CloseAt(at), Fault::ResetAt(at)] {
                server.push(Answer::script(parallel_calls()).fault(fault));
                let events = ask(&model).await;
                if at >= done_said {
                    // `[DONE]` was read, so a fault of the connection after it does not matter.
                    assert_eq!(events[events.len() - 4..], ending(), "{fault:?}");
                } else {
                    assert_nothing_executable(&events);
                    let failure = failure_of(&events);
                    assert_eq!(failure.class, ModelFailureClass::Transport, "{fault:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_clean_end_at_each_frame_boundary_before_the_finish_is_truncated() {
    let server = ScriptedModel::start().await;
    let model = model(&server);
    let said_all = said_all(&frames().bytes());
    for boundary in frames().boundaries() {
        for at in [boundary - 1, boundary, boundary + 1] {
            server.push(Answer::script(parallel_calls()).fault(Fault::EndAt(at)));
            let events = ask(&model).await;
            if at < said_all {
                assert_nothing_executable(&events);
                assert_eq!(class_of(&events), ModelFailureClass::Truncated, "end at {at}");
            } else {
                let last = ModelEvent::Finish(FinishReason::ToolCalls);
                assert_eq!(events.last(), Some(&last), "end at {at}");
            }
        }
    }
}
