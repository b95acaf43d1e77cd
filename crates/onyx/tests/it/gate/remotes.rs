//! Pulls and pushes: exactly what was shown and approved is sent, and only to the shown address.

use base64::Engine as _;
use onyx_test_support::{OnyxProcess, ScriptedModel};
use serde_json::{Value, json};

use super::forge::{Forge, git};
use super::{obedient, results, told};
use crate::builder;
use crate::drafts::{message, path};

/// A server whose agent may act and may reach these forges.
async fn with_forges(model: &ScriptedModel, forges: &[&Forge], more: Value) -> OnyxProcess {
    let hosts: Vec<String> = forges.iter().map(|forge| forge.host()).collect();
    let onyx = builder(model)
        .merge(json!({
            "agents": {"list": [
                {"id": "main", "default": true, "model": "mine/some-model", "tier": "act"},
            ]},
            "tools": {"web": {"allowPrivateHosts": hosts}},
        }))
        .merge(more)
        .start()
        .await;
    let folder = vault(&onyx);
    std::fs::create_dir_all(&folder).unwrap();
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(folder.join("a.md"), "one\n").unwrap();
    git(&folder, &["add", "a.md"]);
    git(&folder, &["commit", "--quiet", "--message", "the first words"]);
    onyx
}

fn vault(onyx: &OnyxProcess) -> std::path::PathBuf {
    onyx.home().join("people/owner/vault")
}

/// The question that a call leads to.
async fn asked(onyx: &OnyxProcess, tool: &str) -> Value {
    let mut lines = onyx.chat_lines(&json!({"message": message(&[(tool, json!({}))])})).await;
    lines.until("confirm").await
}

async fn refused(onyx: &OnyxProcess, tool: &str) -> String {
    let events = told(onyx, &[(tool, json!({}))]).await;
    let result = results(&events)[0].clone();
    assert_eq!(result["ok"], false, "{result:#}");
    result["output"].as_str().unwrap().to_owned()
}

async fn approve(onyx: &OnyxProcess, question: &Value) -> onyx_test_support::Reply {
    let draft = path(question["draft_id"].as_str().unwrap());
    onyx.post(&format!("{draft}/approve"), &json!({})).await
}

