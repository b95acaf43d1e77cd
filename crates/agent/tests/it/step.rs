//! The state machine without a runtime, store or model.

use std::sync::Arc;
use std::time::Duration;

use onyx_agent::prompt::{History, PromptSnapshot, turn_weight};
use onyx_agent::step::{
    Batch, Effect, Input, LaneOrder, LaneSetup, NewModel, RunSetup, RunState, RunSummary, Speaker,
    ToolTraits, UserInput, step,
};
use onyx_tools::Registration;
use onyx_types::{
    Attendance, ErrorCode, Event, Fault, FinishReason, IdGenerator, LaneId, Limits, Message,
    ModelEvent, ModelFailure, ModelFailureClass, ModelRequest, Now, Origin, RunStatus, SessionKey,
    StatusCode, Taint, TextStatus, Timestamp, TokenCounter, ToolCall, ToolOffer, ToolOutcome,
    ToolUse, ToolUseId, Turn, TurnBody, Usage, UserContent, estimate_tokens,
};
use serde_json::{Value, json};

pub(crate) const LANE: LaneId = LaneId(0);

/// Replaces the driver. It acknowledges each append at once, unless it is told to hold them back.
pub(crate) struct Bench {
    pub(crate) state: RunState,
    pub(crate) now: Now,
    pub(crate) log: Vec<Turn>,
    pub(crate) told: Vec<Event>,
    pub(crate) requests: Vec<ModelRequest>,
    pub(crate) invoked: Vec<ToolCall>,
    pub(crate) attendances: Vec<Attendance>,
    pub(crate) finished: Vec<RunSummary>,
    pub(crate) stopped_models: usize,
    pub(crate) held: Vec<Batch>,
    pub(crate) hold_appends: bool,
}

fn notice(code: StatusCode) -> ModelEvent {
    ModelEvent::Notice { code, message: "a very small model".to_owned() }
}

pub(crate) fn tool(name: &str, parallel: bool) -> ToolTraits {
    ToolTraits {
        offer: ToolOffer {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}).into(),
        },
        weight: 10,
        parallel,
        repeats: name == "poll",
        registration: Registration::default(),
    }
}

pub(crate) struct ByRule;

impl TokenCounter for ByRule {
    fn scale(&self) -> f64 {
        1.0
    }
}

pub(crate) fn lane_setup(agent: &str) -> LaneSetup {
    LaneSetup {
        sampling: onyx_types::Sampling::default(),
        agent: agent.parse().unwrap(),
        model_id: "test/model".to_owned(),
        context_window: None,
        tokens: Arc::new(ByRule),
        temperature: None,
        max_output_tokens: 1_000,
        client_tools: Vec::new(),
        response_format: None,
        tool_use: ToolUse::default(),
        snapshot: Arc::new(PromptSnapshot::default()),
        tools: Arc::new(
            [tool("look", true), tool("change", false), tool("poll", true)].into_iter().collect(),
        ),
        unable: None,
        taint: Taint::Clean,
    }
}

impl Bench {
    pub(crate) fn new(limits: Limits) -> Self {
        Self::with_lanes(limits, vec![lane_setup("main")], LaneOrder::Sequential)
    }

    pub(crate) fn with_lanes(limits: Limits, lanes: Vec<LaneSetup>, order: LaneOrder) -> Self {
        let now = Now { wall: Timestamp::from_millis(1_000_000), mono: Duration::ZERO };
        let mut mint = IdGenerator::new(1);
        let state = RunState::new(RunSetup {
            run: mint.run(now.wall),
            key: SessionKey {
                person: "ana".parse().unwrap(),
                agent: "main".parse().unwrap(),
                session: mint.session(now.wall),
            },
            input_turn: mint.turn(now.wall),
            input: Some(words("hi")),
            leading: Vec::new(),
            decisions: Vec::new(),
            opening: Vec::new(),
            client_turns: Vec::new(),
            lanes,
            order,
            limits,
            attendance: Attendance::Attended,
            history: History::default(),
            mint,
            now,
            describe: Arc::new(|call| {
                onyx_types::Verb::new("use", "using", "used").of(call.name.as_str())
            }),
            action: None,
        });
        Self {
            state,
            now,
            log: Vec::new(),
            told: Vec::new(),
            requests: Vec::new(),
            invoked: Vec::new(),
            attendances: Vec::new(),
            finished: Vec::new(),
            stopped_models: 0,
            held: Vec::new(),
            hold_appends: false,
        }
    }

