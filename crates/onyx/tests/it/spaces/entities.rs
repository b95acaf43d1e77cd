//! Spaces and the files in them.

use onyx_test_support::{AgentClient, Reply};
use reqwest::Method;
use serde_json::json;

use super::{delete, etag, house, patch, send};

#[tokio::test]
async fn a_space_is_made_renamed_given_an_agent_and_removed() {
    let (_model, onyx) = house().await;
    let made = onyx.post("/api/spaces", &json!({"name": " Garden  plans "})).await.expect(201);
    assert_eq!(made.headers["location"], "/api/spaces/garden-plans");
    assert_eq!(
        (&made.json()["id"], &made.json()["name"]),
        (&json!("garden-plans"), &json!("Garden plans"))
    );
    let second = onyx.post("/api/spaces", &json!({"name": "Garden plans"})).await.expect(201);
    assert_eq!(second.json()["id"], "garden-plans-2");
    let foreign = onyx.post("/api/spaces", &json!({"name": "庭"})).await.expect(201).json();
    assert_eq!((&foreign["id"], &foreign["name"]), (&json!("space"), &json!("庭")));

    let path = "/api/spaces/garden-plans";
    let changed = patch(&onyx, path, &json!({"default_agent": "scout"})).await.expect(200);
    assert_eq!(changed.json()["default_agent"], "scout");
    let renamed = patch(&onyx, path, &json!({"name": "Beds"})).await.expect(200).json();
    assert_eq!((&renamed["name"], &renamed["default_agent"]), (&json!("Beds"), &json!("scout")));
    let stale = onyx.request(Method::PATCH, path).header("if-match", etag(&made));
    let stale = Reply::of(stale.json(&json!({"name": "x"}))).await.expect(412).json();
    assert_eq!(stale["code"], "version_conflict");
    let cleared = patch(&onyx, path, &json!({"default_agent": null})).await.expect(200).json();
    assert_eq!(cleared.get("default_agent"), None);

    let all = onyx.get("/api/spaces").await.expect(200).json();
    let names: Vec<_> = all["spaces"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["Beds", "Garden plans", "Home", "庭"]);
    let _ = onyx
        .post(&format!("{path}/pages"), &json!({"title": "Soil", "body": "loam"}))
        .await
        .expect(201);
    let _ = delete(&onyx, path).await.expect(204);
    let _ = onyx.get(path).await.expect(404);
    assert!(!onyx.home().join("people/owner/spaces/garden-plans").exists());
    let kept = std::fs::read_dir(onyx.home().join("people/owner/history")).unwrap().count();
    assert!(kept > 0, "what it held is kept");
}

#[tokio::test]
async fn an_entity_is_a_file_whose_other_keys_survive_every_change() {
    let (_model, onyx) = house().await;
    let new = json!({"title": "Fix the tap", "status": "open", "tags": ["water"], "body": "It drips.",
        "fields": {"due": "2026-12-01"}});
    let made = onyx.post("/api/spaces/home/tasks", &new).await.expect(201);
    let path = made.headers["location"].to_str().unwrap().to_owned();
    assert_eq!(path, "/api/spaces/home/tasks/fix-the-tap");
    let file = onyx.home().join("people/owner/spaces/home/tasks/fix-the-tap.md");
    let text = std::fs::read_to_string(&file).unwrap();
    // Another program adds front matter that Onyx does not know.
    let edited = text.replacen("---\n", "---\nnested:\n  - a: 1\n# a comment\n", 1);
    std::fs::write(&file, &edited).unwrap();

    let seen = onyx.get(&path).await.expect(200);
    assert_ne!(etag(&seen), etag(&made));
    let change = json!({"status": "done", "fields": {"due": null, "owner": "Anna"}});
    let stale = onyx.request(Method::PATCH, &path).header("if-match", etag(&made));
    let stale = Reply::of(stale.json(&change)).await.expect(412).json();
    assert_eq!(stale["code"], "version_conflict");
    let fresh = onyx.request(Method::PATCH, &path).header("if-match", etag(&seen));
    let done = Reply::of(fresh.json(&change)).await.expect(200);
    let view = done.json();
    assert_eq!((&view["status"], &view["tags"]), (&json!("done"), &json!(["water"])));
    assert_eq!(view["fields"], json!({"owner": "Anna"}));
    assert_eq!((&view["origin"], &view["body"]), (&json!("person"), &json!("It drips.\n")));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("nested:\n  - a: 1\n# a comment\n"), "{text}");

    let listed = onyx.get("/api/spaces/home/tasks?status=done").await.expect(200).json();
    assert_eq!(listed["entities"][0]["version"], view["version"]);
    assert_eq!(listed["entities"][0].get("body"), None);
    let open = onyx.get("/api/spaces/home/tasks?status=open").await.expect(200).json();
    assert_eq!(open, json!({"entities": []}));

    let stale = onyx.request(Method::DELETE, &path).header("if-match", etag(&seen));
    assert_eq!(Reply::of(stale).await.status, 412);
    let _ = delete(&onyx, &path).await.expect(204);
    let _ = onyx.get(&path).await.expect(404);
    assert!(!file.exists());
    let versions = onyx.home().join("people/owner/history/files/spaces/home/tasks");
    assert!(versions.exists(), "the versions before are kept");
}

