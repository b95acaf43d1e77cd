//! What a process, a client or a full disk leaves behind, one case at a time. The simulation found
//! each of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::stream::{BoxStream, StreamExt as _};
use onyx_agent::{
    AgentsSettings, ManagerOptions, ModelChoice, Models, Payer, Roster, RunInput, RunManager,
    StopTarget,
};
use onyx_storage::{BeginRun, Store, StoreError};
use onyx_test_support::{LeasePlace, MemoryDisk, Moment, Op, Passing, Turnstile, wait_for};
use onyx_tools::{Masker, Services, Toolbox};
use onyx_types::{
    Cancel, Clock, ErrorCode, Event, Fault, FinishReason, Limits, Mint, Model, ModelEvent,
    ModelRequest, Role, RunStatus, SessionKey, SessionOrigin, SystemClock, TextStatus,
    TokenCounter, ToolUseId, Turn, TurnBody,
};
use serde_json::json;

use crate::step::ByRule;
use crate::world::{all, ana, error_of, kinds, request};

/// What the store does with one kind of operation from now on.
#[derive(Clone, Copy)]
enum Answer {
    Waits,
    IsFull,
    LosesSync,
}

#[derive(Clone, Default)]
struct Switch {
    fault: Arc<Mutex<Option<(Op, Answer)>>>,
    refusals: Arc<AtomicUsize>,
}

impl Switch {
    fn set(&self, fault: Option<(Op, Answer)>) {
        *self.fault.lock().unwrap() = fault;
    }

    fn refusals(&self) -> usize {
        self.refusals.load(Ordering::Relaxed)
    }
}

impl Turnstile for Switch {
    fn pass(&self, op: Op, moment: Moment) -> Option<Passing<'_>> {
        let (_, answer) = (*self.fault.lock().unwrap()).filter(|(on, _)| *on == op)?;
        if moment == Moment::After {
            return None;
        }
        self.refusals.fetch_add(1, Ordering::Relaxed);
        Some(match answer {
            Answer::Waits => Box::pin(std::future::pending()),
            Answer::IsFull => Box::pin(async { Err(StoreError::Full) }),
            Answer::LosesSync => Box::pin(async { Err(StoreError::ReadOnly("sync".into())) }),
        })
    }
}

/// Answers from a list and remembers what it was asked. An answer without an end hangs.
#[derive(Clone, Default)]
struct Listed {
    answers: Arc<Mutex<Vec<Vec<ModelEvent>>>>,
    asked: Arc<Mutex<Vec<ModelRequest>>>,
}

impl Models for Listed {
    fn resolve(&self, _: &ModelChoice, _: Payer<'_>) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::new(self.clone()))
    }

    fn token_counter(&self, _: &str) -> Arc<dyn TokenCounter> {
        Arc::new(ByRule)
    }
}

impl Model for Listed {
    fn id(&self) -> &str {
        "mine/listed"
    }

    fn context_window(&self) -> Option<u32> {
        None
    }

    fn stream(&self, request: ModelRequest, _: Cancel) -> BoxStream<'static, ModelEvent> {
        self.asked.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().remove(0);
        futures::stream::iter(answer).chain(futures::stream::pending()).boxed()
    }
}

fn says(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.to_owned())
}

fn answer(text: &str) -> Vec<ModelEvent> {
    vec![says(text), ModelEvent::Finish(FinishReason::Stop)]
}

/// A call of a tool that nobody has, so that only its bookkeeping matters.
fn call(index: u32, id: &str) -> ModelEvent {
    ModelEvent::ToolCallEnd {
        index,
        id: ToolUseId(id.to_owned()),
        name: "absent".to_owned(),
        arguments: json!({ "index": index }),
        provider_data: None,
    }
}

struct Desk {
    disk: MemoryDisk,
    store: Store,
    manager: RunManager,
    model: Listed,
    switch: Switch,
}

impl Desk {
    fn new(answers: impl IntoIterator<Item = Vec<ModelEvent>>) -> Self {
        Self::at(MemoryDisk::new(), answers)
    }

