use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use onyx_connectors::{
    Account, AccountSettings, AccountState, AccountStatus, Binding, NETWORKS, QrPicture, Secret,
    TestReport, qr_picture,
};
use onyx_storage::AccountKey;
use onyx_types::{ErrorCode, Fault, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::key;
use crate::wire::{Json, expected};
use crate::{ApiState, ConfigChange, JsonBody, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct AccountList {
    /// The supported networks.
    networks: Vec<&'static str>,
    accounts: Vec<AccountJson>,
    /// Which agent answers which peers; the most specific matching binding applies.
    bindings: Vec<BindingJson>,
    /// Notices for the owner since the server started, newest first.
    notices: Vec<NoticeJson>,
}

/// A binding of the config; a field that it leaves out matches everything.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BindingJson {
    agent: String,
    network: Option<String>,
    account: Option<String>,
    guild: Option<String>,
    peer: Option<String>,
    thread: Option<String>,
}

impl From<Binding> for BindingJson {
    fn from(binding: Binding) -> Self {
        let place = binding.matches;
        Self {
            agent: binding.agent_id,
            network: place.channel,
            account: place.account_id,
            guild: place.guild_id.map(|id| id.to_string()),
            peer: place.peer.map(|peer| peer.id()),
            thread: place.thread.map(|id| id.to_string()),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NoticeJson {
    #[schemars(with = "String")]
    at: Timestamp,
    text: String,
}

/// One account and its state.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AccountJson {
    network: String,
    account: String,
    state: AccountState,
    /// The gateway that serves the account, if it is another one and its name is known.
    gateway: Option<String>,
    /// What is wrong, if anything is.
    detail: Option<String>,
    /// The account's name on the network.
    name: Option<String>,
    /// A link at which people can write to the account.
    link: Option<String>,
    /// The link as a QR code for phones.
    qr: Option<QrPicture>,
    /// The agent that answers a new peer.
    agent: String,
    /// When the network last answered.
    #[schemars(with = "Option<String>")]
    last_heard: Option<Timestamp>,
    silent_seconds: Option<u64>,
    restarts: u64,
    /// Messages that wait to be answered, and to be sent.
    incoming: u64,
    outgoing: u64,
    dead_letters: u64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AccountDetails {
    #[serde(flatten)]
    account: AccountJson,
    /// The settings in onyx.json, secrets shortened.
    settings: Map<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PutAccount {
    /// The new content of `connectors.<network>.accounts.<account>`: `allow`, `groups`, `apiBase`,
    /// …
    #[serde(default)]
    settings: Map<String, Value>,
    /// Stored encrypted as `<network>-<account>`, and named as `token` in the settings.
    token: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TestAccount {
    network: String,
    token: String,
    api_base: Option<String>,
}

/// What the network reports about a token.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TestedAccount {
    name: String,
    link: Option<String>,
    /// The link as a QR code for phones.
    qr: Option<QrPicture>,
}

impl From<TestReport> for TestedAccount {
    fn from(tested: TestReport) -> Self {
        let qr = tested.link.as_deref().and_then(qr_picture);
        Self { name: tested.name, link: tested.link, qr }
    }
}

impl AccountJson {
    fn new(state: &ApiState, status: AccountStatus) -> Self {
        Self {
            agent: state.connectors.answering_new(&status.key).to_string(),
            qr: status.link.as_deref().and_then(qr_picture),
            network: status.key.network,
            account: status.key.account,
            state: status.state,
            gateway: status.gateway,
            detail: status.detail,
            name: status.name,
            link: status.link,
            last_heard: status.last_heard,
            silent_seconds: status.silent_seconds,
            restarts: status.restarts,
            incoming: status.queues.incoming,
            outgoing: status.queues.outgoing,
            dead_letters: status.queues.dead,
        }
    }
}

pub(crate) async fn list(State(state): State<ApiState>) -> Result<Json<AccountList>, Problem> {
    let accounts = state.connectors.list().await?.into_iter();
    let accounts = accounts.map(|status| AccountJson::new(&state, status)).collect();
    let bindings = state.connectors.bindings().into_iter().map(BindingJson::from).collect();
    let notices = state.connectors.notices().into_iter();
    let notices = notices.map(|notice| NoticeJson { at: notice.at, text: notice.text }).collect();
    Ok(Json(AccountList { networks: NETWORKS.to_vec(), accounts, bindings, notices }))
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path((network, account)): Path<(String, String)>,
) -> Result<Json<AccountDetails>, Problem> {
    details(&state, &key(network, account)?).await
}

async fn details(state: &ApiState, key: &AccountKey) -> Result<Json<AccountDetails>, Problem> {
    let settings = state.configuration.connector(&key.network, &key.account)?;
    let status = state.connectors.list().await?.into_iter().find(|status| status.key == *key);
    let (Some(status), settings) = (status, settings.unwrap_or_default()) else {
        let message = format!("There is no account {key}.");
        return Err(Problem::new(ErrorCode::NotFound, message));
    };
    Ok(Json(AccountDetails { account: AccountJson::new(state, status), settings }))
}

pub(crate) async fn put(
    State(state): State<ApiState>,
    Path((network, account)): Path<(String, String)>,
    headers: HeaderMap,
    JsonBody(PutAccount { mut settings, token }): JsonBody<PutAccount>,
) -> Result<Json<AccountDetails>, Problem> {
    let key = key(network, account)?;
    let name = secret_name(&key);
    let mut before = None;
    if let Some(token) = &token {
        settings.insert("token".to_owned(), format!("secret:{name}").into());
        // The token is stored before the config refers to it; the old one is restored if the config
        // is refused.
        before = Some(state.secrets.get(&name)?);
        state.secrets.set(&name, token).await?;
    }
    let change = ConfigChange::PutConnector {
        network: key.network.clone(),
        account: key.account.clone(),
        settings,
    };
    if let Err(problem) = state.configuration.change(change, expected(&headers)?).await {
        match before {
            None => {}
            Some(Some(before)) => state.secrets.set(&name, before.reveal()).await?,
            Some(None) => state.secrets.remove(&name).await?,
        }
        return Err(problem);
    }
    details(&state, &key).await
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path((network, account)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let key = key(network, account)?;
    let change = ConfigChange::RemoveConnector {
        network: key.network.clone(),
        account: key.account.clone(),
    };
    state.configuration.change(change, expected(&headers)?).await?;
    let name = secret_name(&key);
    if state.secrets.get(&name)?.is_some() {
        state.secrets.remove(&name).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn test(
    State(state): State<ApiState>,
    Path((network, account)): Path<(String, String)>,
) -> Result<Json<TestedAccount>, Problem> {
    let key = key(network, account)?;
    Ok(Json(state.connectors.test_running(&key).await?.into()))
}

pub(crate) async fn test_new(
    State(state): State<ApiState>,
    JsonBody(body): JsonBody<TestAccount>,
) -> Result<Json<TestedAccount>, Problem> {
    if !NETWORKS.contains(&body.network.as_str()) {
        return Err(Problem::field(
            "network",
            format!("it must be one of {}", NETWORKS.join(", ")),
        ));
    }
    let key = key(body.network, "test".to_owned())?;
    let settings = AccountSettings {
        token: Some(Secret::new(body.token)),
        api_base: body.api_base,
        ..AccountSettings::default()
    };
    let account = Account::with_plain_values(key, &settings)
        .map_err(|why| Fault::new(ErrorCode::InvalidRequest, why))?;
    Ok(Json(state.connectors.test(&account).await?.into()))
}

fn secret_name(key: &AccountKey) -> String {
    format!("{}-{}", key.network, key.account)
}
