//! Delegation: a run asks another agent, another conversation or another model.

use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use futures::StreamExt as _;
use onyx_storage::Messages;
use onyx_tools::{DelegatedAnswer, Delegates, ToolCx};
use onyx_types::{
    AgentId, Attendance, ErrorCode, Fault, FinishReason, LaneId, Message, Model, ModelEvent,
    ModelId, ModelRequest, Origin, PersonId, SessionId, SessionKey, SessionOrigin, Spending, Taint,
    Turn, TurnBody, Usage, UserContent,
};
use serde_json::Map;

use crate::agents::{ModelChoice, Payer};
use crate::notices::NoticeKind;
use crate::runs::{
    CollectedAnswer, Delegated, DryRun, RunInput, RunRequest, RunTerms, SessionRef, check_content,
};
use crate::services::AgentServices;
use crate::step::Speaker;

#[async_trait]
impl Delegates for AgentServices {
    fn agents(&self) -> Vec<AgentId> {
        self.roster().agents().map(|agent| agent.id.clone()).collect()
    }

    fn has_other_sessions(&self, person: &PersonId) -> bool {
        self.sessions.has_several(person)
    }

    /// Asks another agent. It answers in a session of its own, at most at the tier of the asking
    /// agent and for at most the money that is left to the run. No person attends, so a call that
    /// needs approval becomes a draft.
    async fn ask(
        &self,
        agent: &AgentId,
        message: &str,
        cx: &ToolCx,
    ) -> Result<DelegatedAnswer, Fault> {
        let standing = cx.standing.ok_or_else(|| Fault::plain(ErrorCode::Interrupted))?;
        money_left(standing.cost_left)?;
        let delegated = Delegated {
            by: cx.agent.clone(),
            root: standing.root,
            depth: standing.depth + 1,
            taint: cx.taint,
            cost_left: standing.cost_left,
            spent: Arc::default(),
            only_local: cx.audience.only_local,
            fetches: cx.addresses.budget(),
        };
        let spent = Arc::clone(&delegated.spent);
        let mut run = self
            .runs
            .start_owned(RunRequest {
                person: cx.key.person.clone(),
                session: SessionRef::New {
                    origin: SessionOrigin::Chat,
                    agents: vec![agent.clone()],
                },
                input: RunInput::New(UserContent::Text(message.to_owned())),
                view: None,
                model: None,
                terms: RunTerms {
                    tier: Some(standing.tier),
                    delegated: Some(delegated),
                    ..RunTerms::default()
                },
                attendance: Attendance::Unattended,
                dry_run: DryRun::Off,
            })
            .await?;
        let CollectedAnswer { text, origin } = tokio::select! {
            answer = run.collect() => answer,
            () = cx.cancel.cancelled() => return Err(Fault::plain(ErrorCode::Cancelled)),
        };
        let spent = *spent.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(DelegatedAnswer { text, origin, spent: Some(Spending::Elsewhere(spent)) })
    }

    async fn post(&self, session: SessionId, text: &str, cx: &ToolCx) -> Result<(), Fault> {
        let content = UserContent::Text(text.to_owned());
        check_content(&content, self.roster().limits().max_prompt_bytes)?;
        let person = &cx.key.person;
        let mut meta = self.sessions.meta(person, session).await?;
        if meta.origin == SessionOrigin::AgentEditor {
            let message = "Only a person can write to the persona editor.";
            return Err(Fault::new(ErrorCode::Forbidden, message));
        }
        let key = SessionKey { person: person.clone(), agent: meta.agent.clone(), session };
        let turn = self.words_of_agent(content, cx);
        let lease = self.sessions.acquire_lease(&key).await?;
        let written = async {
            self.shared.recovery.close_leftover_runs(&lease).await?;
            let mut messages = Messages::default();
            messages.add(&turn);
            self.shared.store.turns.append(&lease, &[turn]).await?;
            meta.message_count += messages.count;
            meta.preview = messages.preview.unwrap_or_default();
            meta.updated_at = cx.clock.wall();
            self.shared.store.ledger.put_session(person, &meta).await?;
            Ok::<_, Fault>(())
        };
        let written = written.await;
        lease.release().await;
        written?;
        self.shared.notices.tell(person, session, NoticeKind::SessionChanged);
        Ok(())
    }

