use onyx_egress::Address;
use onyx_extract::Document;
use onyx_local::Gguf;
use onyx_providers::wire::{BodyForm, CalledModel, Compat, Wire};
use onyx_test_support::Fuzz;
use onyx_types::{ModelEvent, Turn};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

fn called_model() -> CalledModel {
    CalledModel {
        reasons: false,
        id: "mine/m".to_owned(),
        model: "m".to_owned(),
        context_window: None,
        max_output_tokens: None,
        compat: Compat::default(),
    }
}

/// Decoding never panics, an answer has one end, and splitting the bytes differently changes
/// nothing.
fn decodes(wire: Wire, form: BodyForm, bytes: &[u8]) {
    let mut whole = wire.decoder(form, &called_model());
    let mut events = whole.push(bytes);
    events.extend(whole.end());
    let is_last =
        |event: &&ModelEvent| matches!(event, ModelEvent::Finish { .. } | ModelEvent::Failed(_));
    assert_eq!(events.iter().filter(is_last).count(), 1, "{events:?}");
    assert!(events.last().as_ref().is_some_and(is_last), "{events:?}");
    let mut pieces = wire.decoder(form, &called_model());
    let mut again: Vec<ModelEvent> = bytes.chunks(7).flat_map(|piece| pieces.push(piece)).collect();
    again.extend(pieces.end());
    // The error for a broken answer may depend on what was read first, so only its kind is
    // compared.
    let kind = |events: &[ModelEvent]| events.last().map(std::mem::discriminant);
    assert_eq!(kind(&again), kind(&events), "{again:?} {events:?}");
}

const CHAT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\",\"tool_calls\":[{\"index\":0,\
\"id\":\"a\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\"}}]}}]}\n\n\
data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}}]},\
\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n\
data: [DONE]\n\n";
const MESSAGES: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\
\"input_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\
\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"b\"}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\
\"input_json_delta\",\"partial_json\":\"{}\"}}\n\nevent: content_block_stop\ndata: {\"type\":\
\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\
\"delta\":{\"stop_reason\":\"tool_use\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
const GEMINI: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"},{\"functionCall\":\
{\"name\":\"a\",\"args\":{}}}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1}}\n\n";
const OLLAMA: &str = "{\"message\":{\"content\":\"hi\",\"tool_calls\":[{\"function\":{\"name\":\"a\",\
\"arguments\":{}}}]},\"done\":false}\n{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\
\"stop\",\"eval_count\":3}\n";
const RESPONSES: &str = "event: response.output_text.delta\ndata: {\"type\":\
\"response.output_text.delta\",\"delta\":\"hi\"}\n\nevent: response.completed\ndata: {\"type\":\
\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[],\"usage\":{}}}\n\n";

#[test]
fn server_sent_events() {
    let words =
        ["data: ", "event: ", "id: ", "\n\n", "\r\n", ": note\n", "[DONE]", "null", "\"error\":{"];
    let fuzz = Fuzz::new(HERE, "sse").words(words);
    fuzz.seed(CHAT).seed(MESSAGES).seed(GEMINI).seed(RESPONSES).run(|bytes| {
        for wire in [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Anthropic, Wire::Gemini] {
            decodes(wire, BodyForm::Stream, bytes);
        }
    });
}

#[test]
fn lines_of_json() {
    let words = ["\n", "\"done\":true", "\"tool_calls\":[", "\"error\":\"x\"", "null", "{}"];
    Fuzz::new(HERE, "ndjson").words(words).seed(OLLAMA).run(|bytes| {
        decodes(Wire::Ollama, BodyForm::Stream, bytes);
        decodes(Wire::Ollama, BodyForm::Whole, bytes);
    });
}

