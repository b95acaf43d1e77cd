//! Nothing that a person sees can be disguised: characters that control a terminal, change the
//! direction of writing or are invisible are made visible.

use onyx_test_support::{Answer, ScriptedCall, ScriptedModel};
use serde_json::{Value, json};

use crate::drafts::{draft_of, message, obedient, path, suggesting};
use crate::{builder, run};

/// Erases the line before it, sets a title, changes the direction of writing, and hides text in a
/// word.
const HOSTILE: &str =
    "a\r\u{1b}[2K\u{1b}]0;owned\u{7}b\u{202e}c\u{200b}d\u{9b}1m\u{2066}e\u{e0041}";
const WRITTEN_OUT: &str =
    "a\\r\\u{1b}[2K\\u{1b}]0;owned\\u{7}b\\u{202e}c\\u{200b}d\\u{9b}1m\\u{2066}e\\u{e0041}";

/// Makes such characters visible. It has a list of its own, so that it can disagree with the
/// product's.
fn hidden(text: &str) -> String {
    let is_hidden = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
            || matches!(c, '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().filter(is_hidden).collect()
}

#[track_caller]
fn assert_shown(place: &str, text: &str) {
    assert_eq!(hidden(text), "", "{place}: {text:?}");
    assert!(text.contains("\\u{1b}[2K"), "{place} shows that something is there: {text:?}");
}

/// Collects all strings of an answer.
fn strings<'a>(value: &'a Value, all: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, all)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[tokio::test]
async fn what_is_to_be_approved_is_shown_with_its_hidden_characters_written_out() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let calls = [
        ("exec", json!({"argv": ["sh", "-c", HOSTILE]})),
        ("write_file", json!({"path": "a.md", "content": format!("{HOSTILE}\n")})),
        ("write_file", json!({"path": "b\u{202e}dm.sh", "content": "x\u{1b}[2K"})),
    ];
    for call in calls {
        let what = call.0;
        let (events, draft) = draft_of(&onyx, json!({"message": message(&[call])})).await;
        let told = events.iter().rfind(|event| event["type"] == "draft").unwrap();
        for place in [&told["summary"], &told["preview"]] {
            let mut all = Vec::new();
            strings(place, &mut all);
            all.iter().for_each(|text| assert_eq!(hidden(text), "", "{what}: {text:?}"));
        }
        let row = onyx.get(&path(&draft)).await.expect(200).json();
        let mut all = Vec::new();
        strings(&row["summary"], &mut all);
        strings(&row["preview"], &mut all);
        all.iter().for_each(|text| assert_eq!(hidden(text), "", "{what}: {text:?}"));
        let shown = run(&onyx.home(), &["drafts", "show", &draft]).await;
        assert_shown(what, &shown.out);
    }
    let list = run(&onyx.home(), &["drafts", "list"]).await;
    assert_shown("drafts list", &list.out);
    assert_eq!(list.out.lines().count(), 3, "a draft is one line: {:?}", list.out);
    let rejected = run(&onyx.home(), &["drafts", "list", "--all", "--json"]).await;
    assert_eq!(hidden(&rejected.out), "");
    let read: Value = serde_json::from_str(&rejected.out).expect("still JSON");
    assert_eq!(read["drafts"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn the_audit_log_and_conversations_are_shown_with_their_hidden_characters_written_out() {
    let model = ScriptedModel::start().await;
    model.push(Answer::tool_calls([ScriptedCall::new("a", HOSTILE, &json!({"path": HOSTILE}))]));
    model.push(Answer::tool_calls([ScriptedCall::new(
        "b",
        "read_file",
        &json!({"path": HOSTILE}),
    )]));
    model.push(Answer::text(format!("I say {HOSTILE}")));
    let onyx = builder(&model).start().await;
    let home = onyx.home();
    let said = run(&home, &["chat", "go on"]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains(&format!("I say {WRITTEN_OUT}")), "{said:?}");
    assert_eq!(hidden(&said.err), "", "{said:?}");

    let audit = onyx.get("/api/admin/audit").await.expect(200).json();
    let mut all = Vec::new();
    strings(&audit, &mut all);
    all.iter().for_each(|text| assert_eq!(hidden(text), "", "{text:?}"));
    assert_shown("audit list", &run(&home, &["audit", "list"]).await.out);
    let exported = run(&home, &["audit", "export"]).await;
    assert_eq!(hidden(&exported.out), "");

    let list = onyx.get("/v1/sessions").await.expect(200).json();
    let session = list["sessions"][0]["id"].as_str().unwrap();
    assert_shown("sessions show", &run(&home, &["sessions", "show", session]).await.out);
    let history = run(&home, &["sessions", "show", session, "--json"]).await;
    assert_eq!(hidden(&history.out), "");
    let read: Value = serde_json::from_str(&history.out).expect("still JSON");
    let words = read["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert_eq!(words, format!("I say {HOSTILE}"), "JSON carries the same data");
}
