//! Google's tokens: a service account signs its own request for one, a person's application default
//! credentials are renewed, and a machine of Google's asks its metadata server.

use std::path::PathBuf;
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use onyx_types::Timestamp;
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{MachineToken, TokenFailure, trouble};
use crate::Secret;
use crate::oauth::answer;
use crate::oauth::endpoint::Endpoint;
use crate::oauth::resolved_login::is_trusted;

const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const JWT_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The longest lifetime of an assertion that Google accepts.
const ASSERTION_SECONDS: i64 = 3600;
const USUAL_LIFE: Duration = Duration::from_secs(3600);
/// Key files have about two kilobytes.
const LONGEST_FILE: u64 = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Google {
    Key(Secret),
    Default(DefaultPlaces),
}

/// The paths where application default credentials may be, in the order in which Google looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DefaultPlaces {
    pub(super) named: Option<PathBuf>,
    pub(super) usual: Option<PathBuf>,
    /// The host of the metadata server.
    pub(super) metadata: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum KeyFile {
    ServiceAccount(ServiceAccount),
    AuthorizedUser(AuthorizedUser),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct ServiceAccount {
    client_email: String,
    private_key: Secret,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

#[derive(Deserialize)]
struct AuthorizedUser {
    client_id: String,
    client_secret: Secret,
    refresh_token: Secret,
    token_uri: Option<String>,
    quota_project_id: Option<String>,
    account: Option<String>,
}

impl Google {
    /// `Err` says why the text is no key file.
    pub(super) fn of_key(text: Secret) -> Result<Self, &'static str> {
        match serde_json::from_str(text.reveal()) {
            Ok(KeyFile::ServiceAccount(account)) => {
                signer(&account)?;
                Ok(Self::Key(text))
            }
            Ok(KeyFile::AuthorizedUser(_)) => Ok(Self::Key(text)),
            Ok(KeyFile::Other) => Err("its `type` is neither service_account nor authorized_user"),
            Err(_) => Err("it does not read"),
        }
    }

    pub(super) async fn granted(&self, now: Timestamp) -> Result<MachineToken, TokenFailure> {
        let text = match self {
            Self::Key(text) => text.clone(),
            Self::Default(places) => match places.file().await? {
                Some(text) => text,
                None => return metadata(&places.metadata).await,
            },
        };
        match serde_json::from_str(text.reveal()) {
            Ok(KeyFile::ServiceAccount(account)) => of_account(&account, now).await,
            Ok(KeyFile::AuthorizedUser(user)) => of_user(&user).await,
            Ok(KeyFile::Other) | Err(_) => {
                let why = "the credentials are neither of a service account nor of a person";
                Err(TokenFailure::Refused(why.to_owned()))
            }
        }
    }

    /// The account of the token, if it is known before a token is fetched.
    pub(super) fn account(&self) -> Option<String> {
        let Self::Key(text) = self else { return None };
        match serde_json::from_str(text.reveal()) {
            Ok(KeyFile::ServiceAccount(account)) => Some(account.client_email),
            Ok(KeyFile::AuthorizedUser(user)) => user.account,
            Ok(KeyFile::Other) | Err(_) => None,
        }
    }
}

impl DefaultPlaces {
    /// Reads the credentials file each time, because `gcloud` rewrites it at every sign-in. `None`
    /// if the usual file does not exist; a configured file that is missing is an error.
    async fn file(&self) -> Result<Option<Secret>, TokenFailure> {
        let (named, usual) = (self.named.clone(), self.usual.clone());
        let read = tokio::task::spawn_blocking(move || match (named, usual) {
            (Some(named), _) => read(&named).map(Some),
            (None, Some(usual)) => match read(&usual) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                other => other.map(Some),
            },
            (None, None) => Ok(None),
        });
        let unable = |why: String| {
            let message = format!("the application default credentials cannot be read: {why}");
            TokenFailure::Refused(message)
        };
        let read = read.await.map_err(|error| unable(error.to_string()))?;
        read.map_err(|error| unable(error.to_string()))
    }
}

fn read(path: &std::path::Path) -> std::io::Result<Secret> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)?.take(LONGEST_FILE).read_to_string(&mut text)?;
    Ok(Secret::new(text))
}

