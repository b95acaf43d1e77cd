//! The knowledge graph: the people and things that texts mention, what the texts say about them,
//! and since when. Facts are found by rules, and by a model if one is configured. Each fact belongs
//! to the chunk that says it and is deleted with that chunk. Questions see only the scopes that a
//! search would see. Facts from outside are marked, and never end facts of the person.

mod fact_reader;
mod finder;
mod reading;
mod rules;
mod timeline;

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{ChunkStore, EntityName, EntityRow, Files, GroupId, NameDecisions, StoredFact};
use onyx_types::ScopeSet;

use crate::KnowledgeError;
use crate::follow::KnownGroups;
use crate::search::may_see_group;
use crate::sync::{TableSync, UpToDate};

pub(crate) use fact_reader::FactReader;
pub use finder::{FactFinder, FactPassage, FoundFact, FoundFacts};
pub use timeline::Fact;

/// Answers questions about entities.
pub(crate) struct Graph {
    pub(crate) chunks: Arc<dyn ChunkStore>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) sync: Arc<TableSync>,
    pub(crate) groups: Arc<KnownGroups>,
    pub(crate) facts: Arc<FactReader>,
}

/// An entity, and all facts about it.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityPage {
    pub name: String,
    /// Other names that the person joined with this one.
    pub also: Vec<String>,
    /// The facts by relation, with the newest of each first.
    pub facts: Vec<Fact>,
    /// Whether some texts were not looked through yet.
    pub partial: bool,
}

/// The most facts of an entity that are read. Few entities have more; the rest is left out.
const MOST_FACTS: u32 = 2_000;
/// The most entities of a list. A longer list shows only those that were mentioned last.
const MOST_ENTITIES: u32 = 500;

/// How long a question waits until changed texts are looked through. The rest is looked through in
/// the background.
const PATIENCE: Duration = Duration::from_secs(2);

impl Graph {
    /// The entities whose names contain `part`, with the last mentioned first.
    pub(crate) async fn entities(
        &self,
        scopes: &ScopeSet,
        part: &str,
        limit: usize,
    ) -> Result<Vec<EntityRow>, KnowledgeError> {
        self.bring_up_to_date().await?;
        let groups = self.groups(scopes);
        let decisions = NameDecisions::read(&*self.files, scopes.person()).await?;
        let part = EntityName::new(part).key;
        let rows = self.chunks.entities(&part, &groups, MOST_ENTITIES).await?;
        let mut entities = Vec::<EntityRow>::new();
        for row in rows {
            let name = decisions.one_name(&row.name);
            match entities.iter_mut().find(|entity| entity.name.key == name.key) {
                Some(entity) => {
                    entity.facts += row.facts;
                    entity.last_said = entity.last_said.max(row.last_said);
                }
                None => entities.push(EntityRow { name, ..row }),
            }
        }
        entities.truncate(limit);
        Ok(entities)
    }

    /// Every fact in which an entity is the subject or the object; `None` if there is none.
    pub(crate) async fn entity(
        &self,
        scopes: &ScopeSet,
        name: &str,
    ) -> Result<Option<EntityPage>, KnowledgeError> {
        let is_whole = self.bring_up_to_date().await?;
        let groups = self.groups(scopes);
        let decisions = NameDecisions::read(&*self.files, scopes.person()).await?;
        let keys = decisions.keys_of(name);
        let mut said = self.chunks.facts_about(&keys, &groups, MOST_FACTS).await?;
        said.iter_mut().for_each(|fact| decisions.apply(fact));
        let one = decisions.one_name(&EntityName::new(name));
        said.retain(|fact| fact.row.subject.key == one.key || fact.row.object.key == one.key);
        let Some(shown) = shown_name(&said, &one) else { return Ok(None) };
        Ok(Some(EntityPage {
            also: decisions.also(&one),
            name: shown,
            facts: timeline::timeline(said),
            partial: !is_whole,
        }))
    }

    /// Indexes the latest texts and looks through them for facts. Returns whether everything was
    /// looked through.
    async fn bring_up_to_date(&self) -> Result<bool, KnowledgeError> {
        let UpToDate { position, .. } = self.sync.bring_all_up_to_date().await?;
        self.groups.read_new(position.epoch).await?;
        self.facts.find_by_rules(Some(PATIENCE)).await
    }

    /// The groups that a search with these scopes may see.
    fn groups(&self, scopes: &ScopeSet) -> Vec<GroupId> {
        self.groups.ids_where(|group| may_see_group(scopes, group))
    }
}

/// The name in the spelling that was used last.
fn shown_name(said: &[StoredFact], one: &EntityName) -> Option<String> {
    let names = said.iter().flat_map(|fact| [&fact.row.subject, &fact.row.object]);
    names.filter(|name| name.key == one.key).map(|name| name.name.clone()).next()
}
