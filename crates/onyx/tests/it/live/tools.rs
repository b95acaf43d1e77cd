//! Models that call tools. No package registry offers a larger model, so the small one stands in:
//! its file gets a template for tools, and the config says that it supports them.

use serde_json::{Value, json};

use super::{complete, small_model, started};

/// The template must not be longer than the model's own, which it replaces.
const TEMPLATE: &str = "{% if tools %}{{ '<|im_start|>system\nTools: ' + (tools|tojson) + \
                        '<|im_end|>\n' }}{% endif %}{% for m in messages %}{{ '<|im_start|>' + \
                        m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}{{ \
                        '<|im_start|>assistant\n' }}";

/// The file with another template, padded to the same length.
fn with_template(mut file: Vec<u8>) -> Vec<u8> {
    let name = b"tokenizer.chat_template";
    let at = file.windows(name.len()).position(|window| window == name).unwrap() + name.len() + 4;
    let length = u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let filler = length.checked_sub(TEMPLATE.len() + "{##}".len()).expect("a short template");
    let template = format!("{TEMPLATE}{{#{}#}}", " ".repeat(filler));
    file[at + 8..at + 8 + length].copy_from_slice(template.as_bytes());
    file
}

#[tokio::test]
#[ignore = "make test-live"]
async fn tools_reach_a_model_that_takes_them_through_its_own_template() {
    let onyx =
        started(json!({"models": ["smollm2", {"id": "tooled", "tools": true}, "plain"]})).await;
    let file = with_template(std::fs::read(small_model().await).unwrap());
    for name in ["tooled", "plain"] {
        std::fs::write(onyx.home().join(format!("models/{name}.gguf")), &file).unwrap();
    }
    let tool = json!({"type": "function", "function": {
        "name": "get_weather",
        "description": "Says what the weather is in a city, now.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }});
    let tokens = async |model: &str, more: Value| {
        let answer = complete(&onyx, model, &more).await.expect(200).json();
        answer["usage"]["prompt_tokens"].as_u64().unwrap()
    };

    let offered = json!({"tools": [tool], "max_tokens": 4});
    let with = tokens("local/tooled", offered.clone()).await;
    let without = tokens("local/tooled", json!({"max_tokens": 4})).await;

    println!("{with} tokens with a tool, {without} without");
    assert!(with > without + 30, "{with} {without}");
    // Without a setting in the config, the size of the file decides.
    assert_eq!(tokens("local/plain", offered).await, without);
    let models = onyx.get("/api/admin/models").await.expect(200).json();
    let takes = |id: &str| {
        let all = models["models"].as_array().unwrap();
        all.iter().find(|model| model["id"] == id).unwrap()["tools"].clone()
    };
    assert_eq!((takes("local/tooled"), takes("local/plain")), (json!(true), json!(false)));
}
