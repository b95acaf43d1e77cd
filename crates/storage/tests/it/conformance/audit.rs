use onyx_storage::{AuditEntry, ChainState};
use onyx_types::{Hash, RecordedTool, ToolEffect, Verdict};

use super::Backend;
use crate::support::{Maker, audit_entry};

pub(crate) async fn rows_are_chained_by_person(on: Backend) {
    let mut make = Maker::new();
    let full = AuditEntry {
        agent: Some("main".parse().unwrap()),
        session: Some(make.key().session),
        run: Some(make.run()),
        tool: Some(RecordedTool::constant("write_file")),
        effect: Some(ToolEffect::Write),
        decision: Some(Verdict::Draft),
        ..audit_entry(&mut make, "anna")
    };
    let first = on.ledger.append_audit(audit_entry(&mut make, "anna")).await.unwrap();
    let foreign = on.ledger.append_audit(audit_entry(&mut make, "bert")).await.unwrap();
    let second = on.ledger.append_audit(full.clone()).await.unwrap();
    assert_eq!((first.seq, first.previous), (1, Hash::ZERO));
    assert_eq!((foreign.seq, foreign.previous), (1, Hash::ZERO));
    assert_eq!((second.seq, second.previous, &second.entry), (2, first.hash, &full));
    let anna = "anna".parse().unwrap();
    assert_eq!(on.ledger.audit(&anna, None, 10).await.unwrap(), [second, first]);
    assert_eq!(on.ledger.verify_audit(&anna).await.unwrap(), ChainState::Whole { rows: 2 });
}

pub(crate) async fn pages_go_from_newest_to_oldest(on: Backend) {
    let mut make = Maker::new();
    for _ in 0..7 {
        on.ledger.append_audit(audit_entry(&mut make, "anna")).await.unwrap();
    }
    let anna = "anna".parse().unwrap();
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = on.ledger.audit(&anna, before, 3).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.seq);
        seen.extend(page.iter().map(|row| row.seq));
    }
    assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1]);
}

pub(crate) async fn an_empty_chain_is_whole(on: Backend) {
    let state = on.ledger.verify_audit(&"anna".parse().unwrap()).await.unwrap();
    assert_eq!(state, ChainState::Whole { rows: 0 });
}

pub(crate) async fn concurrent_rows_make_one_chain(on: Backend) {
    let mut make = Maker::new();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (ledger, entry) = (on.ledger.clone(), audit_entry(&mut make, "anna"));
        tasks.spawn(async move { ledger.append_audit(entry).await.unwrap().seq });
    }
    let mut seqs = tasks.join_all().await;
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=100).collect::<Vec<_>>());
    let state = on.ledger.verify_audit(&"anna".parse().unwrap()).await.unwrap();
    assert_eq!(state, ChainState::Whole { rows: 100 });
}
