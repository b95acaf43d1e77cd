//! The progress of an import, then its report, one JSON object per line.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use onyx_import::ImportReport;
use onyx_types::Fault;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::Problem;
use crate::wire::FieldNames;

/// The number of lines that may wait for the reader.
const WAITING: usize = 16;

#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ImportLine {
    /// So many of the items have been read or written.
    Progress { done: usize, total: usize },
    /// The last line.
    Report { report: ImportReport },
    /// The last line of an import that failed.
    Error(Fault),
}

/// Works as long as the client reads. An interrupted import continues when it is requested again.
pub(super) fn lines<Work>(
    names: FieldNames,
    work: impl FnOnce(mpsc::Sender<ImportLine>) -> Work,
) -> Response
where
    Work: Future<Output = Result<ImportReport, Problem>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(WAITING);
    let work = work(sender.clone());
    tokio::spawn(async move {
        let last = tokio::select! {
            ended = work => match ended {
                Ok(report) => ImportLine::Report { report },
                Err(problem) => ImportLine::Error(problem.fault().clone()),
            },
            () = sender.closed() => return,
        };
        // The client is gone, so no one waits for this line.
        let _ = sender.send(last).await;
    });
    let body_lines = futures::stream::unfold(receiver, move |mut receiver| async move {
        let mut line = names.json(&receiver.recv().await?);
        line.push(b'\n');
        Some((Ok::<_, Infallible>(line), receiver))
    });
    let headers =
        [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(body_lines)).into_response()
}
