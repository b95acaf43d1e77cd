//! Searches by words and by meaning at the same time. The candidates of both are ranked together,
//! with the author and time of each. What a search may see is decided here, inside the search.

mod by_session;
mod hit;
pub(crate) mod ranking;
mod retrieve;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onyx_storage::{ChunkId, ChunkStore, Group, SourceKind, SourceRow, Steps, StorePosition};
use onyx_types::{Clock, PersonId, Scope, ScopeSet};
use tokio::sync::OwnedMutexGuard;

use crate::KnowledgeError;
use crate::follow::{ChangeFollower, Freshness, KnownGroups, SearchTables};
use crate::settings::CurrentSearchSettings;
use crate::sync::{TableSync, UpToDate};
use crate::text::query::TextQuery;
use crate::text::snippet::Marker;
use crate::vectors::tokens::AskedTokens;
use crate::vectors::{Embedders, QueryVector, VectorMaker, cosine};
use crate::visible::VisibleGroups;
use hit::hit;
use ranking::{
    CANDIDATES, Candidates, Hints, LEAST_LIKENESS, RANKED_BY_TOKENS, RankedChunk, Ranking,
    WITH_TOKENS, WITHOUT_TOKENS, WordWeights, times_in,
};

pub use hit::{Hit, Search, SearchResults};
pub use retrieve::{Retrieval, RetrievedHits};

const MOST_HITS: usize = 100;

/// Answers searches. It is cheap to clone.
#[derive(Clone)]
pub(crate) struct Searcher {
    pub(crate) chunks: Arc<dyn ChunkStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Arc<CurrentSearchSettings>,
    pub(crate) sync: Arc<TableSync>,
    pub(crate) embedders: Arc<Embedders>,
    pub(crate) vectors: Arc<VectorMaker>,
    pub(crate) follower: Arc<ChangeFollower>,
    pub(crate) groups: Arc<KnownGroups>,
    pub(crate) steps: Steps,
}

/// A question that was prepared once, because several searches may ask it.
struct Question {
    /// The vector of the question; `None` if meaning is not searched for.
    query: Option<QueryVector>,
    degraded: Option<String>,
    /// Whether everything was indexed when the question was asked.
    indexed: bool,
    /// The position of the chunk table when the question was asked.
    position: StorePosition,
}

impl Searcher {
    /// All scopes of the person, and the shared one.
    pub(crate) async fn all_scopes(&self, person: &PersonId) -> Result<ScopeSet, KnowledgeError> {
        // New groups must be known, so the latest files and conversations are indexed first.
        let UpToDate { position, .. } = self.sync.bring_all_up_to_date().await?;
        self.all_scopes_at(person, &position).await
    }

    async fn all_scopes_at(
        &self,
        person: &PersonId,
        position: &StorePosition,
    ) -> Result<ScopeSet, KnowledgeError> {
        self.groups.read_new(position.epoch).await?;
        let mut scopes = self.groups.scopes_of(person);
        scopes.extend([Scope::Person, Scope::Shared]);
        Ok(ScopeSet::new(person.clone(), scopes))
    }

    /// Searches for what a person typed: words, "phrases" and prefixes*.
    pub(crate) async fn search(&self, search: &Search) -> Result<SearchResults, KnowledgeError> {
        if search.kinds.is_empty() || search.kinds.contains(&SourceKind::Session) {
            self.sync.index_waiting_sessions().await?;
        }
        self.find(search, &TextQuery::read(&search.text)).await
    }

    /// Searches for the text of a message, in which quotes and stars have no meaning. It does not
    /// wait until the latest messages are indexed.
    pub(crate) async fn search_said(
        &self,
        search: &Search,
    ) -> Result<SearchResults, KnowledgeError> {
        self.find(search, &TextQuery::said(&search.text)).await
    }

    async fn find(
        &self,
        search: &Search,
        wanted: &TextQuery,
    ) -> Result<SearchResults, KnowledgeError> {
        let question = Arc::new(self.question(&search.text, wanted).await?);
        self.answer(search, wanted, &question).await
    }

    /// Prepares the question, with its vector if meaning is searched for.
    async fn question(&self, text: &str, wanted: &TextQuery) -> Result<Question, KnowledgeError> {
        let UpToDate { indexed, position } = self.sync.bring_up_to_date().await?;
        // Phrases and prefixes are matched literally, so meaning is not searched for.
        let (query, degraded) = if wanted.phrases.is_empty() && wanted.beginnings.is_empty() {
            match self.vectors.query_vector(text, position.served_vectors.clone()).await? {
                Ok(query) => (Some(query), None),
                Err(why) => (None, Some(why)),
            }
        } else {
            (None, None)
        };
        let degraded = degraded.or(query.as_ref().and_then(|query| query.incomplete.clone()));
        Ok(Question { query, degraded, indexed, position })
    }

