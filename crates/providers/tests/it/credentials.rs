//! Tokens of machines: Google's service accounts and default credentials, applications of Entra.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use onyx_providers::{AwsIdentity, AwsKeys, ProviderSettings, Registry, Secret};
use onyx_test_support::{Page, Site};
use onyx_types::{ModelFailureClass, Timestamp};
use serde_json::{Value, json};

use crate::page_server::PageServer;
use crate::support::{NO_BREAKER, NO_RETRY, ask, class_of, failure_of};

const SECRET: &str = "hush-canary7f3a91c5";

/// A server that issues `token-1`, `token-2`, … for this many seconds each.
async fn tokens(seconds: u64) -> Site {
    let given = AtomicU32::new(0);
    Site::start(move |_| {
        let number = given.fetch_add(1, Ordering::SeqCst) + 1;
        let token = format!("token-{number}-canary7f3a91c5");
        let body = json!({"access_token": token, "expires_in": seconds, "token_type": "Bearer"});
        Page::json(body.to_string())
    })
    .await
}

async fn refusing(error: &'static str) -> Site {
    Site::start(move |_| Page {
        status: 400,
        ..Page::json(json!({"error": error, "error_description": "Token was revoked."}).to_string())
    })
    .await
}

fn registry(name: &str, settings: Value, environment: &[(&str, String)]) -> Registry {
    let settings: ProviderSettings = serde_json::from_value(settings).unwrap();
    let read = |wanted: &str| {
        environment.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.clone())
    };
    Registry::resolve([(name.to_owned(), settings)], &read)
        .with_retry(NO_RETRY)
        .with_breaker(NO_BREAKER)
}

fn bearer(number: u32) -> String {
    format!("authorization: Bearer token-{number}-canary7f3a91c5")
}

struct ServiceAccount {
    file: Value,
    public: Vec<u8>,
}

fn service_account(token_uri: &str) -> ServiceAccount {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
    let pem = format!(
        "{0}BEGIN {1}{0}\n{2}\n{0}END {1}{0}\n",
        "-----",
        "PRIVATE KEY",
        STANDARD.encode(der.as_ref())
    );
    let file = json!({"type": "service_account", "project_id": "p", "private_key_id": "k1",
        "private_key": pem, "client_email": "agent@p.iam.gserviceaccount.com",
        "token_uri": token_uri});
    ServiceAccount { file, public: pair.public_key().as_ref().to_vec() }
}

