use serde_json::json;

use super::{called, obedient, offered, output};
use crate::builder;

#[tokio::test]
async fn what_was_too_long_is_paged_searched_fetched_and_stays_foreign() {
    let model = obedient().await;
    let long: String = (0..9_000).map(|n| format!("line {n} of the long file\n")).collect();
    let onyx = builder(&model)
        .merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "act",
                "tools": {"commands": [["cat", "long.md"]]}},
        ]}}))
        .file("people/owner/vault/long.md", long)
        .start()
        .await;
    onyx.chat_stream(&json!({"message": "hello"})).await;
    assert!(!offered(&model).contains(&"read_artifact".to_owned()), "there is nothing to read");
    let result = called(&onyx, "exec", json!({"argv": ["cat", "long.md"]})).await;
    let key = result["report"]["artifact"]["key"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert!(output(&result).contains(key), "the model is told where it is");
    assert!(offered(&model).contains(&"read_artifact".to_owned()), "from the next step on");

    let read = called(&onyx, "read_artifact", json!({"artifact": key, "offset": 100_000})).await;
    assert_eq!(read["ok"], true, "{read}");
    assert!(
        output(&read).contains("line 4") && output(&read).contains("go on with offset="),
        "{read}"
    );
    let search = json!({"artifact": key, "find": "LINE 8765 of"});
    let found = called(&onyx, "read_artifact", search).await;
    assert!(output(&found).contains("line 8765 of the long file"), "{found}");
    let fetched = onyx.get(&format!("/api/artifacts/{key}")).await.expect(200);
    assert!(fetched.text().contains("line 8999 of the long file"));

    let other = key.replacen("owner", "somebody", 1);
    let _ = onyx.get(&format!("/api/artifacts/{other}")).await.expect(404);
    let _ = onyx.get("/api/artifacts/owner/../../onyx.json").await.expect(404);
    let none = called(&onyx, "read_artifact", json!({"artifact": other})).await;
    assert_eq!(none["ok"], false, "{none}");
}

#[tokio::test]
async fn artifacts_of_sessions_that_are_gone_and_old_ones_are_removed() {
    let model = obedient().await;
    let session = "01890000-0000-7000-8000-000000000001";
    let path = format!("cache/artifacts/owner/{session}/{session}/0123456789abcdef-person.txt");
    let mut onyx = builder(&model).file(path.clone(), "whole").start().await;
    let key = path.strip_prefix("cache/artifacts/").unwrap();
    let address = format!("/api/artifacts/{key}");
    let gone = onyx_test_support::wait_for("the artifact to go", crate::SOON, async || {
        (!onyx.home().join(&path).exists()).then_some(())
    });
    gone.await;
    let _ = onyx.get(&address).await.expect(404);
    onyx.restart().await;
    let _ = onyx.get(&address).await.expect(404);
}
