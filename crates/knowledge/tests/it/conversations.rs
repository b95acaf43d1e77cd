//! What was said is found, cited by its messages, and costs no more than it is worth.

use std::time::Duration;

use onyx_knowledge::{Hit, Search};
use onyx_storage::{BeginIn, BeginRun, SourceKind};
use onyx_types::{
    AssistantText, Author, LaneId, Mint, Origin, PersonId, RunId, SessionKey, SessionOrigin,
    TextStatus, Turn, TurnBody, UserContent,
};

use crate::world::{World, chat};

struct Talk {
    key: SessionKey,
    mint: Mint,
}

impl Talk {
    fn new(world: &World) -> Self {
        let at = world.clock().wall();
        let mut mint = Mint::new(7);
        let key = SessionKey {
            person: "anna".parse().unwrap(),
            agent: "main".parse().unwrap(),
            session: mint.session(at),
        };
        Self { key, mint }
    }

    /// A run in which person and agent speak in turns.
    async fn run(&mut self, world: &World, words: &[String]) -> RunId {
        let at = world.clock().wall();
        let (run, input_turn) = (self.mint.run(at), self.mint.turn(at));
        let key = self.key.clone();
        let session = BeginIn::New(SessionOrigin::Chat);
        let begin = BeginRun { run, key, input_turn, started_at: at, session };
        world.store.ledger.begin_run(begin).await.unwrap();
        let ttl = Duration::from_secs(60);
        let lease = world.store.leases.acquire(&self.key, ttl).await.unwrap();
        for (place, words) in words.iter().enumerate() {
            let (author, body) = match place % 2 {
                0 => (Author::Person(self.key.person.clone()), said_by_person(words)),
                _ => (Author::Agent(self.key.agent.clone()), said_by_agent(words)),
            };
            let turn = Turn {
                id: if place == 0 { input_turn } else { self.mint.turn(at) },
                ts: at,
                run: Some(run),
                lane: LaneId::default(),
                author,
                origin: Origin::Person,
                body,
                extra: serde_json::Map::new(),
            };
            world.store.turns.append(&lease, &[turn]).await.unwrap();
        }
        world.store.leases.release(&lease).await.unwrap();
        world.index.session_changed(self.key.person.clone(), self.key.session);
        run
    }
}

fn said_by_person(words: &str) -> TurnBody {
    let content = UserContent::Text(words.to_owned());
    TurnBody::User(content.into())
}

fn said_by_agent(words: &str) -> TurnBody {
    TurnBody::AssistantText(AssistantText {
        content: words.to_owned(),
        status: TextStatus::Complete,
        model: "mine/m".to_owned(),
        provider_data: None,
    })
}

async fn find(world: &World, text: &str) -> Vec<Hit> {
    let kinds = vec![SourceKind::Session];
    let search = Search { text: text.to_owned(), scopes: chat("anna"), kinds, limit: 10 };
    world.index.search(&search).await.unwrap().hits
}

fn lines(count: usize, word: &str) -> String {
    vec![format!("{word} {}", "and so on ".repeat(10)); count].join("\n")
}

#[tokio::test]
async fn a_conversation_is_cited_by_run_and_message() {
    let world = World::new().await;
    let mut talk = Talk::new(&world);
    let long = lines(40, "filler");
    let words = ["Where is the key?", long.as_str(), "And then?", "Under the flowerpot."];
    let first = talk.run(&world, &words.map(str::to_owned)).await;
    let second = talk.run(&world, &["Thanks, flowerpot friend".to_owned()]).await;
    let session = talk.key.session;
    let hits = find(&world, "flowerpot").await;
    let mut cited: Vec<_> =
        hits.iter().map(|hit| (hit.path(), hit.start_line <= 4, hit.end_line)).collect();
    cited.sort();
    let mut expected = vec![
        (format!("sessions/{session}/{first}"), true, 4),
        (format!("sessions/{session}/{second}"), true, 1),
    ];
    expected.sort();
    assert_eq!(cited, expected);
    let question = find(&world, "key").await;
    assert_eq!(
        (question[0].start_line, question[0].text.lines().next()),
        (1, Some("person: Where is the key?"))
    );
    let answer = find(&world, "filler").await;
    assert!(
        answer
            .iter()
            .all(|hit| (1..=4).contains(&hit.start_line) && hit.start_line <= hit.end_line)
    );
}

#[tokio::test]
async fn of_endless_messages_and_runs_a_bounded_part_is_found() {
    let world = World::new().await;
    let mut talk = Talk::new(&world);
    let endless = format!("{} ending", format!("{} ", "x".repeat(60)).repeat(6_000));
    let mut words = vec!["oldest".to_owned()];
    words.extend((0..12).map(|n| format!("part{n} {endless}")));
    talk.run(&world, &words).await;
    let anna: PersonId = "anna".parse().unwrap();
    assert_eq!(find(&world, "part11").await[0].start_line, 13);
    assert_eq!(find(&world, "ending").await, [], "of a message the end");
    assert_eq!(find(&world, "part0").await, [], "of a run the beginning");
    let status = world.index.status(&anna).await.unwrap();
    assert_eq!(status.sources, 1);
}
