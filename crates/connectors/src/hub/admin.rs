//! What the hub offers to surfaces: the state of accounts, waiting pairing codes, and messages that
//! could not be handled or sent.

use std::sync::Arc;

use onyx_storage::{
    AccountKey, DeadLetter, LetterKind, Mail, PartState, PeerKey, PeerRow, PeerState,
};
use onyx_types::{AgentId, ErrorCode, Fault, PersonId, Timestamp};

use super::health::{AccountState, AccountStatus};
use super::{AccountContext, Accounts, Connectors, RunningAccount};
use crate::connector::{Incoming, NetworkError, Outgoing, OutgoingKind, PushedRequest};
use crate::outbox::{answer_texts, main_chat};
use crate::peers::{Asker, MOST_WAITING, agent_for, same_code};
use crate::settings::{Account, Binding, plain_origin};

/// A peer as the owner sees it.
pub type PeerView = PeerRow;

/// The name and link that a network reports for an account's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestReport {
    pub name: String,
    pub link: Option<String>,
}

/// An update or message that failed for good, so that a person has to decide about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterView {
    pub kind: LetterKind,
    pub id: i64,
    pub peer: String,
    /// Whether the message may have arrived.
    pub is_unknown: bool,
    pub text: String,
    pub why: String,
    pub at: Timestamp,
}

const MOST_LETTERS: u32 = 200;

impl Connectors {
    /// The state of every account that the config names, including those that cannot work.
    pub async fn list(&self) -> Result<Vec<AccountStatus>, Fault> {
        // All sets are read under one lock, so that an account that restarts is listed exactly
        // once.
        let (running, idle) = self.accounts_mut(|accounts| {
            let running: Vec<_> = accounts.running.values().cloned().collect();
            (running, accounts.idle())
        });
        let mut all = Vec::new();
        for account in running {
            all.push(account.status().await?);
        }
        for IdleAccount { key, state, gateway, detail } in idle {
            all.push(AccountStatus {
                queues: self.shared.home.setup.ledger.figures(&key).await?,
                key,
                state,
                gateway,
                detail,
                last_heard: None,
                silent_seconds: None,
                restarts: 0,
                name: None,
                link: None,
            });
        }
        all.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(all)
    }

    /// Asks the network about a token, without reading or sending anything.
    pub async fn test(&self, account: &Account) -> Result<TestReport, Fault> {
        let setup = &self.shared.home.setup;
        let connector = crate::networks::connect(account, setup)
            .map_err(|why| Fault::new(ErrorCode::InvalidRequest, why))?;
        match connector.identity().await {
            Ok(identity) => Ok(TestReport { name: identity.name, link: identity.link }),
            Err(NetworkError::Unauthorized(why)) => Err(Fault::new(
                ErrorCode::InvalidRequest,
                format!("The token does not work: {why}"),
            )
            .with_hint("Copy it again from the page where the bot was created.")),
            Err(error) => Err(Fault::new(ErrorCode::ProviderUnavailable, error.to_string())
                .with_hint("Check the network and `apiBase`, then test again.")),
        }
    }

    /// Tests the token of a running account like [`Self::test`]. The gateway that serves the account
    /// tests it, because only this gateway's way to the network counts.
    pub async fn test_running(&self, account: &AccountKey) -> Result<TestReport, Fault> {
        if self.find(account).is_none()
            && let Some(remote) = self.find_remote(account)
        {
            return Err(served_elsewhere(account, remote.gateway.as_deref()));
        }
        let running = self.required(account)?;
        self.test(running.settings()).await
    }

    pub async fn peers(&self, account: &AccountKey) -> Result<Vec<PeerView>, Fault> {
        Ok(self.shared.home.setup.ledger.peers(account).await?)
    }

    /// The agent that answers a peer in its main chat: the one chosen there, else the one that the
    /// config binds, else the default agent.
    pub async fn answering(&self, peer: &PeerView) -> Result<AgentId, Fault> {
        let setup = &self.shared.home.setup;
        let known = setup.port.agents();
        let chosen = setup.ledger.conversation(peer.id, "").await?.agent;
        if let Some(agent) = chosen.filter(|agent| known.contains(agent)) {
            return Ok(agent);
        }
        let account = &peer.key.account;
        let asker = Asker {
            network: &account.network,
            account: &account.account,
            guild: None,
            peer: &peer.key.peer,
            thread: "",
        };
        Ok(agent_for(&self.bindings(), asker).unwrap_or_else(|| setup.port.default_agent()))
    }

    /// The agent that answers a peer who writes to the account for the first time.
    pub fn answering_new(&self, account: &AccountKey) -> AgentId {
        let asker = Asker {
            network: &account.network,
            account: &account.account,
            guild: None,
            peer: "",
            thread: "",
        };
        agent_for(&self.bindings(), asker)
            .unwrap_or_else(|| self.shared.home.setup.port.default_agent())
    }

