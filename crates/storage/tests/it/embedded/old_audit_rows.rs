//! Audit rows as earlier versions wrote them, and with actors and tools that this version does not
//! know: they are read letter by letter, and their chain is still proven.

use onyx_storage::{AuditRow, ChainState};
use onyx_types::{Actor, Hash, PersonId, RecordedTool};
use rusqlite::{Connection, params};

use crate::support::{Maker, TempStore, audit_entry};

const SESSION: &str = "018f3f6e-0000-7000-8000-000000000001";
const RUN: &str = "018f3f6e-0000-7000-8000-000000000002";
const FIRST_TIME: i64 = 1_750_000_000_000;

struct OldRow {
    actor: (&'static str, &'static str),
    tool: Option<&'static str>,
    effect: Option<&'static str>,
    decision: Option<&'static str>,
    summary: &'static str,
    result: &'static str,
    is_of_run: bool,
    /// Computed by another implementation of the hash.
    hash: &'static str,
}

const OF_NO_RUN: OldRow = OldRow {
    actor: ("person", "anna"),
    tool: None,
    effect: None,
    decision: None,
    summary: "sign-in by password from 192.168.1.7",
    result: "ok",
    is_of_run: false,
    hash: "ff924dbe308d04c93fb694567432ca5bcb5b70112b8ad12a997e19fd7f061ed0",
};

const ROWS: [OldRow; 7] = [
    OF_NO_RUN,
    OldRow {
        actor: ("system", "config"),
        tool: Some("job"),
        summary: "accepted the job system:backup as 6f1d",
        hash: "038a060e48906d552b1d0fd92130071a589fac6d6c73a4b571920023742c8886",
        ..OF_NO_RUN
    },
    OldRow {
        actor: ("agent", "main"),
        tool: Some("write_file"),
        effect: Some("write"),
        decision: Some("allow"),
        summary: "Write notes.md",
        result: "started",
        is_of_run: true,
        hash: "4d09ce60b1286717053411a67f732f1af0d611a1b24cff0cbfea2ee67478dd11",
    },
    OldRow {
        actor: ("agent", "main"),
        tool: Some("write the file"),
        effect: None,
        decision: Some("deny"),
        summary: "",
        result: "the agent has no such tool",
        is_of_run: true,
        hash: "79f89b062bd03328ab62023e6f0f31f67ea0f7fa6c756f755d11457bc24c8cf2",
    },
    OldRow {
        actor: ("system", "onyx"),
        tool: Some("mcp:files/read"),
        effect: Some("write"),
        decision: Some("draft"),
        summary: "Write notes.md",
        result: "draft expired",
        is_of_run: true,
        hash: "9f11411ca2b4a837e56204a08a79bbd58b62fd32929ae56b969366ad2ab7b4d7",
    },
    OldRow {
        actor: ("person", "Anna B."),
        tool: Some(""),
        summary: "an older spelling",
        hash: "17f9ef971daa13e348e40654770bb3d7f50c4a8881d73940fce0ba82631a552f",
        ..OF_NO_RUN
    },
    OldRow {
        actor: ("connector", "telegram"),
        summary: "of a newer version",
        hash: "1bc23830144f4d60ac35394f4772105bd0f80a7f9eb2075384a299ae0a246640",
        ..OF_NO_RUN
    },
];

fn write(database: &Connection) {
    let mut previous = Hash::ZERO.to_string();
    for (index, row) in (0..).zip(&ROWS) {
        let of_run = |text: &'static str| row.is_of_run.then_some(text);
        database
            .execute(
                "INSERT INTO audit (person, seq, ts, actor_kind, actor, agent, session, run, tool,
                                    effect, decision, diff_summary, result, previous, hash)
                 VALUES ('anna', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                params![
                    index + 1,
                    FIRST_TIME + index * 1_000,
                    row.actor.0,
                    row.actor.1,
                    of_run("main"),
                    of_run(SESSION),
                    of_run(RUN),
                    row.tool,
                    row.effect,
                    row.decision,
                    row.summary,
                    row.result,
                    previous,
                    row.hash,
                ],
            )
            .unwrap();
        previous = row.hash.to_owned();
    }
    database
        .execute("INSERT INTO audit_heads (person, seq, hash) VALUES ('anna', 7, ?1)", [previous])
        .unwrap();
}

#[tokio::test]
async fn old_audit_rows_are_read_as_they_were_written_and_proven_as_before() {
    let temp = TempStore::new().await;
    write(&Connection::open(temp.home().join("onyx.db")).unwrap());
    let anna: PersonId = "anna".parse().unwrap();
    let mut rows = temp.store.ledger.audit(&anna, None, 10).await.unwrap();
    rows.reverse();
    let unknown = |kind: &str, name: &str| Actor::Unknown { kind: kind.into(), name: name.into() };
    let main = || Actor::Agent("main".parse().unwrap());
    let actors: Vec<&Actor> = rows.iter().map(|row| &row.entry.actor).collect();
    assert_eq!(
        actors,
        [
            &Actor::Person(anna.clone()),
            &Actor::Config,
            &main(),
            &main(),
            &Actor::Program,
            &unknown("person", "Anna B."),
            &unknown("connector", "telegram"),
        ]
    );
    let named = |name: &'static str| Some(RecordedTool::constant(name));
    let invalid = |text: &str| Some(RecordedTool::Invalid(text.to_owned()));
    let tools: Vec<Option<RecordedTool>> = rows.iter().map(|row| row.entry.tool.clone()).collect();
    assert_eq!(
        tools,
        [
            None,
            named("job"),
            named("write_file"),
            invalid("write the file"),
            named("mcp:files/read"),
            invalid(""),
            None,
        ]
    );
    let written = |row: &AuditRow| {
        let (actor, tool) = (&row.entry.actor, &row.entry.tool);
        let texts = (actor.kind().to_owned(), actor.name().to_owned());
        (texts, tool.as_ref().map(|tool| tool.as_str().to_owned()))
    };
    let as_before = |row: &OldRow| {
        let texts = (row.actor.0.to_owned(), row.actor.1.to_owned());
        (texts, row.tool.map(str::to_owned))
    };
    assert_eq!(
        rows.iter().map(written).collect::<Vec<_>>(),
        ROWS.iter().map(as_before).collect::<Vec<_>>()
    );
    assert_eq!(temp.store.ledger.verify_audit(&anna).await.unwrap(), ChainState::Whole { rows: 7 });
    let next =
        temp.store.ledger.append_audit(audit_entry(&mut Maker::new(), "anna")).await.unwrap();
    assert_eq!((next.seq, next.previous.to_string().as_str()), (8, ROWS[6].hash));
    assert_eq!(temp.store.ledger.verify_audit(&anna).await.unwrap(), ChainState::Whole { rows: 8 });
}
