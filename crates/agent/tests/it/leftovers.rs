//! What a crashed process, a disconnected client or a full disk leaves behind, one case at a time.
//! The simulation found each of these cases.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::stream::{BoxStream, StreamExt as _};
use onyx_agent::{
    AfterFailure, AgentOptions, AgentServices, AgentsSettings, KeptMessage, MessageAnswer,
    ModelChoice, Models, NewMessage, Payer, Roster, RunInput, StopTarget,
};
use onyx_storage::{BeginIn, BeginRun, Delivery, Store, StoreError};
use onyx_test_support::{LeasePlace, MemoryDisk, Moment, Op, Turnstile, TurnstileFuture, wait_for};
use onyx_tools::{Masker, Services, Toolbox};
use onyx_types::{
    Cancel, Clock, ErrorCode, Event, Fault, FinishReason, IdGenerator, Limits, Model, ModelEvent,
    ModelRequest, Role, RunStatus, SessionKey, SessionOrigin, SystemClock, TextStatus,
    TokenCounter, ToolUseId, Turn, TurnBody, TurnId,
};
use serde_json::json;
use tokio::sync::Notify;

use crate::step::ByRule;
use crate::world::{all, ana, error_of, kinds, request};

/// How the store answers one kind of operation from now on.
#[derive(Clone, Copy)]
pub(crate) enum Answer {
    /// The operation waits until the switch is set again.
    Waits,
    IsFull,
    IsAway,
    LosesSync,
}

#[derive(Clone, Default)]
pub(crate) struct Switch {
    fault: Arc<Mutex<Option<(Op, Answer)>>>,
    refusals: Arc<AtomicUsize>,
    changed: Arc<Notify>,
}

impl Switch {
    pub(crate) fn set(&self, fault: Option<(Op, Answer)>) {
        *self.fault.lock().unwrap() = fault;
        self.changed.notify_waiters();
    }

    pub(crate) fn refusals(&self) -> usize {
        self.refusals.load(Ordering::Relaxed)
    }
}

impl Turnstile for Switch {
    fn pass(&self, op: Op, moment: Moment) -> Option<TurnstileFuture<'_>> {
        let (_, answer) = (*self.fault.lock().unwrap()).filter(|(on, _)| *on == op)?;
        if moment == Moment::After {
            return None;
        }
        self.refusals.fetch_add(1, Ordering::Relaxed);
        Some(match answer {
            Answer::Waits => Box::pin(self.changed.notified().map(Ok)),
            Answer::IsFull => Box::pin(async { Err(StoreError::Full) }),
            Answer::IsAway => Box::pin(async { Err(StoreError::Unavailable("away".into())) }),
            Answer::LosesSync => Box::pin(async { Err(StoreError::ReadOnly("sync".into())) }),
        })
    }
}

/// A model that gives the listed answers and remembers its requests. An answer without an end never
/// finishes.
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

/// A call of a tool that no agent has, because these tests only check how calls are recorded.
fn call(index: u32, id: &str) -> ModelEvent {
    ModelEvent::ToolCallEnd {
        index,
        id: ToolUseId(id.to_owned()),
        name: "absent".to_owned(),
        arguments: json!({ "index": index }),
        provider_data: None,
    }
}

pub(crate) struct Desk {
    disk: MemoryDisk,
    pub(crate) store: Store,
    pub(crate) agent: AgentServices,
    model: Listed,
    pub(crate) switch: Switch,
}

