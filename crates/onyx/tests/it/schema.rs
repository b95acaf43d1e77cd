//! A generic test program reads `/openapi.json` and checks the server against it: every route with
//! every check, always with the same seed. Routes that change credentials and the config are tested
//! on a server of their own.

use std::fmt::Write as _;

use onyx_test_support::{DEFAULT_TOKEN, ScriptedModel};
use serde_json::json;
use tokio::process::Command;

use crate::{builder, clients};

/// Statuses that a request may get if it fits its schema: success, no such thing, or a state in
/// which it is not possible now. An answer that the request is invalid is not allowed.
const FITTING: &[&str] =
    &["2xx", "303", "401", "403", "404", "409", "410", "412", "413", "422", "429", "5xx"];

/// Routes for which no schema can describe all valid requests. Only these skip the check that a
/// fitting request is accepted (`positive_data_acceptance`).
const MEANING: &[(&str, &str)] = &[
    ("GET /ws", "an upgrade, which OpenAPI has no words for"),
    (
        "POST /v1/chat/completions",
        "the last message must be one to answer; schemas count from the first",
    ),
    ("POST /v1/responses", "the same"),
    ("POST /v1/messages", "the same"),
    ("POST /api/v1/chat", "the same"),
    ("POST /v1/messages/count_tokens", "other makers' documents say what these hold"),
    ("POST /v1/responses/input_tokens", "the same"),
    ("POST /v1/completions", "the same"),
    ("POST /v1/audio/transcriptions", "the same"),
    ("POST /v1/audio/translations", "the same"),
    ("POST /v1/audio/speech", "the same"),
    ("POST /v1/images/generations", "the same"),
    ("POST /v1/images/edits", "the same"),
    ("POST /v1/moderations", "the same"),
    ("POST /v1/embeddings", "`dimensions` must be those of the model"),
    (
        "GET /v1/memory/search",
        "an agent or a scope, not both: parameters know nothing of each other",
    ),
    ("POST /v1/agents", "tools, models, commands and folders are named that must exist"),
    ("PUT /v1/agents/{id}", "the same"),
    ("PATCH /v1/agents/{id}", "the same"),
    ("PUT /api/admin/config", "a file in a language of its own"),
    ("PUT /api/admin/providers/{name}", "settings of a part of that file"),
    (
        "POST /api/admin/providers/{name}/login",
        "whether a provider has a sign-in is the config's to say",
    ),
    ("POST /api/admin/providers/{name}/login/callback", "the same"),
    ("POST /api/linkedin/login", "whether there is an application is the config's to say"),
    ("POST /api/linkedin/login/callback", "a sign-in must have been begun"),
    ("POST /api/sources", "paths and addresses are named that must lead somewhere"),
    ("POST /api/spaces/{id}/capture", "the same"),
    ("POST /api/jobs", "times, zones, commands and agents are named that must make sense together"),
    ("PATCH /api/jobs/{id}", "the same"),
    (
        "POST /api/admin/import",
        "a folder or an export is named that must hold what another program wrote",
    ),
    ("POST /api/admin/connectors/test", "a network is named that must be spoken here"),
    (
        "PUT /api/admin/connectors/{network}/{account}",
        "the same; settings are a part of the config",
    ),
    (
        "PUT /api/admin/connectors/{network}/{account}/peers/{id}/agent",
        "an agent is named that must exist",
    ),
    ("POST /api/admin/mcp", "the same; other programs' files are pasted here"),
    ("POST /api/admin/mcp/{name}/accept", "hashes are named of what was shown"),
    ("POST /api/admin/mcp/{name}/login", "an address is named that must be one of this machine"),
    ("GET /api/oauth/request", "a program is named that must have made itself known"),
    ("POST /api/oauth/authorize", "the same"),
    ("POST /api/admin/plugins", "one of three ways to bring it, and never two"),
    ("POST /api/skills/import", "one of three ways to bring it, and never two"),
    ("PUT /api/skills/{name}", "a file in a language of its own"),
];

/// Routes that stream even for unknown ids. Their events skip the check of their form, because
/// OpenAPI 3.1 cannot describe the data of an event.
const STREAMS: &[&str] = &["POST /api/storage/personas/{id}/test-inputs/{tid}/run"];

/// Routes that describe a second way to authenticate. A made-up key would make every request fail.
const KEYED: [&str; 2] = ["POST /v1/messages", "POST /v1/messages/count_tokens"];

/// The routes for credentials and for the owner's decisions about them.
const DOORS: &str =
    "^/(api/auth|auth|ws|api/admin/(config|people|tokens|links|pairings|secrets|providers))";

/// Routes whose errors follow another protocol. They have tests of their own.
const OTHER_PROTOCOLS: &str = "^/(mcp|oauth/register|oauth/token)$";

fn settings() -> String {
    let fitting: Vec<String> = FITTING.iter().map(|status| format!("\"{status}\"")).collect();
    let mut text = format!(
        "[checks]\npositive_data_acceptance.expected-statuses = [{}]\n",
        fitting.join(", ")
    );
    for (operation, why) in MEANING {
        let _ = write!(
            text,
            "\n# {why}\n[[operations]]\ninclude-name = \"{operation}\"\n\
             checks.positive_data_acceptance.enabled = false\n"
        );
        if KEYED.contains(operation) {
            let _ = writeln!(text, "headers = {{ x-api-key = \"{DEFAULT_TOKEN}\" }}");
        }
    }
    for operation in STREAMS {
        let _ = write!(
            text,
            "\n[[operations]]\ninclude-name = \"{operation}\"\n\
             checks.response_schema_conformance.enabled = false\n"
        );
    }
    text
}

/// Runs all checks that the settings do not switch off. `which` selects routes by a pattern.
async fn schemathesis(which: [&str; 2]) {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).merge(json!({"people": ["anna"]})).start().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("schemathesis.toml"), settings()).unwrap();
    let libraries = clients::libraries().await;
    let ran = Command::new(libraries.join("python/bin/schemathesis"))
        .arg("run")
        .arg(onyx.url("/openapi.json"))
        .args(which)
        .args(["--header", &format!("Authorization: Bearer {DEFAULT_TOKEN}")])
        .args(["--max-examples", "8", "--seed", "1", "--phases", "examples,coverage,fuzzing"])
        .args(["--request-timeout", "20"])
        // So many generated ids of models are invalid that the program would give up otherwise.
        .args(["--suppress-health-check", "filter_too_much,too_slow"])
        .env("NO_PROXY", "127.0.0.1,localhost")
        .current_dir(folder.path())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{out}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(out.contains("Tested: "), "{out}");
    // The tester's credential still works, so the last requests were tested like the first.
    assert_eq!(onyx.get("/api/auth/me").await.expect(200).json()["person"], "owner");
}

#[tokio::test]
async fn schemathesis_finds_nothing_wrong_at_the_doors() {
    schemathesis(["--include-path-regex", DOORS]).await;
}

#[tokio::test]
async fn schemathesis_finds_nothing_wrong_behind_them() {
    schemathesis(["--exclude-path-regex", &format!("{DOORS}|{OTHER_PROTOCOLS}")]).await;
}

#[tokio::test]
async fn what_is_spared_a_check_is_a_route_and_says_why() {
    let routes = onyx_api::routes().table();
    for (operation, why) in MEANING {
        let is_route = |route: &onyx_api::Route| {
            format!("{} {}", route.method, route.path.replace("{*", "{")) == *operation
        };
        assert!(routes.iter().any(is_route), "{operation} is no route");
        assert!(!why.is_empty());
    }
}