fn written(folder: &Path, content: &Value) -> String {
    let path = folder.join("key.json");
    std::fs::write(&path, content.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_service_account_signs_for_its_token_once_for_everybody_who_waits() {
    let (issuer, folder) = (tokens(3600).await, tempfile::tempdir().unwrap());
    let backend = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let account = service_account(&issuer.url("/token"));
    let file = format!("file:{}", written(folder.path(), &account.file));
    let base = format!("{}/v1/projects/p/locations/r", backend.origin());
    let settings = json!({"baseUrl": base, "credentials": {"google": file}});
    let registry = registry("vertex_ai", settings, &[]);
    let status = registry.status().remove(0);
    assert_eq!(status.account.as_deref(), Some("agent@p.iam.gserviceaccount.com"));
    let model = registry.model("vertex_ai/gemini-flash").unwrap();
    futures::future::join_all((0..10).map(|_| ask(&model))).await;
    let asked = backend.asked();
    assert_eq!((asked.len(), issuer.requests().len()), (10, 1));
    assert!(asked.iter().all(|one| one.head.contains(&bearer(1))), "{}", asked[0].head);

    let request = issuer.requests().remove(0);
    let (_, form) = request.split_once("\r\n\r\n").unwrap();
    let form = reqwest::Url::parse(&format!("form:x?{form}")).unwrap();
    let field = |name: &str| {
        form.query_pairs()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
            .unwrap()
    };
    assert_eq!(field("grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let assertion = field("assertion");
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &account.public);
    key.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    let part = |number: usize| -> Value {
        let part = signed.split('.').nth(number).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    assert_eq!(part(0), json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}));
    let claims = part(1);
    assert_eq!(claims["iss"], "agent@p.iam.gserviceaccount.com");
    assert_eq!(claims["aud"], issuer.url("/token"));
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/cloud-platform");
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 3600);
}

#[tokio::test]
async fn a_token_that_is_old_or_refused_is_replaced() {
    let (issuer, folder) = (tokens(0).await, tempfile::tempdir().unwrap());
    let refused = Arc::new(AtomicU32::new(0));
    let backend = PageServer::answering(move |asked| {
        let is_second = asked.head.contains(&bearer(2));
        if is_second && refused.fetch_add(1, Ordering::SeqCst) == 0 {
            return (401, r#"{"error": {"message": "no"}}"#.to_owned());
        }
        (500, "{}".to_owned())
    })
    .await;
    let file = format!("file:{}", written(folder.path(), &service_account(&issuer.url("/")).file));
    let settings = json!({"baseUrl": backend.origin(), "credentials": {"google": file}});
    let registry = registry("vertex_claude", settings, &[]);
    let model = registry.model("vertex_claude/claude").unwrap();
    ask(&model).await;
    ask(&model).await;
    let seen: Vec<bool> =
        backend.asked().iter().map(|asked| asked.head.contains("token-")).collect();
    assert_eq!(seen, [true, true, true]);
    assert!(backend.asked()[0].head.contains(&bearer(1)));
    assert!(backend.asked()[1].head.contains(&bearer(2)), "the first was old");
    assert!(backend.asked()[2].head.contains(&bearer(3)), "the second was refused");
}

#[tokio::test]
async fn default_credentials_of_a_person_are_renewed_and_say_who_pays() {
    let (issuer, folder) = (tokens(3600).await, tempfile::tempdir().unwrap());
    let backend = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let user = |at: &Site| {
        json!({"type": "authorized_user", "client_id": "c", "client_secret": SECRET,
            "refresh_token": "r-canary7f3a91c5", "quota_project_id": "payer",
            "account": "jo@example.org", "token_uri": at.url("/token")})
    };
    let path = written(folder.path(), &user(&issuer));
    let environment = [("GOOGLE_APPLICATION_CREDENTIALS", path)];
    // Neither key nor credentials are set, so a known provider of Google's asks the metadata
    // server.
    let registry = registry("vertex_ai", json!({"baseUrl": backend.origin()}), &environment);
    let model = registry.model("vertex_ai/gemini-flash").unwrap();
    ask(&model).await;
    let head = backend.asked().remove(0).head;
    assert!(head.contains(&bearer(1)) && head.contains("x-goog-user-project: payer"), "{head}");
    assert_eq!(registry.status().remove(0).account.as_deref(), Some("jo@example.org"));
    let request = issuer.requests().remove(0);
    assert!(request.contains("grant_type=refresh_token&client_id=c&client_secret="), "{request}");

    let revoked = refusing("invalid_grant").await;
    written(folder.path(), &user(&revoked));
    let again = self::registry("vertex_ai", json!({"baseUrl": backend.origin()}), &environment);
    let failure = failure_of(&ask(&again.model("vertex_ai/gemini-flash").unwrap()).await);
    assert_eq!(failure.class, ModelFailureClass::Auth);
    assert!(failure.message.contains("Token was revoked."), "{failure:?}");
    assert!(failure.message.contains("gcloud auth application-default login"), "{failure:?}");
    // The file is read each time, so signing in again is enough.
    written(folder.path(), &user(&issuer));
    ask(&again.model("vertex_ai/gemini-flash").unwrap()).await;
    assert!(backend.asked().last().unwrap().head.contains(&bearer(2)));
}

#[tokio::test]
async fn a_machine_of_googles_asks_its_metadata_server_and_another_says_what_to_do() {
    let metadata = tokens(3600).await;
    let backend = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let home = tempfile::tempdir().unwrap();
    let host = metadata.url("").trim_start_matches("http://").to_owned();
    let home = ("HOME", home.path().to_str().unwrap().to_owned());
    let settings = json!({"baseUrl": backend.origin(), "credentials": {"google": "default"}});
    let on_google =
        registry("mine", with_kind(&settings), &[home.clone(), ("GCE_METADATA_HOST", host)]);
    ask(&on_google.model("mine/gemini-flash").unwrap()).await;
    assert!(backend.asked()[0].head.contains(&bearer(1)));
    let request = metadata.requests().remove(0);
    let path = "/computeMetadata/v1/instance/service-accounts/default/token";
    assert!(request.starts_with(&format!("GET {path} ")), "{request}");
    assert!(request.to_lowercase().contains("metadata-flavor: google"), "{request}");

    let nowhere = ("GCE_METADATA_HOST", "127.0.0.1:9".to_owned());
    let elsewhere = registry("mine", with_kind(&settings), &[home, nowhere]);
    let failure = failure_of(&ask(&elsewhere.model("mine/gemini-flash").unwrap()).await);
    assert_eq!(failure.class, ModelFailureClass::Auth);
    assert!(failure.message.contains("gcloud auth application-default login"), "{failure:?}");
}

fn with_kind(settings: &Value) -> Value {
    let mut settings = settings.clone();
    settings["kind"] = "gemini".into();
    settings
}

#[tokio::test]
async fn an_application_of_entra_asks_azure_with_its_token() {
    let issuer = tokens(3600).await;
    let backend = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let azure = |authority: String| {
        json!({"baseUrl": backend.origin(), "apiVersion": "2025-04-01-preview",
            "credentials": {"azure": {"tenant": "contoso.example", "clientId": "app-1",
                "clientSecret": "${SECRET}", "authority": authority}}})
    };
    let environment = [("SECRET", SECRET.to_owned())];
    let works = registry("azure", azure(issuer.url("")), &environment);
    ask(&works.model("azure/gpt-5-mini").unwrap()).await;
    let asked = backend.asked().remove(0);
    assert!(asked.head.contains(&bearer(1)) && !asked.head.contains("api-key"), "{}", asked.head);
    assert_eq!(works.status().remove(0).account.as_deref(), Some("application app-1"));
    let request = issuer.requests().remove(0);
    assert!(request.starts_with("POST /contoso.example/oauth2/v2.0/token "), "{request}");
    assert!(request.contains("grant_type=client_credentials&client_id=app-1"), "{request}");
    assert!(request.contains("scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default"));

    let revoked = refusing("invalid_client").await;
    let fails = registry("azure", azure(revoked.url("")), &environment);
    let events = ask(&fails.model("azure/gpt-5-mini").unwrap()).await;
    assert_eq!(class_of(&events), ModelFailureClass::Auth);
    let message = failure_of(&events).message;
    assert!(message.contains("`providers.azure.credentials` brings no token"), "{message}");
    assert!(!message.contains(SECRET), "{message}");
}

#[tokio::test]
async fn credentials_that_are_none_disable_their_provider_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let reason = |name: &str, credentials: Value| {
        let settings = json!({"baseUrl": "http://127.0.0.1:9", "credentials": credentials});
        let registry = registry(name, settings, &[("SECRET", SECRET.to_owned())]);
        registry.model(&format!("{name}/m")).err().unwrap().to_string()
    };
    let count = AtomicU32::new(0);
    let file = |content: Value| {
        let path = folder.path().join(format!("{}.json", count.fetch_add(1, Ordering::SeqCst)));
        std::fs::write(&path, content.to_string()).unwrap();
        json!({"google": format!("file:{}", path.display())})
    };
    let mut broken = service_account("https://example.org/token").file;
    broken["private_key"] =
        format!("{0}BEGIN {1}{0}\nbm8=\n{0}END {1}{0}", "-----", "PRIVATE KEY").into();
    let azure = json!({"tenant": "a/b", "clientId": "c", "clientSecret": SECRET});
    for (credentials, words) in [
        (file(json!({"type": "external_account"})), "neither service_account nor"),
        (file(json!([])), "it does not read"),
        (file(broken), "not an RSA key in PEM"),
        (json!({}), "needs `google` or `azure`"),
        (json!({"google": "default", "azure": azure}), "only one of them"),
        (json!({"azure": azure}), "`credentials.azure.tenant`"),
    ] {
        let said = reason("vertex_ai", credentials);
        assert!(said.contains(words), "{words}: {said}");
        assert!(!said.contains("canary"), "{said}");
    }
}

fn aws(home: &Path, profile: Option<&str>, portal: &str) -> AwsIdentity {
    let (home, portal) = (home.to_str().unwrap().to_owned(), portal.to_owned());
    let read = move |name: &str| match name {
        "HOME" => Some(home.clone()),
        "AWS_ENDPOINT_URL_SSO" => Some(portal.clone()),
        _ => None,
    };
    AwsIdentity::of(profile, &read).unwrap()
}

fn now() -> Timestamp {
    "2026-11-17T08:00:00Z".parse().unwrap()
}

#[tokio::test]
async fn a_profile_of_amazons_files_brings_its_keys_and_region() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".aws");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("credentials"),
        "# mine\n[default]\naws_access_key_id = AKID1\naws_secret_access_key=hush/1=\n\n\
         [ work ]\naws_access_key_id = AKID2\naws_secret_access_key = hush2\n\
         aws_session_token = session2\n",
    )
    .unwrap();
    let config = "[default]\nregion = eu-west-1\ns3 =\n  region = nowhere\n[profile work]\nregion=us-east-1\n";
    std::fs::write(folder.join("config"), config).unwrap();
    let default = aws(home.path(), None, "http://127.0.0.1:9");
    let keys = |access: &str, secret: &str, session: Option<&str>| AwsKeys {
        access_key: access.to_owned(),
        secret_key: Secret::new(secret),
        session_token: session.map(Secret::new),
        expires_at: None,
    };
    assert_eq!(default.keys(now()).await, Ok(keys("AKID1", "hush/1=", None)));
    assert_eq!(default.region().as_deref(), Some("eu-west-1"));
    let work = aws(home.path(), Some("work"), "http://127.0.0.1:9");
    assert_eq!(work.keys(now()).await, Ok(keys("AKID2", "hush2", Some("session2"))));
    assert_eq!(work.region().as_deref(), Some("us-east-1"));
    let nobody = aws(home.path(), Some("nobody"), "http://127.0.0.1:9");
    assert!(default.is_there() && !nobody.is_there());
    assert!(nobody.keys(now()).await.unwrap_err().contains("aws configure"));
}