    /// The bindings of the config. If several match, the most specific one wins.
    pub fn bindings(&self) -> Vec<Binding> {
        self.shared.home.bindings()
    }

    /// Approves a peer, which may then talk to the agents of this person.
    pub async fn approve_peer(
        &self,
        account: &AccountKey,
        peer: &str,
        person: PersonId,
    ) -> Result<PeerView, Fault> {
        let context = self.context(account)?;
        let row = self.peer(account, peer).await?;
        context.approve(row, person).await
    }

    /// Pairs the peer that has this code, in whichever account it is.
    pub async fn approve_code(&self, code: &str, person: PersonId) -> Result<PeerView, Fault> {
        let now = self.shared.home.setup.clock.wall();
        for context in self.contexts() {
            for peer in self.shared.home.setup.ledger.peers(context.key()).await? {
                let is_it = peer
                    .code
                    .as_ref()
                    .is_some_and(|had| had.expires > now && same_code(&had.code, code));
                if is_it {
                    return context.approve(peer, person).await;
                }
            }
        }
        Err(Fault::new(ErrorCode::NotFound, "This code is not known, or it has expired.")
            .with_hint("Codes expire after an hour; the person gets a new one by writing again."))
    }

    pub async fn block_peer(&self, account: &AccountKey, peer: &str) -> Result<PeerView, Fault> {
        let row = self.peer(account, peer).await?;
        let change = onyx_storage::PeerChange {
            key: row.key,
            kind: row.kind,
            name: row.name,
            state: PeerState::Blocked,
            person: None,
            code: None,
            at: self.shared.home.setup.clock.wall(),
        };
        let changed = self.shared.home.setup.ledger.put_peer(change, MOST_WAITING).await?;
        changed.ok_or_else(|| Fault::plain(ErrorCode::Internal))
    }

    /// Deletes a peer and the links to its conversations; the sessions stay in the app.
    pub async fn remove_peer(&self, account: &AccountKey, peer: &str) -> Result<(), Fault> {
        let row = self.peer(account, peer).await?;
        Ok(self.shared.home.setup.ledger.remove_peer(&row.key).await?)
    }

    async fn peer(&self, account: &AccountKey, peer: &str) -> Result<PeerRow, Fault> {
        let key = PeerKey { account: account.clone(), peer: peer.to_owned() };
        let row = self.shared.home.setup.ledger.peer(&key).await?;
        row.ok_or_else(|| {
            Fault::new(ErrorCode::NotFound, format!("{account} knows no peer {peer}."))
        })
    }

    pub async fn dead_letters(&self, account: &AccountKey) -> Result<Vec<DeadLetterView>, Fault> {
        let letters = self.shared.home.setup.ledger.dead_letters(account, MOST_LETTERS).await?;
        Ok(letters.into_iter().map(view).collect())
    }

    pub async fn retry_letter(
        &self,
        account: &AccountKey,
        kind: LetterKind,
        id: i64,
    ) -> Result<(), Fault> {
        let was_there = self.shared.home.setup.ledger.retry_letter(account, kind, id).await?;
        if let Some(running) = self.find(account) {
            running.context.incoming.notify_one();
            running.context.outgoing.notify_one();
        }
        there(was_there)
    }

    pub async fn drop_letter(
        &self,
        account: &AccountKey,
        kind: LetterKind,
        id: i64,
    ) -> Result<(), Fault> {
        there(self.shared.home.setup.ledger.drop_letter(account, kind, id).await?)
    }

    /// Accepts a message that a network pushes to Onyx. Returns when the message is stored.
    pub async fn accept(&self, account: &AccountKey, pushed: &PushedRequest) -> Result<(), Fault> {
        let context = self.context(account)?;
        let batch = context.connector.accept(pushed).await.map_err(pushed_fault)?;
        super::listen::keep(&context, batch).await?;
        if let Some(running) = self.find(account) {
            running.heard_by_push();
        }
        Ok(())
    }

    /// The messages after a number that wait until a client fetches them.
    pub async fn collect(
        &self,
        account: &AccountKey,
        request: &PushedRequest,
        after: i64,
    ) -> Result<Vec<Mail>, Fault> {
        let running = self.required(account)?;
        running.context.connector.collect(request, after).await.map_err(pushed_fault)
    }

    /// Whether pages of a site may show this widget.
    pub fn shows_widget(&self, account: &str, origin: &str) -> bool {
        let key = AccountKey { network: "widget".to_owned(), account: account.to_owned() };
        let origin = plain_origin(origin);
        self.find(&key).is_some_and(|running| running.settings().origins.contains(&origin))
    }