    fn at(disk: MemoryDisk, answers: impl IntoIterator<Item = Vec<ModelEvent>>) -> Self {
        let (switch, model) = (Switch::default(), Listed::default());
        *model.answers.lock().unwrap() = answers.into_iter().collect();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let store = disk.open(Arc::clone(&clock), Arc::new(switch.clone()), LeasePlace::Process);
        let services = Services {
            ledger: Arc::clone(&store.ledger),
            drafts: Arc::clone(&store.drafts),
            artifacts: store.files.objects(&onyx_storage::Area::Shared).unwrap(),
            masker: Masker::default(),
        };
        let toolbox = Arc::new(Toolbox::new(Vec::new(), services).unwrap());
        let settings = AgentsSettings::default();
        let roster = Roster::resolve(&settings, &Limits::default(), &toolbox).unwrap().0;
        let options = ManagerOptions { max_runs: 4, seed: 7, fence_secret: [9; 32] };
        let models = Arc::new(model.clone());
        let manager = RunManager::new(store.clone(), toolbox, models, roster, clock, options);
        Self { disk, store, manager, model, switch }
    }

    /// A new process on the same disk.
    fn reopen(self, answers: impl IntoIterator<Item = Vec<ModelEvent>>) -> Self {
        let disk = self.disk.clone();
        drop(self);
        disk.tear(u64::MAX);
        disk.settle();
        Self::at(disk, answers)
    }

    async fn say(
        &self,
        session: Option<onyx_types::SessionId>,
        text: &str,
    ) -> (SessionKey, Vec<Event>) {
        let handle = self.manager.start(request(session, text)).await.unwrap();
        let key = key(handle.session_id);
        (key, all(handle).await)
    }

    async fn log(&self, key: &SessionKey) -> Vec<Turn> {
        self.store.turns.tail(key, None, 100).await.unwrap().turns
    }
}

fn key(session: onyx_types::SessionId) -> SessionKey {
    SessionKey { person: ana(), agent: "main".parse().unwrap(), session }
}

fn ends(log: &[Turn]) -> Vec<RunStatus> {
    let ends = log.iter().filter_map(|turn| match &turn.body {
        TurnBody::RunEnd(end) => Some(end.status),
        _ => None,
    });
    ends.collect()
}

#[tokio::test]
async fn recovery_leaves_runs_at_work_alone_and_closes_the_others() {
    let desk = Desk::new([vec![says("working")], answer("hello")]);
    let mut at_work = desk.manager.start(request(None, "one")).await.unwrap();
    at_work.events.next().await.unwrap();
    let (left, _) = desk.say(None, "two").await;
    let mut mint = Mint::new(3);
    let now = onyx_types::Timestamp::from_millis(1_767_225_600_000);
    // Two at once: a process that had lost the session began the second.
    for _ in 0..2 {
        let begin = BeginRun {
            run: mint.run(now),
            key: left.clone(),
            input_turn: mint.turn(now),
            started_at: now,
            origin: SessionOrigin::Chat,
        };
        desk.store.ledger.begin_run(begin).await.unwrap();
    }
    assert_eq!(desk.manager.recover().await.unwrap(), 2);
    let open = desk.store.ledger.active_runs().await.unwrap();
    assert_eq!(open.iter().map(|row| row.run).collect::<Vec<_>>(), [at_work.run_id]);
}

#[tokio::test]
async fn a_client_that_hangs_up_while_its_run_begins_leaves_the_session_free() {
    let desk = Desk::new([answer("one"), answer("two")]);
    let (key, _) = desk.say(None, "first").await;
    desk.switch.set(Some((Op::BeginRun, Answer::Waits)));
    let mut start = Box::pin(desk.manager.start(request(Some(key.session), "gone")));
    assert!((&mut start).now_or_never().is_none(), "it waits for the books");
    drop(start);
    desk.switch.set(None);
    tokio::task::yield_now().await;
    let (_, told) = desk.say(Some(key.session), "second").await;
    assert!(matches!(told.last(), Some(Event::Done { status: RunStatus::Done, .. })));
}

#[tokio::test]
async fn a_full_disk_keeps_what_was_noted_of_an_answer() {
    let desk = Desk::new([vec![says("half an answer")], answer("all of it")]);
    let handle = desk.manager.start(request(None, "tell me")).await.unwrap();
    let key = key(handle.session_id);
    let noted = async || desk.store.turns.live(&key).await.unwrap().pop();
    wait_for("the text to be noted", Duration::from_secs(20), noted).await;
    desk.switch.set(Some((Op::Append, Answer::IsFull)));
    desk.manager.stop(&ana(), StopTarget::Session(key.session)).await.unwrap();
    assert_eq!(error_of(&all(handle).await), Some(ErrorCode::StorageFull));
    desk.switch.set(None);
    desk.say(Some(key.session), "again").await;
    let kept = desk.log(&key).await.into_iter().find_map(|turn| match turn.body {
        TurnBody::AssistantText(text) => Some((text.content, text.status)),
        _ => None,
    });
    assert_eq!(kept, Some(("half an answer".to_owned(), TextStatus::Interrupted)));
}