/// A readable turn is written back unchanged, even one of an unknown version.
#[test]
fn turn_lines() {
    let id = "0199a8a0-0000-7000-8000-000000000001";
    let base = format!(
        "\"id\":\"{id}\",\"run_id\":\"{id}\",\"ts\":\"2026-11-16T10:00:00.000Z\",\"lane\":0"
    );
    let seeds = [
        format!(
            "{{\"type\":\"user\",{base},\"content\":\"hi\",\"author\":{{\"person\":\"owner\"}}}}"
        ),
        format!(
            "{{\"type\":\"tool_call\",{base},\"tool_use_id\":\"a\",\"tool_name\":\"b\",\"input\":{{}}}}"
        ),
        format!("{{\"type\":\"run_end\",{base},\"status\":\"done\",\"usage\":{{\"input\":1}}}}"),
        format!("{{\"type\":\"from_the_future\",{base},\"x\":[1,2.5,null]}}"),
    ];
    let words =
        ["\"type\":", "\"assistant_text\"", "\"draft_id\":", "\"origin\":\"external\"", "-0.0"];
    let fuzz = seeds.into_iter().fold(Fuzz::new(HERE, "turns").words(words), Fuzz::seed);
    fuzz.run(|bytes| {
        let Ok(turn) = Turn::from_json(bytes) else { return };
        let written = serde_json::to_vec(&turn).unwrap();
        let again = Turn::from_json(&written).unwrap();
        assert_eq!(again, turn);
    });
}

#[test]
fn headers_of_models() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let mut model = b"GGUF\x03\0\0\0".to_vec();
    model.extend(1u64.to_le_bytes());
    model.extend(2u64.to_le_bytes());
    model.extend(
        [text("general.architecture"), 8u32.to_le_bytes().to_vec(), text("llama")].concat(),
    );
    model.extend(
        [text("tokenizer.chat_template"), 8u32.to_le_bytes().to_vec(), text("{{x}}")].concat(),
    );
    model.extend([text("w"), 1u32.to_le_bytes().to_vec(), 4u64.to_le_bytes().to_vec()].concat());
    model.extend([0u32.to_le_bytes().to_vec(), 0u64.to_le_bytes().to_vec()].concat());
    model.extend([0; 64]);
    let words = ["GGUF", "general.alignment", "\x09\0\0\0", "\x08\0\0\0"];
    Fuzz::new(HERE, "gguf").words(words).seed(model).run(|bytes| {
        std::fs::write(&path, bytes).unwrap();
        drop(Gguf::read(&path));
    });
}

#[test]
fn pages_and_other_documents() {
    let page = "<!doctype html><html><head><title>T</title><base href=/x></head><body><article><h1>A\
        </h1><p>b <a href='//c'>d</a><table><tr><td>1</table><pre>x</pre><svg><style><!--</style>\
        </article></body></html>";
    let words =
        ["<", "</", "<!--", "]]>", "<table>", "<svg>", "<template>", "&#x10FFFF;", "<p a=\""];
    Fuzz::new(HERE, "html").words(words).seed(page).seed("a,b\n\"c\n\",d\n").run(|bytes| {
        for (name, kind) in [("a.html", "text/html"), ("a.csv", "text/csv"), ("a.md", "text/plain")]
        {
            drop(Document { name, media_type: Some(kind), bytes }.extract());
        }
    });
}

/// Each address has one spelling, and no private address counts as public.
#[test]
fn addresses() {
    let words =
        ["@", "0x7f", "%2e", "[::1]", "localhost", ".", "\\", "#", "://", "xn--", "。", "①"];
    let fuzz = Fuzz::new(HERE, "urls").words(words);
    fuzz.seed("http://a.example:80/x?y#z")
        .seed("https://127.0.0.1/")
        .seed("http://[::ffff:1.2.3.4]/")
        .run(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            let Ok(address) = text.parse::<Address>() else { return };
            assert!(
                address.as_str().starts_with("http://") || address.as_str().starts_with("https://")
            );
            assert!(
                !address.host().is_empty() && !address.as_str().contains('@') || text.contains('@')
            );
            let again: Address = address.as_str().parse().expect("its own spelling is one");
            assert_eq!(again, address);
            drop(address.join(&text));
        });
}
