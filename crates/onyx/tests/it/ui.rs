//! The web app as the server sends it, whether or not it is built.

use onyx_test_support::{OnyxProcess, Reply, ScriptedModel};
use reqwest::{Method, RequestBuilder};

fn page(onyx: &OnyxProcess, path: &str) -> RequestBuilder {
    onyx.request(Method::GET, path).header("accept", "text/html,*/*")
}

#[tokio::test]
async fn pages_of_the_app_are_html_with_the_policy_and_no_cache() {
    let model = ScriptedModel::start().await;
    let onyx = crate::onyx(&model).await;
    for path in ["/", "/chat", "/chat/0197f3a0-0000-7000-8000-000000000001", "/settings"] {
        let reply = Reply::of(page(&onyx, path)).await;
        assert!([200, 503].contains(&reply.status), "{path}: {}", reply.status);
        assert_eq!(reply.headers["content-type"], "text/html; charset=utf-8", "{path}");
        let policy = reply.headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: \
                 data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; \
                 frame-ancestors 'none'"
            ),
            "{policy}"
        );
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        if reply.status == 503 {
            assert!(reply.text().contains("scripts/web"), "{}", reply.text());
            continue;
        }
        assert_eq!(reply.headers["cache-control"], "no-cache");
        assert!(reply.text().contains("<div id=\"root\">"), "{}", reply.text());
        let tag = reply.headers["etag"].clone();
        let again = Reply::of(page(&onyx, path).header("if-none-match", tag)).await;
        assert_eq!((again.status, again.body.len()), (304, 0));
        let packed = Reply::of(page(&onyx, path).header("accept-encoding", "gzip, br;q=0.9")).await;
        assert_eq!(packed.headers["content-encoding"], "br");
    }
}

#[tokio::test]
async fn the_preview_frame_has_an_origin_of_its_own_and_no_network() {
    let model = ScriptedModel::start().await;
    let onyx = crate::onyx(&model).await;
    let reply = Reply::of(page(&onyx, "/preview.html")).await;
    if reply.status == 503 {
        return;
    }
    let policy = reply.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("sandbox allow-scripts; default-src 'none'; "), "{policy}");
    assert!(policy.ends_with("frame-ancestors 'self'"), "{policy}");
    for loophole in ["allow-same-origin", "connect-src", "http", "frame-src", "*"] {
        assert!(!policy.contains(loophole), "{loophole}: {policy}");
    }
    // The app's frames cannot navigate elsewhere, and no other site can embed the app.
    let app = Reply::of(page(&onyx, "/chat")).await;
    let policy = app.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("frame-src 'self'; "), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'; "), "{policy}");
}

#[tokio::test]
async fn the_app_never_answers_for_the_server() {
    let model = ScriptedModel::start().await;
    let onyx = crate::onyx(&model).await;
    for path in
        ["/api/nothing", "/v1/nothing", "/auth/nothing", "/assets/nothing.js", "/mcp/nothing"]
    {
        let reply = Reply::of(page(&onyx, path)).await.expect(404);
        assert_eq!(reply.json()["code"], "not_found", "{path}");
    }
    // A client that does not accept HTML gets no page.
    assert_eq!(onyx.get("/nothing").await.expect(404).json()["code"], "not_found");
    assert_eq!(Reply::of(onyx.request(Method::POST, "/")).await.status, 404);
    assert_eq!(Reply::of(page(&onyx, "/../../etc/passwd")).await.text().find("root:"), None);
}
