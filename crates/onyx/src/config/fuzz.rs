//! Fuzzes the config reader with broken and hostile texts.

use onyx_test_support::Fuzz;
use serde_json::json;

use super::{ConfigText, Environment, parse};

#[test]
fn settings_read_or_say_why_not() {
    let plain = json!({
        "gateway": {"port": 1, "auth": {"mode": "token", "token": "t"}},
        "providers": {"a": {"kind": "openai", "apiKey": "${KEY}", "models": [{"id": "m"}]}},
        "agents": {"list": [{"id": "main", "tools": {"commands": [["cat"]]}}]},
        "tools": {"web": {"allowPrivateHosts": ["127.0.0.1:8080"]}},
    });
    let loose =
        "{ // note\n gateway: {port: 0x10,}, people: ['anna'], /* x */ limits: {max_cost: +.5}, }";
    let words = [
        "//", "/*", "*/", "'", "${", "}", "0x", "+", "\\u", "gateway", "agents", "Infinity", ",,",
        "[",
    ];
    let fuzz = Fuzz::new(env!("CARGO_MANIFEST_DIR"), "config").words(words);
    fuzz.seed(plain.to_string()).seed(loose).run(|bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let read = parse(&text, Environment::default());
        // A config that can be read can also be edited; any other gets an error with a reason.
        match read {
            Ok(_) => drop(ConfigText::parse(&text)),
            Err(error) => assert!(!error.message().is_empty()),
        }
    });
}
