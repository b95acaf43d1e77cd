//! Turns recordings into text, with a server (`server.rs`) or a program of this machine
//! (`command.rs`), whichever the config names.

mod command;
mod server;

use std::time::Duration;

use crate::connector::NetworkError;
use crate::settings::ResolvedTranscriber;
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
    pub(crate) fn new(
        settings: ResolvedTranscriber,
        setup: &ConnectorSetup,
    ) -> Result<Self, String> {
        match settings {
            ResolvedTranscriber::Server(settings) => {
                let server = ServerTranscriber::new(settings, &setup.egress)?;
                Ok(Self::Server(Box::new(server)))
            }
            ResolvedTranscriber::Command(settings) => {
                let Some(place) = setup.commands.clone() else {
                    return Err(
                        "connectors.transcriber: commands cannot run on this machine".to_owned()
                    );
                };
                Ok(Self::Command(CommandTranscriber::new(settings, place)))
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
