//! The services that tools use. Each follows its part of `tools` in the config.

use std::sync::Arc;

use onyx_tools::{GitRemotes, Menos, Web};

use super::linkedin::LinkedInAdmin;
use crate::config::{Config, ConfigError};

pub(super) struct ToolServices {
    pub(super) web: Web,
    pub(super) remotes: GitRemotes,
    pub(super) menos: Menos,
    pub(super) linkedin: Arc<LinkedInAdmin>,
}

impl ToolServices {
    /// Checks the settings of all services before any of them follows.
    pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
        let tools = &config.tools;
        tools.web.check().map_err(|error| ConfigError::new(error.to_string()))?;
        tools.git.check().map_err(|error| ConfigError::new(error.to_string()))?;
        tools.menos.check().map_err(|error| ConfigError::new(error.to_string()))?;
        tools.linkedin.check().map_err(|error| ConfigError::new(error.to_string()))?;
        Ok(())
    }

    pub(super) fn follow(&self, config: &Config) -> Result<(), ConfigError> {
        let tools = &config.tools;
        self.web.follow(&tools.web).map_err(|error| ConfigError::new(error.to_string()))?;
        self.remotes.follow(tools).map_err(|error| ConfigError::new(error.to_string()))?;
        let menos = self.menos.follow(&tools.menos);
        menos.map_err(|error| ConfigError::new(error.to_string()))?;
        let linkedin = self.linkedin.tools.follow(&tools.linkedin);
        linkedin.map_err(|error| ConfigError::new(error.to_string()))?;
        self.linkedin.logins.follow(&tools.linkedin);
        Ok(())
    }
}
