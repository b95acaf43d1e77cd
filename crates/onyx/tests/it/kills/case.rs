//! One run of one server on a new home: it is killed, and the rest is checked.

use onyx_test_support::{
    Answer, Fate, FileChange, Finish, OnyxProcess, RecordedRequest, Script, ScriptedCall,
    ScriptedModel, Step, Tracer,
};
use serde_json::{Value, json};

use crate::witness::{self, Told};
use crate::{onyx, said};

const TEXTS: [&str; 2] = ["I write it down.", "Almost done."];

struct Case {
    index: usize,
    onyx: OnyxProcess,
}

/// The changes that a case has made to the person's files.
#[derive(Clone, Debug, PartialEq)]
struct Effects {
    note: Option<String>,
    entries: usize,
}

impl Effects {
    fn of(case: &Case) -> Self {
        let (index, home) = (case.index, case.onyx.home());
        Self {
            note: witness::vault_file(&home, &note(index)),
            entries: witness::words_noted(&home).get(&entry(index)).copied().unwrap_or(0),
        }
    }
}

/// Runs one case with its kill, restarts the server, and checks what is left.
pub(super) async fn run(index: usize, fate: Fate) -> Vec<FileChange> {
    let model = ScriptedModel::start().await;
    model.respond_with(respond);
    let onyx = onyx(&model).await;
    Case { index, onyx }.run(fate).await
}

impl Case {
    async fn run(mut self, fate: Fate) -> Vec<FileChange> {
        let index = self.index;
        let process = self.onyx.process_id().unwrap();
        let tracer = Tracer::attach(process, &self.onyx.home(), fate);
        let body = json!({"message": message(index)});
        let told = witness::talk(self.onyx.client(), &body).await;
        let seen = tracer.kill();
        self.onyx.kill().await;
        let at = format!("killed at {index} ({:?}), told {told:?}", seen.last());
        let audit = witness::audit(&self.onyx.home()).await.unwrap_or_else(|why| {
            panic!("{why}: {at}");
        });
        let before = Effects::of(&self);
        self.onyx.restart().await;
        self.check_files(&told, &at);
        if let Some(session) = self.session(&told).await {
            self.check_session(&session, &told, &at).await;
        }
        assert_eq!(Effects::of(&self), before, "an effect came again: {at}");
        let about = |words: &str| audit.iter().any(|row| row.entry.diff_summary.contains(words));
        assert!(before.note.is_none() || about(&note(index)), "written unseen: {at}");
        assert!(before.entries == 0 || about(&entry(index)), "noted unseen: {at}");
        if fate == Fate::Lives {
            assert_eq!(told.status.as_deref(), Some("done"), "{at}");
        }
        seen
    }

    fn check_files(&self, told: &Told, at: &str) {
        let effects = Effects::of(self);
        let note = effects.note.as_deref();
        match (told.is_ok("write"), told.is_ok("edit")) {
            (_, true) => assert_eq!(note, Some("two\n"), "{at}"),
            (true, false) => assert!(matches!(note, Some("one\n" | "two\n")), "{note:?} {at}"),
            (false, false) => {
                assert!(matches!(note, None | Some("one\n" | "two\n")), "{note:?} {at}");
            }
        }
        assert!(effects.entries <= 1, "noted {} times: {at}", effects.entries);
        assert!(effects.entries == 1 || !told.is_ok("remember"), "the entry is lost: {at}");
    }

    /// The session of a case. A client that got no answer finds it by its title.
    async fn session(&self, told: &Told) -> Option<String> {
        if let Some(session) = &told.session {
            return Some(session.clone());
        }
        let list = self.onyx.get("/v1/sessions?limit=5").await.expect(200).json();
        let rows = list["sessions"].as_array().unwrap();
        for row in rows {
            let session = row["id"].as_str().unwrap();
            let turns = witness::turns(self.onyx.client(), session).await;
            if turns.iter().any(|turn| turn["content"] == message(self.index)) {
                return Some(session.to_owned());
            }
        }
        None
    }

    async fn check_session(&self, session: &str, told: &Told, at: &str) {
        let turns = witness::turns(self.onyx.client(), session).await;
        assert_eq!(witness::faults_of(&turns), Vec::<String>::new(), "{at}");
        assert_eq!(told.missing_in(&turns), Vec::<String>::new(), "{at}");
        let of = |kind: &'static str| turns.iter().filter(move |turn| turn["type"] == kind);
        assert_eq!(of("user").count(), 1, "{at}");
        let status = &of("run_end").next().unwrap()["status"];
        assert!(*status == "interrupted" || *status == "done", "{status}: {at}");
        for text in of("assistant_text") {
            let content = text["content"].as_str().unwrap();
            let cut = TEXTS.iter().any(|whole| whole.starts_with(content));
            let whole = TEXTS.contains(&content);
            assert!(whole || (cut && text["status"] == "interrupted"), "{text}: {at}");
        }
        let messages = self.onyx.history(session).await;
        assert_eq!(messages[0]["content"], message(self.index), "{at}");
        let shown = if *status == "done" { "complete" } else { "interrupted" };
        assert_eq!(messages.last().unwrap()["status"], shown, "{at}");
        let body = json!({"message": "go on", "session_id": session});
        let next = self.onyx.chat_stream(&body).await;
        assert_eq!((said(&next).as_str(), &next.last().unwrap()["status"]), ("ok", &json!("done")));
        let after = self.onyx.history(session).await;
        assert_eq!(after[..messages.len()], messages[..], "{at}");
    }
}

fn message(index: usize) -> String {
    format!("case {index} please")
}

fn note(index: usize) -> String {
    format!("note-{index}.md")
}

fn entry(index: usize) -> String {
    format!("entry-{index}")
}

/// Answers the message of a case in three steps, by how many results follow it; other messages get
/// `ok`.
fn respond(request: &RecordedRequest) -> Answer {
    let Some(messages) = request.body["messages"].as_array() else { return Answer::text("ok") };
    let last = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    let words = messages[last]["content"].as_str().unwrap_or_default();
    // An unanswered message and the next one may be answered together.
    let asked = words.strip_suffix(" please").and_then(|words| words.rsplit(' ').next());
    let Some(index) = asked.and_then(|index| index.parse().ok()) else {
        return Answer::text("ok");
    };
    let results = messages[last..].iter().filter(|message| message["role"] == "tool").count();
    match results {
        0 => calls(
            TEXTS[0],
            vec![
                call("write", "write_file", &json!({"path": note(index), "content": "one\n"})),
                call("remember", "memory_write", &json!({"text": entry(index)})),
            ],
        ),
        2 => calls(
            "",
            vec![
                call(
                    "edit",
                    "edit_file",
                    &json!({"path": note(index), "old": "one", "new": "two"}),
                ),
                call("read", "read_file", &json!({"path": note(index)})),
            ],
        ),
        // The pause is long enough for the text so far to be saved as a note.
        _ => Script::new([
            Step::Text("Almost ".into()),
            Step::PauseMs(300),
            Step::Text("done.".into()),
        ])
        .ended(Finish::Stop)
        .into(),
    }
}

fn calls(text: &str, calls: Vec<ScriptedCall>) -> Answer {
    let text = (!text.is_empty()).then(|| Step::Text(text.to_owned()));
    let steps = text.into_iter().chain([Step::ToolCalls(calls)]);
    Script::new(steps).ended(Finish::ToolCalls).into()
}

fn call(id: &str, tool: &str, arguments: &Value) -> ScriptedCall {
    ScriptedCall::new(id, tool, arguments)
}
