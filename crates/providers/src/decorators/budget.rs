use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Context, Poll};

use futures::future::{BoxFuture, FutureExt, ready};
use futures::stream::{BoxStream, Stream, StreamExt, once};
use onyx_types::{
    AgentId, Cancel, Clock, Fault, Model, ModelEvent, ModelFailure, ModelFailureClass,
    ModelRequest, PersonId, StatusCode, Usage,
};

use crate::failure::failure;

/// The spending that is stored, by day (`YYYY-MM-DD` in the person's time zone). Work that is not
/// finished is not included: `SpendAccounts` counts it.
pub trait SpendBook: Send + Sync {
    fn spent<'a>(&'a self, person: &'a PersonId, day: &'a str)
    -> BoxFuture<'a, Result<f64, Fault>>;

    /// The spending of this agent, for all people it worked for.
    fn spent_by_agent<'a>(
        &'a self,
        agent: &'a AgentId,
        day: &'a str,
    ) -> BoxFuture<'a, Result<f64, Fault>>;
}

/// The person a model works for, and the agent that asks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payer {
    pub person: PersonId,
    pub agent: AgentId,
}

/// The name under which the spending of requests without an agent is summed up.
const PASSING: &str = "pass-through";

impl Payer {
    /// The payer of a request that asks a model without an agent.
    pub fn without_agent(person: &PersonId) -> Result<Self, Fault> {
        Ok(Self { person: person.clone(), agent: PASSING.parse()? })
    }
}

/// The most that may be spent, in the currency of the price data; 0 is off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpendLimits {
    /// The run itself keeps this limit; here it decides whether to warn about an unknown price.
    pub run: f64,
    /// The most that a person may spend in a day.
    pub person: f64,
    pub agent: f64,
}

impl SpendLimits {
    fn any(&self) -> bool {
        self.run > 0.0 || self.person > 0.0 || self.agent > 0.0
    }
}

/// All spending of this process: the stored sums and the cost so far of the runs at work, so that
/// several runs together cannot exceed a limit that each of them keeps alone.
pub struct SpendAccounts {
    book: Arc<dyn SpendBook>,
    clock: Arc<dyn Clock>,
    open: Mutex<OpenAccounts>,
    warned: Mutex<PriceWarnings>,
}

/// Which persons were warned today about which model without a known price: once a day is enough.
#[derive(Default)]
struct PriceWarnings {
    day: String,
    pairs: BTreeSet<(PersonId, String)>,
}

/// Model names come from requests, so the number that is remembered is limited. When it is reached,
/// a person may be warned a second time.
const MOST_WARNED: usize = 1_024;

#[derive(Default)]
struct OpenAccounts {
    next: u64,
    accounts: BTreeMap<u64, (Payer, f64)>,
}

impl SpendAccounts {
    pub fn new(book: Arc<dyn SpendBook>, clock: Arc<dyn Clock>) -> Self {
        Self { book, clock, open: Mutex::default(), warned: Mutex::default() }
    }

    /// The model for one run: calls are refused once a limit is reached. The run's cost counts as
    /// open until the model is dropped, by when the run's end has been stored.
    pub fn budget(
        self: &Arc<Self>,
        model: Arc<dyn Model>,
        payer: Payer,
        limits: SpendLimits,
    ) -> Budget {
        let account = {
            let mut open = self.lock();
            open.next += 1;
            let number = open.next;
            open.accounts.insert(number, (payer.clone(), 0.0));
            Account { spending: Arc::clone(self), number, person: payer.person.clone() }
        };
        Budget { inner: model, account: Arc::new(account), payer, limits }
    }

    async fn check(&self, payer: &Payer, limits: SpendLimits) -> Result<(), ModelFailure> {
        let day = self.day(&payer.person);
        if limits.person > 0.0 {
            let stored =
                self.book.spent(&payer.person, &day).await.map_err(|fault| unreadable(&fault))?;
            let spent = stored + self.open_cost(|open| open.person == payer.person);
            if spent >= limits.person {
                return Err(met(&format!("{} has", payer.person), spent, limits.person));
            }
        }
        if limits.agent > 0.0 {
            let stored = self
                .book
                .spent_by_agent(&payer.agent, &day)
                .await
                .map_err(|fault| unreadable(&fault))?;
            let spent = stored + self.open_cost(|open| open.agent == payer.agent);
            if spent >= limits.agent {
                return Err(met(&format!("The agent {} has", payer.agent), spent, limits.agent));
            }
        }
        Ok(())
    }

    /// The day on which a person's spending counts now.
    fn day(&self, person: &PersonId) -> String {
        self.clock.zone_of(person).date(self.clock.wall())
    }

    fn is_news(&self, person: &PersonId, model: &str) -> bool {
        let day = self.day(person);
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.day != day || warned.pairs.len() >= MOST_WARNED {
            *warned = PriceWarnings { day, pairs: BTreeSet::new() };
        }
        warned.pairs.insert((person.clone(), model.to_owned()))
    }

