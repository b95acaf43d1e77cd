//! Adds models from a place that the person names: a file, an address, a model hub.

use std::path::{Path, PathBuf};

use onyx_providers::Download;
use onyx_types::{ErrorCode, Fault};
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt;

use super::checked::{check, sha256_of};
use super::{ModelsFolder, StoredWeights, WeightsError};
use crate::gguf::Gguf;

/// How often a broken download is resumed.
const ATTEMPTS: u32 = 5;

/// Where a GGUF file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GgufLocation {
    File(PathBuf),
    Address(String),
}

impl GgufLocation {
    /// A path, an address, or `owner/repository/file.gguf` of a hub.
    pub fn named(text: &str, hub: &str) -> Self {
        if text.contains("://") {
            return Self::Address(text.to_owned());
        }
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            [owner, repository, file @ ..]
                if !file.is_empty() && !owner.is_empty() && !Path::new(text).exists() =>
            {
                let (hub, file) = (hub.trim_end_matches('/'), file.join("/"));
                Self::Address(format!("{hub}/{owner}/{repository}/resolve/main/{file}"))
            }
            _ => Self::File(PathBuf::from(text)),
        }
    }
}

/// Reports a download's progress: the bytes so far, and the total if it is known.
pub type Progress<'a> = &'a dyn Fn(u64, Option<u64>);

impl ModelsFolder {
    /// Adds a GGUF file to the folder under a name. An interrupted download is resumed; a file that
    /// is not a complete model, or does not have this checksum, is refused.
    pub async fn pull(
        &self,
        name: &str,
        place: &GgufLocation,
        sha256: Option<&str>,
        progress: Progress<'_>,
    ) -> Result<StoredWeights, Fault> {
        let target = self.own(name)?;
        std::fs::create_dir_all(self.path()).map_err(WeightsError::file(self.path()))?;
        let part = target.with_extension("gguf.part");
        match place {
            GgufLocation::File(from) => {
                std::fs::copy(from, &part).map_err(WeightsError::file(from))?;
            }
            GgufLocation::Address(url) => fetch(url, &part, progress).await?,
        }
        if let Err(fault) = accept(&part, sha256) {
            // Resuming this file would only append to it.
            let _ = std::fs::remove_file(&part);
            return Err(fault);
        }
        std::fs::rename(&part, &target).map_err(WeightsError::file(&target))?;
        let bytes = std::fs::metadata(&target).map_err(WeightsError::file(&target))?.len();
        Ok(StoredWeights { name: name.to_owned(), path: target, bytes, known: None })
    }
}

fn accept(part: &Path, sha256: Option<&str>) -> Result<(), Fault> {
    if let Some(expected) = sha256 {
        check(part, sha256_of(part)?, &expected.to_ascii_lowercase())?;
    }
    Gguf::read(part).map(drop).map_err(|error| {
        Fault::new(
            ErrorCode::InvalidRequest,
            format!("the downloaded file cannot be used: {error}"),
        )
        .with_hint("Name the address of a .gguf file itself, not of a page about it.")
    })
}

async fn fetch(url: &str, part: &Path, progress: Progress<'_>) -> Result<(), Fault> {
    let mut attempt = 1;
    loop {
        let before = length(part);
        match go_on(url, part, progress).await {
            Ok(()) => return Ok(()),
            // Only a download that made progress is tried again.
            Err(_) if attempt < ATTEMPTS && length(part) > before => attempt += 1,
            Err(fault) => return Err(fault),
        }
    }
}

fn length(part: &Path) -> u64 {
    std::fs::metadata(part).map_or(0, |file| file.len())
}

async fn go_on(url: &str, part: &Path, progress: Progress<'_>) -> Result<(), Fault> {
    let mut download = Download::open(url, length(part)).await?;
    let mut done = download.start;
    let mut file = open(part, done).await.map_err(WeightsError::file(part))?;
    progress(done, download.total);
    let came = loop {
        let bytes = match download.next().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break Ok(()),
            Err(fault) => break Err(fault),
        };
        file.write_all(&bytes).await.map_err(WeightsError::file(part))?;
        done += bytes.len() as u64;
        progress(done, download.total);
    };
    // The file is synced even after a broken download, because the next try continues from there.
    file.flush().await.map_err(WeightsError::file(part))?;
    file.sync_all().await.map_err(WeightsError::file(part))?;
    came?;
    match download.total {
        Some(total) if done < total => {
            let message = format!("{url} broke off after {done} of {total} bytes");
            Err(Fault::new(ErrorCode::ProviderTruncated, message)
                .with_hint("Try again: the download continues where it stopped."))
        }
        Some(_) | None => Ok(()),
    }
}

async fn open(part: &Path, from: u64) -> std::io::Result<File> {
    let file = OpenOptions::new().write(true).append(from > 0).create(true).open(part).await?;
    file.set_len(from).await?;
    Ok(file)
}
