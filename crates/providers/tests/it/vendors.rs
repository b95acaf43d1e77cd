use crate::page_server::PageServer;
use crate::support::{KEY, NO_RETRY, ask};
use futures::StreamExt;
use onyx_providers::{ProviderSettings, Registry};
use onyx_types::{Block, Cancel, Message, ModelRequest, Role, ToolUseId};
use serde_json::{Value, json};

#[tokio::test]
async fn claude_on_vertex_is_named_in_the_path_and_its_version_in_the_body() {
    let server = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let base = format!("{}/v1/projects/p/locations/r", server.origin());
    let settings: ProviderSettings =
        serde_json::from_value(json!({"baseUrl": base, "apiKey": KEY})).unwrap();
    let registry = Registry::resolve([("vertex_claude".to_owned(), settings)], &|_| None);
    let registry = registry.with_retry(NO_RETRY);
    ask(&registry.model("vertex_claude/claude-3-5-haiku@20241022").unwrap()).await;
    let asked = &server.asked()[0];
    let path = "/v1/projects/p/locations/r/publishers/anthropic/models";
    assert_eq!(asked.line, format!("POST {path}/claude-3-5-haiku@20241022:streamRawPredict"));
    assert!(asked.head.contains(&format!("authorization: Bearer {KEY}")), "{}", asked.head);
    assert_eq!(asked.body["model"], Value::Null);
    assert_eq!(asked.body["anthropic_version"], "vertex-2023-10-16");
    let facts = registry.facts("vertex_claude/claude-3-5-haiku@20241022").unwrap();
    assert_eq!(facts.context_window, Some(200_000));
}

/// A registry with Copilot and a token that is set in the config.
fn copilot(server: &PageServer, more: Value) -> Registry {
    let mut settings = json!({"baseUrl": server.origin(), "apiKey": KEY});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let settings: ProviderSettings = serde_json::from_value(settings).unwrap();
    let registry = Registry::resolve([("github_copilot".to_owned(), settings)], &|_| None);
    registry.with_retry(NO_RETRY)
}

#[tokio::test]
async fn copilots_models_are_asked_on_the_wire_that_each_of_them_speaks() {
    let server = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let registry = copilot(&server, json!({}));
    let cases = [
        ("gpt-4.1", "POST /chat/completions"),
        ("gemini-3-pro", "POST /chat/completions"),
        ("gpt-5.2-codex", "POST /responses"),
        ("claude-sonnet-4.5", "POST /v1/messages"),
    ];
    for (model, line) in cases {
        ask(&registry.model(&format!("github_copilot/{model}")).unwrap()).await;
        let asked = server.asked().pop().unwrap();
        assert_eq!(asked.line, line, "{model}");
        assert_eq!(asked.body["model"], model);
        for header in [
            &format!("authorization: Bearer {KEY}"),
            concat!("editor-version: onyx/", env!("CARGO_PKG_VERSION")),
            "openai-intent: conversation-edits",
            "x-initiator: user",
        ] {
            assert!(asked.head.contains(header), "{model}: {header}\n{}", asked.head);
        }
        assert!(!asked.head.contains("copilot-vision-request"), "{}", asked.head);
        assert!(!asked.head.contains("vscode"), "nobody else's name is used: {}", asked.head);
    }
    // A kind and a header that are set in the config hold for all models.
    let headers = json!({"copilot-integration-id": "of-github"});
    let registry = copilot(&server, json!({"kind": "openai", "headers": headers}));
    ask(&registry.model("github_copilot/claude-sonnet-4.5").unwrap()).await;
    let asked = server.asked().pop().unwrap();
    assert_eq!(asked.line, "POST /chat/completions");
    assert!(asked.head.contains("copilot-integration-id: of-github"), "{}", asked.head);
}

