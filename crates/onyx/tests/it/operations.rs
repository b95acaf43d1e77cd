//! What operators of a server look at: the API description, metrics, logs, request ids.

use onyx_test_support::{
    Answer, DEFAULT_KEY, DEFAULT_TOKEN, ErrorKind, Script, ScriptedModel, Step, wait_for,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{SOON, onyx};

#[tokio::test]
async fn the_description_and_its_page_are_served_from_here_alone() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let document = onyx.get("/openapi.json").await.expect(200).json();
    assert_eq!(document["openapi"], "3.1.0");
    let page = crate::access::reqwest_client().get(onyx.url("/docs")).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    let page = page.text().await.unwrap();
    assert!(
        page.contains("/openapi.json") && !page.contains("http://") && !page.contains("https://")
    );
}

#[tokio::test]
async fn a_request_has_an_id_its_own_or_ours() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let given = onyx.request(Method::GET, "/v1/sessions").header("x-request-id", "mine-7");
    assert_eq!(given.send().await.unwrap().headers()["x-request-id"], "mine-7");
    let first = onyx.get("/v1/sessions").await.headers["x-request-id"].clone();
    let second = onyx.get("/nowhere").await.headers["x-request-id"].clone();
    assert!(first != second && first.to_str().unwrap().starts_with("req_"));
    let odd = onyx.request(Method::GET, "/health").header("x-request-id", "a b");
    assert_ne!(odd.send().await.unwrap().headers()["x-request-id"], "a b");
}

#[tokio::test]
async fn metrics_count_runs_tokens_models_and_streams() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    onyx.chat_stream(&json!({"message": "hi"})).await;
    model.push(Answer::error(ErrorKind::Auth));
    onyx.chat_stream(&json!({"message": "hi"})).await;
    model.push(Script::new([Step::Text("half".into()), Step::Hang]));
    let mut open = onyx.chat_lines(&json!({"message": "hi"})).await;
    open.until("text").await;
    let text = wait_for("the figures of both runs", SOON, async || {
        let text = onyx.get("/metrics").await.expect(200).text();
        let ends = ["onyx_runs_total{status=\"done\"} 1", "onyx_runs_total{status=\"error\"} 1"];
        ends.iter().all(|end| text.contains(end)).then_some(text)
    })
    .await;
    for line in [
        "onyx_runs_active 1",
        "onyx_runs_total{status=\"done\"} 1",
        "onyx_run_tokens_total{kind=\"input\"} 10",
        "onyx_run_seconds_count 2",
        "onyx_http_streams 1",
        "onyx_model_up{provider=\"mine\",model=\"some-model\"} 1",
        "onyx_model_calls_active{provider=\"mine\",model=\"some-model\"} 1",
        "onyx_model_calls_total{provider=\"mine\",model=\"some-model\",result=\"auth\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    // Search tables are loaded only where there is something to search.
    for name in ["onyx_search_people ", "onyx_search_table_bytes "] {
        assert!(text.lines().any(|found| found.starts_with(name)), "{name} is not in\n{text}");
    }
    // The title of the session is requested besides the runs, so there may be several requests.
    assert!(text.contains("model=\"some-model\",result=\"answered\"} "), "{text}");
}

#[tokio::test]
async fn the_log_is_shown_and_followed_with_ids_and_without_secrets() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let run = onyx.chat_stream(&json!({"message": "hi"})).await[0]["run_id"].clone();
    let run = run.as_str().unwrap();
    let lines = wait_for("the run's line", SOON, async || {
        let reply = onyx.get(&format!("/api/admin/logs?q={run}")).await.expect(200).json();
        reply["lines"].as_array().filter(|lines| !lines.is_empty()).cloned()
    })
    .await;
    assert_eq!(lines[0]["message"], "a run ended");
    assert_eq!(
        (&lines[0]["level"], &lines[0]["fields"]["status"]),
        (&json!("info"), &json!("done"))
    );
    assert!(lines[0]["fields"]["session"].is_string(), "{lines:?}");
    let errors = onyx.get("/api/admin/logs?level=error").await.expect(200).json();
    assert_eq!(errors["lines"], json!([]));
    let wrong = onyx.get("/api/admin/logs?level=loud").await.expect(400).json();
    assert_eq!(wrong["code"], "invalid_request");

    let feed =
        onyx.request(Method::GET, "/api/admin/logs?q=ended").header("accept", "text/event-stream");
    let mut feed = feed.send().await.unwrap();
    let second = onyx.chat_stream(&json!({"message": "again"})).await[0]["run_id"].clone();
    let second = second.as_str().unwrap();
    let mut seen = String::new();
    let all = async {
        while !seen.contains(second) {
            seen += std::str::from_utf8(&feed.chunk().await.unwrap().unwrap()).unwrap();
        }
    };
    tokio::time::timeout(SOON, all).await.expect("the feed tells of the second run");
    assert!(seen.find(run).unwrap() < seen.find(second).unwrap());

    // The broken config contains the provider's key, which an error message might repeat.
    std::fs::write(onyx.config_path(), format!("{{ broken {DEFAULT_KEY}")).unwrap();
    let told = wait_for("the broken config in the log", SOON, async || {
        let reply = onyx.get("/api/admin/logs?level=error").await.expect(200);
        let lines: Value = reply.json();
        (!lines["lines"].as_array().unwrap().is_empty()).then(|| reply.text())
    })
    .await;
    assert!(!told.contains(DEFAULT_KEY) && !told.contains(DEFAULT_TOKEN), "{told}");
}

#[tokio::test]
async fn asked_to_end_the_server_lets_answers_finish_and_tells_the_others() {
    let model = ScriptedModel::start().await;
    let mut onyx = onyx(&model).await;
    model.push(
        Script::new([Step::Text("sl".into()), Step::PauseMs(500), Step::Text("ow".into())])
            .ended(onyx_test_support::Finish::Stop),
    );
    let body = |words: &str| json!({"model": "main", "stream": true, "messages": [{"role": "user", "content": words}]});
    let client = onyx.client().clone();
    let ask = |words: &str| {
        client.request(Method::POST, "/v1/chat/completions").json(&body(words)).send()
    };
    let slow = ask("slow").await.unwrap();
    model.wait_for_requests(1).await;
    model.push(Script::new([Step::Text("half".into()), Step::Hang]));
    let stuck = ask("stuck").await.unwrap();
    model.wait_for_requests(2).await;
    let (status, slow, stuck) = tokio::join!(onyx.terminate(), slow.text(), stuck.text());
    assert!(status.success());
    let slow = slow.unwrap();
    assert!(
        slow.contains("\"sl\"") && slow.contains("\"ow\"") && slow.contains("\"stop\""),
        "{slow}"
    );
    let stuck = stuck.unwrap();
    assert!(stuck.contains("half") && stuck.contains("\"code\":\"cancelled\""), "{stuck}");
    assert!(slow.ends_with("data: [DONE]\n\n") && stuck.ends_with("data: [DONE]\n\n"));
}
