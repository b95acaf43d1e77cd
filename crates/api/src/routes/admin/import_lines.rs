//! An import as it goes on: how far it is, then its report, one JSON object a line.

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

/// Lines that wait to be read.
const WAITING: usize = 16;

#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ImportLine {
    /// So many of the things that were read are looked at or written.
    Progress { done: usize, total: usize },
    /// The last line.
    Report { report: ImportReport },
    /// The last line of one that came to nothing.
    Error(Fault),
}

/// Does the work as long as somebody reads. What was cut off goes on when it is asked for again.
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
        // Nobody reads it any more: then nobody waits for it either.
        let _ = sender.send(last).await;
    });
    let told = futures::stream::unfold(receiver, move |mut receiver| async move {
        let mut line = names.json(&receiver.recv().await?);
        line.push(b'\n');
        Some((Ok::<_, Infallible>(line), receiver))
    });
    let headers =
        [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(told)).into_response()
}