    pub(crate) fn give(&mut self, input: Input) {
        for effect in step(&mut self.state, self.now, input) {
            match effect {
                Effect::Append(batch) => {
                    self.log.extend(batch.turns.iter().cloned());
                    if self.hold_appends {
                        self.held.push(batch);
                    } else {
                        self.give(Input::Appended(batch));
                    }
                }
                Effect::Emit(_, event) => self.told.push(event),
                Effect::CallModel(_, request) => self.requests.push(*request),
                Effect::StopModel(_) => self.stopped_models += 1,
                Effect::UseModel(lane, model) => {
                    let tokens = Arc::new(ByRule);
                    let model =
                        NewModel { id: model.to_string(), context_window: Some(9_000), tokens };
                    self.give(Input::ModelChanged(lane, model));
                }
                Effect::Invoke(_, invocation) => {
                    self.attendances.push(invocation.attendance);
                    self.invoked.push(invocation.call);
                }
                Effect::AwaitDecision(..)
                | Effect::NotifyDraft(_)
                | Effect::NoteAddresses(_)
                | Effect::StopTools(_)
                | Effect::Abandon => {}
                Effect::Finish(summary) => self.finished.push(*summary),
            }
        }
    }

    pub(crate) fn model(&mut self, event: ModelEvent) {
        self.give(Input::Model(LANE, event));
    }

    fn says(&mut self, text: &str) {
        self.model(ModelEvent::TextDelta(text.to_owned()));
    }

    fn asks(&mut self, calls: &[(&str, &str, Value)]) {
        for (index, (id, name, arguments)) in calls.iter().enumerate() {
            self.model(call_end(index as u32, id, name, arguments.clone()));
        }
        self.model(ModelEvent::Finish(FinishReason::ToolCalls));
    }

    fn done(&mut self, id: &str, outcome: ToolOutcome) {
        self.give(Input::ToolDone(LANE, ToolUseId(id.to_owned()), outcome));
    }

    fn after(&mut self, seconds: u64) {
        self.now.mono += Duration::from_secs(seconds);
        self.give(Input::Tick);
    }

    fn kinds(&self) -> Vec<&str> {
        self.log.iter().map(|turn| turn.body.kind()).collect()
    }

    fn error(&self) -> Option<ErrorCode> {
        self.told.iter().find_map(|event| match event {
            Event::Error { code, .. } => Some(*code),
            _ => None,
        })
    }

    fn status(&self) -> RunStatus {
        match self.told.last() {
            Some(Event::Done { status, .. }) => *status,
            other => panic!("the last event is not done: {other:?}"),
        }
    }

    fn text_status(&self) -> Option<TextStatus> {
        self.log.iter().rev().find_map(|turn| match &turn.body {
            TurnBody::AssistantText(text) => Some(text.status),
            _ => None,
        })
    }

    fn results(&self) -> Vec<(String, bool)> {
        let results = self.log.iter().filter_map(|turn| match &turn.body {
            TurnBody::ToolResult(result) => Some((result.output.clone(), result.is_error)),
            _ => None,
        });
        results.collect()
    }
}

fn words(text: &str) -> UserInput {
    let content = UserContent::Text(text.to_owned());
    UserInput::new(content, Speaker::Person)
}

pub(crate) fn call_end(index: u32, id: &str, name: &str, arguments: Value) -> ModelEvent {
    ModelEvent::ToolCallEnd {
        index,
        id: ToolUseId(id.to_owned()),
        name: name.to_owned(),
        arguments,
        provider_data: None,
    }
}

