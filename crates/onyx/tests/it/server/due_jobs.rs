//! Jobs of many people, for which each gateway looks again and again.

use std::time::Duration;

use onyx_test_support::{ScriptedModel, wait_for};
use serde_json::json;

use super::place;
use super::round_trips::{TripCounter, behind, server};
use super::together::two;
use crate::SOON;
use crate::jobs::run_now;

/// Longer than two gateways take to look for due jobs again.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_job_file_that_cannot_be_read_holds_up_no_other_job_and_fires_once_it_can_be_read() {
    let model = ScriptedModel::start().await;
    model.set_default("Done.");
    let (place, one, two) = two(&model).await;
    for id in ["broken", "whole"] {
        let job = json!({"id": id, "every": "1h", "prompt": "Work."});
        let _ = one.post("/api/jobs", &job).await.expect(201);
    }
    let sql = place.sql().await;
    let file = "path = 'people/owner/vault/agent/jobs/broken.md'";
    let content = ["SELECT bytes FROM files WHERE ", file].concat();
    let content: Vec<u8> = sql.query_one(content.as_str(), &[]).await.unwrap().get(0);
    let lose = ["UPDATE files SET bytes = NULL WHERE ", file].concat();
    assert_eq!(sql.execute(lose.as_str(), &[]).await.unwrap(), 1);
    let queue =
        "INSERT INTO job_slots (person, job, scheduled_at, last, count, state, trigger, detail)
                 VALUES ('owner', 'broken', 5, 5, 1, 'queued', 'person', ''),
                        ('owner', 'whole', 5, 5, 1, 'queued', 'person', '')";
    assert_eq!(sql.execute(queue, &[]).await.unwrap(), 2);
    let state = async |job: &str| {
        let state = "SELECT state FROM job_slots WHERE job = $1 AND scheduled_at = 5";
        sql.query_one(state, &[&job]).await.unwrap().get::<_, String>(0)
    };
    let fired = async |job: &str| {
        let what = format!("the slot of {job} to be fired");
        wait_for(&what, PATIENCE, async || (state(job).await == "done").then_some(())).await;
    };
    fired("whole").await;
    for onyx in [&one, &two] {
        let run = run_now(onyx, "whole").await;
        assert_eq!(run["outcome"], "done", "{run}");
    }
    assert_eq!(state("broken").await, "queued", "it is not known whether the job was changed");
    let mend = ["UPDATE files SET bytes = $1 WHERE ", file].concat();
    sql.execute(mend.as_str(), &[&content]).await.unwrap();
    fired("broken").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_jobs_of_all_people_are_read_once_a_look_however_many_people_there_are() {
    const PEOPLE: usize = 30;
    let (place, model) = (place().await, ScriptedModel::start().await);
    let counter = TripCounter::before(server(&place)).await;
    let onyx = behind(&counter, &place, &model).await;
    let job = json!({"id": "weekly", "cron": "0 8 * * 1", "prompt": "Work."});
    let _ = onyx.post("/api/jobs", &job).await.expect(201);
    let copy = format!(
        "INSERT INTO files (person, path, parent, is_folder, hash, size, version, bytes, sha256,
                            modified, changed)
         SELECT 'p' || number, replace(path, 'people/owner', 'people/p' || number),
                replace(parent, 'people/owner', 'people/p' || number), is_folder, hash, size,
                version, bytes, sha256, modified, changed
         FROM files, generate_series(1, {PEOPLE}) AS number WHERE person = 'owner'"
    );
    place.sql().await.execute(copy.as_str(), &[]).await.unwrap();
    // Each look asks once for the slots that dead gateways left.
    let looks = || counter.heard("FROM job_slots WHERE state = 'running'");
    let reads = || counter.heard("FROM jobs ORDER BY person, job");
    let folders = || counter.heard("JOIN files USING (person, path)");
    let before = (looks(), reads(), folders());
    wait_for("two more looks", SOON * 3, async || (looks() >= before.0 + 2).then_some(())).await;
    let after = (looks(), reads(), folders());
    let looked = after.0 - before.0;
    assert!(after.1 > before.1, "they are counted");
    assert!(after.1 - before.1 <= looked + 1, "{before:?} {after:?}");
    // Other work of the gateway looks at a few files, too.
    assert!(after.2 - before.2 <= 4 * (looked + 1) + PEOPLE / 2, "{before:?} {after:?}");
}
