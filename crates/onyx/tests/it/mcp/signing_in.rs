//! Two gateways: one offers an agent under its address alone, and the other signs in there as a
//! client.

use onyx_test_support::{OnyxProcess, Reply};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::{accept_all, add, called, obedient, output, show, test};
use crate::{builder, command};

/// Plays the browser of a signed-in person who grants access.
pub(crate) async fn agree(onyx: &OnyxProcess, address: &str) -> String {
    let query = address.split_once('?').unwrap().1;
    let fields: serde_json::Map<String, Value> = onyx_mcp::oauth::pairs(query)
        .into_iter()
        .map(|(name, value)| (name, json!(value)))
        .collect();
    let looked = onyx.get(&format!("/api/oauth/request?{query}")).await.expect(200).json();
    assert_eq!(looked["name"], "Onyx", "{looked}");
    assert_eq!(looked["scopes"], json!(["read", "chat"]), "{looked}");
    let agreed = onyx.post("/api/oauth/authorize", &Value::Object(fields)).await.expect(200).json();
    agreed["redirect"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_client_signs_in_by_address_alone_and_its_tokens_are_sealed() {
    let (theirs, ours) = (obedient().await, obedient().await);
    let server = builder(&theirs).file("people/owner/vault/a.md", "their note\n").start().await;
    let client = builder(&ours).start().await;
    let url = server.client().url("/mcp");
    add(&client, "other", json!({"url": url, "effects": {"read_file": "read"}})).await;
    let refused = test(&client, "other").await;
    assert_eq!(refused["status"], "failing");
    assert!(refused["problem"].as_str().unwrap().contains("onyx mcp login"), "{refused}");
    let mut login = command(&client.home(), &["mcp", "login", "other"]).spawn().unwrap();
    let mut told = BufReader::new(login.stderr.take().unwrap()).lines();
    let address = loop {
        let line = told.next_line().await.unwrap().unwrap();
        if let Some(address) = line.split("browser: ").nth(1) {
            break address.to_owned();
        }
    };
    let back = agree(&server, &address).await;
    let page = crate::stranger().get(&back).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(login.wait().await.unwrap().success());
    let seen = accept_all(&client, "other").await;
    assert_eq!((&seen["signed_in"], &seen["protocol"]), (&json!(true), &json!("2026-07-28")));
    // The server offers more tools than fit a prompt, so they are called through `call_tool`.
    let call = json!({"name": "mcp:other/read_file", "arguments": {"path": "a.md"}});
    let (read, _) = called(&client, "call_tool", call).await;
    assert_eq!(output(&read), "their note\n");
    // The code was used and its state removed, so neither works again.
    let query = back.split_once('?').unwrap().1;
    let fields = onyx_mcp::oauth::pairs(query);
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).unwrap().1.clone();
    let again = json!({"state": field("state"), "code": field("code")});
    let refused = client.post("/api/admin/mcp/other/login/finish", &again).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("has expired"), "{refused}");
    // No file of the client's home holds a token in plain text.
    for entry in walk(&client.home()) {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("\"access\":\""), "{}", entry.display());
    }
    let out = client.post("/api/admin/mcp/other/logout", &json!({})).await.expect(200).json();
    assert_eq!(out["signed_in"], false);
    assert_eq!(test(&client, "other").await["status"], "failing");
    assert_eq!(show(&client, "other").await["signed_in"], false);
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// A request without a credential.
fn stranger(onyx: &OnyxProcess, method: Method, path: &str) -> reqwest::RequestBuilder {
    crate::stranger().request(method, onyx.client().url(path))
}

/// Sends a form to the token route, as client programs do.
async fn token(onyx: &OnyxProcess, fields: &[(&str, &str)], status: u16) -> Value {
    let request = stranger(onyx, Method::POST, "/oauth/token");
    let request = request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(onyx_mcp::oauth::form(fields));
    Reply::of(request).await.expect(status).json()
}

