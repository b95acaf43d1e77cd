//! `GET /metrics`, in Prometheus's text format. Labels hold no person and no content.
//!
//! This is written without a crate: the figures are counted where they arise and only read for the
//! page. The usual crates (`metrics` with an exporter, `prometheus-client`) keep a registry of
//! their own that each run would have to write to.

use std::fmt::{Display, Write as _};

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use onyx_agent::{RUN_SECONDS, RunFigures};

use crate::ports::ModelFigures;
use crate::{Access, ApiState, Route, Routes};

pub(super) fn routes() -> Routes {
    let row = Route::get("/metrics", Access::Owner, metrics)
        .summary("Get metrics for Prometheus")
        .answers_text("text/plain");
    Routes::tagged("metrics", [row])
}

pub(super) async fn metrics(State(state): State<ApiState>) -> impl IntoResponse {
    let mut page = Page::default();
    runs(&mut page, &state.agent.runs.figures());
    let (requests, open) = state.traffic.figures();
    page.family("onyx_http_responses_total", "counter", "HTTP responses by status class");
    for (class, count) in requests {
        page.sample("onyx_http_responses_total", &[("class", &class)], count);
    }
    page.one("onyx_http_streams", "gauge", "Responses that are being streamed", open);
    let connections = state.admission.figures();
    page.family("onyx_connections", "gauge", "Open connections by whether a caller is signed in");
    for (who, count) in
        [("signed_in", connections.signed_in), ("unauthenticated", connections.unauthenticated)]
    {
        page.sample("onyx_connections", &[("who", &who)], count);
    }
    page.one(
        "onyx_connections_closed_total",
        "counter",
        "Connections without sign-in that were closed because they were too many or too slow",
        connections.closed,
    );
    let loaded = state.index.loaded();
    page.one(
        "onyx_search_people",
        "gauge",
        "People whose search tables are in memory",
        loaded.people.len(),
    );
    page.one(
        "onyx_search_table_bytes",
        "gauge",
        "Approximate memory of the search tables of all people",
        loaded.bytes,
    );
    models(&mut page, &state.upstream.figures());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page.0)
}

fn runs(page: &mut Page, runs: &RunFigures) {
    page.one("onyx_runs_active", "gauge", "Runs in progress", runs.at_work);
    page.family("onyx_runs_total", "counter", "Finished runs by result");
    for (status, count) in &runs.ended {
        page.sample("onyx_runs_total", &[("status", status)], count);
    }
    page.histogram(
        "onyx_run_seconds",
        "Duration of runs in seconds",
        &[],
        &RUN_SECONDS,
        &runs.buckets,
        runs.seconds,
    );
    page.family("onyx_run_tokens_total", "counter", "Tokens of runs by kind");
    let usage = &runs.usage;
    for (kind, count) in [
        ("input", usage.input),
        ("output", usage.output),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
    ] {
        page.sample("onyx_run_tokens_total", &[("kind", &kind)], count);
    }
    page.one("onyx_run_cost_total", "counter", "Cost of runs", usage.cost.unwrap_or(0.0));
}

fn models(page: &mut Page, models: &[ModelFigures]) {
    page.family("onyx_model_up", "gauge", "1: the model is called; 0: it failed and is paused");
    for model in models {
        page.sample("onyx_model_up", &model.labels(), u8::from(model.admitted));
    }
    page.family("onyx_model_calls_total", "counter", "Model calls by result");
    for model in models {
        for (result, count) in &model.results {
            let mut labels = model.labels();
            labels.push(("result", result));
            page.sample("onyx_model_calls_total", &labels, count);
        }
    }
    page.family("onyx_model_calls_active", "gauge", "Model calls in progress");
    for model in models {
        page.sample("onyx_model_calls_active", &model.labels(), model.in_flight);
    }
    page.family("onyx_model_tokens_total", "counter", "Tokens of model calls by kind");
    for model in models {
        for (kind, count) in [("input", model.usage.input), ("output", model.usage.output)] {
            let mut labels = model.labels();
            labels.push(("kind", &kind));
            page.sample("onyx_model_tokens_total", &labels, count);
        }
    }
    for model in models {
        let first = &model.first_content;
        page.histogram(
            "onyx_model_first_content_seconds",
            "Seconds from a model call to its first content",
            &model.labels(),
            first.bounds,
            &first.buckets,
            first.sum,
        );
    }
}

impl ModelFigures {
    fn labels(&self) -> Vec<(&str, &dyn Display)> {
        vec![("provider", &self.provider), ("model", &self.model)]
    }
}

/// The text of the page. Writing to a string cannot fail, so the results of `write!` are dropped.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Writes the header of a name once, before its first sample.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let heading = format!("# TYPE {name} {kind}\n");
        if !self.0.contains(&heading) {
            let _ = write!(self.0, "# HELP {name} {help}\n{heading}");
        }
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let text =
                text.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let open = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{open}{label}=\"{text}\"");
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{close} {value}");
    }

    fn histogram(
        &mut self,
        name: &str,
        help: &str,
        labels: &[(&str, &dyn Display)],
        bounds: &[f64],
        buckets: &[u64],
        sum: f64,
    ) {
        self.family(name, "histogram", help);
        let mut below = 0;
        for (index, count) in buckets.iter().enumerate() {
            below += count;
            let bound = bounds.get(index).map_or("+Inf".to_owned(), f64::to_string);
            let mut labels = labels.to_vec();
            labels.push(("le", &bound));
            self.sample(&format!("{name}_bucket"), &labels, below);
        }
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, below);
    }
}