    async fn answer(
        &self,
        search: &Search,
        wanted: &TextQuery,
        question: &Arc<Question>,
    ) -> Result<SearchResults, KnowledgeError> {
        let person = search.scopes.person();
        let (tables, freshness) = self.follower.tables_for(person, &question.position).await?;
        let partial = freshness == Freshness::Behind || !question.indexed;
        let (searcher, search, wanted) = (self.clone(), search.clone(), wanted.clone());
        let question = Arc::clone(question);
        // From here on nothing is waited for but the chunk table. It is asked several times, and
        // each question would change threads twice.
        let answer = async move { searcher.answer_from(tables, &search, &wanted, &question).await };
        let (hits, degraded) = self.steps.follow_if_free(answer).await?;
        Ok(SearchResults { hits, degraded, partial })
    }

    /// The hits of a search in these tables, and why meaning was not used if it was not.
    async fn answer_from(
        &self,
        mut tables: OwnedMutexGuard<SearchTables>,
        search: &Search,
        wanted: &TextQuery,
        Question { query, degraded, .. }: &Question,
    ) -> Result<(Vec<Hit>, Option<String>), KnowledgeError> {
        let limit = search.limit.clamp(1, MOST_HITS);
        let candidates = CANDIDATES.max(limit);
        let degraded = degraded.clone();
        let person = search.scopes.person();
        let seen = self.visible(search);
        if seen.is_empty() {
            return Ok((Vec::new(), degraded));
        }
        let by_text = match &mut tables.text {
            Some(text) => text.search(wanted, &seen, candidates)?,
            None => Vec::new(),
        };
        let mut unmeasured = HashSet::new();
        let in_memory = tables.people.of(person);
        let vectors = query.as_ref().and_then(|query| in_memory.vectors(&query.model));
        let (nearest, degraded) = match (query, vectors) {
            (Some(query), Some(vectors)) => {
                let found = by_text.iter().map(|(chunk, _)| *chunk);
                unmeasured.extend(found.filter(|chunk| !vectors.knows(*chunk)));
                (vectors.nearest(&query.vector, &seen, candidates), degraded)
            }
            // Another model's vectors have just begun to serve searches; the next search uses them.
            (Some(_), None) => (Vec::new(), Some("the embedder has just changed".to_owned())),
            (None, _) => (Vec::new(), degraded),
        };
        let near = self.rescored(query.as_ref(), nearest, limit + limit / 2).await?;
        let near = query.as_ref().map(|_| near.as_slice());
        let found = Candidates { words: &by_text, near, unmeasured: &unmeasured };
        let ranked = self.ranked(search, &tables, query.as_ref(), &found, &seen).await?;
        drop(tables);
        Ok((self.hits(search, wanted, ranked, limit).await?, degraded))
    }

    /// Ranks the candidates and the messages around them by how well they answer the question.
    async fn ranked(
        &self,
        search: &Search,
        tables: &SearchTables,
        query: Option<&QueryVector>,
        found: &Candidates<'_>,
        seen: &VisibleGroups,
    ) -> Result<Vec<RankedChunk>, KnowledgeError> {
        let outline = tables.people.of(search.scopes.person()).outline();
        let zone = self.clock.zone_of(search.scopes.person());
        let time = times_in(&search.text, self.clock.wall(), zone.time_zone());
        let hints = Hints { authors: outline.named_in(&search.text, seen), time };
        let mut ranking = Ranking::new(&outline, &hints, found, seen);
        let chosen = self.settings.get().weights.map(WordWeights::chosen);
        let first = ranking.ranked(chosen.unwrap_or(WITHOUT_TOKENS));
        let asked = query.and_then(|query| {
            let rarity = |word: &str| tables.text.as_ref().map_or(1.0, |text| text.rarity(word));
            let asked = AskedTokens::new(query.tokens.as_ref()?, query.vector.len(), rarity);
            asked.map(|asked| (query, asked))
        });
        let Some((query, asked)) = asked else {
            return Ok(first);
        };
        let best = first.iter().take(RANKED_BY_TOKENS).map(|ranked| ranked.chunk);
        let best: Vec<ChunkId> = best.collect();
        let codes = self.chunks.tokens(&query.model, &best).await?;
        let near = codes.iter().filter_map(|(chunk, codes)| Some((*chunk, asked.likeness(codes)?)));
        let near: Vec<(ChunkId, f32)> = near.collect();
        if near.is_empty() {
            return Ok(first);
        }
        ranking.take_tokens(&near);
        Ok(ranking.ranked(chosen.unwrap_or(WITH_TOKENS)))
    }

    /// The groups that a search may see. All of its hits are in these groups.
    fn visible(&self, search: &Search) -> VisibleGroups {
        let is_wanted = |kind: SourceKind| search.kinds.is_empty() || search.kinds.contains(&kind);
        self.groups.ids_where(|group| is_wanted(group.kind) && may_see_group(&search.scopes, group))
    }

    /// The indexed files of a person, sorted by path.
    pub(crate) async fn files(&self, person: &PersonId) -> Result<Vec<SourceRow>, KnowledgeError> {
        self.sync.bring_up_to_date().await?;
        Ok(self.chunks.sources(Some(person)).await?)
    }

