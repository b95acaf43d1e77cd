//! Paths in manifests. Nearly all are text; a name that is not UTF-8 is stored byte for byte as hex
//! after a zero byte, which no path contains.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const RAW: char = '\0';

/// A path, or the target of a link, as a manifest stores it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NamedPath(pub(crate) PathBuf);

impl NamedPath {
    /// Whether the path stays beneath the folder that it begins in. This is checked because a
    /// manifest comes from a disk that others may have written to.
    pub(crate) fn is_beneath(&self) -> bool {
        let path = &self.0;
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        // The bytes are compared too, so that only one way to write a path is accepted.
        let same: PathBuf = path.components().collect();
        plain && path.file_name().is_some() && same.as_os_str() == path.as_os_str()
    }
}

impl AsRef<Path> for NamedPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Serialize for NamedPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => {
                let bytes = self.0.as_os_str().as_bytes();
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                serializer.serialize_str(&format!("{RAW}{hex}"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for NamedPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let Some(hex) = text.strip_prefix(RAW) else { return Ok(Self(text.into())) };
        let bytes = from_hex(hex).ok_or_else(|| serde::de::Error::custom("a path is no hex"))?;
        Ok(Self(OsString::from_vec(bytes).into()))
    }
}

fn from_hex(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.is_ascii() {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(path: &NamedPath) {
        let text = serde_json::to_string(path).unwrap();
        assert_eq!(serde_json::from_str::<NamedPath>(&text).unwrap(), *path, "{text}");
    }

    #[test]
    fn names_that_are_no_text_survive() {
        there_and_back(&NamedPath("people/owner/vault/Ünïcode \"note\".md".into()));
        there_and_back(&NamedPath(OsString::from_vec(b"people/\xff\xfe/x".to_vec()).into()));
    }

    #[test]
    fn only_plain_relative_paths_stay_beneath() {
        for good in ["onyx.json", "people/owner/vault/a.md", "..."] {
            assert!(NamedPath(good.into()).is_beneath(), "{good}");
        }
        for bad in ["", ".", "..", "/etc/passwd", "a/../../b", "a//b", "./a", "a/", "a/."] {
            assert!(!NamedPath(bad.into()).is_beneath(), "{bad}");
        }
    }
}
