//! Backups through the binary, while a server uses the home.

use std::fs;

use onyx_test_support::{ScriptedModel, Servers};
use serde_json::{Value, json};

use crate::jobs::{run_now, send};
use crate::{Ran, builder, command, onyx, run, said};

#[tokio::test]
async fn a_home_backed_up_while_it_is_served_is_restored_and_serves_its_conversations() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let told = onyx.chat_stream(&json!({"message": "remember the milk"})).await;
    assert_eq!(said(&told), "ok");
    let session = told[0]["session_id"].as_str().unwrap().to_owned();
    let history = onyx.history(&session).await;
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("backups");
    let folder = to.to_str().unwrap();

    let made = run(&onyx.home(), &["backup", "--to", folder, "--json"]).await;
    assert_eq!(made.code, Some(0), "{made:?}");
    let report: Value = serde_json::from_str(&made.out).unwrap();
    assert!(report["files"].as_u64().unwrap() >= 3, "{report}");
    let verified = run(&onyx.home(), &["backup", "verify", "--to", folder]).await;
    assert!(verified.code == Some(0) && verified.out.contains("all intact"), "{verified:?}");
    let listed = run(&onyx.home(), &["backup", "list", "--to", folder]).await;
    assert!(listed.out.contains(report["snapshot"].as_str().unwrap()), "{listed:?}");
    let doctor = run(&onyx.home(), &["doctor"]).await;
    assert!(doctor.out.contains("✓ backup: the last backup was made"), "{doctor:?}");

    // A backup is restored neither over a home in use nor over one that is not empty.
    let served = run(&onyx.home(), &["restore", folder]).await;
    assert_eq!(served.code, Some(3), "{served:?}");
    let inside = onyx.home().join("shared/backups");
    let inside = run(&onyx.home(), &["backup", "--to", inside.to_str().unwrap()]).await;
    assert!(inside.code == Some(1) && inside.err.contains("inside the home"), "{inside:?}");

    let home = scratch.path().join("home");
    let restored = run(&home, &["restore", folder]).await;
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let again = run(&home, &["restore", folder]).await;
    assert!(again.code == Some(1) && again.err.contains("not empty"), "{again:?}");
    let shown = run(&home, &["sessions", "show", &session, "--json"]).await;
    assert!(shown.out.contains("remember the milk"), "{shown:?}");

    // A single conversation is restored into the home in use.
    let path = format!("/v1/sessions/{session}");
    onyx.client().delete(&path).await;
    assert_eq!(onyx.get(&path).await.status, 404);
    let back = run(&onyx.home(), &["restore", folder, "--session", &session]).await;
    assert_eq!(back.code, Some(0), "{back:?}");
    assert_eq!(onyx.history(&session).await, history);
}

#[tokio::test]
async fn the_config_has_the_home_backed_up_and_a_failure_is_told() {
    let model = ScriptedModel::start().await;
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("backups");
    let settings = json!({"jobs": {"backup":
        {"every": "1d", "to": to, "keep": 2, "passphrase": "secret:backups"}}});
    let onyx = builder(&model).merge(settings).start().await;
    super::jobs::known(&onyx, "system:backup").await;
    let failed = run_now(&onyx, "system:backup").await;
    assert_eq!(failed["outcome"], "failed", "{failed}");
    assert!(failed["text"].as_str().unwrap().contains("secret:backups is not set"), "{failed}");

    let secret = json!({"value": "correct horse battery"});
    let kept = send(&onyx, reqwest::Method::PUT, "/api/admin/secrets/backups", &secret).await;
    assert_eq!(kept.status, 204);
    for _ in 0..3 {
        let run = run_now(&onyx, "system:backup").await;
        assert_eq!(run["outcome"], "nothing", "{run}");
    }
    let folder = to.to_str().unwrap();
    let listed = command(&onyx.home(), &["backup", "list", "--to", folder, "--json"])
        .env("ONYX_BACKUP_PASSPHRASE", "correct horse battery")
        .output()
        .await
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["snapshots"].as_array().unwrap().len(), 2, "{listed}");
    let wrong = command(&onyx.home(), &["backup", "list", "--to", folder])
        .env("ONYX_BACKUP_PASSPHRASE", "wrong")
        .output()
        .await
        .unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("does not open"), "{wrong:?}");
}

#[tokio::test]
async fn a_passphrase_does_not_stand_in_the_config() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let text = onyx.get("/api/admin/config").await.expect(200).json();
    let text = text["text"].as_str().unwrap();
    let bad = "{ \"jobs\": { \"backup\": { \"to\": \"/backups\", \"passphrase\": \"hunter2\" } },";
    let body = json!({"text": text.replacen('{', bad, 1)});
    let reply = send(&onyx, reqwest::Method::PUT, "/api/admin/config", &body).await;
    let problem = reply.expect(400).json();
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("jobs.backup.passphrase") && !detail.contains("hunter2"), "{problem}");
}

