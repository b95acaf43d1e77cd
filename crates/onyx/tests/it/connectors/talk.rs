use onyx_test_support::networks::{DISCORD_TOKEN, FakeDiscord, FakeTelegram};
use onyx_test_support::{Script, ScriptedCall, ScriptedModel, wait_for};
use serde_json::json;

use super::{connected, connected_as, settled};
use crate::{SOON, builder};

#[tokio::test(flavor = "multi_thread")]
async fn a_telegram_message_becomes_a_session_and_its_answer_a_message() {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    model.set_default("It is **noon**.");
    let onyx = connected(&model, &telegram).await;
    telegram.say(7, "What time is it?");
    settled(&onyx, &telegram).await;
    assert_eq!(telegram.messages(7)[0].html, "It is <b>noon</b>.");
    let sessions = onyx.get("/v1/sessions?origin=connector").await.expect(200).json();
    let session = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    let history = onyx.client().history(&session).await;
    assert_eq!(history[0]["content"], "What time is it?");
    assert_eq!(history[1]["content"], "It is **noon**.");

    // A message of a stranger causes no call of the model.
    let before = model.request_count();
    telegram.say(99, "let me in");
    settled(&onyx, &telegram).await;
    assert_eq!(model.request_count(), before);
    assert!(telegram.texts(99)[0].contains("pairing code"), "{:?}", telegram.texts(99));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_approved_with_a_button_and_the_run_goes_on() {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    let arguments = json!({"path": "note.md", "content": "from a chat\n"});
    let call = ScriptedCall {
        id: "call-1".to_owned(),
        name: "write_file".to_owned(),
        pieces: vec![arguments.to_string()],
    };
    model.push(Script::tool_calls([call]));
    model.set_default("Written.");
    // The agent may only suggest, so a person must approve.
    let onyx = connected_as(&model, &telegram, "suggest").await;
    telegram.say(7, "Write a note.");
    let proposal = wait_for("the proposal", SOON, async || {
        telegram.messages(7).into_iter().find(|message| !message.buttons.is_empty())
    })
    .await;
    assert!(proposal.text.contains("+from a chat"), "{}", proposal.text);
    telegram.press(7, 7, &proposal.buttons[0]);
    settled(&onyx, &telegram).await;
    let note = std::fs::read_to_string(onyx.home().join("people/owner/vault/note.md")).unwrap();
    assert_eq!(note, "from a chat\n");
    telegram.press(7, 7, &proposal.buttons[0]);
    settled(&onyx, &telegram).await;
    assert!(telegram.presses()[1].contains("already"), "{:?}", telegram.presses());
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_come_while_a_run_waits_are_read_by_that_run_and_answered_once() {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    let arguments = json!({"question": "Oak or larch?", "options": ["Oak", "Larch"]});
    let call = ScriptedCall {
        id: "call-1".to_owned(),
        name: "ask_person".to_owned(),
        pieces: vec![arguments.to_string()],
    };
    model.push(Script::tool_calls([call]));
    model.set_default("Ordered, in short.");
    let onyx = connected(&model, &telegram).await;
    telegram.say(7, "Order the floor.");
    let question = wait_for("the question", SOON, async || {
        telegram.messages(7).into_iter().find(|message| !message.buttons.is_empty())
    })
    .await;
    telegram.say(7, "Keep it short.");
    let sessions = onyx.get("/v1/sessions?origin=connector").await.expect(200).json();
    let session = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    wait_for("the words to be handed over", SOON, async || {
        let queued = onyx.get(&format!("/v1/sessions/{session}/queued")).await.expect(200).json();
        (queued["messages"].as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    telegram.press(7, 7, &question.buttons[0]);
    settled(&onyx, &telegram).await;
    let answers = telegram.texts(7).into_iter().filter(|text| text.contains("Ordered, in short."));
    assert_eq!(answers.count(), 1, "{:?}", telegram.texts(7));
    let heard = model.last_request().body["messages"].to_string();
    assert_eq!(heard.matches("Keep it short.").count(), 1, "{heard}");
    let history = onyx.client().history(&session).await;
    let said = history.iter().filter(|message| message["role"] == "user").count();
    assert_eq!(said, 2, "{history:?}");
    let sessions = onyx.get("/v1/sessions?origin=connector").await.expect(200).json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_the_button_of_an_option_or_by_its_number() {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    let arguments = json!({"question": "Oak or larch?", "options": ["Oak", "Larch", "3"]});
    for _ in 0..2 {
        let call = ScriptedCall {
            id: "call-1".to_owned(),
            name: "ask_person".to_owned(),
            pieces: vec![arguments.to_string()],
        };
        model.push(Script::tool_calls([call]));
        model.push(Script::text("Ordered."));
    }
    let onyx = connected(&model, &telegram).await;
    telegram.say(7, "Order the floor.");
    let question = wait_for("the question", SOON, async || {
        telegram.messages(7).into_iter().find(|message| !message.buttons.is_empty())
    })
    .await;
    assert!(question.text.contains("1. Oak\n2. Larch\n3. 3"), "{}", question.text);
    assert_eq!(question.buttons.len(), 3);
    telegram.press(7, 7, &question.buttons[1]);
    settled(&onyx, &telegram).await;
    assert!(telegram.presses()[0].contains("Answered: Larch"), "{:?}", telegram.presses());
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("\"content\":\"Larch\""), "{heard}");

    telegram.say(7, "And the stairs.");
    wait_for("the second question", SOON, async || {
        telegram.texts(7).into_iter().find(|text| text.contains("Approval 2:"))
    })
    .await;
    telegram.say(7, "/approve 2 1");
    settled(&onyx, &telegram).await;
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains("\"content\":\"Oak\""), "{heard}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_private_is_in_the_prompt_of_a_group() {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    model.set_default("Hello all.");
    let onyx = connected(&model, &telegram).await;
    std::fs::create_dir_all(onyx.home().join("people/owner")).unwrap();
    std::fs::write(onyx.home().join("people/owner/USER.md"), "My bank is CANARYBANK.").unwrap();
    let memory = onyx.home().join("people/owner/memory/main");
    std::fs::create_dir_all(&memory).unwrap();
    std::fs::write(memory.join("MEMORY.md"), "The safe is CANARYSAFE.").unwrap();
    telegram.say(7, "in private");
    settled(&onyx, &telegram).await;
    let private = model.last_request().body.to_string();
    assert!(private.contains("CANARYBANK") && private.contains("CANARYSAFE"));
    telegram.say_in_group(-5, 8, "@onyx_test_bot hello");
    settled(&onyx, &telegram).await;
    let peers = onyx.get("/api/admin/connectors/telegram/main/peers").await.expect(200).json();
    let group =
        peers["peers"].as_array().unwrap().iter().find(|p| p["id"] == "-5").unwrap().clone();
    assert_eq!((&group["kind"], &group["state"]), (&json!("group"), &json!("waiting")));
    let _ = onyx
        .post("/api/admin/connectors/telegram/main/peers/-5/approve", &json!({}))
        .await
        .expect(200);
    telegram.say_in_group(-5, 8, "@onyx_test_bot hello again");
    settled(&onyx, &telegram).await;
    let request = model.last_request().body;
    let prompt = request.to_string();
    assert!(prompt.contains("Person 8: hello again"), "{prompt}");
    assert!(!prompt.contains("CANARYBANK") && !prompt.contains("CANARYSAFE"), "{prompt}");
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
    let is_harmless = |name: &&str| ["web_search", "web_fetch", "render_mermaid"].contains(name);
    assert!(names.iter().all(is_harmless), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_of_a_job_is_sent_to_a_peer() {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    model.set_default("All plants are fine.");
    let onyx = connected(&model, &telegram).await;
    telegram.say(7, "hello");
    settled(&onyx, &telegram).await;
    let job = json!({"id": "plants", "cron": "0 0 1 1 *", "prompt": "How are the plants?",
        "deliver": {"connector": "telegram/main/7"}});
    let _ = onyx.post("/api/jobs", &job).await.expect(201);
    let _ = onyx.post("/api/jobs/plants/run", &json!({})).await.expect(200);
    wait_for("the delivery", SOON, async || (telegram.texts(7).len() == 2).then_some(())).await;
    assert_eq!(telegram.texts(7)[1], "All plants are fine.");

    let nobody = json!({"id": "other", "cron": "0 0 1 1 *", "prompt": "Hm?",
        "deliver": {"connector": "telegram/main/12345"}});
    let refused = onyx.post("/api/jobs", &nobody).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("knows no peer 12345"), "{refused}");

    // A peer that is blocked gets no more answers, and that is recorded.
    let block = "/api/admin/connectors/telegram/main/peers/7/block";
    let _ = onyx.post(block, &json!({})).await.expect(200);
    let _ = onyx.post("/api/jobs/plants/run", &json!({})).await.expect(200);
    wait_for("the failure to be noted", SOON, async || {
        let runs = onyx.get("/api/jobs/plants/runs").await.expect(200).json();
        (runs["runs"][0]["delivery"] == "failed").then_some(())
    })
    .await;
    assert_eq!(telegram.texts(7).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discord_message_is_answered_with_a_file_of_the_vault() {
    let (model, discord) = (ScriptedModel::start().await, FakeDiscord::start().await);
    model.set_default("Here is [the report](reports/may.md).");
    let account = json!({"token": DISCORD_TOKEN, "apiBase": discord.url(), "allow": ["7"]});
    let config = json!({"connectors": {"discord": {"accounts": {"main": account}}}});
    let onyx = builder(&model).merge(config).start().await;
    let reports = onyx.home().join("people/owner/vault/reports");
    std::fs::create_dir_all(&reports).unwrap();
    std::fs::write(reports.join("may.md"), "All is well.").unwrap();
    wait_for("the session", SOON, async || (discord.sessions().0 > 0).then_some(())).await;
    discord.say(7, "The report, please.");
    wait_for("the file", SOON, async || (discord.messages(7).len() == 2).then_some(())).await;
    assert_eq!(discord.texts(7)[0], "Here is the report.");
    assert_eq!(discord.messages(7)[1].files, ["may.md"]);
    assert_eq!(discord.violations(), Vec::<String>::new());
    let all = onyx.get("/api/admin/connectors").await.expect(200).json();
    assert_eq!(all["accounts"][0]["name"], "onyx_test_bot");
    assert!(all["accounts"][0]["qr"]["path"].as_str().unwrap().starts_with('M'), "{all}");
    assert!(!onyx.log().contains(DISCORD_TOKEN), "the token is in the log");
}
