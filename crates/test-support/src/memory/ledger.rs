use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{
    AuditEntry, AuditRow, BeginIn, BeginRun, ChainState, DaySpending, Draft, InboxRow, Ledger,
    ModelUse, RunOutcome, RunRow, SessionChange, SessionFilter, SessionMarks, SessionMeta,
    SessionStatus, SpentAmount, StoreError, TagCount, TitleSource, UnusedSession, UsageRow,
};
use onyx_types::{
    AgentId, Clock, DraftId, Hash, LaneOrder, ModelId, PersonId, RunId, SessionId, SessionKey,
    Timestamp, TurnId, Usage,
};

use super::jobs::JobTables;
use super::{MemoryDisk, Op, Turnstile, perform};

/// The tables.
#[derive(Default)]
pub(super) struct Books {
    sessions: BTreeMap<(PersonId, SessionId), SessionMeta>,
    runs: BTreeMap<RunId, RunRow>,
    inbox: BTreeMap<(PersonId, SessionId, TurnId), InboxRow>,
    /// The usage by day, person, agent and model.
    usage: BTreeMap<(String, PersonId, AgentId, ModelId), Usage>,
    audit: BTreeMap<PersonId, Vec<AuditRow>>,
    pub(super) drafts: BTreeMap<(PersonId, DraftId), Draft>,
    pub(super) jobs: JobTables,
    pub(super) acceptances: Vec<onyx_storage::Acceptance>,
}

impl Books {
    fn begin(&mut self, begin: &BeginRun) -> Result<(), StoreError> {
        let key = &begin.key;
        let same = |row: &&RunRow| {
            row.key.person == key.person
                && row.key.session == key.session
                && row.input_turn == begin.input_turn
                && !row.status.is_some_and(|status| status.may_run_again())
        };
        if self.runs.contains_key(&begin.run) || self.runs.values().any(|row| same(&row)) {
            return Err(StoreError::AlreadyRun);
        }
        let id = (key.person.clone(), key.session);
        let origin = match begin.session {
            BeginIn::New(origin) => origin,
            BeginIn::Existing => {
                self.sessions.get(&id).map(|meta| meta.origin).ok_or(StoreError::NotFound)?
            }
        };
        let session = self.sessions.entry(id).or_insert_with(|| SessionMeta {
            session_id: key.session,
            agent: key.agent.clone(),
            origin,
            agents: vec![key.agent.clone()],
            mode: LaneOrder::default(),
            title: None,
            titled_by: TitleSource::default(),
            status: SessionStatus::Active,
            created_at: begin.started_at,
            updated_at: begin.started_at,
            message_count: 0,
            token_count: 0,
            preview: String::new(),
            root: key.session,
            fork_turn: None,
            last_run: None,
            last_run_status: None,
            marks: SessionMarks::default(),
        });
        if session.agent != key.agent {
            return Err(StoreError::Conflict);
        }
        session.updated_at = session.updated_at.max(begin.started_at);
        session.last_run = Some(begin.run);
        session.last_run_status = None;
        let row = RunRow {
            run: begin.run,
            key: key.clone(),
            input_turn: begin.input_turn,
            started_at: begin.started_at,
            status: None,
        };
        self.runs.insert(begin.run, row);
        Ok(())
    }

    fn end(&mut self, outcome: RunOutcome, clock: &dyn Clock) -> Result<(), StoreError> {
        let row = self.runs.get_mut(&outcome.run).ok_or(StoreError::NotFound)?;
        if row.status.is_some() {
            return Ok(());
        }
        row.status = Some(outcome.status);
        let key = row.key.clone();
        if let Some(meta) = self.sessions.get_mut(&(key.person.clone(), key.session)) {
            meta.updated_at = meta.updated_at.max(outcome.ended_at);
            meta.message_count += outcome.messages_added;
            if let Some(preview) = outcome.preview {
                meta.preview = preview;
            }
            meta.title = meta.title.take().or(outcome.title);
            meta.last_run = Some(outcome.run);
            meta.last_run_status = Some(outcome.status);
            meta.marks.unread = !meta.origin.is_passing();
        }
        let day = clock.zone_of(&key.person).date(outcome.ended_at);
        self.book(&key, &outcome.usage, outcome.used, &day);
        Ok(())
    }

