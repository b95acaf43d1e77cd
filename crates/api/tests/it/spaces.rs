//! The companion's stream, a thread's events and the UI message stream, byte for byte.

use onyx_api::v1::{AnswerPart, AnswerWriter, Finish};
use onyx_api::{CompanionFrames, EventsFrom, SseFrame, ThreadFrames, UiMessageFrames};
use onyx_surface::Encoder;
use onyx_types::{Envelope, ErrorCode, Event, Fault, LaneId, RunStatus};

use crate::recorded::{self, complete, delta, done, envelopes, error, start};

fn written(frames: &[SseFrame]) -> String {
    let frame = |frame: &SseFrame| {
        format!("id: {}\nevent: {}\ndata: {}\n\n", frame.id, frame.event, frame.data)
    };
    frames.iter().map(frame).collect()
}

fn told(mut encoder: impl Encoder<Frame = SseFrame>, envelopes: &[Envelope]) -> String {
    let mut frames: Vec<SseFrame> =
        envelopes.iter().flat_map(|envelope| encoder.encode(envelope)).collect();
    frames.extend(encoder.finish());
    written(&frames)
}

#[test]
fn the_companion_stream_is_exactly_these_bytes() {
    let live = told(CompanionFrames::default(), &recorded::whole_run());
    insta::assert_snapshot!("companion_stream", live);
    // A stream that is read from the log differs only in its ids.
    let kept = told(CompanionFrames::reading_from(EventsFrom::Log), &recorded::whole_run());
    assert_eq!(kept.replace(":log-", ":"), live);
}

#[test]
fn a_companion_run_that_fails_or_breaks_off_says_why_and_is_over() {
    let [turn, ..] = recorded::turns();
    let failed = envelopes([
        start(),
        delta(turn, "half"),
        error(ErrorCode::ProviderTruncated, "it broke off"),
        done(RunStatus::Error),
    ]);
    insta::assert_snapshot!("companion_failed", told(CompanionFrames::default(), &failed));
    let cut = told(CompanionFrames::default(), &failed[..2]);
    assert!(cut.contains("\"code\":\"interrupted\"") && cut.contains("event: done"), "{cut}");
}

/// The events of a run with a flush after each, as if the model were slow.
fn thread_events(envelopes: &[Envelope]) -> String {
    let [question, ..] = recorded::turns();
    let mut encoder = ThreadFrames::new(question);
    let mut frames = Vec::new();
    for envelope in envelopes {
        frames.extend(encoder.encode(envelope));
        frames.extend(encoder.flush());
    }
    frames.extend(encoder.finish());
    written(&frames)
}

#[test]
fn the_thread_events_are_exactly_these_bytes() {
    insta::assert_snapshot!("thread_events", thread_events(&recorded::whole_run()));
}

#[test]
fn each_end_of_an_answer_has_its_event() {
    let [turn, ..] = recorded::turns();
    let ended = |status, failure: Option<Event>| {
        let events = [start(), delta(turn, "half")].into_iter().chain(failure);
        thread_events(&envelopes(events.chain([done(status)])))
    };
    let cancelled = ended(RunStatus::Cancelled, None);
    assert!(cancelled.contains("event: chat:complete"), "{cancelled}");
    assert!(cancelled.contains("\"content\":\"half\",\"status\":\"cancelled\""), "{cancelled}");
    let fault = error(ErrorCode::ProviderTruncated, "it broke off");
    insta::assert_snapshot!("thread_failed", ended(RunStatus::Error, Some(fault)));
}

#[test]
fn text_waits_for_a_flush_and_comes_whole() {
    let [question, turn, _] = recorded::turns();
    let mut encoder = ThreadFrames::new(question);
    for envelope in &envelopes([start(), delta(turn, "one "), delta(turn, "two")]) {
        assert_eq!(encoder.encode(envelope), []);
    }
    assert!(encoder.has_unsaid());
    let frames = written(&encoder.flush());
    assert!(frames.contains("\"text\":\"one two\",\"full_content\":\"one two\""), "{frames}");
    assert!(!encoder.has_unsaid());
}

#[test]
fn of_several_coworkers_the_one_that_fails_fails_alone() {
    let [first, second, _] = recorded::turns();
    let run = recorded::run();
    let mut two = start();
    if let Event::Start { agents, .. } = &mut two {
        agents.push("scout".parse().unwrap());
    }
    let in_lane =
        |seq: u64, lane: u16, event| Envelope { seq, run_id: run, lane: LaneId(lane), event };
    let events = thread_events(&[
        in_lane(1, 0, two),
        in_lane(2, 0, complete(first, "whole")),
        in_lane(3, 1, delta(second, "half")),
        in_lane(4, 1, error(ErrorCode::ProviderTruncated, "it broke off")),
        in_lane(5, 0, done(RunStatus::Error)),
    ]);
    assert_eq!(events.matches("chat:complete").count(), 1, "{events}");
    assert_eq!(events.matches("chat:error").count(), 1, "{events}");
    assert!(events.contains("main\",\"content\":\"whole\",\"status\":\"complete\""), "{events}");
}

fn stream(parts: &[AnswerPart]) -> String {
    let mut frames = UiMessageFrames::new("m1".to_owned());
    let bytes: Vec<u8> = parts.iter().flat_map(|part| frames.write(part).concat()).collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_ui_message_stream_is_exactly_these_bytes() {
    let text = |text: &str| AnswerPart::Text(text.to_owned());
    let end = AnswerPart::End { finish: Finish::Stop, usage: recorded::usage() };
    let parts = [
        AnswerPart::Begin,
        AnswerPart::Reasoning("hm".to_owned()),
        text("Here "),
        text("\"it\"\nis"),
        end,
    ];
    insta::assert_snapshot!("ui_message_stream", stream(&parts));
    let fault = Fault::new(ErrorCode::ProviderTruncated, "it broke off");
    insta::assert_snapshot!(
        "ui_message_failed",
        stream(&[text("half"), AnswerPart::Failed(fault)])
    );
}
