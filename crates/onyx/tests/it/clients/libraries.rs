//! Libraries that each need an environment of their own: `make test-clients`.

use std::path::Path;

use onyx_test_support::DEFAULT_TOKEN;
use tokio::process::Command;

use super::{installed, programs, server};

/// Runs the program of a library, and hands what it has seen to who makes the table.
async fn check(name: &str) {
    let folder = installed(name).await;
    let (_model, onyx) = server().await;
    let output = Command::new(folder.join("python/bin/python"))
        .arg(programs().join(name).join("program.py"))
        .env("PYTHONPATH", programs())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("ONYX_URL", onyx.base_url())
        .env("ONYX_TOKEN", DEFAULT_TOKEN)
        .env("NO_PROXY", "127.0.0.1,localhost")
        .env_remove("HTTP_PROXY")
        .env_remove("http_proxy")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}:\n{said}\n{wrong}\n{}", onyx.log());
    let seen: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("ok: ")).collect();
    assert!(seen.len() >= 9, "{name} has checked too little: {seen:?}");
    record(name, &seen);
}

/// One file for each client, where the script asks for them.
#[allow(clippy::disallowed_methods, reason = "the script says where")]
pub(super) fn record(name: &str, seen: &[&str]) {
    if let Some(folder) = std::env::var_os("ONYX_CLIENT_RESULTS") {
        std::fs::write(Path::new(&folder).join(name), seen.join("\n")).unwrap();
    }
}

#[tokio::test]
#[ignore = "make test-clients"]
async fn litellm_works_unchanged() {
    check("litellm").await;
}

#[tokio::test]
#[ignore = "make test-clients"]
async fn pydantic_ai_works_unchanged() {
    check("pydantic_ai").await;
}

#[tokio::test]
#[ignore = "make test-clients"]
async fn openai_agents_works_unchanged() {
    check("openai_agents").await;
}

#[tokio::test]
#[ignore = "make test-clients"]
async fn smolagents_works_unchanged() {
    check("smolagents").await;
}

#[tokio::test]
#[ignore = "make test-clients"]
async fn llama_index_works_unchanged() {
    check("llama_index").await;
}

#[tokio::test]
#[ignore = "make test-clients"]
async fn llm_works_unchanged() {
    check("llm").await;
}
