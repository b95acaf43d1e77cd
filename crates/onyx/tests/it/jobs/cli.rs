use onyx_test_support::ScriptedModel;
use serde_json::Value;

use crate::{onyx, run};

#[tokio::test]
async fn jobs_are_looked_at_and_changed_at_the_terminal() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let home = onyx.home();
    let jobs = async |arguments: &[&str]| {
        let all: Vec<&str> = ["jobs"].iter().chain(arguments).copied().collect();
        run(&home, &all).await
    };
    let added = jobs(&[
        "add",
        "morning",
        "--cron",
        "0 8 * * MON-FRI",
        "--timezone",
        "Europe/Berlin",
        "--prompt",
        "Summarise.",
        "--set",
        "overlap=queue",
    ])
    .await;
    assert_eq!(added.code, Some(0), "{}", added.err);
    assert!(added.out.contains("every weekday at 08:00, Europe/Berlin"), "{}", added.out);
    let listed = jobs(&["list"]).await;
    assert!(listed.out.starts_with("morning"), "{}", listed.out);
    let shown: Value =
        serde_json::from_str(&jobs(&["show", "morning", "--json"]).await.out).unwrap();
    assert_eq!(shown["fields"]["overlap"], "queue");
    let edited = jobs(&["edit", "morning", "--cron", "30 7 * * *", "--unset", "overlap"]).await;
    assert!(edited.out.contains("every day at 07:30"), "{}{}", edited.out, edited.err);
    assert!(jobs(&["pause", "morning"]).await.out.contains("paused"));
    assert!(jobs(&["resume", "morning"]).await.out.contains("active"));
    assert!(jobs(&["run", "morning"]).await.out.contains("queued"));
    assert_eq!(jobs(&["history", "morning"]).await.code, Some(0));
    let wrong = jobs(&["add", "bad", "--cron", "no", "--prompt", "x"]).await;
    assert_ne!(wrong.code, Some(0));
    assert!(
        wrong.err.contains("is no cron expression") && wrong.err.contains("0 8 * * MON-FRI"),
        "{}",
        wrong.err
    );
    assert_eq!(jobs(&["remove", "morning"]).await.code, Some(0));
    let none = jobs(&["list"]).await.out;
    assert_eq!(none.trim(), "There are no jobs. Add one with: onyx jobs add");
}

#[tokio::test]
async fn a_person_sets_their_time_zone_and_the_daily_log_is_of_their_day() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let home = onyx.home();
    let set = run(&home, &["people", "timezone", "Pacific/Kiritimati"]).await;
    assert_eq!(set.out.trim(), "Pacific/Kiritimati", "{}", set.err);
    let wrong = run(&home, &["people", "timezone", "Kiritimati Island"]).await;
    assert!(wrong.err.contains("there is no time zone"), "{}", wrong.err);
    let zone = onyx_types::Zone::named("Pacific/Kiritimati").unwrap();
    let day = |at| zone.date(at);
    let before = day(onyx_types::Clock::wall(&onyx_types::SystemClock::new()));
    let body = serde_json::json!({"agent": "main", "text": "fed the cat", "target": "daily"});
    onyx.post("/v1/memory", &body).await;
    let after = day(onyx_types::Clock::wall(&onyx_types::SystemClock::new()));
    let log = |day: &str| home.join(format!("people/owner/memory/main/daily/{day}.md"));
    let is_there = log(&before).exists() || log(&after).exists();
    assert!(is_there, "the log of {before} is not there");
    // The person's choice survives a restart. The config's zone is for people without a choice.
    let mut onyx = onyx;
    onyx.restart().await;
    let config = onyx.get("/api/agent/config").await.expect(200).json();
    assert_eq!(config["current_timezone"], "Pacific/Kiritimati");
}

#[tokio::test]
async fn the_config_gives_people_a_time_zone() {
    let model = ScriptedModel::start().await;
    let people =
        serde_json::json!({"people": [{"id": "owner", "role": "owner", "timezone": "Asia/Tokyo"}]});
    let onyx = crate::builder(&model).merge(people).start().await;
    let config = onyx.get("/api/agent/config").await.expect(200).json();
    assert_eq!(
        (&config["timezone"], config["current_timezone"].as_str()),
        (&Value::Null, Some("Asia/Tokyo"))
    );
}
