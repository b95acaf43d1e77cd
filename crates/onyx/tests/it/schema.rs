//! A stranger reads `/openapi.json` and holds the server to it.

use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess, ScriptedModel};
use tokio::process::Command;

use crate::{clients, onyx};

/// Routes that would take away the config, the credential or the people that the others are tried
/// with, or that ask a provider that the tests have made up.
const LEFT_OUT: &str = "^/(api/auth/(logout|password)|auth|api/admin/(config|people|tokens|links|pairings|secrets|providers)|ws)";

/// Every check but one: requests that fit their schema and mean nothing (an empty message, a result
/// for no call) are refused, and no schema can say which those are.
const ALL_BUT_MEANING: &[&str] =
    &["--checks", "all", "--exclude-checks", "positive_data_acceptance", "--exclude-path-regex"];

async fn schemathesis(onyx: &OnyxProcess, arguments: &[&str]) {
    let libraries = clients::libraries().await;
    let ran = Command::new(libraries.join("python/bin/schemathesis"))
        .arg("run")
        .arg(onyx.url("/openapi.json"))
        .args(arguments)
        .args(["--header", &format!("Authorization: Bearer {DEFAULT_TOKEN}")])
        .args(["--max-examples", "8", "--seed", "1", "--phases", "examples,coverage,fuzzing"])
        .args(["--request-timeout", "20"])
        // Ids of models are refused by their form so often that it gives up making them.
        .args(["--suppress-health-check", "filter_too_much"])
        .env("NO_PROXY", "127.0.0.1,localhost")
        .current_dir(onyx.home())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{out}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(out.contains("Tested: "), "{out}");
}

#[tokio::test]
async fn schemathesis_finds_no_server_error_and_no_answer_that_is_not_described() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    schemathesis(&onyx, &[ALL_BUT_MEANING, &[LEFT_OUT]].concat()).await;
}
