//! One connection from its first frame to its end.

use std::time::Duration;

use axum::extract::ws::WebSocket;
use futures::StreamExt as _;
use onyx_agent::{
    DryRun, ForkPoint, RunInput, RunRequest, RunTerms, SendOutcome, SessionRef, StopTarget,
};
use onyx_storage::{Delivery, SessionFilter};
use onyx_types::{Attendance, ErrorCode, RunId};
use tokio::time::timeout;

use super::command::{
    Abort, Command, Decision, DraftsDecide, Frame, LogsTail, MemorySearch, RequestId, Resume, Send,
    SessionsGet, SessionsList,
};
use super::follow::{Following, Subscription, broadcasts};
use super::outbox::{CloseReason, Outbox, receive};
use super::result::{self, Empty, LiveSession, LiveSessions, SendResult};
use super::sent::send_once;
use super::sign_in::{Sender, first_frame};
use super::tail::LogTail;
use crate::access::{Access, may};
use crate::routes::agent::Stopped;
use crate::routes::agent::request::chat_origin;
use crate::routes::agents::AgentView;
use crate::routes::logs::LogLines;
use crate::routes::pending_changes::PendingChange;
use crate::routes::sessions::queued::QueuedMessage;
use crate::routes::{logs, memory, pending_changes, sessions};
use crate::{ApiState, AuthContext, Problem};

/// The time for a rejected client to read the reason.
const STRANGERS_FAREWELL: Duration = Duration::from_secs(2);
/// A live client answers pings, which come more often than this.
const SILENCE: Duration = Duration::from_secs(75);
/// The longest key a client may give a message.
const KEY_LENGTH: usize = 128;

pub(super) async fn serve(
    socket: WebSocket,
    state: ApiState,
    caller: Option<AuthContext>,
    sender: Sender,
) {
    let (sink, mut source) = socket.split();
    let (outbox, writer) = Outbox::open(sink);
    let mut writer = tokio::spawn(writer);
    // A client that knows that it is signed in counts on being told of every later change.
    let subscription = Subscription::begin(&state);
    let caller = match caller {
        Some(caller) => Some(caller),
        None => first_frame(&state, &sender, &mut source, &outbox).await,
    };
    let farewell = if caller.is_some() { SILENCE } else { STRANGERS_FAREWELL };
    if let Some(caller) = caller {
        let person = caller.person.clone();
        let telling = broadcasts(subscription, state.clone(), person, outbox.clone());
        let telling = tokio::spawn(telling);
        let revoked = caller.revoked.clone();
        let mut connection = Connection {
            state,
            caller,
            sender,
            outbox: outbox.clone(),
            following: Following::default(),
            tail: LogTail::default(),
        };
        let reading = async {
            while let Some(text) = receive(&mut source, &outbox, SILENCE).await {
                connection.handle(&text).await;
            }
        };
        tokio::select! {
            () = reading => {}
            () = revoked.cancelled() => outbox.close(CloseReason::Unauthenticated).await,
        }
        telling.abort();
    }
    // The writer ends when all its senders are gone, or after its time limit.
    drop((outbox, source));
    if timeout(farewell, &mut writer).await.is_err() {
        writer.abort();
    }
}

struct Connection {
    state: ApiState,
    caller: AuthContext,
    sender: Sender,
    outbox: Outbox,
    following: Following,
    tail: LogTail,
}

/// How the answer to a request is written, once it is known.
struct Reply<'a> {
    kind: &'a str,
    id: Option<&'a RequestId>,
}

impl Connection {
    async fn handle(&mut self, text: &str) {
        let frame = match Frame::parse(text) {
            Ok(frame) => frame,
            Err(problem) => {
                return self.outbox.tell(result::failure(None, None, &problem)).await;
            }
        };
        let (kind, id) = (frame.kind.clone(), frame.id.clone());
        let reply = Reply { kind: &kind, id: id.as_ref() };
        let done = match frame.command() {
            Ok(command) => self.perform(command, &reply).await,
            Err(problem) => Err(problem),
        };
        if let Err(problem) = done {
            self.outbox.tell(result::failure(Some(&kind), id.as_ref(), &problem)).await;
        }
    }