    async fn think(
        &self,
        model: &ModelId,
        task: &str,
        cx: &ToolCx,
    ) -> Result<DelegatedAnswer, Fault> {
        let mut limits = self.roster().limits().clone();
        if let Some(left) = cx.standing.and_then(|standing| standing.cost_left) {
            money_left(Some(left))?;
            limits.max_cost = left;
        }
        let payer = Payer { person: &cx.key.person, agent: &cx.agent, limits: &limits };
        let (models, choice) = (&self.shared.models, ModelChoice::only(model.clone()));
        let model = if cx.audience.only_local {
            models.resolve_local(&choice, payer)?
        } else {
            models.resolve(&choice, payer)?
        };
        let (text, usage) = answer(&*model, task, limits.max_output_tokens, cx).await;
        let id = ModelId::new(model.id());
        let spent = Spending::OfRun { model: id.clone(), usage };
        let spent = match cx.standing {
            Some(_) => {
                self.shared.live.keep_model(cx.run, model);
                Some(spent)
            }
            // There is no run at work that could record the cost, so it is recorded here.
            None => {
                let now = cx.clock.wall();
                self.shared.store.ledger.book(&cx.key, &id, usage, now).await?;
                None
            }
        };
        Ok(DelegatedAnswer { text, origin: written_under(cx.taint), spent })
    }
}

impl AgentServices {
    fn words_of_agent(&self, content: UserContent, cx: &ToolCx) -> Turn {
        let by = Speaker::Agent(cx.agent.clone(), cx.taint);
        let now = cx.clock.wall();
        Turn {
            id: self.shared.ids.turn(),
            ts: now,
            run: None,
            lane: LaneId::default(),
            author: by.author(&cx.key.person),
            origin: by.origin(),
            body: TurnBody::User(content.into()),
            extra: Map::new(),
        }
    }
}

fn money_left(left: Option<f64>) -> Result<(), Fault> {
    match left {
        Some(left) if left <= 0.0 => Err(Fault::plain(ErrorCode::LimitBudget)),
        Some(_) | None => Ok(()),
    }
}

/// The origin of an answer to words of a run: tainted if the run was.
fn written_under(taint: Taint) -> Origin {
    match taint {
        Taint::Clean => Origin::Agent,
        Taint::Tainted => Origin::AgentTainted,
    }
}

/// Asks the model once, without tools.
async fn answer(
    model: &dyn Model,
    task: &str,
    max_output_tokens: u32,
    cx: &ToolCx,
) -> (Result<String, Fault>, Usage) {
    let request = ModelRequest {
        messages: Arc::new(vec![Message::user(task)]),
        max_output_tokens,
        ..ModelRequest::default()
    };
    let (mut text, mut usage) = (String::new(), Usage::default());
    let mut ended = Err(Fault::plain(ErrorCode::ProviderTruncated));
    // Dropping the stream closes the connection.
    let mut events = model.stream(request, cx.cancel.clone());
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = cx.cancel.cancelled() => {
                ended = Err(Fault::plain(ErrorCode::Cancelled));
                None
            }
        };
        let Some(event) = event else { break };
        match event {
            ModelEvent::TextDelta(piece) => {
                cx.live.send(piece.as_str());
                text.push_str(&piece);
            }
            ModelEvent::Usage(spent) => usage = spent,
            ModelEvent::Finish(FinishReason::Stop | FinishReason::Length) => ended = Ok(()),
            ModelEvent::Finish(_) => ended = Err(Fault::plain(ErrorCode::ProviderRefused)),
            ModelEvent::Failed(failure) => {
                ended = Err(Fault::new(failure.class.code(), failure.message));
            }
            ModelEvent::ReasoningDelta(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallDelta { .. }
            | ModelEvent::ToolCallEnd { .. }
            | ModelEvent::Notice { .. }
            | ModelEvent::AnsweredBy { .. } => {}
        }
    }
    (ended.map(|()| text), usage)
}
