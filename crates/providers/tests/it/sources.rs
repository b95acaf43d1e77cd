use crate::support::ask;
use futures::future::ready;
use futures::stream::{BoxStream, StreamExt, once};
use onyx_providers::{
    Locality, ModelFacts, ModelSettings, ModelSource, ProviderHealth, ProviderKind,
    ProviderSettings, ProviderState, Registry, Setup,
};
use onyx_types::{Cancel, ErrorCode, Fault, FinishReason, Model, ModelEvent, ModelRequest};
use serde_json::json;
use std::sync::Arc;

/// A model inside this process that ends each answer at once.
#[derive(Debug)]
struct Embedded;

struct Silent(String);

impl Model for Silent {
    fn id(&self) -> &str {
        &self.0
    }

    fn context_window(&self) -> Option<u32> {
        Some(2048)
    }

    fn stream(&self, _: ModelRequest, _: Cancel) -> BoxStream<'static, ModelEvent> {
        once(ready(ModelEvent::Finish(FinishReason::Stop))).boxed()
    }
}

impl ModelSource for Embedded {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Embedded
    }

    fn locality(&self) -> Locality {
        Locality::ThisMachine
    }

    fn place(&self) -> String {
        "inside Onyx".to_owned()
    }

    fn models(&self) -> Vec<ModelSettings> {
        let facts = ModelFacts { context_window: Some(2048), ..ModelFacts::default() };
        vec![ModelSettings { id: "smollm2".to_owned(), facts }]
    }

    fn model(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        match name {
            "smollm2" => Ok(Arc::new(Silent("local/smollm2".to_owned()))),
            _ => Err(Fault::new(ErrorCode::ModelNotFound, "only smollm2 is there")),
        }
    }
}

fn registry(settings: Vec<(String, ProviderSettings)>) -> Registry {
    let source: Arc<dyn ModelSource> = Arc::new(Embedded);
    let sources = vec![("local".to_owned(), Ok(source))];
    Registry::resolve_with(settings, Setup { sources, ..Setup::new(&|_| None) })
}

#[tokio::test]
async fn a_source_has_its_models_under_its_name_with_everything_around_them() {
    let registry = registry(Vec::new());
    assert_eq!(registry.default_model().as_deref(), Some("local/smollm2"));
    let model = registry.model("local/smollm2").unwrap();
    assert_eq!((model.id(), model.context_window()), ("local/smollm2", Some(2048)));
    assert_eq!(ask(&model).await, [ModelEvent::Finish(FinishReason::Stop)]);
    let status = registry.status().remove(0);
    assert_eq!(status.state, ProviderState::Ready { address: "inside Onyx".into() });
    assert_eq!((status.health(), status.called[0].metrics.answered), (ProviderHealth::Well, 1));
    let other = registry.model("local/other").err().unwrap();
    let said = Fault::new(ErrorCode::ModelNotFound, "only smollm2 is there");
    assert_eq!(Fault::from(other), said);
    assert!(registry.test("local").await.advice.ends_with("It lists 1 model."));
}

#[test]
fn a_source_stands_after_the_configured_providers_and_in_place_of_its_own_settings() {
    let settings = [("local", json!({})), ("ollama", json!({"models": ["llama3"]}))];
    let settings = settings.map(|(name, value)| {
        (name.to_owned(), serde_json::from_value::<ProviderSettings>(value).unwrap())
    });
    let registry = registry(settings.into());
    let names: Vec<String> = registry.status().into_iter().map(|status| status.name).collect();
    assert_eq!(names, ["ollama", "local"]);
    assert_eq!(registry.default_model().as_deref(), Some("ollama/llama3"));
    let ids: Vec<String> = registry.candidates().into_iter().map(|one| one.id).collect();
    assert_eq!(ids, ["ollama/llama3", "local/smollm2"]);
}
