//! The sign-in to one server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use onyx_egress::{Address, Egress, PrivateHost};
use onyx_types::Clock;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::client::{self, OauthClient};
use super::discovery::{self, AuthorizationServer, DiscoveredServer};
use super::record::{Record, union};
use super::{Callback, Challenge, Consent, OauthSettings, TokenKeeper, form};
use crate::McpError;

/// How many sign-ins of one server may wait for a browser; a new one replaces the oldest.
const MOST_WAITING: usize = 8;
/// A token is renewed this long before its end.
const EARLY_MILLIS: i64 = 30_000;

/// The settings and stores that a sign-in needs.
pub struct SignInSetup {
    /// The server's name in the config.
    pub name: String,
    pub address: Address,
    pub egress: Egress,
    /// The settings, in which secrets are already resolved.
    pub settings: OauthSettings,
    pub keeper: Arc<dyn TokenKeeper>,
    pub clock: Arc<dyn Clock>,
}

pub struct SignIn {
    setup: SignInSetup,
    egress: Egress,
    state: Mutex<State>,
    /// Locked while tokens change, so that one refresh serves all waiting callers.
    changing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    record: Option<Record>,
    /// The server's last challenge, which the next sign-in answers.
    challenge: Challenge,
    waiting: BTreeMap<String, Attempt>,
}

/// A sign-in that waits for its browser.
#[derive(Serialize, Deserialize)]
struct Attempt {
    server: AuthorizationServer,
    client: OauthClient,
    resource: String,
    redirect_uri: String,
    verifier: String,
    scope: Option<String>,
}

/// The address to which the person must go to sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunSignIn {
    pub address: String,
    pub state: String,
}

impl SignIn {
    pub fn new(setup: SignInSetup) -> Result<Self, McpError> {
        let kept = setup.keeper.load(&setup.name);
        let kept = kept.map_err(|fault| McpError::SignIn(fault.message))?;
        let record = kept.and_then(|text| Record::read(&text, setup.address.as_str()));
        // The owner configured the server, so its authorization server may be on the same private
        // host.
        let own: Vec<PrivateHost> = setup.address.host().parse().into_iter().collect();
        let egress = setup.egress.reaching(own);
        let state = State { record, ..State::default() };
        Ok(Self {
            setup,
            egress,
            state: Mutex::new(state),
            changing: tokio::sync::Mutex::default(),
        })
    }

    pub fn is_signed_in(&self) -> bool {
        self.follow();
        self.state().record.is_some()
    }

    /// Applies the tokens that another gateway stored.
    fn follow(&self) {
        if !self.setup.keeper.is_shared() {
            return;
        }
        // If the store cannot be opened, its next use reports that.
        let Ok(kept) = self.setup.keeper.load(&self.setup.name) else { return };
        let address = self.setup.address.as_str();
        self.state().record = kept.and_then(|text| Record::read(&text, address));
    }

    /// The token for a request, renewed first if it is old.
    pub(crate) async fn token(&self) -> Option<String> {
        self.follow();
        let (token, is_old) = {
            let state = self.state();
            let record = state.record.as_ref()?;
            let now = self.setup.clock.wall().as_millis();
            let is_old = record.expires_at.is_some_and(|end| end - EARLY_MILLIS <= now);
            (record.access.clone(), is_old)
        };
        if !is_old {
            return Some(token);
        }
        // A failure is ignored here, because the request itself will be refused.
        let _ = self.renew(&token).await;
        self.state().record.as_ref().map(|record| record.access.clone())
    }

    /// Handles the server's refusal of a token; the challenge is kept for the next sign-in. Returns
    /// whether another token can be tried.
    pub(crate) async fn refused(
        &self,
        token: Option<&str>,
        challenge: Challenge,
        status: u16,
    ) -> Result<bool, McpError> {
        self.state().challenge = challenge;
        match token {
            // Status 403 means that more rights are needed, which only a person can give.
            Some(_) if status == 403 => Ok(false),
            Some(token) => self.renew(token).await,
            None => Ok(false),
        }
    }

    /// Does a whole sign-in with a person who is present.
    pub(crate) async fn with(&self, consent: &dyn Consent) -> Result<(), McpError> {
        let begun = self.begin(consent.redirect_uri()).await?;
        let callback = consent.ask(&begun.address).await?;
        self.finish(&callback).await
    }

