//! Signing in, and the owner's routes about people, tokens and secrets.

use onyx_identity::Person;

use super::schema_of;
use super::table::{Answer, Doc, doc, json};
use crate::routes::views::{
    Approve, BeginPairing, Credentials, Link, LinkQuery, Login, Me, NewPassword, NewPerson,
    PairingBegun, PairingReply, Pairings, People, Refresh, Reject, Rotated, SecretList,
    SecretValue, TokenMade, TokenReply, TokenRequest,
};

pub(super) fn sign_in() -> Vec<Doc> {
    let begun = Answer::Created(schema_of::<PairingBegun>);
    vec![
        doc("GET", "/auth/link", "Signs a browser on this machine in, once", Answer::SeeOther)
            .query::<LinkQuery>(),
        doc("POST", "/api/auth/login", "Signs a browser in", json::<Me>()).body::<Login>(),
        doc("POST", "/api/auth/logout", "Signs it out", Answer::Nothing),
        doc("POST", "/api/auth/token", "Short-lived tokens for an SDK", json::<TokenReply>()),
        doc("POST", "/api/auth/refresh", "The next of them", json::<TokenReply>())
            .body::<Refresh>(),
        doc("POST", "/api/auth/pair", "A code for the owner to approve", begun)
            .body::<BeginPairing>(),
        doc("GET", "/api/auth/pair/{id}", "What became of it", json::<PairingReply>()),
        doc("GET", "/api/auth/me", "Who is asking", json::<Me>()),
    ]
}

pub(super) fn administration() -> Vec<Doc> {
    let person = Answer::Created(schema_of::<Person>);
    let made = Answer::Created(schema_of::<TokenMade>);
    let password = "/api/admin/people/{id}/password";
    vec![
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
    ]
}
