//! Computes when facts hold. Statements about the same thing are put in order of time; if only one
//! of its kind can hold, a newer statement ends the older one. The timeline is not stored.

use std::collections::BTreeMap;

use onyx_storage::{EntityName, Holds, ObjectKind, StoredFact};
use onyx_types::Timestamp;

use super::rules::ONE_AT_A_TIME;

/// A fact that holds or has held.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    pub subject: EntityName,
    pub relation: String,
    pub object: EntityName,
    pub object_kind: ObjectKind,
    pub from: Timestamp,
    /// The time at which the fact ended; `None` if it still holds.
    pub until: Option<Timestamp>,
    /// Whether a trusted text says so; `false` if only text from outside does.
    pub is_trusted: bool,
    /// The texts that state the fact, the newest last. A text that ends it is among them.
    pub said_by: Vec<StoredFact>,
}

/// The facts by subject and relation, with the newest of each first.
pub(super) fn timeline(mut said: Vec<StoredFact>) -> Vec<Fact> {
    said.sort_by_key(|fact| (begin(fact), fact.id));
    let mut lines = BTreeMap::<(String, String), Vec<Fact>>::new();
    for fact in said {
        let line = (fact.row.subject.key.clone(), fact.row.relation.clone());
        let facts = lines.entry(line).or_default();
        match fact.row.holds {
            Holds::Begins => add(facts, fact),
            Holds::Ends => end(facts, fact),
        }
    }
    lines.into_values().flat_map(|facts| facts.into_iter().rev()).collect()
}

fn begin(fact: &StoredFact) -> Timestamp {
    match fact.row.holds {
        Holds::Begins => fact.row.from.unwrap_or(fact.said_at),
        Holds::Ends => fact.row.until.or(fact.row.from).unwrap_or(fact.said_at),
    }
}

fn is_trusted(fact: &StoredFact) -> bool {
    !fact.origin.taints()
}

fn add(facts: &mut Vec<Fact>, said: StoredFact) {
    let (from, trusted) = (begin(&said), is_trusted(&said));
    let same = facts.iter_mut().find(|fact| {
        fact.until.is_none() && fact.object.key == said.row.object.key && fact.is_trusted == trusted
    });
    if let Some(fact) = same {
        fact.until = said.row.until;
        fact.said_by.push(said);
        return;
    }
    if ONE_AT_A_TIME.contains(&said.row.relation.as_str()) {
        for fact in facts.iter_mut().filter(|fact| fact.until.is_none()) {
            // Text from outside must not end anything that the person or their agents said.
            if fact.object.key != said.row.object.key && (trusted || !fact.is_trusted) {
                fact.until = Some(from);
            }
        }
    }
    facts.push(Fact {
        subject: said.row.subject.clone(),
        relation: said.row.relation.clone(),
        object: said.row.object.clone(),
        object_kind: said.row.object_kind,
        from,
        until: said.row.until,
        is_trusted: trusted,
        said_by: vec![said],
    });
}

fn end(facts: &mut [Fact], said: StoredFact) {
    let trusted = is_trusted(&said);
    let open = facts.iter_mut().rev().find(|fact| {
        fact.until.is_none()
            && fact.object.key == said.row.object.key
            && (trusted || !fact.is_trusted)
    });
    if let Some(fact) = open {
        fact.until = Some(begin(&said));
        fact.said_by.push(said);
    }
}

#[cfg(test)]
mod tests {
    use onyx_storage::{FactId, FactRow, GroupId, SourceKey};
    use onyx_types::Origin;

    use super::*;

    fn said(id: u64, relation: &str, object: &str, origin: Origin, holds: Holds) -> StoredFact {
        StoredFact {
            id: FactId(id),
            maker: "rules".into(),
            row: FactRow {
                subject: EntityName::new("Anna"),
                relation: relation.into(),
                object: EntityName::new(object),
                object_kind: ObjectKind::Entity,
                holds,
                line: 1,
                said: String::new(),
                from: None,
                until: None,
            },
            source: SourceKey { person: None, path: String::new() },
            title: String::new(),
            group: GroupId(0),
            origin,
            said_at: Timestamp::from_millis(id as i64 * 10),
            author: None,
            turn: None,
        }
    }

    fn told(facts: Vec<StoredFact>) -> Vec<(String, i64, Option<i64>, bool, usize)> {
        let fact = |fact: Fact| {
            let until = fact.until.map(|at| at.as_millis());
            let (from, said_by) = (fact.from.as_millis(), fact.said_by.len());
            (fact.object.name, from, until, fact.is_trusted, said_by)
        };
        timeline(facts).into_iter().map(fact).collect()
    }

    #[test]
    fn a_newer_statement_closes_the_older_and_a_repetition_is_one_more_source() {
        let (person, begins) = (Origin::Person, Holds::Begins);
        let facts = vec![
            said(3, "lives in", "Rome", person, begins),
            said(1, "lives in", "Bonn", person, begins),
            said(2, "lives in", "bonn", person, begins),
        ];
        assert_eq!(
            told(facts),
            [("Rome".into(), 30, None, true, 1), ("Bonn".into(), 10, Some(30), true, 2)]
        );
    }

    #[test]
    fn text_from_outside_closes_nothing_and_is_marked() {
        let begins = Holds::Begins;
        let facts = vec![
            said(1, "lives in", "Bonn", Origin::Person, begins),
            said(2, "lives in", "Oslo", Origin::External, begins),
            said(3, "lives in", "Bonn", Origin::External, Holds::Ends),
            said(4, "lives in", "Rome", Origin::Agent, begins),
        ];
        assert_eq!(
            told(facts),
            [
                ("Rome".into(), 40, None, true, 1),
                ("Oslo".into(), 20, Some(40), false, 1),
                ("Bonn".into(), 10, Some(40), true, 1),
            ]
        );
    }

    #[test]
    fn several_at_once_stay_until_one_is_said_to_end() {
        // This must hold for unknown relations too.
        for relation in ["likes", "has child", "sings with"] {
            let facts = vec![
                said(1, relation, "Figs", Origin::Person, Holds::Begins),
                said(2, relation, "Plums", Origin::Person, Holds::Begins),
                said(3, relation, "Figs", Origin::Person, Holds::Ends),
                said(4, relation, "Pears", Origin::Person, Holds::Begins),
            ];
            assert_eq!(
                told(facts),
                [
                    ("Pears".into(), 40, None, true, 1),
                    ("Plums".into(), 20, None, true, 1),
                    ("Figs".into(), 10, Some(30), true, 2)
                ]
            );
        }
    }
}