    async fn perform(&mut self, command: Command, reply: &Reply<'_>) -> Result<(), Problem> {
        may(&self.caller, access(&command))?;
        match command {
            Command::Auth(auth) => {
                let shown = self.sender.show(&self.state, &auth).await;
                if let Err(problem) = shown {
                    // A connection allows one attempt to authenticate, like a request.
                    let frame = result::failure(Some(reply.kind), reply.id, &problem);
                    self.outbox.tell(frame).await;
                    self.outbox.close(CloseReason::Unauthenticated).await;
                    return Ok(());
                }
                self.answer(reply, &Empty {}).await;
            }
            Command::Send(send) => self.send(*send, reply).await?,
            Command::Steer(steer) => {
                let session = SessionRef::Existing(steer.session_id);
                let request = self.request(session, RunInput::New(steer.content()));
                self.deliver(request, Delivery::Steer, reply).await?;
            }
            Command::Abort(abort) => {
                let (runs, person) = (&self.state.agent.runs, &self.caller.person);
                let stopped = match (target(&abort)?, &abort.agent) {
                    (target, None) => runs.stop(person, target).await?,
                    (StopTarget::Run(run), Some(agent)) => {
                        runs.stop_agent(person, run, agent).await?
                    }
                    (StopTarget::Session(_), Some(_)) => {
                        return Err(Problem::field(
                            "data.agent",
                            "it needs a `runId`, not a `sessionId`",
                        ));
                    }
                };
                self.answer(reply, &Stopped { stopped }).await;
            }
            Command::Resume(resume) => self.resume(resume, reply).await?,
            Command::SessionsList(list) => self.list(list, reply).await?,
            Command::SessionsGet(get) => self.get(get, reply).await?,
            Command::DraftsList(query) => {
                let page =
                    pending_changes::page(&self.state, &self.caller, &query, "data.limit").await?;
                self.answer(reply, &page).await;
            }
            Command::DraftsDecide(decide) => self.decide(decide, reply).await?,
            Command::MemorySearch(search) => self.search(search, reply).await?,
            Command::LogsTail(tail) => self.tail(tail, reply).await?,
            Command::Status => self.status(reply).await,
            Command::Ping => self.answer(reply, &Empty {}).await,
        }
        Ok(())
    }

    async fn answer(&self, reply: &Reply<'_>, data: &impl serde::Serialize) {
        self.outbox.tell(result::success(reply.kind, reply.id, data)).await;
    }

    fn request(&self, session: SessionRef, input: RunInput) -> RunRequest {
        RunRequest {
            person: self.caller.person.clone(),
            session,
            input,
            view: None,
            model: None,
            terms: RunTerms::default(),
            attendance: Attendance::Attended,
            dry_run: DryRun::Off,
        }
    }

    async fn send(&mut self, send: Send, reply: &Reply<'_>) -> Result<(), Problem> {
        let Some(key) = send.key.clone() else {
            let delivery = send.delivery.into();
            let request = self.wanted_run(send).await?;
            return self.deliver(request, delivery, reply).await;
        };
        if key.is_empty() || key.len() > KEY_LENGTH {
            return Err(Problem::field("data.key", format!("it must be 1 to {KEY_LENGTH} bytes")));
        }
        let start = async {
            let delivery = send.delivery.into();
            let request = self.wanted_run(send).await?;
            self.start(request, delivery).await
        };
        let store = &self.state.store.short_lived;
        let result = send_once(store, &self.caller.person, &key, start).await?;
        self.tell_outcome(result, reply).await
    }

