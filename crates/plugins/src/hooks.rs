//! Decides which hooks of plugins receive a call or run, and which replies they may give.
//! A hook that may veto guards the calls that it names: if its program does not answer in time, is
//! not running, or is no longer the accepted one, those calls do not happen. Any other hook is
//! skipped when its program does not answer.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_tools::{HookAnswer, HookNote, HookedCall, HookedRun, Hooks, Veto};
use onyx_types::{PersonId, RunStatus, ToolOutcome};
use serde_json::{Map, Value, json};

use crate::host::Host;
use crate::package::{AcceptedFacts, Grants, Hook, HookEvent};
use crate::{PluginError, Plugins};

/// The longest text that a plugin may add to a call.
const LONGEST_WORDS: usize = 500;
/// The largest content of a call or a run that is sent to a plugin.
const LONGEST_CONTENT: usize = 64 * 1024;

/// The hooks of one enabled plugin, and the program that answers for them.
pub(crate) struct Guard {
    pub(crate) plugin: String,
    /// The accepted hooks and grants.
    pub(crate) facts: AcceptedFacts,
    /// The program that answers, or the reason why none does.
    pub(crate) host: Result<Arc<Host>, String>,
}

/// An event that is being sent to its hooks.
struct HookCall<'a> {
    event: HookEvent,
    method: &'static str,
    person: &'a PersonId,
    tool: Option<&'a str>,
    /// The fields that every hook receives.
    plain: Map<String, Value>,
    /// The fields that only hooks with access to content receive.
    content: Map<String, Value>,
}

/// The reply of one hook.
enum HookReply {
    Nothing,
    No(String),
    Note(String),
}

impl Guard {
    /// The hooks for this event, if the plugin may receive this person's events.
    fn hooks<'a>(&'a self, telling: &'a HookCall<'_>) -> impl Iterator<Item = &'a Hook> {
        let hears = move |hook: &&Hook| {
            hook.event == telling.event && telling.tool.is_none_or(|tool| hook.hears_of(tool))
        };
        let is_for = self.facts.grants.is_for(telling.person);
        self.facts.hooks.iter().filter(move |hook| is_for && hears(hook))
    }

    async fn ask(&self, hook: &Hook, telling: &HookCall<'_>) -> HookReply {
        let params = telling.params(&self.facts.grants);
        let limit = Duration::from_millis(hook.deadline_ms);
        let host = match &self.host {
            Ok(host) => host,
            Err(why) if hook.veto => return HookReply::No(why.clone()),
            Err(_) => return HookReply::Nothing,
        };
        if hook.veto {
            return match host.ask(telling.method, &params, limit).await {
                Ok(answer) => reply_of(&answer, hook),
                Err(error) => HookReply::No(unanswered(&error)),
            };
        }
        if !hook.annotate {
            host.tell(telling.method, params);
            return HookReply::Nothing;
        }
        match host.ask_if_quick(telling.method, &params, limit).await {
            Ok(answer) => reply_of(&answer, hook),
            Err(error) => {
                tracing::debug!(plugin = self.plugin, %error, "a note of the plugin was dropped");
                HookReply::Nothing
            }
        }
    }
}

impl HookCall<'_> {
    fn params(&self, grants: &Grants) -> Value {
        let mut all = self.plain.clone();
        if grants.content {
            all.extend(self.content.clone());
        }
        Value::Object(all)
    }
}

fn unanswered(error: &PluginError) -> String {
    format!("it did not answer: {error}")
}

/// Reads a reply: `{}`, `{"veto": "why"}` or `{"annotate": "words"}`. Any other reply of a hook
/// that may veto counts as a veto, because it may have been meant as one.
fn reply_of(answer: &Value, hook: &Hook) -> HookReply {
    let Some(fields) = answer.as_object() else {
        return if hook.veto {
            HookReply::No("its answer was not understood".to_owned())
        } else {
            HookReply::Nothing
        };
    };
    match fields.get("veto") {
        Some(Value::String(why)) if hook.veto => return HookReply::No(bounded(why)),
        None | Some(Value::Null | Value::Bool(false)) => {}
        Some(_) if hook.veto => return HookReply::No("it gave no reason".to_owned()),
        // A hook without the right to veto cannot use it.
        Some(_) => {}
    }
    match fields.get("annotate").and_then(Value::as_str) {
        Some(words) if !words.trim().is_empty() => HookReply::Note(bounded(words)),
        Some(_) | None => HookReply::Nothing,
    }
}