fn shown(question: &Value) -> String {
    question["preview"]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_push_shows_where_what_and_which_commits_and_does_exactly_that() {
    let (model, forge) = (obedient().await, Forge::open().await);
    let there = forge.repository("mine.git");
    let onyx = with_forges(&model, &[&forge], json!({})).await;
    let folder = vault(&onyx);
    git(&folder, &["remote", "add", "origin", &forge.url("mine.git")]);
    // Settings of the repository for another address or another program are ignored.
    git(&folder, &["config", "url.http://127.0.0.1:9/.insteadOf", &forge.url("")]);
    git(&folder, &["config", "remote.origin.receivepack", "touch ran; git-receive-pack"]);
    git(&folder, &["config", "remote.origin.uploadpack", "touch ran; git-upload-pack"]);
    let question = asked(&onyx, "git_push").await;
    let id = git(&folder, &["rev-parse", "HEAD"]);
    let text = shown(&question);
    for part in [&forge.url("mine.git"), "refs/heads/main", id.trim(), "the first words", "a.md"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(forge.requests().is_empty(), "nothing is asked before a person agrees");
    let done = approve(&onyx, &question).await.expect(200).json();
    assert_eq!(done["state"], "applied", "{done:#}");
    assert_eq!(git(&there, &["rev-parse", "refs/heads/main"]), id);

    // Somebody else pushes a commit, and a pull fetches it.
    let other = tempfile::tempdir().unwrap();
    git(other.path(), &["clone", "--quiet", there.to_str().unwrap(), "copy"]);
    let copy = other.path().join("copy");
    std::fs::write(copy.join("theirs.md"), "theirs\n").unwrap();
    git(&copy, &["add", "."]);
    git(&copy, &["commit", "--quiet", "--message", "theirs"]);
    git(&copy, &["push", "--quiet"]);
    let question = asked(&onyx, "git_pull").await;
    let text = shown(&question);
    for part in [&forge.url("mine.git"), "refs/heads/main", id.trim()] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let done = approve(&onyx, &question).await.expect(200).json();
    assert_eq!(done["state"], "applied", "{done:#}");
    assert_eq!(std::fs::read_to_string(folder.join("theirs.md")).unwrap(), "theirs\n");
    assert!(!folder.join("ran").exists() && !there.join("ran").exists());
}

#[tokio::test]
async fn a_remote_or_branch_that_changed_after_the_question_makes_the_approval_stale() {
    let (model, forge) = (obedient().await, Forge::open().await);
    let (_, there) = (forge.repository("mine.git"), forge.repository("evil.git"));
    let onyx = with_forges(&model, &[&forge], json!({})).await;
    let folder = vault(&onyx);
    git(&folder, &["remote", "add", "origin", &forge.url("mine.git")]);
    let question = asked(&onyx, "git_push").await;
    git(&folder, &["remote", "set-url", "origin", &forge.url("evil.git")]);
    let stale = approve(&onyx, &question).await.expect(409).json();
    assert_eq!(stale["code"], "draft_stale", "{stale:#}");
    assert!(forge.requests().is_empty());
    let draft = onyx.get(&path(question["draft_id"].as_str().unwrap())).await.expect(200).json();
    let text = draft["preview"]["text"].as_str().unwrap();
    assert!(text.contains(&forge.url("evil.git")), "{text}");

    let question = asked(&onyx, "git_push").await;
    std::fs::write(folder.join("secret.md"), "not to be sent\n").unwrap();
    git(&folder, &["add", "secret.md"]);
    git(&folder, &["commit", "--quiet", "--message", "one more"]);
    let stale = approve(&onyx, &question).await.expect(409).json();
    assert_eq!(stale["code"], "draft_stale", "{stale:#}");
    assert!(forge.requests().is_empty());
    assert_eq!(git(&there, &["for-each-ref"]), "");
}

#[tokio::test]
async fn only_https_and_ssh_addresses_are_reached() {
    let model = obedient().await;
    let onyx = with_forges(&model, &[], json!({})).await;
    let folder = vault(&onyx);
    git(&folder, &["clone", "--quiet", "--bare", ".", "other.git"]);
    git(&folder, &["remote", "add", "origin", "x"]);
    for address in [
        "other.git",
        "/etc",
        "file:///etc",
        "ext::sh -c 'touch ran'",
        "git://example.org/x",
        "http://example.org/x",
        "http://127.0.0.1:9/x",
        "https://127.0.0.1/x",
        "https://user:pass@example.org/x",
        "ssh://-oProxyCommand=touch/x",
        "-oProxyCommand=touch:x",
        "foo::https://example.org/x",
    ] {
        git(&folder, &["config", "remote.origin.url", address]);
        for tool in ["git_pull", "git_push"] {
            let said = refused(&onyx, tool).await;
            assert!(said.starts_with("not allowed: "), "{address}: {said}");
        }
    }
    assert!(!folder.join("ran").exists());
}

#[tokio::test]
async fn a_credential_goes_to_its_host_alone_and_no_redirect_is_followed() {
    let model = obedient().await;
    let secret = format!("ada:{}", onyx_test_support::canary::secret("git"));
    let header = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(&secret));
    let forge = Forge::asking_for(&header).await;
    let (other, sending) = (Forge::open().await, Forge::redirecting_to(&forge.url("")).await);
    let there = forge.repository("mine.git");
    let credentials = json!({"tools": {"git": {"credentials": {forge.host(): "secret:forge"}}}});
    let onyx = with_forges(&model, &[&forge, &other, &sending], credentials).await;
    let body = json!({"value": secret});
    let kept = onyx.request(reqwest::Method::PUT, "/api/admin/secrets/forge").json(&body);
    assert!(kept.send().await.unwrap().status().is_success());
    let folder = vault(&onyx);
    git(&folder, &["remote", "add", "origin", &other.url("none.git")]);
    for wrong in [&other, &sending] {
        git(&folder, &["remote", "set-url", "origin", &wrong.url("none.git")]);
        let question = asked(&onyx, "git_push").await;
        let done = approve(&onyx, &question).await.expect(200).json();
        assert_eq!(done["state"], "failed", "{done:#}");
        assert!(!wrong.requests().is_empty());
        let told = wrong.requests().concat().to_lowercase();
        assert!(!told.contains("authorization"), "{told}");
    }
    assert!(forge.requests().is_empty(), "no redirect is followed");
    git(&folder, &["remote", "set-url", "origin", &forge.url("mine.git")]);
    let question = asked(&onyx, "git_push").await;
    let done = approve(&onyx, &question).await.expect(200).json();
    assert_eq!(done["state"], "applied", "{done:#}");
    let id = git(&folder, &["rev-parse", "HEAD"]);
    assert_eq!(git(&there, &["rev-parse", "refs/heads/main"]), id);
}
