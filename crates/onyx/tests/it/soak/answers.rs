//! The model's answers. A message ends with its kind and its number.

use onyx_test_support::{Answer, ErrorKind, Fault, RecordedRequest, Script, ScriptedCall};
use serde_json::json;

/// Kinds whose answers end well unless another fault happens.
pub(super) const GOOD: &[&str] = &["say", "write"];
/// Faults of a provider.
pub(super) const BAD: &[&str] = &["refuse", "cut", "garbage", "hang"];

pub(super) fn note(number: u64) -> String {
    format!("soak-{number}.md")
}

pub(super) fn entry(number: u64) -> String {
    format!("entry-{number}")
}

pub(super) fn respond(request: &RecordedRequest) -> Answer {
    let Some(messages) = request.body["messages"].as_array() else { return Answer::text("ok") };
    let last = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    let mut words = messages[last]["content"].as_str().unwrap_or_default().rsplit(' ');
    let number: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let done = messages[last..].iter().any(|message| message["role"] == "tool");
    match words.next() {
        Some("write") if !done => writes(number),
        Some("slow") => pieces(number, 40).delay_ms(25),
        Some("refuse") => Answer::error(
            [ErrorKind::Server, ErrorKind::RateLimited, ErrorKind::Overloaded]
                [usize::try_from(number % 3).unwrap_or(0)],
        ),
        Some("cut") => pieces(number, 10)
            .fault(Fault::CloseAt(usize::try_from(number * 37 % 900).unwrap_or(0))),
        Some("garbage") => {
            Script::new([onyx_test_support::Step::Raw("data: {nonsense\n\n".into())]).into()
        }
        Some("hang") => pieces(number, 10).fault(Fault::HangAfterHead),
        _ => pieces(number, 5).delay_ms(5),
    }
}

fn pieces(number: u64, count: u64) -> Answer {
    Answer::script(Script::text_pieces((0..count).map(|piece| format!("{number}.{piece} "))))
}

fn writes(number: u64) -> Answer {
    let content = format!("{number}\n");
    Answer::tool_calls([
        ScriptedCall::new(
            "write",
            "write_file",
            &json!({"path": note(number), "content": content}),
        ),
        ScriptedCall::new("remember", "memory_write", &json!({"text": entry(number)})),
    ])
}
