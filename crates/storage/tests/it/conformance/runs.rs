use onyx_storage::{
    BeginIn, BeginRun, DaySpending, ModelUse, RunOutcome, RunRow, SessionFilter, SessionMarks,
    SessionMeta, SessionStatus, SpentAmount, StoreError, TitleSource, UsageRow,
};
use onyx_types::{
    AgentId, LaneOrder, ModelId, RunStatus, SessionKey, SessionOrigin, Timestamp, TurnId, Usage,
};

use super::Backend;
use crate::support::Maker;

pub(super) fn begin(make: &mut Maker, key: &SessionKey, input_turn: TurnId) -> BeginRun {
    BeginRun {
        run: make.run(),
        key: key.clone(),
        input_turn,
        started_at: make.tick(),
        session: BeginIn::New(SessionOrigin::Job),
    }
}

fn used(agent: &AgentId, usage: Usage) -> ModelUse {
    ModelUse { agent: agent.clone(), model: ModelId::new("mine/m"), usage }
}

pub(super) fn outcome(make: &mut Maker, begin: &BeginRun, status: RunStatus) -> RunOutcome {
    let usage = Usage { input: 100, output: 20, cost: Some(0.25), ..Usage::default() };
    RunOutcome {
        run: begin.run,
        status,
        ended_at: make.tick(),
        usage,
        used: vec![used(&begin.key.agent, usage)],
        messages_added: 2,
        preview: Some("the answer".into()),
        title: None,
    }
}

fn row_of(begin: &BeginRun, status: Option<RunStatus>) -> RunRow {
    RunRow {
        run: begin.run,
        key: begin.key.clone(),
        input_turn: begin.input_turn,
        started_at: begin.started_at,
        status,
    }
}

pub(crate) async fn beginning_makes_the_session(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let input = make.user("hi").id;
    let begun = begin(&mut make, &key, input);
    on.ledger.begin_run(begun.clone()).await.unwrap();
    let expected = SessionMeta {
        session_id: key.session,
        agent: key.agent.clone(),
        origin: SessionOrigin::Job,
        agents: vec![key.agent.clone()],
        mode: LaneOrder::Sequential,
        title: None,
        titled_by: TitleSource::Words,
        status: SessionStatus::Active,
        created_at: begun.started_at,
        updated_at: begun.started_at,
        message_count: 0,
        token_count: 0,
        preview: String::new(),
        root: key.session,
        fork_turn: None,
        last_run: Some(begun.run),
        last_run_status: None,
        marks: SessionMarks::default(),
    };
    assert_eq!(on.ledger.session(&key.person, key.session).await.unwrap(), Some(expected));
    let row = on.ledger.run(&key.person, begun.run).await.unwrap();
    assert_eq!(row, Some(row_of(&begun, None)));
}

pub(crate) async fn a_run_in_a_session_that_is_gone_does_not_bring_it_back(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let input = make.user("hi").id;
    let later = BeginRun { session: BeginIn::Existing, ..begin(&mut make, &key, input) };
    let begun = on.ledger.begin_run(later.clone()).await;
    assert!(matches!(begun, Err(StoreError::NotFound)), "{begun:?}");
    assert_eq!(on.ledger.session(&key.person, key.session).await.unwrap(), None);
    assert_eq!(on.ledger.run(&key.person, later.run).await.unwrap(), None);

    let first = make.user("first").id;
    on.ledger.begin_run(begin(&mut make, &key, first)).await.unwrap();
    on.ledger.begin_run(later.clone()).await.unwrap();
    let meta = on.ledger.session(&key.person, key.session).await.unwrap().unwrap();
    assert_eq!(meta.last_run, Some(later.run));
}

