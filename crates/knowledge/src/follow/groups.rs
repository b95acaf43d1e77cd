//! Remembers the groups of sources. Each thread is a group of its own and none is ever deleted, so a
//! home may have tens of thousands. Only those that were added since the last time are read.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use onyx_storage::{ChunkStore, Group, GroupId};
use onyx_types::{PersonId, Scope};

use super::person::TablesKey;
use crate::KnowledgeError;

pub(crate) struct KnownGroups {
    chunks: Arc<dyn ChunkStore>,
    /// This lock is held while new groups are read, so that what was read for one epoch is never
    /// added to the groups of another.
    one_at_a_time: tokio::sync::Mutex<()>,
    groups: RwLock<GroupList>,
}

#[derive(Default)]
struct GroupList {
    /// The epoch of the chunk table from which the groups were read; `None` if none were read.
    epoch: Option<u64>,
    by_id: BTreeMap<GroupId, Group>,
    /// The group up to which all groups are known.
    through: GroupId,
}

impl KnownGroups {
    pub(crate) fn new(chunks: Arc<dyn ChunkStore>) -> Self {
        Self { chunks, one_at_a_time: tokio::sync::Mutex::default(), groups: RwLock::default() }
    }

    /// Reads the groups that were added since the last time, or all groups if the chunk table has
    /// another epoch now.
    pub(crate) async fn read_new(&self, epoch: u64) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let after = self.list().through_in(epoch);
        let settled = self.chunks.groups_settled_through().await?;
        let new = self.chunks.groups_after(after).await?;
        self.groups.write().unwrap_or_else(PoisonError::into_inner).add(epoch, new, settled);
        Ok(())
    }

    /// Reads new groups if one of these is not known yet, or if the chunk table has another epoch.
    pub(super) async fn make_known(
        &self,
        used: &[GroupId],
        epoch: u64,
    ) -> Result<(), KnowledgeError> {
        if self.list().knows_all(used, epoch) {
            return Ok(());
        }
        self.read_new(epoch).await
    }

    /// Whose group it is; `None` if it is not known.
    pub(super) fn owner_of(&self, group: GroupId) -> Option<TablesKey> {
        self.list().by_id.get(&group).map(|group| TablesKey::of(group.person.as_ref()))
    }

    /// The known groups that fulfil a condition. The hits of a search are checked again when they
    /// are read, because the chunk table may have been replaced since the groups were read.
    pub(crate) fn ids_where<Ids: FromIterator<GroupId>>(
        &self,
        wanted: impl Fn(&Group) -> bool,
    ) -> Ids {
        self.list().by_id.values().filter(|group| wanted(group)).map(|group| group.id).collect()
    }

    /// The scopes in which a person has sources.
    pub(crate) fn scopes_of(&self, person: &PersonId) -> Vec<Scope> {
        let list = self.list();
        let own = list.by_id.values().filter(|group| group.person.as_ref() == Some(person));
        own.map(|group| group.scope.clone()).collect()
    }

    fn list(&self) -> RwLockReadGuard<'_, GroupList> {
        self.groups.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GroupList {
    /// The group after which groups of this epoch may be unknown.
    fn through_in(&self, epoch: u64) -> GroupId {
        if self.epoch == Some(epoch) { self.through } else { GroupId::default() }
    }

    fn knows_all(&self, groups: &[GroupId], epoch: u64) -> bool {
        self.epoch == Some(epoch) && groups.iter().all(|group| self.by_id.contains_key(group))
    }

    /// Adds the groups after `through_in`. Up to `settled` no other group can appear any more.
    fn add(&mut self, epoch: u64, new: Vec<Group>, settled: GroupId) {
        if self.epoch != Some(epoch) {
            *self = Self { epoch: Some(epoch), ..Self::default() };
        }
        if let Some(last) = new.last() {
            self.through = self.through.max(last.id.min(settled));
        }
        self.by_id.extend(new.into_iter().map(|group| (group.id, group)));
    }
}

#[cfg(test)]
mod tests {
    use onyx_storage::{SourceKey, SourceKind, SourceRow, Stamp, open_chunks};
    use onyx_types::{Hash, Origin, SystemClock, Timestamp};

    use super::*;

    fn group(id: u32) -> Group {
        let scope = Scope::Agent(format!("agent-{id}").parse().unwrap());
        Group { id: GroupId(id), person: None, scope, kind: SourceKind::Session }
    }

    fn ids(list: &GroupList) -> Vec<u32> {
        list.by_id.keys().map(|id| id.0).collect()
    }

    #[test]
    fn a_group_that_is_seen_after_a_later_one_is_not_missed() {
        let mut list = GroupList::default();
        // The transaction that adds the second group is still open.
        list.add(1, vec![group(1), group(3)], GroupId(1));
        assert_eq!(list.through_in(1), GroupId(1));
        list.add(1, vec![group(2), group(3), group(4)], GroupId(u32::MAX));
        assert_eq!((ids(&list), list.through_in(1)), (vec![1, 2, 3, 4], GroupId(4)));
        list.add(1, Vec::new(), GroupId(u32::MAX));
        assert_eq!(list.through_in(1), GroupId(4));
        assert!(list.knows_all(&[GroupId(2)], 1) && !list.knows_all(&[GroupId(5)], 1));
    }

    #[test]
    fn groups_of_another_epoch_are_forgotten() {
        let mut list = GroupList::default();
        list.add(1, vec![group(1), group(2)], GroupId(u32::MAX));
        assert_eq!(list.through_in(2), GroupId(0));
        assert!(!list.knows_all(&[], 2));
        list.add(2, vec![group(1)], GroupId(u32::MAX));
        assert_eq!((ids(&list), list.through_in(2)), (vec![1], GroupId(1)));
    }

    fn source(agent: &str) -> SourceRow {
        SourceRow {
            key: SourceKey { person: Some("anna".parse().unwrap()), path: agent.to_owned() },
            kind: SourceKind::Note,
            scope: Scope::Agent(agent.parse().unwrap()),
            origin: Origin::Person,
            title: String::new(),
            checksum: Hash::ZERO,
            stamp: Stamp { size: 1, modified: Timestamp::from_millis(1) },
            chunking: String::new(),
            problem: None,
            indexed_at: Timestamp::from_millis(1),
            conversation: None,
            dated: None,
        }
    }

    #[tokio::test]
    async fn groups_that_are_known_are_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let chunks = open_chunks(&path, Arc::new(SystemClock::new()));
        let known = KnownGroups::new(Arc::clone(&chunks));
        let anna = "anna".parse().unwrap();
        let scopes = || {
            let names = known.scopes_of(&anna).into_iter().map(|scope| match scope {
                Scope::Agent(agent) => agent.to_string(),
                other => panic!("{other:?}"),
            });
            names.collect::<Vec<_>>()
        };
        let epoch = chunks.epoch().await.unwrap();
        chunks.replace(&source("one"), &[]).await.unwrap();
        known.read_new(epoch).await.unwrap();
        // A change that no store makes shows which groups are read.
        let scope = serde_json::to_string(&Scope::Agent("changed".parse().unwrap())).unwrap();
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute("UPDATE groups SET scope = ?1", [&scope]).unwrap();
        chunks.replace(&source("two"), &[]).await.unwrap();
        known.make_known(&[GroupId(1)], epoch).await.unwrap();
        assert_eq!(scopes(), ["one"]);
        known.make_known(&[GroupId(1), GroupId(2)], epoch).await.unwrap();
        assert_eq!(scopes(), ["one", "two"]);
        known.read_new(epoch + 1).await.unwrap();
        assert_eq!(scopes(), ["changed", "two"]);
    }
}
