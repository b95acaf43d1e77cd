use crate::chains::{World, world_with};
use crate::support::{ask, failure_of, text_of};
use futures::future::{BoxFuture, FutureExt, ready};
use onyx_providers::{Payer, SpendAccounts, SpendBook, SpendLimits};
use onyx_test_support::{Answer, ScriptedModel};
use onyx_types::{
    AgentId, Clock, ErrorCode, Fault, Model, ModelEvent, ModelFailureClass, PersonId, StatusCode,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The sums that a person or an agent has spent on a day.
#[derive(Default)]
struct Book(Mutex<BTreeMap<(String, String), f64>>);

impl Book {
    fn put(&self, who: &str, day: &str, cost: f64) {
        self.0.lock().unwrap().insert((who.to_owned(), day.to_owned()), cost);
    }

    fn get(&self, who: &str, day: &str) -> BoxFuture<'_, Result<f64, Fault>> {
        let spent = self.0.lock().unwrap().get(&(who.to_owned(), day.to_owned())).copied();
        ready(match spent {
            Some(spent) if spent < 0.0 => Err(Fault::plain(ErrorCode::StorageFailed)),
            spent => Ok(spent.unwrap_or(0.0)),
        })
        .boxed()
    }
}

impl SpendBook for Book {
    fn spent<'a>(&'a self, who: &'a PersonId, day: &'a str) -> BoxFuture<'a, Result<f64, Fault>> {
        self.get(who.as_str(), day)
    }

    fn spent_by_agent<'a>(
        &'a self,
        agent: &'a AgentId,
        day: &'a str,
    ) -> BoxFuture<'a, Result<f64, Fault>> {
        self.get(agent.as_str(), day)
    }
}

/// A model whose answers have 10 tokens in and 5 out, and cost 0.50 each.
fn dear() -> serde_json::Value {
    json!({"models": [{"id": "m", "price": {"input": 20_000, "output": 60_000}}]})
}

struct Bank {
    world: World,
    book: Arc<Book>,
    spending: Arc<SpendAccounts>,
}

impl Bank {
    fn new(server: &ScriptedModel) -> Self {
        let world = world_with(&[server], dear());
        let book = Arc::new(Book::default());
        let clock: Arc<dyn Clock> = Arc::clone(&world.clock) as Arc<dyn Clock>;
        let spending = Arc::new(SpendAccounts::new(Arc::clone(&book) as Arc<dyn SpendBook>, clock));
        Self { world, book, spending }
    }

    fn run(&self, person: &str, agent: &str, limits: SpendLimits) -> Arc<dyn Model> {
        self.run_of("one/m", person, agent, limits)
    }

    fn run_of(&self, id: &str, person: &str, agent: &str, limits: SpendLimits) -> Arc<dyn Model> {
        let payer = Payer { person: person.parse().unwrap(), agent: agent.parse().unwrap() };
        Arc::new(self.spending.budget(self.world.model(id), payer, limits))
    }
}

fn a_person(limit: f64) -> SpendLimits {
    SpendLimits { person: limit, ..SpendLimits::default() }
}

#[tokio::test]
async fn an_agent_that_runs_away_stops_with_the_figure_and_no_further_request() {
    let server = ScriptedModel::start().await;
    let bank = Bank::new(&server);
    let run = bank.run("ada", "main", a_person(1.2));
    for _ in 0..3 {
        assert_eq!(text_of(&ask(&run).await), "ok");
    }
    let failure = failure_of(&ask(&run).await);
    assert_eq!(failure.class, ModelFailureClass::Budget);
    assert_eq!(failure.message, "ada has spent 1.5000 today; the limit is 1.20 a day.");
    assert_eq!(server.request_count(), 3);
}

#[tokio::test]
async fn runs_side_by_side_share_one_budget_and_an_ended_run_counts_as_stored() {
    let server = ScriptedModel::start().await;
    let bank = Bank::new(&server);
    let (first, second) =
        (bank.run("ada", "a", a_person(1.0)), bank.run("ada", "b", a_person(1.0)));
    ask(&first).await;
    ask(&second).await;
    assert_eq!(failure_of(&ask(&first).await).class, ModelFailureClass::Budget);
    let other = bank.run("bob", "a", a_person(1.0));
    assert_eq!(text_of(&ask(&other).await), "ok");
    // The first call has ended and is booked at 0.50: its open account is closed, and the stored
    // sum is there.
    drop(first);
    bank.book.put("ada", "2026-01-01", 0.2);
    assert_eq!(text_of(&ask(&second).await), "ok");
    let message = failure_of(&ask(&second).await).message;
    assert_eq!(message, "ada has spent 1.2000 today; the limit is 1.00 a day.");
}

#[tokio::test]
async fn an_agent_has_a_limit_of_its_own_whoever_it_works_for() {
    let server = ScriptedModel::start().await;
    let bank = Bank::new(&server);
    let limits = SpendLimits { agent: 1.0, ..SpendLimits::default() };
    bank.book.put("job", "2026-01-01", 0.5);
    ask(&bank.run("ada", "main", limits)).await;
    let run = bank.run("ada", "job", limits);
    ask(&run).await;
    let message = failure_of(&ask(&bank.run("bob", "job", limits)).await).message;
    assert_eq!(message, "The agent job has spent 1.0000 today; the limit is 1.00 a day.");
}

#[tokio::test]
async fn a_new_day_has_a_new_budget() {
    let server = ScriptedModel::start().await;
    let bank = Bank::new(&server);
    bank.book.put("ada", "2026-01-01", 5.0);
    let run = bank.run("ada", "main", a_person(5.0));
    assert_eq!(failure_of(&ask(&run).await).class, ModelFailureClass::Budget);
    bank.world.pass(24 * 60 * 60);
    assert_eq!(text_of(&ask(&run).await), "ok");
}

#[tokio::test]
async fn a_price_that_nobody_knows_counts_as_nothing_and_is_said_once_a_day() {
    let server = ScriptedModel::start().await;
    let bank = Bank::new(&server);
    let run = bank.run_of("one/unpriced", "ada", "main", a_person(1.0));
    let notice = ModelEvent::Notice {
        code: StatusCode::Degraded,
        message: "No price set for one/unpriced, so budgets count it as $0.".into(),
    };
    let said = async |run| ask(run).await.iter().filter(|event| **event == notice).count();
    assert_eq!((said(&run).await, said(&run).await), (1, 0));
    let later = bank.run_of("one/unpriced", "ada", "main", a_person(1.0));
    assert_eq!(said(&later).await, 0);
    let own = SpendLimits { run: 1.0, ..SpendLimits::default() };
    let bens = bank.run_of("one/unpriced", "ben", "main", own);
    assert_eq!(said(&bens).await, 1);
    bank.world.clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(said(&later).await, 1);
    let unlimited = bank.run_of("one/unpriced", "ada", "main", SpendLimits::default());
    assert_eq!(said(&unlimited).await, 0);
}

#[tokio::test]
async fn books_that_cannot_be_read_are_not_taken_for_empty() {
    let server = ScriptedModel::start().await;
    let bank = Bank::new(&server);
    bank.book.put("ada", "2026-01-01", -1.0);
    let failure = failure_of(&ask(&bank.run("ada", "main", a_person(1.0))).await);
    assert_eq!(failure.class, ModelFailureClass::Unavailable);
    assert_eq!(server.request_count(), 0);
    server.push(Answer::text("free"));
    let unlimited = bank.run("ada", "main", SpendLimits::default());
    assert_eq!(text_of(&ask(&unlimited).await), "free");
}