    /// Sends a text to a peer that is paired with this person. A key is sent only once. The gateway
    /// that serves the account sends it.
    pub async fn deliver(
        &self,
        person: &PersonId,
        to: &PeerKey,
        key: &str,
        text: &str,
    ) -> Result<(), Fault> {
        let context = self.context(&to.account)?;
        self.check_paired(person, to).await?;
        let destination = main_chat(to, key);
        let parts = answer_texts(&context.connector.traits(), destination, text)?;
        context.queue(parts).await
    }

    /// Checks that a peer is paired with this person, so that it may receive what is private to
    /// them.
    pub async fn check_paired(&self, person: &PersonId, to: &PeerKey) -> Result<(), Fault> {
        self.context(&to.account)?;
        let row = self.peer(&to.account, &to.peer).await?;
        if row.state == PeerState::Paired && row.person.as_ref() == Some(person) {
            return Ok(());
        }
        let message = format!("{} is not paired with {person}.", to.peer);
        Err(Fault::new(ErrorCode::Forbidden, message))
    }

    fn required(&self, account: &AccountKey) -> Result<Arc<RunningAccount>, Fault> {
        self.find(account).ok_or_else(|| not_running(account))
    }

    /// The context of an account, whichever gateway serves it. It is enough for what is read from the
    /// ledger and what is queued there.
    fn context(&self, account: &AccountKey) -> Result<Arc<AccountContext>, Fault> {
        if let Some(running) = self.find(account) {
            return Ok(Arc::clone(&running.context));
        }
        let remote = self.find_remote(account).ok_or_else(|| not_running(account))?;
        Ok(Arc::clone(&remote.context))
    }
}

/// An account that has no tasks here.
struct IdleAccount {
    key: AccountKey,
    state: AccountState,
    gateway: Option<String>,
    detail: Option<String>,
}

impl Accounts {
    /// The accounts that are not running here, each once.
    fn idle(&self) -> Vec<IdleAccount> {
        let restarting = self.restarting.iter().map(|key| IdleAccount {
            key: key.clone(),
            state: AccountState::Starting,
            gateway: None,
            detail: None,
        });
        let unusable = self.unusable.iter().map(|(key, why)| IdleAccount {
            key: key.clone(),
            state: AccountState::Unusable,
            gateway: None,
            detail: Some(why.clone()),
        });
        let elsewhere = self.elsewhere.iter().filter(|(key, _)| {
            let is_listed = self.running.contains_key(*key)
                || self.restarting.contains(*key)
                || self.unusable.contains_key(*key);
            !is_listed
        });
        let elsewhere = elsewhere.map(|(key, account)| IdleAccount {
            key: key.clone(),
            state: AccountState::Elsewhere,
            gateway: account.gateway.clone(),
            detail: None,
        });
        restarting.chain(unusable).chain(elsewhere).collect()
    }
}

fn not_running(account: &AccountKey) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("The account {account} is not running."))
        .with_hint("`onyx connectors list` shows the accounts.")
}

fn served_elsewhere(account: &AccountKey, gateway: Option<&str>) -> Fault {
    let place = gateway.map_or("another gateway".to_owned(), |id| format!("the gateway {id}"));
    Fault::new(ErrorCode::InvalidRequest, format!("The account {account} runs at {place}."))
        .with_hint(format!("Test it there: send the same request to {place}."))
}

fn pushed_fault(error: NetworkError) -> Fault {
    match error {
        NetworkError::Unauthorized(why) => Fault::new(ErrorCode::Unauthenticated, why),
        NetworkError::TooFast(_) => {
            Fault::new(ErrorCode::RateLimited, "Too many messages; wait a little.")
        }
        other => Fault::new(ErrorCode::InvalidRequest, other.to_string()),
    }
}

fn there(was_there: bool) -> Result<(), Fault> {
    if was_there {
        return Ok(());
    }
    Err(Fault::new(ErrorCode::NotFound, "There is no such dead letter."))
}

fn view(letter: DeadLetter) -> DeadLetterView {
    match letter {
        DeadLetter::In(update) => DeadLetterView {
            kind: LetterKind::In,
            id: update.id,
            peer: update.peer.peer,
            is_unknown: false,
            text: serde_json::from_str(&update.body).map(|i: Incoming| i.text).unwrap_or_default(),
            why: update.why,
            at: update.received_at,
        },
        DeadLetter::Out(part) => DeadLetterView {
            kind: LetterKind::Out,
            id: part.id,
            peer: part.peer.peer,
            is_unknown: part.state == PartState::Unknown,
            text: serde_json::from_str(&part.body).map(words).unwrap_or_default(),
            why: part.why,
            at: part.created_at,
        },
    }
}

fn words(message: Outgoing) -> String {
    match message.what {
        OutgoingKind::Text { text, .. } | OutgoingKind::Edit { text, .. } => text.plain,
        OutgoingKind::PressAnswer { text, .. } => text,
        OutgoingKind::File(file) => file.path,
    }
}