fn names(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .map(|event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_answer_goes_to_disk_before_it_is_told_as_complete() {
    let mut bench = Bench::new(Limits::default());
    bench.hold_appends = true;
    bench.give(Input::Begin);
    assert_eq!(bench.kinds(), ["run_start", "user"]);
    assert_eq!(bench.told, [], "nothing is told before the words are on disk");
    assert_eq!(bench.requests, [], "no model is called before the words are on disk");

    let first = bench.held.remove(0);
    bench.give(Input::Appended(first));
    assert_eq!(names(&bench.told), ["start"]);
    assert_eq!(*bench.requests[0].messages, [Message::user("[1970-01-01T00:16Z] hi")]);

    bench.says("Hel");
    bench.says("lo");
    bench.model(ModelEvent::Usage(Usage { input: 5, output: 2, ..Usage::default() }));
    bench.model(ModelEvent::Finish(FinishReason::Stop));
    assert_eq!(bench.kinds(), ["run_start", "user", "assistant_text", "run_end"]);
    assert_eq!(names(&bench.told), ["start", "text_delta", "text_delta"]);

    let last = bench.held.remove(0);
    bench.give(Input::Appended(last));
    assert_eq!(
        names(&bench.told),
        ["start", "text_delta", "text_delta", "text_complete", "usage", "done"]
    );
    assert_eq!(bench.finished[0].status, RunStatus::Done);
    assert_eq!(bench.finished[0].messages.preview.as_deref(), Some("Hello"));
    assert_eq!(bench.finished[0].messages.count, 2);
    assert_eq!(bench.status(), RunStatus::Done);
}

#[test]
fn what_a_model_says_of_itself_is_told_once_a_run_and_a_retry_each_time() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    for call in ["a", "b"] {
        bench.model(notice(StatusCode::Degraded));
        bench.model(notice(StatusCode::Retry));
        bench.asks(&[(call, "look", json!({"call": call}))]);
        bench.done(call, ToolOutcome::ok("seen", ""));
    }
    let told = bench.told.iter().filter_map(|event| match event {
        Event::Status { code, .. } => Some(*code),
        _ => None,
    });
    let once = [StatusCode::Degraded, StatusCode::Retry, StatusCode::Retry];
    assert_eq!(told.collect::<Vec<_>>(), once);
}

#[test]
fn tools_run_only_after_their_calls_are_on_disk() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.hold_appends = true;
    bench.asks(&[("a", "look", json!({"n": 1}))]);
    assert!(bench.invoked.is_empty());
    let calls = bench.held.remove(0);
    bench.give(Input::Appended(calls));
    assert_eq!(bench.invoked.len(), 1);
}

#[test]
fn readers_run_together_and_writers_one_after_the_other() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.asks(&[
        ("a", "look", json!({"n": 1})),
        ("b", "look", json!({"n": 2})),
        ("c", "change", json!({})),
        ("d", "change", json!({"n": 2})),
    ]);
    let ids = |bench: &Bench| bench.invoked.iter().map(|c| c.id.0.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&bench), ["a", "b"]);
    bench.done("b", ToolOutcome::ok("B", ""));
    assert_eq!(ids(&bench), ["a", "b"], "a writer waits for every reader before it");
    bench.done("a", ToolOutcome::ok("A", ""));
    assert_eq!(ids(&bench), ["a", "b", "c"]);
    bench.done("c", ToolOutcome::ok("C", ""));
    bench.done("d", ToolOutcome::ok("D", ""));
    let outputs: Vec<_> = bench.results().into_iter().map(|(output, _)| output).collect();
    assert_eq!(outputs, ["A", "B", "C", "D"], "results stand in the order of the calls");
    assert_eq!(bench.requests.len(), 2);
    bench.says("ok");
    bench.model(ModelEvent::Finish(FinishReason::Stop));
    assert_eq!(bench.status(), RunStatus::Done);
}

#[test]
fn a_failed_answer_runs_no_tool_and_is_kept_as_an_error() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.says("I will");
    bench.model(call_end(0, "a", "change", json!({})));
    bench.model(ModelEvent::Failed(ModelFailure::new(ModelFailureClass::Truncated, "cut")));
    assert!(bench.invoked.is_empty());
    assert_eq!(bench.kinds(), ["run_start", "user", "assistant_text", "run_end"]);
    assert_eq!(bench.text_status(), Some(TextStatus::Error));
    assert_eq!(bench.error(), Some(ErrorCode::ProviderTruncated));
    assert_eq!(bench.status(), RunStatus::Error);
}

#[test]
fn an_answer_cut_by_its_length_runs_no_tool_but_may_be_continued() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.says("once upon");
    bench.model(call_end(0, "a", "change", json!({})));
    bench.model(ModelEvent::Finish(FinishReason::Length));
    assert!(bench.invoked.is_empty());
    assert_eq!(bench.text_status(), Some(TextStatus::Complete));
    assert_eq!(bench.error(), Some(ErrorCode::LimitOutput));
}

