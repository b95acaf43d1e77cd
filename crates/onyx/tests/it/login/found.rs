//! Model servers of this machine that are not configured.

use onyx_test_support::{Page, ScriptedModel, Site, Wire, wait_for};
use serde_json::{Value, json};

use crate::{SOON, builder};

const FOUND: &str = "/api/admin/providers/found";
/// A port at which nothing listens.
const DEAD: u16 = 9;

fn ports(ollama: u16, lmstudio: u16) -> String {
    format!("ollama={ollama},lmstudio={lmstudio},vllm={DEAD},llama.cpp={DEAD},llamacpp={DEAD}")
}

#[tokio::test]
async fn what_answers_is_found_with_its_models_and_what_is_dead_is_left_out() {
    let model = ScriptedModel::start().await;
    let ollama = Site::start(|_| {
        let models = json!([{"name": "llama3:latest", "size": 1}, {"name": "qwen3:8b", "size": 2}]);
        Page::json(json!({"models": models}).to_string())
    })
    .await;
    let port = ollama.address().port();
    let onyx = builder(&model).env("ONYX_LOCAL_PORTS", ports(port, DEAD)).start().await;
    // A busy machine may need more than the half second that the server gets to answer.
    let (asked, found) = wait_for("the server to be found", SOON, async || {
        let before = ollama.requests().len();
        let found = onyx.get(FOUND).await.expect(200).json();
        let asked = ollama.requests().split_off(before);
        (found["found"] != json!([])).then_some((asked, found))
    })
    .await;
    let latency = found["found"][0]["latency_ms"].clone();
    assert!(latency.as_u64().is_some_and(|latency| latency < 500), "{found}");
    let expected = json!({"found": [{"name": "ollama", "latency_ms": latency,
        "base_url": format!("http://127.0.0.1:{port}"), "models": ["llama3:latest", "qwen3:8b"],
        "answers_with": "llama3:latest"}]});
    assert_eq!(found, expected);
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("GET /api/tags ") && !asked[0].contains("authorization"));
}

#[tokio::test]
async fn what_is_configured_is_not_found_whatever_it_is_called() {
    let (model, here) = (ScriptedModel::start().await, ScriptedModel::start().await);
    let port = here.address().port();
    let base = here.base_url_of(Wire::Ollama).replace("127.0.0.1", "localhost");
    for providers in [
        json!({"ollama": {"baseUrl": "http://127.0.0.1:9"}}),
        json!({"house": {"kind": "ollama", "baseUrl": base}}),
    ] {
        let onyx = builder(&model)
            .merge(json!({"providers": providers}))
            .env("ONYX_LOCAL_PORTS", ports(port, DEAD))
            .start()
            .await;
        let before = here.connections();
        assert_eq!(onyx.get(FOUND).await.expect(200).json(), json!({"found": []}));
        assert_eq!(here.connections(), before);
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_at_once_or_not_with_models_is_not_there() {
    let model = ScriptedModel::start().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let page = Site::start(|_| Page::html("hello")).await;
    let ports = ports(silent.local_addr().unwrap().port(), page.address().port());
    let onyx = builder(&model).env("ONYX_LOCAL_PORTS", ports).start().await;
    let start = std::time::Instant::now();
    let found: Value = onyx.get(FOUND).await.expect(200).json();
    assert_eq!(found, json!({"found": []}));
    // The search takes half a second for all servers; the rest allows for a busy machine.
    assert!(start.elapsed() < std::time::Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(page.requests().len(), 1);
}
