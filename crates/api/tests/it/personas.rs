//! The persona surface and the lines for older clients, byte for byte.

use bytes::Bytes;
use onyx_api::{CallName, Ndjson, PersonaFrames};
use onyx_surface::Encoder;
use onyx_types::{Envelope, ErrorCode, RunStatus};

use crate::recorded::{self, complete, delta, done, envelopes, error, start};

fn told(mut encoder: impl Encoder<Frame = Bytes>, envelopes: &[Envelope]) -> String {
    let mut bytes: Vec<u8> =
        envelopes.iter().flat_map(|envelope| encoder.encode(envelope).concat()).collect();
    bytes.extend(encoder.finish().concat());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_persona_stream_is_exactly_these_bytes() {
    insta::assert_snapshot!(
        "persona_stream",
        told(PersonaFrames::default(), &recorded::whole_run())
    );
}

#[test]
fn a_persona_run_that_fails_says_why_and_then_that_it_is_over() {
    let [turn, ..] = recorded::turns();
    let run = envelopes([
        start(),
        delta(turn, "half"),
        error(ErrorCode::ProviderTruncated, "it broke off"),
        done(RunStatus::Error),
    ]);
    insta::assert_snapshot!("persona_failed", told(PersonaFrames::default(), &run));
}

#[test]
fn a_persona_text_that_came_without_deltas_gets_one_before_it_is_complete() {
    let [first, second, _] = recorded::turns();
    let run = envelopes([
        start(),
        complete(first, "at once"),
        delta(second, "the "),
        complete(second, "the rest"),
        complete(second, ""),
    ]);
    let text = told(PersonaFrames::default(), &run);
    let contents: Vec<&str> = text.split("\"content\":").skip(1).map(|rest| &rest[..6]).collect();
    assert_eq!(contents, ["\"at on", "\"at on", "\"the \"", "\"rest\"", "\"the r"]);
    // The feed ended early, so the encoder adds the end.
    assert!(text.ends_with("data: {\"type\":\"done\"}\n\n"), "{text}");
}

#[test]
fn older_clients_read_the_same_lines_with_another_name_for_a_call() {
    let older = told(Ndjson::calling(CallName::ToolUse), &recorded::whole_run());
    insta::assert_snapshot!("claude_stream", older);
    let newer = told(Ndjson::default(), &recorded::whole_run());
    assert_eq!(older.replace("\"type\":\"tool_use\"", "\"type\":\"tool_call\""), newer);
}