#[tokio::test]
async fn copilot_is_told_of_pictures_and_of_steps_that_the_agent_makes_itself() {
    let server = PageServer::answering(|_| (500, "{}".to_owned())).await;
    let registry = copilot(&server, json!({}));
    let model = registry.model("github_copilot/gpt-4.1").unwrap();
    let result = Block::ToolResult {
        id: ToolUseId("c1".to_owned()),
        content: "here".to_owned(),
        is_error: false,
    };
    let call = Block::ToolUse {
        id: ToolUseId("c1".to_owned()),
        name: "look".to_owned(),
        input: json!({}),
        provider_data: None,
    };
    let picture = Block::Image { media_type: "image/png".to_owned(), data: "aGk=".to_owned() };
    let messages = vec![
        Message { role: Role::User, content: vec![picture] },
        Message { role: Role::Assistant, content: vec![call] },
        Message { role: Role::User, content: vec![result] },
    ];
    let request = ModelRequest { messages: messages.into(), ..ModelRequest::default() };
    let _: Vec<_> = model.stream(request, Cancel::new()).collect().await;
    let head = server.asked().pop().unwrap().head;
    assert!(head.contains("x-initiator: agent"), "{head}");
    assert!(head.contains("copilot-vision-request: true"), "{head}");
}

#[tokio::test]
async fn copilot_lists_the_chat_models_that_the_person_may_use() {
    let limits = json!({"max_context_window_tokens": 200_000});
    let row = |id: &str, kind: &str, state: &str| {
        json!({"id": id, "name": "shown", "policy": {"state": state},
            "capabilities": {"type": kind, "limits": limits}})
    };
    let list = json!({"data": [
        row("claude-sonnet-4.5", "chat", "enabled"),
        row("text-embedding-3-small", "embeddings", "enabled"),
        row("gpt-5.2", "chat", "disabled"),
        {"id": "gpt-4.1", "capabilities": {"type": "chat"}},
    ]});
    let server = PageServer::with_pages([("GET /models", list)]).await;
    let registry = copilot(&server, json!({}));
    let listed = registry.list_models("github_copilot").await.unwrap();
    let listed: Vec<(&str, Option<u32>)> =
        listed.iter().map(|model| (model.id.as_str(), model.context_window)).collect();
    assert_eq!(listed, [("claude-sonnet-4.5", Some(200_000)), ("gpt-4.1", None)]);
    let head = server.asked().pop().unwrap().head;
    assert!(head.contains("editor-version: onyx/"), "{head}");
}

#[tokio::test]
async fn azure_names_the_deployment_and_the_version_in_the_address() {
    let server = PageServer::answering(|asked| match asked.line.as_str() {
        "GET /openai/models?api-version=2025-04-01-preview" => {
            (200, json!({"data": [{"id": "gpt-5-mini"}]}).to_string())
        }
        _ => (500, "{}".to_owned()),
    })
    .await;
    let with = |more: Value| {
        let mut settings = json!({"baseUrl": server.origin(), "apiKey": KEY});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let settings: ProviderSettings = serde_json::from_value(settings).unwrap();
        Registry::resolve([("azure".to_owned(), settings)], &|_| None).with_retry(NO_RETRY)
    };
    let version = json!({"apiVersion": "2025-04-01-preview"});
    let registry = with(version.clone());
    ask(&registry.model("azure/my deployment").unwrap()).await;
    let asked = server.asked().pop().unwrap();
    let path = "/openai/deployments/my%20deployment/chat/completions";
    assert_eq!(asked.line, format!("POST {path}?api-version=2025-04-01-preview"));
    assert!(asked.head.contains(&format!("api-key: {KEY}")), "{}", asked.head);
    assert_eq!(registry.list_models("azure").await.unwrap()[0].id, "gpt-5-mini");
    let mut responses = version;
    responses["kind"] = "openai-responses".into();
    ask(&with(responses).model("azure/d").unwrap()).await;
    let asked = server.asked().pop().unwrap();
    assert_eq!(asked.line, "POST /openai/responses?api-version=2025-04-01-preview");
    // Azure's newer addresses have the version in the path, and no deployment.
    ask(&with(json!({})).model("azure/d").unwrap()).await;
    assert_eq!(server.asked().pop().unwrap().line, "POST /chat/completions");
    let odd = with(json!({"apiVersion": "2025 & more"})).model("azure/d").err().unwrap();
    assert!(odd.to_string().contains("`apiVersion` is not a version"), "{odd}");
}
