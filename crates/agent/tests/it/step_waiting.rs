//! What a run decides about drafts and messages that arrive while it works.

use onyx_agent::step::{Input, Speaker, UserInput};
use onyx_storage::{Delivery, Draft, DraftOutput};
use onyx_types::{
    AsksFor, DecisionTiming, DraftId, DraftState, FinishReason, IdGenerator, Limits, ModelEvent,
    Origin, Plan, Preview, Proposal, SessionKey, Taint, Timestamp, ToolEffect, ToolOutcome,
    ToolUseId, TurnBody, TurnId, UserContent,
};
use serde_json::json;

use crate::step::{Bench, LANE, call_end};

const AT: Timestamp = Timestamp::from_millis(1_000_000);

fn call() -> ToolUseId {
    ToolUseId("a".to_owned())
}

fn decided(mint: &mut IdGenerator, id: DraftId, state: DraftState) -> Box<Draft> {
    let plan = Plan::new("change", json!({}), ToolEffect::Write, "Change it");
    let (session, run) = (mint.session(AT), mint.run(AT));
    let key =
        SessionKey { person: "ana".parse().unwrap(), agent: "main".parse().unwrap(), session };
    Box::new(Draft {
        id,
        agent: key.agent.clone(),
        run,
        call: call(),
        input: None,
        taint: Taint::Clean,
        hash: Draft::hash_of(&plan, &key, run),
        key,
        plan,
        state,
        created_at: AT,
        expires_at: AT,
        decided: None,
        reason: Some("Not today.".to_owned()),
        output: Some(DraftOutput {
            text: "Changed.".to_owned(),
            origin: Origin::Agent,
            artifact: None,
        }),
        superseded_by: None,
        delivered: false,
    })
}

/// A run whose call of `change` waits for a person.
fn waiting(draft: DraftId) -> Bench {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.model(call_end(0, "a", "change", json!({})));
    bench.model(ModelEvent::Finish(FinishReason::ToolCalls));
    let proposal = Proposal {
        draft,
        tool: "change".to_owned(),
        summary: "Change it".to_owned(),
        preview: Preview::None,
        asks_for: AsksFor::Approval,
        answer: DecisionTiming::Awaited,
        replaces: Vec::new(),
    };
    let proposed = ToolOutcome {
        draft: Some(Box::new(proposal)),
        ..ToolOutcome::ok("It waits for a decision.", "Change it")
    };
    bench.give(Input::ToolDone(LANE, call(), proposed));
    bench
}

fn result_after(state: Option<DraftState>) -> (String, bool) {
    let mut mint = IdGenerator::new(7);
    let id = mint.draft(AT);
    let mut bench = waiting(id);
    let results = |bench: &Bench| {
        let results = bench.log.iter().filter_map(|turn| match &turn.body {
            TurnBody::ToolResult(result) => Some((result.output.clone(), result.is_error)),
            _ => None,
        });
        results.collect::<Vec<_>>()
    };
    assert!(results(&bench).is_empty(), "the call has no result while it waits");
    let draft = state.map(|state| decided(&mut mint, id, state));
    bench.give(Input::DecisionWaitOver(LANE, call(), draft));
    let mut results = results(&bench);
    assert_eq!(results.len(), 1);
    results.remove(0)
}

#[test]
fn what_a_person_decided_becomes_the_result_of_the_call() {
    let expected = [
        (Some(DraftState::Applied), "Changed.", false),
        (
            Some(DraftState::Rejected),
            "The person rejected it; nothing was done. They say: Not today.",
            true,
        ),
        (Some(DraftState::Failed), "The person approved it. Changed.", true),
        (Some(DraftState::Expired), "It waits for a decision.", false),
        (None, "It waits for a decision.", false),
    ];
    for (state, output, is_error) in expected {
        assert_eq!(result_after(state), (output.to_owned(), is_error), "{state:?}");
    }
}

#[test]
fn a_batch_names_the_messages_of_the_inbox_that_it_holds() {
    let mut bench = Bench::new(Limits::default());
    bench.give(Input::Begin);
    bench.model(call_end(0, "a", "look", json!({})));
    bench.model(ModelEvent::Finish(FinishReason::ToolCalls));
    let mut mint = IdGenerator::new(7);
    let message: TurnId = mint.turn(AT);
    let words = UserInput::new(UserContent::Text("rather in blue".to_owned()), Speaker::Person);
    let words = UserInput { turn: Some(message), ..words };
    bench.give(Input::Steer(Delivery::Steer, words));
    bench.hold_appends = true;
    bench.give(Input::ToolDone(LANE, call(), ToolOutcome::ok("seen", "")));
    let [batch] = &bench.held[..] else { panic!("one batch") };
    assert_eq!(batch.from_inbox, [message]);
}
