//! Limits of memory files: long and large files, files with unusual names, and names without a
//! file.

use onyx_test_support::{Reply, ScriptedModel, wait_for};
use onyx_types::{Clock as _, SystemClock};
use reqwest::Method;
use serde_json::{Value, json};

use crate::memory::{paths, search, write};
use crate::{SOON, builder, onyx};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn of_files_of_any_length_the_prompt_holds_the_end_and_says_what_is_missing() {
    const READ: usize = 256 * 1024;
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let line = "an old line that nobody needs any more\n";
    let long = line.repeat(500 * 1024 / line.len());
    let memory = format!("{long}The newest fact.");
    let user = format!("{long}Who I am today.");
    write(&onyx, "people/owner/memory/main/MEMORY.md", &memory);
    write(&onyx, "people/owner/USER.md", &user);
    // The part of the log that is read begins in the middle of a mark.
    let tainted = "- 10:00 of a stranger <!-- agent_tainted -->\n";
    let mut daily = tainted.repeat(9_000) + "What was done last";
    while (daily.len() - READ) % tainted.len() != tainted.len() - 5 {
        daily.push('.');
    }
    let today = SystemClock::new().wall().utc_date();
    write(&onyx, &format!("people/owner/memory/main/daily/{today}.md"), &daily);
    onyx.chat_stream(&json!({"message": "Hello"})).await;

    let request = model.last_request().body;
    let system = request["messages"][0]["content"].as_str().unwrap();
    let log = daily.lines().last().unwrap();
    for (title, end, left_out) in [
        ("# Memory", "The newest fact.", memory.len() - 12 * 1024),
        ("# The person", "Who I am today.", user.len() - 16 * 1024),
        (&format!("# Daily log {today}"), log, daily.len() - READ + 5),
    ] {
        let section = system.split_once(title).unwrap_or_else(|| panic!("{title}: {system}")).1;
        let section = section.split_once("\n\n").map_or(section, |(section, _)| section);
        assert!(section.ends_with(end), "{title}: {section}");
        let note = format!("\n[{left_out} earlier bytes left out]\n");
        assert!(section.starts_with(&note), "{title}: {note} {section}");
    }
    assert!(!system.contains("stranger") && !system.contains("tainted"), "{system}");
    let words = request["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    let told = words.matches("of a stranger").count();
    assert!((1..200).contains(&told), "bounded as well: {told}");
}

#[tokio::test]
async fn a_file_may_be_written_as_large_as_it_may_be_read() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let file = "/v1/memory/files/vault/large.md";
    let put = async |bytes: usize| {
        let text = "word ".repeat(bytes.div_ceil(5));
        Reply::of(onyx.request(Method::PUT, file).body(text[..bytes].to_owned())).await
    };
    drop(put(8 * MIB).await.expect(204));
    assert_eq!(onyx.get(file).await.expect(200).body.len(), 8 * MIB);
    let problem = put(8 * MIB + 1).await.expect(413).json();
    assert_eq!(problem["code"], "too_large");
    assert_eq!(problem["detail"], "the body is larger than 8 MiB");
    let hint = problem["hint"].as_str().unwrap();
    assert!(!hint.is_empty() && !hint.contains("config"), "there is no such setting: {hint}");
    assert_eq!(onyx.get(file).await.expect(200).body.len(), 8 * MIB);
    let soul = onyx.request(Method::PUT, "/v1/agents/main/files/SOUL.md");
    let problem = Reply::of(soul.body("x".repeat(3 * MIB))).await.expect(413).json();
    assert_eq!(problem["code"], "too_large", "{problem}");
}

