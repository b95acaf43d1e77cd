//! People's own LinkedIn accounts: signed in through the same module as providers, shown by the API, and
//! used by the tools.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt};
use onyx_api::{LinkedInAccount, LinkedInAccounts, LoginBegun};
use onyx_providers::{
    LoginSettings, LoginState, LoginStatus, Secret, ServiceLogin, ServiceLogins, TokenStore,
};
use onyx_tools::{Accounts, LinkedIn, LinkedInSettings, NoToken, OpenSecret};
use onyx_types::{Clock, ErrorCode, Fault, ModelFailureClass, PersonId};

use super::logins::{begun, view};

const HOW: &str = "connect again in Settings → You → LinkedIn, or with `onyx linkedin login`";

/// The sign-ins of all people, according to the config.
pub(super) struct LinkedInLogins {
    logins: ServiceLogins,
    open: OpenSecret,
    plan: RwLock<LinkedInPlan>,
}

/// The state that follows from the config.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LinkedInPlan {
    NotConfigured,
    Ready,
    /// No one can connect, for this reason.
    Trouble(String),
}

impl LinkedInLogins {
    pub(super) fn new(store: Arc<dyn TokenStore>, clock: Arc<dyn Clock>, open: OpenSecret) -> Self {
        let logins = ServiceLogins::linkedin(store, clock);
        Self { logins, open, plan: RwLock::new(LinkedInPlan::NotConfigured) }
    }

    /// Applies an edit of the config, or of the secret that it names.
    pub(super) fn follow(&self, settings: &LinkedInSettings) {
        let plan = match self.planned(settings) {
            Ok(plan) => plan,
            Err(why) => LinkedInPlan::Trouble(why),
        };
        if plan != LinkedInPlan::Ready {
            self.logins.unfollow();
        }
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    fn planned(&self, settings: &LinkedInSettings) -> Result<LinkedInPlan, String> {
        let Some(client) = settings.client() else { return Ok(LinkedInPlan::NotConfigured) };
        let name = settings.secret_name().unwrap_or_default();
        let secret = (self.open)(name).map_err(|fault| {
            format!("The secret {name} of tools.linkedin cannot be opened: {}", fault.message)
        })?;
        let secret = secret.ok_or_else(|| {
            format!(
                "The secret {name} of tools.linkedin is missing; set it with: onyx secrets set \
                 {name}"
            )
        })?;
        let base = settings.base_url().trim_end_matches('/');
        let login = LoginSettings {
            client_id: Some(client.to_owned()),
            client_secret: Some(Secret::new(secret)),
            issuer: settings.issuer.clone(),
            scopes: settings.scopes.clone(),
            account_url: Some(format!("{base}/v2/userinfo")),
            ..LoginSettings::default()
        };
        let followed = self.logins.follow(&login, base);
        followed.map(|()| LinkedInPlan::Ready).map_err(|why| format!("tools.linkedin: {why}"))
    }

    fn plan(&self) -> LinkedInPlan {
        self.plan.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn status(&self, person: &PersonId) -> LoginStatus {
        self.logins.of(person).map_or(LoginStatus::NONE, |login| login.status())
    }

    fn login(&self, person: &PersonId) -> Result<ServiceLogin, Fault> {
        let refused = |message: String| Fault::new(ErrorCode::InvalidRequest, message);
        match self.plan() {
            LinkedInPlan::Trouble(why) => return Err(refused(why)),
            LinkedInPlan::NotConfigured | LinkedInPlan::Ready => {}
        }
        self.logins.of(person).ok_or_else(|| {
            refused("LinkedIn is not configured.".to_owned()).with_hint(
                "The owner sets `tools.linkedin.clientId` and `clientSecret`, from an application \
                 at developer.linkedin.com.",
            )
        })
    }

    pub(super) async fn settle(&self) {
        self.logins.settle().await;
    }
}

#[async_trait]
impl Accounts for LinkedInLogins {
    fn absence(&self, person: &PersonId) -> Option<String> {
        if let LinkedInPlan::Trouble(why) = self.plan() {
            return Some(why);
        }
        match self.status(person).state {
            LoginState::SignedIn => None,
            LoginState::SignInAgain => {
                Some(format!("LinkedIn no longer accepts the sign-in; {HOW}"))
            }
            LoginState::None | LoginState::Waiting | LoginState::Failed => Some(
                "no LinkedIn account is connected; the person does it in Settings → You".into(),
            ),
        }
    }

    fn name(&self, person: &PersonId) -> Option<String> {
        self.status(person).account
    }

    async fn token(&self, person: &PersonId, refused: Option<&str>) -> Result<String, NoToken> {
        let login = self.login(person).map_err(|fault| NoToken::SignIn(fault.message))?;
        let refused = refused.map(Secret::new);
        match login.token(refused.as_ref()).await {
            Ok(token) => Ok(token.reveal().to_owned()),
            Err(failure) if matches!(failure.class, ModelFailureClass::SignIn { .. }) => {
                Err(NoToken::SignIn(format!("LinkedIn no longer accepts the sign-in (401); {HOW}")))
            }
            Err(failure) => Err(NoToken::Passing(failure.message)),
        }
    }
}

/// LinkedIn for the routes of the API.
pub(super) struct LinkedInAdmin {
    pub(super) logins: Arc<LinkedInLogins>,
    pub(super) tools: LinkedIn,
    pub(super) clock: Arc<dyn Clock>,
}

impl LinkedInAccounts for LinkedInAdmin {
    fn account(&self, person: &PersonId) -> LinkedInAccount {
        let plan = self.logins.plan();
        let check = self.tools.last_check(person);
        let mut login = view(self.logins.status(person));
        if login.state == LoginState::SignInAgain.as_str() {
            let of_account = login.account.as_ref().map(|account| format!(" of {account}"));
            let of_account = of_account.unwrap_or_default();
            login.error =
                Some(format!("LinkedIn no longer accepts the sign-in{of_account}. Connect again."));
        }
        LinkedInAccount {
            configured: plan != LinkedInPlan::NotConfigured,
            trouble: match plan {
                LinkedInPlan::Trouble(why) => Some(why),
                LinkedInPlan::NotConfigured | LinkedInPlan::Ready => None,
            },
            login,
            last_validated_at: check.validated_at,
            last_error: check.error,
        }
    }

    fn begin<'a>(
        &'a self,
        person: &'a PersonId,
        page: &'a str,
    ) -> BoxFuture<'a, Result<LoginBegun, Fault>> {
        async move { self.logins.login(person)?.begin(page).await.map(begun) }.boxed()
    }

    fn finish(&self, person: &PersonId, fields: &[(&str, &str)]) -> Result<(), Fault> {
        // The result of an earlier sign-in does not apply to this one.
        self.logins.login(person)?.finish(fields)?;
        self.tools.forget(person);
        Ok(())
    }

    fn check<'a>(&'a self, person: &'a PersonId) -> BoxFuture<'a, ()> {
        async move {
            // A failure is not returned here, because the account shows the result.
            let _ = self.tools.validate(person, &*self.clock).await;
        }
        .boxed()
    }

    fn revoke<'a>(
        &'a self,
        person: &'a PersonId,
    ) -> BoxFuture<'a, Result<Result<(), String>, Fault>> {
        async move {
            let revoked = match self.logins.logins.of(person) {
                Some(login) => login.revoke().await?,
                None => {
                    self.logins.logins.forget(person).await?;
                    Err("the application is no longer configured".to_owned())
                }
            };
            self.tools.forget(person);
            Ok(revoked)
        }
        .boxed()
    }
}