#[test]
fn cancelling_keeps_the_partial_text() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.says("half an ans");
    bench.give(Input::Cancel);
    assert_eq!(bench.stopped_models, 1);
    assert_eq!(bench.kinds(), ["run_start", "user", "assistant_text", "run_end"]);
    assert_eq!(bench.text_status(), Some(TextStatus::Cancelled));
    assert_eq!(bench.error(), None);
    assert_eq!(bench.status(), RunStatus::Cancelled);
    bench.says("late");
    assert_eq!(bench.status(), RunStatus::Cancelled, "nothing follows done");
}

#[test]
fn cancelling_waits_for_a_running_tool_and_names_the_one_that_never_ran() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.asks(&[("a", "change", json!({})), ("b", "change", json!({"n": 2}))]);
    bench.give(Input::Cancel);
    assert!(bench.finished.is_empty());
    bench.done("a", ToolOutcome::ok("written", ""));
    assert_eq!(bench.status(), RunStatus::Cancelled);
    assert_eq!(
        bench.results(),
        [("written".to_owned(), false), ("Not run: the run was stopped first.".to_owned(), true)]
    );
}

#[test]
fn a_tool_that_ignores_a_stop_has_an_unknown_outcome() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.asks(&[("a", "change", json!({}))]);
    bench.give(Input::Cancel);
    bench.after(1);
    assert_eq!(bench.status(), RunStatus::Cancelled);
    assert_eq!(bench.results(), [("Outcome unknown, check before repeating.".to_owned(), true)]);
}

#[test]
fn every_limit_ends_the_run_with_its_own_code_and_keeps_what_was_done() {
    let steps = Limits { max_steps: 2, ..Limits::default() };
    let mut bench = Bench::new(steps);
    bench.give(Input::Begin);
    for n in 0..2 {
        bench.asks(&[(&format!("{n}"), "look", json!({"n": n}))]);
        bench.done(&format!("{n}"), ToolOutcome::ok("x", ""));
    }
    assert_eq!((bench.error(), bench.status()), (Some(ErrorCode::LimitSteps), RunStatus::Error));
    assert_eq!(bench.requests.len(), 2);
    assert_eq!(bench.results().len(), 2);

    let mut bench = Bench::new(Limits { max_tool_calls: 1, ..Limits::default() });
    bench.give(Input::Begin);
    bench.asks(&[("a", "look", json!({"n": 1})), ("b", "look", json!({"n": 2}))]);
    assert_eq!(bench.error(), Some(ErrorCode::LimitToolCalls));
    assert!(bench.invoked.is_empty());
    assert_eq!(bench.results().len(), 2, "no call is left without a result");

    let mut bench = Bench::new(Limits { max_run_seconds: 5, ..Limits::default() });
    bench.give(Input::Begin);
    bench.says("slow");
    bench.after(4);
    assert!(bench.finished.is_empty());
    bench.after(1);
    assert_eq!((bench.error(), bench.status()), (Some(ErrorCode::LimitSeconds), RunStatus::Error));
    assert_eq!(bench.text_status(), Some(TextStatus::Error));

    let mut bench = Bench::new(Limits { max_cost: 0.5, ..Limits::default() });
    bench.give(Input::Begin);
    bench.model(ModelEvent::Usage(Usage { cost: Some(0.6), ..Usage::default() }));
    bench.asks(&[("a", "look", json!({}))]);
    bench.done("a", ToolOutcome::ok("x", ""));
    assert_eq!(bench.error(), Some(ErrorCode::LimitBudget));
    assert_eq!(bench.requests.len(), 1);
    assert_eq!(bench.finished[0].usage.cost, Some(0.6));
}

#[test]
fn the_third_equal_call_in_a_row_ends_the_loop() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    for id in ["a", "b", "c"] {
        bench.asks(&[(id, "look", json!({"same": true}))]);
        bench.done(id, ToolOutcome::ok("x", ""));
    }
    assert_eq!(bench.error(), Some(ErrorCode::LimitLoop));
    assert_eq!(bench.invoked.len(), 2);
    assert_eq!(bench.results().len(), 3);

    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    for n in 0..5 {
        bench.asks(&[(&format!("{n}"), "poll", json!({}))]);
        bench.done(&format!("{n}"), ToolOutcome::ok("x", ""));
    }
    assert_eq!(bench.error(), None, "a polling tool may repeat");
    assert_eq!(bench.invoked.len(), 5);
}