pub(crate) async fn the_same_input_is_not_run_twice_at_once(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let input = make.user("hi").id;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (ledger, begun) = (on.ledger.clone(), begin(&mut make, &key, input));
        tasks.spawn(async move { ledger.begin_run(begun).await });
    }
    let results = tasks.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    let refused = results.iter().filter(|result| matches!(result, Err(StoreError::AlreadyRun)));
    assert_eq!(refused.count(), 9);
    // The same turn id in another session is another input.
    let other = make.key();
    on.ledger.begin_run(begin(&mut make, &other, input)).await.unwrap();
}

pub(crate) async fn the_same_input_runs_again_only_after_a_run_went_wrong(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let statuses = [
        RunStatus::Done,
        RunStatus::Cancelled,
        RunStatus::Error,
        RunStatus::Interrupted,
        RunStatus::AwaitingClient,
    ];
    for status in statuses {
        let input = make.user("hi").id;
        let first = begin(&mut make, &key, input);
        on.ledger.begin_run(first.clone()).await.unwrap();
        on.ledger.end_run(outcome(&mut make, &first, status)).await.unwrap();
        let second = on.ledger.begin_run(begin(&mut make, &key, input)).await;
        if status.may_run_again() {
            second.unwrap();
        } else {
            assert!(matches!(second, Err(StoreError::AlreadyRun)), "{status:?}");
        }
    }
}

pub(crate) async fn ending_folds_into_the_session_once(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let input = make.user("hi").id;
    let begun = begin(&mut make, &key, input);
    on.ledger.begin_run(begun.clone()).await.unwrap();
    let ended = outcome(&mut make, &begun, RunStatus::Done);
    on.ledger.end_run(ended.clone()).await.unwrap();
    let meta = on.ledger.session(&key.person, key.session).await.unwrap().unwrap();
    assert_eq!((meta.message_count, meta.token_count), (2, 120));
    assert_eq!((meta.preview.as_str(), meta.updated_at), ("the answer", ended.ended_at));
    assert_eq!(meta.last_run_status, Some(RunStatus::Done));

    let again = RunOutcome { status: RunStatus::Error, ended_at: make.tick(), ..ended.clone() };
    on.ledger.end_run(again).await.unwrap();
    assert_eq!(on.ledger.session(&key.person, key.session).await.unwrap(), Some(meta));
    let row = on.ledger.run(&key.person, begun.run).await.unwrap();
    assert_eq!(row, Some(row_of(&begun, Some(RunStatus::Done))));
    let unknown = RunOutcome { run: make.run(), ..ended };
    assert!(matches!(on.ledger.end_run(unknown).await, Err(StoreError::NotFound)));
}

pub(crate) async fn a_title_is_set_only_once(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    for (title, expected) in
        [(None, None), (Some("first"), Some("first")), (Some("second"), Some("first"))]
    {
        let input = make.user("hi").id;
        let begun = begin(&mut make, &key, input);
        on.ledger.begin_run(begun.clone()).await.unwrap();
        let ended = outcome(&mut make, &begun, RunStatus::Done);
        let ended = RunOutcome { title: title.map(str::to_owned), preview: None, ..ended };
        on.ledger.end_run(ended).await.unwrap();
        let meta = on.ledger.session(&key.person, key.session).await.unwrap().unwrap();
        assert_eq!((meta.title.as_deref(), meta.preview.as_str()), (expected, ""));
    }
}

