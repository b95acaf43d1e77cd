//! Everything that was observed from outside while a schedule ran, so that it can be checked.

use std::collections::{BTreeMap, BTreeSet};

use super::junction::Process;
use onyx_types::{Event, LaneId, RunId, SessionId, TurnId};

/// An unusual event of a schedule, such as a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnusualEvent {
    Crash,
    Freeze,
    LeaseLost,
    Takeover,
    Cancel,
    Steer,
    FollowUp,
    Fork,
    Regenerate,
    AskedAgain,
    Rejoin,
    ClientGone,
    FullDisk,
    FailedSync,
    FailedWrite,
    SlowStore,
    Recovery,
    CutAnswer,
    ModelError,
    Stall,
    Garbage,
    SameIdTwice,
    ParallelCalls,
    SeveralAgents,
    Compaction,
    ToolEffect,
    ParallelLanes,
    Titled,
    Deletion,
    Undo,
    LostAnswer,
    LateCommit,
    ShutOutCommit,
    StaleRead,
}

impl UnusualEvent {
    pub(super) const ALL: &[Self] = &[
        Self::Crash,
        Self::Freeze,
        Self::LeaseLost,
        Self::Takeover,
        Self::Cancel,
        Self::Steer,
        Self::FollowUp,
        Self::Fork,
        Self::Regenerate,
        Self::AskedAgain,
        Self::Rejoin,
        Self::ClientGone,
        Self::FullDisk,
        Self::FailedSync,
        Self::FailedWrite,
        Self::SlowStore,
        Self::Recovery,
        Self::CutAnswer,
        Self::ModelError,
        Self::Stall,
        Self::Garbage,
        Self::SameIdTwice,
        Self::ParallelCalls,
        Self::SeveralAgents,
        Self::Compaction,
        Self::ToolEffect,
        Self::ParallelLanes,
        Self::Titled,
        Self::Deletion,
        Self::Undo,
        Self::LostAnswer,
        Self::LateCommit,
        Self::ShutOutCommit,
        Self::StaleRead,
    ];
}

pub(super) type Counts = BTreeMap<UnusualEvent, u64>;

/// A client that follows a run from a sequence number on.
pub(super) struct Viewer {
    pub(super) run: RunId,
    pub(super) session: SessionId,
    pub(super) after: u64,
    pub(super) events: Vec<(u64, LaneId, Event)>,
    /// Whether the feed was closed.
    pub(super) closed: bool,
}

#[derive(Default)]
pub(super) struct Book {
    pub(super) counts: Counts,
    pub(super) viewers: Vec<Viewer>,
    pub(super) sessions: Vec<SessionId>,
    /// Sessions whose deletion was requested; the answer may have been lost.
    pub(super) may_be_gone: BTreeSet<SessionId>,
    /// Sessions that were announced as deleted, with the turns they held.
    pub(super) deleted: BTreeMap<SessionId, BTreeSet<TurnId>>,
    /// Sessions whose agents answer in parallel from some time on.
    pub(super) parallel: BTreeSet<SessionId>,
    /// Messages that were sent, each with a text of its own, and the runs that they started.
    pub(super) said: BTreeMap<String, Option<(SessionId, RunId)>>,
    /// Messages that were acknowledged for a session at work.
    pub(super) queued: Vec<(SessionId, TurnId)>,
    /// The newest turns of sessions, as somebody read them.
    pub(super) read: Vec<(SessionId, Vec<TurnId>)>,
    /// The effects of tools, by the key that the model gave each call.
    pub(super) effects: Vec<String>,
    /// The longest saved note of each text while it streamed.
    pub(super) noted: BTreeMap<(SessionId, TurnId), String>,
    pub(super) calls: u64,
    /// The process that works on each session, as far as the book knows.
    pub(super) at_work: BTreeMap<SessionId, Process>,
    pub(super) frozen: Vec<Process>,
    pub(super) violations: Vec<String>,
}

impl Book {
    pub(super) fn count(&mut self, mishap: UnusualEvent) {
        self.count_all(mishap, 1);
    }

    pub(super) fn count_all(&mut self, mishap: UnusualEvent, times: u64) {
        if times > 0 {
            *self.counts.entry(mishap).or_default() += times;
        }
    }

    pub(super) fn violated(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }

    pub(super) fn saw_session(&mut self, session: SessionId) {
        if !self.sessions.contains(&session) && !self.is_deleted(session) {
            self.sessions.push(session);
        }
    }

    /// Notes that a run began in this process. If a frozen process holds the session, it was taken
    /// over.
    pub(super) fn begins(&mut self, session: SessionId, process: Process) {
        self.saw_session(session);
        let before = self.at_work.insert(session, process);
        if before.is_some_and(|before| before != process && self.frozen.contains(&before)) {
            self.count(UnusualEvent::Takeover);
        }
    }

    pub(super) fn ends(&mut self, session: SessionId, process: Process) {
        if self.at_work.get(&session) == Some(&process) {
            self.at_work.remove(&session);
        }
    }

    pub(super) fn is_deleted(&self, session: SessionId) -> bool {
        self.deleted.contains_key(&session)
    }

    pub(super) fn may_be_gone(&self, session: SessionId) -> bool {
        self.may_be_gone.contains(&session)
    }

    pub(super) fn saw_deletion(&mut self, session: SessionId, turns: BTreeSet<TurnId>) {
        self.deleted.insert(session, turns);
        self.sessions.retain(|known| *known != session);
        self.noted.retain(|(noted, _), _| *noted != session);
    }

    /// Notes that the process is frozen, and returns the sessions that it holds.
    pub(super) fn freeze(&mut self, process: Process) -> Vec<SessionId> {
        self.frozen.push(process);
        let held = self.at_work.iter().filter(|(_, holder)| **holder == process);
        held.map(|(session, _)| *session).collect()
    }

    /// A new name for a call, message or effect of this schedule.
    pub(super) fn fresh(&mut self, kind: &str) -> String {
        self.calls += 1;
        format!("{kind}{}", self.calls)
    }
}