    pub async fn begin(&self, redirect_uri: &str) -> Result<BegunSignIn, McpError> {
        let challenge = self.state().challenge.clone();
        let found = discovery::find(&self.egress, &self.setup.address, &challenge).await?;
        let scope = self.scope(&found, &challenge);
        let known = self.client_of(&found.server.issuer);
        let client = match known {
            Some(client) => client,
            None => {
                let settings = &self.setup.settings;
                let (egress, server) = (&self.egress, &found.server);
                client::known(egress, server, settings, redirect_uri, scope.as_deref()).await?
            }
        };
        let DiscoveredServer { resource, server } = found;
        let resource = resource.resource.unwrap_or_else(|| self.setup.address.as_str().to_owned());
        let (state, verifier) = (random()?, random()?);
        let proof = BASE64.encode(Sha256::digest(verifier.as_bytes()));
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", client.id.as_str()),
            ("redirect_uri", redirect_uri),
            ("code_challenge", &proof),
            ("code_challenge_method", "S256"),
            ("state", &state),
            ("resource", &resource),
        ];
        if let Some(scope) = &scope {
            fields.push(("scope", scope));
        }
        let page: Address = trusted(&server.authorization_endpoint, &self.setup.address)?;
        let address = page.asking(&fields).as_str().to_owned();
        let redirect_uri = redirect_uri.to_owned();
        let attempt = Attempt { server, client, resource, redirect_uri, verifier, scope };
        self.put_attempt(&state, attempt).await?;
        Ok(BegunSignIn { address, state })
    }

    async fn put_attempt(&self, state: &str, attempt: Attempt) -> Result<(), McpError> {
        if self.setup.keeper.is_shared() {
            let text = serde_json::to_string(&attempt).map_err(|error| odd(&error.to_string()))?;
            let put = self.setup.keeper.put_attempt(state, &text).await;
            return put.map_err(|fault| McpError::SignIn(fault.message));
        }
        let mut held = self.state();
        if held.waiting.len() >= MOST_WAITING {
            held.waiting.pop_first();
        }
        held.waiting.insert(state.to_owned(), attempt);
        Ok(())
    }

    async fn take_attempt(&self, state: &str) -> Result<Option<Attempt>, McpError> {
        if !self.setup.keeper.is_shared() {
            return Ok(self.state().waiting.remove(state));
        }
        let taken = self.setup.keeper.take_attempt(state).await;
        let taken = taken.map_err(|fault| McpError::SignIn(fault.message))?;
        let read = |text: String| serde_json::from_str(&text).map_err(|_| odd("it does not read"));
        taken.map(read).transpose()
    }

    /// The scopes to ask for: the owner's, or those that the server requires or supports together
    /// with those granted before.
    fn scope(&self, found: &DiscoveredServer, challenge: &Challenge) -> Option<String> {
        if let Some(scope) = &self.setup.settings.scope {
            return Some(scope.clone());
        }
        let state = self.state();
        let granted = state.record.as_ref().filter(|kept| kept.issuer == found.server.issuer);
        let granted = granted.and_then(|record| record.scope.as_deref());
        let known = found.resource.scopes_supported.as_ref().map(|scopes| scopes.join(" "));
        let requested = challenge.scope.clone().or(known);
        let scope = union(granted, requested.as_deref());
        let stays = found.server.scopes_supported.iter().flatten().any(|it| it == "offline_access");
        if stays { union(scope.as_deref(), Some("offline_access")) } else { scope }
    }

    /// Our client at this authorization server. A client of another one is unknown there.
    fn client_of(&self, issuer: &str) -> Option<OauthClient> {
        if self.setup.settings.client_id.is_some() {
            return None;
        }
        let state = self.state();
        let record = state.record.as_ref().filter(|record| record.issuer == issuer)?;
        Some(record.client.clone())
    }

    pub async fn finish(&self, callback: &Callback) -> Result<(), McpError> {
        let attempt = self.take_attempt(&callback.state).await?;
        let attempt = attempt.ok_or_else(|| odd("this sign-in is not known, or it has expired"))?;
        check_issuer(&attempt.server, callback.iss.as_deref())?;
        if let Some(error) = &callback.error {
            let shown: String = error.chars().take(100).collect();
            return Err(odd(&format!("the server refused the sign-in: {shown}")));
        }
        let code =
            callback.code.as_deref().ok_or_else(|| odd("the browser returned without a code"))?;
        let Attempt { server, client, resource, redirect_uri, verifier, scope } = attempt;
        let fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri.as_str()),
            ("code_verifier", verifier.as_str()),
            ("resource", resource.as_str()),
        ];
        let granted = self.ask_for_token(&server.token_endpoint, &client, fields).await?;
        let record = Record {
            server: self.setup.address.as_str().to_owned(),
            issuer: server.issuer,
            token_endpoint: server.token_endpoint,
            resource,
            client,
            expires_at: self.end_of(&granted),
            access: granted.access_token,
            refresh: granted.refresh_token,
            scope: granted.scope.or(scope),
        };
        let _one_by_one = self.changing.lock().await;
        let _turn = self.turn().await?;
        self.keep(record).await
    }

    /// Takes a turn to change the tokens: among several gateways only one changes them at a time,
    /// and it reads the latest ones first.
    async fn turn(&self) -> Result<Option<Box<dyn Send + Sync>>, McpError> {
        let turn = self.setup.keeper.turn(&self.setup.name).await;
        let turn = turn.map_err(|fault| McpError::Unreachable(fault.message))?;
        self.follow();
        Ok(turn)
    }

    /// Renews the token. Returns whether there is a newer token than `old` now.
    async fn renew(&self, old: &str) -> Result<bool, McpError> {
        let _one_by_one = self.changing.lock().await;
        let _turn = self.turn().await?;
        let Some(record) = self.state().record.clone() else { return Ok(false) };
        if record.access != old {
            return Ok(true);
        }
        let Some(refresh) = record.refresh.clone() else { return Ok(false) };
        let fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.as_str()),
            ("resource", record.resource.as_str()),
        ];
        let granted = self.ask_for_token(&record.token_endpoint, &record.client, fields).await;
        let granted = match granted {
            Ok(granted) => granted,
            // The person must sign in again; the server gives the reason at the next request.
            Err(McpError::SignIn(why)) => {
                tracing::info!(server = self.setup.name, why, "a sign-in could not be renewed");
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let expires_at = self.end_of(&granted);
        let refresh = granted.refresh_token.or(Some(refresh));
        let scope = granted.scope.or_else(|| record.scope.clone());
        let renewed = Record { access: granted.access_token, refresh, expires_at, scope, ..record };
        self.keep(renewed).await?;
        Ok(true)
    }

    /// Forgets the tokens.
    pub async fn sign_out(&self) -> Result<(), McpError> {
        let _one_by_one = self.changing.lock().await;
        let _turn = self.turn().await?;
        self.state().record = None;
        let forgotten = self.setup.keeper.forget(&self.setup.name).await;
        forgotten.map_err(|fault| McpError::SignIn(fault.message))
    }

    async fn keep(&self, record: Record) -> Result<(), McpError> {
        let text = serde_json::to_string(&record).map_err(|error| odd(&error.to_string()))?;
        let kept = self.setup.keeper.keep(&self.setup.name, &text).await;
        kept.map_err(|fault| odd(&format!("the tokens cannot be stored: {}", fault.message)))?;
        self.state().record = Some(record);
        Ok(())
    }

    async fn ask_for_token<'a>(
        &self,
        place: &str,
        client: &'a OauthClient,
        mut fields: Vec<(&'static str, &'a str)>,
    ) -> Result<GrantedTokens, McpError> {
        let place = trusted(place, &self.setup.address)?;
        let mut headers = vec![("accept", "application/json".to_owned())];
        client.show(&mut fields, &mut headers);
        let kind = "application/x-www-form-urlencoded";
        let answer = self.egress.post(&place, kind, &headers, form::body(&fields)).await;
        let answer = answer.map_err(|error| McpError::Unreachable(error.to_string()))?;
        if answer.status != 200 {
            let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            let reason = body["error"].as_str().unwrap_or("no reason");
            let reason: String = reason.chars().take(100).collect();
            return Err(odd(&format!("no token was given: {reason} (HTTP {})", answer.status)));
        }
        let granted: GrantedTokens = serde_json::from_slice(&answer.body)
            .map_err(|_| odd("the server's token could not be parsed"))?;
        if !granted.token_type.eq_ignore_ascii_case("bearer") {
            return Err(odd("the token is not a bearer token"));
        }
        Ok(granted)
    }

    fn end_of(&self, granted: &GrantedTokens) -> Option<i64> {
        let life = granted.expires_in?.clamp(0, i64::from(u32::MAX));
        Some(self.setup.clock.wall().as_millis() + life * 1000)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Deserialize)]
