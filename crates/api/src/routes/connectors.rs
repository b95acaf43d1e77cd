//! `/api/admin/connectors*`: accounts on other networks, for the owner; and `/connectors/…`, where
//! networks deliver their messages.

mod accounts;
mod letters;
mod peers;
mod push;
mod widget;

use onyx_storage::AccountKey;

use crate::routing::PathValue;
use crate::{Access, Problem, Route, Routes};
use accounts::{AccountDetails, AccountList, PutAccount, TestAccount, TestedAccount};
use letters::LetterList;
use peers::{ApprovePeer, BindPeer, PairCode, PeerJson, PeerList};
use widget::{MailAsked, MailList, WrittenByVisitor};

const NETWORK: PathValue = PathValue::Pattern("^[a-z]{1,32}$");
const ACCOUNT: PathValue = PathValue::Pattern("^[a-z0-9_-]{1,64}$");
const LETTER: PathValue = PathValue::Pattern("^(in|out)-[0-9]{1,18}$");

pub(super) fn routes() -> Routes {
    use Access::{Owner, Public};
    let rows = [
        Route::get("/api/admin/connectors", Owner, accounts::list)
            .summary("List connector accounts and their state")
            .answers_json::<AccountList>(),
        Route::post("/api/admin/connectors/pair", Owner, peers::pair)
            .summary("Approve the peer that has this pairing code")
            .body::<PairCode>()
            .answers_json::<PeerJson>(),
        Route::post("/api/admin/connectors/test", Owner, accounts::test_new)
            .summary("Test a network token before it is saved")
            .body::<TestAccount>()
            .answers_json::<TestedAccount>(),
        Route::post("/connectors/{network}/{account}", Public, push::receive)
            .summary("Receive updates from a network, signed as the account requires")
            .path_value("network", NETWORK)
            .path_value("account", ACCOUNT)
            .answers_nothing(),
    ];
    let rows = Routes::tagged("connectors", rows).merge(widget_routes());
    rows.merge(account_routes()).merge(peer_routes())
}

fn widget_routes() -> Routes {
    use Access::Public;
    let rows = [
        Route::get("/widget/{account}/widget.js", Public, widget::script)
            .summary("Get the script that shows the widget on a site")
            .path_value("account", ACCOUNT)
            .answers_text("text/javascript"),
        Route::post("/widget/{account}/messages", Public, widget::write)
            .summary("Send a visitor's message from a site that the account names")
            .path_value("account", ACCOUNT)
            .body::<WrittenByVisitor>()
            .answers_nothing(),
        Route::get("/widget/{account}/messages", Public, widget::read)
            .summary("Get the answers to a visitor; waits a while for new ones")
            .path_value("account", ACCOUNT)
            .query::<MailAsked>()
            .answers_json::<MailList>(),
    ];
    Routes::tagged("connectors", rows)
}

fn account_routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/connectors/{network}/{account}", Owner, accounts::show)
            .summary("Get an account: its state and its settings")
            .path_value("network", NETWORK)
            .path_value("account", ACCOUNT)
            .answers_json::<AccountDetails>(),
        Route::put("/api/admin/connectors/{network}/{account}", Owner, accounts::put)
            .summary("Create or replace an account; its token is kept in the store of secrets")
            .path_value("network", NETWORK)
            .path_value("account", ACCOUNT)
            .body::<PutAccount>()
            .answers_json::<AccountDetails>(),
        Route::delete("/api/admin/connectors/{network}/{account}", Owner, accounts::remove)
            .summary("Remove an account from the config")
            .path_value("network", NETWORK)
            .path_value("account", ACCOUNT)
            .answers_nothing(),
        Route::put("/api/admin/connectors/{network}/{account}/agent", Owner, peers::bind_account)
            .summary("Choose the agent that answers on an account; writes a binding")
            .path_value("network", NETWORK)
            .path_value("account", ACCOUNT)
            .body::<BindPeer>()
            .answers_nothing(),
        Route::post("/api/admin/connectors/{network}/{account}/test", Owner, accounts::test)
            .summary("Test an account's token with its network")
            .path_value("network", NETWORK)
            .path_value("account", ACCOUNT)
            .answers_json::<TestedAccount>(),
        Route::get("/api/admin/connectors/{network}/{account}/dead-letters", Owner, letters::list)
            .summary("List messages that could not be answered or may not have arrived")
            .path_value("network", NETWORK)
            .path_value("account", ACCOUNT)
            .answers_json::<LetterList>(),
        Route::post(
            "/api/admin/connectors/{network}/{account}/dead-letters/{id}/retry",
            Owner,
            letters::retry,
        )
        .summary("Retry a dead letter")
        .path_value("id", LETTER)
        .path_value("network", NETWORK)
        .path_value("account", ACCOUNT)
        .answers_nothing(),
        Route::delete(
            "/api/admin/connectors/{network}/{account}/dead-letters/{id}",
            Owner,
            letters::remove,
        )
        .summary("Discard a dead letter")
        .path_value("id", LETTER)
        .path_value("network", NETWORK)
        .path_value("account", ACCOUNT)
        .answers_nothing(),
    ];
    Routes::tagged("connectors", rows)
}

fn peer_routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/connectors/{network}/{account}/peers", Owner, peers::list)
            .summary("List the peers of an account")
            .path_value("network", NETWORK)
            .path_value("account", ACCOUNT)
            .answers_json::<PeerList>(),
        Route::post(
            "/api/admin/connectors/{network}/{account}/peers/{id}/approve",
            Owner,
            peers::approve,
        )
        .summary("Approve a peer for a person's agents (the owner's by default)")
        .path_value("network", NETWORK)
        .path_value("account", ACCOUNT)
        .body::<ApprovePeer>()
        .answers_json::<PeerJson>(),
        Route::post(
            "/api/admin/connectors/{network}/{account}/peers/{id}/block",
            Owner,
            peers::block,
        )
        .summary("Block a peer")
        .path_value("network", NETWORK)
        .path_value("account", ACCOUNT)
        .answers_json::<PeerJson>(),
        Route::put(
            "/api/admin/connectors/{network}/{account}/peers/{id}/agent",
            Owner,
            peers::bind,
        )
        .summary("Choose the agent that answers a peer; writes a binding")
        .path_value("network", NETWORK)
        .path_value("account", ACCOUNT)
        .body::<BindPeer>()
        .answers_nothing(),
        Route::delete("/api/admin/connectors/{network}/{account}/peers/{id}", Owner, peers::remove)
            .summary("Forget a peer; its sessions are kept")
            .path_value("network", NETWORK)
            .path_value("account", ACCOUNT)
            .answers_nothing(),
    ];
    Routes::tagged("connectors", rows)
}

fn key(network: String, account: String) -> Result<AccountKey, Problem> {
    let is_name = |text: &str, longest: usize, others: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || others.contains(c);
        (1..=longest).contains(&text.len()) && text.chars().all(fits)
    };
    if !is_name(&network, 32, "") {
        return Err(Problem::field("network", "a network's name may hold only a-z"));
    }
    if !is_name(&account, 64, "0123456789_-") {
        return Err(Problem::field("account", "an account's name may hold only a-z, 0-9, - and _"));
    }
    Ok(AccountKey { network, account })
}
