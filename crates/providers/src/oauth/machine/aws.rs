//! Amazon's own files: a profile of the shared credentials, or a role that a person signed in to
//! with `aws sso login`. They are read when keys are needed, as Amazon's programs do, and never
//! written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use onyx_types::Timestamp;
use reqwest::Url;
use serde::Deserialize;

use crate::Secret;
use crate::oauth::endpoint::Endpoint;

const LONGEST_FILE: u64 = 1024 * 1024;

/// A profile, and the paths of the files that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsIdentity {
    profile: String,
    config: PathBuf,
    credentials: PathBuf,
    cache: PathBuf,
    /// The address that replaces Amazon's own, which gives keys for a role.
    portal: Option<String>,
}

/// Keys that sign requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsKeys {
    pub access_key: String,
    pub secret_key: Secret,
    pub session_token: Option<Secret>,
    /// When the keys expire; a person's own keys do not.
    pub expires_at: Option<Timestamp>,
}

type Section = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CachedToken {
    access_token: Secret,
    expires_at: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleAnswer {
    role_credentials: RoleKeys,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleKeys {
    access_key_id: String,
    secret_access_key: Secret,
    session_token: Secret,
    /// Milliseconds since 1970.
    expiration: i64,
}

/// A profile's role, with the name of its cached token.
struct Role<'a> {
    account: &'a str,
    role: &'a str,
    region: &'a str,
    /// The session or the address after which the cached token's file is named.
    named_after: &'a str,
}

impl AwsIdentity {
    /// Finds the identity as Amazon's own programs do; `None` without a home folder.
    pub fn of(profile: Option<&str>, variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let folder = PathBuf::from(set("HOME")?).join(".aws");
        let file =
            |name: &str, usual: &str| set(name).map_or_else(|| folder.join(usual), PathBuf::from);
        let named = profile.filter(|profile| !profile.is_empty()).map(str::to_owned);
        Some(Self {
            profile: named.or_else(|| set("AWS_PROFILE")).unwrap_or_else(|| "default".to_owned()),
            config: file("AWS_CONFIG_FILE", "config"),
            credentials: file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            cache: folder.join("sso/cache"),
            portal: set("AWS_ENDPOINT_URL_SSO"),
        })
    }

    /// The region of the profile, if it names one.
    pub fn region(&self) -> Option<String> {
        self.section(&sections(&self.config)).get("region").cloned()
    }

    /// Whether the profile exists.
    pub fn is_there(&self) -> bool {
        let in_config = !self.section(&sections(&self.config)).is_empty();
        in_config || sections(&self.credentials).contains_key(&self.profile)
    }

    /// The current keys, or why there are none and what to do.
    pub async fn keys(&self, now: Timestamp) -> Result<AwsKeys, String> {
        let identity = self.clone();
        let read = tokio::task::spawn_blocking(move || {
            (sections(&identity.credentials), sections(&identity.config))
        });
        let (credentials, config) = read.await.map_err(|error| error.to_string())?;
        let own = credentials.get(&self.profile).cloned().unwrap_or_default();
        let section = self.section(&config);
        for from in [&own, &section] {
            if let (Some(access), Some(secret)) =
                (from.get("aws_access_key_id"), from.get("aws_secret_access_key"))
            {
                return Ok(AwsKeys {
                    access_key: access.clone(),
                    secret_key: Secret::new(secret.as_str()),
                    session_token: from.get("aws_session_token").map(|it| Secret::new(it.as_str())),
                    expires_at: None,
                });
            }
        }
        match self.role(&section, &config) {
            Some(role) => self.keys_of(&role, now).await,
            None => Err(format!(
                "the AWS profile `{}` has neither keys nor a sign-in: add it with `aws configure` \
                 or `aws configure sso`",
                self.profile
            )),
        }
    }

    /// `[default]` is the one profile whose section has no `profile` before its name.
    fn section(&self, config: &BTreeMap<String, Section>) -> Section {
        let named = config.get(&format!("profile {}", self.profile));
        let plain = (self.profile == "default").then(|| config.get("default")).flatten();
        named.or(plain).cloned().unwrap_or_default()
    }

    fn role<'a>(
        &self,
        section: &'a Section,
        config: &'a BTreeMap<String, Section>,
    ) -> Option<Role<'a>> {
        let (account, role) = (section.get("sso_account_id")?, section.get("sso_role_name")?);
        let (region, named_after) = match section.get("sso_session") {
            Some(session) => {
                (config.get(&format!("sso-session {session}"))?.get("sso_region")?, session)
            }
            None => (section.get("sso_region")?, section.get("sso_start_url")?),
        };
        Some(Role { account, role, region, named_after })
    }

    async fn keys_of(&self, role: &Role<'_>, now: Timestamp) -> Result<AwsKeys, String> {
        let again = format!("run `aws sso login --profile {}`", self.profile);
        let token = self.cached(role.named_after).await.ok_or_else(|| {
            format!("nobody is signed in to AWS for the profile `{}`: {again}", self.profile)
        })?;
        let is_over = token.expires_at.parse::<Timestamp>().map_or(true, |at| at <= now);
        if is_over {
            return Err(format!("the AWS sign-in has ended: {again}"));
        }
        let usual = || format!("https://portal.sso.{}.amazonaws.com", role.region);
        let portal = self.portal.clone().unwrap_or_else(usual);
        let mut url = Url::parse(&format!("{portal}/federation/credentials"))
            .map_err(|error| error.to_string())?;
        url.query_pairs_mut()
            .append_pair("role_name", role.role)
            .append_pair("account_id", role.account);
        let place = Endpoint::of(&url);
        let answered = place.get_showing("x-amz-sso_bearer_token", &token.access_token).await;
        let (status, body) = answered.map_err(|refusal| refusal.words().to_owned())?;
        if status.as_u16() == 401 || status.as_u16() == 403 {
            return Err(format!("AWS no longer takes the sign-in ({}): {again}", status.as_u16()));
        }
        let answer: RoleAnswer = serde_json::from_slice(&body).map_err(|_| {
            format!("AWS gives no keys for the role: it answers {}", status.as_u16())
        })?;
        let keys = answer.role_credentials;
        Ok(AwsKeys {
            access_key: keys.access_key_id,
            secret_key: keys.secret_access_key,
            session_token: Some(keys.session_token),
            expires_at: Some(Timestamp::from_millis(keys.expiration)),
        })
    }

    /// The file of a sign-in is named after its session, or after its address.
    async fn cached(&self, named_after: &str) -> Option<CachedToken> {
        let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, named_after.as_bytes());
        let name: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let path = self.cache.join(format!("{name}.json"));
        let text = tokio::task::spawn_blocking(move || read(&path)).await.ok()?;
        serde_json::from_str(&text?).ok()
    }
}

fn read(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(LONGEST_FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Parses `[name]` and `key = value`; an indented line belongs to a nested setting, which is not
/// needed here. A missing file has no sections.
fn sections(path: &Path) -> BTreeMap<String, Section> {
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    let mut current = None;
    for line in read(path).unwrap_or_default().lines() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) || is_nested {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let words: Vec<&str> = name.0.split_whitespace().collect();
            current = Some(words.join(" "));
            sections.entry(words.join(" ")).or_default();
        } else if let (Some(current), Some((key, value))) = (&current, line.split_once('=')) {
            let section = sections.entry(current.clone()).or_default();
            section.insert(key.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    sections
}