    /// The nearest chunks, best first. Those that may become hits are measured again with their
    /// full vectors; the others keep the score of their rounded vectors.
    async fn rescored(
        &self,
        query: Option<&QueryVector>,
        mut nearest: Vec<(ChunkId, f32)>,
        exact: usize,
    ) -> Result<Vec<(ChunkId, f32)>, KnowledgeError> {
        let Some(query) = query.filter(|_| !nearest.is_empty()) else { return Ok(Vec::new()) };
        // If token vectors rank the nearest chunks, the rounded vectors are exact enough.
        let exact = if query.tokens.is_some() { 0 } else { exact };
        let best: Vec<ChunkId> = nearest.iter().take(exact).map(|(chunk, _)| *chunk).collect();
        if !best.is_empty() {
            let vectors = self.chunks.vectors(&query.model, &best).await?;
            let vectors: HashMap<ChunkId, Vec<f32>> = vectors.into_iter().collect();
            for (chunk, likeness) in &mut nearest {
                if let Some(vector) = vectors.get(chunk) {
                    *likeness = cosine(&query.vector, vector);
                }
            }
        }
        nearest.retain(|(_, likeness)| *likeness >= LEAST_LIKENESS);
        nearest.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(nearest)
    }

    async fn hits(
        &self,
        search: &Search,
        wanted: &TextQuery,
        ranked: Vec<RankedChunk>,
        limit: usize,
    ) -> Result<Vec<Hit>, KnowledgeError> {
        let settings = self.settings.get();
        // Half-life and diversity may raise hits that are further down, so more are fetched.
        let reordered = settings.half_life_days.is_some() || settings.diversity.is_some();
        let wanted_hits = if reordered { limit * 3 } else { limit };
        let now = self.clock.wall();
        let mut hits = Vec::<Hit>::with_capacity(wanted_hits);
        let mut ranked = ranked.into_iter();
        loop {
            // If a chunk was deleted meanwhile or may not be seen, the next one takes its place.
            let next = ranked.by_ref().take(wanted_hits - hits.len());
            let next: HashMap<ChunkId, RankedChunk> =
                next.map(|ranked| (ranked.chunk, ranked)).collect();
            if next.is_empty() {
                break;
            }
            let mut ids: Vec<ChunkId> = next.keys().copied().collect();
            ids.sort_unstable();
            let stored = self.chunks.stored(&ids).await?.into_iter();
            // The chunk table may have changed since the search, so it is checked again what may be
            // seen.
            let seen = stored.filter(|chunk| {
                let SourceRow { key, scope, .. } = &chunk.source;
                may_see(&search.scopes, key.person.as_ref(), scope)
            });
            hits.extend(seen.filter_map(|chunk| {
                let RankedChunk { score, found, .. } = *next.get(&chunk.id)?;
                Some(hit(chunk, score, found, &settings, now))
            }));
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
        if let Some(cost) = settings.diversity {
            hits = self.varied(hits, cost, limit).await?;
        }
        hits.truncate(limit);
        let mut marker = Marker::new(wanted);
        hits.iter_mut().for_each(|hit| hit.snippet = marker.snippet(&hit.text));
        Ok(hits)
    }

    /// Reorders hits by maximal marginal relevance: a hit that repeats an earlier one comes later.
    async fn varied(
        &self,
        mut hits: Vec<Hit>,
        cost: f32,
        limit: usize,
    ) -> Result<Vec<Hit>, KnowledgeError> {
        let ids: Vec<ChunkId> = hits.iter().map(|hit| hit.chunk).collect();
        let served = self.chunks.served_vectors().await?;
        let vectors: HashMap<ChunkId, Vec<f32>> = match self.embedders.serving(served) {
            Some(serving) => self.chunks.vectors(&serving.model, &ids).await?,
            None => Vec::new(),
        }
        .into_iter()
        .collect();
        let alike = |a: &Hit, b: &Hit| match (vectors.get(&a.chunk), vectors.get(&b.chunk)) {
            (Some(a), Some(b)) => cosine(a, b),
            _ => 0.0,
        };
        let mut picked = Vec::<Hit>::new();
        while picked.len() < limit && !hits.is_empty() {
            let worth = |hit: &Hit| {
                let likest = picked.iter().map(|other| alike(hit, other)).fold(0.0, f32::max);
                (1.0 - cost) * hit.score - cost * likest
            };
            let best = (0..hits.len()).max_by(|a, b| worth(&hits[*a]).total_cmp(&worth(&hits[*b])));
            let Some(best) = best else { break };
            picked.push(hits.remove(best));
        }
        Ok(picked)
    }
}

/// Whether searches with these scopes may see the sources of a group.
pub(crate) fn may_see_group(scopes: &ScopeSet, group: &Group) -> bool {
    may_see(scopes, group.person.as_ref(), &group.scope)
}

fn may_see(scopes: &ScopeSet, owner: Option<&PersonId>, scope: &Scope) -> bool {
    let whose = match owner {
        Some(person) => person == scopes.person(),
        None => *scope == Scope::Shared,
    };
    whose && scopes.allows(scope)
}
