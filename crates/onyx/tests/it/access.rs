//! Who may use the server: tokens, Host, Origin, the socket.

use onyx_test_support::{
    AgentClient, DEFAULT_TOKEN, Reply, Script, ScriptedModel, Step, wait_until,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{SOON, builder, config, onyx};

#[tokio::test]
async fn a_token_that_is_taken_away_takes_its_live_streams_along() {
    let model = ScriptedModel::start().await;
    model.push(Script::new([Step::Text("half".into()), Step::Hang]));
    let onyx = onyx(&model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "hi"})).await;
    let start = lines.until("start").await;
    lines.until("text").await;
    let run = start["run_id"].as_str().unwrap();
    let events = onyx.request(Method::GET, &format!("/api/runs/{run}/events"));
    let mut events = events.send().await.unwrap();
    let mut config = config(&model);
    config["gateway"]["auth"]["token"] = json!("onyx_sk_other");
    std::fs::write(onyx.config_path(), config.to_string()).unwrap();
    let ended = async {
        while lines.next().await.is_some() {}
        while let Ok(Some(_)) = events.chunk().await {}
    };
    tokio::time::timeout(SOON, ended).await.expect("both streams end");
}

#[tokio::test]
async fn other_hosts_and_other_sites_are_turned_away_whatever_they_carry() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let port = onyx.base_url().rsplit(':').next().unwrap().to_owned();
    let ask = |path: &str, headers: &[(&str, String)]| {
        let mut request = onyx.request(Method::GET, path);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        Reply::of(request)
    };
    for path in ["/health", "/v1/sessions"] {
        let evil = "evil.example".to_owned();
        for headers in [
            vec![("host", evil.clone())],
            vec![("host", format!("{evil}:{port}"))],
            vec![("host", format!("127.0.0.1.{evil}"))],
            vec![("origin", format!("http://{evil}"))],
            vec![("origin", "null".to_owned())],
            vec![("origin", "http://localhost:1".to_owned())],
            vec![("host", evil), ("origin", format!("http://127.0.0.1:{port}"))],
        ] {
            let reply = ask(path, &headers).await;
            assert_eq!(
                (reply.status, &reply.json()["code"]),
                (403, &json!("forbidden")),
                "{headers:?}"
            );
        }
        for headers in [
            vec![],
            vec![("host", format!("localhost:{port}"))],
            vec![("origin", format!("http://127.0.0.1:{port}"))],
        ] {
            assert_eq!(ask(path, &headers).await.status, 200, "{headers:?}");
        }
    }
}

#[tokio::test]
async fn without_a_configured_token_a_file_is_made_that_only_the_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let model = ScriptedModel::start().await;
    let mut onyx = builder(&model).merge(json!({"gateway": {"auth": Value::Null}})).start().await;
    let path = onyx.home().join("token");
    let token = std::fs::read_to_string(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(token.starts_with("onyx_sk_") && token.trim().len() > 40, "{token}");
    // The server prints this after its address, when it answers already.
    let place = path.display().to_string();
    wait_until("the place of the token in the log", SOON, || onyx.log().contains(&place)).await;
    assert!(!onyx.log().contains(token.trim()));
    let status = async |base: &str, token: &str| {
        AgentClient::new(base, token).get("/v1/sessions").await.status
    };
    assert_eq!(status(onyx.base_url(), token.trim()).await, 200);
    assert_eq!(status(onyx.base_url(), DEFAULT_TOKEN).await, 401);
    onyx.restart().await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), token);
    assert_eq!(status(onyx.base_url(), token.trim()).await, 200);
}

#[tokio::test]
async fn the_socket_is_the_owners_and_asks_for_the_key_beside_it() {
    use std::os::unix::fs::PermissionsExt;
    let model = ScriptedModel::start().await;
    let mut onyx = onyx(&model).await;
    let [socket, key] = ["onyx.sock", "onyx.sock.key"].map(|name| onyx.home().join(name));
    for file in [&socket, &key] {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    #[allow(clippy::disallowed_methods)]
    let client = reqwest::Client::builder().unix_socket(socket.as_path()).build().unwrap();
    let asked = async |path: &str, key: Option<&str>| {
        let request = client.get(format!("http://anything{path}"));
        let request =
            key.iter().fold(request, |request, key| request.header("x-onyx-socket-key", *key));
        Reply::of(request).await
    };
    let first = std::fs::read_to_string(&key).unwrap();
    assert_eq!(first.len(), 64);
    let reply = asked("/v1/sessions", Some(&first)).await;
    assert_eq!((reply.status, reply.json()), (200, json!({"sessions": []})));
    // The same user is refused without the key, with a wrong key, and with another secret of the
    // home.
    let wrong = "0".repeat(64);
    for sent in [None, Some(""), Some(wrong.as_str()), Some(&first[..63]), Some(DEFAULT_TOKEN)] {
        for path in [
            "/v1/sessions",
            "/api/admin/config",
            "/api/admin/providers",
            "/health",
            "/ready",
            "/nowhere",
        ] {
            let reply = asked(path, sent).await;
            assert_eq!(reply.status, 401, "{path} {sent:?}");
            assert_eq!(reply.json()["code"], "unauthenticated", "{path}");
        }
    }
    onyx.restart().await;
    assert_eq!(asked("/v1/sessions", Some(&first)).await.status, 401, "a start makes a new key");
    let second = std::fs::read_to_string(&key).unwrap();
    assert_ne!(first, second);
    assert_eq!(asked("/v1/sessions", Some(&second)).await.status, 200);
}

#[allow(clippy::disallowed_methods)]
pub(crate) fn reqwest_client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}
