//! Backups that the server makes itself, as the job of the config asks for.

use std::sync::Arc;

use async_trait::async_trait;
use onyx_agent::{BackupDone, BackupPlan, HomeBackups};
use onyx_backup::{BackupReport, BackupRequest, Encryption, Passphrase, back_up};
use onyx_identity::Secrets;
use onyx_types::{Cancel, Clock, ErrorCode, Fault};

use super::connectors::look_up;
use crate::config;
use crate::home::HomeFolder;

pub(super) struct ServerBackups {
    pub(super) home: HomeFolder,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) secrets: Arc<Secrets>,
}

#[async_trait]
impl HomeBackups for ServerBackups {
    async fn back_up(&self, plan: &BackupPlan, stop: Cancel) -> Result<BackupDone, Fault> {
        let passphrase = match &plan.passphrase {
            Some(reference) => Some(self.passphrase(reference)?),
            None => None,
        };
        let (home, clock, plan) = (self.home.clone(), Arc::clone(&self.clock), plan.clone());
        let work = move || {
            let encryption =
                if passphrase.is_some() { Encryption::Wanted } else { Encryption::AsItIs };
            back_up(&BackupRequest {
                home: home.path(),
                to: &plan.to,
                passphrase: passphrase.as_ref(),
                encryption,
                keep: plan.keep,
                clock: &*clock,
                stop: &stop,
            })
        };
        let done = tokio::task::spawn_blocking(work).await;
        let report = done.map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))??;
        Ok(BackupDone { summary: summary(&report), unreadable: report.unreadable })
    }
}

impl ServerBackups {
    fn passphrase(&self, reference: &str) -> Result<Passphrase, Fault> {
        let config = config::load(&self.home).map_err(|error| {
            Fault::new(ErrorCode::InvalidRequest, format!("the config does not read: {error}"))
        })?;
        let found = look_up(reference, &config.environment, &self.secrets)?;
        let found = found.filter(|text| !text.is_empty()).ok_or_else(|| {
            let message = format!("jobs.backup.passphrase: {reference} is not set");
            Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("`onyx secrets set <name>` keeps a secret.")
        })?;
        Ok(Passphrase::new(found))
    }
}

/// One sentence, for the history of the job and the command line.
pub(crate) fn summary(report: &BackupReport) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let BackupReport { snapshot, to, files, bytes, read_files, new_bytes, .. } = report;
    let (all, new) = (*bytes as f64 / MIB, *new_bytes as f64 / MIB);
    format!(
        "Snapshot {snapshot} in {}: {files} files, {all:.1} MiB; {read_files} were read, {new:.1} \
         MiB are new.",
        to.display()
    )
}
