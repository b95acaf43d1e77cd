//! Tests several gateways on one database: work that costs money is done by one of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use onyx_knowledge::{Chunking, FactFinder, FactPassage, FoundFacts, Index, IndexSettings};
use onyx_storage::{
    Area, AuditWitnesses, BootClock, Expect, GatewaySettings, Membership, ServerClocks,
    StorageSettings, Store,
};
use onyx_test_support::ServerPlace;
use onyx_types::{ModelFailure, SystemClock};
use tokio::sync::Semaphore;

/// A finder that counts its calls, and answers only as often as the test allows.
struct Slow {
    calls: AtomicUsize,
    asked: Semaphore,
    may_answer: Semaphore,
}

impl FactFinder for Slow {
    fn name(&self) -> String {
        "test/slow".into()
    }

    fn find(&self, _: FactPassage) -> BoxFuture<'_, Result<FoundFacts, ModelFailure>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.asked.add_permits(1);
        async move {
            self.may_answer.acquire().await.unwrap().forget();
            Ok(FoundFacts { facts: Vec::new(), tokens: 60 })
        }
        .boxed()
    }
}

struct Gateway {
    store: Store,
    index: Index,
    _membership: Membership,
    _folder: tempfile::TempDir,
}

/// Opens the stores of a gateway with this id.
pub(crate) async fn open_stores(
    place: &ServerPlace,
    id: &str,
    clock: &Arc<SystemClock>,
) -> (Store, Membership) {
    let storage: StorageSettings = serde_json::from_value(place.storage()).unwrap();
    let gateway = GatewaySettings {
        life: Duration::from_secs(600),
        ..GatewaySettings::new(id, "http://127.0.0.1:1")
    };
    let settings = storage.server(gateway).unwrap().unwrap();
    let clocks =
        ServerClocks { records: Arc::clone(clock) as _, leases: Arc::new(BootClock::default()) };
    Store::open_server(settings, clocks, AuditWitnesses::default()).await.unwrap()
}

async fn open(place: &ServerPlace, id: &str, finder: &Arc<Slow>, daily_tokens: u64) -> Gateway {
    let clock = Arc::new(SystemClock::new());
    let (store, membership) = open_stores(place, id, &clock).await;
    let folder = tempfile::tempdir().unwrap();
    let home = IndexSettings { home: folder.path().to_owned(), chunking: Chunking::default() };
    let index = Index::new(store.clone(), clock, home);
    index.set_fact_finder(Some(Arc::clone(finder) as _), daily_tokens);
    Gateway { store, index, _membership: membership, _folder: folder }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_reads_each_text_at_one_gateway_and_the_budget_is_one_for_all() {
    let place = ServerPlace::new().await;
    place.migrate().await;
    let (asked, may_answer) = (Semaphore::new(0), Semaphore::new(0));
    let finder = Arc::new(Slow { calls: AtomicUsize::new(0), asked, may_answer });
    // The budget allows two of the three texts to be begun.
    let (one, two) =
        tokio::join!(open(&place, "one", &finder, 100), open(&place, "two", &finder, 100));
    let vault = one.store.files.objects(&Area::Vault("anna".parse().unwrap())).unwrap();
    for name in ["a", "b", "c"] {
        let text = format!("{name} is a text of some length about friends of Mia");
        let key = format!("{name}.md").parse().unwrap();
        vault.put(&key, text.as_bytes(), Expect::Absent).await.unwrap();
    }
    one.index.sync().await.unwrap();
    two.index.sync().await.unwrap();
    let index = one.index.clone();
    let reading = tokio::spawn(async move { index.catch_up().await });
    finder.asked.acquire().await.unwrap().forget();
    // The other gateway neither waits for the model nor asks it.
    two.index.catch_up().await.unwrap();
    assert_eq!(finder.calls.load(Ordering::Relaxed), 1);
    finder.may_answer.add_permits(9);
    reading.await.unwrap().unwrap();
    assert_eq!(finder.calls.load(Ordering::Relaxed), 2);
    // When the first gateway has finished, the second one may read, but the budget is used.
    two.index.catch_up().await.unwrap();
    assert_eq!(finder.calls.load(Ordering::Relaxed), 2);
    let spent = one.store.chunks.marks("facts spent").await.unwrap();
    assert!(spent[0].1.ends_with(" 120"), "{spent:?}");
}

/// The database is away when the first gateway has read. The other one could not read as long as the
/// first one lives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reading_of_texts_is_given_back_when_the_database_was_away() {
    let place = ServerPlace::new().await;
    place.migrate().await;
    let (asked, may_answer) = (Semaphore::new(0), Semaphore::new(9));
    let finder = Arc::new(Slow { calls: AtomicUsize::new(0), asked, may_answer });
    let one = open(&place, "one", &finder, 100).await;
    let vault = one.store.files.objects(&Area::Vault("anna".parse().unwrap())).unwrap();
    let text = "a text of some length about friends of Mia";
    vault.put(&"a.md".parse().unwrap(), text.as_bytes(), Expect::Absent).await.unwrap();
    one.index.sync().await.unwrap();
    let sql = place.sql().await;
    let away = "CREATE SEQUENCE tries;
        CREATE FUNCTION away() RETURNS TRIGGER LANGUAGE plpgsql AS $away$
            BEGIN
                IF nextval('tries') <= 2 THEN
                    RAISE EXCEPTION 'away' USING ERRCODE = '57P03';
                END IF;
                RETURN OLD;
            END $away$;
        CREATE TRIGGER away BEFORE DELETE ON owners FOR EACH ROW EXECUTE FUNCTION away()";
    sql.batch_execute(away).await.unwrap();
    one.index.catch_up().await.unwrap();
    assert_eq!(finder.calls.load(Ordering::Relaxed), 1);
    let owned = "SELECT count(*) FROM owners WHERE name = 'facts'";
    assert_eq!(sql.query_one(owned, &[]).await.unwrap().get::<_, i64>(0), 0);
}
