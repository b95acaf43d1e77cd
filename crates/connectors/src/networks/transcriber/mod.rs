//! Turns recordings into text, with a server (`server.rs`) or a program of this machine
//! (`command.rs`), whichever the config names.

mod command;
mod server;

use std::time::Duration;

use crate::connector::NetworkError;
use crate::settings::TranscriberPlan;
use crate::setup::ConnectorSetup;
use command::CommandTranscriber;
use server::ServerTranscriber;

/// How long a transcription may take, because long recordings need time.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) enum Transcriber {
    Server(Box<ServerTranscriber>),
    Command(CommandTranscriber),
}

impl Transcriber {
    pub(crate) fn new(plan: TranscriberPlan, setup: &ConnectorSetup) -> Result<Self, String> {
        match plan {
            TranscriberPlan::Server(plan) => {
                let server = ServerTranscriber::new(plan, &setup.egress)?;
                Ok(Self::Server(Box::new(server)))
            }
            TranscriberPlan::Command(plan) => {
                let Some(place) = setup.commands.clone() else {
                    return Err(
                        "connectors.transcriber: commands cannot run on this machine".to_owned()
                    );
                };
                Ok(Self::Command(CommandTranscriber::new(plan, place)))
            }
        }
    }

    pub(crate) async fn words(&self, name: &str, audio: &[u8]) -> Result<String, NetworkError> {
        match self {
            Self::Server(server) => server.words(name, audio).await,
            Self::Command(command) => command.words(name, audio).await,
        }
    }
}
