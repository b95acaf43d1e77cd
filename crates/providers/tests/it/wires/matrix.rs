//! Tests every pair of wire and fault. A pair that a wire cannot have says why.

use super::{decoder, model};
use crate::support::{assert_nothing_executable, hello, parallel_calls, text_of};
use futures::StreamExt;
use onyx_providers::wire::BodyForm;
use onyx_test_support::{
    Answer, ErrorKind, Finish, LineEnd, Pieces, Script, ScriptedError, ScriptedModel, Step, Wire,
};
use onyx_types::{Cancel, FinishReason, ModelEvent, ModelFailureClass as Class, ToolUseId, Usage};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    ParallelSplitCalls,
    ErrorMidStream,
    CutAtEveryByte,
    CleanEndWithoutMarker,
    ErrorThenNormalEnd,
    RateLimitedWithRetryAfter,
    OverloadedBefore,
    Status529Before,
    OverloadedMidStream,
    Unauthorized,
    ContextLength,
    ContentRefusal,
    SlowFirstByte,
    IdleStall,
    Gzip,
    Crlf,
    SplitUtf8,
}

impl Fault {
    const ALL: [Self; 17] = [
        Self::ParallelSplitCalls,
        Self::ErrorMidStream,
        Self::CutAtEveryByte,
        Self::CleanEndWithoutMarker,
        Self::ErrorThenNormalEnd,
        Self::RateLimitedWithRetryAfter,
        Self::OverloadedBefore,
        Self::Status529Before,
        Self::OverloadedMidStream,
        Self::Unauthorized,
        Self::ContextLength,
        Self::ContentRefusal,
        Self::SlowFirstByte,
        Self::IdleStall,
        Self::Gzip,
        Self::Crlf,
        Self::SplitUtf8,
    ];
}

/// Why a wire cannot have a fault.
fn impossible(wire: Wire, fault: Fault) -> Option<&'static str> {
    let reasons: &[(Wire, &'static str)] = match fault {
        Fault::ContextLength => &[
            (Wire::Gemini, "too long a prompt is INVALID_ARGUMENT like any other; only words tell"),
            (Wire::Ollama, "the server drops the beginning of a long prompt and says nothing"),
        ],
        Fault::OverloadedMidStream => {
            &[(Wire::Ollama, "an error inside the stream is words alone; it is Unavailable")]
        }
        Fault::ContentRefusal => &[(Wire::Ollama, "the wire has no word for a refusal")],
        Fault::ParallelSplitCalls
        | Fault::ErrorMidStream
        | Fault::CutAtEveryByte
        | Fault::CleanEndWithoutMarker
        | Fault::ErrorThenNormalEnd
        | Fault::RateLimitedWithRetryAfter
        | Fault::OverloadedBefore
        | Fault::Status529Before
        | Fault::Unauthorized
        | Fault::SlowFirstByte
        | Fault::IdleStall
        | Fault::Gzip
        | Fault::Crlf
        | Fault::SplitUtf8 => &[],
    };
    reasons.iter().find(|(known, _)| *known == wire).map(|(_, reason)| *reason)
}