    fn book(&mut self, key: &SessionKey, usage: &Usage, parts: Vec<ModelUse>, day: &str) {
        if let Some(meta) = self.sessions.get_mut(&(key.person.clone(), key.session)) {
            meta.token_count += usage.tokens();
        }
        for ModelUse { agent, model, usage } in parts {
            let place = (day.to_owned(), key.person.clone(), agent, model);
            // An unknown price counts as zero.
            let nothing = Usage { cost: Some(0.0), ..Usage::default() };
            self.usage.entry(place).or_insert(nothing).add(&usage);
        }
    }

    fn spent<W: Ord>(
        &self,
        day: &str,
        who: impl Fn(&PersonId, &AgentId) -> W,
    ) -> BTreeMap<W, SpentAmount> {
        let mut sums: BTreeMap<W, SpentAmount> = BTreeMap::new();
        for ((of, person, agent, _), usage) in &self.usage {
            if of == day {
                let sum = sums.entry(who(person, agent)).or_default();
                sum.cost += usage.cost.unwrap_or(0.0);
                sum.tokens += usage.tokens();
            }
        }
        sums
    }

    fn change(
        &mut self,
        id: &(PersonId, SessionId),
        change: &SessionChange,
    ) -> Result<SessionMeta, StoreError> {
        let root = self.sessions.get(id).ok_or(StoreError::NotFound)?.root;
        if let Some(pinned) = change.pinned {
            let family = self.sessions.iter_mut().filter(|((person, _), _)| *person == id.0);
            for (_, meta) in family.filter(|(_, meta)| meta.root == root) {
                meta.marks.pinned = pinned;
            }
        }
        let family = self.sessions.iter_mut().filter(|((person, _), _)| *person == id.0);
        for (_, meta) in family.filter(|(_, meta)| meta.root == root) {
            if let Some(tags) = &change.tags {
                meta.marks.tags.clone_from(tags);
            }
            if let Some(attached) = &change.attached {
                meta.marks.attached.clone_from(attached);
            }
        }
        let meta = self.sessions.get_mut(id).ok_or(StoreError::NotFound)?;
        if let Some((title, by)) = &change.title
            && (*by == TitleSource::Person || meta.titled_by != TitleSource::Person)
        {
            (meta.title, meta.titled_by) = (Some(title.clone()), *by);
        }
        meta.status = change.status.unwrap_or(meta.status);
        meta.mode = change.mode.unwrap_or(meta.mode);
        if let Some(agents) = &change.agents {
            meta.agents.clone_from(agents);
        }
        Ok(meta.clone())
    }

    fn of_person(&self, person: &PersonId) -> impl Iterator<Item = &SessionMeta> {
        self.sessions.iter().filter(move |((owner, _), _)| owner == person).map(|(_, meta)| meta)
    }

