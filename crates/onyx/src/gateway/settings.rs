//! The config file behind the owner's routes: reads, changes, checks, writes and applies it.

use std::fs;
use std::io::ErrorKind;

use futures::future::{BoxFuture, FutureExt};
use onyx_agent::{AgentSettings, ModelSetting};
use onyx_api::{ConfigChange, ConfigFlaw, ConfigPart, ConfigView, Configuration, Problem};
use onyx_identity::{UnknownKey, redacted, restored};
use onyx_storage::Expect;
use onyx_types::{AgentId, ErrorCode, Fault, Hash};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::live::Live;
use super::storage::read_config;
use crate::config::{ConfigError, ConfigText, last_good};
use crate::files;

impl Configuration for Live {
    fn view(&self) -> Result<ConfigView, Problem> {
        let text = self.file()?;
        let read = read_config(&self.home, self.shared.as_deref(), text.clone());
        let checked = read.and_then(|config| self.check(config));
        let (warnings, error) = match checked {
            Ok(checked) => (checked.warnings, None),
            Err(error) => (Vec::new(), Some(flaw(&error))),
        };
        let last_good = error.as_ref().and_then(|_| self.last_good());
        Ok(ConfigView {
            hash: Hash::of(text.as_bytes()),
            text: redacted(&text),
            warnings,
            error,
            last_good: last_good.as_deref().map(redacted),
        })
    }

    fn agent(&self, id: &AgentId) -> Result<Option<ConfigPart<AgentSettings>>, Problem> {
        let file = self.parsed()?;
        let Some(value) = file.agent(id.as_str()) else { return Ok(None) };
        let hash = version(&value);
        let value = AgentSettings::deserialize(value)
            .map_err(|error| Problem::field(format!("agents: {id}"), error))?;
        Ok(Some(ConfigPart { value, hash }))
    }

    fn provider(&self, name: &str) -> Result<Option<ConfigPart<Map<String, Value>>>, Problem> {
        let Some(value) = self.parsed()?.provider(name) else { return Ok(None) };
        let hash = version(&value);
        let shown = serde_json::from_str(&redacted(&value.to_string()));
        let value = shown.map_err(|error| Problem::field(format!("providers.{name}"), error))?;
        Ok(Some(ConfigPart { value, hash }))
    }

    fn default_model(&self) -> Result<Option<ModelSetting>, Problem> {
        let written = self.parsed()?.default_model().map(ModelSetting::deserialize).transpose();
        written.map_err(|error| Problem::field("agents.defaults.model", error))
    }

    fn connector(
        &self,
        network: &str,
        account: &str,
    ) -> Result<Option<Map<String, Value>>, Problem> {
        let Some(value) = self.parsed()?.connector(network, account) else { return Ok(None) };
        let shown = serde_json::from_str(&redacted(&value.to_string()));
        shown.map(Some).map_err(|error| Problem::field(format!("connectors.{network}"), error))
    }

    fn plugin(&self, name: &str) -> Result<Option<Map<String, Value>>, Problem> {
        let Some(value) = self.parsed()?.plugin(name) else { return Ok(None) };
        let shown = serde_json::from_str(&redacted(&value.to_string()));
        shown.map(Some).map_err(|error| Problem::field(format!("plugins.{name}"), error))
    }

    fn change(
        &self,
        change: ConfigChange,
        expected: Expect,
    ) -> BoxFuture<'_, Result<Option<Hash>, Problem>> {
        async move {
            let _one_by_one = self.applied.changing.lock().await;
            // Another gateway may have changed the config since this one read it.
            if let Some(shared) = &self.shared {
                shared.follow_config().await.map_err(Fault::from)?;
            }
            let version = self.shared.as_ref().map(|shared| shared.config().version);
            let before = self.file()?;
            let (text, now) = self.changed(&before, change, expected)?;
            let config = read_config(&self.home, self.shared.as_deref(), text.clone());
            let checked = config.and_then(|config| self.check(config))?;
            // The text is written before it is applied, so that an acknowledged change survives a
            // crash.
            self.write(version, &text).await?;
            self.apply(checked).await?;
            self.set_broken(None);
            tracing::info!("the config was changed by the owner");
            Ok(now)
        }
        .boxed()
    }
}