/// The outcome of one pair, in a few words.
async fn outcome(wire: Wire, fault: Fault) -> String {
    if impossible(wire, fault).is_some() {
        return "-".into();
    }
    let text = || Step::Text("Let me".into());
    let calls = || Answer::script(parallel_calls());
    let broken = |kind| Step::Error(ScriptedError::new(kind, "scripted"));
    match fault {
        Fault::ParallelSplitCalls => told(wire, calls(), json!({})).await,
        Fault::ErrorMidStream => {
            told(wire, Script::new([text(), broken(ErrorKind::Server)]).into(), json!({})).await
        }
        Fault::CutAtEveryByte => every_cut(wire),
        Fault::CleanEndWithoutMarker => {
            told(wire, parallel_calls_without_marker(wire).into(), json!({})).await
        }
        Fault::ErrorThenNormalEnd => {
            let mut script = parallel_calls();
            let before_usage = script.steps.len() - 2;
            script.steps.insert(before_usage, broken(ErrorKind::Server));
            told(wire, script.into(), json!({})).await
        }
        Fault::RateLimitedWithRetryAfter => {
            let limited = Answer::error(ErrorKind::RateLimited).header("retry-after", "7");
            told(wire, limited, json!({})).await
        }
        Fault::OverloadedBefore => {
            told(wire, Answer::error(ErrorKind::Overloaded), json!({})).await
        }
        Fault::Status529Before => told(wire, Answer::status(529, "busy"), json!({})).await,
        Fault::OverloadedMidStream => {
            told(wire, Script::new([text(), broken(ErrorKind::Overloaded)]).into(), json!({})).await
        }
        Fault::Unauthorized => {
            let own = told(wire, Answer::error(ErrorKind::Auth), json!({})).await;
            let bare = told(wire, Answer::status(401, ""), json!({})).await;
            assert_eq!(own, bare, "{wire:?}");
            own
        }
        Fault::ContextLength => {
            told(wire, Answer::error(ErrorKind::ContextLength), json!({})).await
        }
        Fault::ContentRefusal => {
            told(wire, Script::new([text()]).ended(Finish::ContentFilter).into(), json!({})).await
        }
        Fault::SlowFirstByte => {
            let timeouts = json!({"timeouts": {"firstByteSeconds": 0.1}});
            told(wire, calls().fault(onyx_test_support::Fault::HangBeforeHead), timeouts).await
        }
        Fault::IdleStall => {
            let timeouts = json!({"timeouts": {"idleSeconds": 0.1}});
            told(wire, Script::new([text(), Step::Hang]).into(), timeouts).await
        }
        Fault::Gzip => {
            let whole = told(wire, calls().gzipped(), json!({})).await;
            let in_bytes = calls().gzipped().pieces(Pieces::Bytes(1));
            assert_eq!(whole, told(wire, in_bytes, json!({})).await, "{wire:?}");
            whole
        }
        Fault::Crlf => told(wire, calls().line_end(LineEnd::Crlf), json!({})).await,
        Fault::SplitUtf8 => told(wire, calls().pieces(Pieces::Bytes(1)), json!({})).await,
    }
}

/// On one wire the finish reason comes before the end marker and is enough by itself.
fn parallel_calls_without_marker(wire: Wire) -> Script {
    let mut script = parallel_calls().without_terminator();
    match wire {
        Wire::OpenAiChat => script.steps.retain(|step| !matches!(step, Step::Finish(_))),
        Wire::OpenAiResponses | Wire::Anthropic | Wire::Gemini | Wire::Ollama => {}
    }
    script
}

async fn told(wire: Wire, answer: Answer, settings: Value) -> String {
    let server = ScriptedModel::with_answers([answer]).await;
    let events: Vec<ModelEvent> =
        model(wire, &server, settings).stream(hello(), Cancel::new()).collect().await;
    assert_eq!(server.request_count(), 1, "{wire:?}");
    word(&events)
}

/// Names the last event. A success must be the whole answer, and a failure must leave nothing to
/// run.
fn word(events: &[ModelEvent]) -> String {
    match events.last().expect("a stream has a last event") {
        ModelEvent::Finish(FinishReason::ToolCalls) => {
            assert_eq!(text_of(events), "Let me look — gleich.");
            assert_eq!(ending(events), expected_ending());
            "calls".into()
        }
        ModelEvent::Finish(FinishReason::ContentFilter) => "refusal".into(),
        ModelEvent::Failed(failure) => {
            assert_nothing_executable(events);
            match &failure.class {
                Class::RateLimited { retry_after: Some(wait) } => {
                    format!("rate limited, {} s", wait.as_secs())
                }
                Class::Overloaded { retry_after: None } => "overloaded".into(),
                other => format!("{other:?}").to_lowercase(),
            }
        }
        other => panic!("ended with {other:?}"),
    }
}

/// Calls, usage and finish. Each wire numbers its calls in its own way.
fn ending(events: &[ModelEvent]) -> Vec<ModelEvent> {
    let unnumbered = |event: &ModelEvent| match event.clone() {
        ModelEvent::ToolCallEnd { index: _, id, name, arguments, provider_data } => {
            ModelEvent::ToolCallEnd { index: 0, id, name, arguments, provider_data }
        }
        other => other,
    };
    events[events.len() - 4..].iter().map(unnumbered).collect()
}

fn expected_ending() -> Vec<ModelEvent> {
    let end = |id: &str, name: &str, arguments: Value| ModelEvent::ToolCallEnd {
        index: 0,
        id: ToolUseId(id.into()),
        name: name.into(),
        arguments,
        provider_data: None,
    };
    vec![
        end("call_a", "read_file", json!({"path": "größe.md"})),
        end("call_b", "list_files", json!({"path": "notes", "deep": true})),
        ModelEvent::Usage(Usage { input: 10, output: 5, ..Usage::default() }),
        ModelEvent::Finish(FinishReason::ToolCalls),
    ]
}

