use onyx_api::Ndjson;
use onyx_surface::Encoder;
use onyx_types::{Envelope, ErrorCode, RunStatus};

use crate::recorded::{self, DRAFT, RUN, SESSION, complete, delta, done, envelopes, error, start};

fn lines(envelopes: &[Envelope]) -> String {
    let mut encoder = Ndjson::default();
    let mut bytes = Vec::new();
    for envelope in envelopes {
        bytes.extend(encoder.encode(envelope).concat());
    }
    bytes.extend(encoder.finish().concat());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_whole_run_is_exactly_these_bytes() {
    let expected = format!(
        r#"{{"type":"start","session_id":"{SESSION}","run_id":"{RUN}"}}
{{"type":"status","message":"trying again","code":"retry"}}
{{"type":"text","delta":"Let me "}}
{{"type":"text","delta":"look."}}
{{"type":"tool_call","id":"a","tool":"read_file","args":{{"path":"ä.md"}},"label":{{"verb":{{"plain":"Read","wants":"Wants to read","doing":"Reading","did":"Read","refused":"Was not allowed to read","failed":"Could not read"}},"subject":"ä.md","target":{{"kind":"file","name":"ä.md"}}}}}}
{{"type":"tool_result","id":"a","tool":"read_file","ok":true,"summary":"1 line","report":{{"state":"done"}}}}
{{"type":"draft","draft_id":"{DRAFT}","tool":"write_file","summary":"Write b.md","preview":{{"kind":"diff","path":"b.md","unified":"+x\n","diff_lines":[{{"kind":"added","text":"x"}}]}},"asks_for":"approval"}}
{{"type":"confirm","draft_id":"{DRAFT}","tool":"delete_file","summary":"Delete b.md","preview":{{"kind":"text","text":"b.md"}},"asks_for":"approval"}}
{{"type":"text","delta":"\n\nHere \"it\" is\nnow"}}
{{"type":"text","delta":"!"}}
{{"type":"done","session_id":"{SESSION}","run_id":"{RUN}","status":"done","usage":{{"input":20,"output":10,"cache_read":4,"cache_write":0,"cost":0.5}}}}
"#
    );
    assert_eq!(lines(&recorded::whole_run()), expected);
}

#[test]
fn an_error_comes_with_code_and_hint_and_done_is_last() {
    let run = envelopes([
        start(),
        error(ErrorCode::ProviderTruncated, "it broke off"),
        done(RunStatus::Error),
    ]);
    let expected = format!(
        r#"{{"type":"start","session_id":"{SESSION}","run_id":"{RUN}"}}
{{"type":"error","message":"it broke off","code":"provider_truncated","hint":"Send the message again."}}
{{"type":"done","session_id":"{SESSION}","run_id":"{RUN}","status":"error","usage":{{"input":20,"output":10,"cache_read":4,"cache_write":0,"cost":0.5}}}}
"#
    );
    assert_eq!(lines(&run), expected);
}

#[test]
fn a_feed_that_breaks_off_still_ends_with_done() {
    let [turn, ..] = recorded::turns();
    let text = lines(&envelopes([start(), delta(turn, "half")]));
    let ends: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(
        ends,
        [
            r#"{"type":"error","message":"The server stopped while the run was working.","code":"interrupted","hint":"Send the message again; what was finished is kept."}"#,
            &format!(
                r#"{{"type":"done","session_id":"{SESSION}","run_id":"{RUN}","status":"interrupted","usage":{{"input":0,"output":0,"cache_read":0,"cache_write":0}}}}"#
            ),
        ]
    );
    assert_eq!(lines(&[]), "");
}

#[test]
fn a_text_that_came_without_deltas_is_told_whole_and_once() {
    let [first, second, _] = recorded::turns();
    let text = lines(&envelopes([
        start(),
        complete(first, "all at once"),
        delta(second, ""),
        complete(second, ""),
        done(RunStatus::Done),
    ]));
    let said: Vec<&str> = text.lines().filter(|line| line.contains("\"text\"")).collect();
    assert_eq!(said, [r#"{"type":"text","delta":"all at once"}"#]);
}
