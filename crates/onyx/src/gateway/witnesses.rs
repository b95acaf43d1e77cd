//! The files outside the home that protect its audit log: a key beside those of the secrets, and a
//! copy if the owner wants one.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use onyx_identity::MasterKey;
use onyx_storage::{AuditExport, AuditSeal, AuditWitnesses, StoreError};
use onyx_types::Hash;

use crate::env;

/// The key is named after the path of the home, which an attacker cannot change by writing to the database. The key of
/// several gateways is derived from their master key, so that each can continue and check what another wrote.
pub(crate) fn audit_witnesses(home: &Path, master: Option<&MasterKey>) -> Result<AuditWitnesses> {
    let export = env::audit_export().map(|path| AuditExport::open(&path)).transpose()?;
    let seal = match env::key_folder() {
        Some(folder) => seal(home, &folder, master)?,
        None => {
            tracing::warn!("the audit log has no key: set ONYX_KEYS to a folder outside the home");
            None
        }
    };
    Ok(AuditWitnesses { seal: seal.map(Arc::new), export: export.map(Arc::new) })
}

fn seal(home: &Path, folder: &Path, master: Option<&MasterKey>) -> Result<Option<AuditSeal>> {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let home = home.as_os_str().as_encoded_bytes();
    let (name, key) = match master.map(|master| master.derived("onyx: audit")) {
        // Each gateway has its own record of how far the chains had come.
        Some(key) => (Hash::of_parts([home, &key]), key),
        None => (Hash::of(home), onyx_identity::fresh_key()?),
    };
    let name = name.to_string();
    let path = folder.join(format!("audit-{}.seal", &name[..16]));
    let is_there = path.exists();
    match AuditSeal::open(&path, key) {
        Ok(seal) => Ok(Some(seal)),
        // The rows were hashed with a key, so the chain cannot be continued without it.
        Err(error) if is_there => Err(error).context("the audit log cannot be continued"),
        Err(error @ (StoreError::Failed(_) | StoreError::Damaged(_))) => {
            tracing::warn!(%error, "the audit log has no key: it could not be stored");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