    fn page(
        &self,
        person: &PersonId,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        let newest_first = |meta: &SessionMeta| Reverse((meta.updated_at, meta.session_id));
        let cursor = match filter.before {
            None => None,
            Some(session) => {
                let found = self.sessions.get(&(person.clone(), session));
                Some(newest_first(found.ok_or(StoreError::NotFound)?))
            }
        };
        let wanted = filter.text.as_ref().map(|text| text.to_lowercase());
        let mentions = |meta: &SessionMeta, wanted: &String| {
            let texts = meta.title.iter().chain([&meta.preview]);
            texts.into_iter().any(|text| text.to_lowercase().contains(wanted))
        };
        let holds = |meta: &SessionMeta| {
            let family = self.of_person(person).filter(|fork| fork.root == meta.root);
            family.into_iter().any(|fork| filter.holding.contains(&fork.session_id))
        };
        let newest_fork = |meta: &SessionMeta| {
            let family = self.of_person(person).filter(|fork| fork.root == meta.root);
            family.map(newest_first).min() == Some(newest_first(meta))
        };
        let mut found: Vec<SessionMeta> = self
            .of_person(person)
            .filter(|meta| newest_fork(meta))
            .filter(|meta| cursor.is_none_or(|cursor| newest_first(meta) > cursor))
            .filter(|meta| filter.agent.as_ref().is_none_or(|agent| meta.agent == *agent))
            .filter(|meta| filter.status.is_none_or(|status| meta.status == status))
            .filter(|meta| filter.origin.is_none_or(|origin| meta.origin == origin))
            .filter(|meta| filter.since.is_none_or(|since| meta.updated_at >= since))
            .filter(|meta| filter.until.is_none_or(|until| meta.updated_at < until))
            .filter(|meta| filter.pinned.is_none_or(|pinned| meta.marks.pinned == pinned))
            .filter(|meta| filter.tag.as_ref().is_none_or(|tag| meta.marks.tags.contains(tag)))
            .filter(|meta| filter.attached.is_none() || meta.marks.attached == filter.attached)
            .filter(|meta| {
                wanted.as_ref().is_none_or(|wanted| holds(meta) || mentions(meta, wanted))
            })
            .cloned()
            .collect();
        found.sort_by_key(newest_first);
        found.truncate(if filter.limit == 0 { 50 } else { filter.limit as usize });
        Ok(found)
    }

    fn unused(
        &self,
        until: Timestamp,
        after: Option<&UnusedSession>,
        limit: u32,
    ) -> Vec<UnusedSession> {
        let is_unused = |(person, meta): &(&PersonId, &SessionMeta)| {
            let mut family = self.of_person(person).filter(|fork| fork.root == meta.root);
            meta.origin.is_passing() && family.all(|fork| fork.updated_at < until)
        };
        let all = self.sessions.iter().map(|((person, _), meta)| (person, meta));
        let mut found: Vec<UnusedSession> = all
            .filter(is_unused)
            .map(|(person, meta)| UnusedSession {
                created_at: meta.created_at,
                person: person.clone(),
                session: meta.session_id,
            })
            .filter(|session| after.is_none_or(|after| session > after))
            .collect();
        found.sort();
        found.truncate(limit as usize);
        found
    }

    pub(super) fn chain(&mut self, entry: AuditEntry) -> AuditRow {
        let rows = self.audit.entry(entry.person.clone()).or_default();
        let (seq, previous) = rows.last().map_or((1, Hash::ZERO), |row| (row.seq + 1, row.hash));
        let row = AuditRow { seq, hash: link(seq, &entry, previous), entry, previous };
        rows.push(row.clone());
        row
    }
}

fn link(seq: u64, entry: &AuditEntry, previous: Hash) -> Hash {
    Hash::of_parts([&seq.to_le_bytes()[..], format!("{entry:?}").as_bytes(), previous.as_bytes()])
}

pub(super) struct MemoryLedger {
    disk: MemoryDisk,
    clock: Arc<dyn Clock>,
    turnstile: Arc<dyn Turnstile>,
}

impl MemoryLedger {
    pub(super) fn new(
        disk: MemoryDisk,
        clock: Arc<dyn Clock>,
        turnstile: Arc<dyn Turnstile>,
    ) -> Self {
        Self { disk, clock, turnstile }
    }