pub(crate) async fn spending_adds_up_by_person_and_day(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let foreign = SessionKey { person: "bert".parse().unwrap(), ..make.key() };
    let day = |text: &str| text.parse::<Timestamp>().unwrap();
    let ends = [
        (&key, day("2026-03-01T23:59:59.999Z"), Some(0.5)),
        (&key, day("2026-03-01T00:00:00Z"), Some(0.25)),
        (&key, day("2026-03-01T10:00:00Z"), None),
        (&key, day("2026-03-02T00:00:00Z"), Some(4.0)),
        (&foreign, day("2026-03-01T10:00:00Z"), Some(8.0)),
    ];
    for (key, ended_at, cost) in ends {
        // Sums that were asked for before must not be repeated after new spending.
        on.ledger.spent(&key.person, &ended_at.utc_date()).await.unwrap();
        on.ledger.spent_by_agent(&key.agent, &ended_at.utc_date()).await.unwrap();
        let input = make.user("hi").id;
        let begun = begin(&mut make, key, input);
        on.ledger.begin_run(begun.clone()).await.unwrap();
        let ended = outcome(&mut make, &begun, RunStatus::Error);
        let usage = Usage { cost, ..ended.usage };
        let used = vec![used(&key.agent, usage)];
        on.ledger.end_run(RunOutcome { ended_at, usage, used, ..ended }).await.unwrap();
    }
    let spent = async |key: &SessionKey, day| on.ledger.spent(&key.person, day).await.unwrap();
    assert_eq!(spent(&key, "2026-03-01").await, 0.75);
    assert_eq!(spent(&key, "2026-03-02").await, 4.0);
    assert_eq!(spent(&key, "2026-03-03").await, 0.0);
    assert_eq!(spent(&foreign, "2026-03-01").await, 8.0);
    let by_agent = async |agent: &str, day| {
        on.ledger.spent_by_agent(&agent.parse().unwrap(), day).await.unwrap()
    };
    assert_eq!(by_agent(key.agent.as_str(), "2026-03-01").await, 8.75);
    assert_eq!(by_agent("nobody", "2026-03-01").await, 0.0);
    let today = on.ledger.spending("2026-03-02").await.unwrap();
    let four = SpentAmount { cost: 4.0, tokens: 120 };
    let expected =
        DaySpending { people: vec![(key.person.clone(), four)], agents: vec![(key.agent, four)] };
    assert_eq!(today, expected);
}

pub(crate) async fn each_agent_of_a_run_has_its_own_part_of_the_spending(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let input = make.user("hi").id;
    let begun = begin(&mut make, &key, input);
    on.ledger.begin_run(begun.clone()).await.unwrap();
    let ended = outcome(&mut make, &begun, RunStatus::Done);
    let part = |cost| Usage { output: 10, cost: Some(cost), ..Usage::default() };
    let (main, other) = ("main".parse().unwrap(), "other".parse().unwrap());
    let cheap = ModelUse { model: ModelId::new("mine/cheap"), ..used(&other, part(0.05)) };
    let parts = vec![used(&main, part(0.1)), used(&other, part(0.1)), cheap];
    let day = ended.ended_at.utc_date();
    let usage = async |last: &str| on.ledger.usage("2000-01-01", last).await.unwrap();
    on.ledger.end_run(RunOutcome { used: parts.clone(), ..ended.clone() }).await.unwrap();
    // Ending the run a second time changes nothing.
    on.ledger.end_run(ended).await.unwrap();
    let spending = on.ledger.spending(&day).await.unwrap();
    let spent = |cost, tokens| SpentAmount { cost, tokens };
    assert_eq!(spending.agents, [(main, spent(0.1, 10)), (other, spent(0.05 + 0.1, 20))]);
    assert_eq!(spending.people[0].0, key.person);
    assert_eq!(spending.people[0].1.tokens, 30);
    let [first, second, third] = &parts[..] else { panic!() };
    let row = |used: &ModelUse| UsageRow {
        day: day.clone(),
        person: key.person.clone(),
        used: used.clone(),
    };
    assert_eq!(usage(&day).await, [row(first), row(third), row(second)]);
    assert_eq!(usage("2000-01-02").await, []);
}