impl Live {
    /// The new text of the file, and the new version of what was changed.
    fn changed(
        &self,
        before: &str,
        change: ConfigChange,
        expected: Expect,
    ) -> Result<(String, Option<Hash>), Problem> {
        if let ConfigChange::Text(text) = change {
            let present = (!before.is_empty()).then(|| Hash::of(before.as_bytes()));
            hold(expected, present)?;
            let good = self.last_good().unwrap_or_default();
            let text = restored(&text, &[before, &good]).map_err(shortened)?;
            let hash = Hash::of(text.as_bytes());
            return Ok((text, Some(hash)));
        }
        let file = ConfigText::parse(before)?;
        let now = match change {
            ConfigChange::Text(_) => None,
            ConfigChange::PutAgent { id, settings } => {
                hold(expected, file.agent(id.as_str()).as_ref().map(version))?;
                self.write_implied_agent(&file, &id)?;
                file.put_agent(id.as_str(), &settings)?;
                file.agent(id.as_str()).as_ref().map(version)
            }
            ConfigChange::RemoveAgent(id) => {
                hold(expected, file.agent(id.as_str()).as_ref().map(version))?;
                must_exist(file.remove_agent(id.as_str()), "agents", id.as_str())?;
                None
            }
            ConfigChange::PutProvider { name, settings } => {
                let present = file.provider(&name);
                hold(expected, present.as_ref().map(version))?;
                let settings = whole(&settings, present.as_ref())?;
                file.put_provider(&name, &settings)?;
                file.provider(&name).as_ref().map(version)
            }
            ConfigChange::RemoveProvider(name) => {
                hold(expected, file.provider(&name).as_ref().map(version))?;
                must_exist(file.remove_provider(&name), "providers", &name)?;
                None
            }
            ConfigChange::PutMcpServer { name, settings } => {
                let present = file.mcp_server(&name);
                hold(expected, present.as_ref().map(version))?;
                let settings = whole(&settings, present.as_ref())?;
                file.put_mcp_server(&name, &settings)?;
                file.mcp_server(&name).as_ref().map(version)
            }
            ConfigChange::RemoveMcpServer(name) => {
                hold(expected, file.mcp_server(&name).as_ref().map(version))?;
                must_exist(file.remove_mcp_server(&name), "mcp.servers", &name)?;
                None
            }
            ConfigChange::SwitchPlugin { name, to } => {
                file.switch_plugin(&name, to)?;
                None
            }
            ConfigChange::PutPlugin { name, settings } => {
                let present = file.plugin(&name);
                hold(expected, present.as_ref().map(version))?;
                let settings = whole(&settings, present.as_ref())?;
                file.put_plugin(&name, &settings)?;
                file.plugin(&name).as_ref().map(version)
            }
            ConfigChange::RemovePlugin(name) => {
                file.remove_plugin(&name)?;
                None
            }
            ConfigChange::PutConnector { network, account, settings } => {
                let present = file.connector(&network, &account);
                hold(expected, present.as_ref().map(version))?;
                let settings = whole(&settings, present.as_ref())?;
                file.put_connector(&network, &account, &settings)?;
                file.connector(&network, &account).as_ref().map(version)
            }
            ConfigChange::RemoveConnector { network, account } => {
                let present = file.connector(&network, &account);
                hold(expected, present.as_ref().map(version))?;
                let was_there = file.remove_connector(&network, &account);
                must_exist(was_there, &format!("connectors.{network}.accounts"), &account)?;
                None
            }
            ConfigChange::BindPeer { network, account, peer, agent } => {
                let agent = agent.as_ref().map(AgentId::as_str);
                file.bind(&network, &account, peer.as_deref(), agent);
                None
            }
            ConfigChange::SetLimits(limits) => {
                file.set_limits(&limits)?;
                None
            }
            ConfigChange::SetDefaultModel(model) => {
                let model = model.map(serde_json::to_value).transpose();
                let model = model.map_err(|error| Problem::field("primary", error))?;
                file.set_default_model(model.as_ref())?;
                None
            }
        };
        Ok((file.text(), now))
    }