#[tokio::test]
async fn what_does_not_fit_gets_no_code_and_no_token() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let refused = Reply::of(stranger(&onyx, Method::POST, "/mcp").json(&ping)).await;
    let challenge = refused.headers["www-authenticate"].to_str().unwrap().to_owned();
    let base = onyx.client().base_url().to_owned();
    let place = format!("{base}/.well-known/oauth-protected-resource/mcp");
    assert!(challenge.contains(&place), "{challenge}");
    let metadata = onyx.get("/.well-known/oauth-authorization-server").await.expect(200).json();
    assert_eq!(metadata["issuer"], base.as_str());
    let wish = json!({"client_name": "T", "redirect_uris": ["http://127.0.0.1:1/cb"]});
    let client = Reply::of(stranger(&onyx, Method::POST, "/oauth/register").json(&wish)).await;
    let client = client.expect(201).json()["client_id"].as_str().unwrap().to_owned();
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    let good = json!({"response_type": "code", "client_id": client, "state": "s",
        "redirect_uri": "http://127.0.0.1:9/cb", "code_challenge": challenge,
        "code_challenge_method": "S256", "resource": format!("{base}/mcp"), "scope": "read"});
    for (field, value) in [
        ("client_id", json!("somebody")),
        ("redirect_uri", json!("http://evil.example/cb")),
        ("redirect_uri", json!("https://127.0.0.1/cb")),
        ("code_challenge_method", json!("plain")),
        ("resource", json!("https://evil.example/mcp")),
        ("scope", json!("admin")),
        ("response_type", json!("token")),
    ] {
        let mut wrong = good.clone();
        wrong[field] = value;
        let _ = onyx.post("/api/oauth/authorize", &wrong).await.expect(400);
    }
    // Only a signed-in person can grant access.
    let asked = stranger(&onyx, Method::POST, "/api/oauth/authorize").json(&good);
    let _ = Reply::of(asked).await.expect(401);
    let granted = onyx.post("/api/oauth/authorize", &good).await.expect(200).json();
    let back = granted["redirect"].as_str().unwrap().to_owned();
    assert!(back.starts_with("http://127.0.0.1:9/cb?code="), "{back}");
    let code = onyx_mcp::oauth::pairs(back.split_once('?').unwrap().1).remove(0).1;
    let fields = |verifier: &'static str| {
        [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("client_id", client.as_str()),
            ("redirect_uri", "http://127.0.0.1:9/cb"),
            ("code_verifier", verifier),
        ]
    };
    let refused = token(&onyx, &fields("a guess"), 400).await;
    assert_eq!(refused["error"], "invalid_grant");
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let spent = token(&onyx, &fields(verifier), 400).await;
    assert_eq!(spent["error"], "invalid_grant", "a wrong try spends the code");
    let granted = onyx.post("/api/oauth/authorize", &good).await.expect(200).json();
    let back = granted["redirect"].as_str().unwrap().to_owned();
    let code = onyx_mcp::oauth::pairs(back.split_once('?').unwrap().1).remove(0).1;
    let mut right = fields(verifier);
    right[1].1 = &code;
    let tokens = token(&onyx, &right, 200).await;
    assert_eq!(tokens["scope"], "read", "{tokens}");
    // The token allows exactly what was granted.
    let bearer = format!("Bearer {}", tokens["access_token"].as_str().unwrap());
    let read = stranger(&onyx, Method::GET, "/v1/sessions").header("authorization", &bearer);
    let _ = Reply::of(read).await.expect(200);
    let chat = stranger(&onyx, Method::POST, "/mcp").header("authorization", &bearer).json(&ping);
    let _ = Reply::of(chat).await.expect(403);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let renew = [("grant_type", "refresh_token"), ("refresh_token", refresh)];
    let renewed = token(&onyx, &renew, 200).await;
    assert!(renewed["access_token"].is_string(), "{renewed}");
    let _ = token(&onyx, &renew, 400).await;
}

#[tokio::test]
async fn another_programs_config_is_shown_and_then_written() {
    let model = obedient().await;
    let onyx = builder(&model).start().await;
    let user = tempfile::tempdir().unwrap();
    let settings = user.path().join(".config/zed/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let before = "{\n  // my theme\n  \"theme\": \"One\",\n}\n";
    std::fs::write(&settings, before).unwrap();
    let run = async |arguments: &[&str]| {
        let mut command = command(&onyx.home(), arguments);
        command.env("HOME", user.path()).env_remove("XDG_CONFIG_HOME");
        command.output().await.unwrap()
    };
    let shown = run(&["mcp", "install", "zed"]).await;
    assert!(!shown.status.success());
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("+") && text.contains("context_servers"), "{text}");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), before, "nothing was written");
    assert!(run(&["mcp", "install", "zed", "--yes"]).await.status.success());
    let after = std::fs::read_to_string(&settings).unwrap();
    assert!(after.contains("// my theme") && after.contains("\"mcp\""), "{after}");
    assert_eq!(
        std::fs::read_to_string(settings.with_extension("json.before-onyx")).unwrap(),
        before
    );
    for (client, file, section) in [
        ("claude", ".claude.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".config/Code/User/mcp.json", "servers"),
    ] {
        assert!(run(&["mcp", "install", client, "--yes"]).await.status.success(), "{client}");
        let written = std::fs::read_to_string(user.path().join(file)).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        let entry = &written[section]["onyx"];
        assert_eq!(entry["args"], json!(["mcp", "serve"]), "{written}");
        assert_eq!(entry["env"]["ONYX_HOME"], json!(onyx.home()), "{written}");
        assert!(std::path::Path::new(entry["command"].as_str().unwrap()).exists());
    }
}