    /// The run that a `chat.send` asks for. For an edit the session is forked first.
    async fn wanted_run(&self, mut send: Send) -> Result<RunRequest, Problem> {
        let again = [send.edit, send.regenerate, send.retry, send.queued].iter().flatten().count();
        if again > 1 {
            return Err(Problem::field(
                "data.edit",
                "give one of edit, regenerate, retry and queued",
            ));
        }
        if send.temporary && send.session_id.is_some() {
            return Err(Problem::field("data.temporary", "only a new chat can be temporary"));
        }
        let Some(mut session) = send.session_id else {
            if again > 0 {
                return Err(Problem::field("data.sessionId", "missing"));
            }
            let input = RunInput::New(send.take_message()?);
            let agents = send.agent.into_iter().collect();
            let fresh = SessionRef::New { origin: chat_origin(send.temporary), agents };
            return Ok(RunRequest { model: send.model, ..self.request(fresh, input) });
        };
        let input = if let Some(turn) = send.regenerate {
            RunInput::Regenerate(turn)
        } else if let Some(turn) = send.retry {
            RunInput::Stored(turn)
        } else if let Some(turn) = send.queued {
            RunInput::Queued(turn)
        } else {
            RunInput::New(send.take_message()?)
        };
        if let Some(turn) = send.edit {
            let point = ForkPoint::Before(turn);
            session = self.state.agent.sessions.fork(&self.caller.person, session, point).await?;
        }
        let session = match send.agent {
            Some(agent) => SessionRef::Asking { session, agents: vec![agent] },
            None => SessionRef::Existing(session),
        };
        Ok(RunRequest { model: send.model, ..self.request(session, input) })
    }

    async fn deliver(
        &mut self,
        request: RunRequest,
        delivery: Delivery,
        reply: &Reply<'_>,
    ) -> Result<(), Problem> {
        let result = self.start(request, delivery).await?;
        self.tell_outcome(result, reply).await
    }

    async fn start(&self, request: RunRequest, delivery: Delivery) -> Result<SendResult, Problem> {
        let session = request.session.existing();
        Ok(match self.state.agent.runs.send(request, delivery).await? {
            SendOutcome::Started(handle) => SendResult {
                session_id: handle.session_id,
                run_id: handle.run_id,
                queued_turn_id: None,
            },
            SendOutcome::Queued { turn, run } => SendResult {
                session_id: session.ok_or_else(|| {
                    Problem::new(ErrorCode::Internal, "a new session was already busy")
                })?,
                run_id: run,
                queued_turn_id: Some(turn),
            },
        })
    }

    /// Sends the answer to the request and then the run's events.
    async fn tell_outcome(&mut self, result: SendResult, reply: &Reply<'_>) -> Result<(), Problem> {
        self.answer(reply, &result).await;
        if result.queued_turn_id.is_none() {
            self.follow(result.run_id, 0).await?;
        }
        Ok(())
    }

    async fn resume(&mut self, resume: Resume, reply: &Reply<'_>) -> Result<(), Problem> {
        // A run that is not known must be refused before the answer promises its events.
        self.state.agent.runs.events(&self.caller.person, resume.run_id, 0).await?;
        self.answer(reply, &Empty {}).await;
        self.follow(resume.run_id, resume.after).await
    }

    async fn follow(&mut self, run: RunId, after: u64) -> Result<(), Problem> {
        let reader =
            self.state.agent.runs.events(&self.caller.person, run, 0).await?.parted_at(after);
        Ok(self.following.follow(run, after, reader, self.outbox.clone())?)
    }

    async fn search(&self, search: MemorySearch, reply: &Reply<'_>) -> Result<(), Problem> {
        let found = memory::find(&self.state, &self.caller, search.into()).await?;
        self.answer(reply, &found).await;
        Ok(())
    }

    /// Sends the existing lines, then each new line. A second tail replaces the first.
    async fn tail(&mut self, tail: LogsTail, reply: &Reply<'_>) -> Result<(), Problem> {
        let follows = tail.follow.unwrap_or(true);
        let (lines, more) = logs::tail(&self.state, tail.into(), "data.limit")?;
        self.tail = LogTail::default();
        self.answer(reply, &LogLines { lines }).await;
        if follows {
            self.tail = LogTail::tell(more, reply.id.cloned(), self.outbox.clone());
        }
        Ok(())
    }

    async fn list(&self, list: SessionsList, reply: &Reply<'_>) -> Result<(), Problem> {
        let limit = sessions::list_limit("data.limit", list.limit)?;
        let filter = SessionFilter {
            agent: list.agent,
            status: list.status,
            text: list.q,
            before: list.before,
            limit,
            ..SessionFilter::default()
        };
        let page = sessions::list_page(&self.state, &self.caller, filter).await?;
        let running = self.state.agent.runs.of_person(&self.caller.person);
        let run_of = |id| running.iter().find(|(session, _)| *session == id).map(|(_, run)| *run);
        let live = page
            .sessions
            .into_iter()
            .map(|session| LiveSession { run_id: run_of(session.id), session });
        let sessions = live.collect();
        let (before, degraded) = (page.before, page.degraded);
        self.answer(reply, &LiveSessions { sessions, before, degraded }).await;
        Ok(())
    }

