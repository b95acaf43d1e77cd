//! Tests several gateways on one database: only one of them imports a source at a time.

use std::sync::Arc;
use std::time::Duration;

use onyx_sources::{NewSupply, SourceError, SourceRecord, SourceState, Sources};
use onyx_storage::{
    Area, AuditWitnesses, BootClock, Expect, GatewaySettings, Membership, ServerClocks,
    StorageSettings, Store,
};
use onyx_test_support::{HoldUp, Page, ServerPlace, Site, wait_for};
use onyx_types::{Pauses, SourceId, SystemClock};

use crate::{anna, delays, home, new, sources};

/// It is shorter than the time after which a page that does not come is given up.
const SOON: Duration = Duration::from_secs(20);

struct Gateway {
    sources: Sources,
    store: Store,
    _membership: Membership,
}

impl Gateway {
    async fn open(place: &ServerPlace, id: &str, site: Option<&Site>, pauses: Pauses) -> Self {
        let storage: StorageSettings = serde_json::from_value(place.storage()).unwrap();
        let gateway = GatewaySettings {
            life: Duration::from_secs(600),
            ..GatewaySettings::new(id, "http://127.0.0.1:1")
        };
        let clocks = ServerClocks {
            records: Arc::new(SystemClock::new()),
            leases: Arc::new(BootClock::default()),
        };
        let settings = storage.server(gateway).unwrap().unwrap();
        let (store, membership) =
            Store::open_server(settings, clocks, AuditWitnesses::default()).await.unwrap();
        let private = site.map(|site| site.address().to_string().parse().unwrap());
        let sources = sources(&store.files, &store.duties, private.into_iter().collect(), pauses);
        Self { sources, store, _membership: membership }
    }

    async fn write(&self, area: Area, path: &str, text: &str) {
        let objects = self.store.files.objects(&area).unwrap();
        objects.put(&path.parse().unwrap(), text.as_bytes(), Expect::Absent).await.unwrap();
    }

    async fn state(&self, id: SourceId) -> SourceState {
        self.sources.get(&anna(), id).await.unwrap().state
    }

    async fn ready(&self, id: SourceId) -> SourceRecord {
        wait_for("the import", SOON, async || {
            let record = self.sources.get(&anna(), id).await.unwrap();
            (record.state == SourceState::Ready).then_some(record)
        })
        .await
    }
}

async fn place() -> ServerPlace {
    let place = ServerPlace::new().await;
    place.migrate().await;
    place
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_one_imports_is_imported_by_another_only_after_that() {
    let place = place().await;
    let ((held, at_one), (waiting, at_two)) =
        (HoldUp::at("sources.begin"), HoldUp::at("sources.begin"));
    let one = Gateway::open(&place, "one", None, held).await;
    let two = Gateway::open(&place, "two", None, waiting).await;
    one.write(Area::Person(anna()), "spaces/home/space.json", "{}").await;
    one.write(Area::Vault(anna()), "many/a.md", "first").await;
    let supply = NewSupply::Folder { path: "many".into() };
    let id = one.sources.add(&anna(), new(home(), supply)).await.unwrap().id;
    at_one.reached(1).await;
    assert_eq!(two.state(id).await, SourceState::Importing, "it is no crash");
    let mut progress = two.sources.follow(&anna(), id).await.unwrap();
    assert_eq!(progress.borrow().state, SourceState::Importing);

    one.write(Area::Vault(anna()), "many/b.md", "second").await;
    let asked = two.sources.sync(&anna(), id).await.unwrap();
    assert_eq!(asked.state, SourceState::Importing);
    let early = tokio::time::timeout(Duration::from_secs(2), at_two.reached(1)).await;
    assert!(early.is_err(), "both import it at once");
    at_one.let_go();
    at_two.reached(1).await;
    assert_eq!(one.state(id).await, SourceState::Importing, "the other one imports it now");
    at_two.let_go();
    assert_eq!(one.ready(id).await.documents.len(), 2);
    assert_eq!(two.ready(id).await.documents.len(), 2);
    let ended = progress.wait_for(|progress| progress.state == SourceState::Ready);
    tokio::time::timeout(SOON, ended).await.unwrap().unwrap();
    one.sources.sync(&anna(), id).await.unwrap();
    one.ready(id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_one_imports_can_be_taken_away_through_another() {
    let place = place().await;
    let site = Site::start(|_| Page { silent: true, ..Page::default() }).await;
    let one = Gateway::open(&place, "one", Some(&site), delays()).await;
    let two = Gateway::open(&place, "two", Some(&site), delays()).await;
    one.write(Area::Person(anna()), "spaces/home/space.json", "{}").await;
    let supply = NewSupply::Url { url: site.url("/") };
    let id = one.sources.add(&anna(), new(home(), supply)).await.unwrap().id;
    wait_for("the page to be asked for", SOON, async || {
        (!site.requests().is_empty()).then_some(())
    })
    .await;
    let anna = anna();
    let removed = two.sources.remove(&anna, id);
    tokio::time::timeout(SOON, removed).await.unwrap().unwrap();
    for gateway in [&one, &two] {
        let gone = gateway.sources.get(&anna, id).await;
        assert!(matches!(gone, Err(SourceError::NotFound)), "{gone:?}");
    }
}
