use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_storage::{AuditRow, Ledger};
use onyx_tools::{Authorised, ToolCx, ToolError, TypedTool};
use onyx_types::{CallLabel, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec, Verb};
use serde_json::{Value, json};
use std::sync::Mutex;
use tokio::sync::Notify;

/// A tool that behaves as a test demands and remembers what it saw.
pub(crate) struct Probe {
    spec: ToolSpec,
    behaviour: Behaviour,
    pub(crate) seen: Mutex<Seen>,
    /// Notified when `invoke` has begun.
    pub(crate) begun: Notify,
    ledger: Mutex<Option<Arc<dyn Ledger>>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) plans: usize,
    pub(crate) invokes: usize,
    /// The newest audit row while the tool was working.
    pub(crate) row_during: Option<AuditRow>,
}

#[derive(Clone, Debug)]
pub(crate) enum Behaviour {
    Says(String),
    Complains(String),
    Fails,
    Hangs,
    /// The tool ends by itself once it is cancelled.
    Obeys,
}

impl Probe {
    pub(crate) fn new(effect: ToolEffect, behaviour: Behaviour) -> Arc<Self> {
        let schema = json!({
            "type": "object",
            "properties": { "word": { "type": "string" } },
            "required": ["word"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            name: "probe".into(),
            group: "test".into(),
            description: "Does what a test says.".into(),
            input_schema: schema.into(),
            usual_effect: effect,
            repeats: false,
            timeout: Duration::from_millis(1_500),
            needs: Vec::new(),
            agents: None,
        };
        let (seen, begun, ledger) = (Mutex::default(), Notify::new(), Mutex::new(None));
        Arc::new(Self { spec, behaviour, seen, begun, ledger })
    }

    pub(crate) fn with_schema(schema: Value) -> Arc<Self> {
        Self::specified(Behaviour::Fails, |spec| spec.input_schema = schema.into())
    }

    /// A probe with a changed spec.
    pub(crate) fn specified(behaviour: Behaviour, change: impl FnOnce(&mut ToolSpec)) -> Arc<Self> {
        let probe = Self::new(ToolEffect::Read, behaviour);
        let mut probe = Arc::into_inner(probe).unwrap();
        change(&mut probe.spec);
        Arc::new(probe)
    }

    pub(crate) fn watches(&self, ledger: Arc<dyn Ledger>) {
        *self.ledger.lock().unwrap() = Some(ledger);
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

#[async_trait]
impl TypedTool for Probe {
    type Arguments = Value;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let word = arguments["word"].as_str().unwrap_or_default();
        Verb::new("probe", "probing", "probed").of(word)
    }

    async fn plan(&self, _: &Value, _: &ToolCx) -> Result<Plan, ToolError> {
        self.seen.lock().unwrap().plans += 1;
        let preview = Preview::Text { text: "a preview".into() };
        let (name, effect) = (self.spec.name.clone(), self.spec.usual_effect);
        Ok(Plan { preview, ..Plan::new(name, Value::Null, effect, "") })
    }

    async fn invoke(
        &self,
        _: Value,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let ledger = self.ledger.lock().unwrap().clone();
        let mut row_during = None;
        if let Some(ledger) = ledger {
            row_during = ledger.audit(&cx.key.person, None, 1).await.unwrap().pop();
        }
        {
            let mut seen = self.seen.lock().unwrap();
            seen.invokes += 1;
            seen.row_during = row_during;
        }
        self.begun.notify_one();
        let summary = plan.into_inner().summary;
        match &self.behaviour {
            Behaviour::Says(output) => Ok(ToolOutcome::ok(output.clone(), summary)),
            Behaviour::Complains(output) => Ok(ToolOutcome::error(output.clone())),
            Behaviour::Fails => Err(ToolError::NotFound("such thing".into())),
            Behaviour::Hangs => std::future::pending().await,
            Behaviour::Obeys => {
                cx.cancel.cancelled().await;
                Ok(ToolOutcome::error("stopped by itself"))
            }
        }
    }
}
