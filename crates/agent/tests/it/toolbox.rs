//! Tools that come and go while runs are at work.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use onyx_test_support::{Answer, ScriptedCall};
use onyx_tools::{Authorised, Registration, ToolCx, ToolError, Toolbox, TypedTool};
use onyx_types::{CallLabel, Event, Limits, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use serde_json::{Value, json};

use crate::world::World;

/// The change that a call makes to the toolbox.
#[derive(Clone, Copy)]
enum ToolChange {
    Brings,
    TakesAway,
    Nothing,
}

/// A tool that changes the toolbox in the middle of a run, as a program does that connects or
/// disconnects.
struct Changer {
    spec: ToolSpec,
    does: ToolChange,
    toolbox: Weak<Toolbox>,
    brought: Arc<Mutex<Vec<Registration>>>,
}

impl Changer {
    fn new(name: &'static str, does: ToolChange, world: &World) -> Self {
        let spec = ToolSpec {
            name: name.into(),
            group: "mcp:test".to_owned(),
            description: "Does what a test says.".to_owned(),
            input_schema: json!({"type": "object"}).into(),
            // Calls with effects run one after the other.
            usual_effect: ToolEffect::Write,
            repeats: false,
            timeout: Duration::from_secs(20),
            needs: Vec::new(),
            agents: None,
        };
        Self { spec, does, toolbox: Arc::downgrade(&world.toolbox), brought: Arc::default() }
    }
}

#[async_trait]
impl TypedTool for Changer {
    type Arguments = Value;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, _: &Value) -> CallLabel {
        Verb::new("use", "using", "used").of(self.spec.name.as_str())
    }

    async fn plan(&self, _: &Value, _: &ToolCx) -> Result<Plan, ToolError> {
        Ok(Plan::new(self.spec.name.clone(), Value::Null, ToolEffect::Read, ""))
    }

    async fn invoke(
        &self,
        _: Value,
        plan: Authorised<Plan>,
        _: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let toolbox = self.toolbox.upgrade().unwrap();
        match self.does {
            ToolChange::Brings => {
                let guest = Self {
                    spec: ToolSpec { name: "own_greet".into(), ..self.spec.clone() },
                    does: ToolChange::Nothing,
                    toolbox: self.toolbox.clone(),
                    brought: Arc::default(),
                };
                let brought = toolbox.register(vec![Arc::new(guest)]).unwrap();
                self.brought.lock().unwrap().extend(brought);
            }
            ToolChange::TakesAway => toolbox.remove(&self.brought.lock().unwrap()),
            ToolChange::Nothing => {}
        }
        Ok(ToolOutcome::ok(format!("{} worked", self.spec.name), plan.into_inner().summary))
    }
}

fn calls(names: &[&'static str]) -> Answer {
    let call = |(number, name): (usize, &&'static str)| ScriptedCall {
        id: format!("call_{number}"),
        name: (*name).to_owned(),
        pieces: vec!["{}".to_owned()],
    };
    Answer::tool_calls(names.iter().enumerate().map(call).collect::<Vec<_>>())
}

/// The test's own tools that each request offered.
fn offered(world: &World) -> Vec<Vec<String>> {
    let names = |body: &Value| {
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        let name = |tool: &Value| tool["function"]["name"].as_str().map(str::to_owned);
        tools.iter().filter_map(name).filter(|name| name.starts_with("own_")).collect()
    };
    world.model.requests().iter().map(|request| names(&request.body)).collect()
}

fn results(told: &[Event]) -> Vec<(bool, String)> {
    let result = |event: &Event| match event {
        Event::ToolResult { ok, output, .. } => Some((*ok, output.clone())),
        _ => None,
    };
    told.iter().filter_map(result).collect()
}

#[tokio::test]
async fn a_run_is_offered_a_tool_from_the_step_after_it_came_and_not_after_it_went() {
    let world = World::new(Vec::<Answer>::new()).await;
    let bring = Changer::new("own_bring", ToolChange::Brings, &world);
    let brought = Arc::clone(&bring.brought);
    let take = Changer { brought, ..Changer::new("own_take", ToolChange::TakesAway, &world) };
    world.toolbox.register(vec![Arc::new(bring), Arc::new(take)]).unwrap();
    for answer in [
        calls(&["own_bring"]),
        calls(&["own_greet"]),
        // Both calls come in one answer, so the second finds its tool gone.
        calls(&["own_take", "own_greet"]),
        Answer::text("Done."),
    ] {
        world.model.push(answer);
    }

    let (_, told) = world.say(None, "Go on.").await;

    let own = ["own_bring", "own_take"].map(str::to_owned).to_vec();
    let all = [own.clone(), vec!["own_greet".to_owned()]].concat();
    assert_eq!(offered(&world), [own.clone(), all.clone(), all, own]);
    let results = results(&told);
    assert_eq!(results[1], (true, "own_greet worked".to_owned()));
    let (ok, said) = &results[3];
    let gone = "the tool \"own_greet\" was removed after it was offered to you; yours: ";
    assert!(!ok && said.starts_with(gone), "{said}");
}

/// A small model is shown the tools for files, memory and search. It finds its other tools by
/// search and calls them by name, and the gate decides as for any call.
#[tokio::test]
async fn a_small_model_is_shown_few_tools_and_finds_the_others() {
    let call = |name: &str, input: Value| {
        Answer::tool_calls(vec![ScriptedCall {
            id: format!("of_{name}"),
            name: name.to_owned(),
            pieces: vec![input.to_string()],
        }])
    };
    let world = World::new([
        call("find_tool", json!({"need": "greet somebody"})),
        call("call_tool", json!({"name": "own_greet"})),
        call("own_greet", json!({})),
        Answer::text("Done."),
    ])
    .await;
    let mut greet = Changer::new("own_greet", ToolChange::Nothing, &world);
    greet.spec.group = "greetings".to_owned();
    greet.spec.description = "Greets somebody.".to_owned();
    world.toolbox.register(onyx_tools::find_tools()).unwrap();
    world.toolbox.register(vec![Arc::new(greet)]).unwrap();
    let agents = |model: &str| json!({"list": [{"id": "main", "default": true, "tier": "act", "model": model}]});
    world.set_agents(&agents("mine/tiny"), &Limits::default());
    let (_, told) = world.say(None, "hello").await;
    let shown = |request: usize| -> Vec<String> {
        let body = world.model.requests()[request].body.clone();
        let tools = body["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let few = shown(0);
    assert!(few.len() < 16, "{few:?}");
    for name in ["read_file", "write_file", "memory_get", "find_tool", "call_tool"] {
        assert!(few.iter().any(|shown| shown == name), "{name}: {few:?}");
    }
    assert!(!few.iter().any(|name| name == "own_greet" || name == "web_fetch"), "{few:?}");
    let results = results(&told);
    assert!(results[0].0 && results[0].1.contains("own_greet: "), "{results:?}");
    assert_eq!(results[1], (true, "own_greet worked".to_owned()));
    // A tool that it was not shown cannot be called directly.
    assert!(!results[2].0, "{results:?}");

    world.set_agents(&agents("mine/some-model"), &Limits::default());
    world.model.push(Answer::text("Hello."));
    drop(world.say(None, "hello").await);
    let all = shown(4);
    assert!(all.iter().any(|name| name == "own_greet"), "{all:?}");
    assert!(!all.iter().any(|name| name == "find_tool"), "{all:?}");
}
