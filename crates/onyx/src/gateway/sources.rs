use std::sync::Arc;

use anyhow::{Context, Result};
use onyx_extract::Reader;
use onyx_sources::Sources;
use onyx_storage::Store;
use onyx_tools::Web;
use onyx_types::{Clock, IdGenerator, Pauses};

use crate::env;

/// The path of this program, which works even if an upgrade has replaced the file.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// The reader of documents, with `tesseract` if it is installed.
pub(crate) fn document_reader() -> Result<Reader> {
    let program = if cfg!(target_os = "linux") {
        THIS_PROGRAM.into()
    } else {
        std::env::current_exe().context("cannot find the path of this program")?
    };
    let reader = Reader::new(program, &["read-document"]);
    Ok(reader.with_tesseract(env::program("tesseract"), env::locale()))
}

pub(super) fn open(
    store: &Store,
    web: &Web,
    clock: &Arc<dyn Clock>,
    pauses: &Pauses,
) -> Result<Sources> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).context("the system provides no random numbers")?;
    let web = web.clone();
    Ok(Sources::new(
        Arc::clone(&store.files),
        Arc::clone(&store.duties),
        move || web.egress(),
        document_reader()?,
        Arc::clone(clock),
        IdGenerator::new(u64::from_le_bytes(seed)),
        pauses.clone(),
    ))
}
