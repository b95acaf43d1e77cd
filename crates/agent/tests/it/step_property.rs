//! Invariants for any inputs in any order: `done` comes once and last, each call has one result,
//! and nothing durable is announced before it is on disk.

use std::collections::BTreeMap;

use onyx_agent::step::{Input, LaneOrder};
use onyx_types::{
    ErrorCode, Event, Fault, FinishReason, LaneId, Limits, ModelEvent, ModelFailure,
    ModelFailureClass, ToolOutcome, ToolUseId, TurnBody,
};
use proptest::prelude::*;
use serde_json::json;

use crate::step::{Bench, call_end, lane_setup};

#[derive(Clone, Copy, Debug)]
enum Move {
    Text(u16),
    Call(u16, u8),
    Finish(u16, u8),
    Fail(u16),
    ToolDone(u16, u8),
    Tick(u16),
    Cancel,
    StoreFails,
    AckOne,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        6 => (0..2u16).prop_map(Move::Text),
        6 => (0..2u16, any::<u8>()).prop_map(|(l, n)| Move::Call(l, n)),
        6 => (0..2u16, 0..4u8).prop_map(|(l, n)| Move::Finish(l, n)),
        1 => (0..2u16).prop_map(Move::Fail),
        8 => (0..2u16, any::<u8>()).prop_map(|(l, n)| Move::ToolDone(l, n)),
        2 => (0..400u16).prop_map(Move::Tick),
        1 => Just(Move::Cancel),
        1 => Just(Move::StoreFails),
        12 => Just(Move::AckOne),
    ];
    prop::collection::vec(one, 0..80)
}

fn play(bench: &mut Bench, step: Move, next_id: &mut u32) {
    match step {
        Move::Text(lane) => {
            bench.give(Input::Model(LaneId(lane), ModelEvent::TextDelta("t".to_owned())));
        }
        Move::Call(lane, n) => {
            *next_id += 1;
            let name = ["look", "change", "poll"][usize::from(n % 3)];
            let event = call_end(0, &next_id.to_string(), name, json!({"n": n / 3 % 4}));
            bench.give(Input::Model(LaneId(lane), event));
        }
        Move::Finish(lane, n) => {
            let reason = [
                FinishReason::Stop,
                FinishReason::ToolCalls,
                FinishReason::Length,
                FinishReason::ContentFilter,
            ][usize::from(n)];
            bench.give(Input::Model(LaneId(lane), ModelEvent::Finish(reason)));
        }
        Move::Fail(lane) => {
            let failure = ModelFailure::new(ModelFailureClass::Transport, "gone");
            bench.give(Input::Model(LaneId(lane), ModelEvent::Failed(failure)));
        }
        Move::ToolDone(lane, n) => {
            let id = ToolUseId((u32::from(n) % (*next_id + 1)).to_string());
            bench.give(Input::ToolDone(LaneId(lane), id, ToolOutcome::ok("r", "")));
        }
        Move::Tick(seconds) => {
            bench.now.mono += std::time::Duration::from_secs(u64::from(seconds));
            bench.give(Input::Tick);
        }
        Move::Cancel => bench.give(Input::Cancel),
        Move::StoreFails => {
            bench.give(Input::StoreFailed(Fault::plain(ErrorCode::StorageFailed)));
        }
        Move::AckOne => {
            if !bench.held.is_empty() {
                let batch = bench.held.remove(0);
                bench.give(Input::Appended(batch));
            }
        }
    }
}

/// Delivers all outstanding inputs, then stops the run.
fn settle(bench: &mut Bench) {
    bench.give(Input::Cancel);
    bench.now.mono += std::time::Duration::from_secs(2);
    bench.give(Input::Tick);
    while !bench.held.is_empty() {
        let batch = bench.held.remove(0);
        bench.give(Input::Appended(batch));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn any_order_of_inputs_ends_well(moves in moves(), parallel in any::<bool>()) {
        let order = if parallel { LaneOrder::Parallel } else { LaneOrder::Sequential };
        let lanes = vec![lane_setup("main"), lane_setup("second")];
        let mut bench = Bench::with_lanes(Limits::default(), lanes, order);
        bench.hold_appends = true;
        bench.give(Input::Begin);
        let store_failed = moves.iter().any(|m| matches!(m, Move::StoreFails));
        let mut next_id = 0;
        for step in moves {
            play(&mut bench, step, &mut next_id);
        }
        settle(&mut bench);

        let dones = bench.told.iter().filter(|e| matches!(e, Event::Done { .. })).count();
        prop_assert_eq!(dones, 1);
        prop_assert!(matches!(bench.told.last(), Some(Event::Done { .. })), "done is last");
        prop_assert!(bench.state.is_over());
        let mut results = BTreeMap::<_, i32>::new();
        for turn in &bench.log {
            match &turn.body {
                TurnBody::ToolCall(call) => {
                    results.entry(call.tool_use_id.clone()).or_default();
                }
                TurnBody::ToolResult(result) => {
                    *results.entry(result.tool_use_id.clone()).or_default() += 1;
                }
                _ => {}
            }
        }
        for (id, count) in &results {
            prop_assert!(*count <= 1, "call {id} has {count} results");
            prop_assert!(*count == 1 || store_failed, "call {id} has no result");
        }
        let mut invoked: Vec<_> = bench.invoked.iter().map(|c| &c.id).collect();
        invoked.sort();
        invoked.dedup();
        prop_assert_eq!(invoked.len(), bench.invoked.len(), "no call ran twice");
        if !store_failed {
            prop_assert_eq!(bench.finished.len(), 1);
            let ends = bench.log.iter().filter(|t| matches!(t.body, TurnBody::RunEnd(_))).count();
            prop_assert_eq!(ends, 1);
            prop_assert!(matches!(bench.log.last().unwrap().body, TurnBody::RunEnd(_)));
        }
    }
}
