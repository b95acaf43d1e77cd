//! Networks of our own on real sockets, which misbehave as real ones do: they crash, redeliver,
//! reorder, answer late or not at all, and count who breaks their limits.

mod http;
mod mail;
mod markup;
mod telegram;

pub use http::{FakeHttp, HttpReply, HttpRequest, Respond};
pub use mail::{FakeMail, KeptLetter, MailTrouble};
pub use markup::telegram_text;
pub use telegram::{FakeTelegram, SentMessage, TELEGRAM_TOKEN, Trouble};
