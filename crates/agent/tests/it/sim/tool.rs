//! Tools whose effects on the world outside are written into the book.

use std::time::Duration;

use async_trait::async_trait;
use onyx_tools::{Authorised, Tool, ToolCx, ToolError};
use onyx_types::{Origin, Plan, ToolEffect, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::book::Mishap;
use super::junction::{Track, What};

pub(super) struct SimTool {
    spec: ToolSpec,
    track: Track,
}

impl SimTool {
    pub(super) fn new(name: &str, effect: ToolEffect, track: Track) -> Self {
        let schema = json!({
            "type": "object",
            "properties": { "key": { "type": "string" } },
            "required": ["key"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: name.to_owned(),
            group: "sim",
            description: "Does something that can be seen.".to_owned(),
            input_schema: schema.into(),
            usual_effect: effect,
            repeats: false,
            timeout: Duration::from_secs(20),
        };
        Self { spec, track }
    }
}

#[async_trait]
impl Tool for SimTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> onyx_types::CallLabel {
        onyx_types::Verb::new("do", "doing", "did").of(arguments["key"].to_string())
    }

    async fn plan(&self, arguments: Value, _: &ToolCx) -> Result<Plan, ToolError> {
        let summary = self.summary(&arguments);
        Ok(Plan::new(self.spec.name.as_str(), arguments, self.spec.usual_effect, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let key = plan.arguments["key"].as_str().unwrap_or_default().to_owned();
        self.track.pause(What::Tool).await;
        {
            let mut book = self.track.junction.book.lock().unwrap();
            book.count(Mishap::ToolEffect);
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