    async fn get(&self, get: SessionsGet, reply: &Reply<'_>) -> Result<(), Problem> {
        let person = &self.caller.person;
        // The run is looked up first: a run that ends meanwhile is still known, and its turns are
        // in the page.
        let run_id = self.state.agent.runs.on_session(person, get.session_id);
        let meta = self.state.agent.sessions.meta(person, get.session_id).await?;
        let family = self.state.agent.sessions.family(person, &meta).await?;
        let limit = sessions::turns_limit("data.limit", get.limit)?;
        let before = get.before.map(onyx_storage::Pos);
        let agent = &self.state.agent;
        let page = agent.sessions.turns(person, get.session_id, before, limit).await?;
        let queued = agent.runs.queued(person, get.session_id).await?;
        let shown = page.turns.into_iter().map(|turn| sessions::TurnView::of(agent, turn));
        let page = result::SessionPage {
            session: LiveSession { session: meta.into(), run_id },
            siblings: family.into_iter().map(sessions::Sibling::from).collect(),
            before: page.has_older.then_some(page.start.0),
            turns: shown.collect(),
            queued: queued.into_iter().map(QueuedMessage::from).collect(),
        };
        self.answer(reply, &page).await;
        Ok(())
    }

    async fn decide(&self, decide: DraftsDecide, reply: &Reply<'_>) -> Result<(), Problem> {
        let (agent, person, id) = (&self.state.agent, &self.caller.person, decide.draft_id);
        let decided = match decide.decision {
            Decision::Approve => {
                let approver = self.caller.approver()?;
                agent.approvals.approve(&approver, id, decide.details.approval()?).await
            }
            Decision::Reject => agent.approvals.reject(person, id, decide.details.reason()?).await,
        };
        let frame = match decided {
            Ok(draft) => {
                let draft = PendingChange::of(&self.state, draft);
                result::success(reply.kind, reply.id, &draft)
            }
            Err(not) => {
                let draft = not.draft.map(|draft| PendingChange::of(&self.state, *draft));
                result::refusal(Some(reply.kind), reply.id, &not.fault.into(), draft.as_ref())
            }
        };
        self.outbox.tell(frame).await;
        Ok(())
    }

    async fn status(&self, reply: &Reply<'_>) {
        let roster = self.state.agent.roster();
        let live = self.state.agent.runs.of_person(&self.caller.person).into_iter();
        let status = result::Status {
            version: env!("CARGO_PKG_VERSION"),
            dependencies: self.state.readiness.health(&self.caller.person).await,
            agents: roster.agents().map(|agent| AgentView::of(&roster, agent)).collect(),
            runs: live.map(|(session_id, run_id)| result::LiveRun { session_id, run_id }).collect(),
        };
        self.answer(reply, &status).await;
    }
}

/// The access that each request needs, the same as over HTTP.
fn access(command: &Command) -> Access {
    match command {
        Command::Send(_) | Command::Steer(_) | Command::Abort(_) => Access::Chat,
        Command::Resume(_)
        | Command::SessionsList(_)
        | Command::SessionsGet(_)
        | Command::DraftsList(_)
        | Command::MemorySearch(_) => Access::Read,
        Command::DraftsDecide(_) => Access::Write,
        Command::LogsTail(_) => Access::Owner,
        Command::Auth(_) | Command::Status | Command::Ping => Access::Person,
    }
}

fn target(abort: &Abort) -> Result<StopTarget, Problem> {
    match (abort.session_id, abort.run_id) {
        (Some(session), None) => Ok(StopTarget::Session(session)),
        (None, Some(run)) => Ok(StopTarget::Run(run)),
        (Some(_), Some(_)) => {
            Err(Problem::field("data.runId", "give either `runId` or `sessionId`"))
        }
        (None, None) => {
            Err(Problem::field("data.sessionId", "missing; give `sessionId` or `runId`"))
        }
    }
}
