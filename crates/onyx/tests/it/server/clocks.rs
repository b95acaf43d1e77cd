//! Gateways on machines whose clocks differ by less than the start allows.

use onyx_test_support::{Script, ScriptedModel, Step};
use serde_json::json;

use super::together::events_through;
use super::{gateway, place, start};

#[tokio::test]
async fn gateways_whose_clocks_differ_by_45_seconds_follow_and_stop_each_others_runs() {
    let hanging = || Script::new([Step::Text("half an answer".into()), Step::Hang]);
    let model = ScriptedModel::with_answers([hanging(), hanging()]).await;
    let place = place().await;
    let one = start(&place, "one", &model).await;
    let ahead = gateway(&place, "two", &model).env("ONYX_TEST_CLOCK_AHEAD", "45000").start().await;
    for (owner, other) in [(&one, &ahead), (&ahead, &one)] {
        let mut lines = owner.chat_lines(&json!({"message": "go"})).await;
        let begun = lines.until("start").await;
        let run = begun["run_id"].as_str().unwrap().to_owned();
        let session = begun["session_id"].as_str().unwrap().to_owned();
        lines.until("text").await;
        let stopped = other.stop(&session).await.expect(200).json();
        assert_eq!(stopped["stopped"], true, "{stopped}");
        assert_eq!(lines.rest().await.last().unwrap()["type"], "done");
        let followed = events_through(other, &run, 0).await;
        assert_eq!(followed.last().unwrap()["type"], "done", "{followed:#?}");
    }
}
