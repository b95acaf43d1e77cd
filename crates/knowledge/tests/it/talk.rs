//! Holds conversations and stores them as the server does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onyx_storage::{BeginIn, BeginRun};
use onyx_types::{
    AssistantText, Author, IdGenerator, LaneId, Origin, RunId, SessionKey, SessionOrigin,
    TextStatus, Turn, TurnBody, UserContent,
};

use crate::world::World;

pub(crate) struct Talk {
    pub(crate) key: SessionKey,
    origin: SessionOrigin,
    mint: IdGenerator,
    /// The number of messages in the current run, which decides who speaks next.
    said: usize,
}

impl Talk {
    /// A conversation with the agent `main`.
    pub(crate) fn new(world: &World, person: &str, origin: SessionOrigin) -> Self {
        static TALKS: AtomicU64 = AtomicU64::new(7);
        let mut mint = IdGenerator::new(TALKS.fetch_add(1, Ordering::Relaxed));
        let key = SessionKey {
            person: person.parse().unwrap(),
            agent: "main".parse().unwrap(),
            session: mint.session(world.clock().wall()),
        };
        Self { key, origin, mint, said: 0 }
    }

    /// Holds a run in which the person and the agent speak in turns.
    pub(crate) async fn run(&mut self, world: &World, words: &[String]) -> RunId {
        let run = self.begin(world).await;
        for words in words {
            self.say(world, run, words).await;
        }
        run
    }

    pub(crate) async fn begin(&mut self, world: &World) -> RunId {
        let at = world.clock().wall();
        let (run, input_turn) = (self.mint.run(at), self.mint.turn(at));
        let (key, session) = (self.key.clone(), BeginIn::New(self.origin));
        let begin = BeginRun { run, key, input_turn, started_at: at, session };
        world.store.ledger.begin_run(begin).await.unwrap();
        self.said = 0;
        run
    }

    pub(crate) async fn say(&mut self, world: &World, run: RunId, words: &str) {
        let at = world.clock().wall();
        let (author, body) = match self.said % 2 {
            0 => (Author::Person(self.key.person.clone()), said_by_person(words)),
            _ => (Author::Agent(self.key.agent.clone()), said_by_agent(words)),
        };
        self.said += 1;
        let turn = Turn {
            id: self.mint.turn(at),
            ts: at,
            run: Some(run),
            lane: LaneId::default(),
            author,
            origin: Origin::Person,
            body,
            extra: serde_json::Map::new(),
        };
        let ttl = Duration::from_secs(60);
        let lease = world.store.leases.acquire(&self.key, ttl).await.unwrap();
        world.store.turns.append(&lease, &[turn]).await.unwrap();
        world.store.leases.release(&lease).await.unwrap();
        world.index.session_changed(self.key.person.clone(), self.key.session);
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