async fn of_account(
    account: &ServiceAccount,
    now: Timestamp,
) -> Result<MachineToken, TokenFailure> {
    let place = token_place(account.token_uri.as_deref())?;
    let assertion =
        assertion(account, &place, now).map_err(|why| TokenFailure::Refused(why.into()))?;
    let fields = [("grant_type", JWT_GRANT), ("assertion", assertion.reveal())];
    granted(&place, &fields, Some(account.client_email.clone())).await
}

async fn of_user(user: &AuthorizedUser) -> Result<MachineToken, TokenFailure> {
    let place = token_place(user.token_uri.as_deref())?;
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", &user.client_id),
        ("client_secret", user.client_secret.reveal()),
        ("refresh_token", user.refresh_token.reveal()),
    ];
    let granted = granted(&place, &fields, user.account.clone()).await;
    let granted = granted.map_err(|trouble| match trouble {
        TokenFailure::Refused(words) => TokenFailure::Refused(format!(
            "{words}. Run `gcloud auth application-default login` again"
        )),
        passing @ TokenFailure::Passing(_) => passing,
    })?;
    Ok(MachineToken { quota_project: user.quota_project_id.clone(), ..granted })
}

async fn granted(
    place: &Url,
    fields: &[(&str, &str)],
    account: Option<String>,
) -> Result<MachineToken, TokenFailure> {
    let answered = Endpoint::of(place).post(fields).await;
    let granted = answered.and_then(|(status, body)| answer::token(status, &body));
    let granted = granted.map_err(trouble)?;
    let life = granted.life.unwrap_or(USUAL_LIFE);
    Ok(MachineToken { token: granted.access, life, account, quota_project: None })
}

/// Asks the metadata server of a machine of Google's, which knows the machine's own service
/// account.
async fn metadata(host: &str) -> Result<MachineToken, TokenFailure> {
    let url = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token");
    let url = Url::parse(&url).map_err(|error| TokenFailure::Refused(error.to_string()))?;
    let answered = Endpoint::of(&url).get_with(&[("metadata-flavor", "Google")]).await;
    let granted = answered.and_then(|(status, body)| answer::token(status, &body));
    let granted = granted.map_err(|refusal| {
        let words = refusal.words();
        TokenFailure::Refused(format!(
            "there are no application default credentials, and no metadata server answers \
             ({words}). Run `gcloud auth application-default login`, or name a key file"
        ))
    })?;
    let account = Some("the machine's service account".to_owned());
    let life = granted.life.unwrap_or(USUAL_LIFE);
    Ok(MachineToken { token: granted.access, life, account, quota_project: None })
}

/// The file names the address that gives tokens; it must be https, so that no one can read the
/// exchange.
fn token_place(named: Option<&str>) -> Result<Url, TokenFailure> {
    let url = Url::parse(named.unwrap_or(TOKEN_URL)).ok().filter(is_trusted);
    url.ok_or_else(|| TokenFailure::Refused("its `token_uri` is not an https address".to_owned()))
}

fn assertion(
    account: &ServiceAccount,
    place: &Url,
    now: Timestamp,
) -> Result<Secret, &'static str> {
    let mut header = json!({"alg": "RS256", "typ": "JWT"});
    if let Some(id) = &account.private_key_id {
        header["kid"] = id.as_str().into();
    }
    let seconds = now.as_millis() / 1000;
    let audience = account.token_uri.as_deref().unwrap_or(place.as_str());
    let claims = json!({
        "iss": account.client_email, "scope": SCOPE, "aud": audience,
        "iat": seconds, "exp": seconds + ASSERTION_SECONDS,
    });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let pair = signer(account)?;
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .map_err(|_| "its `private_key` does not sign")?;
    Ok(Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

/// Reads the key from PEM, as the file has it.
fn signer(account: &ServiceAccount) -> Result<RsaKeyPair, &'static str> {
    let unfit = "its `private_key` is not an RSA key in PEM";
    let lines = account.private_key.reveal().lines().map(str::trim);
    let inner: String = lines.filter(|line| !line.starts_with("-----")).collect();
    let der = STANDARD.decode(inner).map_err(|_| unfit)?;
    RsaKeyPair::from_pkcs8(&der).map_err(|_| unfit)
}