struct GrantedTokens {
    access_token: String,
    token_type: String,
    refresh_token: Option<String>,
    expires_in: Option<i64>,
    scope: Option<String>,
}

/// Checks that the answer comes from exactly the server that the person was sent to (RFC 9207).
fn check_issuer(server: &AuthorizationServer, iss: Option<&str>) -> Result<(), McpError> {
    match iss {
        Some(iss) if iss == server.issuer => Ok(()),
        Some(_) => Err(odd("the sign-in comes back from another authorization server")),
        None if server.authorization_response_iss_parameter_supported => {
            Err(odd("the sign-in does not say which authorization server it comes from"))
        }
        None => Ok(()),
    }
}

/// Checks that codes and tokens go over https, or to the host of the MCP server itself.
fn trusted(place: &str, server: &Address) -> Result<Address, McpError> {
    let address: Address =
        place.parse().map_err(|_| odd("it names an address that is not valid"))?;
    let is_own = server.as_str().starts_with("http://") && address.host() == server.host();
    if address.as_str().starts_with("https://") || is_own {
        return Ok(address);
    }
    Err(odd("its authorization server is not reached over https"))
}

fn random() -> Result<String, McpError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| odd(&format!("no random numbers: {error}")))?;
    Ok(BASE64.encode(bytes))
}

fn odd(why: &str) -> McpError {
    McpError::SignIn(why.to_owned())
}
