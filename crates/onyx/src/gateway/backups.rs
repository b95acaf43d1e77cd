//! Backups that the server makes for the job `jobs.backup` of the config.

use std::sync::Arc;

use async_trait::async_trait;
use onyx_agent::{BackupDone, BackupPlan, HomeBackups};
use onyx_backup::{BackupError, BackupReport, BackupRequest, Encryption, Passphrase, back_up};
use onyx_identity::Secrets;
use onyx_storage::ServerCopy;
use onyx_types::{Cancel, Clock, ErrorCode, Fault};

use super::connectors::look_up;
use super::storage::{SharedStorage, load_config, server_settings};
use crate::config::Config;
use crate::home::HomeFolder;

pub(super) struct ServerBackups {
    pub(super) home: HomeFolder,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) secrets: Arc<Secrets>,
    /// The storage that gateways share in server mode, with the config of all of them.
    pub(super) shared: Option<Arc<SharedStorage>>,
}

#[async_trait]
impl HomeBackups for ServerBackups {
    async fn back_up(&self, plan: &BackupPlan, stop: Cancel) -> Result<BackupDone, Fault> {
        let unread = |error: String| {
            let message = format!("the config cannot be read: {error}");
            Fault::new(ErrorCode::InvalidRequest, message)
        };
        let config = load_config(&self.home, self.shared.as_deref());
        let config = config.map_err(|error| unread(error.to_string()))?;
        let server = server_settings(&self.home).map_err(|error| unread(error.to_string()))?;
        let passphrase = match &plan.passphrase {
            Some(reference) => Some(self.passphrase(reference, &config)?),
            None => None,
        };
        let secret_of = |name: &str| -> Result<Option<String>, Fault> {
            Ok(self.secrets.get(name)?.map(|secret| secret.reveal().to_owned()))
        };
        let to = config.backup_place(&plan.to, &secret_of)?;
        let (home, clock, plan) = (self.home.clone(), Arc::clone(&self.clock), plan.clone());
        let work = move || -> Result<BackupReport, BackupError> {
            let encryption =
                if passphrase.is_some() { Encryption::Wanted } else { Encryption::AsItIs };
            let server = server.map(|settings| ServerCopy::begin(&settings)).transpose()?;
            back_up(&BackupRequest {
                home: home.path(),
                server: server.as_ref(),
                to: &to,
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
    fn passphrase(&self, reference: &str, config: &Config) -> Result<Passphrase, Fault> {
        let found = look_up(reference, &config.environment, &self.secrets)?;
        let found = found.filter(|text| !text.is_empty()).ok_or_else(|| {
            let message = format!("jobs.backup.passphrase: {reference} is not set");
            Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("`onyx secrets set <name>` stores a secret.")
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
