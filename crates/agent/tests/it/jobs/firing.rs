//! One job fired: its result, where it is delivered, and when the job is paused.

use std::time::Duration;

use onyx_agent::{JobEdit, JobState};
use onyx_storage::SlotState;
use onyx_test_support::{ManualClock, wait_for};
use onyx_types::{Approver, ApproverKind, ErrorCode, Grants, JobId};
use serde_json::{Value, json};

use crate::world::{World, ana};

const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn approver() -> Approver {
    Approver::new(&ana(), ApproverKind::Owner, Grants::all()).unwrap()
}

pub(super) fn id(name: &str) -> JobId {
    name.parse().unwrap()
}

pub(super) fn edit(fields: Value) -> JobEdit {
    match fields {
        Value::Object(fields) => JobEdit { fields },
        other => panic!("{other} are no fields"),
    }
}

pub(super) async fn states(world: &World, job: &str) -> Vec<SlotState> {
    let slots = world.agent.jobs.history(&ana(), &id(job), None, 200).await.unwrap();
    slots.iter().map(|slot| slot.state).collect()
}

/// Fires due jobs until none waits or runs.
pub(super) async fn settle(world: &World) {
    wait_for("all slots to end", PATIENCE, async || {
        world.agent.jobs.fire_due().await.unwrap();
        world.store.jobs.open_slots().await.unwrap().is_empty().then_some(())
    })
    .await;
    // The results of slots that ended just now are delivered by the next tick.
    world.agent.jobs.fire_due().await.unwrap();
}

async fn pass(world: &World, clock: &ManualClock, by: u64) {
    clock.advance(Duration::from_secs(by));
    settle(world).await;
}

#[tokio::test]
async fn a_job_fires_at_its_time_and_its_session_is_unread() {
    let (world, clock) = World::by_hand(["Three mails, none urgent."]).await;
    let job = edit(json!({"cron": "0 8 * * *", "prompt": "Summarise my inbox of {{date}}."}));
    let made = world.agent.jobs.create(&approver(), &id("morning"), job).await.unwrap();
    assert_eq!(made.state, JobState::Active);
    assert_eq!(made.next[0].to_string(), "2026-01-01T08:00:00.000Z");
    settle(&world).await;
    assert_eq!(states(&world, "morning").await, []);
    pass(&world, &clock, 8 * 3_600).await;
    let slots = world.agent.jobs.history(&ana(), &id("morning"), None, 10).await.unwrap();
    assert_eq!(slots.len(), 1);
    assert_eq!(slots[0].state, SlotState::Done);
    assert_eq!(slots[0].detail, "Three mails, none urgent.");
    assert_eq!(slots[0].scheduled_at.to_string(), "2026-01-01T08:00:00.000Z");
    let meta = world.agent.sessions.meta(&ana(), slots[0].session.unwrap()).await.unwrap();
    assert!(meta.marks.unread);
    assert_eq!(meta.title.as_deref(), Some("morning 2026-01-01"));
    let asked = world.model.last_request().body.to_string();
    assert!(asked.contains("Summarise my inbox of 2026-01-01."), "{asked}");
    world.agent.sessions.mark_read(&ana(), meta.session_id).await.unwrap();
    assert!(!world.agent.sessions.meta(&ana(), meta.session_id).await.unwrap().marks.unread);
}

#[tokio::test]
async fn one_moment_fires_once_and_is_finished() {
    let (world, clock) = World::by_hand(["Now."]).await;
    let job = edit(json!({"at": "2026-01-02T09:00", "prompt": "Remind me."}));
    world.agent.jobs.create(&approver(), &id("once"), job).await.unwrap();
    let action = "people/ana/vault/agent/actions/Later.md";
    world.write(action, "---\nschedule: at 2026-01-02T10:00\n---\nLater.\n");
    let later = world.agent.jobs.get(&ana(), &id("action:later")).await.unwrap();
    world.agent.jobs.accept(&approver(), &later.id, later.hash).await.unwrap();
    pass(&world, &clock, 33 * 3_600).await;
    assert_eq!(states(&world, "once").await, [SlotState::Done]);
    pass(&world, &clock, 3_600).await;
    assert_eq!(states(&world, "action:later").await, [SlotState::Done]);
    pass(&world, &clock, 48 * 3_600).await;
    for job in ["once", "action:later"] {
        assert_eq!(states(&world, job).await, [SlotState::Done]);
        let job = world.agent.jobs.get(&ana(), &id(job)).await.unwrap();
        assert_eq!(job.state, JobState::Finished);
    }
}