#[test]
fn a_store_that_refuses_ends_the_run_with_an_error_and_done() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.says("x");
    bench.give(Input::StoreFailed(Fault::plain(ErrorCode::StorageFull)));
    assert_eq!((bench.error(), bench.status()), (Some(ErrorCode::StorageFull), RunStatus::Error));
    assert!(bench.finished.is_empty(), "the books stay open for recovery");
}

#[test]
fn an_agent_without_a_model_keeps_the_words_and_says_why() {
    let mut setup = lane_setup("main");
    setup.unable = Some(Fault::plain(ErrorCode::ModelNotFound));
    let mut bench = Bench::with_lanes(Limits::default(), vec![setup], LaneOrder::Sequential);
    bench.give(Input::Begin);
    assert_eq!(bench.kinds(), ["run_start", "user", "run_end"]);
    assert_eq!((bench.error(), bench.status()), (Some(ErrorCode::ModelNotFound), RunStatus::Error));
}

#[test]
fn reading_from_outside_taints_what_is_written_after_it() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.says("looking");
    bench.asks(&[("a", "look", json!({}))]);
    bench.done("a", ToolOutcome::ok("web page", "").from_origin(Origin::External));
    assert_eq!(bench.state.taint(LANE), Taint::Tainted);
    bench.says("it says");
    bench.model(ModelEvent::Finish(FinishReason::Stop));
    let origins: Vec<_> = bench
        .log
        .iter()
        .filter(|turn| matches!(turn.body, TurnBody::AssistantText(_) | TurnBody::ToolResult(_)))
        .map(|turn| turn.origin)
        .collect();
    assert_eq!(origins, [Origin::Agent, Origin::External, Origin::AgentTainted]);
    assert!(names(&bench.told).contains(&"status".to_owned()));
}

#[test]
fn words_added_while_it_works_follow_the_tool_results() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.asks(&[("a", "look", json!({}))]);
    bench.give(Input::Steer(onyx_storage::Delivery::Steer, words("rather in blue")));
    bench.done("a", ToolOutcome::ok("x", ""));
    assert_eq!(bench.kinds(), ["run_start", "user", "tool_call", "tool_result", "user"]);
    let last = bench.requests.last().unwrap().messages.last().unwrap();
    assert_eq!(last.content.len(), 2, "result and words are one user message");
}

#[test]
fn lanes_answer_in_order_and_see_each_other_as_marked_user_text() {
    let lanes = vec![lane_setup("main"), lane_setup("second")];
    let mut bench = Bench::with_lanes(Limits::default(), lanes, LaneOrder::Sequential);
    bench.give(Input::Begin);
    assert_eq!(bench.requests.len(), 1);
    bench.says("first answer");
    bench.model(ModelEvent::Finish(FinishReason::Stop));
    assert!(bench.finished.is_empty());
    let seen = &bench.requests[1].messages;
    assert_eq!(
        serde_json::to_value(seen).unwrap()[0]["content"][1]["text"],
        "[main]: first answer"
    );
    let second = LaneId(1);
    bench.give(Input::Model(second, ModelEvent::TextDelta("second answer".to_owned())));
    bench.give(Input::Model(second, ModelEvent::Finish(FinishReason::Stop)));
    assert_eq!(bench.status(), RunStatus::Done);
    assert_eq!(bench.kinds().iter().filter(|kind| **kind == "run_end").count(), 1);
}

#[test]
fn what_one_agent_read_from_outside_taints_those_who_hear_it() {
    let lanes = vec![lane_setup("main"), lane_setup("second")];
    let mut bench = Bench::with_lanes(Limits::default(), lanes, LaneOrder::Sequential);
    bench.give(Input::Begin);
    bench.asks(&[("a", "look", json!({}))]);
    bench.done("a", ToolOutcome::ok("web page", "").from_origin(Origin::External));
    assert_eq!(bench.state.taint(LaneId(1)), Taint::Clean, "nothing was said yet");
    bench.says("it says");
    bench.model(ModelEvent::Finish(FinishReason::Stop));
    assert_eq!(bench.state.taint(LaneId(1)), Taint::Tainted);
    bench.give(Input::Model(LaneId(1), ModelEvent::TextDelta("so I hear".to_owned())));
    bench.give(Input::Model(LaneId(1), ModelEvent::Finish(FinishReason::Stop)));
    let heard = bench.log.iter().rfind(|turn| matches!(turn.body, TurnBody::AssistantText(_)));
    assert_eq!(heard.unwrap().origin, Origin::AgentTainted);
}

