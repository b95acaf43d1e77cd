//! Homes that earlier versions wrote can be opened as they are. `scripts/fixture-home` made them.

use std::path::{Path, PathBuf};

use onyx_test_support::{OnyxProcess, ScriptedModel};
use serde_json::{Value, json};

use crate::replay::files_under;
use crate::said;

/// The owner's token in the stored homes.
const TOKEN: &str = "onyx_sk_fixture";
const KEY: &str = "sk-fixture-key-of-a-provider";
/// The end of the time in which the drafts of the stored homes can be decided, as the database and
/// as a list has it. Their own time was two weeks; after it they would be listed as expired.
const DRAFTS_WAIT_UNTIL: (i64, &str) = (4_102_444_800_000, "2100-01-01T00:00:00.000Z");

fn homes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/homes")
}

/// A server on a home of this version, with this model as the provider.
async fn opened(version: &Path, model: &ScriptedModel) -> OnyxProcess {
    let token = json!({"gateway": {"auth": {"token": TOKEN}}});
    let mut onyx = OnyxProcess::builder().merge(token).start().await;
    onyx.terminate().await;
    let folder = onyx.home().parent().unwrap().to_owned();
    std::fs::remove_dir_all(onyx.home()).unwrap();
    let archive = std::fs::File::open(version.join("home.tar.gz")).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(&folder).unwrap();
    let config = std::fs::read_to_string(onyx.config_path()).unwrap();
    let config = config.replace("http://127.0.0.1:9/v1", &model.base_url());
    std::fs::write(onyx.config_path(), config).unwrap();
    let books = rusqlite::Connection::open(onyx.home().join("onyx.db")).unwrap();
    let more_time = "UPDATE drafts SET expires_at = ?1";
    assert!(books.execute(more_time, [DRAFTS_WAIT_UNTIL.0]).unwrap() > 0);
    drop(books);
    onyx.restart().await;
    onyx
}

/// Finds values that are no longer listed. Further values are allowed, because an upgrade may add
/// some.
fn lost(place: &str, before: &Value, now: &Value, losses: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (key, value) in before {
                lost(
                    &format!("{place}.{key}"),
                    value,
                    now.get(key).unwrap_or(&Value::Null),
                    losses,
                );
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                lost(&format!("{place}[{index}]"), before, now, losses);
            }
        }
        _ if before == now => {}
        _ => losses.push(format!("{place}: was {before}, is {now}")),
    }
}

#[tokio::test]
async fn a_home_of_every_earlier_version_is_opened_and_lists_all_that_it_did() {
    let mut versions = 0;
    for version in std::fs::read_dir(homes()).unwrap() {
        let version = version.unwrap().path();
        let model = ScriptedModel::start().await;
        let onyx = opened(&version, &model).await;
        let home = onyx.home().to_str().unwrap().to_owned();
        let listed = std::fs::read_to_string(version.join("listed.json")).unwrap();
        let mut listed: Value = serde_json::from_str(&listed.replace("$ONYX_HOME", &home)).unwrap();
        let drafts = listed["/api/pending-changes?status=all"]["drafts"].as_array_mut();
        for draft in drafts.unwrap() {
            draft["expires_at"] = json!(DRAFTS_WAIT_UNTIL.1);
        }

        let mut losses = Vec::new();
        for (path, before) in listed.as_object().unwrap() {
            let now = onyx.get(path).await.expect(200).json();
            lost(path, before, &now, &mut losses);
        }

        assert_eq!(losses, [] as [&str; 0], "{}", version.display());
        versions += 1;
    }
    assert!(versions > 0);
}

