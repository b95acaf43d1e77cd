//! `onyx usage`.

use onyx_test_support::{ScriptedModel, wait_for};
use serde_json::{Value, json};

use crate::{SOON, builder, run};

#[tokio::test]
async fn what_was_used_is_summed_up_by_day_agent_model_and_person() {
    let model = ScriptedModel::start().await;
    let priced = json!({"providers": {"mine": {"models": [
        {"id": "some-model", "price": {"input": 1_000_000, "output": 2_000_000}}
    ]}}, "limits": {"max_cost": 0, "max_cost_per_day": 0}});
    let onyx = builder(&model).merge(priced).start().await;
    let home = onyx.home();
    let nothing = run(&home, &["usage"]).await;
    assert!(nothing.out.starts_with("nothing was used from "), "{nothing:?}");

    onyx.chat_stream(&json!({"message": "hi"})).await;
    let report = wait_for("the run in the books", SOON, async || {
        let ran = run(&home, &["usage", "--json"]).await;
        let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        (report["total"]["output"] != 0).then_some(report)
    })
    .await;
    let (input, output) = (&report["total"]["input"], &report["total"]["output"]);
    assert!(input.as_u64().unwrap() > 0 && output.as_u64().unwrap() > 0, "{report}");
    let today = report["days"][0]["name"].as_str().unwrap().to_owned();
    let cost = format!("{:.4}", report["total"]["cost"].as_f64().unwrap());
    for (by, name) in [
        ("day", today.as_str()),
        ("agent", "main"),
        ("model", "mine/some-model"),
        ("person", "owner"),
    ] {
        let ran = run(&home, &["usage", "--by", by]).await;
        let lines: Vec<Vec<&str>> =
            ran.out.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][0], by, "{ran:?}");
        let (input, output) = (input.to_string(), output.to_string());
        assert_eq!(lines[1], [name, &input, &output, "0", "0", &cost], "{ran:?}");
        assert_eq!(lines[2], ["total", &input, &output, "0", "0", &cost], "{ran:?}");
    }
    let other = run(&home, &["usage", "--agent", "nobody"]).await;
    assert!(other.out.starts_with("nothing was used"), "{other:?}");
    let wrong = run(&home, &["usage", "--since", "yesterday"]).await;
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.err.contains("since") && wrong.err.contains("YYYY-MM-DD"), "{wrong:?}");
}
