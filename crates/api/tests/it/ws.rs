use onyx_api::WsFrames;
use onyx_surface::Encoder;

use crate::recorded::{self, DRAFT, RUN, SESSION, complete, delta, envelopes, start};

fn frames(envelopes: &[onyx_types::Envelope]) -> Vec<String> {
    let mut encoder = WsFrames::default();
    envelopes.iter().flat_map(|envelope| encoder.encode(envelope)).map(|frame| frame.text).collect()
}

#[test]
fn a_whole_run_names_session_run_agent_and_place_in_every_frame() {
    let told = frames(&recorded::whole_run());
    let lead = |kind: &str| {
        format!(r#"{{"type":"{kind}","data":{{"sessionId":"{SESSION}","runId":"{RUN}","seq":"#)
    };
    for frame in &told {
        let kind = frame.split('"').nth(3).unwrap();
        assert!(frame.starts_with(&lead(kind)), "{frame}");
        assert!(frame.contains(r#""agent":"main""#), "{frame}");
        assert!(!frame.contains("turn_id") && !frame.contains("_ms\""), "{frame}");
    }
    let draft = format!(
        r#""draftId":"{DRAFT}","tool":"write_file","summary":"Write b.md","preview":{{"kind":"diff","path":"b.md","unified":"+x\n","diffLines":[{{"kind":"added","text":"x"}}]}},"asksFor":"approval"}}}}"#
    );
    assert!(told.iter().any(|frame| frame.ends_with(&draft)), "{told:#?}");
    let done = r#""usage":{"input":20,"output":10,"cacheRead":4,"cacheWrite":0,"cost":0.5}}}"#;
    assert!(told.last().unwrap().ends_with(done), "{told:#?}");
}

#[test]
fn a_completed_text_adds_only_what_no_delta_brought() {
    let [turn, other, _] = recorded::turns();
    let run = [start(), delta(turn, "Hel"), complete(turn, "Hello"), complete(other, "all")];
    let texts: Vec<String> = frames(&envelopes(run))
        .iter()
        .filter(|frame| frame.contains("chat.delta"))
        .map(|frame| {
            frame.rsplit("\"text\":\"").next().unwrap().trim_end_matches("\"}}").to_owned()
        })
        .collect();
    assert_eq!(texts, ["Hel", "lo", "all"]);
}
