//! Fake networks on real sockets, which misbehave as real ones do: they crash, redeliver, reorder,
//! answer late or not at all, and count broken limits.

mod discord;
mod http;
mod mail;
mod markup;
mod telegram;
mod trouble;

pub use discord::{DISCORD_TOKEN, FakeDiscord, PostedMessage};
pub use http::{FakeHttp, HttpReply, HttpRequest, Respond};
pub use mail::{FakeMail, KeptLetter, MailTrouble};
pub use markup::{discord_text, telegram_text};
pub use telegram::{FakeTelegram, SentMessage, TELEGRAM_TOKEN};
pub use trouble::Trouble;
