//! Tools and a prompt that ask the client for something, or report their progress.

use onyx_mcp::serving::{Exchange, Question, Refusal, Stop};
use serde_json::{Value, json};

use crate::content::{said, text};

fn form(message: &str, properties: &Value) -> Question {
    let names: Vec<&String> = properties.as_object().into_iter().flatten().map(|it| it.0).collect();
    let schema = json!({"type": "object", "properties": properties, "required": names});
    Question::elicit(message, &schema)
}

fn sample(prompt: &str) -> Question {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let params = json!({"messages": [message], "maxTokens": 100});
    Question { method: "sampling/createMessage", params }
}

fn roots() -> Question {
    Question { method: "roots/list", params: json!({}) }
}

pub(crate) async fn prompt(exchange: &Exchange) -> Result<Value, Stop> {
    let question =
        form("What context should the prompt use?", &json!({"context": {"type": "string"}}));
    let answers = exchange.ask(vec![("user_context", question)]).await?;
    let context = &answers["user_context"]["content"]["context"];
    Ok(json!({"messages": [said(&format!("Prompt with context: {context}"))]}))
}

pub(crate) async fn call(name: &str, params: &Value, exchange: &Exchange) -> Result<Value, Stop> {
    match name {
        "test_tool_with_logging" | "test_logging_tool" => {
            for line in
                ["Tool execution started", "Tool processing data", "Tool execution completed"]
            {
                exchange.log("info", line).await;
            }
            Ok(text("Tool with logging executed successfully"))
        }
        "test_tool_with_progress" | "test_streaming_elicitation" => {
            for step in [0, 50, 100] {
                exchange.progress(step, 100, &format!("Completed step {step} of 100")).await;
            }
            Ok(text("Done."))
        }
        "test_missing_capability" => {
            if !exchange.can("sampling") {
                return Err(Refusal::needs_capability("sampling").into());
            }
            Ok(text("Success"))
        }
        "test_sampling" => {
            let prompt = params["arguments"]["prompt"].as_str().unwrap_or_default();
            let answers = exchange.ask(vec![("sample", sample(prompt))]).await?;
            Ok(text(&format!("LLM response: {}", answers["sample"]["content"]["text"])))
        }
        "test_elicitation" => {
            let message = params["arguments"]["message"].as_str().unwrap_or_default();
            let question = form(message, &json!({"response": {"type": "string"}}));
            elicited(exchange, question).await
        }
        "test_elicitation_sep1034_defaults" => {
            elicited(exchange, Question::elicit("Please review", &with_defaults())).await
        }
        "test_elicitation_sep1330_enums" => {
            elicited(exchange, Question::elicit("Please select", &with_choices())).await
        }
        _ => by_input(name, exchange).await,
    }
}

async fn elicited(exchange: &Exchange, question: Question) -> Result<Value, Stop> {
    let answers = exchange.ask(vec![("form", question)]).await?;
    let (action, content) = (&answers["form"]["action"], &answers["form"]["content"]);
    Ok(text(&format!("Elicitation completed: action={action}, content={content}")))
}

async fn by_input(name: &str, exchange: &Exchange) -> Result<Value, Stop> {
    let confirm = || form("Please confirm", &json!({"ok": {"type": "boolean"}}));
    let person = |message: &str| form(message, &json!({"name": {"type": "string"}}));
    match name {
        "test_input_required_result_elicitation" => {
            let answers = exchange.ask(vec![("user_name", person("What is your name?"))]).await?;
            Ok(text(&format!("Hello, {}!", answers["user_name"]["content"]["name"])))
        }
        "test_input_required_result_sampling" => {
            let question = sample("What is the capital of France?");
            let answers = exchange.ask(vec![("capital_question", question)]).await?;
            Ok(text(&format!(
                "Sampling result: {}",
                answers["capital_question"]["content"]["text"]
            )))
        }
        "test_input_required_result_list_roots" => {
            let answers = exchange.ask(vec![("client_roots", roots())]).await?;
            Ok(text(&format!("Roots: {}", answers["client_roots"]["roots"])))
        }
        "test_input_required_result_request_state" => {
            exchange.ask(vec![("confirm", confirm())]).await?;
            Ok(text("state-ok: requestState validated"))
        }
        "test_input_required_result_tampered_state" => {
            exchange.ask(vec![("confirm", confirm())]).await?;
            Ok(text("integrity-ok: state verified"))
        }
        "test_input_required_result_multiple_inputs" => {
            let questions = vec![
                ("user_name", person("What is your name?")),
                ("greeting", sample("Generate a greeting")),
                ("client_roots", roots()),
            ];
            Ok(text(&format!("{} answers", exchange.ask(questions).await?.len())))
        }
        "test_input_required_result_multi_round" => {
            let first = person("Step 1: What is your name?");
            exchange.ask(vec![("step1", first)]).await?;
            let second =
                form("Step 2: What is your favorite color?", &json!({"color": {"type": "string"}}));
            exchange.ask(vec![("step2", second)]).await?;
            Ok(text("Multi-round complete"))
        }
        "test_input_required_result_capabilities" => {
            let mut questions = Vec::new();
            if exchange.can("elicitation") {
                questions.push(("elicit_input", confirm()));
            }
            if exchange.can("sampling") {
                questions.push(("sample_input", sample("Sample request")));
            }
            Ok(text(&format!("{} answers", exchange.ask(questions).await?.len())))
        }
        _ => Err(Refusal::params("there is no such tool").into()),
    }
}

fn with_defaults() -> Value {
    json!({"type": "object", "required": [], "properties": {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "description": "User status",
            "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verified", "default": true},
    }})
}

fn with_choices() -> Value {
    let titled = |words: &str| -> Value {
        let numbers = ["First", "Second", "Third"];
        let choice = |(at, number): (usize, &&str)| json!({"const": format!("value{}", at + 1), "title": format!("{number} {words}")});
        numbers.iter().enumerate().map(choice).collect()
    };
    let plain = ["option1", "option2", "option3"];
    json!({"type": "object", "required": [], "properties": {
        "untitledSingle": {"type": "string", "description": "One", "enum": plain},
        "titledSingle": {"type": "string", "description": "One", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "description": "One", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "description": "Some", "minItems": 1, "maxItems": 3,
            "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "description": "Some", "minItems": 1, "maxItems": 3,
            "items": {"anyOf": titled("Choice")}},
    }})
}