    fn open_cost(&self, counts: impl Fn(&Payer) -> bool) -> f64 {
        let open = self.lock();
        open.accounts.values().filter(|(payer, _)| counts(payer)).map(|(_, cost)| cost).sum()
    }

    fn lock(&self) -> MutexGuard<'_, OpenAccounts> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for SpendAccounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpendAccounts")
            .field("open", &self.lock().accounts.len())
            .finish_non_exhaustive()
    }
}

fn met(who: &str, spent: f64, limit: f64) -> ModelFailure {
    let message = format!("{who} spent {spent:.4} today; the limit is {limit:.2} a day.");
    failure(ModelFailureClass::Budget, message)
}

/// If the spending cannot be read, it must not count as zero: the books and the log share a store,
/// so a run that continued would fail at its next turn.
fn unreadable(fault: &Fault) -> ModelFailure {
    let message = format!("What was spent today cannot be read: {fault}");
    failure(ModelFailureClass::Unavailable, message)
}

/// A model with a person's and an agent's daily budget. The budget is checked before each call, so
/// a runaway agent stops at its next step. The run itself keeps the limit of a single run.
pub struct Budget {
    inner: Arc<dyn Model>,
    account: Arc<Account>,
    payer: Payer,
    limits: SpendLimits,
}

/// One run's open spending; closed when dropped.
struct Account {
    spending: Arc<SpendAccounts>,
    number: u64,
    person: PersonId,
}

impl Account {
    fn add(&self, cost: f64) {
        if let Some((_, open)) = self.spending.lock().accounts.get_mut(&self.number) {
            *open += cost;
        }
    }

    fn unpriced(&self, model: &str) -> Option<ModelEvent> {
        self.spending.is_news(&self.person, model).then(|| ModelEvent::Notice {
            code: StatusCode::Degraded,
            message: format!("No price set for {model}, so budgets count it as $0."),
        })
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.spending.lock().accounts.remove(&self.number);
    }
}

impl Model for Budget {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.inner.context_window()
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let (model, account) = (Arc::clone(&self.inner), Arc::clone(&self.account));
        let (payer, limits) = (self.payer.clone(), self.limits);
        let call = PaidCall { account, limits, model: model.id().to_owned(), cost: 0.0 };
        let spending = Arc::clone(&self.account.spending);
        let begin = async move {
            match spending.check(&payer, limits).await {
                Ok(()) => model.stream(request, cancel),
                Err(failure) => once(ready(ModelEvent::Failed(failure))).boxed(),
            }
        };
        Box::pin(Paying { stage: Stage::Checking(begin.boxed()), call, notice: None })
    }
}

/// A call whose usage is charged while its events pass.
struct Paying {
    stage: Stage,
    call: PaidCall,
    notice: Option<ModelEvent>,
}

enum Stage {
    Checking(BoxFuture<'static, BoxStream<'static, ModelEvent>>),
    Answering(BoxStream<'static, ModelEvent>),
}

impl Stream for Paying {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        let this = &mut *self;
        if let Some(notice) = this.notice.take() {
            return Poll::Ready(Some(notice));
        }
        if let Stage::Checking(begin) = &mut this.stage {
            this.stage = Stage::Answering(task::ready!(begin.as_mut().poll(cx)));
        }
        let event = match &mut this.stage {
            Stage::Answering(events) => task::ready!(events.poll_next_unpin(cx)),
            Stage::Checking(_) => None,
        };
        this.notice = event.as_ref().and_then(|event| this.call.saw(event));
        Poll::Ready(event)
    }
}

struct PaidCall {
    account: Arc<Account>,
    limits: SpendLimits,
    /// The model that answers: the requested one or a fallback.
    model: String,
    /// The cost that was counted so far; a later usage of the same call replaces an earlier one.
    cost: f64,
}

impl PaidCall {
    fn saw(&mut self, event: &ModelEvent) -> Option<ModelEvent> {
        match event {
            ModelEvent::Usage(usage) => return self.pay(usage),
            ModelEvent::AnsweredBy { model } => {
                self.model.clone_from(model);
                // The next model's usage is added to what the failed model has cost.
                self.cost = 0.0;
            }
            ModelEvent::TextDelta(_)
            | ModelEvent::ReasoningDelta(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallDelta { .. }
            | ModelEvent::ToolCallEnd { .. }
            | ModelEvent::Notice { .. }
            | ModelEvent::Finish(_)
            | ModelEvent::Failed(_) => {}
        }
        None
    }

    fn pay(&mut self, usage: &Usage) -> Option<ModelEvent> {
        let Some(cost) = usage.cost else {
            return self.limits.any().then(|| self.account.unpriced(&self.model)).flatten();
        };
        self.account.add(cost - self.cost);
        self.cost = cost;
        None
    }
}
