//! Tools whose effects are noted in the book.

use std::time::Duration;

use async_trait::async_trait;
use onyx_tools::{Authorised, ToolCx, ToolError, TypedTool};
use onyx_types::{Origin, Plan, ToolEffect, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::book::UnusualEvent;
use super::junction::{Track, What};

pub(super) struct SimTool {
    spec: ToolSpec,
    track: Track,
}

impl SimTool {
    pub(super) fn new(name: &'static str, effect: ToolEffect, track: Track) -> Self {
        let schema = json!({
            "type": "object",
            "properties": { "key": { "type": "string" } },
            "required": ["key"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: name.into(),
            group: "sim".to_owned(),
            description: "Does something that can be seen.".to_owned(),
            input_schema: schema.into(),
            usual_effect: effect,
            repeats: false,
            timeout: Duration::from_secs(20),
            needs: Vec::new(),
            agents: None,
        };
        Self { spec, track }
    }
}

#[async_trait]
impl TypedTool for SimTool {
    type Arguments = Value;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> onyx_types::CallLabel {
        onyx_types::Verb::new("do", "doing", "did").of(arguments["key"].to_string())
    }

    async fn plan(&self, _: &Value, _: &ToolCx) -> Result<Plan, ToolError> {
        Ok(Plan::new(self.spec.name.clone(), Value::Null, self.spec.usual_effect, ""))
    }

    async fn invoke(
        &self,
        arguments: Value,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let key = arguments["key"].as_str().unwrap_or_default().to_owned();
        self.track.pause(What::Tool).await;
        {
            let mut book = self.track.junction.book.lock().unwrap();
            book.count(UnusualEvent::ToolEffect);
            book.effects.push(key.clone());
        }
        cx.live.send("at work");
        self.track.pause(What::Tool).await;
        if self.track.junction.may_fail() && self.track.junction.chance.percent(10) {
            return Err(ToolError::NotFound(key));
        }
        let outside = self.track.junction.chance.percent(10);
        let origin = if outside { Origin::External } else { Origin::Agent };
        Ok(ToolOutcome::ok(format!("did {key}"), plan.summary).from_origin(origin))
    }
}
