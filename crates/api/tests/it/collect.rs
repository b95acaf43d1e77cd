use onyx_surface::{Collect, Encoder};
use onyx_types::{ErrorCode, Fault, RunStatus};
use serde_json::json;

use crate::recorded::{self, DRAFT, RUN, SESSION, delta, done, envelopes, error, start};

#[test]
fn a_whole_run_is_one_answer_whose_text_is_that_of_the_stream() {
    let mut collect = Collect::default();
    for envelope in recorded::whole_run() {
        assert!(collect.encode(&envelope).is_empty());
    }
    let reply = collect.finish().pop().unwrap();
    assert_eq!((reply.status, &reply.error), (RunStatus::Done, &None));
    let expected = json!({
        "session_id": SESSION,
        "run_id": RUN,
        "message": "Let me look.\n\nHere \"it\" is\nnow!",
        "tools": [
            {"id": "a", "tool": "read_file", "args": {"path": "ä.md"}, "ok": true, "summary": "1 line"},
        ],
        "drafts": [
            {"draft_id": DRAFT, "tool": "write_file", "summary": "Write b.md",
             "preview": {"kind": "diff", "path": "b.md", "unified": "+x\n",
                         "diff_lines": [{"kind": "added", "text": "x"}]}},
            {"draft_id": DRAFT, "tool": "delete_file", "summary": "Delete b.md",
             "preview": {"kind": "text", "text": "b.md"}},
        ],
        "usage": {"input": 20, "output": 10, "cache_read": 4, "cache_write": 0, "cost": 0.5},
    });
    assert_eq!(serde_json::to_value(&reply).unwrap(), expected);
}

#[test]
fn how_a_run_ended_is_kept_beside_its_words() {
    let [turn, ..] = recorded::turns();
    let mut collect = Collect::default();
    for envelope in envelopes([
        start(),
        delta(turn, "half"),
        error(ErrorCode::LimitSteps, "enough"),
        done(RunStatus::Error),
    ]) {
        collect.encode(&envelope);
    }
    let reply = collect.finish().pop().unwrap();
    let fault = Fault::new(ErrorCode::LimitSteps, "enough").with_hint(ErrorCode::LimitSteps.hint());
    assert_eq!(
        (reply.message.as_str(), reply.status, reply.error),
        ("half", RunStatus::Error, Some(fault))
    );
    assert!(collect.finish().is_empty());
}