    /// A file without agents still has the default agent; the first agent that is written must not
    /// replace it.
    fn write_implied_agent(&self, file: &ConfigText, new: &AgentId) -> Result<(), ConfigError> {
        let implied = self.agent.roster().default_agent().id.clone();
        if file.has_agents() || implied == *new {
            return Ok(());
        }
        let settings = AgentSettings { is_default: true, ..AgentSettings::default() };
        file.put_agent(implied.as_str(), &settings)
    }

    /// Writes the text for all gateways, as the version after the one that was changed, or into the
    /// home's own file.
    async fn write(&self, version: Option<i64>, text: &str) -> Result<(), Problem> {
        match (&self.shared, version) {
            (Some(shared), Some(version)) => {
                Ok(shared.put_config(version, text).await.map_err(Fault::from)?)
            }
            _ => files::replace(&self.home.config(), text).map_err(|error| not_written(&error)),
        }
    }

    /// The config in the database was checked before it was written, so no older one is needed.
    fn last_good(&self) -> Option<String> {
        if self.shared.is_some() { None } else { last_good::text(&self.home) }
    }

    /// The text of the config; empty if there is no file.
    fn file(&self) -> Result<String, Problem> {
        if let Some(shared) = &self.shared {
            return Ok(shared.config().text);
        }
        let failed = |why: String| Problem::new(ErrorCode::StorageFailed, why);
        match fs::read(self.home.config()) {
            Ok(bytes) => {
                String::from_utf8(bytes).map_err(|_| failed("onyx.json is not UTF-8".to_owned()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(failed(format!("onyx.json cannot be read: {error}"))),
        }
    }

    fn parsed(&self) -> Result<ConfigText, Problem> {
        Ok(ConfigText::parse(&self.file()?)?)
    }
}

fn version(value: &Value) -> Hash {
    Hash::of(value.to_string().as_bytes())
}

fn hold(expected: Expect, present: Option<Hash>) -> Result<(), Problem> {
    let holds = match expected {
        Expect::Anything => true,
        Expect::Absent => present.is_none(),
        Expect::Is(hash) => present == Some(hash),
    };
    if holds { Ok(()) } else { Err(Fault::plain(ErrorCode::VersionConflict).into()) }
}

fn must_exist(was_there: bool, section: &str, name: &str) -> Result<(), Problem> {
    if was_there {
        return Ok(());
    }
    let message = format!("onyx.json has no `{name}` among its `{section}`.");
    Err(Problem::new(ErrorCode::NotFound, message))
}

/// The settings with shortened keys replaced by the full ones from the file.
fn whole(
    settings: &Map<String, Value>,
    present: Option<&Value>,
) -> Result<Map<String, Value>, Problem> {
    let text = Value::Object(settings.clone()).to_string();
    let present = present.map(Value::to_string).unwrap_or_default();
    let whole = restored(&text, &[&present]).map_err(shortened)?;
    serde_json::from_str(&whole).map_err(|error| Problem::field("settings", error))
}

fn shortened(UnknownKey(name): UnknownKey) -> Problem {
    Problem::new(ErrorCode::InvalidRequest, "this is a shortened key; write the whole one")
        .with_field(name)
}

fn flaw(error: &ConfigError) -> ConfigFlaw {
    ConfigFlaw { message: error.message().to_owned(), field: error.field().map(ToOwned::to_owned) }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        let problem = Self::new(ErrorCode::InvalidRequest, error.message());
        match error.field() {
            Some(field) => problem.with_field(field),
            None => problem,
        }
    }
}

fn not_written(error: &std::io::Error) -> Problem {
    let code = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ErrorCode::StorageFull,
        _ => ErrorCode::StorageFailed,
    };
    Problem::new(code, format!("onyx.json cannot be written: {error}"))
}