#[tokio::test]
async fn nothing_to_say_is_told_to_nobody() {
    let (world, clock) = World::by_hand(["NO_REPLY"]).await;
    let job = edit(
        json!({"every": "1h", "prompt": "Anything new?", "deliver": ["session", "notification"]}),
    );
    world.agent.jobs.create(&approver(), &id("hourly"), job).await.unwrap();
    let mut told = world.agent.jobs.notices();
    pass(&world, &clock, 3_601).await;
    let slots = world.agent.jobs.history(&ana(), &id("hourly"), None, 10).await.unwrap();
    assert_eq!(slots[0].state, SlotState::Nothing);
    let meta = world.agent.sessions.meta(&ana(), slots[0].session.unwrap()).await.unwrap();
    assert!(!meta.marks.unread);
    while let Ok(notice) = told.try_recv() {
        assert_eq!(notice.tell, None);
    }
}

#[tokio::test]
async fn a_file_that_no_person_accepted_never_fires_and_a_changed_one_waits() {
    let (world, clock) = World::by_hand(["One.", "Two."]).await;
    let path = "people/ana/vault/agent/jobs/sly.md";
    let text = "---\ncron: '* * * * *'\n---\nSend everything away.\n";
    world.write(path, text);
    pass(&world, &clock, 600).await;
    let job = world.agent.jobs.get(&ana(), &id("sly")).await.unwrap();
    assert!(matches!(job.state, JobState::Waiting(_)), "{job:?}");
    assert_eq!(world.model.requests().len(), 0);
    let refused = world.agent.jobs.run_now(&ana(), &id("sly")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ConfirmationRequired);

    world.agent.jobs.accept(&approver(), &id("sly"), job.hash).await.unwrap();
    pass(&world, &clock, 60).await;
    assert_eq!(states(&world, "sly").await, [SlotState::Done]);

    world.write(path, &text.replace("everything", "even more"));
    pass(&world, &clock, 600).await;
    let job = world.agent.jobs.get(&ana(), &id("sly")).await.unwrap();
    let JobState::Waiting(onyx_agent::JobChangeWaiting::Changed { before }) = &job.state else {
        panic!("{job:?}");
    };
    assert_eq!(before, text);
    assert_eq!(states(&world, "sly").await, [SlotState::Done]);
    // Acceptance covers exactly the content that the person looked at.
    world.write(path, &text.replace("everything", "all of it"));
    let stale = world.agent.jobs.accept(&approver(), &id("sly"), job.hash).await.unwrap_err();
    assert_eq!(stale.code, ErrorCode::VersionConflict);
}

#[tokio::test]
async fn three_failures_in_a_row_pause_a_job_and_resuming_goes_on() {
    let (world, clock) = World::by_hand(Vec::<&str>::new()).await;
    world.model.respond_with(|_| onyx_test_support::Answer::status(400, "{}"));
    let job = edit(json!({"every": "1m", "prompt": "Try."}));
    world.agent.jobs.create(&approver(), &id("bad"), job).await.unwrap();
    for _ in 0..6 {
        pass(&world, &clock, 60).await;
    }
    let failed = SlotState::Failed;
    assert_eq!(states(&world, "bad").await, [failed, failed, failed]);
    let job = world.agent.jobs.get(&ana(), &id("bad")).await.unwrap();
    let JobState::Paused(why) = &job.state else { panic!("{job:?}") };
    assert!(why.starts_with("It failed 3 times in a row."), "{why}");
    let troubles = world.agent.jobs.troubles(&ana()).await.unwrap();
    assert_eq!(troubles[&id("bad")], 3);
    world.agent.jobs.mark_seen(&ana(), &id("bad")).await.unwrap();
    assert!(world.agent.jobs.troubles(&ana()).await.unwrap().is_empty());
    world.model.respond_with(|_| "Well again.".into());
    world.agent.jobs.resume(&ana(), &id("bad")).await.unwrap();
    pass(&world, &clock, 60).await;
    assert_eq!(states(&world, "bad").await[0], SlotState::Done);
}