#[tokio::test]
async fn whoever_leaves_gets_everything_as_plain_files() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let _ = onyx.chat_stream(&json!({"message": "remember the milk"})).await;
    let scratch = tempfile::tempdir().unwrap();
    let to = scratch.path().join("mine");
    let made = run(&onyx.home(), &["export", "--everything", to.to_str().unwrap()]).await;
    assert_eq!(made.code, Some(0), "{made:?}");
    let pages: Vec<_> = fs::read_dir(to.join("conversations/owner")).unwrap().collect();
    let page = fs::read_to_string(pages[0].as_ref().unwrap().path()).unwrap();
    assert!(
        pages.len() == 1 && page.contains("remember the milk") && page.contains("ok"),
        "{page}"
    );
    assert!(to.join("onyx.db").is_file() && to.join("home/onyx.json").is_file());
}

/// The credentials of the bucket are secrets, which both the job and the command beside the server
/// can open.
#[tokio::test]
async fn a_home_is_backed_up_into_a_bucket_by_the_job_and_by_hand_and_comes_back_from_it() {
    let (servers, model) = (Servers::start(), ScriptedModel::start().await);
    let scratch = tempfile::tempdir().unwrap();
    let bucket = format!("b{:x}", std::process::id());
    servers.make_bucket(&bucket);
    let to = format!("s3://{bucket}/of/owner");
    let s3 = json!({"endpoint": format!("http://{}", servers.objects), "pathStyle": true,
        "accessKeyId": "test", "secretAccessKey": "secret:s3"});
    let onyx =
        builder(&model).merge(json!({"jobs": {"backup": {"to": to, "s3": s3}}})).start().await;
    let told = onyx.chat_stream(&json!({"message": "remember the milk"})).await;
    let session = told[0]["session_id"].as_str().unwrap().to_owned();
    super::jobs::known(&onyx, "system:backup").await;
    let failed = run_now(&onyx, "system:backup").await;
    assert!(failed["text"].as_str().unwrap().contains("secret:s3 is not set"), "{failed}");
    let secret = json!({"value": "test-key-of-the-store"});
    let kept = send(&onyx, reqwest::Method::PUT, "/api/admin/secrets/s3", &secret).await;
    assert_eq!(kept.status, 204);
    let made = run_now(&onyx, "system:backup").await;
    assert_eq!(made["outcome"], "nothing", "{made}");
    let mut by_hand = command(&onyx.home(), &["backup", "--json"]);
    let by_hand: Ran =
        by_hand.env("ONYX_KEYS", onyx.home().join("../keys")).output().await.unwrap().into();
    assert_eq!(by_hand.code, Some(0), "{by_hand:?}");
    let report: Value = serde_json::from_str(&by_hand.out).unwrap();
    assert_eq!(report["to"], to, "{report}");
    let doctor = run(&onyx.home(), &["doctor"]).await;
    assert!(doctor.out.contains(&format!("in {to}")), "{doctor:?}");

    // An empty home has no config, so the environment variables of S3 programs are used.
    let home = scratch.path().join("home");
    let lost = run(&home, &["restore", &to]).await;
    assert!(lost.code == Some(1) && lost.err.contains("AWS_ACCESS_KEY_ID"), "{lost:?}");
    let mut restore = command(&home, &["restore", &to]);
    restore
        .env("AWS_ENDPOINT_URL", format!("http://{}", servers.objects))
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test");
    let restored: Ran = restore.output().await.unwrap().into();
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let shown = run(&home, &["sessions", "show", &session, "--json"]).await;
    assert!(shown.out.contains("remember the milk"), "{shown:?}");
}

#[tokio::test]
async fn a_backup_of_a_server_whose_address_is_not_known_fails_and_keeps_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().join("home");
    fs::create_dir(&home).unwrap();
    let storage = json!({"database": "env:ONYX_TEST_NOWHERE", "objects": "s3://shared"});
    fs::write(home.join("onyx.json"), json!({"storage": storage}).to_string()).unwrap();
    let (backups, export) = (scratch.path().join("backups"), scratch.path().join("export"));
    let (to, out) = (backups.to_str().unwrap(), export.to_str().unwrap());
    for arguments in [&["backup", "--to", to][..], &["export", "--everything", out]] {
        let ran = run(&home, arguments).await;
        assert!(ran.code == Some(1) && ran.err.contains("ONYX_TEST_NOWHERE"), "{ran:?}");
    }
    assert!(!backups.exists() && !export.exists());
    // A config that cannot be read names no server, so the home is backed up.
    fs::write(home.join("onyx.json"), "{").unwrap();
    let ran = run(&home, &["backup", "--to", to]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
