//! The networks. Each is an implementation of `Connector` for one wire format, which nothing else
//! in this crate knows.

mod discord;
mod form;
mod http;
mod telegram;
mod transcriber;
mod webhook;
mod widget;

use std::sync::Arc;

use crate::connector::Connector;
use crate::settings::Account;
use crate::setup::ConnectorSetup;

pub(crate) use transcriber::Transcriber;
pub(crate) use widget::is_visitor;

/// Builds the connector of an account; the error says why there is none.
pub(crate) fn connect(
    account: &Account,
    setup: &ConnectorSetup,
) -> Result<Arc<dyn Connector>, String> {
    if let Some(provided) = &account.provided {
        return Ok(provided.connector());
    }
    match account.key.network.as_str() {
        "discord" => Ok(Arc::new(discord::Discord::new(account, setup)?)),
        "telegram" => Ok(Arc::new(telegram::Telegram::new(account, setup)?)),
        "webhook" => Ok(Arc::new(webhook::Webhook::new(account, setup)?)),
        "widget" => Ok(Arc::new(widget::Widget::new(account, setup)?)),
        other => Err(format!("there is no network named {other}")),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
