//! Captured content becomes a ref in markdown, and counts as foreign however it is edited.

use onyx_test_support::{Page, Site};
use serde_json::{Value, json};

use super::{house, house_with, patch};
use crate::documents::one_page_pdf;

const CAPTURE: &str = "/api/spaces/home/capture";

#[tokio::test]
async fn an_address_becomes_a_ref_in_markdown_that_is_found() {
    let page = "<html><head><title>Ferry times</title></head><body><article><h1>Ferry times</h1>\
        <p>The boat leaves at <b>Zwielicht</b>, every day of the week and also on feast days.</p>\
        <script>alert(1)</script></article></body></html>";
    let site = Site::start(move |path| match path {
        "/ferry" => Page::html(page),
        _ => Page { status: 404, ..Page::html("none") },
    })
    .await;
    let web = json!({"tools": {"web": {"allowPrivateHosts": [site.address().to_string()]}}});
    let (_model, onyx) = house_with(web).await;
    let url = format!("http://{}/ferry", site.address());
    let made =
        onyx.post(CAPTURE, &json!({"url": url, "tags": ["travel"]})).await.expect(201).json();
    assert_eq!(
        (&made["kind"], &made["title"], &made["origin"], &made["fields"], &made["tags"]),
        (
            &json!("ref"),
            &json!("Ferry times"),
            &json!("external"),
            &json!({"source": url}),
            &json!(["travel"])
        )
    );
    let body = made["body"].as_str().unwrap();
    assert!(body.contains("**Zwielicht**") && !body.contains("script"), "{body}");
    // After an edit by the person it still counts as foreign.
    let path = format!("/api/spaces/home/refs/{}", made["id"].as_str().unwrap());
    let edited = patch(&onyx, &path, &json!({"title": "Boats"})).await.expect(200).json();
    assert_eq!((&edited["title"], &edited["origin"]), (&json!("Boats"), &json!("external")));
    let found = onyx.get("/api/search?q=Zwielicht&types=ref").await.expect(200).json();
    assert_eq!(found["results"][0]["origin"], "external", "{found}");

    let missing = json!({"url": format!("http://{}/none", site.address())});
    let problem = onyx.post(CAPTURE, &missing).await.expect(400).json();
    assert_eq!(problem["field"], "url", "{problem}");
}

#[tokio::test]
async fn a_private_address_is_not_fetched() {
    let site = Site::start(|_| Page::html("<p>inside</p>")).await;
    let (_model, onyx) = house().await;
    let body = json!({"url": format!("http://{}/admin", site.address())});
    let problem = onyx.post(CAPTURE, &body).await.expect(400).json();
    assert_eq!(problem["field"], "url", "{problem}");
    assert_eq!(site.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn text_html_and_pdf_become_markdown() {
    let (_model, onyx) = house().await;
    let text = "---\norigin: person\n---\n# Note\n\nBeans need sun.";
    let made = onyx.post(CAPTURE, &json!({"text": text})).await.expect(201).json();
    assert_eq!((&made["title"], &made["origin"]), (&json!("Note"), &json!("external")));
    assert_eq!(made["body"], "# Note\n\nBeans need sun.\n");

    let pdf = one_page_pdf("Warranty until March");
    let file = json!({"name": "warranty.pdf", "data": pdf});
    let made = onyx.post(CAPTURE, &file).await.expect(201).json();
    assert_eq!(
        (&made["title"], &made["fields"]["source"]),
        (&json!("warranty.pdf"), &json!("warranty.pdf"))
    );
    assert!(made["body"].as_str().unwrap().contains("Warranty until March"), "{made}");

    let page =
        base64("<html><body><h1>Soup</h1><p>Leek and potato, simmered slowly.</p></body></html>");
    let file = json!({"name": "soup.html", "data": page, "title": "Dinner"});
    let made = onyx.post(CAPTURE, &file).await.expect(201).json();
    assert_eq!(made["title"], "Dinner");
    let body = made["body"].as_str().unwrap();
    assert!(body.contains("Leek") && !body.contains("<p>"), "{body}");
}

#[tokio::test]
async fn what_cannot_be_captured_says_which_field_is_wrong() {
    let (_model, onyx) = house().await;
    let wrong: [(Value, &str); 6] = [
        (json!({}), "url"),
        (json!({"url": "http://a.example", "text": "b"}), "url"),
        (json!({"url": "file:///etc/passwd"}), "url"),
        (json!({"text": "   "}), "text"),
        (json!({"data": "aGk="}), "name"),
        (json!({"data": "***", "name": "x"}), "data"),
    ];
    for (body, field) in wrong {
        let problem = onyx.post(CAPTURE, &body).await.expect(400).json();
        assert_eq!(problem["field"], field, "{body}: {problem}");
    }
    let broken = json!({"data": base64("%PDF-1.4 nonsense"), "name": "x.pdf"});
    assert_eq!(onyx.post(CAPTURE, &broken).await.expect(400).json()["field"], "data");
    assert_eq!(onyx.post("/api/spaces/none/capture", &json!({"text": "x"})).await.status, 404);
    let refs = onyx.get("/api/spaces/home/refs").await.expect(200).json();
    assert_eq!(refs, json!({"entities": []}));
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(text)
}
