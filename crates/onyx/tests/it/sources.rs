//! Knowledge sources through the server: attached, imported, found by searches, removed.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use onyx_test_support::{OnyxProcess, Reply, ScriptedModel, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use crate::documents::one_page_pdf;
use crate::{SOON, builder};

pub(crate) async fn server() -> (ScriptedModel, OnyxProcess) {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .file("people/owner/spaces/home/space.json", "{\"name\": \"Home\"}")
        .file("people/owner/vault/manuals/boiler.md", "# Boiler\n\nThe valve is called Ottokar.")
        .start()
        .await;
    (model, onyx)
}

fn in_home(more: &Value) -> Value {
    let mut body = json!({"scope": {"type": "space", "id": "home"}});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

pub(crate) async fn attach(onyx: &OnyxProcess, more: Value) -> Value {
    let made = onyx.client().post("/api/sources", &in_home(&more)).await.expect(201).json();
    let id = made["id"].as_str().unwrap();
    // The progress is sent up to the end of the import, and after it the source is ready.
    let events = onyx.client().get(&format!("/api/sources/{id}/events")).await.expect(200).text();
    assert!(events.trim_end().lines().any(|line| line == "event: done"), "{events}");
    onyx.client().get(&format!("/api/sources/{id}")).await.expect(200).json()
}

pub(crate) async fn found(onyx: &OnyxProcess, words: &str) -> Vec<Value> {
    let path = format!("/api/search?q={words}&types=source");
    let found = onyx.client().get(&path).await.expect(200).json();
    found["results"].as_array().unwrap().clone()
}

#[tokio::test]
async fn pasted_text_is_found_until_it_is_taken_away() {
    let (_model, onyx) = server().await;
    let source =
        attach(&onyx, json!({"kind": "text", "title": "Ferry", "text": "It leaves at Zwielicht."}))
            .await;
    assert_eq!((&source["state"], &source["kind"]), (&json!("ready"), &json!("text")));

    let hits = found(&onyx, "Zwielicht").await;
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(hits[0]["origin"], "external");
    assert_eq!(hits[0]["scope"], json!({"type": "space", "id": "home"}));

    let path = format!("/api/sources/{}", source["id"].as_str().unwrap());
    let _ = Reply::of(onyx.client().request(Method::DELETE, &path)).await.expect(204);
    let _ = onyx.client().get(&path).await.expect(404);
    wait_for("its text to be gone", SOON, async || {
        found(&onyx, "Zwielicht").await.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_sent_pdf_is_read_and_found() {
    let (_model, onyx) = server().await;
    let data = one_page_pdf("Warranty for the Quastenflosser");
    let source = attach(&onyx, json!({"kind": "file", "name": "warranty.pdf", "data": data})).await;
    assert_eq!(source["state"], "ready", "{source}");
    assert_eq!(found(&onyx, "Quastenflosser").await.len(), 1);
}

#[tokio::test]
async fn a_sent_file_may_be_as_large_as_a_document_may_be() {
    let (_model, onyx) = server().await;
    let words = format!("{}Quastenflosser", "word ".repeat(12_000_000 / 5));
    let large = json!({"kind": "file", "name": "large.txt", "data": BASE64_STANDARD.encode(words)});
    let made = onyx.client().post("/api/sources", &in_home(&large)).await.expect(201).json();
    assert_eq!(made["from"], "large.txt");
    let path = format!("/api/sources/{}", made["id"].as_str().unwrap());
    let source = wait_for("the import", SOON * 6, async || {
        let source = onyx.client().get(&path).await.expect(200).json();
        (source["state"] != "importing").then_some(source)
    })
    .await;
    assert_eq!(source["documents"][0]["bytes"], 12_000_014, "{source}");
    let larger = "x".repeat(46_000_000);
    let larger = in_home(&json!({"kind": "file", "name": "larger.txt", "data": larger}));
    let problem = onyx.client().post("/api/sources", &larger).await.expect(413).json();
    assert_eq!(problem["code"], "too_large", "{problem}");
}

#[tokio::test]
async fn a_folder_of_the_vault_is_synced_when_asked() {
    let (_model, onyx) = server().await;
    let source = attach(&onyx, json!({"kind": "folder", "path": "manuals"})).await;
    assert_eq!(source["documents"].as_array().unwrap().len(), 1);
    std::fs::write(onyx.home().join("people/owner/vault/manuals/new.md"), "Grottenolm").unwrap();

    let path = format!("/api/sources/{}", source["id"].as_str().unwrap());
    let _ = onyx.client().post(&path, &json!({})).await.expect(200);
    let synced = wait_for("the sync", SOON, async || {
        let source = onyx.client().get(&path).await.expect(200).json();
        (source["state"] != "importing").then_some(source)
    });
    assert_eq!(synced.await["documents"].as_array().unwrap().len(), 2);
    assert_eq!(found(&onyx, "Grottenolm").await.len(), 1);
}

#[tokio::test]
async fn a_wrong_request_names_its_field() {
    let (_model, onyx) = server().await;
    let wrong = [
        (in_home(&json!({"kind": "url", "url": "ftp://example.org"})), "url"),
        (in_home(&json!({"kind": "file", "name": "x"})), "path"),
        (in_home(&json!({"kind": "file", "name": "x", "data": "***"})), "data"),
        (in_home(&json!({"kind": "folder", "path": "../.."})), "path"),
        (
            json!({"scope": {"type": "space", "id": "none"}, "kind": "text", "text": "x"}),
            "scope.id",
        ),
        (
            json!({"scope": {"type": "space", "id": "No Such"}, "kind": "text", "text": "x"}),
            "scope.id",
        ),
        (
            json!({"scope": {"type": "agent", "id": "nobody"}, "kind": "text", "text": "x"}),
            "scope.id",
        ),
    ];
    for (body, field) in wrong {
        let problem = onyx.client().post("/api/sources", &body).await.expect(400).json();
        assert_eq!(problem["field"], field, "{body}: {problem}");
    }
    let _ =
        onyx.client().post("/api/sources", &in_home(&json!({"kind": "dream"}))).await.expect(400);
    let _ = onyx.client().get("/api/sources/nonsense").await.expect(404);
    let listed = onyx.client().get("/api/sources").await.expect(200).json();
    assert_eq!(listed, json!({"sources": []}));
}
