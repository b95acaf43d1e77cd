//! `/api/admin/default-model`: the model of every agent that names none of its own, the persona
//! editor included, and its fallbacks.

use axum::extract::State;
use onyx_agent::ModelSetting;
use onyx_storage::Expect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::Json;
use crate::{ApiState, ConfigChange, JsonBody, Problem};

const MOST_FALLBACKS: usize = 16;

/// `agents.defaults.model` of onyx.json.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct DefaultModel {
    /// `<provider>/<model>`; null uses the first provider that works.
    primary: Option<String>,
    /// Tried in this order when the primary model cannot answer.
    #[serde(default)]
    fallbacks: Vec<String>,
}

pub(crate) async fn show(State(state): State<ApiState>) -> Result<Json<DefaultModel>, Problem> {
    Ok(Json(DefaultModel::of(state.configuration.default_model()?)))
}

pub(crate) async fn set(
    State(state): State<ApiState>,
    JsonBody(wanted): JsonBody<DefaultModel>,
) -> Result<Json<DefaultModel>, Problem> {
    wanted.check(&state)?;
    let change = ConfigChange::SetDefaultModel(wanted.setting());
    state.configuration.change(change, Expect::Anything).await?;
    show(State(state)).await
}

impl DefaultModel {
    fn of(setting: Option<ModelSetting>) -> Self {
        match setting {
            None => Self { primary: None, fallbacks: Vec::new() },
            Some(ModelSetting::One(primary)) => {
                Self { primary: Some(primary), fallbacks: Vec::new() }
            }
            Some(ModelSetting::Chain { primary, fallbacks }) => {
                Self { primary: Some(primary), fallbacks }
            }
        }
    }

    fn setting(self) -> Option<ModelSetting> {
        let primary = self.primary?;
        Some(if self.fallbacks.is_empty() {
            ModelSetting::One(primary)
        } else {
            ModelSetting::Chain { primary, fallbacks: self.fallbacks }
        })
    }

    fn check(&self, state: &ApiState) -> Result<(), Problem> {
        let named = self.primary.iter().map(|id| ("primary".to_owned(), id));
        let others = self.fallbacks.iter().enumerate();
        let others = others.map(|(place, id)| (format!("fallbacks[{place}]"), id));
        for (field, id) in named.chain(others) {
            if let Err(fault) = state.catalogue.model(id) {
                return Err(Problem::new(fault.code, format!("{field}: {}", fault.message)));
            }
        }
        if self.primary.is_none() && !self.fallbacks.is_empty() {
            return Err(Problem::field("fallbacks", "they need a `primary` model"));
        }
        if self.fallbacks.len() > MOST_FALLBACKS {
            let why = format!("at most {MOST_FALLBACKS} are allowed");
            return Err(Problem::field("fallbacks", why));
        }
        for (place, id) in self.fallbacks.iter().enumerate() {
            if self.primary.as_ref() == Some(id) || self.fallbacks[..place].contains(id) {
                let why = format!("{id} is named twice");
                return Err(Problem::field(format!("fallbacks[{place}]"), why));
            }
        }
        Ok(())
    }
}
