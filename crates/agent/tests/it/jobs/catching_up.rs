//! Jobs after a machine slept for a week.

use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use onyx_agent::JobsSettings;
use onyx_storage::SlotState;
use serde_json::json;

use super::firing::{approver, edit, id, settle, states};
use crate::world::{World, ana};

// Each answer that waits blocks a thread, and three answers wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn after_a_week_asleep_each_of_a_hundred_jobs_follows_its_rule_and_few_run_at_once() {
    let (world, clock) = World::by_hand(Vec::<&str>::new()).await;
    world.agent.jobs.set_settings(
        JobsSettings { max_at_once: Some(3), ..JobsSettings::default() }.check(&ana()).unwrap(),
    );
    let (open, gate) = mpsc::sync_channel::<()>(1);
    let gate = Mutex::new(gate);
    // Answers wait until the test drops the sender.
    world.model.respond_with(move |_| {
        let _ = gate.lock().unwrap().recv();
        "Done.".into()
    });
    let rules = ["skip", "once", "all"];
    for number in 0..100 {
        let job = edit(json!({
            "cron": format!("{} 7 * * *", number % 60), "misfire": rules[number % 3],
            "grace": "10m", "prompt": "Work.",
        }));
        world.agent.jobs.create(&approver(), &id(&format!("job-{number}")), job).await.unwrap();
    }
    clock.advance(Duration::from_secs(7 * 24 * 3_600));
    let running = async || {
        let open = world.store.jobs.open_slots().await.unwrap();
        open.iter().filter(|slot| slot.state == SlotState::Running).count()
    };
    for _ in 0..3 {
        world.agent.jobs.fire_due().await.unwrap();
        assert_eq!(running().await, 3, "so many run at once, and no more");
    }
    drop(open);
    settle(&world).await;
    let (done, missed, skipped) = (SlotState::Done, SlotState::Missed, SlotState::Skipped);
    for number in 0..100 {
        let told = states(&world, &format!("job-{number}")).await;
        match rules[number % 3] {
            "skip" => assert_eq!(told, [missed]),
            "once" => assert_eq!(told, [done, skipped]),
            _ => assert_eq!(told, vec![done; 7]),
        }
    }
    let slots = world.agent.jobs.history(&ana(), &id("job-0"), None, 9).await.unwrap();
    assert_eq!((slots[0].count, slots[0].state), (7, missed));
    // All slots are settled, so another look asks no model.
    let before = world.model.requests().len();
    assert_eq!(before, 33 + 33 * 7);
    settle(&world).await;
    assert_eq!(world.model.requests().len(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slot_whose_job_is_at_work_is_skipped_queued_or_takes_over() {
    // The slots are shorter than a session's lease, because a run that waits while the clock jumps
    // must keep its lease.
    const SLOT: Duration = Duration::from_secs(20);
    for (rule, expected) in [
        ("skip", vec![SlotState::Skipped, SlotState::Done]),
        ("queue", vec![SlotState::Done, SlotState::Done]),
        ("replace", vec![SlotState::Done, SlotState::Replaced]),
    ] {
        let (world, clock) = World::by_hand(Vec::<&str>::new()).await;
        let (open, gate) = mpsc::sync_channel::<()>(1);
        let gate = Mutex::new(gate);
        // The first answer waits for the test; dropping the sender lets all answers pass.
        world.model.respond_with(move |_| {
            let _ = gate.lock().unwrap().recv();
            "Done.".into()
        });
        let job = edit(json!({"every": "20s", "overlap": rule, "prompt": "Work."}));
        world.agent.jobs.create(&approver(), &id("slow"), job).await.unwrap();
        clock.advance(SLOT);
        world.agent.jobs.fire_due().await.unwrap();
        let running = async || {
            let open = world.store.jobs.open_slots().await.unwrap();
            open.iter().any(|slot| slot.state == SlotState::Running).then_some(())
        };
        onyx_test_support::wait_for("a run", Duration::from_secs(30), running).await;
        clock.advance(SLOT);
        world.agent.jobs.fire_due().await.unwrap();
        drop(open);
        settle(&world).await;
        assert_eq!(states(&world, "slow").await, expected, "{rule}");
    }
}