pub(crate) async fn runs_that_never_ended_are_named(on: Backend) {
    let mut make = Maker::new();
    let mut begun = Vec::new();
    for _ in 0..3 {
        let key = make.key();
        let input = make.user("hi").id;
        begun.push(begin(&mut make, &key, input));
        on.ledger.begin_run(begun.last().unwrap().clone()).await.unwrap();
    }
    on.ledger.end_run(outcome(&mut make, &begun[1], RunStatus::Done)).await.unwrap();
    let active = on.ledger.active_runs().await.unwrap();
    assert_eq!(active, [row_of(&begun[0], None), row_of(&begun[2], None)]);
    let open = on.ledger.open_runs(&begun[2].key).await.unwrap();
    assert_eq!(open, [row_of(&begun[2], None)]);
    assert_eq!(on.ledger.open_runs(&begun[1].key).await.unwrap(), []);
    let foreign = SessionKey { person: "bert".parse().unwrap(), ..begun[2].key.clone() };
    assert_eq!(on.ledger.open_runs(&foreign).await.unwrap(), []);
}

pub(crate) async fn a_run_is_seen_by_its_person_only(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let input = make.user("hi").id;
    let begun = begin(&mut make, &key, input);
    on.ledger.begin_run(begun.clone()).await.unwrap();
    assert_eq!(on.ledger.run(&"bert".parse().unwrap(), begun.run).await.unwrap(), None);
}

pub(crate) async fn a_session_keeps_its_agent(on: Backend) {
    let mut make = Maker::new();
    let key = make.key();
    let (first, second) = (make.user("hi").id, make.user("ho").id);
    on.ledger.begin_run(begin(&mut make, &key, first)).await.unwrap();
    let other = SessionKey { agent: "other".parse().unwrap(), ..key.clone() };
    let refused = on.ledger.begin_run(begin(&mut make, &other, second)).await;
    assert!(matches!(refused, Err(StoreError::Conflict)));
    // Nothing of the refused run is left.
    assert_eq!(on.ledger.active_runs().await.unwrap().len(), 1);
    on.ledger.begin_run(begin(&mut make, &key, second)).await.unwrap();
}

/// Many writes at once share commits, and those that fail make no other fail.
pub(crate) async fn one_failing_write_of_many_fails_alone(on: Backend) {
    let mut make = Maker::new();
    let taken = make.key();
    let input = make.user("hi").id;
    on.ledger.begin_run(begin(&mut make, &taken, input)).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..300 {
        let key = if n % 3 == 0 { taken.clone() } else { make.key() };
        let (ledger, begun) = (on.ledger.clone(), begin(&mut make, &key, input));
        tasks.spawn(async move { (n, ledger.begin_run(begun).await) });
    }
    for (n, result) in tasks.join_all().await {
        if n % 3 == 0 {
            assert!(matches!(result, Err(StoreError::AlreadyRun)));
        } else {
            result.unwrap();
        }
    }
    assert_eq!(on.ledger.active_runs().await.unwrap().len(), 201);
    let all = SessionFilter { limit: 1000, ..SessionFilter::default() };
    assert_eq!(on.ledger.sessions(&taken.person, &all).await.unwrap().len(), 201);
}

pub(crate) async fn a_day_is_the_persons_own(on: Backend) {
    use onyx_types::{Clock as _, Zone};
    let mut make = Maker::new();
    let key = make.key();
    let auckland = Zone::named("Pacific/Auckland").unwrap();
    on.clock.zones().unwrap().choose(&key.person, Some(auckland));
    let input = make.user("hi").id;
    let begun = begin(&mut make, &key, input);
    on.ledger.begin_run(begun.clone()).await.unwrap();
    let ended = outcome(&mut make, &begun, RunStatus::Done);
    let usage = Usage { cost: Some(0.5), ..ended.usage };
    let used = vec![used(&key.agent, usage)];
    // In the person's time zone, this is eleven in the morning of the next day.
    let ended_at = "2026-03-01T22:00:00Z".parse().unwrap();
    on.ledger.end_run(RunOutcome { ended_at, usage, used, ..ended }).await.unwrap();
    on.ledger.book(&key, &ModelId::new("mine/m"), usage, ended_at).await.unwrap();
    assert_eq!(on.ledger.spent(&key.person, "2026-03-01").await.unwrap(), 0.0);
    assert_eq!(on.ledger.spent(&key.person, "2026-03-02").await.unwrap(), 1.0);
}