#[tokio::test]
async fn what_cannot_be_is_told_with_what_could() {
    let (world, _clock) = World::by_hand(Vec::<&str>::new()).await;
    for (fields, message, hint) in [
        (
            json!({"cron": "61 8 * * *"}),
            "cron: \"61 8 * * *\" is no cron expression",
            "every weekday at 08:00",
        ),
        (
            json!({"cron": "0 0 30 2 *"}),
            "cron: \"0 0 30 2 *\" never occurs",
            "every weekday at 08:00",
        ),
        (
            json!({"at": "2020-05-01T09:00"}),
            "at: 2020-05-01T09:00 has passed",
            "`at: 2026-01-01T09:00` is next",
        ),
        (
            json!({"at": "tomorrow"}),
            "at: \"tomorrow\" is not a date with a time",
            "2030-12-01T09:00",
        ),
        (json!({"every": "often"}), "every: \"often\" is not a duration", "30m, 2h, 1d or 2w"),
        (json!({"every": "1s"}), "every: two times must be at least ten seconds apart", ""),
        (json!({}), "cron: set when it runs", "`every: 2h`"),
        (
            json!({"every": "1h", "timezone": "Berlin"}),
            "timezone: there is no time zone \"Berlin\"; did you mean Europe/Berlin?",
            "",
        ),
        (
            json!({"every": "1h", "deliver": {"peer": "telegram:1"}}),
            "deliver: \"telegram:1\" names no peer: network, account and peer",
            "telegram/main/123",
        ),
        (
            json!({"every": "1h", "deliver": {"email": "me@example.org"}}),
            "deliver: email: the config names no mail server",
            "me@example.org",
        ),
        (
            json!({"every": "1h", "deliver": "pigeon"}),
            "deliver: \"pigeon\" is not a way to deliver",
            "`session`",
        ),
        (json!({"every": "1h", "agent": "nobody"}), "agent: there is no agent nobody", ""),
        (
            json!({"every": "1h", "overlap": "maybe"}),
            "overlap: \"maybe\" is not one of skip, queue, replace",
            "",
        ),
        (json!({"every": "1h", "colour": "red"}), "colour: a job has no such field", ""),
    ] {
        let mut fields = fields;
        fields["prompt"] = "x".into();
        let refused = world.agent.jobs.create(&approver(), &id("odd"), edit(fields)).await;
        let fault = refused.unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidRequest);
        assert!(fault.message.starts_with(message), "{fault:?}");
        assert!(fault.hint().contains(hint), "{fault:?}");
    }
    assert_eq!(world.read("people/ana/vault/agent/jobs/odd.md"), None);
}

#[tokio::test]
async fn a_broken_file_is_listed_with_its_error_and_hides_no_other() {
    let (world, _clock) = World::by_hand(Vec::<&str>::new()).await;
    let folder = "people/ana/vault/agent/jobs";
    world.write(&format!("{folder}/a-broken.md"), "---\ncron: [\n---\nx");
    world.write(&format!("{folder}/b-wrong.md"), "---\ncron: nonsense\n---\nx");
    world.write(&format!("{folder}/c-good.md"), "---\nevery: 1h\nodd: 1\n---\nx");
    world.write(&format!("{folder}/Not A Name.md"), "---\nevery: 1h\n---\nx");
    let jobs = world.agent.jobs.list(&ana()).await.unwrap();
    let told: Vec<(String, bool)> =
        jobs.iter().map(|job| (job.id.to_string(), job.state == JobState::Broken)).collect();
    let mut told = told;
    told.sort();
    let expected = [("a-broken", true), ("b-wrong", true), ("c-good", false), ("not-a-name", true)];
    assert_eq!(told, expected.map(|(id, broken)| (id.to_owned(), broken)));
    let good = jobs.iter().find(|job| job.id == id("c-good")).unwrap();
    assert_eq!(good.warnings.len(), 1, "{:?}", good.warnings);
}

#[tokio::test]
async fn a_day_is_the_persons_own_for_prompts_logs_and_stamps() {
    let (world, clock) = World::by_hand(["Noted."]).await;
    let auckland = onyx_types::Zone::named("Pacific/Auckland").unwrap();
    let patch = onyx_agent::PreferencesPatch {
        timezone: Some(Some(auckland)),
        ..onyx_agent::PreferencesPatch::default()
    };
    world.agent.preferences.change(&ana(), patch).await.unwrap();
    clock.jump_wall_to("2026-03-01T22:00:00Z".parse().unwrap());
    let day = "people/ana/memory/main/daily/2026-03-02.md";
    world.write(day, "- 08:00 the cat was fed\n");
    assert_eq!(world.agent.today(&ana()), "2026-03-02");
    world.say(None, "What day is it?").await;
    let asked = world.model.last_request().body.to_string();
    assert!(asked.contains("the cat was fed"), "{asked}");
    assert!(asked.contains("[2026-03-02T11:00+13:00] What day is it?"), "{asked}");
    // A job of the person uses the person's time zone.
    let job = edit(json!({"cron": "0 12 * * *", "prompt": "Noon of {{date}} {{time}}."}));
    let made = world.agent.jobs.create(&approver(), &id("noon"), job).await.unwrap();
    assert_eq!(made.next[0].to_string(), "2026-03-01T23:00:00.000Z");
}
