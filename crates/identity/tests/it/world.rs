use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use onyx_identity::{
    Attempt, BrowserSession, Caller, DeclaredPeople, Identity, Lifetime, NewToken, Proof, Secret,
    Token,
};
use onyx_storage::{Home, Store};
use onyx_test_support::ManualClock;
use onyx_types::{CredentialId, ErrorCode, Fault, Grants, PersonId};
use serde_json::Value;

pub(crate) const OWNER_TOKEN: &str = "onyx_sk_of_the_config";
pub(crate) const HERE: &str = "127.0.0.1";

pub(crate) struct World {
    pub(crate) identity: Identity,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Store,
    pub(crate) folder: tempfile::TempDir,
}

pub(crate) fn person(name: &str) -> PersonId {
    name.parse().unwrap()
}

/// The proof that a signed-in browser sends.
pub(crate) fn shown(session: &BrowserSession) -> Proof<'_> {
    Proof::Session { cookie: session.cookie.reveal(), page_key: Some(session.page_key.reveal()) }
}

pub(crate) fn declared(people: Value, token: &str) -> DeclaredPeople {
    DeclaredPeople::new(serde_json::from_value(people).unwrap(), None, Token::new(token)).unwrap()
}

pub(crate) async fn open_store(folder: &Path, clock: &Arc<ManualClock>) -> Store {
    let home = Home::open(&folder.join("home")).unwrap();
    Store::open_embedded(home, Arc::clone(clock) as _).await.unwrap()
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new());
        let store = open_store(folder.path(), &clock).await;
        let identity = open(&store, &clock, OWNER_TOKEN).await;
        Self { identity, clock, store, folder }
    }

    /// Reopens the store as after a restart, with a token of the config.
    pub(crate) async fn reopen(&mut self, token: &str) {
        self.identity = open(&self.store, &self.clock, token).await;
    }

    pub(crate) async fn token(&self, people: &[&str], grants: &str) -> (CredentialId, Secret) {
        let new = NewToken {
            people: people.iter().map(|name| person(name)).collect(),
            name: "test".to_owned(),
            grants: grants.parse::<Grants>().unwrap(),
            lifetime: Lifetime::UntilRevoked,
        };
        let (row, secret) = self.identity.create_token(&self.owner(), new).await.unwrap();
        (row.credential, secret)
    }

    /// The user who runs the server, who is the owner with all rights.
    pub(crate) fn owner(&self) -> Caller {
        self.identity.local_user().unwrap()
    }

    pub(crate) async fn ask(&self, proof: Proof<'_>) -> Result<Caller, ErrorCode> {
        self.ask_as(proof, HERE, None).await.map_err(|fault| fault.code)
    }

    pub(crate) async fn ask_as(
        &self,
        proof: Proof<'_>,
        from: &str,
        speaks_for: Option<&str>,
    ) -> Result<Caller, Fault> {
        let from: IpAddr = from.parse().unwrap();
        self.identity.caller(Attempt { proof, from: Some(from), speaks_for }).await
    }

    /// The name of the person that a proof signs in.
    pub(crate) async fn who(&self, proof: Proof<'_>) -> Result<String, ErrorCode> {
        self.ask(proof).await.map(|caller| caller.person.to_string())
    }

    pub(crate) async fn rows(&self) -> usize {
        self.store.accounts.credentials().await.unwrap().len()
    }
}

async fn open(store: &Store, clock: &Arc<ManualClock>, token: &str) -> Identity {
    let declared = declared(serde_json::json!([]), token);
    Identity::open(Arc::clone(&store.accounts), Arc::clone(clock) as _, declared).await.unwrap()
}