#[tokio::test]
async fn a_role_that_somebody_signed_in_to_brings_keys_that_end() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".aws");
    std::fs::create_dir_all(folder.join("sso/cache")).unwrap();
    let config = "[profile team]\nsso_session = corp\nsso_account_id = 123456789012\n\
        sso_role_name = Reader\nregion = eu-central-1\n[sso-session corp]\n\
        sso_region = eu-central-1\nsso_start_url = https://corp.awsapps.com/start\n";
    std::fs::write(folder.join("config"), config).unwrap();
    let portal = Site::start(|path| match path {
        "/federation/credentials?role_name=Reader&account_id=123456789012" => Page::json(
            json!({"roleCredentials": {"accessKeyId": "ASIA1", "secretAccessKey": "hush",
                "sessionToken": "session", "expiration": 1_794_900_000_000_i64}})
            .to_string(),
        ),
        _ => Page { status: 404, ..Page::json("{}") },
    })
    .await;
    let team = aws(home.path(), Some("team"), &portal.url(""));
    let nobody = team.keys(now()).await.unwrap_err();
    assert!(nobody.contains("aws sso login --profile team"), "{nobody}");
    // The file name is the output of `printf corp | sha1sum`.
    let cached = folder.join("sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json");
    let sign_in = |until: &str| {
        let token = json!({"accessToken": "sso-canary7f3a91c5", "expiresAt": until,
            "region": "eu-central-1"});
        std::fs::write(&cached, token.to_string()).unwrap();
    };
    sign_in("2026-11-17T07:59:59Z");
    let over = team.keys(now()).await.unwrap_err();
    assert!(over.contains("has ended") && over.contains("aws sso login"), "{over}");
    assert!(portal.requests().is_empty());
    sign_in("2026-11-17T09:00:00Z");
    let keys = team.keys(now()).await.unwrap();
    assert_eq!((keys.access_key.as_str(), keys.secret_key.reveal()), ("ASIA1", "hush"));
    assert_eq!(keys.expires_at, Some(Timestamp::from_millis(1_794_900_000_000)));
    let request = portal.requests().remove(0).to_lowercase();
    assert!(request.contains("x-amz-sso_bearer_token: sso-canary7f3a91c5"), "{request}");

    let refusing = Site::start(|_| Page { status: 401, ..Page::json("{}") }).await;
    let refused = aws(home.path(), Some("team"), &refusing.url("")).keys(now()).await.unwrap_err();
    assert!(refused.contains("no longer takes") && !refused.contains("canary"), "{refused}");
}
