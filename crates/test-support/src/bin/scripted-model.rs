//! The scripted model as a process of its own: `scripted-model [--port N] [--script file.json]`.
//!
//! It prints its base URL and serves until it is killed. `GET /_requests` shows the last requests,
//! `GET /_counts` how many there were; `POST /_script` sets another script.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use onyx_test_support::{Recording, ScriptFile, ScriptedModel};

const USAGE: &str = "usage: scripted-model [--port N] [--script file.json]";

#[tokio::main]
async fn main() {
    let (mut port, mut script) = (0, ScriptFile::default());
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().expect(USAGE);
        match option.as_str() {
            "--port" => port = value.parse().expect(USAGE),
            "--script" => script = read_script(&value),
            _ => panic!("{USAGE}"),
        }
    }
    let server = ScriptedModel::start_on(port).await;
    server.load(script);
    server.set_recording(Recording::Last(100));
    println!("{}", server.base_url());
    std::future::pending::<()>().await;
}

fn read_script(path: &str) -> ScriptFile {
    let text = std::fs::read_to_string(path).expect("the script file can be read");
    serde_json::from_str(&text).expect("the script file is a valid script")
}
