//! What a config makes, all of it or nothing: a config is usable when every part of it is.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use onyx_agent::Roster;
use onyx_api::Token;
use onyx_storage::{LocalObjects, Store};
use onyx_tools::{Masker, Services, Toolbox, builtin_tools};
use onyx_types::Clock;

use super::live::roster;
use super::models::LiveModels;
use super::token::{self, TokenPlace};
use crate::config::{self, Config, ConfigError, last_good};
use crate::files;
use crate::home::HomeFolder;

pub(super) struct Parts {
    pub(super) address: SocketAddr,
    pub(super) max_runs: usize,
    pub(super) token: Token,
    pub(super) token_place: TokenPlace,
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) masker: Masker,
    pub(super) roster: Roster,
    pub(super) models: Arc<LiveModels>,
}

impl Parts {
    /// From the config file. Where that is broken, from the last one that was not, and then with
    /// the reason: a bad edit must not keep a server from starting again.
    pub(super) fn of_usable_config(
        folder: &HomeFolder,
        store: &Store,
        clock: &Arc<dyn Clock>,
    ) -> Result<(Self, Option<ConfigError>)> {
        let of = |config: Config| Self::of(folder, store, clock, &config);
        let broken = match config::load(folder).and_then(of) {
            Ok(parts) => return Ok((parts, None)),
            Err(broken) => broken,
        };
        let good = last_good::load(folder).ok_or_else(|| broken.clone())?;
        let parts = good.and_then(of).map_err(|_| broken.clone())?;
        tracing::error!(error = %broken, "the last config that worked is used");
        Ok((parts, Some(broken)))
    }

    fn of(
        folder: &HomeFolder,
        store: &Store,
        clock: &Arc<dyn Clock>,
        config: &Config,
    ) -> Result<Self, ConfigError> {
        let address = config.gateway.address()?;
        let token = token::token(folder, config).map_err(|error| ConfigError::of(&error))?;
        let masker = Masker::new(secrets(config, &token));
        let toolbox = toolbox(folder, store, masker.clone());
        let toolbox = Arc::new(toolbox.map_err(|error| ConfigError::of(&error))?);
        let roster = roster(config, &toolbox)?;
        remember(folder, config);
        Ok(Self {
            address,
            max_runs: config.gateway.max_runs(),
            token,
            token_place: token::place(folder, config),
            toolbox,
            masker,
            roster,
            models: Arc::new(LiveModels::new(
                folder,
                config,
                Arc::clone(&store.ledger),
                Arc::clone(clock),
            )),
        })
    }
}

/// Keeps a config that works for the day that one does not.
pub(super) fn remember(folder: &HomeFolder, config: &Config) {
    if let Err(error) = last_good::keep(folder, config) {
        tracing::warn!(%error, "the config could not be kept for a later start");
    }
}

/// What neither a model nor a person is shown: the owner's token, and what providers are paid with.
pub(super) fn secrets(config: &Config, token: &Token) -> impl Iterator<Item = String> {
    config.provider_secrets.iter().cloned().chain([token.as_str().to_owned()])
}

fn toolbox(folder: &HomeFolder, store: &Store, masker: Masker) -> Result<Toolbox> {
    let artifacts = folder.artifacts();
    files::make_folder(&artifacts)?;
    let services = Services {
        ledger: Arc::clone(&store.ledger),
        artifacts: Arc::new(LocalObjects::open(&artifacts)?),
        masker,
    };
    Ok(Toolbox::new(builtin_tools(), services)?)
}