    pub(super) async fn with<T>(
        &self,
        op: Op,
        work: impl FnOnce(&mut Books) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        perform(&*self.turnstile, op, || work(&mut self.disk.lock().books)).await
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn begin_run(&self, begin: BeginRun) -> Result<(), StoreError> {
        self.with(Op::BeginRun, |books| books.begin(&begin)).await
    }

    async fn end_run(&self, outcome: RunOutcome) -> Result<(), StoreError> {
        self.with(Op::EndRun, |books| books.end(outcome, &*self.clock)).await
    }

    async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let active = books.runs.values().filter(|row| row.status.is_none());
            let mut active: Vec<_> = active.cloned().collect();
            active.sort_by_key(|row| (row.started_at, row.run));
            Ok(active)
        })
        .await
    }

    async fn open_runs(&self, key: &SessionKey) -> Result<Vec<RunRow>, StoreError> {
        let active = self.active_runs().await?;
        Ok(active.into_iter().filter(|row| row.key == *key).collect())
    }

    async fn run(&self, person: &PersonId, run: RunId) -> Result<Option<RunRow>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            Ok(books.runs.get(&run).filter(|row| row.key.person == *person).cloned())
        })
        .await
    }

    async fn session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Option<SessionMeta>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            Ok(books.sessions.get(&(person.clone(), session)).cloned())
        })
        .await
    }

    async fn sessions(
        &self,
        person: &PersonId,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        self.with(Op::ReadLedger, |books| books.page(person, filter)).await
    }

    async fn unused_sessions(
        &self,
        until: Timestamp,
        after: Option<&UnusedSession>,
        limit: u32,
    ) -> Result<Vec<UnusedSession>, StoreError> {
        self.with(Op::ReadLedger, |books| Ok(books.unused(until, after, limit))).await
    }

    async fn family(
        &self,
        person: &PersonId,
        root: SessionId,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let family = books.of_person(person).filter(|meta| meta.root == root);
            let mut family: Vec<SessionMeta> = family.cloned().collect();
            family.sort_by_key(|meta| (meta.created_at, meta.session_id));
            Ok(family)
        })
        .await
    }

    async fn change_session(
        &self,
        person: &PersonId,
        session: SessionId,
        change: &SessionChange,
    ) -> Result<SessionMeta, StoreError> {
        let id = (person.clone(), session);
        self.with(Op::PutSession, |books| books.change(&id, change)).await
    }

    async fn session_tags(&self, person: &PersonId) -> Result<Vec<TagCount>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let families: BTreeSet<_> = books
                .of_person(person)
                .flat_map(|meta| meta.marks.tags.iter().map(|tag| (tag.clone(), meta.root)))
                .collect();
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for (tag, _) in families {
                *counts.entry(tag).or_default() += 1;
            }
            let counted = |(tag, conversations)| TagCount { tag, conversations };
            Ok(counts.into_iter().map(counted).collect())
        })
        .await
    }

    async fn mark_read(&self, person: &PersonId, session: SessionId) -> Result<bool, StoreError> {
        self.with(Op::PutSession, |books| {
            let meta = books.sessions.get_mut(&(person.clone(), session));
            Ok(meta.is_some_and(|meta| std::mem::take(&mut meta.marks.unread)))
        })
        .await
    }

    async fn book(
        &self,
        key: &SessionKey,
        model: &ModelId,
        usage: Usage,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.with(Op::PutSession, |books| {
            let used = ModelUse { agent: key.agent.clone(), model: model.clone(), usage };
            let day = self.clock.zone_of(&key.person).date(at);
            books.book(key, &usage, vec![used], &day);
            Ok(())
        })
        .await
    }

    async fn put_session(&self, person: &PersonId, meta: &SessionMeta) -> Result<(), StoreError> {
        self.with(Op::PutSession, |books| {
            let id = (person.clone(), meta.session_id);
            let unread = books.sessions.get(&id).is_some_and(|before| before.marks.unread);
            let pinned =
                books.of_person(person).any(|other| other.root == meta.root && other.marks.pinned);
            let family = books.of_person(person).find(|other| other.root == meta.root);
            let (tags, attached) =
                family.map(|fork| (fork.marks.tags.clone(), fork.marks.attached.clone())).unzip();
            let (tags, attached) = (tags.unwrap_or_default(), attached.flatten());
            let marks = SessionMarks { unread, pinned, tags, attached };
            books.sessions.insert(id, SessionMeta { marks, ..meta.clone() });
            Ok(())
        })
        .await
    }

    async fn delete_session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(), StoreError> {
        self.with(Op::PutSession, |books| {
            books.sessions.remove(&(person.clone(), session));
            books.inbox.retain(|(owner, of, _), _| owner != person || *of != session);
            books
                .drafts
                .retain(|_, draft| draft.key.person != *person || draft.key.session != session);
            Ok(())
        })
        .await
    }

    async fn put_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<(), StoreError> {
        self.with(Op::PutInbox, |books| {
            books.inbox.insert((key.person.clone(), key.session, row.turn), row);
            Ok(())
        })
        .await
    }

    async fn inbox(&self, key: &SessionKey) -> Result<Vec<InboxRow>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let of_session = books.inbox.iter().filter(|((person, session, _), _)| {
                *person == key.person && *session == key.session
            });
            Ok(of_session.map(|(_, row)| row.clone()).collect())
        })
        .await
    }

    async fn change_inbox(&self, key: &SessionKey, row: InboxRow) -> Result<bool, StoreError> {
        self.with(Op::PutInbox, |books| {
            let place = books.inbox.get_mut(&(key.person.clone(), key.session, row.turn));
            Ok(place.map(|place| *place = row).is_some())
        })
        .await
    }

    async fn spoken_to(&self) -> Result<Vec<(PersonId, SessionId)>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let sessions: BTreeSet<_> =
                books.inbox.keys().map(|(person, session, _)| (person.clone(), *session)).collect();
            Ok(sessions.into_iter().collect())
        })
        .await
    }

    async fn clear_inbox(&self, key: &SessionKey, turns: &[TurnId]) -> Result<(), StoreError> {
        self.with(Op::ClearInbox, |books| {
            for turn in turns {
                books.inbox.remove(&(key.person.clone(), key.session, *turn));
            }
            Ok(())
        })
        .await
    }

    async fn spent(&self, person: &PersonId, day: &str) -> Result<f64, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let spent = books.spent(day, |person, _| person.clone());
            Ok(spent.get(person).map_or(0.0, |spent| spent.cost))
        })
        .await
    }

    async fn spent_by_agent(&self, agent: &AgentId, day: &str) -> Result<f64, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let spent = books.spent(day, |_, agent| agent.clone());
            Ok(spent.get(agent).map_or(0.0, |spent| spent.cost))
        })
        .await
    }

    async fn spending(&self, day: &str) -> Result<DaySpending, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let people = books.spent(day, |person, _| person.clone()).into_iter().collect();
            let agents = books.spent(day, |_, agent| agent.clone()).into_iter().collect();
            Ok(DaySpending { people, agents })
        })
        .await
    }

    async fn usage(&self, first: &str, last: &str) -> Result<Vec<UsageRow>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let wanted =
                books.usage.iter().filter(|((day, ..), _)| (first..=last).contains(&&**day));
            let row = |((day, person, agent, model), usage): (&(_, _, _, _), &Usage)| UsageRow {
                day: String::clone(day),
                person: PersonId::clone(person),
                used: ModelUse {
                    agent: AgentId::clone(agent),
                    model: ModelId::clone(model),
                    usage: *usage,
                },
            };
            Ok(wanted.map(row).collect())
        })
        .await
    }

    async fn append_audit(&self, entry: AuditEntry) -> Result<AuditRow, StoreError> {
        self.with(Op::Audit, |books| Ok(books.chain(entry))).await
    }

    async fn audit(
        &self,
        person: &PersonId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let rows = books.audit.get(person).map(Vec::as_slice).unwrap_or_default();
            let older = rows.iter().rev().filter(|row| before.is_none_or(|seq| row.seq < seq));
            Ok(older.take(limit as usize).cloned().collect())
        })
        .await
    }

    async fn verify_audit(&self, person: &PersonId) -> Result<ChainState, StoreError> {
        self.with(Op::ReadLedger, |books| {
            let rows = books.audit.get(person).map(Vec::as_slice).unwrap_or_default();
            let mut previous = Hash::ZERO;
            for (expected, row) in (1..).zip(rows) {
                if row.seq != expected || row.hash != link(expected, &row.entry, previous) {
                    return Ok(ChainState::Broken { at: expected });
                }
                previous = row.hash;
            }
            Ok(ChainState::Whole { rows: rows.len() as u64 })
        })
        .await
    }
}