#[test]
fn a_model_that_a_tool_selects_answers_from_the_next_step_on_and_is_told() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.asks(&[("a", "change", json!({}))]);
    let chosen = ToolOutcome {
        model: Some(onyx_types::ModelId::new("two/m")),
        ..ToolOutcome::ok("ok", "ok")
    };
    bench.done("a", chosen);
    bench.says("hello");
    bench.model(ModelEvent::Finish(FinishReason::Stop));
    let status = Event::Status {
        message: "two/m answers from here on.".to_owned(),
        code: StatusCode::Fallback,
    };
    assert!(bench.told.contains(&status), "{:?}", bench.told);
    let models: Vec<&str> = bench
        .log
        .iter()
        .filter_map(|turn| match &turn.body {
            TurnBody::AssistantText(text) => Some(text.model.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(models, ["two/m"]);
}

#[test]
fn room_is_made_over_85_percent_of_the_window_and_down_to_60() {
    const WINDOW: u32 = 100_000;
    let setup = LaneSetup { context_window: Some(WINDOW), ..lane_setup("main") };
    let fixed = setup.tools.weight();
    let limits = Limits { max_steps: 500, max_tool_calls: 500, ..Limits::default() };
    let mut bench = Bench::with_lanes(limits, vec![setup], LaneOrder::Sequential);
    let weight = |turns: &[Turn]| turns.iter().map(turn_weight).sum::<usize>();
    let summarises = |request: &ModelRequest| {
        request.system.first().is_some_and(|block| block.text.starts_with("You compress"))
    };
    bench.give(Input::Begin);
    let step_weight = loop {
        let before = weight(&bench.log);
        assert!(fixed + before <= 85_000, "no prompt is longer: {before}");
        let id = format!("call {}", bench.log.len());
        bench.asks(&[(&id, "look", json!({"at": id}))]);
        bench.done(&id, ToolOutcome::ok("word ".repeat(800), ""));
        if bench.requests.last().is_some_and(summarises) {
            break weight(&bench.log) - before;
        }
    };
    let full = fixed + weight(&bench.log);
    assert!(full > 85_000, "it starts at {full}");
    let words = (1..).find(|count| estimate_tokens(&"word ".repeat(*count)) > 1_490).unwrap();
    bench.says(&"word ".repeat(words));
    bench.model(ModelEvent::Finish(FinishReason::Stop));
    let summary = bench.log.iter().find_map(|turn| match &turn.body {
        TurnBody::Summary(summary) => Some((summary.replaces.last, turn_weight(turn))),
        _ => None,
    });
    let (last, summary) = summary.unwrap();
    let from = bench.log.iter().position(|turn| turn.id == last).unwrap() + 1;
    let kept: Vec<Turn> = bench.log.drain(from..bench.log.len() - 1).collect();
    let left = fixed + summary + weight(&kept);
    let range = 60_000 - step_weight - 50..=60_000;
    assert!(range.contains(&left), "{left} are left of {full}");
    assert!(!summarises(bench.requests.last().unwrap()), "and the run goes on");
}

#[test]
fn nobody_is_asked_about_the_calls_of_a_silent_turn() {
    let mut setup = LaneSetup { context_window: Some(10_000), ..lane_setup("main") };
    let tools = [tool("look", true), tool("memory_write", false)];
    setup.tools = Arc::new(tools.into_iter().collect());
    let limits = Limits { max_steps: 500, max_tool_calls: 500, ..Limits::default() };
    let mut bench = Bench::with_lanes(limits, vec![setup], LaneOrder::Sequential);
    bench.give(Input::Begin);
    while bench.requests.last().is_some_and(|request| request.tools.len() > 1) {
        let id = format!("call {}", bench.log.len());
        bench.asks(&[(&id, "look", json!({"at": id}))]);
        bench.done(&id, ToolOutcome::ok("word ".repeat(800), ""));
    }
    let shown = bench.attendances.len();
    bench.asks(&[("save", "memory_write", json!({}))]);
    assert_eq!(bench.attendances[..shown], vec![Attendance::Attended; shown]);
    assert_eq!(bench.attendances[shown..], [Attendance::Unattended]);
}
