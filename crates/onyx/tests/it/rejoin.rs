//! Rejoins a run with `GET /api/runs/{id}/events?after=` after the connection was cut at any byte.

use onyx_test_support::{
    AgentClient, Answer, Finish, Script, ScriptedCall, ScriptedModel, Step, canary,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::onyx;

/// Reads a run's events over several connections.
pub(crate) struct Rejoined {
    run: String,
    after: u64,
    pub(crate) text: String,
    pub(crate) kinds: Vec<String>,
    pub(crate) done: bool,
    /// The first violation of what the route promises.
    pub(crate) fault: Option<String>,
}

impl Rejoined {
    pub(crate) fn new(run: String) -> Self {
        Self { run, after: 0, text: String::new(), kinds: Vec::new(), done: false, fault: None }
    }

    /// Continues to read over a new connection, until the run ends or this many bytes have arrived,
    /// even in the middle of a frame. `None` when the server went away or does not know the run.
    pub(crate) async fn read(&mut self, client: &AgentClient, bytes: usize) -> Option<()> {
        let path = format!("/api/runs/{}/events?after={}", self.run, self.after);
        let mut answer = client.request(Method::GET, &path).send().await.ok()?;
        if !answer.status().is_success() {
            return None;
        }
        let mut stream = Vec::new();
        while stream.len() < bytes
            && let Some(more) = answer.chunk().await.ok()?
        {
            stream.extend_from_slice(&more);
        }
        canary::assert_absent("a run's events", &stream);
        stream.truncate(bytes);
        let whole = stream.windows(2).rposition(|two| two == b"\n\n").map_or(0, |at| at + 2);
        for frame in String::from_utf8_lossy(&stream[..whole]).split("\n\n") {
            let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
            if let (Some(id), Some(data)) = (field("id:"), field("data:")) {
                self.take(id.trim(), &serde_json::from_str(data.trim()).unwrap_or_default());
            }
        }
        Some(())
    }

    fn take(&mut self, id: &str, event: &Value) {
        let expected = self.after + 1;
        if event["seq"] != expected || id != format!("{}:{expected}", self.run) {
            self.fault.get_or_insert(format!("event {expected} came as {id}: {event}"));
        }
        self.after = expected;
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == "text_delta" {
            self.text.push_str(event["text"].as_str().unwrap_or_default());
        }
        self.kinds.push(kind.to_owned());
        self.done |= kind == "done";
    }
}

#[tokio::test]
async fn a_client_cut_off_at_any_byte_of_a_run_with_tools_misses_nothing_and_sees_nothing_twice() {
    let arguments = json!({"path": "a.md", "content": "a"});
    let call = ScriptedCall::new("a", "write_file", &arguments);
    let pieces: Vec<String> = (0..60).map(|number| format!("piece {number}, ")).collect();
    let first = [Step::Text("I write. ".into()), Step::ToolCalls(vec![call])];
    let model = ScriptedModel::with_answers([
        Answer::script(Script::new(first).ended(Finish::ToolCalls)),
        Answer::script(Script::text_pieces(pieces.clone())).delay_ms(10),
    ])
    .await;
    let onyx = onyx(&model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    let run = lines.until("start").await["run_id"].as_str().unwrap().to_owned();
    let reading = tokio::spawn(lines.rest());
    let mut reader = Rejoined::new(run);
    let mut cuts = 0;
    while !reader.done {
        // The sizes have no common divisor with the frames, so that the cuts fall into every part
        // of a frame.
        let bytes = if cuts < 40 { 97 + 31 * (cuts % 13) } else { usize::MAX };
        reader.read(onyx.client(), bytes).await.expect("the run is kept");
        cuts += 1;
    }
    assert_eq!(reader.fault, None);
    assert!(cuts > 20, "only {cuts} connections");
    assert_eq!(reader.text, format!("I write. {}", pieces.concat()));
    let mut durable = reader.kinds.clone();
    durable.retain(|kind| matches!(kind.as_str(), "start" | "tool_call" | "tool_result" | "done"));
    assert_eq!(durable, ["start", "tool_call", "tool_result", "done"]);
    assert_eq!(reading.await.unwrap().last().unwrap()["type"], "done");
}

#[tokio::test]
async fn a_client_finds_its_run_when_others_had_long_answers_meanwhile() {
    let long = || Answer::text("long ".repeat(60_000));
    let model = ScriptedModel::with_answers([Answer::text("short"), long(), long()]).await;
    let onyx = onyx(&model).await;
    let told = onyx.chat_lines(&json!({"message": "go"})).await.rest().await;
    let run = told[0]["run_id"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        onyx.chat_lines(&json!({"message": "everything"})).await.rest().await;
    }
    let path = format!("/api/runs/{run}/events?after=0");
    let answer = onyx.client().request(Method::GET, &path).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    for line in answer.text().await.unwrap().lines().filter(|line| line.starts_with("data:")) {
        assert_eq!(line.matches("\"run_id\"").count(), 1, "{line}");
    }
    let mut reader = Rejoined::new(run);
    reader.read(onyx.client(), usize::MAX).await.expect("the run is kept");
    assert_eq!((reader.text.as_str(), reader.done, reader.fault), ("short", true, None));
}