impl Desk {
    pub(crate) fn new(answers: impl IntoIterator<Item = Vec<ModelEvent>>) -> Self {
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
            artifacts: onyx_tools::Artifacts::new(
                store.files.objects(&onyx_storage::Area::Shared).unwrap(),
            ),
            masker: Masker::default(),
        };
        let toolbox = Arc::new(Toolbox::new(Vec::new(), services).unwrap());
        let settings = AgentsSettings::default();
        let roster = Roster::resolve(&settings, &Limits::default(), &toolbox).unwrap().0;
        let options = AgentOptions { max_runs: 4, seed: 7, fence_secret: [9; 32] };
        let models = Arc::new(model.clone());
        let agent = AgentServices::new(store.clone(), toolbox, models, roster, clock, options);
        Self { disk, store, agent, model, switch }
    }

    /// Starts a new process on the same disk.
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
        let handle = self.agent.runs.start(request(session, text)).await.unwrap();
        let key = key(handle.session_id);
        (key, all(handle).await)
    }

    /// Leaves a run that could not write its end: it is open in the ledger, and its text is in the
    /// notes.
    async fn leave_noted(&self, session: Option<onyx_types::SessionId>) -> SessionKey {
        let handle = self.agent.runs.start(request(session, "tell me")).await.unwrap();
        let key = key(handle.session_id);
        let noted = async || self.store.turns.live(&key).await.unwrap().pop();
        wait_for("the text to be noted", Duration::from_secs(20), noted).await;
        self.switch.set(Some((Op::Append, Answer::IsFull)));
        self.agent.runs.stop(&ana(), StopTarget::Session(key.session)).await.unwrap();
        assert_eq!(error_of(&all(handle).await), Some(ErrorCode::StorageFull));
        self.switch.set(None);
        key
    }

    /// Drops a caller as soon as its work reaches the operation that the switch holds.
    async fn hang_up<T>(&self, start: impl Future<Output = T>) {
        let mut start = Box::pin(start);
        self.reached(&mut start).await;
        drop(start);
    }

    /// Polls a caller until its work reaches the operation that the switch holds.
    pub(crate) async fn reached<T>(&self, start: &mut (impl Future<Output = T> + Unpin)) {
        let before = self.switch.refusals();
        let reached = async || (self.switch.refusals() > before).then_some(());
        let reached = wait_for("the store to be asked", Duration::from_secs(20), reached);
        tokio::select! {
            _ = start => panic!("it did not wait for the store"),
            () = reached => {}
        }
    }

    async fn begin_in_books(&self, key: &SessionKey, mint: &mut IdGenerator) {
        let now = onyx_types::Timestamp::from_millis(1_767_225_600_000);
        let begin = BeginRun {
            run: mint.run(now),
            key: key.clone(),
            input_turn: mint.turn(now),
            started_at: now,
            session: BeginIn::New(SessionOrigin::Chat),
        };
        self.store.ledger.begin_run(begin).await.unwrap();
    }

    async fn log(&self, key: &SessionKey) -> Vec<Turn> {
        self.store.turns.tail(key, None, 100).await.unwrap().turns
    }
}

pub(crate) fn key(session: onyx_types::SessionId) -> SessionKey {
    SessionKey { person: ana(), agent: "main".parse().unwrap(), session }
}

fn ends(log: &[Turn]) -> Vec<RunStatus> {
    let ends = log.iter().filter_map(|turn| match &turn.body {
        TurnBody::RunEnd(end) => Some(end.status),
        _ => None,
    });
    ends.collect()
}