fn bounded(words: &str) -> String {
    let end = words.floor_char_boundary(LONGEST_WORDS);
    onyx_types::visible_line(&words[..end]).to_string()
}

impl Plugins {
    /// Asks one hook after the other, until one vetoes.
    async fn call_hooks(&self, telling: HookCall<'_>) -> HookAnswer {
        let mut answer = HookAnswer::default();
        for guard in self.guards().iter() {
            for hook in guard.hooks(&telling) {
                let by = guard.plugin.clone();
                match guard.ask(hook, &telling).await {
                    HookReply::Nothing => {}
                    HookReply::Note(text) => answer.notes.push(HookNote { by, text }),
                    HookReply::No(why) => {
                        answer.veto = Some(Veto { by, why });
                        return answer;
                    }
                }
            }
        }
        answer
    }

    fn hears(&self, event: HookEvent) -> bool {
        let wants = |guard: &Guard| guard.facts.hooks.iter().any(|hook| hook.event == event);
        self.guards().iter().any(wants)
    }
}

#[async_trait]
impl Hooks for Plugins {
    async fn before_tool(&self, call: HookedCall<'_>) -> HookAnswer {
        if !self.hears(HookEvent::BeforeTool) {
            return HookAnswer::default();
        }
        let method = "hook.before_tool";
        self.call_hooks(of_call(HookEvent::BeforeTool, method, &call)).await
    }

    fn wants_outcomes(&self) -> bool {
        self.hears(HookEvent::AfterTool)
    }

    async fn after_tool(&self, call: HookedCall<'_>, outcome: &ToolOutcome) -> Vec<HookNote> {
        if !self.hears(HookEvent::AfterTool) {
            return Vec::new();
        }
        let mut telling = of_call(HookEvent::AfterTool, "hook.after_tool", &call);
        telling.plain.insert("ok".to_owned(), json!(!outcome.is_error));
        telling.content.insert("output".to_owned(), json!(cut(&outcome.output)));
        self.call_hooks(telling).await.notes
    }

    async fn before_run(&self, run: HookedRun<'_>) -> HookAnswer {
        if self.hears(HookEvent::OnMessage) {
            self.call_hooks(of_run(HookEvent::OnMessage, "hook.on_message", &run)).await;
        }
        if !self.hears(HookEvent::BeforeRun) {
            return HookAnswer::default();
        }
        self.call_hooks(of_run(HookEvent::BeforeRun, "hook.before_run", &run)).await
    }

    fn after_run(&self, run: HookedRun<'_>, status: RunStatus) {
        if !self.hears(HookEvent::AfterRun) {
            return;
        }
        let mut telling = of_run(HookEvent::AfterRun, "hook.after_run", &run);
        telling.plain.insert("status".to_owned(), json!(status.as_str()));
        for guard in self.guards().iter() {
            let is_told = guard.hooks(&telling).next().is_some();
            if let (true, Ok(host)) = (is_told, &guard.host) {
                host.tell(telling.method, telling.params(&guard.facts.grants));
            }
        }
    }
}

fn of_call<'a>(event: HookEvent, method: &'static str, call: &HookedCall<'a>) -> HookCall<'a> {
    let plain = json!({
        "person": call.person, "agent": call.agent, "session": call.session, "run": call.run,
        "tool": call.tool, "effect": call.effect,
    });
    let arguments = call.arguments.to_string();
    let arguments = if arguments.len() > LONGEST_CONTENT {
        json!({"too_long": arguments.len()})
    } else {
        call.arguments.clone()
    };
    let content = json!({"arguments": arguments, "summary": cut(call.summary)});
    HookCall {
        event,
        method,
        person: call.person,
        tool: Some(call.tool),
        plain: object(plain),
        content: object(content),
    }
}

fn of_run<'a>(event: HookEvent, method: &'static str, run: &HookedRun<'a>) -> HookCall<'a> {
    let plain = json!({
        "person": run.person, "agent": run.agent, "session": run.session, "run": run.run,
    });
    let content = json!({"text": cut(run.text)});
    HookCall {
        event,
        method,
        person: run.person,
        tool: None,
        plain: object(plain),
        content: object(content),
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_CONTENT)]
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
