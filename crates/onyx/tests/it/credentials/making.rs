use onyx_test_support::{
    AgentClient, DEFAULT_PASSWORD as PASSWORD, OnyxProcess, Reply, ScriptedModel,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{log_in, with_scopes};
use crate::builder;

async fn household() -> (ScriptedModel, OnyxProcess) {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).merge(json!({"people": ["anna"]})).start().await;
    (model, onyx)
}

async fn put(client: &AgentClient, path: &str, body: Value) -> Reply {
    Reply::of(client.request(Method::PUT, path).json(&body)).await
}

async fn pairing_code(onyx: &OnyxProcess, client: &str) -> (String, String) {
    let stranger = AgentClient::new(onyx.base_url(), "");
    let begun = stranger.post("/api/auth/pair", &json!({"client": client})).await.expect(201);
    let text = |name: &str| begun.json()[name].as_str().unwrap().to_owned();
    (text("pairing_id"), text("code"))
}

#[tokio::test]
async fn a_first_password_is_set_only_by_who_may_do_all_that_it_opens() {
    let (_model, onyx) = household().await;
    let password = json!({"password": PASSWORD});
    for (person, scopes) in [
        ("owner", json!(["write"])),
        ("owner", json!(["read", "write", "chat"])),
        ("owner", json!(["write", "admin"])),
        ("anna", json!(["write"])),
        ("anna", json!(["write", "chat"])),
    ] {
        let client = with_scopes(&onyx, person, scopes.clone()).await;
        let refused = put(&client, "/api/auth/password", password.clone()).await;
        assert_eq!(refused.status, 403, "{person} {scopes}: {}", refused.text());
        assert_eq!(refused.json()["code"], "forbidden");
        assert_eq!(log_in(&onyx, 1, person, PASSWORD).await.status, 401, "{person} {scopes}");
    }
    // A credential with all rights of a person may set that person's first password.
    let anna = with_scopes(&onyx, "anna", json!(["read", "write", "chat"])).await;
    let _ = put(&anna, "/api/auth/password", password).await.expect(204);
    let signed_in = log_in(&onyx, 1, "anna", PASSWORD).await.expect(200).json();
    assert_eq!(signed_in["scopes"], json!(["read", "write", "chat"]));
    // Whoever knows the old password may change it, with any credential.
    let writes = with_scopes(&onyx, "anna", json!(["write"])).await;
    let wrong = json!({"current": "not the password", "password": "another password"});
    assert_eq!(put(&writes, "/api/auth/password", wrong).await.status, 403);
    let right = json!({"current": PASSWORD, "password": format!("{PASSWORD} anew")});
    let _ = put(&writes, "/api/auth/password", right).await.expect(204);
}

#[tokio::test]
async fn administration_alone_makes_nothing_that_reads_writes_or_chats() {
    let (_model, onyx) = household().await;
    let admin = with_scopes(&onyx, "owner", json!(["admin"])).await;
    let token = |scopes: Value| json!({"name": "more", "scopes": scopes});
    for scopes in [json!(["read"]), json!(["write"]), json!(["chat"]), json!(["admin", "read"])] {
        let refused = admin.post("/api/admin/tokens", &token(scopes.clone())).await;
        assert_eq!(refused.status, 403, "{scopes}: {}", refused.text());
    }
    let by_default = admin.post("/api/admin/tokens", &json!({"name": "more"})).await;
    assert_eq!(by_default.status, 403);
    for person in ["owner", "anna"] {
        let path = format!("/api/admin/people/{person}/password");
        let refused = put(&admin, &path, json!({"password": PASSWORD})).await;
        assert_eq!(refused.status, 403, "{}", refused.text());
        assert_eq!(log_in(&onyx, 1, person, PASSWORD).await.status, 401);
    }
    assert_eq!(admin.post("/api/admin/links", &json!({})).await.status, 403);
    for client in ["browser", "device"] {
        let (id, code) = pairing_code(&onyx, client).await;
        let refused = admin.post("/api/admin/pairings/approve", &json!({"code": code})).await;
        assert_eq!(refused.status, 403, "{client}: {}", refused.text());
        let waiting = admin.get(&format!("/api/auth/pair/{id}")).await.expect(200).json();
        assert_eq!(waiting, json!({"status": "pending"}), "{client}");
    }
    // The config holds the owner's token, which has all rights.
    let text = admin.get("/api/admin/config").await.expect(200).json()["text"].clone();
    assert_eq!(put(&admin, "/api/admin/config", json!({"text": text})).await.status, 403);
    // A credential may create credentials with the same rights as its own, and those may do so too.
    let same = admin.post("/api/admin/tokens", &token(json!(["admin"]))).await.expect(201).json();
    assert_eq!(same["scopes"], json!(["admin"]));
    let tokens = admin.post("/api/auth/token", &json!({})).await.expect(200).json();
    let refresh = json!({"refresh_token": tokens["refresh_token"]});
    let next = admin.post("/api/auth/refresh", &refresh).await.expect(200).json();
    let sdk = AgentClient::new(onyx.base_url(), next["access_token"].as_str().unwrap());
    assert_eq!(sdk.get("/api/auth/me").await.expect(200).json()["scopes"], json!(["admin"]));
    assert_eq!(sdk.post("/api/admin/tokens", &token(json!(["read"]))).await.status, 403);
}

#[tokio::test]
async fn who_may_do_everything_still_makes_everything() {
    let (_model, onyx) = household().await;
    let all = with_scopes(&onyx, "owner", json!(["read", "write", "chat", "admin"])).await;
    let (id, code) = pairing_code(&onyx, "browser").await;
    let approve = json!({"code": code, "person": "anna"});
    let _ = all.post("/api/admin/pairings/approve", &approve).await.expect(204);
    let picked = all.get(&format!("/api/auth/pair/{id}")).await.expect(200).json();
    assert_eq!(picked["status"], "approved");
    let _ = all.post("/api/admin/links", &json!({})).await.expect(200);
    let set = put(&all, "/api/admin/people/owner/password", json!({"password": PASSWORD})).await;
    let _ = set.expect(204);
    let signed_in = log_in(&onyx, 1, "owner", PASSWORD).await.expect(200).json();
    assert_eq!(signed_in["scopes"], json!(["read", "write", "chat", "admin"]));
}