#[tokio::test]
async fn an_earlier_version_s_conversation_goes_on_with_its_sealed_key() {
    let model = ScriptedModel::start().await;
    let onyx = opened(&homes().join("0.1.0"), &model).await;
    let sessions = onyx.get("/v1/sessions?limit=100").await.expect(200).json();
    let session = &sessions["sessions"][0];

    let events =
        onyx.chat_stream(&json!({"message": "And now?", "session_id": session["id"]})).await;

    assert_eq!(said(&events), "ok", "{events:?}");
    let asked = model.last_request();
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let preview = session["preview"].as_str().unwrap();
    assert!(asked.body.to_string().contains(preview), "{}", asked.body);
    let verified = onyx.get("/api/admin/audit/verify").await.expect(200).json();
    let chains = verified["chains"].as_array().unwrap();
    assert!(chains.iter().all(|chain| chain["whole"] == true) && !chains.is_empty(), "{verified}");
}

/// Old logs have no labels, reports or marks; they are shown like new ones.
#[tokio::test]
async fn what_an_earlier_version_logged_is_shown_with_labels_reports_and_pieces() {
    let model = ScriptedModel::start().await;
    let onyx = opened(&homes().join("0.1.0"), &model).await;
    let turns_of = async |session: &str| {
        let page = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
        page["turns"].as_array().unwrap().clone()
    };
    let chat = turns_of("01a1e4e6-7fa4-7001-a79e-e73f69ed9d67").await;
    let of_kind = |turns: &[Value], kind: &str| -> Vec<Value> {
        turns.iter().filter(|turn| turn["type"] == kind).cloned().collect()
    };
    let calls = of_kind(&chat, "tool_call");
    let did: Vec<_> = calls.iter().map(|call| call["label"]["verb"]["did"].clone()).collect();
    assert_eq!(did[..2], [json!("Read"), json!("Edited")]);
    let target = json!({"kind": "file", "name": "notes/cabin.md"});
    assert_eq!(calls[0]["label"]["target"], target);
    assert!(calls[1]["label"]["change"]["unified"].as_str().unwrap().contains("@@"));
    for result in of_kind(&chat, "tool_result") {
        assert_eq!(result["report"], json!({"state": "done"}), "{result}");
    }
    let drafted = turns_of("01a1e4e6-80da-7000-aead-9dcc50a3fb9a").await;
    assert_eq!(of_kind(&drafted, "tool_result")[0]["report"]["state"], "waiting");

    let thread = turns_of("01a1e4e6-824c-7000-9ff8-c26c3f431aec").await;
    let words = &of_kind(&thread, "user")[0];
    let pieces = words["pieces"].as_array().unwrap_or_else(|| panic!("{words}"));
    let block = words["context"].as_str().unwrap();
    assert_eq!(pieces.len(), block.matches("\n<<untrusted-").count());
    let piece = &pieces[0];
    assert!(block.contains(piece["text"].as_str().unwrap()) && piece["text"] != "", "{piece}");
    assert!(piece["source"].is_string() && piece["start_line"].is_u64(), "{piece}");
}

/// Tables of a later version are refused with a clear message, and no file is changed.
#[tokio::test]
async fn a_home_of_a_later_version_is_refused_and_stays_as_it_was() {
    let model = ScriptedModel::start().await;
    let mut onyx = crate::builder(&model).start().await;
    drop(onyx.client().chat_stream(&json!({"message": "hello"})).await);
    onyx.terminate().await;
    let books = rusqlite::Connection::open(onyx.home().join("onyx.db")).unwrap();
    let later = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum) \
                 SELECT max(version) + 1, 'later', applied_on, '1' FROM refinery_schema_history";
    assert_eq!(books.execute(later, []).unwrap(), 1);
    drop(books);
    let people = onyx.home().join("people");
    let kept = || (files_under(&people), std::fs::read(onyx.home().join("onyx.db")).unwrap());
    let before = kept();
    let ran = crate::run(&onyx.home(), &["serve"]).await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    let sentence = "onyx.db was written by a newer version of Onyx: start that one";
    assert!(ran.err.contains(sentence), "{ran:?}");
    assert!(kept() == before, "something was written");
}