#[tokio::test]
async fn lists_are_paged_and_ids_lead_nowhere_else() {
    let (_model, onyx) = house().await;
    for title in ["One", "Two", "Three", "../../etc/passwd", "Größe: 5 m²"] {
        let _ = onyx.post("/api/spaces/home/pages", &json!({"title": title})).await.expect(201);
    }
    let mut seen = Vec::new();
    let mut path = "/api/spaces/home/pages?limit=2".to_owned();
    loop {
        let page = onyx.get(&path).await.expect(200).json();
        let ids = page["entities"].as_array().unwrap().iter();
        seen.extend(ids.map(|entity| entity["id"].as_str().unwrap().to_owned()));
        let Some(before) = page["before"].as_str() else { break };
        path = format!("/api/spaces/home/pages?limit=2&before={before}");
    }
    seen.sort();
    assert_eq!(seen, ["etc-passwd", "größe-5-m²", "one", "three", "two"]);
    let one = onyx.get("/api/spaces/home/pages/gr%C3%B6%C3%9Fe-5-m%C2%B2").await.expect(200);
    assert_eq!(one.json()["title"], "Größe: 5 m²");

    for path in [
        "/api/spaces/home/pages/..%2Fspace",
        "/api/spaces/home/pages/..%2F..%2F..%2Fvault%2Fsecret",
        "/api/spaces/home/pages/.hidden",
        "/api/spaces/home/notes/one",
        "/api/spaces/..%2Fhome/pages/one",
        "/api/spaces/none/pages",
    ] {
        assert_eq!(onyx.get(path).await.status, 404, "{path}");
        assert_eq!(
            delete(&onyx, path).await.status,
            if path.ends_with("/pages") { 405 } else { 404 }
        );
    }
    for (body, field) in [
        (json!({"title": "  "}), "title"),
        (json!({"title": "x".repeat(301)}), "title"),
        (json!({"title": "x", "tags": "no"}), "tags"),
    ] {
        let wrong = onyx.post("/api/spaces/home/pages", &body).await.expect(400).json();
        assert_eq!(wrong["field"], field, "{wrong}");
    }
    let fields = json!({"title": "x", "fields": {"origin": "person"}});
    assert_eq!(onyx.post("/api/spaces/home/pages", &fields).await.status, 400);
    let agent = json!({"name": "x", "default_agent": "nobody"});
    let wrong = onyx.post("/api/spaces", &agent).await.expect(404).json();
    assert_eq!(wrong["field"], "default_agent");
}

#[tokio::test]
async fn another_person_sees_none_of_it() {
    let (_model, onyx) = house().await;
    let _ = onyx.post("/api/spaces/home/pages", &json!({"title": "Mine"})).await.expect(201);
    let token = json!({"name": "annas", "people": ["anna"]});
    let token = onyx.post("/api/admin/tokens", &token).await.expect(201).json();
    let anna = AgentClient::new(onyx.base_url(), token["token"].as_str().unwrap());
    assert_eq!(anna.get("/api/spaces").await.expect(200).json(), json!({"spaces": []}));
    for path in ["/api/spaces/home", "/api/spaces/home/pages", "/api/spaces/home/pages/mine"] {
        assert_eq!(anna.get(path).await.status, 404, "{path}");
    }
    let _ = anna.post("/api/spaces", &json!({"name": "Home"})).await.expect(201);
    let _ = anna.post("/api/spaces/home/pages", &json!({"title": "Hers"})).await.expect(201);
    let own = onyx.get("/api/spaces/home/pages").await.expect(200).json();
    assert_eq!(own["entities"].as_array().unwrap().len(), 1);
    assert_eq!(
        send(&onyx, Method::PATCH, "/api/spaces/home/pages/hers", &json!({})).await.status,
        404
    );
}