#[tokio::test]
async fn a_search_in_a_place_that_is_not_there_says_so() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .file("people/owner/spaces/home/space.json", "{\"name\": \"Home\"}")
        .file("people/owner/memory/gone/MEMORY.md", "Once kept bees.")
        .start()
        .await;
    for (path, field) in [
        ("/v1/memory/search?q=x&agent=nobody", "agent"),
        ("/v1/memory/search?q=x&scope=agent:nobody", "scope"),
        ("/v1/memory/search?q=x&scope=space:nowhere", "scope"),
        ("/v1/memory/search?q=x&scope=channel:none", "scope"),
        ("/v1/memory/search?q=x&scope=thread:none", "scope"),
        ("/api/search?q=x&space=nowhere", "space"),
    ] {
        let problem = onyx.get(path).await.expect(404).json();
        assert_eq!((&problem["code"], &problem["field"]), (&json!("not_found"), &json!(field)));
    }
    // A space without content, and a removed agent whose memory remains.
    drop(onyx.get("/api/search?q=x&space=home").await.expect(200));
    drop(onyx.get("/v1/memory/search?q=x&scope=space:home").await.expect(200));
    wait_for("what is left is found", SOON, async || {
        let found = onyx.get("/v1/memory/search?q=bees&agent=gone").await;
        (found.status == 200 && paths(&found.json()) == ["memory/gone/MEMORY.md"]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn whatever_a_search_names_can_be_read_by_that_name() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .file("people/owner/spaces/home/space.json", "{\"name\": \"Home\"}")
        .file("people/owner/spaces/home/pages/quince.md", "---\ntitle: Quince\n---\nA tree.\n")
        .file("people/owner/vault/quince.md", "quince jelly")
        .file("shared/house/quince.md", "the quince of the house")
        .start()
        .await;
    let found = wait_for("all are found", SOON, async || {
        let found = search(&onyx, "q=quince").await;
        (paths(&found).len() == 3).then_some(found)
    })
    .await;
    for path in paths(&found) {
        let text = onyx.get(&format!("/v1/memory/files/{path}")).await.expect(200).text();
        assert!(text.to_lowercase().contains("quince"), "{path}: {text}");
    }
    let page = "/v1/memory/files/spaces/home/pages/quince.md";
    let shown = crate::run(&onyx.home(), &["memory", "show", &page[17..]]).await;
    assert!(shown.code == Some(0) && shown.out.ends_with("A tree.\n"), "{shown:?}");
    // Pages are changed through their space, and the card of a space is not a page.
    drop(Reply::of(onyx.request(Method::PUT, page).body("x")).await.expect(400));
    drop(onyx.get("/v1/memory/files/spaces/home/space.json").await.expect(400));

    let listed = async |query: &str| -> Vec<String> {
        let list = onyx.get(&format!("/v1/memory/files?{query}")).await.expect(200).json();
        let files = list["files"].as_array().unwrap();
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed("types=shared").await, ["shared/house/quince.md"]);
    assert_eq!(listed("types=note,shared&limit=1").await, ["shared/house/quince.md"]);
    assert_eq!(listed("types=note,shared&after=shared/house/quince.md").await, ["vault/quince.md"]);
}

#[tokio::test]
async fn a_file_called_history_is_a_file_and_has_a_history() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    for file in ["vault/history", "vault/trips/history"] {
        let path = format!("/v1/memory/files/{file}");
        drop(onyx.get("/v1/memory/files/vault/history").await.expect(404));
        drop(Reply::of(onyx.request(Method::PUT, &path).body("Rome")).await.expect(204));
        assert_eq!(onyx.get(&path).await.expect(200).text(), "Rome");
        drop(Reply::of(onyx.request(Method::PUT, &path).body("Oslo")).await.expect(204));
        assert_eq!(onyx.get(&format!("{path}?version=2")).await.expect(200).text(), "Rome");
        let history: Value = onyx.get(&format!("{path}/history")).await.expect(200).json();
        assert_eq!(history["versions"].as_array().unwrap().len(), 2, "{history}");
        drop(Reply::of(onyx.request(Method::DELETE, &path)).await.expect(204));
    }
}