#[tokio::test]
async fn a_run_whose_beginning_may_be_on_disk_is_closed_by_the_next_process_only() {
    let desk = Desk::new([answer("one")]);
    let (key, _) = desk.say(None, "first").await;
    desk.switch.set(Some((Op::Append, Answer::LosesSync)));
    let (_, told) = desk.say(Some(key.session), "second").await;
    assert_eq!(error_of(&told), Some(ErrorCode::StorageFailed));
    desk.switch.set(None);
    assert_eq!(desk.manager.recover().await.unwrap(), 0, "nobody knows what the log holds");
    let desk = desk.reopen([answer("three")]);
    assert_eq!(desk.manager.recover().await.unwrap(), 1);
    let log = desk.log(&key).await;
    let starts = kinds(&log).iter().filter(|kind| **kind == "run_start").count();
    assert_eq!(ends(&log).len(), starts, "{:?}", kinds(&log));
}

#[tokio::test]
async fn calls_that_share_an_id_are_told_apart() {
    let desk = Desk::new([
        vec![
            call(0, "call_0"),
            call(1, "call_0"),
            call(2, ""),
            ModelEvent::Finish(FinishReason::ToolCalls),
        ],
        vec![call(3, "call_0"), ModelEvent::Finish(FinishReason::ToolCalls)],
        answer("done"),
    ]);
    let (key, _) = desk.say(None, "call").await;
    let log = desk.log(&key).await;
    let calls: Vec<_> = log
        .iter()
        .filter_map(|turn| match &turn.body {
            TurnBody::ToolCall(call) => Some(call.tool_use_id.0.clone()),
            _ => None,
        })
        .collect();
    let results: Vec<_> = log
        .iter()
        .filter_map(|turn| match &turn.body {
            TurnBody::ToolResult(result) => Some(result.tool_use_id.0.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(calls, results);
    assert_eq!((calls.len(), calls[0].as_str()), (4, "call_0"));
    let different: std::collections::BTreeSet<_> = calls.iter().collect();
    assert_eq!(different.len(), 4, "{calls:?}");
    assert!(!calls.contains(&String::new()));
}

#[tokio::test]
async fn an_answer_that_was_broken_off_is_asked_for_again_in_the_persons_words() {
    let desk = Desk::new([vec![says("Well")], answer("Well, yes")]);
    let mut handle = desk.manager.start(request(None, "is it?")).await.unwrap();
    let key = key(handle.session_id);
    while !matches!(handle.events.next().await.unwrap().event, Event::TextDelta { .. }) {}
    desk.manager.stop(&ana(), StopTarget::Session(key.session)).await.unwrap();
    let log = desk.log(&key).await;
    let question = log.iter().find(|turn| matches!(turn.body, TurnBody::User(_))).unwrap().id;
    let mut again = request(Some(key.session), "");
    again.input = RunInput::Stored(question);
    all(desk.manager.start(again).await.unwrap()).await;
    let asked = desk.model.asked.lock().unwrap();
    let roles: Vec<Role> = asked[1].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
}

#[tokio::test]
async fn a_note_that_could_not_be_written_leaves_no_hole_in_the_next() {
    let desk = Desk::new([vec![says("one "), says("two ")]]);
    desk.switch.set(Some((Op::NoteLive, Answer::IsFull)));
    let handle = desk.manager.start(request(None, "count")).await.unwrap();
    let key = key(handle.session_id);
    let refused = async || desk.switch.refusals().checked_sub(1);
    wait_for("a note to be refused", Duration::from_secs(20), refused).await;
    desk.switch.set(None);
    let noted = async || desk.store.turns.live(&key).await.unwrap().pop();
    let noted = wait_for("the text to be noted", Duration::from_secs(20), noted).await;
    assert_eq!(noted.text, "one two ");
}
