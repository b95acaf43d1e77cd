//! Reads SearXNG's JSON API.

use onyx_egress::{Address, Egress, EgressError, FetchedAnswer};
use serde::Deserialize;

use crate::ToolError;

/// A result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Hit {
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) content: Option<String>,
}

#[derive(Deserialize)]
struct SearxngReply {
    results: Vec<Hit>,
}

pub(crate) async fn search(
    engine: &Address,
    egress: &Egress,
    words: &str,
) -> Result<Vec<Hit>, ToolError> {
    let address = engine.asking(&[("q", words), ("format", "json")]);
    let fetched = match egress.get(&address, "application/json").await {
        Ok(fetched) => fetched,
        Err(EgressError::TooManyRedirects(_)) => {
            return Err(ToolError::Failed(
                "the search engine answers with a redirect, which is not followed; check \
                 tools.web.search.baseUrl"
                    .to_owned(),
            ));
        }
        Err(error) => {
            let why = format!("the search engine of this home does not answer: {error}");
            return Err(ToolError::Failed(why));
        }
    };
    read(&fetched)
}

fn read(fetched: &FetchedAnswer) -> Result<Vec<Hit>, ToolError> {
    let failed = |why: &str| Err(ToolError::Failed(format!("the search engine answers {why}")));
    match fetched.status {
        200 => {}
        403 => {
            return failed(
                "403: its owner must allow `json` under `search.formats` in settings.yml",
            );
        }
        429 => return failed("429: too many requests; wait a little"),
        status => return failed(&status.to_string()),
    }
    if fetched.is_cut {
        return failed("with too much text; ask for something narrower");
    }
    match serde_json::from_slice::<SearxngReply>(&fetched.body) {
        Ok(answer) => Ok(answer.results),
        Err(_) => failed("something that is not SearXNG's JSON; check tools.web.search.baseUrl"),
    }
}
