//! The owner's content vault beside Onyx, through the real server.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use onyx_test_support::{Page, Site};
use serde_json::json;
use ssh_key::LineEnding;
use ssh_key::private::{Ed25519Keypair, Ed25519PrivateKey, PrivateKey};
use ssh_key::public::Ed25519PublicKey;

use crate::accounts::run_with_input;
use crate::builder;
use crate::drafts::{message, obedient, path};
use crate::run;

fn key_file() -> String {
    let seed = [9; 32];
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
    let public = Ed25519PublicKey(pair.public_key().as_ref().try_into().unwrap());
    let keys = Ed25519Keypair { public, private: Ed25519PrivateKey::from_bytes(&seed) };
    PrivateKey::from(keys).to_openssh(LineEnding::LF).unwrap().to_string()
}

#[tokio::test]
async fn a_vault_is_named_in_the_config_its_key_sealed_and_what_goes_there_approved() {
    let site = Site::start(|path| match path.split('?').next().unwrap_or_default() {
        "/api/v1/search" => Page::json(r#"{"results": [{"id": "c1", "title": "Tides"}]}"#),
        _ => Page::json(r#"{"id": "c2", "file_path": "x", "file_size": 1}"#),
    })
    .await;
    let model = obedient().await;
    let menos = json!({"tools": {"menos": {"baseUrl": site.url("/"), "key": "secret:menos"}}});
    let onyx = builder(&model).merge(menos).start().await;
    let home = onyx.home();
    let dependency = async || {
        let health = onyx.get("/api/health").await.expect(200).json();
        let all = health["dependencies"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["name"] == "menos").unwrap()
    };
    let before = dependency().await;
    assert_eq!(before["state"], "degraded", "{before}");
    let set = run_with_input(&home, &["secrets", "set", "menos"], &key_file()).await;
    assert_eq!(set.code, Some(0), "{set:?}");
    assert_eq!(dependency().await["state"], "ok");
    let search = message(&[("menos_search", json!({"query": "tides"}))]);
    let events = onyx.chat_stream(&json!({"message": search})).await;
    let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(result["ok"], true, "{result}");
    assert!(model.last_request().body.to_string().contains("Tides"), "the model reads it");
    let keep = message(&[("menos_ingest", json!({"title": "Ferry", "text": "Leaves at eight."}))]);
    let body = json!({"model": "onyx:main", "messages": [{"role": "user", "content": keep}]});
    drop(onyx.post("/v1/chat/completions", &body).await.expect(200));
    let list = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    let draft = list["drafts"][0]["id"].as_str().unwrap();
    assert_eq!(site.requests().len(), 1, "nothing goes before it is approved");
    drop(onyx.post(&format!("{}/approve", path(draft)), &json!({})).await.expect(200));
    let requests = site.requests();
    let sent = &requests[1];
    assert!(
        sent.starts_with("POST /api/v1/content?content_type=markdown&title=Ferry HTTP/1.1"),
        "{sent}"
    );
    assert!(sent.contains("filename=\"Ferry.md\"") && sent.contains("Leaves at eight."), "{sent}");
    assert!(sent.contains("signature: sig1=:"), "{sent}");
    // The key is in no log and no answer, and a model that is shown a line of it gets a mask.
    let middle = key_file().lines().nth(2).unwrap().to_owned();
    std::fs::create_dir_all(home.join("people/owner/vault")).unwrap();
    std::fs::write(home.join("people/owner/vault/key.txt"), format!("x {middle} y\n")).unwrap();
    let read = message(&[("read_file", json!({"path": "key.txt"}))]);
    onyx.chat_stream(&json!({"message": read})).await;
    let told = model.last_request().body.to_string();
    assert!(told.contains("x [") && !told.contains(&middle), "{told}");
    assert!(!onyx.log().contains(&middle));
    let config = run(&home, &["doctor"]).await;
    assert!(!config.out.contains(&middle), "{config:?}");
}
