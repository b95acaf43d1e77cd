//! Signing in, and the owner's routes about people, tokens and secrets.

use onyx_identity::Person;

use super::schema_of;
use super::table::{Answer, Doc, doc, json};
use crate::routes::views::{
    Approve, BeginPairing, Budgets, Credentials, FoundProviders, Link, LinkQuery, Login, Me,
    Models, NewConfig, NewLimits, NewPassword, NewPerson, OwnPassword, PairingBegun, PairingReply,
    Pairings, People, ProviderDetails, Providers, PutProvider, Refresh, Reject, Rotated,
    SecretList, SecretValue, SignedIn, TokenMade, TokenReply, TokenRequest, UsageQuery,
    UsageReport,
};
use crate::{ConfigView, LoginBegun, LoginView, ModelView, TestView};

pub(super) fn sign_in() -> Vec<Doc> {
    let begun = Answer::Created(schema_of::<PairingBegun>);
    vec![
        doc(
            "GET",
            "/auth/link",
            "Signs a browser on this machine in, once",
            Answer::Text("text/html"),
        )
        .query::<LinkQuery>(),
        doc("POST", "/api/auth/login", "Signs a browser in", json::<SignedIn>()).body::<Login>(),
        doc("POST", "/api/auth/logout", "Signs it out", Answer::Nothing),
        doc("POST", "/api/auth/token", "Short-lived tokens for an SDK", json::<TokenReply>()),
        doc("POST", "/api/auth/refresh", "The next of them", json::<TokenReply>())
            .body::<Refresh>(),
        doc("POST", "/api/auth/pair", "A code for the owner to approve", begun)
            .body::<BeginPairing>(),
        doc("GET", "/api/auth/pair/{id}", "What became of it", json::<PairingReply>()),
        doc("GET", "/api/auth/me", "Who is asking", json::<Me>()),
        doc("PUT", "/api/auth/password", "Sets one's own password", Answer::Nothing)
            .body::<OwnPassword>(),
    ]
}

pub(super) fn administration() -> Vec<Doc> {
    let person = Answer::Created(schema_of::<Person>);
    let made = Answer::Created(schema_of::<TokenMade>);
    let password = "/api/admin/people/{id}/password";
    let mut docs = platform();
    docs.extend(vec![
        doc("GET", "/api/admin/people", "Who has an account", json::<People>()),
        doc("POST", "/api/admin/people", "Makes an account", person).body::<NewPerson>(),
        doc("DELETE", "/api/admin/people/{id}", "Takes it away; files stay", Answer::Nothing),
        doc("PUT", password, "Sets a password", Answer::Nothing).body::<NewPassword>(),
        doc("DELETE", password, "Takes it away", Answer::Nothing),
        doc("GET", "/api/admin/tokens", "Everything that is signed in", json::<Credentials>()),
        doc("POST", "/api/admin/tokens", "Makes a token, shown once", made).body::<TokenRequest>(),
        doc("DELETE", "/api/admin/tokens/{id}", "Ends a credential", Answer::Nothing),
        doc("GET", "/api/admin/pairings", "Devices that wait", json::<Pairings>()),
        doc("POST", "/api/admin/pairings/approve", "Lets a device in", Answer::Nothing)
            .body::<Approve>(),
        doc("POST", "/api/admin/pairings/reject", "Turns it away", Answer::Nothing)
            .body::<Reject>(),
        doc("POST", "/api/admin/links", "A link that signs the owner in, once", json::<Link>()),
        doc("GET", "/api/admin/secrets", "Names, and enough to know them by", json::<SecretList>()),
        doc("PUT", "/api/admin/secrets/{name}", "Keeps a secret", Answer::Nothing)
            .body::<SecretValue>(),
        doc("DELETE", "/api/admin/secrets/{name}", "Forgets it", Answer::Nothing),
        doc("POST", "/api/admin/secrets/rotate", "Seals all anew", json::<Rotated>()),
    ]);
    docs
}

fn platform() -> Vec<Doc> {
    let provider = "/api/admin/providers/{name}";
    vec![
        doc("GET", "/api/admin/config", "The config file", json::<ConfigView>()),
        doc("PUT", "/api/admin/config", "Writes it; If-Match holds", Answer::Nothing)
            .body::<NewConfig>(),
        doc("GET", "/api/admin/providers", "Where models come from", json::<Providers>()),
        doc(
            "GET",
            provider,
            "One of them, as it is and as it is written",
            json::<ProviderDetails>(),
        ),
        doc("PUT", provider, "Makes it, or sets it anew", json::<ProviderDetails>())
            .body::<PutProvider>(),
        doc("DELETE", provider, "Takes it out of the config", Answer::Nothing),
        doc(
            "GET",
            "/api/admin/providers/found",
            "What runs on this machine and is not configured",
            json::<FoundProviders>(),
        ),
        doc(
            "POST",
            "/api/admin/providers/{name}/login",
            "Begins a sign-in with a code, or gives back the one that waits",
            Answer::Created(schema_of::<LoginBegun>),
        ),
        doc(
            "GET",
            "/api/admin/providers/{name}/login",
            "How it stands with the sign-in",
            json::<LoginView>(),
        ),
        doc(
            "DELETE",
            "/api/admin/providers/{name}/login",
            "Signs out, or stops waiting",
            Answer::Nothing,
        ),
        doc("POST", "/api/admin/providers/{name}/test", "Asks it", json::<TestView>()),
        doc("GET", "/api/admin/providers/{name}/models", "What it says it has", json::<Models>()),
        doc("GET", "/api/admin/models", "The models to choose from", json::<Models>()),
        doc("GET", "/api/admin/models/{*id}", "What is known of one", json::<ModelView>()),
        doc("GET", "/api/admin/budgets", "Today's spending and its limits", json::<Budgets>()),
        doc("PUT", "/api/admin/budgets", "Sets the limits", json::<Budgets>()).body::<NewLimits>(),
        doc(
            "GET",
            "/api/admin/usage",
            "What was used, by day, agent, model and person",
            json::<UsageReport>(),
        )
        .query::<UsageQuery>(),
    ]
}
