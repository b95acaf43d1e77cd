//! `/v1/memory/graph`: entities, the facts about them over time, and the person's decisions about
//! names.

use crate::wire::Json;
use axum::extract::State;
use onyx_knowledge::{EntityPage, Fact};
use onyx_storage::{EntityRow, NameDecisions, ObjectKind, StoredFact};
use onyx_types::{Fault, Origin, SessionId, Timestamp, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::JsonBody;
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};

const LIST_DEFAULT: u32 = 100;
const LIST_MAX: u32 = 500;

pub(super) fn routes() -> Routes {
    use Access::{Read, Write};
    let rows = [
        Route::get("/v1/memory/graph", Read, graph)
            .summary("List the entities of the knowledge graph; with `entity`, the facts about one")
            .query::<GraphQuery>()
            .answers_json::<Graph>(),
        Route::post("/v1/memory/graph/merge", Write, merge)
            .summary("Merge several names into one entity")
            .body::<Merge>()
            .answers_json::<Graph>(),
        Route::post("/v1/memory/graph/split", Write, split)
            .summary("Split a name, or how some texts use it, from its entity")
            .body::<Split>()
            .answers_json::<Graph>(),
    ];
    Routes::tagged("memory", rows)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct GraphQuery {
    /// A name; the answer holds its facts.
    #[schemars(regex(pattern = r"\S"))]
    entity: Option<String>,
    /// Text that the listed names contain; with `entity`, text that its facts contain.
    q: Option<String>,
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Graph {
    /// The entities, those with the newest facts first; empty if a single one was requested.
    entities: Vec<GraphEntity>,
    /// The entity that was requested or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<GraphEntityPage>,
}

#[derive(Serialize, JsonSchema)]
struct GraphEntity {
    name: String,
    facts: u64,
    last_said: Timestamp,
}

#[derive(Serialize, JsonSchema)]
struct GraphEntityPage {
    name: String,
    /// Other names that were merged into this one.
    also: Vec<String>,
    /// Grouped by relation, newest first.
    facts: Vec<FactView>,
    /// Not all texts have been processed yet.
    partial: bool,
}

#[derive(Serialize, JsonSchema)]
struct FactView {
    subject: String,
    relation: String,
    object: String,
    /// The object is an entity too.
    object_is_entity: bool,
    from: Timestamp,
    /// Absent while the fact holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    /// False: only text from outside supports it.
    trusted: bool,
    /// The texts that state the fact, newest last.
    sources: Vec<FactSource>,
}

#[derive(Serialize, JsonSchema)]
struct FactSource {
    path: String,
    title: String,
    /// The line, from 1; for a conversation, the number of the message in its run.
    line: u32,
    text: String,
    origin: Origin,
    said_at: Timestamp,
    /// `rules`, or the model that found it.
    found_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// The conversation and the message that state it; absent for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnId>,
}

impl From<EntityRow> for GraphEntity {
    fn from(row: EntityRow) -> Self {
        Self { name: row.name.name, facts: row.facts, last_said: row.last_said }
    }
}

impl From<EntityPage> for GraphEntityPage {
    fn from(page: EntityPage) -> Self {
        let EntityPage { name, also, facts, partial } = page;
        Self { name, also, facts: facts.into_iter().map(FactView::from).collect(), partial }
    }
}

impl From<Fact> for FactView {
    fn from(fact: Fact) -> Self {
        Self {
            subject: fact.subject.name,
            relation: fact.relation,
            object: fact.object.name,
            object_is_entity: fact.object_kind == ObjectKind::Entity,
            from: fact.from,
            until: fact.until,
            trusted: fact.is_trusted,
            sources: fact.said_by.into_iter().map(FactSource::from).collect(),
        }
    }
}

impl From<StoredFact> for FactSource {
    fn from(stored: StoredFact) -> Self {
        Self {
            session_id: stored.source.session().map(|(session, _)| session),
            path: stored.source.rooted_path(),
            title: stored.title,
            line: stored.row.line,
            text: stored.row.said,
            origin: stored.origin,
            said_at: stored.said_at,
            found_by: stored.maker,
            author: stored.author,
            turn: stored.turn,
        }
    }
}

async fn graph(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(query): QueryOf<GraphQuery>,
) -> Result<Json<Graph>, Problem> {
    if let Some(name) = &query.entity {
        named("entity", name)?;
        let mut page = exists(&state, &caller, "entity", name).await?;
        if let Some(part) = &query.q {
            let part = part.to_lowercase();
            page.facts.retain(|fact| {
                let names = [&fact.subject.key, &fact.relation, &fact.object.key];
                names.iter().any(|words| words.contains(&part))
            });
        }
        return Ok(Json(Graph { entities: Vec::new(), entity: Some(page.into()) }));
    }
    let limit = query.limit.unwrap_or(LIST_DEFAULT);
    if !(1..=LIST_MAX).contains(&limit) {
        return Err(Problem::field("limit", format!("it must be from 1 to {LIST_MAX}")));
    }
    let scopes = state.index.all_scopes(&caller.person).await.map_err(Fault::from)?;
    let part = query.q.unwrap_or_default();
    let entities = state.index.graph_entities(&scopes, &part, limit as usize).await;
    let entities = entities.map_err(Fault::from)?.into_iter().map(GraphEntity::from).collect();
    Ok(Json(Graph { entities, entity: None }))
}

async fn page_of(
    state: &ApiState,
    caller: &AuthContext,
    field: &'static str,
    name: &str,
) -> Result<Json<Graph>, Problem> {
    let entity = Some(exists(state, caller, field, name).await?.into());
    Ok(Json(Graph { entities: Vec::new(), entity }))
}

/// The entity with this name, or an error that names the field.
async fn exists(
    state: &ApiState,
    caller: &AuthContext,
    field: &'static str,
    name: &str,
) -> Result<EntityPage, Problem> {
    let scopes = state.index.all_scopes(&caller.person).await.map_err(Fault::from)?;
    let page = state.index.graph_entity(&scopes, name).await.map_err(Fault::from)?;
    page.ok_or_else(|| Problem::unknown(field, format!("the graph has no entity {name:?}")))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Merge {
    /// The name of the entity from now on.
    #[schemars(regex(pattern = r"\S"))]
    into: String,
    /// The names that are merged into it.
    #[schemars(length(min = 1, max = 50), inner(regex(pattern = r"\S")))]
    names: Vec<String>,
}

async fn merge(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(merge): JsonBody<Merge>,
) -> Result<Json<Graph>, Problem> {
    named("into", &merge.into)?;
    if merge.names.is_empty() || merge.names.len() > 50 {
        return Err(Problem::field("names", "give from 1 to 50 names"));
    }
    for name in &merge.names {
        named("names", name)?;
        // An unknown name is a typing error, not a new entity.
        exists(&state, &caller, "names", name).await?;
    }
    let change = |decisions: &mut NameDecisions| decisions.merge(&merge.into, &merge.names);
    NameDecisions::change(&*state.store.files, &caller.person, change)
        .await
        .map_err(Fault::from)?;
    page_of(&state, &caller, "into", &merge.into).await
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Split {
    #[schemars(regex(pattern = r"\S"))]
    name: String,
    /// The entity that some texts mean by the name. Absent: the name is split from the entity that
    /// it was merged into.
    apart: Option<SplitTexts>,
}

/// The texts in which the name means another entity.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Apart")]
struct SplitTexts {
    /// The entity's name in these texts.
    #[schemars(regex(pattern = r"\S"))]
    into: String,
    #[schemars(length(min = 1))]
    paths: Vec<String>,
}

async fn split(
    State(state): State<ApiState>,
    caller: AuthContext,
    JsonBody(split): JsonBody<Split>,
) -> Result<Json<Graph>, Problem> {
    let Split { name, apart } = split;
    named("name", &name)?;
    exists(&state, &caller, "name", &name).await?;
    let files = &*state.store.files;
    let Some(SplitTexts { into, paths }) = apart else {
        let unmerge = |decisions: &mut NameDecisions| decisions.unmerge(&name);
        NameDecisions::change(files, &caller.person, unmerge).await.map_err(Fault::from)?;
        return page_of(&state, &caller, "name", &name).await;
    };
    named("apart.into", &into)?;
    if paths.is_empty() {
        return Err(Problem::field(
            "apart.paths",
            "list the texts in which the name means the other entity",
        ));
    }
    let apart = |decisions: &mut NameDecisions| decisions.split(&name, &into, &paths);
    NameDecisions::change(files, &caller.person, apart).await.map_err(Fault::from)?;
    page_of(&state, &caller, "apart.paths", &into).await
}

fn named(field: &'static str, name: &str) -> Result<(), Problem> {
    if name.trim().is_empty() {
        return Err(Problem::field(field, "it must not be empty"));
    }
    Ok(())
}
