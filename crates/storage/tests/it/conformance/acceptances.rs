use onyx_storage::{Acceptance, AcceptanceKind, AuditEntry};
use onyx_types::{Actor, Hash, PersonId, RecordedTool};

use super::Backend;
use crate::support::Maker;

pub(super) fn row(make: &mut Maker, person: &str, name: &str, content: &str) -> Acceptance {
    Acceptance {
        person: person.parse().unwrap(),
        kind: AcceptanceKind::Skill,
        name: name.to_owned(),
        hash: Hash::of(content.as_bytes()),
        content: content.to_owned(),
        accepted_at: make.tick(),
    }
}

pub(super) fn audit(make: &mut Maker, person: &PersonId) -> AuditEntry {
    AuditEntry {
        ts: make.tick(),
        person: person.clone(),
        actor: Actor::Person(person.clone()),
        agent: None,
        session: None,
        run: None,
        tool: Some(RecordedTool::constant("skill")),
        effect: None,
        decision: None,
        diff_summary: "accepted".to_owned(),
        result: "ok".to_owned(),
    }
}

pub(crate) async fn what_was_accepted_last_counts_and_what_is_withdrawn_is_gone(on: Backend) {
    let mut make = Maker::new();
    let anna: PersonId = "anna".parse().unwrap();
    let old = row(&mut make, "anna", "b", "old");
    let (new, other) = (row(&mut make, "anna", "b", "new"), row(&mut make, "anna", "a", "x"));
    let tool = Acceptance { kind: AcceptanceKind::McpTool, ..old.clone() };
    let foreign = row(&mut make, "bert", "b", "his");
    for rows in [vec![old], vec![new.clone(), other.clone()], vec![tool.clone()], vec![foreign]] {
        let entry = audit(&mut make, &anna);
        on.acceptances.accept(rows, entry).await.unwrap();
    }
    let of = async |kind| on.acceptances.accepted(&anna, kind).await.unwrap();
    assert_eq!(of(AcceptanceKind::Skill).await, [other.clone(), new]);
    let names = vec!["b".to_owned(), "never".to_owned()];
    let entry = audit(&mut make, &anna);
    on.acceptances.withdraw(&anna, AcceptanceKind::Skill, names, entry).await.unwrap();
    assert_eq!(of(AcceptanceKind::Skill).await, [other]);
    assert_eq!(of(AcceptanceKind::McpTool).await, [tool]);
    let chain = on.ledger.audit(&anna, None, 100).await.unwrap();
    assert_eq!(chain.len(), 5, "each change is in the audit log: {chain:?}");
}