fn interrupted_texts(log: &[Turn]) -> Vec<&str> {
    let texts = log.iter().filter_map(|turn| match &turn.body {
        TurnBody::AssistantText(text) if text.status == TextStatus::Interrupted => {
            Some(text.content.as_str())
        }
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn recovery_leaves_runs_at_work_alone_and_closes_the_others() {
    let desk = Desk::new([vec![says("working")], answer("hello")]);
    let mut at_work = desk.agent.runs.start(request(None, "one")).await.unwrap();
    at_work.events.next().await.unwrap();
    let (left, _) = desk.say(None, "two").await;
    let mut mint = IdGenerator::new(3);
    // Two runs are open, because a process that had lost the session began the second.
    for _ in 0..2 {
        desk.begin_in_books(&left, &mut mint).await;
    }
    assert_eq!(desk.agent.recover().await.unwrap(), 2);
    let open = desk.store.ledger.active_runs().await.unwrap();
    assert_eq!(open.iter().map(|row| row.run).collect::<Vec<_>>(), [at_work.run_id]);
}

#[tokio::test]
async fn a_client_that_hangs_up_before_its_run_is_in_the_books_leaves_no_trace() {
    let desk = Desk::new([answer("one"), answer("two")]);
    let (key, _) = desk.say(None, "first").await;
    desk.switch.set(Some((Op::Acquire, Answer::Waits)));
    let start = desk.agent.runs.start(request(Some(key.session), "gone"));
    desk.hang_up(start).await;
    desk.switch.set(None);
    let (_, told) = desk.say(Some(key.session), "second").await;
    assert!(matches!(told.last(), Some(Event::Done { status: RunStatus::Done, .. })));
    assert_eq!(ends(&desk.log(&key).await), [RunStatus::Done; 2], "nothing began for the caller");
}

#[tokio::test]
async fn a_client_that_hangs_up_while_its_run_begins_leaves_the_session_free() {
    let desk = Desk::new([answer("one"), vec![says("to nobody")], answer("two")]);
    let (key, _) = desk.say(None, "first").await;
    desk.switch.set(Some((Op::BeginRun, Answer::Waits)));
    let start = desk.agent.runs.start_owned(request(Some(key.session), "gone"));
    desk.hang_up(start).await;
    desk.switch.set(None);
    let stopped = async || ends(&desk.log(&key).await).get(1).copied();
    let stopped = wait_for("the run to be stopped", Duration::from_secs(20), stopped).await;
    assert_eq!(stopped, RunStatus::Cancelled);
    let free = async || (desk.agent.runs.count() == 0).then_some(());
    wait_for("the session to be free", Duration::from_secs(20), free).await;
    let (_, told) = desk.say(Some(key.session), "second").await;
    assert!(matches!(told.last(), Some(Event::Done { status: RunStatus::Done, .. })));
}

#[tokio::test]
async fn a_full_disk_keeps_what_was_noted_of_an_answer() {
    let desk = Desk::new([vec![says("half an answer")], answer("all of it")]);
    let key = desk.leave_noted(None).await;
    desk.say(Some(key.session), "again").await;
    assert_eq!(interrupted_texts(&desk.log(&key).await), ["half an answer"]);
}

#[tokio::test]
async fn a_run_that_wrote_nothing_leaves_the_notes_to_the_one_that_made_them() {
    let desk = Desk::new([vec![says("half an answer")]]);
    let key = desk.leave_noted(None).await;
    // This run is the older one; a process that had lost the session began it.
    desk.begin_in_books(&key, &mut IdGenerator::new(3)).await;
    assert_eq!(desk.agent.recover().await.unwrap(), 2);
    assert_eq!(interrupted_texts(&desk.log(&key).await), ["half an answer"]);
}

#[tokio::test]
async fn recovery_that_comes_late_takes_no_notes_of_a_later_run() {
    let desk = Desk::new([vec![says("one half")], vec![says("other half")]]);
    let key = desk.leave_noted(None).await;
    desk.switch.set(Some((Op::Acquire, Answer::Waits)));
    let mut recovery = Box::pin(desk.agent.recover());
    assert!((&mut recovery).now_or_never().is_none(), "it waits for the lease");
    desk.switch.set(None);
    desk.leave_noted(Some(key.session)).await;
    recovery.await.unwrap();
    desk.agent.recover().await.unwrap();
    let log = desk.log(&key).await;
    assert_eq!(interrupted_texts(&log), ["one half", "other half"]);
    assert_eq!(ends(&log), [RunStatus::Interrupted; 2]);
}

#[tokio::test]
async fn a_message_that_is_deleted_while_its_answer_begins_is_not_there() {
    let desk = Desk::new([answer("hello")]);
    let (key, _) = desk.say(None, "hi").await;
    let log = desk.log(&key).await;
    let question = log.iter().find(|turn| matches!(turn.body, TurnBody::User(_))).unwrap().id;
    let mut again = request(Some(key.session), "");
    again.input = RunInput::Stored(question);
    desk.switch.set(Some((Op::Acquire, Answer::Waits)));
    let mut start = Box::pin(desk.agent.runs.start(again));
    desk.reached(&mut start).await;
    desk.switch.set(None);
    desk.agent.sessions.delete(&ana(), key.session).await.unwrap();
    assert_eq!(start.await.unwrap_err().code, ErrorCode::NotFound);
    let gone = desk.agent.sessions.meta(&ana(), key.session).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound, "nothing began it anew");
    assert!(desk.log(&key).await.is_empty());
}

#[tokio::test]
async fn a_run_that_ended_in_the_log_only_is_booked_as_it_was() {
    let desk = Desk::new([answer("hello")]);
    desk.switch.set(Some((Op::EndRun, Answer::IsFull)));
    let (key, _) = desk.say(None, "a question").await;
    desk.switch.set(None);
    let desk = desk.reopen([]);
    assert_eq!(desk.agent.recover().await.unwrap(), 1);
    let meta = desk.agent.sessions.meta(&ana(), key.session).await.unwrap();
    let row = (meta.title.as_deref(), meta.preview.as_str(), meta.message_count);
    assert_eq!(row, (Some("a question"), "hello", 2));
    assert_eq!(meta.last_run_status, Some(RunStatus::Done));
}

#[tokio::test]
async fn a_new_message_does_not_bring_back_a_session_that_is_deleted_meanwhile() {
    let desk = Desk::new([answer("hello"), answer("never")]);
    let (key, _) = desk.say(None, "hi").await;
    desk.switch.set(Some((Op::Acquire, Answer::Waits)));
    let mut start = Box::pin(desk.agent.runs.start(request(Some(key.session), "still there?")));
    desk.reached(&mut start).await;
    desk.switch.set(None);
    desk.agent.sessions.delete(&ana(), key.session).await.unwrap();
    assert_eq!(start.await.unwrap_err().code, ErrorCode::NotFound);
    let gone = desk.agent.sessions.meta(&ana(), key.session).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::NotFound, "nothing began it anew");
    assert!(desk.log(&key).await.is_empty());
    assert_eq!(desk.store.ledger.active_runs().await.unwrap(), [], "and no run is left open");
}

#[tokio::test]
async fn a_run_whose_beginning_may_be_on_disk_is_closed_by_the_next_process_only() {
    let desk = Desk::new([answer("one")]);
    let (key, _) = desk.say(None, "first").await;
    desk.switch.set(Some((Op::Append, Answer::LosesSync)));
    let (_, told) = desk.say(Some(key.session), "second").await;
    assert_eq!(error_of(&told), Some(ErrorCode::StorageFailed));
    desk.switch.set(None);
    assert_eq!(desk.agent.recover().await.unwrap(), 0, "nobody knows what the log holds");
    let desk = desk.reopen([answer("three")]);
    assert_eq!(desk.agent.recover().await.unwrap(), 1);
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
    let mut handle = desk.agent.runs.start(request(None, "is it?")).await.unwrap();
    let key = key(handle.session_id);
    while !matches!(handle.events.next().await.unwrap().event, Event::TextDelta { .. }) {}
    desk.agent.runs.stop(&ana(), StopTarget::Session(key.session)).await.unwrap();
    let log = desk.log(&key).await;
    let question = log.iter().find(|turn| matches!(turn.body, TurnBody::User(_))).unwrap().id;
    let mut again = request(Some(key.session), "");
    again.input = RunInput::Stored(question);
    all(desk.agent.runs.start(again).await.unwrap()).await;
    let asked = desk.model.asked.lock().unwrap();
    let roles: Vec<Role> = asked[1].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
}

#[tokio::test]
async fn a_note_that_could_not_be_written_leaves_no_hole_in_the_next() {
    let desk = Desk::new([vec![says("one "), says("two ")]]);
    desk.switch.set(Some((Op::NoteLive, Answer::IsFull)));
    let handle = desk.agent.runs.start(request(None, "count")).await.unwrap();
    let key = key(handle.session_id);
    let refused = async || desk.switch.refusals().checked_sub(1);
    wait_for("a note to be refused", Duration::from_secs(20), refused).await;
    desk.switch.set(None);
    let noted = async || desk.store.turns.live(&key).await.unwrap().pop();
    let noted = wait_for("the text to be noted", Duration::from_secs(20), noted).await;
    assert_eq!(noted.text, "one two ");
}

/// Stores a message of the person's.
async fn keep(desk: &Desk, key: &SessionKey, text: &str, delivery: Delivery) -> TurnId {
    let message = NewMessage { content: text.to_owned(), view: None, client_id: None, delivery };
    let kept = desk.agent.conversations.keep_message(&ana(), key.session, message).await.unwrap();
    let KeptMessage::New(row) = kept else { panic!("it is new") };
    row.turn
}

/// Waits until this many runs of the session have ended, and returns how.
async fn ended(desk: &Desk, key: &SessionKey, count: usize) -> Vec<RunStatus> {
    let ended = async || Some(ends(&desk.log(key).await)).filter(|ends| ends.len() == count);
    wait_for("the runs to end", Duration::from_secs(20), ended).await
}

#[tokio::test]
async fn a_promised_message_is_answered_once_the_store_is_back() {
    let desk = Desk::new([answer("hello"), answer("again")]);
    let (key, _) = desk.say(None, "one").await;
    let message = keep(&desk, &key, "two", Delivery::FollowUp).await;
    desk.switch.set(Some((Op::Acquire, Answer::IsAway)));
    desk.agent.conversations.promise(&ana(), key.session, message);
    let refused = async || (desk.switch.refusals() > 0).then_some(());
    wait_for("the session to be refused", Duration::from_secs(20), refused).await;
    desk.switch.set(None);
    assert_eq!(ended(&desk, &key, 2).await, [RunStatus::Done; 2]);
}

#[tokio::test]
async fn messages_that_are_asked_for_at_once_are_answered_one_after_the_other() {
    let desk = Desk::new([vec![says("slow")], answer("first"), answer("second")]);
    let handle = desk.agent.runs.start(request(None, "one")).await.unwrap();
    let key = key(handle.session_id);
    let first = keep(&desk, &key, "two", Delivery::OnRequest).await;
    let second = keep(&desk, &key, "three", Delivery::OnRequest).await;
    let answer_to = async |message: TurnId| {
        let conversations = &desk.agent.conversations;
        let answer =
            conversations.answer_to(&ana(), key.session, message, AfterFailure::Replay).await;
        let MessageAnswer::Live { run, .. } = answer.unwrap() else { panic!("it is at work") };
        run
    };
    // Both wait for the run at work. The later message is asked for first, and hears first of the
    // run's end.
    let (second, first, _) = tokio::join!(answer_to(second), answer_to(first), async {
        desk.agent.runs.stop(&ana(), StopTarget::Session(key.session)).await.unwrap();
        all(handle).await
    });
    assert_ne!(first, second);
    assert_eq!(ended(&desk, &key, 3).await[1..], [RunStatus::Done; 2]);
}