/// Ends the answer cleanly after each byte. Before the frame of the finish marker the answer is
/// truncated; from some byte of that frame on it is complete.
fn every_cut(wire: Wire) -> String {
    let request = json!({"model": "some-model", "stream_options": {"include_usage": true}});
    for line_end in [LineEnd::Lf, LineEnd::Crlf] {
        let frames = wire.stream(&parallel_calls(), &request).with_line_end(line_end);
        let (bytes, boundaries) = (frames.bytes(), frames.boundaries());
        let after_marker = match wire {
            // The finish reason is followed by usage and `[DONE]`.
            Wire::OpenAiChat => 2,
            Wire::OpenAiResponses | Wire::Anthropic | Wire::Gemini | Wire::Ollama => 0,
        };
        let marker = boundaries[boundaries.len() - 2 - after_marker];
        let mut whole = false;
        for cut in 0..=bytes.len() {
            let mut decoder = decoder(wire, BodyForm::Stream);
            let mut events = decoder.push(&bytes[..cut]);
            events.extend(decoder.end());
            let ended = matches!(events.last(), Some(ModelEvent::Finish(_)));
            assert!(ended || !whole, "{wire:?}: no answer any more at {cut}");
            assert!(!ended || cut > marker, "{wire:?}: an answer before its marker, at {cut}");
            if !ended {
                assert_eq!(word(&events), "truncated", "{wire:?} cut at {cut}");
            }
            whole = ended;
        }
        assert!(whole, "{wire:?}");
    }
    "truncated".into()
}

/// The outcomes of all pairs.
const TABLE: &str = "\
ParallelSplitCalls        | calls             | calls             | calls             | calls             | calls
ErrorMidStream            | unavailable       | unavailable       | unavailable       | unavailable       | unavailable
CutAtEveryByte            | truncated         | truncated         | truncated         | truncated         | truncated
CleanEndWithoutMarker     | truncated         | truncated         | truncated         | truncated         | truncated
ErrorThenNormalEnd        | unavailable       | unavailable       | unavailable       | unavailable       | unavailable
RateLimitedWithRetryAfter | rate limited, 7 s | rate limited, 7 s | rate limited, 7 s | rate limited, 7 s | rate limited, 7 s
OverloadedBefore          | overloaded        | overloaded        | overloaded        | overloaded        | overloaded
Status529Before           | overloaded        | overloaded        | overloaded        | overloaded        | overloaded
OverloadedMidStream       | overloaded        | overloaded        | overloaded        | overloaded        | -
Unauthorized              | auth              | auth              | auth              | auth              | auth
ContextLength             | contextlength     | contextlength     | contextlength     | -                 | -
ContentRefusal            | refusal           | refusal           | refusal           | refusal           | -
SlowFirstByte             | timeout           | timeout           | timeout           | timeout           | timeout
IdleStall                 | timeout           | timeout           | timeout           | timeout           | timeout
Gzip                      | calls             | calls             | calls             | calls             | calls
Crlf                      | calls             | calls             | calls             | calls             | calls
SplitUtf8                 | calls             | calls             | calls             | calls             | calls
";

#[tokio::test]
async fn every_cell_of_wires_and_faults_has_the_right_outcome() {
    let mut table = String::new();
    for fault in Fault::ALL {
        let mut row = format!("{:<25}", format!("{fault:?}"));
        for wire in Wire::ALL {
            row.push_str(&format!(" | {:<17}", outcome(wire, fault).await));
        }
        table.push_str(row.trim_end());
        table.push('\n');
    }
    assert_eq!(table, TABLE, "\n{table}");
}

#[test]
fn the_table_names_every_fault_and_every_wire_once() {
    // `outcome` matches all faults, so a new fault does not compile until it is added there; this
    // test shows whether it was also added to the list.
    for (position, fault) in Fault::ALL.into_iter().enumerate() {
        assert_eq!(fault as usize, position, "{fault:?}");
    }
    assert_eq!(Fault::SplitUtf8 as usize + 1, Fault::ALL.len());
    for (position, wire) in Wire::ALL.into_iter().enumerate() {
        assert_eq!(wire as usize, position, "{wire:?}");
    }
    let cells = TABLE.lines().flat_map(|line| line.split(" | ").skip(1)).count();
    assert_eq!(cells, Fault::ALL.len() * Wire::ALL.len());
    let missing =
        TABLE.lines().flat_map(|line| line.split(" | ")).filter(|cell| cell.trim() == "-");
    let reasons = Fault::ALL
        .into_iter()
        .flat_map(|fault| Wire::ALL.into_iter().filter_map(move |wire| impossible(wire, fault)));
    assert_eq!(missing.count(), reasons.count());
}
