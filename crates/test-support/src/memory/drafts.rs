use async_trait::async_trait;
use onyx_storage::{AuditEntry, Draft, DraftFilter, DraftMove, Drafts, StoreError};
use onyx_types::{DraftId, DraftState, PersonId, SessionKey, Timestamp};

use super::Op;
use super::ledger::{Books, MemoryLedger};

impl Books {
    fn drafts_of<'a>(&'a self, key: &'a SessionKey) -> impl Iterator<Item = &'a Draft> {
        let of_session =
            |draft: &&Draft| draft.key.person == key.person && draft.key.session == key.session;
        self.drafts.values().filter(of_session)
    }

    fn open_drafts<'a>(&'a self, key: &'a SessionKey) -> impl Iterator<Item = &'a Draft> {
        self.drafts_of(key).filter(|draft| draft.state.is_open())
    }

    fn put_draft(
        &mut self,
        draft: Draft,
        replaces: &[DraftId],
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        let in_the_way: Vec<DraftId> = self
            .open_drafts(&draft.key)
            .filter(|other| other.touches(&draft.plan))
            .map(|other| other.id)
            .collect();
        let mut expected = replaces.to_vec();
        expected.sort();
        if in_the_way != expected {
            return Err(StoreError::Conflict);
        }
        for id in replaces {
            if let Some(old) = self.drafts.get_mut(&(draft.key.person.clone(), *id)) {
                old.state = DraftState::Superseded;
                old.superseded_by = Some(draft.id);
            }
        }
        self.drafts.insert((draft.key.person.clone(), draft.id), draft);
        self.chain(audit);
        Ok(())
    }

    fn move_draft(
        &mut self,
        person: &PersonId,
        id: DraftId,
        step: &DraftMove,
        audit: AuditEntry,
    ) -> Result<Draft, StoreError> {
        let draft = self.drafts.get_mut(&(person.clone(), id)).ok_or(StoreError::NotFound)?;
        if draft.state != step.from || draft.hash != step.hash {
            return Err(StoreError::Conflict);
        }
        let moved = draft.clone().moved(step);
        draft.clone_from(&moved);
        self.chain(audit);
        Ok(moved)
    }
}

#[async_trait]
impl Drafts for MemoryLedger {
    async fn put_draft(
        &self,
        draft: Draft,
        replaces: &[DraftId],
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        self.with(Op::Draft, |books| books.put_draft(draft, replaces, audit)).await
    }

    async fn draft(&self, person: &PersonId, id: DraftId) -> Result<Option<Draft>, StoreError> {
        self.with(Op::ReadLedger, |books| Ok(books.drafts.get(&(person.clone(), id)).cloned()))
            .await
    }

    async fn drafts(
        &self,
        person: &PersonId,
        filter: &DraftFilter,
    ) -> Result<Vec<Draft>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let wanted = |draft: &&Draft| {
                draft.key.person == *person
                    && filter.state.is_none_or(|state| draft.state == state)
                    && filter.session.is_none_or(|session| draft.key.session == session)
                    && filter.before.is_none_or(|before| draft.id < before)
            };
            let limit = if filter.limit == 0 { 50 } else { filter.limit as usize };
            Ok(books.drafts.values().rev().filter(wanted).take(limit).cloned().collect())
        })
        .await
    }

    async fn open_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError> {
        self.with(Op::ReadLedger, |books| Ok(books.open_drafts(key).cloned().collect())).await
    }

    async fn move_draft(
        &self,
        person: &PersonId,
        id: DraftId,
        step: DraftMove,
        audit: AuditEntry,
    ) -> Result<Draft, StoreError> {
        self.with(Op::Draft, |books| books.move_draft(person, id, &step, audit)).await
    }

    async fn unsettled_drafts(&self, now: Timestamp) -> Result<Vec<Draft>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let unsettled = |draft: &&Draft| {
                draft.state == DraftState::Applying
                    || (draft.state.is_open() && draft.expires_at <= now)
            };
            Ok(books.drafts.values().filter(unsettled).cloned().collect())
        })
        .await
    }

    async fn undelivered_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let undelivered = |draft: &&Draft| draft.state.is_decided() && !draft.delivered;
            let mut drafts: Vec<_> = books.drafts_of(key).filter(undelivered).cloned().collect();
            drafts
                .sort_by_key(|draft| (draft.decided.as_ref().map(|decided| decided.at), draft.id));
            Ok(drafts)
        })
        .await
    }

    async fn deliver_drafts(&self, key: &SessionKey, ids: &[DraftId]) -> Result<(), StoreError> {
        self.with(Op::Draft, |books| {
            for id in ids {
                if let Some(draft) = books.drafts.get_mut(&(key.person.clone(), *id)) {
                    draft.delivered = true;
                }
            }
            Ok(())
        })
        .await
    }
}
